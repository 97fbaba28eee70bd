// Conversions with the rounding in their name, and the bits of numbers as other types.
#pragma once

#include "qualifiers.h"

#define COALESCE_BITS(name, To, From) \
  static __device__ COALESCE_INLINE To name(From x) { return __builtin_bit_cast(To, x); }
COALESCE_BITS(__float_as_int, int, float)
COALESCE_BITS(__int_as_float, float, int)
COALESCE_BITS(__float_as_uint, unsigned int, float)
COALESCE_BITS(__uint_as_float, float, unsigned int)
COALESCE_BITS(__double_as_longlong, long long, double)
COALESCE_BITS(__longlong_as_double, double, long long)
#undef COALESCE_BITS
static __device__ COALESCE_INLINE int __double2hiint(double x) { return __nvvm_d2i_hi(x); }
static __device__ COALESCE_INLINE int __double2loint(double x) { return __nvvm_d2i_lo(x); }
static __device__ COALESCE_INLINE double __hiloint2double(int hi, int lo) { return __nvvm_lohi_i2d(lo, hi); }

// To integers in assembly: clang takes the builtins that round towards zero for casts of C++, which leave values out of
// range undefined. CUDA gives the nearest integer there is.
#define COALESCE_TO_INTEGER(name, rounding, types, To, to, From, from) \
  static __device__ COALESCE_INLINE To name(From x) {                  \
    To r;                                                              \
    asm("cvt." rounding "." types " %0, %1;" : to(r) : from(x));       \
    return r;                                                          \
  }
#define COALESCE_TO_INTEGER4(name, types, To, to, From, from)      \
  COALESCE_TO_INTEGER(name##_rn, "rni", types, To, to, From, from) \
  COALESCE_TO_INTEGER(name##_rz, "rzi", types, To, to, From, from) \
  COALESCE_TO_INTEGER(name##_ru, "rpi", types, To, to, From, from) \
  COALESCE_TO_INTEGER(name##_rd, "rmi", types, To, to, From, from)
COALESCE_TO_INTEGER4(__float2int, "s32.f32", int, "=r", float, "f")
COALESCE_TO_INTEGER4(__float2uint, "u32.f32", unsigned int, "=r", float, "f")
COALESCE_TO_INTEGER4(__float2ll, "s64.f32", long long, "=l", float, "f")
COALESCE_TO_INTEGER4(__float2ull, "u64.f32", unsigned long long, "=l", float, "f")
COALESCE_TO_INTEGER4(__double2int, "s32.f64", int, "=r", double, "d")
COALESCE_TO_INTEGER4(__double2uint, "u32.f64", unsigned int, "=r", double, "d")
COALESCE_TO_INTEGER4(__double2ll, "s64.f64", long long, "=l", double, "d")
COALESCE_TO_INTEGER4(__double2ull, "u64.f64", unsigned long long, "=l", double, "d")
#undef COALESCE_TO_INTEGER4
#undef COALESCE_TO_INTEGER

// Conversions from integers likewise: clang takes the builtins that round towards zero for casts, which round to the
// nearest number.
#define COALESCE_FROM_INTEGER(name, rounding, types, To, to, From, from) \
  static __device__ COALESCE_INLINE To name(From x) {                    \
    To r;                                                                \
    asm("cvt." rounding "." types " %0, %1;" : to(r) : from(x));         \
    return r;                                                            \
  }
#define COALESCE_FROM_INTEGER4(name, types, To, to, From, from)                         \
  static __device__ COALESCE_INLINE To name##_rn(From x) { return static_cast<To>(x); } \
  COALESCE_FROM_INTEGER(name##_rz, "rz", types, To, to, From, from)                     \
  COALESCE_FROM_INTEGER(name##_ru, "rp", types, To, to, From, from)                     \
  COALESCE_FROM_INTEGER(name##_rd, "rm", types, To, to, From, from)
COALESCE_FROM_INTEGER4(__int2float, "f32.s32", float, "=f", int, "r")
COALESCE_FROM_INTEGER4(__uint2float, "f32.u32", float, "=f", unsigned int, "r")
COALESCE_FROM_INTEGER4(__ll2float, "f32.s64", float, "=f", long long, "l")
COALESCE_FROM_INTEGER4(__ull2float, "f32.u64", float, "=f", unsigned long long, "l")
COALESCE_FROM_INTEGER4(__ll2double, "f64.s64", double, "=d", long long, "l")
COALESCE_FROM_INTEGER4(__ull2double, "f64.u64", double, "=d", unsigned long long, "l")
#undef COALESCE_FROM_INTEGER4
#undef COALESCE_FROM_INTEGER
static __device__ COALESCE_INLINE double __int2double_rn(int x) { return x; }
static __device__ COALESCE_INLINE double __uint2double_rn(unsigned int x) { return x; }

// Builtins, because they flush subnormals where the compiler is told to.
static __device__ COALESCE_INLINE float __double2float_rn(double x) { return __nvvm_d2f_rn(x); }
static __device__ COALESCE_INLINE float __double2float_rz(double x) { return __nvvm_d2f_rz(x); }
static __device__ COALESCE_INLINE float __double2float_ru(double x) { return __nvvm_d2f_rp(x); }
static __device__ COALESCE_INLINE float __double2float_rd(double x) { return __nvvm_d2f_rm(x); }
