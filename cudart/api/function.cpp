// Kernels as objects: their attributes and names.
#include <algorithm>
#include <cstring>

#include "cudart/api/launch.h"
#include "cudart/api/occupancy.h"
#include "cudart/api/version.h"

namespace coalesce::cudart {
namespace {}  // namespace

COALESCE_API cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* out, const void* function) {
  if (out == nullptr) return note(cudaErrorInvalidValue);
  return with_kernel(function, [&](Runtime& r, const Kernel& kernel) {
    r.registry().know_machine_code(kernel);
    const machine::KernelInfo& info = *kernel.info;
    cudaFuncAttributes a{};
    a.sharedSizeBytes = info.static_shared_bytes;
    a.localSizeBytes = info.local_bytes;
    a.maxThreadsPerBlock = static_cast<int>(most_threads(*r.device(), info));
    a.numRegs = static_cast<int>(info.registers);
    a.ptxVersion = static_cast<int>(info.ptx_version);
    a.binaryVersion = static_cast<int>(10 * r.device()->major + r.device()->minor);
    a.maxDynamicSharedSizeBytes = static_cast<int>(kernel.dynamic_shared_limit);
    a.preferredShmemCarveout = kernel.carveout;
    for (std::size_t k = 0; k < 3; ++k) a.cluster[1 + k] = static_cast<int>(info.cluster[k]);
    a.cluster[5] = kernel.any_cluster;
    std::memcpy(out, &a, runtime_version() >= 12000 ? sizeof a : offsetof(cudaFuncAttributes, cluster));
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return with_kernel(function, [&](Runtime& r, Kernel& kernel) {
    switch (attribute) {
      case cudaFuncAttributeMaxDynamicSharedMemorySize: {
        const int64_t most = int64_t{r.device()->shared_per_block_optin} - kernel.info->static_shared_bytes;
        if (value < 0 || value > most) return cudaErrorInvalidValue;
        kernel.dynamic_shared_limit = static_cast<uint32_t>(value);
        return cudaSuccess;
      }
      case cudaFuncAttributePreferredSharedMemoryCarveout:
        if (value < -1 || value > 100) return cudaErrorInvalidValue;
        kernel.carveout = value;
        return cudaSuccess;
      case cudaFuncAttributeNonPortableClusterSizeAllowed:
        kernel.any_cluster = value != 0;
        return cudaSuccess;
      case cudaFuncAttributeClusterSchedulingPolicyPreference:
        return cudaSuccess;
      case cudaFuncAttributeClusterDimMustBeSet:
      case cudaFuncAttributeRequiredClusterWidth:
      case cudaFuncAttributeRequiredClusterHeight:
      case cudaFuncAttributeRequiredClusterDepth:
        return cudaErrorNotSupported;
    }
    return cudaErrorInvalidValue;
  });
}

COALESCE_API cudaError_t cudaFuncSetCacheConfig(const void* function, int preference) {
  if (preference < 0 || preference > 3) return note(cudaErrorInvalidValue);
  return with_kernel(function, [](Runtime&, const Kernel&) { return cudaSuccess; });
}
COALESCE_API cudaError_t cudaFuncSetSharedMemConfig(const void* function, int) {
  return with_kernel(function, [](Runtime&, const Kernel&) { return cudaSuccess; });
}

COALESCE_API cudaError_t cudaFuncGetName(const char** name, const void* function) {
  if (name == nullptr) return note(cudaErrorInvalidValue);
  return with_kernel(function, [&](Runtime&, const Kernel& kernel) {
    *name = kernel.name.c_str();
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* size) {
  if (offset == nullptr) return note(cudaErrorInvalidValue);
  return with_kernel(function, [&](Runtime&, const Kernel& kernel) {
    if (index >= kernel.info->parameters.size()) return cudaErrorInvalidValue;
    *offset = kernel.info->parameters[index].offset;
    if (size != nullptr) *size = kernel.info->parameters[index].size;
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaGetFuncBySymbol(const void** handle, const void* function) {
  if (handle == nullptr) return note(cudaErrorInvalidValue);
  return with_kernel(function, [&](Runtime&, const Kernel& kernel) {
    *handle = &kernel;
    return cudaSuccess;
  });
}

}  // namespace coalesce::cudart
