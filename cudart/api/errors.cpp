// Error codes: the last one of each thread, names and texts.
#include <utility>

#include "cudart/core/runtime.h"

namespace coalesce::cudart {
namespace {

thread_local cudaError_t last_error = cudaSuccess;

struct Row {
  int number;
  const char *name, *text;
};
constexpr Row kErrors[] = {
#define X(name, number, text) {number, #name, text},
#include "cudart/core/errors.def"
#undef X
};
constexpr Row kUnknown{-1, "unrecognized error code", "unrecognized error code"};

const Row& row(int error) {
  for (const Row& r : kErrors) {
    if (r.number == error) return r;
  }
  return kUnknown;
}

// A program that asks for the error has seen the launches that were refused.
void tell_check() {
  Runtime& r = runtime();
  const Entered entered(r);
  if (r.check() != nullptr) r.check()->error_seen();
}

}  // namespace

cudaError_t note(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

cudaError_t exchange_last_error(cudaError_t error) { return std::exchange(last_error, error); }

COALESCE_API cudaError_t cudaPeekAtLastError() {
  if (last_error != cudaSuccess) tell_check();
  return last_error;
}

COALESCE_API cudaError_t cudaGetLastError() {
  const cudaError_t error = cudaPeekAtLastError();
  last_error = cudaSuccess;
  return error;
}

COALESCE_API const char* cudaGetErrorName(cudaError_t error) { return row(error).name; }

COALESCE_API const char* cudaGetErrorString(cudaError_t error) { return row(error).text; }

}  // namespace coalesce::cudart
