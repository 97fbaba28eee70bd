// scattered_probe FILE: one warp's atomic for each pattern of FILE (tests/hardware/scattered.py writes it): a word that
// says which (the place in kKernels), one with the mask of lanes, then 32 byte offsets.
//   nvcc -arch=sm_90 -cudart shared -o scattered scattered_probe.cu
#include <cstdint>
#include <cstdio>
#include <vector>

constexpr size_t kBytes = 2 << 20;  // what the offsets may span: one page, so that they are within one on the chip, too
constexpr size_t kWords = 34;

#define KERNEL(name, ...)                                                       \
  __global__ void name(char* memory, const uint32_t* pattern) {                 \
    const unsigned lane = threadIdx.x;                                          \
    char* at = memory + pattern[2 + lane];                                      \
    if (pattern[1] >> lane & 1) asm volatile(__VA_ARGS__ ::"l"(at) : "memory"); \
  }

KERNEL(red32, "red.global.add.u32 [%0], 5;")
KERNEL(cas32, "{.reg .b32 old; atom.global.cas.b32 old, [%0], 1, 2;}")
KERNEL(cas64, "{.reg .b64 old; atom.global.cas.b64 old, [%0], 1, 2;}")
KERNEL(cas128, "{.reg .b128 old, new; mov.b128 new, {%0, %0}; atom.global.cas.b128 old, [%0], new, new;}")
KERNEL(exch128, "{.reg .b128 old, new; mov.b128 new, {%0, %0}; atom.global.exch.b128 old, [%0], new;}")

constexpr void (*kKernels[])(char*, const uint32_t*) = {red32, cas32, cas64, cas128, exch128};

int main(int count, char** words) {
  std::FILE* file = count == 2 ? std::fopen(words[1], "rb") : nullptr;
  if (!file) return std::fprintf(stderr, "scattered_probe FILE\n"), 2;
  std::vector<uint32_t> patterns, part(kWords * 1024);
  while (const size_t n = std::fread(part.data(), 4, part.size(), file))
    patterns.insert(patterns.end(), part.begin(), part.begin() + n);
  char* memory;
  uint32_t* device;
  cudaMalloc(&memory, kBytes);
  cudaMalloc(&device, patterns.size() * 4);
  cudaMemcpy(device, patterns.data(), patterns.size() * 4, cudaMemcpyHostToDevice);
  for (size_t at = 0; at + kWords <= patterns.size(); at += kWords)
    kKernels[patterns[at]]<<<1, 32>>>(memory, device + at);
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  return error != cudaSuccess;
}
