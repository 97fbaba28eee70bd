// Reads of what nothing has written, and the uses of what they have read.
//
// Each byte of memory has a bit: whether it is written. A store of undefined bits leaves its bytes as unwritten as they
// were where they come from; a byte of which some bits are known counts as written.
#pragma once

#include <vector>

#include "machine/check/block_state.h"
#include "machine/check/undefined.h"

namespace coalesce::machine {

class Uninitialised {
 public:
  // `shadows`: some register is undefined.
  Uninitialised(BlockState& s, Locator& locator, bool& shadows);
  void begin();
  void check_written(const Access& a, const Warp& w, const Target& t);
  // Whether the access writes or stores a register that is undefined.
  bool meets(const Access& a, const Warp& w) const;
  // Reports what lanes of `mask` use of an undefined value, which is taken for known from there on.
  void check_use(const Value& v, uint32_t mask, uint32_t instruction, uint32_t warp, const char* use);
  // Results of an instruction, and of a function, count as known.
  void forget_results(const Instruction& i, const Warp& w);
  void define(uint32_t reg, uint32_t mask, uint32_t warp) { registers_[warp].define(reg, mask); }
  // A bulk copy leaves unwritten bytes beside written ones as unwritten as they are.
  void move(const BulkPart& part, uint32_t instruction, uint32_t lane, Warp& w);

  // As of a BlockObserver.
  void computes(uint32_t instruction, Warp& w);
  void decides(uint32_t instruction, uint32_t mask, Warp& w);
  void enters(uint32_t block, Warp& w);
  void lanes(const LaneOp& op, Warp& w);

 private:
  void load(const Access& a, const Target& t, uint32_t element);
  void store(const Access& a, const Target& t, uint32_t element);
  Carried& carried(const Target& t);
  bool may_be_padding(const Access& a, const Target& t, uint64_t at) const;

  BlockState& s_;
  LaunchCheck& check_;
  Locator& locator_;
  bool& shadows_;
  std::vector<UndefinedRegisters> registers_;  // by warp
};

}  // namespace coalesce::machine
