// Facts that the block's dimensions prove of accesses to shared memory.
#pragma once

#include <cstdint>

#include "native/analyse/registers.h"

namespace coalesce::native {

// All lanes' addresses lie in the kernel's static shared memory and are aligned.
bool in_bounds(const Decoded& program, const MemoryOp& m);
// An access to shared memory that is in bounds.
bool cannot_fault(const Decoded& program, const MemoryOp& m);
// Cannot fault, is not volatile, and costs the same at any address: warps may do it in any order.
bool is_order_free(const Decoded& program, const MemoryOp& m);
// An atomic on 32-bit integers in shared memory by an operation that the CPU has.
bool is_simple_atomic(const Decoded& program, const Instruction& i);

// Cost memos for each access without a closed-form cost and each warp, a power of two: in a loop where the distance
// between lanes doubles or halves, as in a tree, each iteration has its own. As many as fit into the CPU's first cache.
uint32_t find_memo_ways(const Registers& registers, std::size_t memo_bytes);

}  // namespace coalesce::native
