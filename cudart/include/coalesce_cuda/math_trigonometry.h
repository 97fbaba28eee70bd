// Sines, cosines and their inverses.
#pragma once

#include "math_core.h"

namespace coalesce_cuda {

__extension__ typedef unsigned __int128 Wide;

struct Reduced {  // x = quadrant * pi/2 + r, |r| <= pi/4; the quadrant modulo 4
  int quadrant;
  Two r;
};

// For |x| >= 2^27: the bits of 2/pi that matter for this exponent (all before are whole turns), 192 of them, times
// x's 53.
COALESCE_MATH Reduced reduce_large(double x) {
  constexpr unsigned long long two_over_pi[] = {0,
                                                0xa2f9836e4e441529ull,
                                                0xfc2757d1f534ddc0ull,
                                                0xdb6295993c439041ull,
                                                0xfe5163abdebbc561ull,
                                                0xb7246e3a424dd2e0ull,
                                                0x06492eea09d1921cull,
                                                0xfe1deb1cb129a73eull,
                                                0xe88235f52ebb4484ull,
                                                0xe99c7026b45f7e41ull,
                                                0x3991d639835339f4ull,
                                                0x9c845f8bbdf9283bull,
                                                0x1ff897ffde05980full,
                                                0xef2f118b5a0a6d1full,
                                                0x6d367ecf27cb09b7ull,
                                                0x4f463f669e5fea2dull,
                                                0x7527bac7ebe5f17bull,
                                                0x3d0739f78a5292eaull,
                                                0x6bfb5fb11f8d5d08ull,
                                                0x56033046fc7b6babull,
                                                0xf0cfbc209af4361dull};
  const unsigned long long m = (bits(x) & 0xfffffffffffffull) | 0x10000000000000ull;
  const int first = exponent(x) - 52 - 2 + 64;  // the bit of weight 2 in m * 2/pi * 2^e, counted from the table's start
  const int word = first / 64, shift = first % 64;
  unsigned long long w[3];
  for (int i = 0; i < 3; ++i)
    w[i] = shift ? two_over_pi[word + i] << shift | two_over_pi[word + i + 1] >> (64 - shift) : two_over_pi[word + i];
  const Wide p2 = static_cast<Wide>(m) * w[2];
  const Wide p1 = static_cast<Wide>(m) * w[1] + static_cast<unsigned long long>(p2 >> 64);
  unsigned long long a = m * w[0] + static_cast<unsigned long long>(p1 >> 64);
  unsigned long long b = static_cast<unsigned long long>(p1), c = static_cast<unsigned long long>(p2);
  int quadrant = static_cast<int>(a >> 62);
  a = a << 2 | b >> 62, b = b << 2 | c >> 62, c <<= 2;  // the fraction of a quarter turn
  const bool above = a >> 63;                           // at least one half: count from the next quadrant, backwards
  if (above) {
    ++quadrant;
    c = ~c + 1, b = ~b + (c == 0), a = ~a + (b == 0 && c == 0);
  }
  int zeros = 0;
  if (a == 0) a = b, b = c, c = 0, zeros = 64;
  const int more = a ? __builtin_clzll(a) : 0;
  if (more) a = a << more | b >> (64 - more), b = b << more | c >> (64 - more);
  zeros += more;
  const double hi = static_cast<double>(a >> 11) * 0x1p-53;
  const double lo = static_cast<double>((a & 0x7ff) << 42 | b >> 22) * 0x1p-106;
  const double unit = power_of_two(-zeros);
  Two r = product(Two{hi * unit, lo * unit}, kHalfPi);
  if (above) r = {-r.hi, -r.lo};
  if (x < 0) return {-quadrant & 3, {-r.hi, -r.lo}};
  return {quadrant & 3, r};
}

COALESCE_MATH Reduced reduce(double x) {
  if (__builtin_fabs(x) <= 0.7853981633974483) return {0, {x, 0.0}};
  if (!(__builtin_fabs(x) < 0x1p27)) return reduce_large(x);
  const double k = __builtin_rint(x * 0.6366197723675814);
  const Two p0 = product(k, kHalfPi.hi), p1 = product(k, kHalfPi.lo);
  Two r = sum(x - p0.hi, -p0.lo);  // the first difference is exact
  r = sum(r, Two{-p1.hi, -p1.lo});
  r = sum(r, Two{k * 0x1.f1976b7ed8fbcp-110, 0.0});
  return {static_cast<int>(static_cast<long long>(k) & 3), r};
}

COALESCE_MATH double sin_small(Two r) {
  const double z = r.hi * r.hi;
  const double s = COALESCE_POLY(z, 1.0 / 355687428096000.0, -1.0 / 1307674368000.0, 1.0 / 6227020800.0,
                                 -1.0 / 39916800.0, 1.0 / 362880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0);
  return r.hi + __builtin_fma(r.hi * z, s, r.lo * (1.0 - 0.5 * z));
}
COALESCE_MATH double cos_small(Two r) {
  const double z = r.hi * r.hi, half = 0.5 * z, w = 1.0 - half;
  const double c = COALESCE_POLY(z, 1.0 / 20922789888000.0, -1.0 / 87178291200.0, 1.0 / 479001600.0, -1.0 / 3628800.0,
                                 1.0 / 40320.0, -1.0 / 720.0, 1.0 / 24.0);
  return w + (((1.0 - w) - half) + __builtin_fma(z * z, c, -r.hi * r.lo));
}
COALESCE_MATH double sin_of(Reduced x) {
  const double v = x.quadrant & 1 ? cos_small(x.r) : sin_small(x.r);
  return x.quadrant & 2 ? -v : v;
}
COALESCE_MATH double cos_of(Reduced x) { return sin_of({(x.quadrant + 1) & 3, x.r}); }
COALESCE_MATH double tan_of(Reduced x) {
  const double s = sin_small(x.r), c = cos_small(x.r);
  return x.quadrant & 1 ? -c / s : s / c;
}
COALESCE_MATH bool no_angle(double x) { return !(__builtin_fabs(x) < kInfinity); }
COALESCE_MATH double sin(double x) { return no_angle(x) ? x - x : x == 0 ? x : sin_of(reduce(x)); }
COALESCE_MATH double cos(double x) { return no_angle(x) ? x - x : cos_of(reduce(x)); }
COALESCE_MATH double tan(double x) { return no_angle(x) ? x - x : x == 0 ? x : tan_of(reduce(x)); }
COALESCE_MATH void sincos(double x, double* s, double* c) { *s = sin(x), *c = cos(x); }

COALESCE_MATH Reduced reduce_pi(double x) {  // quarter turns of pi x, exactly
  const double turns = x - 2.0 * __builtin_rint(0.5 * x), k = __builtin_rint(2.0 * turns);
  return {static_cast<int>(k) & 3, product(kPi, turns - 0.5 * k)};
}
COALESCE_MATH double sinpi(double x) { return no_angle(x) ? x - x : x == 0 ? x : sin_of(reduce_pi(x)); }
COALESCE_MATH double cospi(double x) { return no_angle(x) ? x - x : cos_of(reduce_pi(x)); }

// atan from the nearest of four known angles: tan(a - b) = (tan a - tan b) / (1 + tan a tan b).
COALESCE_MATH double atan(double x) {
  if (x != x) return x;
  const double a = __builtin_fabs(x);
  if (a < 0x1p-27) return x;
  Two base = {0, 0};
  double t = a;
  if (a >= 39.0 / 16)
    base = kHalfPi, t = -1.0 / a;
  else if (a >= 19.0 / 16)
    base = {0x1.f730bd281f69bp-1, 0x1.007887af0cbbdp-56}, t = (a - 1.5) / (1.0 + 1.5 * a);
  else if (a >= 11.0 / 16)
    base = {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55}, t = (a - 1.0) / (a + 1.0);
  else if (a >= 7.0 / 16)
    base = {0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56}, t = (2.0 * a - 1.0) / (2.0 + a);
  const double z = t * t;
  const double p =
      COALESCE_POLY(z, 0.014773184538693172, -0.03312813416975127, 0.044922592890551206, -0.052166797381824115,
                    0.058769464565608595, -0.06666241923338222, 0.0769228555488769, -0.09090908355602517,
                    0.11111111096645035, -0.14285714285566806, 0.1999999999999941, -0.3333333333333333);
  const double r = base.hi + (__builtin_fma(t * z, p, base.lo) + t);
  return __builtin_copysign(r, x);
}
COALESCE_MATH double atan2(double y, double x) {
  if (x != x || y != y) return x + y;
  const bool left = bits(x) >> 63;
  const double ax = __builtin_fabs(x), ay = __builtin_fabs(y);
  double r;
  if (ay == 0)
    r = left ? kPi.hi : 0.0;
  else if (ax == 0)
    r = kHalfPi.hi;
  else if (ax == kInfinity)
    r = ay == kInfinity ? (left ? 3 * 0.7853981633974483 : 0.7853981633974483) : (left ? kPi.hi : 0.0);
  else if (ay == kInfinity)
    r = kHalfPi.hi;
  else {
    const double q = ay / ax;
    r = q == kInfinity ? kHalfPi.hi : atan(q);
    if (left) r = kPi.hi - (r - kPi.lo);
  }
  return __builtin_copysign(r, y);
}

COALESCE_MATH double asin_tail(double z) {  // (asin(sqrt z) / sqrt z - 1) / z for z <= 1/4
  return COALESCE_POLY(z, 0.028757851548184377, -0.014851887352956897, 0.01740087963582327, 0.005457506642064085,
                       0.010322814369605943, 0.011479177411895745, 0.013971212973930064, 0.017352392720840923,
                       0.02237217294215135, 0.0303819441385312, 0.04464285714635543, 0.07499999999998433,
                       0.16666666666666669);
}
COALESCE_MATH Two asin_far(double a) {  // 2 asin(sqrt((1 - a) / 2)) for a in [1/2, 1]
  const double z = 0.5 * (1.0 - a), s = __builtin_sqrt(z);
  const double rest = s > 0 ? __builtin_fma(-s, s, z) / (2.0 * s) : 0.0;  // what the root lost
  return fast_sum(2.0 * s, 2.0 * __builtin_fma(s * z, asin_tail(z), rest));
}
COALESCE_MATH double asin(double x) {
  const double a = __builtin_fabs(x);
  if (!(a <= 1.0)) return not_a_number();
  if (a < 0.5) return __builtin_fma(x * (x * x), asin_tail(x * x), x);
  const Two far = asin_far(a);
  return __builtin_copysign((kHalfPi.hi - far.hi) + (kHalfPi.lo - far.lo), x);
}
COALESCE_MATH double acos(double x) {
  const double a = __builtin_fabs(x);
  if (!(a <= 1.0)) return not_a_number();
  if (a < 0.5) {
    const Two r = fast_sum(kHalfPi.hi, -x);
    return r.hi + (r.lo + (kHalfPi.lo - x * (x * x) * asin_tail(x * x)));
  }
  const Two far = asin_far(a);
  return x > 0 ? far.hi + far.lo : (kPi.hi - far.hi) + (kPi.lo - far.lo);
}

}  // namespace coalesce_cuda
