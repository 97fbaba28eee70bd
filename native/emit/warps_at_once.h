// Several warps side by side (analyse/region_registers.h).
#pragma once

#include "native/emit/emitter.h"

namespace coalesce::native {

// Before the code for one warp, e.warp: where `n` warps from that on have all their lanes, they run here and the loop
// goes on at `loop` or `after`. Goes on where they have not.
void emit_warps_at_once(Emitter& e, uint32_t r, uint32_t n, Value* all_on, llvm::BasicBlock* loop,
                        llvm::BasicBlock* after);

}  // namespace coalesce::native
