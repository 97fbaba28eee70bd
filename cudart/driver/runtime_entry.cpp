// The runtime's way to the driver's functions.
#include "cudart/api/version.h"
#include "cudart/driver/state.h"

namespace coalesce::cudart {

extern "C" {
CUresult cuInit(unsigned flags);
CUresult cuGetProcAddress_v2(const char* name, void** function, int version, unsigned long long flags, int* status);
}

// The runtime has initialised the driver for whoever asks here.
COALESCE_API cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version,
                                                          unsigned long long flags, int* status) {
  if (name == nullptr || function == nullptr) return note(cudaErrorInvalidValue);
  if (const CUresult ready = cuInit(0); ready != CUDA_SUCCESS) return note(static_cast<cudaError_t>(ready));
  const CUresult result = cuGetProcAddress_v2(name, function, static_cast<int>(version), flags, status);
  if (result == CUDA_SUCCESS && *function == nullptr && status == nullptr) return note(cudaErrorSymbolNotFound);
  return note(static_cast<cudaError_t>(result));
}
COALESCE_ALIAS(cudaGetDriverEntryPointByVersion_ptsz, cudaGetDriverEntryPointByVersion);
COALESCE_API cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                                                 int* status) {
  return cudaGetDriverEntryPointByVersion(name, function, static_cast<unsigned>(runtime_version()), flags, status);
}
COALESCE_ALIAS(cudaGetDriverEntryPoint_ptsz, cudaGetDriverEntryPoint);

}  // namespace coalesce::cudart
