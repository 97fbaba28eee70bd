// Loops that watch a clock while they wait, to sleep for longer and longer (as those of cuda::barrier and cuda::latch
// do). The clock decides how they wait, and not whether.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/program/program.h"

namespace coalesce::machine {

class Backoffs {
 public:
  explicit Backoffs(const Decoded& program);
  // The live registers at the end of the block, but for those that depend on clocks. Null: the block is in no such
  // loop.
  const std::vector<uint32_t>* state(uint32_t block) const {
    return block < states_.size() && !states_[block].empty() ? &states_[block] : nullptr;
  }

 private:
  std::vector<std::vector<uint32_t>> states_;  // by block
};

}  // namespace coalesce::machine
