// Tiles of shared memory that are transposed before the loop over warps (analyse/tiles.h).
#pragma once

#include "native/emit/emitter.h"

namespace coalesce::native {

// Before the loop over the warps of region `r`. `all_on`: i1, all lanes of all warps are on.
void prepare_tiles(Emitter& e, uint32_t r, Value* all_on);
// A load by a full warp, lane 0 at `base` of shared memory, from the transposed tile. False: there is none.
bool load_column(Emitter& e, const Instruction& i, Value* base, const Active& active);

}  // namespace coalesce::native
