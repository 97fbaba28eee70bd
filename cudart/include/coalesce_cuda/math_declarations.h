// Device variants of the mathematical functions, declared before any <cmath>: there they are constexpr, which clang
// would otherwise take to mean "for kernels too", and then find no code for. Only a system header may do that.
#pragma once
#pragma GCC system_header

#include "math_lists.h"
#include "qualifiers.h"

#define COALESCE_DECLARE static __device__ inline __attribute__((unused))
#define COALESCE_D1(name)               \
  COALESCE_DECLARE double name(double); \
  COALESCE_DECLARE float name##f(float);
#define COALESCE_D2(name)                       \
  COALESCE_DECLARE double name(double, double); \
  COALESCE_DECLARE float name##f(float, float);
COALESCE_MATH_ONE(COALESCE_D1)
COALESCE_MATH_BUILTIN_ONE(COALESCE_D1)
COALESCE_MATH_CUDA_ONE(COALESCE_D1)
COALESCE_MATH_TWO(COALESCE_D2)
COALESCE_MATH_BUILTIN_TWO(COALESCE_D2)
#undef COALESCE_D1
#undef COALESCE_D2
COALESCE_DECLARE double fma(double, double, double);
COALESCE_DECLARE float fmaf(float, float, float);
COALESCE_DECLARE double frexp(double, int*);
COALESCE_DECLARE double ldexp(double, int);
COALESCE_DECLARE double scalbn(double, int);
COALESCE_DECLARE double scalbln(double, long);
COALESCE_DECLARE double modf(double, double*);
COALESCE_DECLARE double remquo(double, double, int*);
COALESCE_DECLARE double nan(const char*);
COALESCE_DECLARE int ilogb(double);
COALESCE_DECLARE long lround(double);
COALESCE_DECLARE long lrint(double);
COALESCE_DECLARE long long llround(double);
COALESCE_DECLARE long long llrint(double);
COALESCE_DECLARE int abs(int);
COALESCE_DECLARE long labs(long);
COALESCE_DECLARE long long llabs(long long);

namespace std {
#define COALESCE_D1(name) COALESCE_DECLARE float name(float);
#define COALESCE_D2(name) COALESCE_DECLARE float name(float, float);
COALESCE_MATH_ONE(COALESCE_D1)
COALESCE_MATH_BUILTIN_ONE(COALESCE_D1)
COALESCE_MATH_TWO(COALESCE_D2)
COALESCE_MATH_BUILTIN_TWO(COALESCE_D2)
#undef COALESCE_D1
#undef COALESCE_D2
COALESCE_DECLARE float fma(float, float, float);
COALESCE_DECLARE float frexp(float, int*);
COALESCE_DECLARE float ldexp(float, int);
COALESCE_DECLARE float scalbn(float, int);
COALESCE_DECLARE float scalbln(float, long);
COALESCE_DECLARE float modf(float, float*);
COALESCE_DECLARE float remquo(float, float, int*);
COALESCE_DECLARE int ilogb(float);
COALESCE_DECLARE long lround(float);
COALESCE_DECLARE long lrint(float);
COALESCE_DECLARE long long llround(float);
COALESCE_DECLARE long long llrint(float);
COALESCE_DECLARE float abs(float);
COALESCE_DECLARE double abs(double);
COALESCE_DECLARE long abs(long);
COALESCE_DECLARE long long abs(long long);
COALESCE_DECLARE bool isnan(float);
COALESCE_DECLARE bool isnan(double);
COALESCE_DECLARE bool isinf(float);
COALESCE_DECLARE bool isinf(double);
COALESCE_DECLARE bool isfinite(float);
COALESCE_DECLARE bool isfinite(double);
COALESCE_DECLARE bool signbit(float);
COALESCE_DECLARE bool signbit(double);
}  // namespace std
