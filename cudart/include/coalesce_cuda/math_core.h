// Building blocks of the mathematics: numbers held as an unevaluated sum of two doubles, exponent tricks, and the
// exponential and logarithm in that form. Written for both sides, so that a host test can compare every function with
// libm.
#pragma once

#include "qualifiers.h"

#define COALESCE_MATH static __host__ __device__ inline
#define COALESCE_POLY(x, ...) coalesce_cuda::polynomial(x, __VA_ARGS__)

namespace coalesce_cuda {

// c[0] x^(n-1) + … + c[n-1]
template <class... C>
__host__ __device__ constexpr double polynomial(double x, double first, C... rest) {
  double sum = first;
  ((sum = __builtin_fma(sum, x, rest)), ...);
  return sum;
}

COALESCE_MATH unsigned long long bits(double x) { return __builtin_bit_cast(unsigned long long, x); }
COALESCE_MATH double number(unsigned long long b) { return __builtin_bit_cast(double, b); }
COALESCE_MATH double power_of_two(int k) {
  return number(static_cast<unsigned long long>(k + 1023) << 52);
}  // normal ones
COALESCE_MATH int exponent(double x) { return static_cast<int>(bits(x) >> 52 & 0x7ff) - 1023; }
constexpr double kInfinity = __builtin_inf();
COALESCE_MATH double not_a_number() { return __builtin_nan(""); }
COALESCE_MATH bool is_nan(double x) { return x != x; }
COALESCE_MATH bool is_infinite(double x) { return __builtin_fabs(x) == kInfinity; }

// x * 2^k, rounded once.
COALESCE_MATH double scale(double x, int k) {
  if (k > 1023) {
    x *= power_of_two(1023), k -= 1023;
    if (k > 1023) x *= power_of_two(1023), k -= 1023;
    if (k > 1023) k = 1023;
  } else if (k < -1022) {  // in steps that stay out of the subnormal range until the last
    x *= power_of_two(-969), k += 969;
    if (k < -1022) x *= power_of_two(-969), k += 969;
    if (k < -1022) k = -1022;
  }
  return x * power_of_two(k);
}

// hi + lo, where lo is below hi's last place.
struct Two {
  double hi, lo;
};
COALESCE_MATH Two fast_sum(double a, double b) {  // |a| >= |b|
  const double s = a + b;
  return {s, b - (s - a)};
}
COALESCE_MATH Two sum(double a, double b) {
  const double s = a + b, t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}
// A product that stays one: clang's code generator for kernels would fuse it into a later sum, whatever pragmas say,
// and what the product lost would be counted twice.
COALESCE_MATH double times(double a, double b) {
#ifdef __CUDA_ARCH__
  double p;
  asm("mul.rn.f64 %0, %1, %2;" : "=d"(p) : "d"(a), "d"(b));
  return p;
#else
  return a * b;
#endif
}
COALESCE_MATH Two product(double a, double b) {
  const double p = times(a, b);
  return {p, __builtin_fma(a, b, -p)};
}
COALESCE_MATH Two product(Two a, double b) {
  const Two p = product(a.hi, b);
  return fast_sum(p.hi, __builtin_fma(a.lo, b, p.lo));
}
COALESCE_MATH Two product(Two a, Two b) {
  const Two p = product(a.hi, b.hi);
  return fast_sum(p.hi, p.lo + __builtin_fma(a.hi, b.lo, a.lo * b.hi));
}
COALESCE_MATH Two sum(Two a, Two b) {
  const Two s = sum(a.hi, b.hi);
  return fast_sum(s.hi, s.lo + (a.lo + b.lo));
}

constexpr Two kLn2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
constexpr Two kLog2e = {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56};
constexpr Two kLog10e = {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57};
constexpr Two kLn10 = {0x1.26bb1bbb55516p+1, -0x1.f48ad494ea3e9p-53};
constexpr Two kPi = {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53};
constexpr Two kHalfPi = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};

// e^r - 1 for |r| <= 0.35 by Taylor's series to r^14; the next term is below 2e-19 of r.
COALESCE_MATH double exp_minus_one(double r) {
  const double q =
      COALESCE_POLY(r, 1.0 / 87178291200.0, 1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0,
                    1.0 / 362880.0, 1.0 / 40320.0, 1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5);
  return __builtin_fma(r * r, q, r);
}

// e^(hi + lo)
COALESCE_MATH double exp(Two x) {
  if (!(x.hi < 710.0)) return x.hi != x.hi ? x.hi : kInfinity;
  if (x.hi < -746.0) return 0.0;
  const double k = __builtin_rint(x.hi * kLog2e.hi);
  double r = __builtin_fma(-k, kLn2.hi, x.hi);
  r = __builtin_fma(-k, kLn2.lo, r) + x.lo;
  return scale(1.0 + exp_minus_one(r), static_cast<int>(k));
}

// The natural logarithm of a positive finite number, relative error below 2^-66: with s = (m - 1) / (m + 1),
// log m = 2 (s + s^3/3 + s^5/5 + …). The first two terms are kept in two doubles.
COALESCE_MATH Two log_two(double x) {
  int e = 0;
  if (x < 0x1p-1022) x *= 0x1p54, e = -54;
  e += exponent(x);
  double m = number((bits(x) & 0xfffffffffffffull) | 0x3ff0000000000000ull);
  if (m > 1.4142135623730951) m *= 0.5, ++e;
  const double f = m - 1.0;
  const Two d = sum(m, 1.0);
  Two s;
  s.hi = f / d.hi;
  s.lo = (__builtin_fma(-s.hi, d.hi, f) - s.hi * d.lo) / d.hi;
  const Two z = product(s, s);
  const double tail = COALESCE_POLY(z.hi, 1.0 / 25, 1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13,
                                    1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5);
  const Two third = product(z, Two{0x1.5555555555555p-2, 0x1.5555555555555p-56});
  const Two t = fast_sum(third.hi, third.lo + z.hi * z.hi * tail);
  const Two st = product(s, t);
  const Two half = sum(s, st);
  const Two of_m = {2 * half.hi, 2 * half.lo};
  const Two of_e = product(kLn2, static_cast<double>(e));
  return sum(of_e, of_m);
}

}  // namespace coalesce_cuda
