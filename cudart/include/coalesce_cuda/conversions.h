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

#define COALESCE_CONVERT(name, builtin, To, From) \
  static __device__ COALESCE_INLINE To name(From x) { return static_cast<To>(__nvvm_##builtin(x)); }
#define COALESCE_CONVERT4(name, builtin, To, From)    \
  COALESCE_CONVERT(name##_rn, builtin##_rn, To, From) \
  COALESCE_CONVERT(name##_rz, builtin##_rz, To, From) \
  COALESCE_CONVERT(name##_ru, builtin##_rp, To, From) \
  COALESCE_CONVERT(name##_rd, builtin##_rm, To, From)
COALESCE_CONVERT4(__float2int, f2i, int, float)
COALESCE_CONVERT4(__float2uint, f2ui, unsigned int, float)
COALESCE_CONVERT4(__float2ll, f2ll, long long, float)
COALESCE_CONVERT4(__float2ull, f2ull, unsigned long long, float)
COALESCE_CONVERT4(__double2int, d2i, int, double)
COALESCE_CONVERT4(__double2uint, d2ui, unsigned int, double)
COALESCE_CONVERT4(__double2ll, d2ll, long long, double)
COALESCE_CONVERT4(__double2ull, d2ull, unsigned long long, double)
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
