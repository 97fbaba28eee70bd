// Basic blocks that ptxas makes one of: it puts predicates in place of short branches, and unrolls loops that count.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/program/program.h"

namespace coalesce::machine {

// A basic block in the order of the chain.
struct Link {
  uint32_t block = 0;
  bool optional = false;  // the short side of a branch: not all warps enter it
  uint32_t turn = 0;      // of an unrolled loop
};
inline constexpr std::size_t kMostLinks = 64;

struct Chain {
  std::vector<Link> links;       // the first is the block that the chain is of; at most kMostLinks
  uint32_t turns = 1;            // of the loop that the chain is
  std::vector<uint32_t> counts;  // instructions that only count the loop's turns and branch: once for all turns
};

// For each basic block: the chain that it begins, and the same unrolled; without links where it begins no such loop.
struct Chains {
  std::vector<Chain> once, unrolled;
};
Chains find_chains(const Decoded& program);

}  // namespace coalesce::machine
