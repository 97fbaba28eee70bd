// Loads, stores and atomics.
#pragma once

#include "native/emit/emitter.h"

namespace coalesce::native {

// An access with an affine address is checked, counted and executed in line. The interpreter executes what fails a
// check, and every other access.
void emit_memory(Emitter& e, uint32_t index, const Active& active);

}  // namespace coalesce::native
