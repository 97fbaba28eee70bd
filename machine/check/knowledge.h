// Vector clocks that share what they have in common: what a thread knows of the threads of all blocks.
//
// A Knowledge maps a block to the clocks of its lanes. It is a tree in the bits of the block's number (Okasaki and
// Gill, Fast Mergeable Integer Maps) whose nodes never change, so that a copy is a pointer and two that came from one
// another are joined where they differ. Cost of join(): the nodes that differ; of a lookup: the height, at most 64.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace coalesce::machine {

using Clock = uint32_t;
using LaneClocks = std::array<Clock, 32>;

// One block's clocks: accesses of warp w's lane l before of(w, l) are known.
struct BlockClocks {
  std::vector<Clock> warps;                            // of all its lanes
  std::vector<std::pair<uint32_t, LaneClocks>> lanes;  // of a warp whose lanes differ; in the order of warps

  Clock of(uint32_t warp, uint32_t lane) const {
    for (const auto& [w, each] : lanes)
      if (w == warp) return each[lane];
    return warps[warp];
  }
  // True if accesses of all lanes of the warp before `clock` are known.
  bool all(uint32_t warp, Clock clock) const;
  void raise(uint32_t warp, const LaneClocks& to);
  void raise_all(uint32_t warp, Clock to) {  // of a warp whose lanes do not differ
    warps[warp] = std::max(warps[warp], to);
  }
  bool contains(const BlockClocks& other) const;
  void join(const BlockClocks& other);
};

class Knowledge {
 public:
  bool empty() const { return !root_; }
  const BlockClocks* of(uint64_t block) const;  // null: nothing
  Clock of(uint64_t block, uint32_t warp, uint32_t lane) const {
    const BlockClocks* clocks = of(block);
    return clocks ? clocks->of(warp, lane) : 0;
  }
  void each(const std::function<void(uint64_t, const BlockClocks&)>& visit) const;  // in no order
  void join(const Knowledge& other) {
    if (other.root_ && other.root_ != root_) root_ = join(root_, other.root_);
  }
  void join(uint64_t block, BlockClocks clocks);
  bool operator==(const Knowledge& other) const { return root_ == other.root_; }

 private:
  struct Node;
  using Link = std::shared_ptr<const Node>;
  static Link join(const Link& a, const Link& b);
  static Link fork(const Link& a, const Link& b);
  Link root_;
};

}  // namespace coalesce::machine
