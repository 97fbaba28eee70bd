// The differences between the runtimes of CUDA 11, 12 and 13. Compiled once per library with COALESCE_CUDART_VERSION.
#include "cudart/api/version.h"

#include "cudart/api/properties.h"
#include "cudart/api/range.h"
#include "cudart/core/runtime.h"

namespace coalesce::cudart {

int runtime_version() { return COALESCE_CUDART_VERSION; }

#if COALESCE_CUDART_VERSION >= 13000
using Properties = Properties13;
using Place = cudaMemLocation;
#else
using Properties = Properties11;  // 12 kept this layout under the old name and called its own _v2
using Place = int;
#endif

COALESCE_API cudaError_t cudaGetDeviceProperties(Properties* properties, int device) {
  return get_properties(properties, device);
}
COALESCE_API cudaError_t cudaGetDeviceProperties_v2(Properties12* properties, int device) {
  return get_properties(properties, device);
}

namespace {

// Advice and prefetching are for managed memory. They move data and change no result; memory of the machine is in one
// place anyway. Beside a kernel that goes on nothing is looked up: it may wait for what the host does next.
cudaError_t accept_range(const void* pointer) {
  if (runtime().goes_on()) return cudaSuccess;
  return call([&](Runtime& r) { return is_managed(r, pointer) ? cudaSuccess : cudaErrorInvalidValue; });
}

}  // namespace

COALESCE_API cudaError_t cudaMemAdvise(const void* pointer, size_t, int, Place) { return accept_range(pointer); }
COALESCE_API cudaError_t cudaMemAdvise_v2(const void* pointer, size_t, int, cudaMemLocation) {
  return accept_range(pointer);
}
#if COALESCE_CUDART_VERSION >= 13000
COALESCE_API cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t, cudaMemLocation, unsigned, cudaStream_t) {
  return accept_range(pointer);
}
#else
COALESCE_API cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t, int, cudaStream_t) {
  return accept_range(pointer);
}
#endif
COALESCE_ALIAS(cudaMemPrefetchAsync_ptsz, cudaMemPrefetchAsync);
COALESCE_API cudaError_t cudaMemPrefetchAsync_v2(const void* pointer, size_t, cudaMemLocation, unsigned, cudaStream_t) {
  return accept_range(pointer);
}
COALESCE_ALIAS(cudaMemPrefetchAsync_v2_ptsz, cudaMemPrefetchAsync_v2);

}  // namespace coalesce::cudart
