// The functions of the CUDA runtime that this library stands in front of (LD_PRELOAD; the driver's:
// interpose_driver.cpp): each tells what happens and goes
// on to NVIDIA's own. They carry no symbol version, which satisfies a reference to any: one library for CUDA 11 to 13.
#include <cstdlib>

#include "gpu/memory.h"
#include "gpu/runtime.h"
#include "gpu/session.h"

namespace coalesce::gpu {
namespace {

// The real function of the same type; the program could not have been started without those it names.
template <typename Function>
Function* real(Function*, const char* name) {
  static_assert(sizeof(Function*) == sizeof(void*));
  return reinterpret_cast<Function*>(next_symbol(name));
}

#define NEXT(name)                              \
  static auto* const next = real(&name, #name); \
  if (!next) return cudaErrorInitializationError

record::CopyPath path_of(cudaMemcpyKind kind) {
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return record::CopyPath::h2d;
    case cudaMemcpyDeviceToHost:
      return record::CopyPath::d2h;
    case cudaMemcpyHostToHost:
      return record::CopyPath::h2h;
    default:
      return record::CopyPath::d2d;  // cudaMemcpyDefault: the runtime finds out; counted as on the device
  }
}

DevicePointer address(void* pointer) { return reinterpret_cast<DevicePointer>(pointer); }

void remember(cudaError_t status, void** pointer, size_t bytes) {
  if (status == cudaSuccess && pointer) device_memory().allocated(address(*pointer), bytes);
}

cudaError_t result(int number) { return static_cast<cudaError_t>(number); }

__attribute__((destructor)) void ended() { Session::get().end(); }

}  // namespace

// Launches. _ptsz: the same with another default stream.
#define LAUNCH(name, Handle)                                                                                          \
  COALESCE_API cudaError_t name(Handle function, dim3 grid, dim3 block, void** arguments, size_t shared,              \
                                cudaStream_t stream) {                                                                \
    NEXT(name);                                                                                                       \
    return result(Session::get().launch({reinterpret_cast<const void*>(function), true, grid, block, shared, stream}, \
                                        [&] { return next(function, grid, block, arguments, shared, stream); }));     \
  }
LAUNCH(cudaLaunchKernel, const void*)
LAUNCH(cudaLaunchKernel_ptsz, const void*)
LAUNCH(cudaLaunchCooperativeKernel, const void*)
LAUNCH(cudaLaunchCooperativeKernel_ptsz, const void*)
LAUNCH(__cudaLaunchKernel, cudaKernel_t)
LAUNCH(__cudaLaunchKernel_ptsz, cudaKernel_t)

#define LAUNCH_CONFIGURED(name)                                                                               \
  COALESCE_API cudaError_t name(const cudaLaunchConfig_t* config, const void* function, void** arguments) {   \
    NEXT(name);                                                                                               \
    const auto run = [&] { return next(config, function, arguments); };                                       \
    if (!config) return run();                                                                                \
    return result(Session::get().launch(                                                                      \
        {function, true, config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream}, run)); \
  }
LAUNCH_CONFIGURED(cudaLaunchKernelExC)
LAUNCH_CONFIGURED(cudaLaunchKernelExC_ptsz)

#define LAUNCH_GRAPH(name)                                                    \
  COALESCE_API cudaError_t name(void* graph, cudaStream_t stream) {           \
    NEXT(name);                                                               \
    return result(Session::get().graph([&] { return next(graph, stream); })); \
  }
LAUNCH_GRAPH(cudaGraphLaunch)
LAUNCH_GRAPH(cudaGraphLaunch_ptsz)

// Memory.
COALESCE_API cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  NEXT(cudaMalloc);
  const cudaError_t status = next(pointer, bytes);
  remember(status, pointer, bytes);
  return status;
}
COALESCE_API cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  NEXT(cudaMallocPitch);
  const cudaError_t status = next(pointer, pitch, width, height);
  remember(status, pointer, pitch ? *pitch * height : 0);
  return status;
}
COALESCE_API cudaError_t cudaMalloc3D(cudaPitchedPtr* pitched, cudaExtent extent) {
  NEXT(cudaMalloc3D);
  const cudaError_t status = next(pitched, extent);
  if (pitched) remember(status, &pitched->ptr, pitched->pitch * extent.height * extent.depth);
  return status;
}
#define MALLOC_ASYNC(name)                                                           \
  COALESCE_API cudaError_t name(void** pointer, size_t bytes, cudaStream_t stream) { \
    NEXT(name);                                                                      \
    const cudaError_t status = next(pointer, bytes, stream);                         \
    remember(status, pointer, bytes);                                                \
    return status;                                                                   \
  }
MALLOC_ASYNC(cudaMallocAsync)
MALLOC_ASYNC(cudaMallocAsync_ptsz)
#define MALLOC_FROM_POOL(name)                                                                           \
  COALESCE_API cudaError_t name(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) { \
    NEXT(name);                                                                                          \
    const cudaError_t status = next(pointer, bytes, pool, stream);                                       \
    remember(status, pointer, bytes);                                                                    \
    return status;                                                                                       \
  }
MALLOC_FROM_POOL(cudaMallocFromPoolAsync)
MALLOC_FROM_POOL(cudaMallocFromPoolAsync_ptsz)
COALESCE_API cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
  NEXT(cudaMallocManaged);
  const cudaError_t status = next(pointer, bytes, flags);
  remember(status, pointer, bytes);
  return status;
}
COALESCE_API cudaError_t cudaFree(void* pointer) {
  NEXT(cudaFree);
  device_memory().freed(address(pointer));
  return next(pointer);
}
#define FREE_ASYNC(name)                                              \
  COALESCE_API cudaError_t name(void* pointer, cudaStream_t stream) { \
    NEXT(name);                                                       \
    device_memory().freed(address(pointer));                          \
    return next(pointer, stream);                                     \
  }
FREE_ASYNC(cudaFreeAsync)
FREE_ASYNC(cudaFreeAsync_ptsz)

COALESCE_API void __cudaRegisterVar(void** module, char* host, char* address, const char* name, int external,
                                    size_t size, int constant, int global) {
  static auto* const next = real(&__cudaRegisterVar, "__cudaRegisterVar");
  if (!next) std::abort();  // no CUDA runtime behind this library
  device_memory().variable(host, size);
  next(module, host, address, name, external, size, constant, global);
}

// Copies.
#define COPY(name)                                                                                               \
  COALESCE_API cudaError_t name(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {                 \
    NEXT(name);                                                                                                  \
    return result(Session::get().copy(path_of(kind), bytes, true, [&] { return next(to, from, bytes, kind); })); \
  }
COPY(cudaMemcpy)
COPY(cudaMemcpy_ptds)
#define COPY_ASYNC(name)                                                                                              \
  COALESCE_API cudaError_t name(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) { \
    NEXT(name);                                                                                                       \
    return result(                                                                                                    \
        Session::get().copy(path_of(kind), bytes, false, [&] { return next(to, from, bytes, kind, stream); }));       \
  }
COPY_ASYNC(cudaMemcpyAsync)
COPY_ASYNC(cudaMemcpyAsync_ptsz)
#define COPY_2D(name)                                                                                              \
  COALESCE_API cudaError_t name(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,      \
                                size_t height, cudaMemcpyKind kind) {                                              \
    NEXT(name);                                                                                                    \
    return result(Session::get().copy(path_of(kind), width * height, true,                                         \
                                      [&] { return next(to, to_pitch, from, from_pitch, width, height, kind); })); \
  }
COPY_2D(cudaMemcpy2D)
COPY_2D(cudaMemcpy2D_ptds)

COALESCE_API cudaError_t cudaDeviceReset() {
  NEXT(cudaDeviceReset);
  return result(Session::get().leave(current_context(), [&] { return next(); }, [] { return true; }));
}

// Calls that wait for the device.
COALESCE_API cudaError_t cudaDeviceSynchronize() {
  NEXT(cudaDeviceSynchronize);
  return result(Session::get().wait([&] { return next(); }));
}
#define WAIT_STREAM(name)                                             \
  COALESCE_API cudaError_t name(cudaStream_t stream) {                \
    NEXT(name);                                                       \
    return result(Session::get().wait([&] { return next(stream); })); \
  }
WAIT_STREAM(cudaStreamSynchronize)
WAIT_STREAM(cudaStreamSynchronize_ptsz)

}  // namespace coalesce::gpu
