// From a launch's tally to its counters.
#pragma once

#include <vector>

#include "machine/observe/counters.h"
#include "machine/tally/line_counters.h"
#include "machine/tally/tally.h"

namespace coalesce::machine {

// Totals of a launch and their distribution over source lines. `compulsory_bytes` is the memory's to set.
Counters count(const Decoded& program, const Tally& tally);
std::vector<LineCounters> count_lines(const Decoded& program, const Tally& tally);

}  // namespace coalesce::machine
