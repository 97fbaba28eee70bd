// Kernels of the approximate functions. Computed in double with additions, multiplications and divisions only, each of
// which IEEE 754 fixes: every host gives the same bits (no libm), and loops over lanes vectorise. Errors are far below
// the single precision's last place, so that results are within half a unit or so of it, well inside what PTX
// documents.
#pragma once

#include "machine/execute/ops/numbers.h"

namespace coalesce::machine {

// Adding it leaves the nearest integer in the low bits of the sum (for magnitudes below 2^51).
inline constexpr double kToInteger = 0x1.8p52;

// 2^x for |x| <= 300 (beyond: as for 300). Error below 2^-31: the first term left out is (ln 2 / 2)^9 / 9!.
COALESCE_INLINE double power_of_two(double x) {
  x = x > 300 ? 300 : x < -300 ? -300 : x;
  const double shifted = x + kToInteger;
  const double f = (x - (shifted - kToInteger)) * 0.693147180559945309417;
  double p = 1.0 / 40320;
  p = p * f + 1.0 / 5040;
  p = p * f + 1.0 / 720;
  p = p * f + 1.0 / 120;
  p = p * f + 1.0 / 24;
  p = p * f + 1.0 / 6;
  p = p * f + 0.5;
  p = p * f + 1.0;
  p = p * f + 1.0;
  return double_of(bits_of(p) + (bits_of(shifted) << 52));
}

// log2 of a finite normal x > 0. Error below 2^-41: x = 2^e m, log m = 2 artanh s, |s| < 0.172.
COALESCE_INLINE double logarithm2(double x) {
  const uint64_t bits = bits_of(x);
  // exponent of m in [1/sqrt 2, sqrt 2): compare the fraction with that of sqrt 2
  const uint64_t carry = (bits & 0xfffffffffffffu) > 0x6a09e667f3bcdu ? 1 : 0;
  const double e = double_of((bits >> 52) + carry + 0x4330000000000000u) - (0x1p52 + 1023);
  const double m = double_of((bits & 0xfffffffffffffu) | (0x3ff0000000000000u - (carry << 52)));
  const double s = (m - 1) / (m + 1);
  const double z = s * s;
  double p = 1.0 / 13;
  p = p * z + 1.0 / 11;
  p = p * z + 1.0 / 9;
  p = p * z + 1.0 / 7;
  p = p * z + 1.0 / 5;
  p = p * z + 1.0 / 3;
  p = p * z + 1.0;
  return e + p * s * 2.88539008177792681472;  // 2 / ln 2
}

// sin(x + quarter turns); x of any size, accurate while |x| < 2^20, in [-1, 1] always; NaN for infinity.
template <int kQuarterTurns>
COALESCE_INLINE double sine(double x) {
  const double shifted = x * 0.636619772367581343076 + kToInteger;  // 2 / pi
  const double n = shifted - kToInteger;
  // pi/2 in three parts of 33 bits: n times a part is exact for n < 2^20
  double r = ((x - n * 0x1.921fb544p+0) - n * 0x1.0b4611a6p-34) - n * 0x1.3198a2e037073p-69;
  r = r > 0.8 ? 0.8 : r < -0.8 ? -0.8 : r;
  const uint64_t quadrant = bits_of(shifted) + kQuarterTurns;
  const double z = r * r;
  double s = -1.0 / 39916800;
  s = s * z + 1.0 / 362880;
  s = s * z - 1.0 / 5040;
  s = s * z + 1.0 / 120;
  s = s * z - 1.0 / 6;
  s = r + r * z * s;
  double c = 1.0 / 479001600;
  c = c * z - 1.0 / 3628800;
  c = c * z + 1.0 / 40320;
  c = c * z - 1.0 / 720;
  c = c * z + 1.0 / 24;
  c = c * z - 0.5;
  c = c * z + 1.0;
  const double value = (quadrant & 1) ? c : s;
  return (quadrant & 2) ? -value : value;
}

COALESCE_INLINE double hyperbolic_tangent(double x) {
  const double e = power_of_two(x * 2.88539008177792681472);  // e^(2x)
  const double far = 1 - 2 / (e + 1);
  const double near = x - x * x * x * (1.0 / 3);  // where `far` cancels; next term 2/15 x^5
  const double value = x > -0x1p-10 && x < 0x1p-10 ? near : far;
  return x == 0 ? x : value;  // of -0: -0
}

// The instructions on single precision, before .ftz.
COALESCE_INLINE float ex2(float a) { return is_nan(a) ? a : static_cast<float>(power_of_two(a)); }
COALESCE_INLINE float lg2(float a) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const bool ordinary = a > 0 && a < kInfinity;
  const float r = static_cast<float>(logarithm2(ordinary ? a : 1.0f));
  const float edge = a == 0 ? -kInfinity : a > 0 ? a : std::numeric_limits<float>::quiet_NaN();
  return ordinary ? r : edge;
}
COALESCE_INLINE float tangent_h(float a) { return is_nan(a) ? a : static_cast<float>(hyperbolic_tangent(a)); }

}  // namespace coalesce::machine
