// Lowering: the decoded program becomes steps and slots for the interpreter.
//   slots.cpp              where registers are
//   lower.cpp              blocks and regions
//   lower_instruction.cpp  one instruction
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "machine/execute/code.h"
#include "machine/execute/slots.h"

namespace coalesce::machine {

class Lowering {
 public:
  Lowering(std::unique_ptr<Decoded> program, bool checked);
  std::unique_ptr<Code> run();

 private:
  bool is_scalar(uint32_t r) const { return p_->registers[r].lanes != LaneClass::general; }
  void push(Step s) {
    code_->steps.push_back(s);
    code_->instruction_of.push_back(std::exchange(at_, kNone));
  }

  // --- lower.cpp
  void lower_block(uint32_t b);
  void lower_region(const Region& region);
  bool has_order(uint32_t b) const;
  std::vector<Together> together(const Region& region) const;

  // --- lower_instruction.cpp
  void lower_instruction(const Instruction& i, uint32_t index, const BasicBlock& block);
  void lower_pure(const Instruction& i, const BasicBlock& block);
  void lower_memory(const Instruction& i, uint32_t index);
  void lower_save(uint32_t index, const BasicBlock& block);
  void lower_lanes(const Instruction& i, uint32_t index);
  void expand(uint32_t r);
  void push_guarded(Step s, const Instruction& i);

  std::unique_ptr<Code> code_;
  Decoded* p_ = nullptr;
  uint32_t at_ = kNone;  // the instruction whose first step comes next
  Slots slots_;
};

}  // namespace coalesce::machine
