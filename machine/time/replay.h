// One multiprocessor at work on the blocks that it has been given: their warps issue in order, wait for what they
// need, and share pipes, L1, and the multiprocessor's part of L2 and DRAM. Times are cycles; nothing is done cycle by
// cycle: each resource knows when it is free next.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "machine/time/costs.h"
#include "machine/time/limits.h"
#include "machine/time/trace.h"

namespace coalesce::machine {

// The part of the device that the multiprocessor has.
struct Share {
  uint32_t resident = 1;       // blocks at a time
  uint64_t l1_bytes = 0;       // for global and local memory
  double multiprocessors = 1;  // that work at the same time, this one included
  double others = 0;           // part of the sectors new to this multiprocessor that others have brought into L2
  uint64_t l2_bytes = 0;       // what L2 holds of this multiprocessor's
  double write_back = 0;       // part of the stored sectors that DRAM gets
  double fetched = 1;          // sectors that DRAM gives for each that is needed
};

enum class Resource : uint8_t { issue, shared, l2, dram, atomics };
inline constexpr std::size_t kResources = 5;

struct Replay {
  double cycles = 0;
  double steady = 0;                      // cycles a block, once the multiprocessor is full
  std::array<double, kResources> busy{};  // cycles that each resource has worked
  double stalled = 0;                     // cycles of warps waiting for loads, over all warps' cycles
  double resident_warps = 0;              // on average
  uint64_t l1_sectors = 0, l1_hits = 0;   // sectors of loads
  uint64_t l2_sectors = 0, l2_hits = 0;   // of these, those that went on to L2
  uint64_t stored_sectors = 0;
  uint64_t instructions = 0;  // of the decoded program
};

// Cost: some 50 ns a warp instruction.
Replay replay(const Decoded& program, const Costs& costs, const Limits& limits, const Share& share,
              const std::vector<const BlockTrace*>& blocks);

}  // namespace coalesce::machine
