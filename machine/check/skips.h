// Barriers that some threads go past while others wait at them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "machine/check/block_state.h"

namespace coalesce::machine {

class SkippedBarriers {
 public:
  explicit SkippedBarriers(BlockState& s)
      : s_(s), check_(s.check), passed_(s.warps.size()), lanes_passed_(passed_.size()) {}
  void begin();
  // The active lanes have come to a basic block that tells whether they go past a barrier.
  void enters(uint32_t block, const Warp& w);
  // A barrier of all threads is complete: has a warp gone past it that others wait at?
  void complete(const std::vector<Arrival>& at);
  // A barrier of lanes of a warp is complete: have some that it names gone past it?
  void complete(const LaneOp& op, uint32_t named, const Warp& w);
  void forget_lanes(uint32_t warp);  // of the warp, which has been at a barrier

 private:
  BlockState& s_;
  LaunchCheck& check_;
  // A warp's entry for each skip, since the last barrier: 1 it has come to the branch, 2 and to the block behind it.
  std::vector<std::vector<uint8_t>> passed_;
  // A barrier of the warp that can be gone past: the lanes that came to the branch, and to the block behind it.
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> lanes_passed_;
};

}  // namespace coalesce::machine
