// The memory that a launch touches, told from the blocks that were watched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "machine/program/program.h"
#include "machine/time/estimator.h"
#include "machine/time/touches.h"
#include "machine/time/trace.h"

namespace coalesce::machine {

using Blocks = std::vector<const BlockTrace*>;

struct Touched {
  Touches touches;
  std::unordered_set<uint64_t> constants;    // lines of constant memory
  uint64_t lines = 0;                        // of global memory
  uint64_t loaded = 0, stored = 0, all = 0;  // distinct sectors; loaded are those that were not made
  uint64_t of_host = 0;
  bool contended = false;                    // blocks try to swap one word until they succeed
  bool unsettled = false;                    // loops end by what other blocks have stored
  double hottest = 0, hottest_of_block = 0;  // cycles of one unit of L2: of lines that blocks share, of others
};

Touched touched(const TimedLaunch& launch, const Blocks& blocks);

// Distinct sectors of a launch.
struct DistinctSectors {
  double distinct = 0;
  double loaded = 0;   // that memory has to give: they are not stored before
  double fetched = 0;  // sectors of the halves of lines that these lie in: DRAM gives no less
  double stored = 0;
  double changed = 0;         // first loaded, then stored
  double stored_lines = 0;    // sectors of the lines that stored ones lie in
  double stored_of_line = 1;  // stored sectors of a line, on average
};
// The sum of what all blocks have touched of each region, parted as the watched blocks' accesses to it.
DistinctSectors distinct_sectors(const Touched& t, const std::vector<TouchedRegion>& regions);

}  // namespace coalesce::machine
