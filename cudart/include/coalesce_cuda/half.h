// half and half2: arithmetic in 16 bits as the hardware does it, each operation rounded once.
#pragma once

#include "conversions.h"
#include "qualifiers.h"
#include "vectors.h"

#define COALESCE_H static __host__ __device__ inline

struct __half_raw {
  unsigned short x;
};

struct __align__(2) __half {
  unsigned short __x;

  __half() = default;
  __host__ __device__ constexpr __half(__half_raw r) : __x(r.x) {}
  __host__ __device__ __half(_Float16 v) : __x(__builtin_bit_cast(unsigned short, v)) {}
  __host__ __device__ __half(float v) : __half(static_cast<_Float16>(v)) {}
  __host__ __device__ __half(double v) : __half(static_cast<_Float16>(v)) {}
  __host__ __device__ __half(int v) : __half(static_cast<_Float16>(v)) {}
  __host__ __device__ __half(unsigned int v) : __half(static_cast<_Float16>(v)) {}
  __host__ __device__ __half(long long v) : __half(static_cast<_Float16>(v)) {}
  __host__ __device__ __half(unsigned long long v) : __half(static_cast<_Float16>(v)) {}
  __host__ __device__ __half(short v) : __half(static_cast<_Float16>(v)) {}
  __host__ __device__ __half(unsigned short v) : __half(static_cast<_Float16>(v)) {}
  __host__ __device__ _Float16 value() const { return __builtin_bit_cast(_Float16, __x); }
  __host__ __device__ operator float() const { return static_cast<float>(value()); }
  __host__ __device__ operator __half_raw() const { return {__x}; }
  __host__ __device__ explicit operator bool() const { return (__x & 0x7fff) != 0; }
  __host__ __device__ explicit operator int() const { return static_cast<int>(static_cast<float>(value())); }
  __host__ __device__ __half& operator=(float v) { return *this = __half(v); }
  __host__ __device__ __half& operator=(double v) { return *this = __half(v); }
};
struct __align__(4) __half2 {
  __half x, y;
  __half2() = default;
  __host__ __device__ __half2(__half a, __half b) : x(a), y(b) {}
};
typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;

COALESCE_H __half __float2half(float x) { return __half(x); }
COALESCE_H __half __float2half_rn(float x) { return __half(x); }
COALESCE_H __half __double2half(double x) { return __half(x); }
COALESCE_H float __half2float(__half x) { return static_cast<float>(x.value()); }
COALESCE_H __half2 __floats2half2_rn(float a, float b) { return {__half(a), __half(b)}; }
COALESCE_H __half2 __float2half2_rn(float a) { return {__half(a), __half(a)}; }
COALESCE_H __half2 __float22half2_rn(float2 v) { return {__half(v.x), __half(v.y)}; }
COALESCE_H float2 __half22float2(__half2 v) { return {__half2float(v.x), __half2float(v.y)}; }
COALESCE_H float __low2float(__half2 v) { return __half2float(v.x); }
COALESCE_H float __high2float(__half2 v) { return __half2float(v.y); }
COALESCE_H __half __low2half(__half2 v) { return v.x; }
COALESCE_H __half __high2half(__half2 v) { return v.y; }
COALESCE_H __half2 __halves2half2(__half a, __half b) { return {a, b}; }
COALESCE_H __half2 __half2half2(__half a) { return {a, a}; }
COALESCE_H __half2 make_half2(__half a, __half b) { return {a, b}; }
COALESCE_H __half2 __lowhigh2highlow(__half2 v) { return {v.y, v.x}; }
COALESCE_H __half __int2half_rn(int x) { return __half(x); }
COALESCE_H __half __uint2half_rn(unsigned int x) { return __half(x); }
COALESCE_H __half __ll2half_rn(long long x) { return __half(x); }
#ifdef __CUDA_ARCH__  // infinities, NaN and negative numbers have a nearest integer, which a cast of C++ does not give
COALESCE_H int __half2int_rz(__half x) { return __float2int_rz(__half2float(x)); }
COALESCE_H int __half2int_rn(__half x) { return __float2int_rn(__half2float(x)); }
COALESCE_H int __half2int_rd(__half x) { return __float2int_rd(__half2float(x)); }
COALESCE_H int __half2int_ru(__half x) { return __float2int_ru(__half2float(x)); }
COALESCE_H unsigned int __half2uint_rz(__half x) { return __float2uint_rz(__half2float(x)); }
#else
COALESCE_H int __half2int_rz(__half x) { return static_cast<int>(__half2float(x)); }
COALESCE_H int __half2int_rn(__half x) { return static_cast<int>(__builtin_rintf(__half2float(x))); }
COALESCE_H int __half2int_rd(__half x) { return static_cast<int>(__builtin_floorf(__half2float(x))); }
COALESCE_H int __half2int_ru(__half x) { return static_cast<int>(__builtin_ceilf(__half2float(x))); }
COALESCE_H unsigned int __half2uint_rz(__half x) { return static_cast<unsigned int>(__half2float(x)); }
#endif
COALESCE_H unsigned short __half_as_ushort(__half x) { return x.__x; }
COALESCE_H short __half_as_short(__half x) { return static_cast<short>(x.__x); }
COALESCE_H __half __ushort_as_half(unsigned short b) { return __half(__half_raw{b}); }
COALESCE_H __half __short_as_half(short b) { return __half(__half_raw{static_cast<unsigned short>(b)}); }

// One rounding each: no contraction of these with each other. Divisions and comparisons go through float, which loses
// nothing.
#ifdef __CUDA_ARCH__  // in assembly: plain operations would be fused
#define COALESCE_HALF_BODY(op, ptx)                                  \
  unsigned short r;                                                  \
  asm(ptx ".rn.f16 %0, %1, %2;" : "=h"(r) : "h"(a.__x), "h"(b.__x)); \
  return __half(__half_raw{r});
#else
#define COALESCE_HALF_BODY(op, ptx) return __half(a.value() op b.value());
#endif
#define COALESCE_HALF_OP(name, op, ptx)                                                                           \
  COALESCE_H __half name(__half a, __half b){COALESCE_HALF_BODY(op, ptx)} COALESCE_H __half2 name##2(__half2 a,   \
                                                                                                     __half2 b) { \
    return {name(a.x, b.x), name(a.y, b.y)};                                                                      \
  }
COALESCE_HALF_OP(__hadd, +, "add")
COALESCE_HALF_OP(__hsub, -, "sub")
COALESCE_HALF_OP(__hmul, *, "mul")
#undef COALESCE_HALF_BODY
#undef COALESCE_HALF_OP
COALESCE_H __half __hdiv(__half a, __half b) { return __half(__half2float(a) / __half2float(b)); }
COALESCE_H __half2 __h2div(__half2 a, __half2 b) { return {__hdiv(a.x, b.x), __hdiv(a.y, b.y)}; }
#ifdef __CUDA_ARCH__  // in assembly: the hardware gives one NaN for all
#define COALESCE_HALF_SIGN(name, ptx, bits)         \
  COALESCE_H __half name(__half a) {                \
    unsigned short r;                               \
    asm(ptx ".f16 %0, %1;" : "=h"(r) : "h"(a.__x)); \
    return __half(__half_raw{r});                   \
  }
#else
#define COALESCE_HALF_SIGN(name, ptx, bits) \
  COALESCE_H __half name(__half a) { return __half(__half_raw{static_cast<unsigned short>(bits)}); }
#endif
COALESCE_HALF_SIGN(__hneg, "neg", a.__x ^ 0x8000)
COALESCE_HALF_SIGN(__habs, "abs", a.__x & 0x7fff)
#undef COALESCE_HALF_SIGN
COALESCE_H __half2 __hneg2(__half2 a) { return {__hneg(a.x), __hneg(a.y)}; }
COALESCE_H __half2 __habs2(__half2 a) { return {__habs(a.x), __habs(a.y)}; }
static __device__ inline __half __hfma(__half a, __half b, __half c) {
  unsigned short r;
  asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(r) : "h"(a.__x), "h"(b.__x), "h"(c.__x));
  return __half(__half_raw{r});
}
static __device__ inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
// No comparison with a NaN holds, but for the operator `!=`.
#define COALESCE_HALF_COMPARE(name, op)                                                            \
  COALESCE_H bool __h##name(__half a, __half b) {                                                  \
    const float x = __half2float(a), y = __half2float(b);                                          \
    return x op y && x == x && y == y;                                                             \
  }                                                                                                \
  COALESCE_H bool operator op(__half a, __half b) { return __half2float(a) op __half2float(b); }   \
  COALESCE_H __half2 __h##name##2(__half2 a, __half2 b) {                                          \
    return {__half(__h##name(a.x, b.x) ? 1.0f : 0.0f), __half(__h##name(a.y, b.y) ? 1.0f : 0.0f)}; \
  }
COALESCE_HALF_COMPARE(eq, ==)
COALESCE_HALF_COMPARE(ne, !=)
COALESCE_HALF_COMPARE(lt, <)
COALESCE_HALF_COMPARE(le, <=)
COALESCE_HALF_COMPARE(gt, >)
COALESCE_HALF_COMPARE(ge, >=)
#undef COALESCE_HALF_COMPARE
COALESCE_H bool __hisnan(__half a) { return (a.__x & 0x7fff) > 0x7c00; }
COALESCE_H int __hisinf(__half a) { return (a.__x & 0x7fff) != 0x7c00 ? 0 : a.__x >> 15 ? -1 : 1; }
#ifdef __CUDA_ARCH__
#define COALESCE_HALF_EXTREME(name, ptx, op, zero)                  \
  COALESCE_H __half name(__half a, __half b) {                      \
    unsigned short r;                                               \
    asm(ptx ".f16 %0, %1, %2;" : "=h"(r) : "h"(a.__x), "h"(b.__x)); \
    return __half(__half_raw{r});                                   \
  }
#else  // of zeros, the larger one is positive; NaN only if both are
#define COALESCE_HALF_EXTREME(name, ptx, op, zero)                                         \
  COALESCE_H __half name(__half a, __half b) {                                             \
    if (__hisnan(a)) return __hisnan(b) ? __half(__half_raw{0x7fff}) : b;                  \
    if (__hisnan(b) || a op b) return a;                                                   \
    return a == b ? __half(__half_raw{static_cast<unsigned short>(a.__x zero b.__x)}) : b; \
  }
#endif
COALESCE_HALF_EXTREME(__hmax, "max", >, &)
COALESCE_HALF_EXTREME(__hmin, "min", <, |)
#undef COALESCE_HALF_EXTREME
COALESCE_H __half2 __hmax2(__half2 a, __half2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }
COALESCE_H __half2 __hmin2(__half2 a, __half2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }

#define COALESCE_HALF_OPERATOR(op, name)                                   \
  COALESCE_H __half operator op(__half a, __half b) { return name(a, b); } \
  COALESCE_H __half& operator op##=(__half & a, __half b) { return a = name(a, b); }
COALESCE_HALF_OPERATOR(+, __hadd)
COALESCE_HALF_OPERATOR(-, __hsub)
COALESCE_HALF_OPERATOR(*, __hmul)
COALESCE_HALF_OPERATOR(/, __hdiv)
#undef COALESCE_HALF_OPERATOR
COALESCE_H __half operator-(__half a) { return __hneg(a); }
#define COALESCE_HALF_OPERATOR(op, name)                                      \
  COALESCE_H __half2 operator op(__half2 a, __half2 b) { return name(a, b); } \
  COALESCE_H __half2& operator op##=(__half2 & a, __half2 b) { return a = name(a, b); }
COALESCE_HALF_OPERATOR(+, __hadd2)
COALESCE_HALF_OPERATOR(-, __hsub2)
COALESCE_HALF_OPERATOR(*, __hmul2)
COALESCE_HALF_OPERATOR(/, __h2div)
#undef COALESCE_HALF_OPERATOR

// Functions of one number: in float, rounded once.
#define COALESCE_HALF_FN(name, function)                                                          \
  static __device__ inline __half h##name(__half a) { return __half(function(__half2float(a))); } \
  static __device__ inline __half2 h2##name(__half2 a) { return {h##name(a.x), h##name(a.y)}; }
COALESCE_HALF_FN(sqrt, sqrtf)
COALESCE_HALF_FN(rsqrt, rsqrtf)
COALESCE_HALF_FN(rcp, 1.0f /)
COALESCE_HALF_FN(exp, expf)
COALESCE_HALF_FN(exp2, exp2f)
COALESCE_HALF_FN(log, logf)
COALESCE_HALF_FN(log2, log2f)
COALESCE_HALF_FN(sin, sinf)
COALESCE_HALF_FN(cos, cosf)
COALESCE_HALF_FN(floor, floorf)
COALESCE_HALF_FN(ceil, ceilf)
COALESCE_HALF_FN(rint, rintf)
COALESCE_HALF_FN(trunc, truncf)
#undef COALESCE_HALF_FN

#define COALESCE_HALF_SHUFFLE(name, third)                                                                    \
  static __device__ inline __half name(unsigned int mask, __half v, third other, int width = 32) {            \
    return __half(                                                                                            \
        __half_raw{static_cast<unsigned short>(name(mask, static_cast<unsigned int>(v.__x), other, width))}); \
  }                                                                                                           \
  static __device__ inline __half2 name(unsigned int mask, __half2 v, third other, int width = 32) {          \
    return __builtin_bit_cast(__half2, name(mask, __builtin_bit_cast(unsigned int, v), other, width));        \
  }
COALESCE_HALF_SHUFFLE(__shfl_sync, int)
COALESCE_HALF_SHUFFLE(__shfl_up_sync, unsigned int)
COALESCE_HALF_SHUFFLE(__shfl_down_sync, unsigned int)
COALESCE_HALF_SHUFFLE(__shfl_xor_sync, int)
#undef COALESCE_HALF_SHUFFLE
static __device__ inline __half atomicAdd(__half* address, __half v) {
  unsigned short old;
  asm volatile("atom.add.noftz.f16 %0, [%1], %2;" : "=h"(old) : "l"(address), "h"(v.__x) : "memory");
  return __half(__half_raw{old});
}
static __device__ inline __half2 atomicAdd(__half2* address, __half2 v) {
  unsigned int old;
  asm volatile("atom.add.noftz.f16x2 %0, [%1], %2;"
               : "=r"(old)
               : "l"(address), "r"(__builtin_bit_cast(unsigned int, v))
               : "memory");
  return __builtin_bit_cast(__half2, old);
}
#undef COALESCE_H
