// Divergence: lanes part at branches, wait for one another and meet (analyse/regions.h).
#pragma once

#include "native/emit/emitter.h"

namespace coalesce::native {

// The end of basic block `b` of region `r`.
void emit_end_of_block(Emitter& e, uint32_t r, uint32_t b, const Active& active);
// The code of e.region.arrive[scope].
void emit_arrival(Emitter& e, uint32_t r, uint32_t scope);

}  // namespace coalesce::native
