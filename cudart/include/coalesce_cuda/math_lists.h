// The mathematical functions, by shape. M(name): T name(T).
#pragma once

// Computed by the functions of math_*.h; in float, through double and rounded once.
// clang-format off
#define COALESCE_MATH_ONE(M) \
  M(sin) M(cos) M(tan) M(asin) M(acos) M(atan) M(sinh) M(cosh) M(tanh) M(asinh) M(acosh) \
  M(atanh) M(exp) M(exp2) M(expm1) M(log) M(log2) M(log10) M(log1p) M(cbrt) M(erf) M(erfc) \
  M(tgamma) M(lgamma) M(round) M(logb)
// clang-format on
#define COALESCE_MATH_TWO(M) M(pow) M(atan2) M(fmod) M(hypot) M(remainder)
// An instruction or two each: the compiler knows them.
#define COALESCE_MATH_BUILTIN_ONE(M) M(sqrt) M(fabs) M(floor) M(ceil) M(trunc) M(rint) M(nearbyint)
#define COALESCE_MATH_BUILTIN_TWO(M) M(fmin) M(fmax) M(copysign) M(fdim) M(nextafter)
// Not in C++'s library, only CUDA's.
#define COALESCE_MATH_CUDA_ONE(M) M(sinpi) M(cospi) M(exp10) M(erfcx) M(normcdf)
