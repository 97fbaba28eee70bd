// Loops that store in global memory and end by what they have loaded from there. Where other blocks store what decides,
// how often they go around depends on who comes first: blocks that run one after the other tell nothing about it.
#pragma once

#include <vector>

#include "machine/program/program.h"

namespace coalesce::machine {

// The loads of global memory, inside of such loops, that their ends depend on, by instruction. Cost: linear in the
// code, for each loop that stores.
std::vector<bool> find_deciding_loads(const Decoded& program);

}  // namespace coalesce::machine
