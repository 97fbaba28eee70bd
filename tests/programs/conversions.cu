// Conversions of numbers that no integer of the type equals: CUDA gives the nearest, and 0 for NaN (32 bits). And of
// integers to the numbers around them.
#include <cuda_fp16.h>

#include <cfenv>
#include <climits>
#include <cstring>

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

// Conversions from integers by every rounding, of numbers that the arguments give: no compiler computes them.
__global__ void round(int i, long long l, long long* out) {
  int k = 0;
  const auto u = static_cast<unsigned int>(i);
  const auto ul = static_cast<unsigned long long>(l);
  for (const float f : {__int2float_rn(i), __int2float_rz(i), __int2float_ru(i), __int2float_rd(i), __uint2float_rn(u),
                        __uint2float_rz(u), __uint2float_ru(u), __uint2float_rd(u), __ll2float_rn(l), __ll2float_rz(l),
                        __ll2float_ru(l), __ll2float_rd(l), __ull2float_rn(ul), __ull2float_rz(ul), __ull2float_ru(ul),
                        __ull2float_rd(ul)})
    out[k++] = __float_as_int(f);
  for (const double d : {__ll2double_rn(l), __ll2double_rz(l), __ll2double_ru(l), __ll2double_rd(l),
                         __ull2double_rn(ul), __ull2double_rz(ul), __ull2double_ru(ul), __ull2double_rd(ul)})
    out[k++] = __double_as_longlong(d);
}

// `host` rounds as `mode` says; volatile: at run time.
template <typename To, typename From>
long long rounded(From value, int mode) {
  volatile From from = value;
  fesetround(mode);
  volatile To to = static_cast<To>(from);
  fesetround(FE_TONEAREST);
  const To result = to;
  long long bits = 0;
  if constexpr (sizeof(To) == 4) {
    int half;
    std::memcpy(&half, &result, sizeof half);
    bits = half;
  } else {
    std::memcpy(&bits, &result, sizeof bits);
  }
  return bits;
}

void all_roundings(int i, long long l, long long* out) {
  round<<<1, 1>>>(i, l, out);
  CHECK(cudaDeviceSynchronize());
  const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
  for (int m = 0; m < 4; ++m) {
    EXPECT(out[m] == rounded<float>(i, modes[m]));
    EXPECT(out[4 + m] == rounded<float>(static_cast<unsigned int>(i), modes[m]));
    EXPECT(out[8 + m] == rounded<float>(l, modes[m]));
    EXPECT(out[12 + m] == rounded<float>(static_cast<unsigned long long>(l), modes[m]));
    EXPECT(out[16 + m] == rounded<double>(l, modes[m]));
    EXPECT(out[20 + m] == rounded<double>(static_cast<unsigned long long>(l), modes[m]));
  }
}

int main() {
  const long long expected[] = {0,        0,         INT_MAX, INT_MIN, -2, -1, INT_MIN,  0,
                                UINT_MAX, LLONG_MAX, 0,       0,       -2, 0,  LLONG_MAX};
  constexpr int kCount = sizeof expected / sizeof *expected;
  long long* out;
  CHECK(cudaMallocManaged(&out, sizeof expected + 24 * sizeof *out));
  convert<<<1, 1>>>(out);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < kCount; ++i) EXPECT(out[i] == expected[i]);
  for (const long long l : {0x123456789abcdefll, -0x123456789abcdefll, 0x7fffffffffffffffll, -3ll, 0x20000000000001ll})
    all_roundings(static_cast<int>(l >> 7), l, out);
  CHECK(cudaFree(out));
}
