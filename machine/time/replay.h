// One multiprocessor at work on the blocks that it has been given: their warps issue in order, wait for what they
// need, and share pipes, L1, and the multiprocessor's part of L2 and DRAM. Times are cycles; nothing is done cycle by
// cycle: each resource knows when it is free next.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "machine/time/costs.h"
#include "machine/time/estimate.h"
#include "machine/time/limits.h"
#include "machine/time/trace.h"

namespace coalesce::machine {

// Lines of 128 bytes, [first, last), rising.
using LineRanges = std::vector<std::pair<uint64_t, uint64_t>>;
inline bool holds(const LineRanges& ranges, uint64_t line) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), line,
                                      [](uint64_t at, const auto& range) { return at < range.first; });
  return after != ranges.begin() && line < std::prev(after)->second;
}

// The part of the device that the multiprocessor has.
struct Share {
  uint32_t resident = 1;       // blocks at a time
  uint64_t l1_bytes = 0;       // for global and local memory
  double multiprocessors = 1;  // that work at the same time, this one included
  double others = 0;           // part of the sectors new to this multiprocessor that others have brought into L2
  uint64_t l2_bytes = 0;       // what L2 holds of this multiprocessor's
  double write_back = 0;       // part of the stored sectors that DRAM gets
  double spilled = 0;          // the same of local memory
  double fetched = 1;          // sectors that DRAM gives for each that is needed
  LineRanges host = {};        // the host's memory
};

enum class Resource : uint8_t { issue, shared, l2, dram, atomics, host };
inline constexpr std::size_t kResources = 6;

struct Replay {
  double cycles = 0;
  double longest = 0;                             // cycles of the block that took the longest
  double pace = 0;                                // cycles an instruction, in the second half
  double steady = 0;                              // cycles a block, once the multiprocessor is full
  std::array<double, kResources> busy{};          // cycles that each resource has worked
  std::array<double, kWaits.size()> waits{};      // of warps, over all warps' cycles
  double resident_warps = 0;                      // on average
  uint64_t l1_sectors = 0, l1_hits = 0;           // sectors of loads
  uint64_t l2_sectors = 0, l2_hits = 0;           // of these, those that went on to L2
  uint64_t stored_sectors = 0, stored_local = 0;  // to L2: in all, of these to local memory
  uint64_t host_sectors = 0;                      // loaded from or stored to the host's memory
  uint64_t instructions = 0;                      // of the decoded program
};

// Cost: some 50 ns a warp instruction.
Replay replay(const Decoded& program, const Costs& costs, const Limits& limits, const Share& share,
              const std::vector<const BlockTrace*>& blocks);

}  // namespace coalesce::machine
