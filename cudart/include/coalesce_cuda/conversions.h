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

#define COALESCE_CONVERT(name, builtin, To, From) \
  static __device__ COALESCE_INLINE To name(From x) { return static_cast<To>(__nvvm_##builtin(x)); }
#define COALESCE_CONVERT4(name, builtin, To, From)    \
  COALESCE_CONVERT(name##_rn, builtin##_rn, To, From) \
  COALESCE_CONVERT(name##_rz, builtin##_rz, To, From) \
  COALESCE_CONVERT(name##_ru, builtin##_rp, To, From) \
  COALESCE_CONVERT(name##_rd, builtin##_rm, To, From)
COALESCE_CONVERT4(__double2float, d2f, float, double)
COALESCE_CONVERT4(__int2float, i2f, float, int)
COALESCE_CONVERT4(__uint2float, ui2f, float, unsigned int)
COALESCE_CONVERT4(__ll2float, ll2f, float, long long)
COALESCE_CONVERT4(__ull2float, ull2f, float, unsigned long long)
COALESCE_CONVERT4(__ll2double, ll2d, double, long long)
COALESCE_CONVERT4(__ull2double, ull2d, double, unsigned long long)
COALESCE_CONVERT(__int2double_rn, i2d_rn, double, int)
COALESCE_CONVERT(__uint2double_rn, ui2d_rn, double, unsigned int)
#undef COALESCE_CONVERT4
#undef COALESCE_CONVERT
