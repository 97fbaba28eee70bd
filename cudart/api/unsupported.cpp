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

// Tables of private functions. The null pointer is for programs that look at it rather than at the error.
COALESCE_API cudaError_t cudaGetExportTable(const void** table, const cudaUUID_t*) {
  static std::atomic<bool> said{false};
  if (table != nullptr) *table = nullptr;
  return refuse("cudaGetExportTable", said);
}

}  // namespace coalesce::cudart
