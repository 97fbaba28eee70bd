// A multiprocessor at work (replay.h): its warps and what they share. replay.cpp issues, accesses.cpp goes to memory.
#pragma once

#include <algorithm>
#include <array>
#include <queue>
#include <unordered_map>

#include "machine/time/caches.h"
#include "machine/time/replay.h"

namespace coalesce::machine {

inline constexpr uint32_t kWays = 16, kSchedulers = 4;
inline constexpr uint64_t kLocal = uint64_t{1} << 58;  // lines of local memory lie past all others
inline constexpr uint64_t kConstants = uint64_t{1} << 57;
inline constexpr uint32_t kAtOnce = 8;  // instructions of a warp that are issued before others are looked at again
inline constexpr uint64_t kMark = 256;  // instructions between marks of the pace

// Does one thing after the other.
struct Server {
  double free = 0, busy = 0;
  // When work of that length, which comes at `at`, begins.
  double take(double at, double length) {
    const double begins = std::max(at, free);
    free = begins + length;
    busy += length;
    return begins;
  }
};

struct WarpState {
  Words trace = {};
  std::size_t at = 0;            // word to come
  uint32_t entry = 0, last = 0;  // of the chain it is in
  uint64_t entered = 0;          // links of the chain whose blocks it enters, a bit each
  // Words of each link's accesses.
  std::array<std::pair<std::size_t, std::size_t>, kMostLinks> accesses{};
  std::size_t stored =
      0;            // the words of its last access to global memory, where that was a store; else the trace's end
  double time = 0;  // when it may issue next
  uint32_t block = 0, scheduler = 0;
  uint64_t local = 0;     // line of its local memory's first words
  uint32_t from = kNone;  // the basic block before
  bool waiting = false, done = true;
  std::vector<float> ready;  // by register, cycles after `base`
  std::vector<Wait> why;     // what these cycles go by, by register
  double base = 0;
  uint32_t line = kNone;  // of code that it has reached
};

// The code that a scheduler has near: a line that comes after the last is on its way already.
struct Fetch {
  SectorCache near;
  uint32_t line = kNone;
  double there = 0;  // when that line was
};

struct BlockState {
  const BlockTrace* trace = nullptr;
  uint32_t first = 0, warps = 0, left = 0, waiting = 0;
  double latest = 0;  // arrival at the barrier, or end
};

class Player {
 public:
  Player(const Decoded& program, const Costs& costs, const Limits& limits, const Share& share)
      : p_(program),
        costs_(costs),
        l_(limits),
        share_(share),
        l1_(share.l1_bytes, kWays),
        l2_(share.l2_bytes, kWays),
        // Lines of constant memory have half the size of others.
        near_(static_cast<uint64_t>(2 * limits.constant_near_bytes.value), 4),
        far_(static_cast<uint64_t>(2 * limits.constant_bytes.value), kWays),
        halves_(share.l2_bytes, kWays),
        known_(costs.lines) {
    for (Fetch& f : fetches_) f.near = SectorCache(static_cast<uint64_t>(limits.code_near_bytes.value), kWays);
    // Cycles that a sector takes of a bandwidth of the whole device, of which the multiprocessor has its part.
    const double device = 32 * share.multiprocessors * limits.clock_ghz.value;
    l2_cycles_ = device / l_.l2_gbs.value;
    l2_write_cycles_ = device / l_.l2_write_gbs.value;
    dram_cycles_ = device / l_.dram_read_gbs.value * share.fetched;
    // Half of what is copied is read, and takes what reading takes.
    dram_write_cycles_ = device * (2 / l_.dram_copy_gbs.value - 1 / l_.dram_read_gbs.value);
    link_cycles_ = device / l_.host_gbs.value;
    atomic_cycles_ = share.multiprocessors / l_.atom_sectors.value;
  }

  Replay play(const std::vector<const BlockTrace*>& blocks);

 private:
  void begin(uint32_t slot, const BlockTrace* trace, double at);
  bool run(WarpState& w);
  bool enter(WarpState& w);
  bool follow(WarpState& w, const Chain& chain);
  std::pair<double, Wait> ready(const WarpState& w, const Costs::Entry& e) const;
  void waits(WarpState& w, double until, Wait what) {
    if (until <= w.time) return;
    waits_[static_cast<std::size_t>(what)] += until - w.time;
    w.time = until;
  }
  double fetched(WarpState& w, uint32_t line);
  void issue(WarpState& w, const Costs::Entry& e, double at, Wait why);
  std::pair<double, Wait> access(WarpState& w, const Costs::Entry& e, double at);
  double load(uint64_t line, uint32_t sectors, double at, bool cached);
  void store(uint64_t line, uint32_t sectors, double at, double write_back, int least);
  double constant(uint64_t line, double at);
  double loop_on_shared(const WarpState& w, std::size_t k, const MemoryOp& m, double at);
  void arrive(WarpState& w);
  void finish(WarpState& w);

  const Decoded& p_;
  const Costs& costs_;
  const Limits& l_;
  const Share& share_;
  SectorCache l1_, l2_, near_, far_;
  SectorCache halves_;  // of lines, that DRAM has given L2 because a sector of them was asked for
  std::array<Fetch, kSchedulers> fetches_{};
  std::unordered_map<uint64_t, double> arrivals_;  // of lines of which a part of a half was asked for, in L2
  std::unordered_map<uint64_t, Server> words_;  // of shared memory, of loops around a compare-and-swap; the slot above
  std::vector<bool> known_;                     // lines of code that the multiprocessor has
  double l2_cycles_, l2_write_cycles_, dram_cycles_, dram_write_cycles_, link_cycles_, atomic_cycles_;
  double owed_ = 0;  // of sectors that others have brought
  std::array<Server, kSchedulers> schedulers_;
  std::array<Server, kPipes> pipes_;
  Server lsu_, port_, stores_, starts_, l2_server_, dram_, atomics_, constants_, link_, link_back_;
  std::vector<WarpState> warps_;
  std::vector<BlockState> slots_;
  using Next = std::pair<double, uint32_t>;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next_;
  std::vector<double> ended_;
  std::vector<std::pair<double, uint64_t>> marks_;  // times, and instructions until then
  const std::vector<const BlockTrace*>* blocks_ = nullptr;
  std::size_t to_begin_ = 0;
  double warp_cycles_ = 0;
  std::array<double, kWaits.size()> waits_{};
  Wait level_ = Wait::l1;  // where the last load has found its line
  Replay r_;
};

}  // namespace coalesce::machine
