// Code that runs once: cycles of straight code by its length, where no cache has it. Each length is a kernel of its
// own; before each, other code and other data take the caches.
#include "measure.h"

template <int kSteps>
__global__ void straight(float b, float* never, long long* cycles) {
  float x[4] = {b, b + 1, b + 2, b + 3};
  const long long start = clock64();
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
#pragma unroll
    for (int j = 0; j < 4; ++j) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x[j]) : "f"(b));
  }
  const long long stop = clock64();
  const float sum = x[0] + x[1] + x[2] + x[3];
  if (sum == 1.25f) *never = sum;
  *cycles = stop - start;
}

// `kBytes` of code: four fma of 16 bytes a step.
template <int kBytes>
void measure(char* data, float* never) {
  const auto cold = [&](long long* cycles) {
    straight<4160><<<1, 32>>>(1.5f, never, cycles);
    CHECK(cudaMemset(data, 1, size_t{1} << 28));
    straight<kBytes / 64><<<1, 32>>>(1.5f, never, cycles);
  };
  put("code/cold/" + std::to_string(kBytes >> 10) + "KiB", cycles_of(cold), "cycles of one warp");
}

int main() {
  char* data = zeros<char>(size_t{1} << 28);
  float* never = zeros<float>(1);
  measure<16 << 10>(data, never);
  measure<32 << 10>(data, never);
  measure<128 << 10>(data, never);
  measure<256 << 10>(data, never);
  return 0;
}
