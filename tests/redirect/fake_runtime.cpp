// Stands for a CUDA runtime: each function says which it is, and whose. FAKE_BASE tells a shared one from a static one.
// With FAKE_MEMORY, functions of memory work, on the host's.
#include <cstddef>
#ifdef FAKE_MEMORY
#include <cstdlib>
#include <cstring>
#endif

extern "C" {
// A real runtime has data of its own, too, so that the linker writes into the code.
__attribute__((visibility("hidden"))) int fake_calls = 0;

// And code that the linker leaves as it is.
__attribute__((visibility("hidden"))) unsigned fake_mix(unsigned x) {
  for (unsigned k = 0; k < 7; ++k) x = (x ^ (x >> 16)) * 0x7feb352du + (x << 5) + (k | 3) * 0x846ca68bu;
  for (unsigned k = 0; k < 5; ++k) x = (x ^ (x >> 15)) * 0x2c1b3c6du - (x << 9) + (k & 5) * 0x297a2d39u;
  return x;
}

enum Index : int {
#define X(name) index_##name,
#include "cudart/api/symbols.def"
#undef X
};

#ifdef FAKE_MEMORY
#define cudaMalloc unused_malloc
#define cudaFree unused_free
#define cudaMemcpyAsync unused_copy
#define cudaThreadExchangeStreamCaptureMode unused_mode
#endif
#define X(name)                                                          \
  __attribute__((visibility(FAKE_VISIBILITY), aligned(16))) int name() { \
    ++fake_calls;                                                        \
    return FAKE_BASE + index_##name;                                     \
  }
#include "cudart/api/symbols.def"
#undef X

#ifdef FAKE_MEMORY
#undef cudaMalloc
#undef cudaFree
#undef cudaMemcpyAsync
#undef cudaThreadExchangeStreamCaptureMode
__attribute__((visibility(FAKE_VISIBILITY), aligned(16))) int cudaMalloc(void** at, size_t bytes) {
  *at = std::malloc(bytes);
  return 0;
}
__attribute__((visibility(FAKE_VISIBILITY), aligned(16))) int cudaFree(void* at) {
  std::free(at);
  return 0;
}
__attribute__((visibility(FAKE_VISIBILITY), aligned(16))) int cudaMemcpyAsync(void* to, const void* from, size_t bytes,
                                                                              int, void*) {
  std::memcpy(to, from, bytes);
  return 0;
}
__attribute__((visibility(FAKE_VISIBILITY), aligned(16))) int cudaThreadExchangeStreamCaptureMode(int*) { return 0; }
#endif
}
