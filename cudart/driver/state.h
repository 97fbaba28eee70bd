// The driver API stands on the runtime's objects and lock: same library, one state. What it has beside them: whether it
// was initialised, and contexts, which are names for the one that there is.
#pragma once

#include "cudart/core/runtime.h"
#include "cudart/driver/abi.h"

namespace coalesce::cudart {

// The result for what the runtime calls `error`; their numbers are the same where both have one.
CUresult result_of(cudaError_t error);

// CUDA_SUCCESS after cuInit, else the error.
CUresult initialised();
// The context that is current to the calling thread: CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_INVALID_CONTEXT (none) or
// CUDA_ERROR_CONTEXT_IS_DESTROYED where a call that needs one cannot go on.
CUresult current_context();

// CUDA_SUCCESS after cuInit, for calls that use the machine and need no current context: places and handles of memory.
CUresult without_context();

// The allocation at this address ends with the current context, if that is one that the program has made.
void belongs_to_context(CUdeviceptr address);

// Runs `body` (a call of the runtime's API, say) and gives the driver's result. What the runtime remembers as the
// thread's last error stays as it is.
template <typename Body>
CUresult quietly(Body&& body) {
  const cudaError_t before = exchange_last_error(cudaSuccess);
  const cudaError_t error = body();
  exchange_last_error(before);
  return result_of(error);
}
// For calls that need only cuInit: those about the device, and those that a handle or an address tells the context of
// (freeing, destroying, events).
template <typename Body>
CUresult after_init(Body&& body) {
  const CUresult ready = initialised();
  return ready != CUDA_SUCCESS ? ready : quietly(body);
}
// For calls that need a current context.
template <typename Body>
CUresult in_context(Body&& body) {
  const CUresult ready = current_context();
  return ready != CUDA_SUCCESS ? ready : quietly(body);
}

extern "C" {
CUresult cuCtxGetCurrent(CUcontext* context);
CUresult cuCtxGetApiVersion(CUcontext context, unsigned* version);
CUresult cuStreamGetFlags(cudaStream_t stream, unsigned* flags);
}

inline void* pointer_of(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

}  // namespace coalesce::cudart
