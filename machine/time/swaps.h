// Words that all lanes of a warp swap in a loop, until a compare-and-swap succeeds: warps there contend, although a
// machine that runs them one after the other sees hardly a swap fail.
#pragma once

#include <vector>

#include "machine/program/program.h"

namespace coalesce::machine {

// Swaps in a loop at one address for a whole warp, and loads of what they swap, by instruction. Cost: linear in the
// code, for each such swap.
std::vector<bool> find_swaps(const Decoded& program);

}  // namespace coalesce::machine
