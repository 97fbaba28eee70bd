// Accesses whose checks are hoisted out of the loop over warps (analyse/hoisted_checks.h).
#pragma once

#include "native/emit/emitter.h"

namespace coalesce::native {

// Before the loop over the warps of region `r`. `all_on`: i1, all lanes of all warps are on. Goes on where the warps
// are to run one by one; the loop without checks ends at `after`.
void emit_hoisted_checks(Emitter& e, uint32_t r, Value* all_on, llvm::BasicBlock* after);

}  // namespace coalesce::native
