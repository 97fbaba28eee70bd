// Atomics on shared memory. Only this thread sees the block's shared memory, so they need not be atomic: lane after
// lane, in order, a number is read, changed and written. What they cost is counted for many at once (PendingAtomics).
#pragma once

#include "native/emit/emitter.h"

namespace coalesce::native {

// False: it is none of those with code of their own.
bool emit_shared_atomic(Emitter& e, uint32_t index, const Active& active);

}  // namespace coalesce::native
