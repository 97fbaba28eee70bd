// Half precision: conversions of every one of the 65536 values, arithmetic, pairs.
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

int main() {
  unsigned short* wrong = upload(std::vector<unsigned short>(1, 0));
  round_trip<<<256, 256>>>(wrong);
  EXPECT(download(wrong, 1)[0] == 0);
  float* out = upload(std::vector<float>(8, 0));
  arithmetic<<<1, 1>>>(out);
  const std::vector<float> r = download(out, 8);
  EXPECT(r[0] == 1.599609375f && r[1] == 0.14990234375f && r[2] == 1.650390625f);
  EXPECT(r[3] > 3e38f && r[4] == 1 && r[5] == 1.5f && r[6] == 4.5f && r[7] == 2048);
}
