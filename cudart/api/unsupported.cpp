// A weak definition of every name the real library exports, so that programs link and load whatever they mention. What
// we implement elsewhere overrides it; what remains says so once and returns cudaErrorNotSupported.
#include "cudart/api/unsupported.h"

#include <cstdio>

#include "cudart/core/runtime.h"

namespace coalesce::cudart {

cudaError_t refuse(const char* name, std::atomic<bool>& said) {
  if (!said.exchange(true)) {
    std::fprintf(stderr, "coalesce: warning: %s is not supported by this machine; it returns cudaErrorNotSupported\n",
                 name);
  }
  return note(cudaErrorNotSupported);
}

// Ways to the driver and to private tables. The null pointer is for programs that look at it rather than at the error.
namespace {

cudaError_t no_entry_point(const char* name, void** function, int* status) {
  static std::atomic<bool> said{false};
  if (function != nullptr) *function = nullptr;
  if (status != nullptr) *status = 1;  // symbol not found
  return refuse(name, said);
}

}  // namespace

COALESCE_API cudaError_t cudaGetDriverEntryPoint(const char*, void** function, unsigned long long, int* status) {
  return no_entry_point("cudaGetDriverEntryPoint", function, status);
}
COALESCE_ALIAS(cudaGetDriverEntryPoint_ptsz, cudaGetDriverEntryPoint);
COALESCE_API cudaError_t cudaGetDriverEntryPointByVersion(const char*, void** function, unsigned, unsigned long long,
                                                          int* status) {
  return no_entry_point("cudaGetDriverEntryPointByVersion", function, status);
}
COALESCE_ALIAS(cudaGetDriverEntryPointByVersion_ptsz, cudaGetDriverEntryPointByVersion);
COALESCE_API cudaError_t cudaGetExportTable(const void** table, const cudaUUID_t*) {
  static std::atomic<bool> said{false};
  if (table != nullptr) *table = nullptr;
  return refuse("cudaGetExportTable", said);
}

}  // namespace coalesce::cudart
