// Warps that a region's loop skips (analyse/idle_warps.h).
#pragma once

#include "native/emit/emitter.h"

namespace coalesce::native {

// Before the loop over the warps of region `r`: sets e.region.ordered and its neighbours. `all_on`: i1, all lanes of
// all warps are on.
void prepare_idle_warps(Emitter& e, uint32_t r, Value* all_on);
// Within the loop, for a warp that is not skipped: where idle warps are periodic, straight to what it does; elsewhere
// to `next`.
void enter_periodic_warp(Emitter& e, uint32_t r, llvm::BasicBlock* next);

}  // namespace coalesce::native
