// Loads, stores and atomics.
#pragma once

#include "native/emit/emitter.h"

namespace coalesce::native {

// Where the address is affine, the access is checked, counted and carried out in line. What fails a check, and every
// other access, is the interpreter's.
void emit_memory(Emitter& e, uint32_t index, const Active& active);

}  // namespace coalesce::native
