// The order in which ptxas would put the instructions of a basic block.
#pragma once

#include <vector>

#include "machine/time/costs.h"

namespace coalesce::machine {

// Instructions of the block, by their place in it, in the order of issue. What is ready goes, and of that first what
// the longest chain waits for, so that chains which do not need each other overlap and loads go early. Kept in the
// order of the program: accesses that may meet in memory, operations between lanes, and all of it around barriers and
// fences. `costs` are those of the block's instructions. Cost: n log n, and the pairs of loads and stores.
std::vector<uint32_t> schedule(const Decoded& program, const BasicBlock& block,
                               const std::vector<InstructionCost>& costs, const Limits& limits);

}  // namespace coalesce::machine
