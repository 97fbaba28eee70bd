#pragma once

#include "cudart/core/runtime.h"

namespace coalesce::cudart {

// Allocates; under the lock. *pointer is null for 0 bytes, as with CUDA. `call`: the function's name, for messages.
cudaError_t allocate(Runtime& r, void** pointer, size_t bytes, machine::Origin origin, const char* call);
// False: no memory of the device, live or freed, has ever been at `address` (so it need not be searched for).
bool ever_allocated(uint64_t address);
// Memory was released: the pool it came from, if any, gets it back on its account.
void pool_released(uint64_t address);
// Releases what one of `origins` allocated. A null pointer is fine. `call`: the function's name, for messages.
cudaError_t release(Runtime& r, void* pointer, std::initializer_list<machine::Origin> origins, const char* call);
// For calls that wait for the device.
void host_waits_for_all(Runtime& r);

}  // namespace coalesce::cudart
