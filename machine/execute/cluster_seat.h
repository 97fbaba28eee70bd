// A block's membership of a cluster, while it runs.
#pragma once

#include <memory>
#include <vector>

#include "machine/execute/warp.h"

namespace coalesce::machine {

class ClusterSeat final : private Cluster::Member {
 public:
  // The seat of a block with these warps.
  ClusterSeat(const std::vector<Warp>& warps, uint32_t threads) : warps_(warps), threads_(threads) {}
  ~ClusterSeat() override { leave(); }
  ClusterSeat(const ClusterSeat&) = delete;
  ClusterSeat& operator=(const ClusterSeat&) = delete;

  void join(Cluster& cluster, uint32_t rank);
  // Every block calls this before it begins and after it ends, and few have joined.
  void leave() {
    if (cluster_) end_membership();
  }
  // The cluster that the block has joined, or one of its own.
  Cluster& cluster();
  uint32_t rank() const { return rank_; }
  // Bytes of shared memory at an address beyond the block's own (cluster.h); null: there are none.
  std::byte* peer(uint32_t address, uint64_t bytes);

 private:
  bool alive(uint32_t thread) const override { return warps_[thread / kLanes].alive >> thread % kLanes & 1; }
  void end_membership();

  const std::vector<Warp>& warps_;
  uint32_t threads_;
  Cluster* cluster_ = nullptr;
  std::unique_ptr<Cluster> own_;
  uint32_t rank_ = 0;
};

}  // namespace coalesce::machine
