// Exponentials, logarithms, powers, roots, hyperbolic functions.
#pragma once

#include "math_core.h"

namespace coalesce_cuda {

COALESCE_MATH double exp(double x) { return exp(Two{x, 0.0}); }
COALESCE_MATH double exp2(double x) {
  if (!(x < 1024.0)) return x != x ? x : kInfinity;
  if (x < -1080.0) return 0.0;
  const double k = __builtin_rint(x);
  const Two r = product(kLn2, x - k);
  return scale(1.0 + (exp_minus_one(r.hi) + r.lo), static_cast<int>(k));
}
COALESCE_MATH double exp10(double x) {
  if (!(x < 309.0)) return x != x ? x : kInfinity;
  if (x < -325.0) return 0.0;
  const double k = __builtin_rint(x * 3.321928094887362);
  double r = __builtin_fma(-k, 0x1.34413509f79ffp-2, x);
  r = __builtin_fma(k, 0x1.9dc1da994fd21p-59, r);
  const Two t = product(kLn10, r);
  return scale(1.0 + (exp_minus_one(t.hi) + t.lo), static_cast<int>(k));
}
COALESCE_MATH double expm1(double x) {
  if (!(x < 710.0)) return x != x ? x : kInfinity;
  if (x < -40.0) return -1.0;
  if (__builtin_fabs(x) < 0.34) return x == 0 ? x : exp_minus_one(x);
  const double k = __builtin_rint(x * kLog2e.hi);
  double r = __builtin_fma(-k, kLn2.hi, x);
  r = __builtin_fma(-k, kLn2.lo, r);
  const double e = exp_minus_one(r);
  if (k > 60) return scale(1.0 + e, static_cast<int>(k));
  const double unit = power_of_two(static_cast<int>(k));
  const Two s = sum(unit - 1.0, unit * e);
  return s.hi + s.lo;
}

// The logarithm outside (0, inf); true if x is outside.
COALESCE_MATH bool log_special(double x, double* y) {
  if (x > 0 && x < kInfinity) return false;
  *y = x == 0 ? -kInfinity : x > 0 || x != x ? x : not_a_number();
  return true;
}
COALESCE_MATH double log(double x) {
  double y;
  if (log_special(x, &y)) return y;
  const Two l = log_two(x);
  return l.hi + l.lo;
}
COALESCE_MATH double log2(double x) {
  double y;
  if (log_special(x, &y)) return y;
  const Two l = product(log_two(x), kLog2e);
  return l.hi + l.lo;
}
COALESCE_MATH double log10(double x) {
  double y;
  if (log_special(x, &y)) return y;
  const Two l = product(log_two(x), kLog10e);
  return l.hi + l.lo;
}
COALESCE_MATH double log1p(double x) {
  double y;
  if (x <= -1.0 || !(x < kInfinity)) return log_special(1.0 + x, &y) ? y : x;
  if (__builtin_fabs(x) < 0x1p-53) return x;
  const Two u = sum(1.0, x);
  const Two l = log_two(u.hi);
  return l.hi + (l.lo + u.lo / u.hi);
}

COALESCE_MATH double pow(double x, double y) {
  if (y == 0 || x == 1) return 1.0;
  if (x != x || y != y) return x + y;
  const double ay = __builtin_fabs(y), ax = __builtin_fabs(x);
  const bool whole = ay >= 0x1p53 || __builtin_trunc(y) == y;
  const bool odd = whole && ay < 0x1p53 && (static_cast<long long>(ay) & 1);
  const bool negative = (bits(x) >> 63) && odd;
  if (ax == 0 || ax == kInfinity) {
    const double r = (ax == 0) == (y < 0) ? kInfinity : 0.0;
    return negative ? -r : r;
  }
  if (ay == kInfinity) return ax == 1 ? 1.0 : (ax > 1) == (y > 0) ? kInfinity : 0.0;
  if (x < 0 && !whole) return not_a_number();
  // |y log x| beyond 746 over- or underflows whatever the low parts are; the product itself must not overflow.
  const Two l = log_two(ax);
  const double rough = l.hi * y;
  double r = rough > 746.0 ? kInfinity : rough < -746.0 ? 0.0 : exp(product(l, y));
  return negative ? -r : r;
}

COALESCE_MATH double cbrt(double x) {
  const double a = __builtin_fabs(x);
  if (x == 0 || !(a < kInfinity)) return x;
  const bool tiny = a < 0x1p-1022;
  const double v = tiny ? a * 0x1p54 : a;  // 54 = 3 * 18
  const int third = (exponent(v) + 1023) / 3 - 341;
  const double m = scale(v, -3 * third);  // in [1, 8)
  double y = 0.75 + 0.25 * m - 0.0142 * m * m;
  for (int i = 0; i < 4; ++i) {  // Halley: the error is cubed
    const double c = y * y * y;
    y = y * (c + 2.0 * m) / (2.0 * c + m);
  }
  const Two y2 = product(y, y), y3 = product(y2, y);  // one Newton step with the exact remainder
  y -= ((y3.hi - m) + y3.lo) / (3.0 * y2.hi);
  return __builtin_copysign(scale(y, tiny ? third - 18 : third), x);
}
COALESCE_MATH double hypot(double x, double y) {
  double a = __builtin_fabs(x), b = __builtin_fabs(y);
  if (a == kInfinity || b == kInfinity) return kInfinity;
  if (a < b) {
    const double t = a;
    a = b, b = t;
  }
  if (a != a || b != b) return a + b;
  if (b == 0) return a;
  const int k = exponent(a);  // a becomes about 1; a subnormal has -1023 here, which is near enough
  a = scale(a, -k), b = scale(b, -k);
  const Two s = sum(product(a, a), product(b, b));
  double h = __builtin_sqrt(s.hi);
  h += (__builtin_fma(-h, h, s.hi) + s.lo) / (2.0 * h);
  return scale(h, k);
}

// e^a / 2 for a up to 711, where e^a itself overflows.
COALESCE_MATH double exp_half(double a) { return a < 712.0 ? exp(sum(Two{a, 0.0}, Two{-kLn2.hi, -kLn2.lo})) : exp(a); }

COALESCE_MATH double sinh(double x) {
  const double a = __builtin_fabs(x);
  double r;
  if (a < 22.0) {
    const double t = expm1(a);
    r = a < 1.0 ? 0.5 * (2.0 * t - t * t / (t + 1.0)) : 0.5 * (t + t / (t + 1.0));
  } else if (a < 709.0) {
    r = 0.5 * exp(a);
  } else {
    r = exp_half(a);  // e^a / 2 without overflow on the way
  }
  return x == 0 ? x : __builtin_copysign(r, x);
}
COALESCE_MATH double cosh(double x) {
  const double a = __builtin_fabs(x);
  if (a < 22.0) {
    const double e = exp(a);
    return 0.5 * e + 0.5 / e;
  }
  return a < 709.0 ? 0.5 * exp(a) : exp_half(a);
}
COALESCE_MATH double tanh(double x) {
  const double a = __builtin_fabs(x);
  if (!(a > 0)) return x;
  double r = 1.0;
  if (a < 0.5) {
    const double t = expm1(-2.0 * a);
    r = -t / (t + 2.0);
  } else if (a < 22.0) {
    r = 1.0 - 2.0 / (expm1(2.0 * a) + 2.0);
  }
  return __builtin_copysign(r, x);
}
COALESCE_MATH double asinh(double x) {
  const double a = __builtin_fabs(x);
  if (!(a < kInfinity) || a < 0x1p-28) return x;
  const double r = a > 0x1p28 ? log(a) + kLn2.hi : log1p(a + a * a / (1.0 + __builtin_sqrt(__builtin_fma(a, a, 1.0))));
  return __builtin_copysign(r, x);
}
COALESCE_MATH double acosh(double x) {
  if (x < 1.0) return not_a_number();
  if (x > 0x1p28) return log(x) + kLn2.hi;
  const double t = x - 1.0;
  return log1p(t + __builtin_sqrt(__builtin_fma(t, t, 2.0 * t)));
}
COALESCE_MATH double atanh(double x) {
  const double a = __builtin_fabs(x);
  if (a > 1.0) return not_a_number();
  if (a < 0x1p-28) return x;
  return __builtin_copysign(0.5 * log1p(a < 0.5 ? 2.0 * a + 2.0 * a * a / (1.0 - a) : 2.0 * (a / (1.0 - a))), x);
}

}  // namespace coalesce_cuda
