// Operations between the lanes of a warp: votes and shuffles.
#pragma once

#include "native/emit/emitter.h"

namespace coalesce::native {

// False: the interpreter's handler does it.
bool emit_lane_operation(Emitter& e, uint32_t index, const Active& active);

}  // namespace coalesce::native
