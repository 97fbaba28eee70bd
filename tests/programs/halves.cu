// Half precision: conversions of every one of the 65536 values, arithmetic, pairs; NaN and zeros, also of bfloat16.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "check.h"

__global__ void round_trip(unsigned short* wrong) {
  const unsigned int bits = blockIdx.x * blockDim.x + threadIdx.x;
  const __half h = __ushort_as_half((unsigned short)bits);
  const float f = __half2float(h);
  if (f == f && __half_as_ushort(__float2half(f)) != bits) *wrong = 1;
  if (f != f && !__hisnan(__float2half(f))) *wrong = 1;
}

__global__ void arithmetic(float* out) {
  const __half a = __float2half(1.5f), b = __float2half(0.1f), big = __float2half(60000.0f);
  out[0] = __half2float(__hadd(a, b));
  out[1] = __half2float(__hmul(a, b));
  out[2] = __half2float(__hfma(a, b, a));
  out[3] = __half2float(big + big);
  out[4] = __hlt(b, a) ? 1 : 0;
  const __half2 p = __floats2half2_rn(1.0f, 2.0f), q = __hadd2(__hmul2(p, p), __float2half2_rn(0.5f));
  out[5] = __low2float(q), out[6] = __high2float(q);
  out[7] = __half2float(__float2half(2049.0f));  // a tie: to even
}

// NaN equals nothing and differs from nothing but by the operator; of two zeros the positive one is larger.
template <class T>
__device__ void compare_special(T zero, T minus_zero, T one, T nan, bool* out) {
  const auto bits = [](T v) { return *reinterpret_cast<const unsigned short*>(&v); };
  out[0] = !__hne(nan, one) && !__heq(nan, nan) && !__hge(one, nan) && !__hlt(nan, one) && __hne(one, zero);
  out[1] = nan != one && !(nan == nan) && zero == minus_zero && !__hne(zero, minus_zero);
  out[2] = bits(__hmax(zero, minus_zero)) == 0 && bits(__hmax(minus_zero, zero)) == 0;
  out[3] = bits(__hmin(zero, minus_zero)) == 0x8000 && bits(__hmin(minus_zero, zero)) == 0x8000;
  out[4] = bits(__hmax(nan, one)) == bits(one) && bits(__hmin(one, nan)) == bits(one);
  out[5] = bits(__hmax(nan, nan)) == 0x7fff && bits(__hmin(nan, nan)) == 0x7fff && bits(-nan) == 0x7fff;
  out[6] = bits(__hmax(one, zero)) == bits(one) && bits(__hmin(one, minus_zero)) == 0x8000;
}
__global__ void special(unsigned short zero, bool* out) {
  const unsigned short minus = zero | 0x8000;
  compare_special(__ushort_as_half(zero), __ushort_as_half(minus), __float2half(1.0f), __ushort_as_half(zero | 0x7e01),
                  out);
  compare_special(__ushort_as_bfloat16(zero), __ushort_as_bfloat16(minus), __float2bfloat16(1.0f),
                  __ushort_as_bfloat16(zero | 0x7fc1), out + 7);
  const __half2 r = __hne2(__halves2half2(__ushort_as_half(zero | 0x7e00), __float2half(1.0f)), __float2half2_rn(2.0f));
  out[14] = __low2float(r) == 0.0f && __high2float(r) == 1.0f;
  out[15] = __half_as_ushort(__hneg(__ushort_as_half(zero | 0x7e00))) == 0x7fff;
}

int main() {
  unsigned short* wrong = upload(std::vector<unsigned short>(1, 0));
  round_trip<<<256, 256>>>(wrong);
  EXPECT(download(wrong, 1)[0] == 0);
  bool* holds;
  CHECK(cudaMallocManaged(&holds, 16));
  special<<<1, 1>>>(0, holds);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 16; ++i) EXPECT(holds[i]);
  float* out = upload(std::vector<float>(8, 0));
  arithmetic<<<1, 1>>>(out);
  const std::vector<float> r = download(out, 8);
  EXPECT(r[0] == 1.599609375f && r[1] == 0.14990234375f && r[2] == 1.650390625f);
  EXPECT(r[3] > 3e38f && r[4] == 1 && r[5] == 1.5f && r[6] == 4.5f && r[7] == 2048);
}
