// The mathematical functions in kernels. Largest errors, measured against quad precision: double 1 ulp for exp, log,
// sin, cos, pow, hypot, cbrt, asin, acos, atan; 2.5 ulp for tan, the hyperbolic functions, erf; the rest as
// math_special.h says. float is computed in double and rounded once.
#pragma once

#include <type_traits>

#include "conversions.h"
#include "math_declarations.h"
#include "math_special.h"

#define COALESCE_DEFINE static __device__ inline

#define COALESCE_F1(name)                                                  \
  COALESCE_DEFINE double name(double x) { return coalesce_cuda::name(x); } \
  COALESCE_DEFINE float name##f(float x) { return static_cast<float>(coalesce_cuda::name(double{x})); }
#define COALESCE_F2(name)                                                               \
  COALESCE_DEFINE double name(double x, double y) { return coalesce_cuda::name(x, y); } \
  COALESCE_DEFINE float name##f(float x, float y) {                                     \
    return static_cast<float>(coalesce_cuda::name(double{x}, double{y}));               \
  }
COALESCE_MATH_ONE(COALESCE_F1)
COALESCE_MATH_CUDA_ONE(COALESCE_F1)
COALESCE_MATH_TWO(COALESCE_F2)
#undef COALESCE_F1
#undef COALESCE_F2
#define COALESCE_F1(name)                                               \
  COALESCE_DEFINE double name(double x) { return __builtin_##name(x); } \
  COALESCE_DEFINE float name##f(float x) { return __builtin_##name##f(x); }
COALESCE_MATH_BUILTIN_ONE(COALESCE_F1)
#undef COALESCE_F1
#define COALESCE_F2(name)                                                            \
  COALESCE_DEFINE double name(double x, double y) { return __builtin_##name(x, y); } \
  COALESCE_DEFINE float name##f(float x, float y) { return __builtin_##name##f(x, y); }
COALESCE_F2(fmin)
COALESCE_F2(fmax)
COALESCE_F2(copysign)
#undef COALESCE_F2
COALESCE_DEFINE double fdim(double x, double y) { return x != x || y != y ? x + y : x > y ? x - y : 0.0; }
COALESCE_DEFINE float fdimf(float x, float y) { return x != x || y != y ? x + y : x > y ? x - y : 0.0f; }
COALESCE_DEFINE double nextafter(double x, double y) { return coalesce_cuda::nextafter(x, y); }
COALESCE_DEFINE float nextafterf(float x, float y) { return coalesce_cuda::nextafterf(x, y); }

COALESCE_DEFINE double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
COALESCE_DEFINE float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
COALESCE_DEFINE double frexp(double x, int* e) { return coalesce_cuda::frexp(x, e); }
COALESCE_DEFINE float frexpf(float x, int* e) { return static_cast<float>(coalesce_cuda::frexp(x, e)); }
COALESCE_DEFINE double ldexp(double x, int e) { return coalesce_cuda::scale(x, e); }
COALESCE_DEFINE float ldexpf(float x, int e) { return static_cast<float>(coalesce_cuda::scale(x, e)); }
COALESCE_DEFINE double scalbn(double x, int e) { return coalesce_cuda::scale(x, e); }
COALESCE_DEFINE float scalbnf(float x, int e) { return ldexpf(x, e); }
COALESCE_DEFINE int coalesce_clamp(long e) { return e > 10000 ? 10000 : e < -10000 ? -10000 : static_cast<int>(e); }
COALESCE_DEFINE double scalbln(double x, long e) { return coalesce_cuda::scale(x, coalesce_clamp(e)); }
COALESCE_DEFINE float scalblnf(float x, long e) { return ldexpf(x, coalesce_clamp(e)); }
COALESCE_DEFINE double modf(double x, double* whole) { return coalesce_cuda::modf(x, whole); }
COALESCE_DEFINE float modff(float x, float* whole) {
  double w;
  const double part = coalesce_cuda::modf(x, &w);
  *whole = static_cast<float>(w);
  return static_cast<float>(part);
}
COALESCE_DEFINE double remquo(double x, double y, int* q) { return coalesce_cuda::remquo(x, y, q); }
COALESCE_DEFINE float remquof(float x, float y, int* q) { return static_cast<float>(coalesce_cuda::remquo(x, y, q)); }
COALESCE_DEFINE double nan(const char*) { return __builtin_nan(""); }
COALESCE_DEFINE float nanf(const char*) { return __builtin_nanf(""); }
COALESCE_DEFINE int ilogb(double x) { return coalesce_cuda::ilogb(x); }
COALESCE_DEFINE int ilogbf(float x) { return coalesce_cuda::ilogb(x); }
COALESCE_DEFINE long lround(double x) { return __double2ll_rz(coalesce_cuda::round(x)); }
COALESCE_DEFINE long lroundf(float x) { return __double2ll_rz(coalesce_cuda::round(x)); }
COALESCE_DEFINE long long llround(double x) { return __double2ll_rz(coalesce_cuda::round(x)); }
COALESCE_DEFINE long long llroundf(float x) { return __double2ll_rz(coalesce_cuda::round(x)); }
COALESCE_DEFINE long lrint(double x) { return __nvvm_d2ll_rn(x); }
COALESCE_DEFINE long lrintf(float x) { return __nvvm_f2ll_rn(x); }
COALESCE_DEFINE long long llrint(double x) { return __nvvm_d2ll_rn(x); }
COALESCE_DEFINE long long llrintf(float x) { return __nvvm_f2ll_rn(x); }
COALESCE_DEFINE int abs(int x) { return x < 0 ? static_cast<int>(0u - static_cast<unsigned int>(x)) : x; }
COALESCE_DEFINE long labs(long x) { return x < 0 ? static_cast<long>(0ul - static_cast<unsigned long>(x)) : x; }
COALESCE_DEFINE long long llabs(long long x) { return labs(x); }

// Functions that only CUDA has.
COALESCE_DEFINE double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
COALESCE_DEFINE float rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }
COALESCE_DEFINE double rcbrt(double x) { return 1.0 / coalesce_cuda::cbrt(x); }
COALESCE_DEFINE float rcbrtf(float x) { return static_cast<float>(1.0 / coalesce_cuda::cbrt(x)); }
COALESCE_DEFINE double rhypot(double x, double y) { return 1.0 / coalesce_cuda::hypot(x, y); }
COALESCE_DEFINE float rhypotf(float x, float y) { return static_cast<float>(1.0 / coalesce_cuda::hypot(x, y)); }
COALESCE_DEFINE double norm3d(double x, double y, double z) {
  return coalesce_cuda::hypot(coalesce_cuda::hypot(x, y), z);
}
COALESCE_DEFINE float norm3df(float x, float y, float z) { return static_cast<float>(norm3d(x, y, z)); }
COALESCE_DEFINE double rnorm3d(double x, double y, double z) { return 1.0 / norm3d(x, y, z); }
COALESCE_DEFINE float rnorm3df(float x, float y, float z) { return static_cast<float>(1.0 / norm3d(x, y, z)); }
COALESCE_DEFINE void sincos(double x, double* s, double* c) { coalesce_cuda::sincos(x, s, c); }
COALESCE_DEFINE void sincosf(float x, float* s, float* c) { *s = sinf(x), *c = cosf(x); }
COALESCE_DEFINE void sincospi(double x, double* s, double* c) { *s = sinpi(x), *c = cospi(x); }
COALESCE_DEFINE void sincospif(float x, float* s, float* c) { *s = sinpif(x), *c = cospif(x); }

// In namespace std: the float overloads; double's come from <cmath>'s using-declarations.
namespace std {
#define COALESCE_F1(name) \
  COALESCE_DEFINE float name(float x) { return ::name##f(x); }
#define COALESCE_F2(name) \
  COALESCE_DEFINE float name(float x, float y) { return ::name##f(x, y); }
COALESCE_MATH_ONE(COALESCE_F1)
COALESCE_MATH_BUILTIN_ONE(COALESCE_F1)
COALESCE_MATH_TWO(COALESCE_F2)
COALESCE_MATH_BUILTIN_TWO(COALESCE_F2)
#undef COALESCE_F1
#undef COALESCE_F2
COALESCE_DEFINE float fma(float x, float y, float z) { return ::fmaf(x, y, z); }
COALESCE_DEFINE float frexp(float x, int* e) { return ::frexpf(x, e); }
COALESCE_DEFINE float ldexp(float x, int e) { return ::ldexpf(x, e); }
COALESCE_DEFINE float scalbn(float x, int e) { return ::ldexpf(x, e); }
COALESCE_DEFINE float scalbln(float x, long e) { return ::scalblnf(x, e); }
COALESCE_DEFINE float modf(float x, float* whole) { return ::modff(x, whole); }
COALESCE_DEFINE float remquo(float x, float y, int* q) { return ::remquof(x, y, q); }
COALESCE_DEFINE int ilogb(float x) { return ::ilogbf(x); }
COALESCE_DEFINE long lround(float x) { return ::lroundf(x); }
COALESCE_DEFINE long lrint(float x) { return ::lrintf(x); }
COALESCE_DEFINE long long llround(float x) { return ::llroundf(x); }
COALESCE_DEFINE long long llrint(float x) { return ::llrintf(x); }
COALESCE_DEFINE float abs(float x) { return __builtin_fabsf(x); }
COALESCE_DEFINE double abs(double x) { return __builtin_fabs(x); }
COALESCE_DEFINE long abs(long x) { return ::labs(x); }
COALESCE_DEFINE long long abs(long long x) { return ::llabs(x); }
COALESCE_DEFINE bool isnan(float x) { return x != x; }
COALESCE_DEFINE bool isnan(double x) { return x != x; }
COALESCE_DEFINE bool isinf(float x) { return __builtin_isinf(x); }
COALESCE_DEFINE bool isinf(double x) { return __builtin_isinf(x); }
COALESCE_DEFINE bool isfinite(float x) { return __builtin_isfinite(x); }
COALESCE_DEFINE bool isfinite(double x) { return __builtin_isfinite(x); }
COALESCE_DEFINE bool signbit(float x) { return __builtin_signbit(x); }
COALESCE_DEFINE bool signbit(double x) { return __builtin_signbit(x); }

// Whole numbers count as double.
#define COALESCE_WHOLE(name)                                                            \
  template <class T>                                                                    \
  __device__ inline typename enable_if<is_integral<T>::value, double>::type name(T x) { \
    return ::name(static_cast<double>(x));                                              \
  }
COALESCE_MATH_ONE(COALESCE_WHOLE)
COALESCE_MATH_BUILTIN_ONE(COALESCE_WHOLE)
#undef COALESCE_WHOLE
}  // namespace std

// The overloads that CUDA programs find without std::.
using std::abs;
using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;
#define COALESCE_USING(name) using std::name;
COALESCE_MATH_ONE(COALESCE_USING)
COALESCE_MATH_BUILTIN_ONE(COALESCE_USING)
COALESCE_MATH_TWO(COALESCE_USING)
COALESCE_MATH_BUILTIN_TWO(COALESCE_USING)
#undef COALESCE_USING
using std::fma;
using std::frexp;
using std::ldexp;
using std::modf;
using std::remquo;
using std::scalbn;
COALESCE_DEFINE float rsqrt(float x) { return rsqrtf(x); }
COALESCE_DEFINE float rcbrt(float x) { return rcbrtf(x); }
COALESCE_DEFINE float exp10(float x) { return exp10f(x); }
COALESCE_DEFINE float sinpi(float x) { return sinpif(x); }
COALESCE_DEFINE float cospi(float x) { return cospif(x); }
COALESCE_DEFINE void sincos(float x, float* s, float* c) { sincosf(x, s, c); }

// min and max of any two numbers, on both sides; mixed signs meet in the unsigned type, as operators would.
#define COALESCE_MINMAX(A, B, R)                                                          \
  static __host__ __device__ inline R min(A a, B b) {                                     \
    return static_cast<R>(a) < static_cast<R>(b) ? static_cast<R>(a) : static_cast<R>(b); \
  }                                                                                       \
  static __host__ __device__ inline R max(A a, B b) {                                     \
    return static_cast<R>(a) > static_cast<R>(b) ? static_cast<R>(a) : static_cast<R>(b); \
  }
COALESCE_MINMAX(int, int, int)
COALESCE_MINMAX(unsigned int, unsigned int, unsigned int)
COALESCE_MINMAX(int, unsigned int, unsigned int)
COALESCE_MINMAX(unsigned int, int, unsigned int)
COALESCE_MINMAX(long, long, long)
COALESCE_MINMAX(unsigned long, unsigned long, unsigned long)
COALESCE_MINMAX(long, unsigned long, unsigned long)
COALESCE_MINMAX(unsigned long, long, unsigned long)
COALESCE_MINMAX(long long, long long, long long)
COALESCE_MINMAX(unsigned long long, unsigned long long, unsigned long long)
COALESCE_MINMAX(long long, unsigned long long, unsigned long long)
COALESCE_MINMAX(unsigned long long, long long, unsigned long long)
#undef COALESCE_MINMAX
// min and max of a number and a NaN are the number.
#define COALESCE_MINMAX(A, B, R, min_, max_)                                           \
  static __host__ __device__ inline R min(A a, B b) { return __builtin_##min_(a, b); } \
  static __host__ __device__ inline R max(A a, B b) { return __builtin_##max_(a, b); }
COALESCE_MINMAX(float, float, float, fminf, fmaxf)
COALESCE_MINMAX(double, double, double, fmin, fmax)
COALESCE_MINMAX(float, double, double, fmin, fmax)
COALESCE_MINMAX(double, float, double, fmin, fmax)
#undef COALESCE_MINMAX
COALESCE_DEFINE unsigned int umin(unsigned int a, unsigned int b) { return a < b ? a : b; }
COALESCE_DEFINE unsigned int umax(unsigned int a, unsigned int b) { return a > b ? a : b; }
COALESCE_DEFINE long long llmin(long long a, long long b) { return a < b ? a : b; }
COALESCE_DEFINE long long llmax(long long a, long long b) { return a > b ? a : b; }
#undef COALESCE_DEFINE
