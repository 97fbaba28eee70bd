// A trace holds what some blocks of a launch have executed: their basic blocks and accesses, warp by warp. Estimates of
// time are made from these blocks; all others run unwatched.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

#include "machine/execute/observer.h"
#include "machine/program/merge.h"
#include "machine/time/line_table.h"

namespace coalesce::machine {

// One word, or several: the kind is in the topmost bits.
//   block       basic block entered
//   access      instruction, passes over the banks or lines, words that follow; each of them a line and its sectors
//   of constant memory the lines have 64 bytes; of local memory a line is one word of each lane; of shared memory words
//   follow atomics that are a loop in machine code
enum class TraceKind : uint8_t { block = 1, global, shared, local, atomic, constant };
struct TraceWord {
  // kind : 4, count : 8 (words that follow), passes : 16, number : 32
  static uint64_t head(TraceKind kind, uint32_t number, uint32_t passes = 0, uint32_t count = 0) {
    return uint64_t{static_cast<uint8_t>(kind)} << 60 | uint64_t{count & 0xff} << 52 | uint64_t{passes & 0xffff} << 32 |
           number;
  }
  static TraceKind kind(uint64_t w) { return static_cast<TraceKind>(w >> 60); }
  static uint32_t count(uint64_t w) { return static_cast<uint32_t>(w >> 52 & 0xff); }
  static uint32_t passes(uint64_t w) { return static_cast<uint32_t>(w >> 32 & 0xffff); }
  static uint32_t number(uint64_t w) { return static_cast<uint32_t>(w); }
  // A word of shared memory and how many lanes add to it, in a loop around a compare-and-swap.
  static uint64_t word(uint64_t at, uint32_t lanes) { return at << 8 | lanes; }
  // A line of 128 bytes and four bits for its sectors.
  static uint64_t line(uint64_t address, uint32_t sectors) { return address / 128 << 4 | sectors; }
};

inline constexpr std::size_t kMostBeyond = 1u << 20;

struct BlockTrace {
  std::vector<std::vector<uint64_t>> warps;
  std::vector<uint64_t> instructions;  // that each warp has executed, those that its trace has no room for, too
  // Lines of global memory that warps have touched when their traces had no room: bits of the sectors that they have
  // loaded, and above them of those that they have stored. At most kMostBeyond.
  LineTable<uint8_t> beyond = {};
  std::unordered_set<uint64_t> constants_beyond =
      {};  // lines of constant memory, of which there are a thousand at most
};

// Which blocks are watched: of some multiprocessors those that each would run, of each at most `most` of them, spread
// evenly over the launch. Of several multiprocessors where they have few blocks, because these may differ.
struct Watched {
  uint64_t blocks = 0;            // of the launch
  uint64_t apart = 1;             // from one block of a multiprocessor to its next
  uint64_t of_all = 0;            // blocks that the multiprocessor of the last one runs in all
  std::vector<uint64_t> numbers;  // rising

  uint64_t next(uint64_t block) const;  // the first watched block from there on; `blocks`: none
};
Watched watch(uint64_t blocks, uint32_t multiprocessors, uint64_t most);

class TimeTrace : public LaunchObserver {
 public:
  // `most_words`: of a warp's trace.
  TimeTrace(const Decoded& program, Watched watched, uint32_t warps, std::size_t most_words)
      : program_(program),
        watched_(std::move(watched)),
        warps_(warps),
        most_words_(most_words),
        joined_(program.code.size()) {
    for (const JoinedAccess& j : joined_accesses(program))
      for (const uint32_t k : j.members) joined_[k] = {k == j.members.front() ? j.bytes : 0, j.moved, true};
  }
  std::unique_ptr<BlockObserver> observe_blocks() override;
  uint64_t next_watched(uint64_t block) const override { return watched_.next(block); }

  const Watched& watched() const { return watched_; }
  // The traces of the watched blocks that have ended, by number. A warp whose trace has outgrown its room ends where it
  // did.
  const std::map<uint64_t, BlockTrace>& blocks() const { return blocks_; }
  bool cut() const { return cut_; }  // some trace has outgrown its room

 private:
  friend class BlockTracer;
  // An access of shared memory to ptxas: the first of several becomes one of `bytes` a lane, the others
  // none.
  struct Joined {
    uint32_t bytes = 0;
    int64_t moved = 0;
    bool is_member = false;
  };

  const Decoded& program_;
  Watched watched_;
  uint32_t warps_;
  std::size_t most_words_;
  std::vector<Joined> joined_;  // by instruction
  std::mutex mutex_;
  std::map<uint64_t, BlockTrace> blocks_;
  std::atomic<bool> cut_{false};
};

}  // namespace coalesce::machine
