// The kernel that only reads: what the card's memory can do.
#pragma once

#include "bench.h"

namespace bench {

// 8 loads of 16 bytes in flight a thread; the store never happens, and the compiler cannot know it.
static __global__ void __launch_bounds__(512) read(const uint4* data, i64 vectors, unsigned int* out) {
  unsigned int all = 0;
  const i64 stride = static_cast<i64>(gridDim.x) * 512 * 8;
  for (i64 base = static_cast<i64>(blockIdx.x) * 512 * 8 + threadIdx.x; base < vectors; base += stride) {
    uint4 v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const i64 i = base + k * 512;
      v[k] = i < vectors ? __ldcs(data + i) : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int k = 0; k < 8; ++k) all |= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
  }
  if (all == 0x12345678u) *out = all;
}

// `areas` places of `bytes` in `memory`, which lie `apart` bytes from each other.
inline void measure_read(Program& program, const void* memory, i64 bytes, int areas, i64 apart, const char* library,
                         const char* part = "flat") {
  const Case c{part, "read", "float", std::to_string(bytes / 4), "", bytes};
  if (!program.wants(c)) return;
  static unsigned int* out = nullptr;
  if (!out) CHECK(cudaMalloc(&out, sizeof *out));
  int processors = 0;
  CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
  const unsigned int blocks = static_cast<unsigned int>(std::min<i64>(2 * processors, (bytes / 16 + 4095) / 4096));
  program.measure(
      c, areas,
      [&](int area) {
        read<<<blocks, 512, 0, program.stream()>>>(
            reinterpret_cast<const uint4*>(static_cast<const char*>(memory) + area * apart), bytes / 16, out);
      },
      library);
}

}  // namespace bench
