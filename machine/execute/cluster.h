// Clusters of blocks: which blocks belong together, their shared memory, their barrier.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace coalesce::machine {

using Size3 = std::array<uint32_t, 3>;

inline uint32_t volume(const Size3& s) { return s[0] * s[1] * s[2]; }

// The coordinates of the block with this number. Blocks of a cluster have numbers in a row, in the order of their
// ranks; where a cluster is one block, numbers go along x first.
Size3 block_at(const Size3& grid, const Size3& cluster, uint64_t number);

// The address of a byte of a block's shared memory, for blocks of its cluster: in the block's own, bytes from the start
// on; in another's, further from a multiple of 2^24 on, which says whose.
inline constexpr uint32_t kClusterShift = 24, kClusterOffset = (1u << kClusterShift) - 1;

class Cluster {
 public:
  // A block, while it runs.
  class Member {
   public:
    virtual ~Member() = default;
    virtual bool alive(uint32_t thread) const = 0;
    std::byte* shared = nullptr;
    uint64_t shared_bytes = 0;
  };

  Cluster(uint32_t blocks, uint32_t threads)
      : members_(blocks), arrived_(std::size_t{blocks} * threads), passed_(arrived_.size()), threads_(threads) {}
  void set(uint32_t rank, const Member* member) { members_[rank] = member; }
  uint32_t size() const { return static_cast<uint32_t>(members_.size()); }
  // Null: `bytes` at an offset of that block's shared memory are not all there, or the block has ended.
  std::byte* find(uint32_t rank, uint64_t offset, uint64_t bytes) const;

  // barrier.cluster: the thread arrives; whether all have since it did, or have ended.
  void arrive(uint32_t rank, uint32_t thread);
  bool passed(uint32_t rank, uint32_t thread);
  uint64_t phase() const { return phase_; }
  // The phase in which it arrived last.
  uint64_t waits_for(uint32_t rank, uint32_t thread) const { return passed_[std::size_t{rank} * threads_ + thread]; }

 private:
  void complete();

  std::vector<const Member*> members_;
  std::vector<uint64_t> arrived_, passed_;  // by thread: the phase in which it arrived, plus 1; which it waits for
  uint64_t phase_ = 0;
  uint32_t threads_;
};

// The place of a thread's block, for what a kernel may ask of its cluster.
struct ClusterPlace {
  Size3 grid{1, 1, 1}, cluster{1, 1, 1}, block{};
  bool is_explicit = false;
  uint32_t rank() const {
    return block[0] % cluster[0] + cluster[0] * (block[1] % cluster[1] + cluster[1] * (block[2] % cluster[2]));
  }
};

// Where a rank's byte is, as the block of rank `own` says it.
inline uint32_t cluster_address(uint32_t own, uint32_t rank, uint32_t offset) {
  return rank == own ? offset : (rank + 1) << kClusterShift | offset;
}
inline uint32_t rank_of(uint32_t own, uint32_t address) {
  return address >> kClusterShift == 0 ? own : (address >> kClusterShift) - 1;
}

}  // namespace coalesce::machine
