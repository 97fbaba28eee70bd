// A trace holds what some blocks of a launch have executed: their basic blocks and accesses, warp by warp. Estimates of
// time are made from these blocks; all others run unwatched.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "machine/execute/observer.h"
#include "machine/program/merge.h"
#include "machine/time/touches.h"
#include "machine/time/watched.h"

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

using Words = std::span<const uint64_t>;

struct BlockTrace {
  std::vector<Words> warps;            // in the launch's room
  std::vector<uint64_t> instructions;  // that each warp has executed, those that its trace has no room for, too
  Touches touches = {};                // global memory: sectors of all accesses, changes of those in the traces
  std::unordered_set<uint64_t> constants = {};  // lines of constant memory that all accesses read
  bool has_local = false;                       // accesses of local memory are in the traces
};

// Memory for the traces of one launch after another, so that each page of it is asked for once.
struct TraceRoom {
  std::unique_ptr<uint64_t[]> words;
  std::size_t size = 0;
};

class TimeTrace : public LaunchObserver {
 public:
  // `most_words`: of a warp's trace, which may have the words of one access more. Takes the room of `spare`, if that is
  // large enough, and leaves its own there.
  TimeTrace(const Decoded& program, const Limits& limits, Watched watched, uint32_t warps, std::size_t most_words,
            TraceRoom& spare);
  ~TimeTrace() override;
  TimeTrace(const TimeTrace&) = delete;
  TimeTrace& operator=(const TimeTrace&) = delete;
  std::unique_ptr<BlockObserver> observe_blocks() override;
  uint64_t next_watched(uint64_t block) const override { return watched_.next(block); }

  const Watched& watched() const { return watched_; }
  // The traces of the watched blocks that have ended, by number. A warp whose trace has outgrown its room ends where it
  // did.
  const std::map<uint64_t, BlockTrace>& blocks() const { return blocks_; }

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
  const Limits& limits_;
  Watched watched_;
  uint32_t warps_;
  std::size_t most_words_;
  std::size_t room_;            // words of a warp's trace, at most
  std::size_t most_pages_;      // of a block's touches
  std::vector<Joined> joined_;  // by instruction
  TraceRoom& spare_;
  TraceRoom all_;  // of all traces, block by block: no page of it is used before its time
  std::mutex mutex_;
  std::map<uint64_t, BlockTrace> blocks_;
};

}  // namespace coalesce::machine
