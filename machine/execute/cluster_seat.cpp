#include "machine/execute/cluster_seat.h"

namespace coalesce::machine {

void ClusterSeat::join(Cluster& cluster, uint32_t rank) {
  cluster_ = &cluster;
  rank_ = rank;
  shared = warps_[0].shared;
  shared_bytes = warps_[0].shared_bytes;
  cluster.set(rank, this);
}

void ClusterSeat::end_membership() {
  cluster_->set(rank_, nullptr);
  cluster_ = nullptr;
  own_.reset();
  rank_ = 0;
}

Cluster& ClusterSeat::cluster() {
  if (!cluster_) {
    own_ = std::make_unique<Cluster>(1, threads_);
    join(*own_, 0);
  }
  return *cluster_;
}

std::byte* ClusterSeat::peer(uint32_t address, uint64_t bytes) {
  return cluster().find(rank_of(rank_, address), address & kClusterOffset, bytes);
}

}  // namespace coalesce::machine
