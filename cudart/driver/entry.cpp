// The first calls of a client: versions, errors' names, functions by name.
#include "cudart/driver/entry.h"

#include <string_view>
#include <utility>

#include "cudart/driver/runtime_api.h"
#include "cudart/driver/state.h"

extern "C" const void* const coalesce_driver_table[];  // table.cpp

namespace coalesce::cudart {
namespace {

struct Row {
  const char *name, *base;
  unsigned since;
  bool per_thread;  // the form for the stream of each thread
};
constexpr bool ends_with(std::string_view name, std::string_view end) { return name.ends_with(end); }
constexpr Row kRows[] = {
#define X(name, base, since) {#name, #base, since, ends_with(#name, "_ptsz") || ends_with(#name, "_ptds")},
#include "cudart/driver/driver.def"
#undef X
};
constexpr unsigned kVersion = 13000;
constexpr unsigned long long kPerThreadStream = 2;

const char* name_of(int error) {
  switch (error) {
#define X(name, number) \
  case number:          \
    return #name;
#include "cudart/driver/errors.def"
#undef X
    default:
      return nullptr;
  }
}

// The newest form of a function that a client of `version` knows. Null: there is none. Of forms that are equally new
// the one with the later name is the newer: the numbers are at its end.
const Row* find(std::string_view base, unsigned version, bool per_thread) {
  const Row* best = nullptr;
  for (const Row& row : kRows)
    if (row.base == base && row.since <= version && row.per_thread == per_thread &&
        (best == nullptr ||
         std::pair(row.since, std::string_view(row.name)) > std::pair(best->since, std::string_view(best->name))))
      best = &row;
  return best == nullptr && per_thread ? find(base, version, false) : best;
}

}  // namespace

// The table that our libcuda.so.1 asks for, whichever libcudart is there.
COALESCE_API const void* const* __coalesceDriverFunctions() { return coalesce_driver_table; }

const void* driver_function(std::string_view base, unsigned version, bool per_thread) {
  const Row* row = find(base, version, per_thread);
  return row == nullptr ? nullptr : coalesce_driver_table[row - kRows];
}

CUresult result_of(cudaError_t error) {
  switch (error) {
    case cudaErrorInvalidDeviceFunction:
      return CUDA_ERROR_INVALID_HANDLE;
    case cudaErrorInvalidSymbol:
      return CUDA_ERROR_NOT_FOUND;
    default:
      return name_of(error) != nullptr ? static_cast<CUresult>(error) : CUDA_ERROR_INVALID_VALUE;
  }
}

COALESCE_API CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = kVersion;
  return CUDA_SUCCESS;
}

COALESCE_API CUresult cuGetErrorName(CUresult error, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *text = name_of(error);
  return *text != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
COALESCE_API CUresult cuGetErrorString(CUresult error, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *text = name_of(error) != nullptr ? cudaGetErrorString(static_cast<cudaError_t>(error)) : nullptr;
  return *text != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// `status`: 0 found, 1 no such function, 2 there is one of a later version only.
COALESCE_API CUresult cuGetProcAddress_v2(const char* name, void** function, int version, unsigned long long flags,
                                          int* status) {
  if (name == nullptr || function == nullptr || flags > kPerThreadStream) return CUDA_ERROR_INVALID_VALUE;
  *function = const_cast<void*>(driver_function(name, static_cast<unsigned>(version), (flags & kPerThreadStream) != 0));
  const bool later = *function == nullptr && driver_function(name, ~0u, false) != nullptr;
  if (status != nullptr) *status = *function != nullptr ? 0 : later ? 2 : 1;
  return CUDA_SUCCESS;  // not to be there is an answer, too: a null pointer
}
COALESCE_API CUresult cuGetProcAddress(const char* name, void** function, int version, unsigned long long flags) {
  const CUresult result = cuGetProcAddress_v2(name, function, version, flags, nullptr);
  return result == CUDA_SUCCESS && *function == nullptr ? CUDA_ERROR_NOT_FOUND : result;
}

// Tables of private functions. Who is refused uses the documented ones, or does without.
COALESCE_API CUresult cuGetExportTable(const void** table, const void*) {
  if (table != nullptr) *table = nullptr;
  return CUDA_ERROR_NOT_SUPPORTED;
}

COALESCE_API CUresult cuProfilerStart() { return in_context(cudaProfilerStart); }
COALESCE_API CUresult cuProfilerStop() { return in_context(cudaProfilerStop); }
COALESCE_API CUresult cuProfilerInitialize(const char*, const char*, int) {
  return in_context([] { return cudaSuccess; });
}

}  // namespace coalesce::cudart
