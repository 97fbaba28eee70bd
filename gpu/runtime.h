// NVIDIA's own CUDA driver and runtime, reached by name. What this library does itself goes to the driver, which every
// CUDA program has; the runtime, of which a process may have none, answers what only it knows. Types:
// cudart/core/abi.h.
#pragma once

#include <cstdint>
#include <string>

#include "cudart/core/abi.h"

namespace coalesce::gpu {

using namespace coalesce::cudart;  // the ABI's types, by CUDA's names

// A function of NVIDIA's that ours of the same name stands in front of: the next definition, or that of a runtime that
// was loaded for one library alone, as Python's modules load it. Null: there is none.
void* next_symbol(const char* name);
// The driver's function; null: there is none.
void* driver_symbol(const char* name);

using DevicePointer = uint64_t;  // CUdeviceptr

#define COALESCE_DRIVER(X)                                                                                       \
  X(cuCtxGetCurrent, (void**))                                                                                   \
  X(cuCtxGetDevice, (int*))                                                                                      \
  X(cuCtxSynchronize, ())                                                                                        \
  X(cuDeviceGetName, (char*, int, int))                                                                          \
  X(cuDeviceGetAttribute, (int*, int, int))                                                                      \
  X(cuModuleLoadData, (void**, const void*))                                                                     \
  X(cuModuleGetFunction, (void**, void*, const char*))                                                           \
  X(cuLaunchKernel,                                                                                              \
    (void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, cudaStream_t, void**, void**)) \
  X(cuMemAlloc_v2, (DevicePointer*, size_t))                                                                     \
  X(cuMemFree_v2, (DevicePointer))                                                                               \
  X(cuMemcpyDtoD_v2, (DevicePointer, DevicePointer, size_t))                                                     \
  X(cuMemsetD8_v2, (DevicePointer, unsigned char, size_t))                                                       \
  X(cuEventCreate, (void**, unsigned))                                                                           \
  X(cuEventRecord, (void*, cudaStream_t))                                                                        \
  X(cuEventSynchronize, (void*))                                                                                 \
  X(cuEventElapsedTime, (float*, void*, void*))                                                                  \
  X(cuStreamIsCapturing, (cudaStream_t, int*))

struct Driver {
#define COALESCE_MEMBER(name, parameters) int(*name) parameters = nullptr;
  COALESCE_DRIVER(COALESCE_MEMBER)
#undef COALESCE_MEMBER
  // Newer drivers have these; null elsewhere.
  int (*cuFuncGetName)(const char**, void*) = nullptr;
  int (*cuKernelGetName)(const char**, void*) = nullptr;
};
// Null where there is no driver.
const Driver* driver();

// The context of this thread; null: none.
void* current_context();

struct DeviceFacts {
  int index = 0, major = 0, minor = 0, multiprocessors = 0;
  size_t l2_bytes = 0;
  std::string name;
};
// Facts of the current device.
DeviceFacts device_facts();

}  // namespace coalesce::gpu
