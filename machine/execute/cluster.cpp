#include "machine/execute/cluster.h"

namespace coalesce::machine {

Size3 block_at(const Size3& grid, const Size3& cluster, uint64_t number) {
  const auto in = [](const Size3& s, uint64_t n) {
    return Size3{static_cast<uint32_t>(n % s[0]), static_cast<uint32_t>(n / s[0] % s[1]),
                 static_cast<uint32_t>(n / s[0] / s[1])};
  };
  const uint32_t blocks = volume(cluster);
  if (blocks == 1) return in(grid, number);  // each block asks, and divisions are as long as a short block's steps
  const uint64_t which = number / blocks, rank = number % blocks;
  const Size3 first = in({grid[0] / cluster[0], grid[1] / cluster[1], grid[2] / cluster[2]}, which);
  const Size3 within = in(cluster, rank);
  return {first[0] * cluster[0] + within[0], first[1] * cluster[1] + within[1], first[2] * cluster[2] + within[2]};
}

std::byte* Cluster::find(uint32_t rank, uint64_t offset, uint64_t bytes) const {
  if (rank >= members_.size() || members_[rank] == nullptr) return nullptr;
  const Member& m = *members_[rank];
  return bytes <= m.shared_bytes && offset <= m.shared_bytes - bytes ? m.shared + offset : nullptr;
}

void Cluster::arrive(uint32_t rank, uint32_t thread) {
  const std::size_t k = std::size_t{rank} * threads_ + thread;
  arrived_[k] = phase_ + 1;
  passed_[k] = phase_;
  complete();
}

bool Cluster::passed(uint32_t rank, uint32_t thread) {
  const uint64_t phase = waits_for(rank, thread);
  if (phase == phase_) complete();
  return phase != phase_;
}

void Cluster::complete() {
  for (std::size_t r = 0; r < members_.size(); ++r) {
    if (members_[r] == nullptr) continue;
    for (uint32_t t = 0; t < threads_; ++t)
      if (arrived_[r * threads_ + t] != phase_ + 1 && members_[r]->alive(t)) return;
  }
  ++phase_;
}

}  // namespace coalesce::machine
