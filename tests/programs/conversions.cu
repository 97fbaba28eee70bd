// Conversions of numbers that no integer of the type equals: CUDA gives the nearest, and 0 for NaN (32 bits).
#include <cuda_fp16.h>

#include <climits>

#include "check.h"

__global__ void convert(long long* out) {
  int i = 0;
  // Constants: a compiler that takes these for casts of C++ may do anything.
  out[i++] = __float2uint_rz(-1000.25f);
  out[i++] = __float2uint_rn(-0.25f);
  out[i++] = __float2int_rz(3e9f);
  out[i++] = __float2int_rz(-3e9f);
  out[i++] = __float2int_rd(-1.5f);
  out[i++] = __float2int_ru(-1.5f);
  out[i++] = __double2int_rz(-1e300);
  out[i++] = __double2uint_rz(-1.0);
  out[i++] = __double2uint_rz(5e9);
  out[i++] = __float2ll_rz(1e30f);
  out[i++] = static_cast<long long>(__double2ull_rz(-7.0));
  out[i++] = __float2int_rz(__int_as_float(0x7fc00000));
  out[i++] = __half2int_rz(__float2half(-2.75f));
  out[i++] = __half2uint_rz(__float2half(-2.75f));
  out[i++] = llround(1e300);
}

int main() {
  const long long expected[] = {0,        0,         INT_MAX, INT_MIN, -2, -1, INT_MIN,  0,
                                UINT_MAX, LLONG_MAX, 0,       0,       -2, 0,  LLONG_MAX};
  constexpr int kCount = sizeof expected / sizeof *expected;
  long long* out;
  CHECK(cudaMallocManaged(&out, sizeof expected));
  convert<<<1, 1>>>(out);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < kCount; ++i) EXPECT(out[i] == expected[i]);
  CHECK(cudaFree(out));
}
