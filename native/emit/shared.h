// Shared memory.
#pragma once

#include "native/emit/emitter.h"

namespace coalesce::native {

// Lane l at base + l * stride.
void emit_shared(Emitter& e, uint32_t index, const Active& active, int64_t stride);
// Any addresses.
void emit_shared_general(Emitter& e, uint32_t index, const Active& active);

// An address in units of `bytes`; one that is no multiple of them becomes a number above all limits.
Value* in_units(Emitter& e, Value* address, int64_t bytes);
// An access that ends `span` bytes after its first lane's has room where that lane's address, in units of `bytes`, is
// below this.
Value* shared_limit(Emitter& e, int64_t span, int64_t bytes);

}  // namespace coalesce::native
