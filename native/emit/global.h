// Global memory.
#pragma once

#include "native/emit/emitter.h"

namespace coalesce::native {

// `address`: of lane 0, or of all lanes (`uniform`). `affine`: i1, the other lanes follow it (null: known).
void emit_global(Emitter& e, uint32_t index, const Active& active, bool uniform, Value* address, Value* affine);
// Addresses that no lane class describes: most often lane after lane all the same.
void emit_global_general(Emitter& e, uint32_t index, const Active& active);

}  // namespace coalesce::native
