// __nv_bfloat16: the upper half of a float. Arithmetic in float, rounded once (float has more than twice the bits and
// two more, so one operation rounded twice is the operation rounded once).
#pragma once

#include "qualifiers.h"
#include "vectors.h"

#define COALESCE_B static __host__ __device__ inline

struct __nv_bfloat16_raw {
  unsigned short x;
};

struct __align__(2) __nv_bfloat16 {
  unsigned short __x;

  __nv_bfloat16() = default;
  __host__ __device__ constexpr __nv_bfloat16(__nv_bfloat16_raw r) : __x(r.x) {}
  __host__ __device__ __nv_bfloat16(float v) {
    unsigned int b = __builtin_bit_cast(unsigned int, v);
    // to nearest, ties to even; NaN stays NaN
    __x = v != v ? 0x7fff : static_cast<unsigned short>((b + 0x7fff + (b >> 16 & 1)) >> 16);
  }
  __host__ __device__ __nv_bfloat16(double v) : __nv_bfloat16(static_cast<float>(v)) {}
  __host__ __device__ __nv_bfloat16(int v) : __nv_bfloat16(static_cast<float>(v)) {}
  __host__ __device__ operator float() const { return __builtin_bit_cast(float, static_cast<unsigned int>(__x) << 16); }
  __host__ __device__ explicit operator bool() const { return (__x & 0x7fff) != 0; }
};
struct __align__(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
  __nv_bfloat162() = default;
  __host__ __device__ __nv_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) : x(a), y(b) {}
};
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

COALESCE_B __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
COALESCE_B __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
COALESCE_B float __bfloat162float(__nv_bfloat16 x) { return x; }
COALESCE_B __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return {__nv_bfloat16(a), __nv_bfloat16(b)}; }
COALESCE_B __nv_bfloat162 __float2bfloat162_rn(float a) { return {__nv_bfloat16(a), __nv_bfloat16(a)}; }
COALESCE_B float2 __bfloat1622float2(__nv_bfloat162 v) { return {v.x, v.y}; }
COALESCE_B __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return {a, b}; }
COALESCE_B __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
COALESCE_B __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }
COALESCE_B unsigned short __bfloat16_as_ushort(__nv_bfloat16 v) { return v.__x; }
COALESCE_B __nv_bfloat16 __ushort_as_bfloat16(unsigned short b) { return __nv_bfloat16(__nv_bfloat16_raw{b}); }

#define COALESCE_B_OP(op, name)                                                                                      \
  COALESCE_B __nv_bfloat16 name(__nv_bfloat16 a, __nv_bfloat16 b) {                                                  \
    _Pragma("clang fp contract(off)") return __nv_bfloat16(float(a) op float(b));                                    \
  }                                                                                                                  \
  COALESCE_B __nv_bfloat162 name##2(__nv_bfloat162 a, __nv_bfloat162 b) { return {name(a.x, b.x), name(a.y, b.y)}; } \
  COALESCE_B __nv_bfloat16 operator op(__nv_bfloat16 a, __nv_bfloat16 b) { return name(a, b); }                      \
  COALESCE_B __nv_bfloat16& operator op##=(__nv_bfloat16 & a, __nv_bfloat16 b) { return a = name(a, b); }            \
  COALESCE_B __nv_bfloat162 operator op(__nv_bfloat162 a, __nv_bfloat162 b) { return name##2(a, b); }
COALESCE_B_OP(+, __hadd)
COALESCE_B_OP(-, __hsub)
COALESCE_B_OP(*, __hmul)
COALESCE_B_OP(/, __hdiv)
#undef COALESCE_B_OP
COALESCE_B __nv_bfloat16 operator-(__nv_bfloat16 a) {
#ifdef __CUDA_ARCH__  // in assembly: the hardware gives one NaN for all
  unsigned short r;
  asm("neg.bf16 %0, %1;" : "=h"(r) : "h"(a.__x));
  return __nv_bfloat16(__nv_bfloat16_raw{r});
#else
  return __nv_bfloat16(__nv_bfloat16_raw{static_cast<unsigned short>(a.__x ^ 0x8000)});
#endif
}
// No comparison with a NaN holds, but for the operator `!=`.
#define COALESCE_B_COMPARE(op, name)                       \
  COALESCE_B bool name(__nv_bfloat16 a, __nv_bfloat16 b) { \
    const float x = a, y = b;                              \
    return x op y && x == x && y == y;                     \
  }                                                        \
  COALESCE_B bool operator op(__nv_bfloat16 a, __nv_bfloat16 b) { return float(a) op float(b); }
COALESCE_B_COMPARE(==, __heq)
COALESCE_B_COMPARE(!=, __hne)
COALESCE_B_COMPARE(<, __hlt)
COALESCE_B_COMPARE(<=, __hle)
COALESCE_B_COMPARE(>, __hgt)
COALESCE_B_COMPARE(>=, __hge)
#undef COALESCE_B_COMPARE
#ifdef __CUDA_ARCH__
#define COALESCE_B_EXTREME(name, ptx, op, zero)                      \
  COALESCE_B __nv_bfloat16 name(__nv_bfloat16 a, __nv_bfloat16 b) {  \
    unsigned short r;                                                \
    asm(ptx ".bf16 %0, %1, %2;" : "=h"(r) : "h"(a.__x), "h"(b.__x)); \
    return __nv_bfloat16(__nv_bfloat16_raw{r});                      \
  }
#else  // of zeros, the larger one is positive; NaN only if both are
#define COALESCE_B_EXTREME(name, ptx, op, zero)                                                          \
  COALESCE_B __nv_bfloat16 name(__nv_bfloat16 a, __nv_bfloat16 b) {                                      \
    const float x = a, y = b;                                                                            \
    if (x != x) return y != y ? __nv_bfloat16(__nv_bfloat16_raw{0x7fff}) : b;                            \
    if (y != y || x op y) return a;                                                                      \
    return x == y ? __nv_bfloat16(__nv_bfloat16_raw{static_cast<unsigned short>(a.__x zero b.__x)}) : b; \
  }
#endif
COALESCE_B_EXTREME(__hmax, "max", >, &)
COALESCE_B_EXTREME(__hmin, "min", <, |)
#undef COALESCE_B_EXTREME
static __device__ inline __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
  unsigned short r;
  asm("fma.rn.bf16 %0, %1, %2, %3;" : "=h"(r) : "h"(a.__x), "h"(b.__x), "h"(c.__x));
  return __nv_bfloat16(__nv_bfloat16_raw{r});
}
static __device__ inline __nv_bfloat16 __shfl_down_sync(unsigned int mask, __nv_bfloat16 v, unsigned int by,
                                                        int width = 32) {
  const unsigned int moved = __shfl_down_sync(mask, static_cast<unsigned int>(v.__x), by, width);
  return __nv_bfloat16(__nv_bfloat16_raw{static_cast<unsigned short>(moved)});
}
#undef COALESCE_B
