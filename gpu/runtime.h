// NVIDIA's own CUDA runtime and driver, reached by name: this library stands in front of the runtime (LD_PRELOAD), and
// what it does itself goes to the functions behind. Types: cudart/core/abi.h.
#pragma once

#include <string>

#include "cudart/core/abi.h"

namespace coalesce::gpu {

using namespace coalesce::cudart;  // the ABI's types, by CUDA's names

// The next definition of an exported function; null where the program's runtime has none.
void* next_symbol(const char* name);

#define COALESCE_RUNTIME(X)                                                \
  X(cudaDeviceSynchronize, cudaError_t, ())                                \
  X(cudaGetLastError, cudaError_t, ())                                     \
  X(cudaPeekAtLastError, cudaError_t, ())                                  \
  X(cudaGetDevice, cudaError_t, (int*))                                    \
  X(cudaDeviceGetAttribute, cudaError_t, (int*, int, int))                 \
  X(cudaMalloc, cudaError_t, (void**, size_t))                             \
  X(cudaFree, cudaError_t, (void*))                                        \
  X(cudaMemcpy, cudaError_t, (void*, const void*, size_t, cudaMemcpyKind)) \
  X(cudaMemsetAsync, cudaError_t, (void*, int, size_t, cudaStream_t))      \
  X(cudaGetSymbolAddress, cudaError_t, (void**, const void*))              \
  X(cudaFuncGetName, cudaError_t, (const char**, const void*))             \
  X(cudaEventCreate, cudaError_t, (cudaEvent_t*))                          \
  X(cudaEventDestroy, cudaError_t, (cudaEvent_t))                          \
  X(cudaEventRecord, cudaError_t, (cudaEvent_t, cudaStream_t))             \
  X(cudaEventSynchronize, cudaError_t, (cudaEvent_t))                      \
  X(cudaEventElapsedTime, cudaError_t, (float*, cudaEvent_t, cudaEvent_t)) \
  X(cudaStreamIsCapturing, cudaError_t, (cudaStream_t, int*))

struct Runtime {
#define COALESCE_MEMBER(name, result, parameters) result(*name) parameters = nullptr;
  COALESCE_RUNTIME(COALESCE_MEMBER)
#undef COALESCE_MEMBER
};
const Runtime& runtime();

// The driver's functions that the runtime has no word for.
struct Driver {
  int (*cuCtxGetCurrent)(void**) = nullptr;
  int (*cuDeviceGetName)(char*, int, int) = nullptr;
  int (*cuModuleLoadData)(void**, const void*) = nullptr;
  int (*cuModuleGetFunction)(void**, void*, const char*) = nullptr;
  int (*cuLaunchKernel)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                        void**) = nullptr;
};
// Null where there is no driver.
const Driver* driver();

struct DeviceFacts {
  int index = 0, major = 0, minor = 0, multiprocessors = 0;
  size_t l2_bytes = 0;
  std::string name;
};
// Facts of the current device.
DeviceFacts device_facts();

}  // namespace coalesce::gpu
