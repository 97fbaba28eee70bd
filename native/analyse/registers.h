// Facts of a kernel's registers, before any code is generated.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/program/program.h"

namespace coalesce::native {

using machine::Decoded;
using machine::Element;
using machine::Instruction;
using machine::kNone;
using machine::LaneClass;
using machine::MemoryOp;
using machine::Register;

class Registers {
 public:
  // `program` must outlive the object. Cost: linear in its code.
  explicit Registers(const Decoded& program);

  const Decoded& program() const { return p_; }
  uint32_t threads() const { return p_.shape.block[0] * p_.shape.block[1] * p_.shape.block[2]; }  // of a thread block
  uint32_t warps() const { return (threads() + machine::kLanes - 1) / machine::kLanes; }
  // One value for the warp, or lane 0's value and a known stride: no vector is kept.
  bool is_scalar(uint32_t r) const { return p_.registers[r].lanes != LaneClass::general; }
  bool is_block_level(uint32_t r) const { return p_.registers[r].lanes <= LaneClass::block_uniform; }
  bool is_block_level(const machine::Value& v) const { return !v.is_reg() || is_block_level(v.reg); }

  // One value for all lanes, known when compiling.
  bool known(const machine::Value& v, uint64_t* bits) const;
  // Lane 0's value of an affine register, known when compiling.
  bool known_base(uint32_t r, uint64_t* bits) const;
  // May be read before it is written; it then holds 0.
  bool may_be_unset(uint32_t r) const { return unset_[r]; }
  // The unguarded computing instruction that is the register's only writer; null: there is none.
  const Instruction* computed_by(const machine::Value& v) const;
  // threadIdx.x of a one-dimensional block, or a copy of it.
  bool is_thread_index(const machine::Value& v) const;

 private:
  const Decoded& p_;
  std::vector<bool> unset_;
  std::vector<uint32_t> writer_;  // the only instruction that writes it; kNone: none or several
};

}  // namespace coalesce::native
