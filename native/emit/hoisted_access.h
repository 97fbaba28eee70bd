// Accesses by all warps whose check has been hoisted.
#pragma once

#include "native/emit/emitter.h"

namespace coalesce::native {

// Before the loop: counts the accesses of all warps, marks what they touch, and decides what is prefetched.
void account_all_warps(Emitter& e, const Instruction& i, HoistedAccess& access);
// In the loop: one warp's access.
void emit_hoisted_access(Emitter& e, uint32_t index, const HoistedAccess& access, const Active& active);

}  // namespace coalesce::native
