// Functions that compilers' start-up code calls before main() and at exit, for every file with device code. They load
// only modules with __managed__ variables of clang's.
#include "cudart/core/image.h"
#include "cudart/core/registry.h"
#include "cudart/core/runtime.h"

namespace coalesce::cudart {
namespace {

template <typename Body>
void locked(Body&& body) {
  Runtime& r = runtime();
  const std::lock_guard lock(r.mutex);
  body(r.registry());
}

Module* module_of(void** handle) { return reinterpret_cast<Module*>(handle); }

}  // namespace

COALESCE_API void** __cudaRegisterFatBinary(void* wrapper) {
  Module* module = nullptr;
  locked([&](Registry& registry) {
    module = registry.add_module(wrapper);
    if (const machine::Device* device = runtime().device())
      runtime().need(needed_architecture(wrapper, 10 * device->major + device->minor));
  });
  return reinterpret_cast<void**>(module);  // opaque to the program
}

COALESCE_API void __cudaRegisterFatBinaryEnd(void** handle) {
  bool placed = false;
  locked([&](Registry&) { placed = Registry::has_placed_variables(*module_of(handle)); });
  if (placed) call([&](Runtime& r) { return r.registry().load(*module_of(handle)); });
}

// Ours alone: what coalesce_cuda/managed.h calls.
COALESCE_API void __coalesceRegisterManaged(void* begin, void* end) {
  locked([&](Registry& registry) { registry.add_managed_range(begin, end); });
}

COALESCE_API void __cudaUnregisterFatBinary(void** handle) {
  locked([&](Registry& registry) { registry.remove(module_of(handle)); });
}

COALESCE_API void __cudaRegisterFunction(void** handle, const char* host, char* /*device*/, const char* name,
                                         int /*thread_limit*/, void* /*thread_index*/, void* /*block_index*/,
                                         void* /*block*/, void* /*grid*/, int* /*warp_size*/) {
  locked([&](Registry& registry) { registry.add_kernel(module_of(handle), host, name); });
}

COALESCE_API void __cudaRegisterVar(void** handle, char* host, char* /*device*/, const char* name, int /*external*/,
                                    size_t /*size*/, int /*constant*/, int /*global*/) {
  locked([&](Registry& registry) { registry.add_variable(module_of(handle), host, name, nullptr); });
}

COALESCE_API void __cudaRegisterManagedVar(void** handle, void** host_pointer, char* /*device*/, const char* name,
                                           int /*external*/, size_t /*size*/, int /*constant*/, int /*global*/) {
  locked([&](Registry& registry) {
    registry.add_variable(module_of(handle), static_cast<void*>(host_pointer), name, host_pointer);
  });
}

// Host variables that device code refers to through unified memory: nothing to prepare, addresses are the same.
COALESCE_API void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}

// The program is about to touch a __managed__ variable from the host. Returns non-zero, which marks it as done.
COALESCE_API char __cudaInitModule(void** handle) {
  call([&](Runtime& r) { return r.registry().load(*module_of(handle)); });
  return 1;
}

// The launch stub asks once for a handle of its kernel; loading waits for the launch.
COALESCE_API cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  locked([&](Registry& registry) { *kernel = registry.peek_kernel(host); });
  return note(*kernel != nullptr ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

COALESCE_API cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  if (kernel == nullptr) return note(cudaErrorInvalidValue);
  return __cudaGetKernel(kernel, host);
}

}  // namespace coalesce::cudart
