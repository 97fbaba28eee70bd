// A region's loop over the warps of a thread block.
#pragma once

#include "native/emit/emitter.h"

namespace coalesce::native {

void emit_warp_loop(Emitter& e, uint32_t r);

// Sets e.warp to warp `w` (i32).
void select_warp(Emitter& e, Value* w);
// Address of a warp's mask of live lanes.
Value* alive_mask(Emitter& e, Value* w);
// At the beginning of region `r`: the warp's registers from their slots; zeros for those that are written under a mask
// first.
void load_registers(Emitter& e, uint32_t r);
// At the end of region `r`: registers that are read afterwards, to their slots. NaNs stay as they are; the loader makes
// them canonical where the interpreter goes on.
void store_registers(Emitter& e, uint32_t r);
// No lanes wait anywhere, and load_registers().
void begin_warp(Emitter& e, uint32_t r);
void emit_instruction(Emitter& e, uint32_t index, const Active& outer);

}  // namespace coalesce::native
