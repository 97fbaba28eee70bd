// Counting as if ptxas had rewritten the program's memory accesses (--model ptxas). Nothing is executed differently.
//
// At -O3 ptxas makes one wide request of neighbouring accesses to shared memory, and has one lane carry out an atomic
// of a whole warp. Both follow rules regular enough to be foreseen; they were found by compiling small kernels with
// CUDA 13.0 for sm_90 and reading the machine code, and are held against an H200 in docs/results/agreement.md.
//
// Merged are accesses of 4 and 8 bytes a lane, not volatile, whose addresses are one sum of registers plus different
// constants, in one window of 16 bytes that the sum is known to be aligned to (else of 8), all of them done by the same
// lanes. Loads: three of a window's four words become one load of 16 bytes, two that make up a half one of 8. Stores:
// the same, without gaps. Between merged loads there is no store to shared memory, no atomic on it, barrier, fence or
// call; between merged stores also no load from it. Stores are merged within a basic block, loads also across branches
// whose sides meet again and neither store nor wait.
//
// Gathered are atomics at an address that is the same for the warp whichever threads it has (nothing of it comes from
// thread numbers): 32-bit add, sub, min, max, and, or, xor without a result; add and sub with one, or of 64 bits in
// global memory, where the operand is the same for the warp, too. `inc` that never wraps is an add.
//
// An atomic on shared memory that adds the constant 1 and returns nothing has the memory count the lanes of each word
// (ATOMS.POPC.INC): lanes on one word go together.
#pragma once

#include <vector>

#include "machine/program/program.h"

namespace coalesce::machine {

// Loads or stores of shared memory that become one, in the order of the program.
struct JoinedAccess {
  std::vector<uint32_t> members;  // instructions; the first one leads
  uint32_t bytes = 0;             // a lane: 8 or 16
  int64_t moved = 0;              // from the leader's address to the window's
};
std::vector<JoinedAccess> joined_accesses(const Decoded&);

// Whether it adds the constant 1 to a 32-bit word of shared memory and returns nothing.
bool adds_lanes(const MemoryOp&);

// To be called on a decoded program: adds Kind::request instructions and marks what they stand for (Site::merged).
void merge_as_ptxas(Decoded&);

}  // namespace coalesce::machine
