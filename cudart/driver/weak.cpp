// A weak definition of every name that libcuda.so.1 exports; see api/weak.cpp.
#include <atomic>
#include <cstdio>

namespace {

int refuse_call(const char* name, std::atomic<bool>& said) {
  constexpr int kNotSupported = 801;
  if (!said.exchange(true))
    std::fprintf(stderr,
                 "coalesce: warning: %s is not supported by this machine; it returns CUDA_ERROR_NOT_SUPPORTED\n", name);
  return kNotSupported;
}

}  // namespace

#define X(name, base, since)                                           \
  extern "C" __attribute__((visibility("default"), weak)) int name() { \
    static std::atomic<bool> said{false};                              \
    return refuse_call(#name, said);                                   \
  }
#include "cudart/driver/driver.def"
#undef X
