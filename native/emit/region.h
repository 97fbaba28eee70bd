// A region: what is computed once for the thread block, and where the block goes on.
#pragma once

#include "native/emit/emitter.h"

namespace coalesce::native {

// Repetitions of a uniform loop before its instructions are charged for.
inline constexpr uint64_t kFuel = 1u << 12;

void emit_region(Emitter& e, uint32_t r);
// Makes e.stops[r], unless it is there: the function returns at the beginning of region `r`. Moves the insertion point.
void emit_stop(Emitter& e, uint32_t r);
// True if the basic block's counts are added once for all warps of the region.
bool counted_by_region(const Emitter& e, uint32_t r, uint32_t b);

}  // namespace coalesce::native
