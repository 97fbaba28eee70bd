// The driver's functions that this library stands in front of, for programs that speak to the driver and for runtimes
// that are hidden in libraries. They are reached by LD_PRELOAD, where they are looked up by dlsym by
// redirect/audit.cpp, and by cuGetProcAddress. NVIDIA's shared runtime goes past them: its own functions are seen
// already.
#include <algorithm>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include "gpu/memory.h"
#include "gpu/runtime.h"
#include "gpu/session.h"
#include "gpu/variables.h"

namespace coalesce::gpu {
namespace {

using CUresult = int;
using CUcontext = void*;
constexpr CUresult kNotInitialized = 3;

template <typename Function>
Function* real(Function*, const char* name) {
  return reinterpret_cast<Function*>(driver_symbol(name));
}

#define NEXT(name)                              \
  static auto* const next = real(&name, #name); \
  if (!next) return kNotInitialized

struct LaunchConfig {  // CUlaunchConfig
  unsigned grid[3], block[3], shared;
  cudaStream_t stream;
  void* attributes;
  unsigned count;
};

void remember(CUresult result, const DevicePointer* at, size_t bytes) {
  if (result == 0 && at) device_memory().allocated(*at, bytes);
}

// Variables go with their module.
class ModuleMemory {
 public:
  static ModuleMemory& get() {
    static auto* the = new ModuleMemory;
    return *the;
  }
  void has(void* module, DevicePointer at) {
    const std::lock_guard lock(mutex_);
    variables_[module].push_back(at);
  }
  void ends(void* module) {
    const std::lock_guard lock(mutex_);
    for (const DevicePointer at : variables_[module]) device_memory().freed(at);
    variables_.erase(module);
  }

 private:
  std::mutex mutex_;
  std::map<void*, std::vector<DevicePointer>> variables_;
};

void remember_all(const void* image, void* module, CUresult (*global)(DevicePointer*, size_t*, void*, const char*)) {
  if (!Session::get().repeats() || !current_context()) return;
  const ModuleVariables variables = variables_of_image(image);
  DevicePointer at = 0;
  size_t bytes = 0;
  for (const std::string& name : variables.names) global(&at, &bytes, module, name.c_str());  // which remembers it
  if (!variables.all) Session::get().say("variables of a damaged module are put back where the program asks for them");
}

constexpr auto kGone = [] { return true; };

// A primary context that others hold still lives on.
bool primary_gone(int device) {
  using State = CUresult (*)(int, unsigned*, int*);
  static const auto state = reinterpret_cast<State>(driver_symbol("cuDevicePrimaryCtxGetState"));
  unsigned flags = 0;
  int active = 0;
  return !state || state(device, &flags, &active) != 0 || active == 0;
}

CUcontext primary_of(int device) {
  using Device = CUresult (*)(int*);
  static const auto current = reinterpret_cast<Device>(driver_symbol("cuCtxGetDevice"));
  int of = -1;
  return current && current(&of) == 0 && of == device ? current_context() : nullptr;
}

}  // namespace

#define LAUNCH(name)                                                                                              \
  COALESCE_API CUresult name(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,     \
                             unsigned bz, unsigned shared, cudaStream_t stream, void** arguments, void** extra) { \
    NEXT(name);                                                                                                   \
    return Session::get().launch({function, false, {gx, gy, gz}, {bx, by, bz}, shared, stream}, [&] {             \
      return next(function, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra);                            \
    });                                                                                                           \
  }
LAUNCH(cuLaunchKernel)
LAUNCH(cuLaunchKernel_ptsz)

#define LAUNCH_COOPERATIVE(name)                                                                                     \
  COALESCE_API CUresult name(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,        \
                             unsigned bz, unsigned shared, cudaStream_t stream, void** arguments) {                  \
    NEXT(name);                                                                                                      \
    return Session::get().launch({function, false, {gx, gy, gz}, {bx, by, bz}, shared, stream},                      \
                                 [&] { return next(function, gx, gy, gz, bx, by, bz, shared, stream, arguments); }); \
  }
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel)
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz)

#define LAUNCH_CONFIGURED(name)                                                                       \
  COALESCE_API CUresult name(const LaunchConfig* c, void* function, void** arguments, void** extra) { \
    NEXT(name);                                                                                       \
    const auto run = [&] { return next(c, function, arguments, extra); };                             \
    if (!c) return run();                                                                             \
    return Session::get().launch({function,                                                           \
                                  false,                                                              \
                                  {c->grid[0], c->grid[1], c->grid[2]},                               \
                                  {c->block[0], c->block[1], c->block[2]},                            \
                                  c->shared,                                                          \
                                  c->stream},                                                         \
                                 run);                                                                \
  }
LAUNCH_CONFIGURED(cuLaunchKernelEx)
LAUNCH_CONFIGURED(cuLaunchKernelEx_ptsz)

#define LAUNCH_GRAPH(name)                                            \
  COALESCE_API CUresult name(void* graph, cudaStream_t stream) {      \
    NEXT(name);                                                       \
    return Session::get().graph([&] { return next(graph, stream); }); \
  }
LAUNCH_GRAPH(cuGraphLaunch)
LAUNCH_GRAPH(cuGraphLaunch_ptsz)

// Memory.
COALESCE_API CUresult cuMemAlloc_v2(DevicePointer* at, size_t bytes) {
  NEXT(cuMemAlloc_v2);
  const CUresult result = next(at, bytes);
  remember(result, at, bytes);
  return result;
}
COALESCE_API CUresult cuMemAllocPitch_v2(DevicePointer* at, size_t* pitch, size_t width, size_t height,
                                         unsigned element) {
  NEXT(cuMemAllocPitch_v2);
  const CUresult result = next(at, pitch, width, height, element);
  remember(result, at, pitch ? *pitch * height : 0);
  return result;
}
COALESCE_API CUresult cuMemAllocManaged(DevicePointer* at, size_t bytes, unsigned flags) {
  NEXT(cuMemAllocManaged);
  const CUresult result = next(at, bytes, flags);
  remember(result, at, bytes);
  return result;
}
#define ALLOC_ASYNC(name)                                                            \
  COALESCE_API CUresult name(DevicePointer* at, size_t bytes, cudaStream_t stream) { \
    NEXT(name);                                                                      \
    const CUresult result = next(at, bytes, stream);                                 \
    remember(result, at, bytes);                                                     \
    return result;                                                                   \
  }
ALLOC_ASYNC(cuMemAllocAsync)
ALLOC_ASYNC(cuMemAllocAsync_ptsz)
#define ALLOC_FROM_POOL(name)                                                                    \
  COALESCE_API CUresult name(DevicePointer* at, size_t bytes, void* pool, cudaStream_t stream) { \
    NEXT(name);                                                                                  \
    const CUresult result = next(at, bytes, pool, stream);                                       \
    remember(result, at, bytes);                                                                 \
    return result;                                                                               \
  }
ALLOC_FROM_POOL(cuMemAllocFromPoolAsync)
ALLOC_FROM_POOL(cuMemAllocFromPoolAsync_ptsz)
COALESCE_API CUresult cuMemFree_v2(DevicePointer at) {
  NEXT(cuMemFree_v2);
  device_memory().freed(at);
  return next(at);
}
#define FREE_ASYNC(name)                                              \
  COALESCE_API CUresult name(DevicePointer at, cudaStream_t stream) { \
    NEXT(name);                                                       \
    device_memory().freed(at);                                        \
    return next(at, stream);                                          \
  }
FREE_ASYNC(cuMemFreeAsync)
FREE_ASYNC(cuMemFreeAsync_ptsz)
COALESCE_API CUresult cuMemMap(DevicePointer at, size_t bytes, size_t offset, unsigned long long handle,
                               unsigned long long flags) {
  NEXT(cuMemMap);
  device_memory().mapped();
  return next(at, bytes, offset, handle, flags);
}
// Variables are put back between repetitions: those that the program asks for, and those that a module's image names.
#define GET_GLOBAL(name)                                                                             \
  COALESCE_API CUresult name(DevicePointer* at, size_t* bytes, void* module, const char* variable) { \
    NEXT(name);                                                                                      \
    DevicePointer found = 0;                                                                         \
    size_t size = 0;                                                                                 \
    const CUresult result = next(&found, &size, module, variable);                                   \
    remember(result, &found, size);                                                                  \
    if (result == 0) ModuleMemory::get().has(module, found);                                         \
    if (result == 0 && at) *at = found;                                                              \
    if (result == 0 && bytes) *bytes = size;                                                         \
    return result;                                                                                   \
  }
GET_GLOBAL(cuModuleGetGlobal_v2)
GET_GLOBAL(cuLibraryGetGlobal)

#define LOAD(name, global, extra, passed)                              \
  COALESCE_API CUresult name(void** module, const void* image extra) { \
    NEXT(name);                                                        \
    const CUresult result = next(module, image passed);                \
    if (result == 0 && module) remember_all(image, *module, &global);  \
    return result;                                                     \
  }
#define COMMA ,
LOAD(cuModuleLoadData, cuModuleGetGlobal_v2, , )
LOAD(cuModuleLoadFatBinary, cuModuleGetGlobal_v2, , )
LOAD(cuModuleLoadDataEx, cuModuleGetGlobal_v2, COMMA unsigned count COMMA int* options COMMA void** values,
     COMMA count COMMA options COMMA values)
LOAD(cuLibraryLoadData, cuLibraryGetGlobal,
     COMMA int* options COMMA void** values COMMA unsigned count COMMA int* of_library COMMA void** more
         COMMA unsigned last,
     COMMA options COMMA values COMMA count COMMA of_library COMMA more COMMA last)
#undef COMMA
#define UNLOAD(name)                         \
  COALESCE_API CUresult name(void* module) { \
    NEXT(name);                              \
    ModuleMemory::get().ends(module);        \
    return next(module);                     \
  }
UNLOAD(cuModuleUnload)
UNLOAD(cuLibraryUnload)

// Copies. `path`: of record::CopyPath.
#define COPY(name, To, From, path)                                                                          \
  COALESCE_API CUresult name(To to, From from, size_t bytes) {                                              \
    NEXT(name);                                                                                             \
    return Session::get().copy(record::CopyPath::path, bytes, true, [&] { return next(to, from, bytes); }); \
  }
#define COPY_ASYNC(name, To, From, path)                                                                             \
  COALESCE_API CUresult name(To to, From from, size_t bytes, cudaStream_t stream) {                                  \
    NEXT(name);                                                                                                      \
    return Session::get().copy(record::CopyPath::path, bytes, false, [&] { return next(to, from, bytes, stream); }); \
  }
#define COPIES(name, plain, async, To, From, path) \
  COPY(name##plain, To, From, path)                \
  COPY(name##plain##_ptds, To, From, path)         \
  COPY_ASYNC(name##async, To, From, path)          \
  COPY_ASYNC(name##async##_ptsz, To, From, path)
COPIES(cuMemcpyHtoD, _v2, Async_v2, DevicePointer, const void*, h2d)
COPIES(cuMemcpyDtoH, _v2, Async_v2, void*, DevicePointer, d2h)
COPIES(cuMemcpyDtoD, _v2, Async_v2, DevicePointer, DevicePointer, d2d)
COPY(cuMemcpy, DevicePointer, DevicePointer, d2d)
COPY(cuMemcpy_ptds, DevicePointer, DevicePointer, d2d)
COPY_ASYNC(cuMemcpyAsync, DevicePointer, DevicePointer, d2d)
COPY_ASYNC(cuMemcpyAsync_ptsz, DevicePointer, DevicePointer, d2d)

// Calls that wait for the device.
COALESCE_API CUresult cuCtxSynchronize() {
  NEXT(cuCtxSynchronize);
  return Session::get().wait([&] { return next(); });
}
#define WAIT_STREAM(name)                                     \
  COALESCE_API CUresult name(cudaStream_t stream) {           \
    NEXT(name);                                               \
    return Session::get().wait([&] { return next(stream); }); \
  }
WAIT_STREAM(cuStreamSynchronize)
WAIT_STREAM(cuStreamSynchronize_ptsz)

// Ends of contexts.
COALESCE_API CUresult cuCtxDestroy_v2(CUcontext context) {
  NEXT(cuCtxDestroy_v2);
  return Session::get().leave(context, [&] { return next(context); }, kGone);
}
#define LEAVE_PRIMARY(name)                                                                      \
  COALESCE_API CUresult name(int device) {                                                       \
    NEXT(name);                                                                                  \
    return Session::get().leave(                                                                 \
        primary_of(device), [&] { return next(device); }, [&] { return primary_gone(device); }); \
  }
LEAVE_PRIMARY(cuDevicePrimaryCtxRelease_v2)
LEAVE_PRIMARY(cuDevicePrimaryCtxReset_v2)

COALESCE_API CUresult cuGetProcAddress_v2(const char* name, void** function, int version, unsigned long long flags,
                                          int* status);
COALESCE_API CUresult cuGetProcAddress(const char* name, void** function, int version, unsigned long long flags);

namespace {

struct Wrapped {
  std::string_view name;  // as cuGetProcAddress knows it
  int version;            // of CUDA, since when it has this form
  void* plain;
  void* per_thread;  // for a default stream of each thread
};

template <typename Function>
void* erased(Function* function) {
  return reinterpret_cast<void*>(function);
}
#define ONE(name, symbol, version) {#name, version, erased(&symbol), erased(&symbol)}
#define TWO(name, symbol, suffix, version) {#name, version, erased(&symbol), erased(&symbol##suffix)}

void* wrapper_of(std::string_view name, int version, unsigned long long flags) {
  static const Wrapped all[] = {
      TWO(cuLaunchKernel, cuLaunchKernel, _ptsz, 4000),
      TWO(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel, _ptsz, 9000),
      TWO(cuLaunchKernelEx, cuLaunchKernelEx, _ptsz, 11060),
      TWO(cuGraphLaunch, cuGraphLaunch, _ptsz, 10000),
      ONE(cuMemAlloc, cuMemAlloc_v2, 3020),
      ONE(cuMemAllocPitch, cuMemAllocPitch_v2, 3020),
      ONE(cuMemAllocManaged, cuMemAllocManaged, 6000),
      TWO(cuMemAllocAsync, cuMemAllocAsync, _ptsz, 11020),
      TWO(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, _ptsz, 11020),
      ONE(cuMemFree, cuMemFree_v2, 3020),
      TWO(cuMemFreeAsync, cuMemFreeAsync, _ptsz, 11020),
      ONE(cuMemMap, cuMemMap, 10020),
      ONE(cuModuleGetGlobal, cuModuleGetGlobal_v2, 3020),
      ONE(cuLibraryGetGlobal, cuLibraryGetGlobal, 12000),
      ONE(cuModuleLoadData, cuModuleLoadData, 2000),
      ONE(cuModuleLoadDataEx, cuModuleLoadDataEx, 2010),
      ONE(cuModuleLoadFatBinary, cuModuleLoadFatBinary, 2000),
      ONE(cuLibraryLoadData, cuLibraryLoadData, 12000),
      ONE(cuModuleUnload, cuModuleUnload, 2000),
      ONE(cuLibraryUnload, cuLibraryUnload, 12000),
      TWO(cuMemcpyHtoD, cuMemcpyHtoD_v2, _ptds, 3020),
      TWO(cuMemcpyDtoH, cuMemcpyDtoH_v2, _ptds, 3020),
      TWO(cuMemcpyDtoD, cuMemcpyDtoD_v2, _ptds, 3020),
      TWO(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, _ptsz, 3020),
      TWO(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, _ptsz, 3020),
      TWO(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, _ptsz, 3020),
      TWO(cuMemcpy, cuMemcpy, _ptds, 4000),
      TWO(cuMemcpyAsync, cuMemcpyAsync, _ptsz, 4000),
      ONE(cuCtxSynchronize, cuCtxSynchronize, 2000),
      TWO(cuStreamSynchronize, cuStreamSynchronize, _ptsz, 2000),
      ONE(cuCtxDestroy, cuCtxDestroy_v2, 4000),
      ONE(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, 11000),
      ONE(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, 11000),
      ONE(cuGetProcAddress, cuGetProcAddress_v2, 12000),
      ONE(cuGetProcAddress, cuGetProcAddress, 11030),
  };
  constexpr unsigned long long kPerThread = 2;  // CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
  const auto* found =
      std::ranges::find_if(all, [&](const Wrapped& one) { return one.name == name && one.version <= version; });
  if (found == std::end(all)) return nullptr;
  return (flags & kPerThread) != 0 ? found->per_thread : found->plain;
}

}  // namespace

COALESCE_API CUresult cuGetProcAddress_v2(const char* name, void** function, int version, unsigned long long flags,
                                          int* status) {
  NEXT(cuGetProcAddress_v2);
  const CUresult result = next(name, function, version, flags, status);
  if (result != 0 || !function || !*function) return result;
  if (void* ours = wrapper_of(name, version, flags)) *function = ours;
  return result;
}
COALESCE_API CUresult cuGetProcAddress(const char* name, void** function, int version, unsigned long long flags) {
  NEXT(cuGetProcAddress);
  const CUresult result = next(name, function, version, flags);
  if (result != 0 || !function || !*function) return result;
  if (void* ours = wrapper_of(name, version, flags)) *function = ours;
  return result;
}

}  // namespace coalesce::gpu
