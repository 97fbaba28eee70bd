// The error function, the gamma function, remainders, and what takes a number apart.
#pragma once

#include "math_exponential.h"
#include "math_trigonometry.h"

namespace coalesce_cuda {

COALESCE_MATH double erfcx_far(double x) {  // e^(x^2) erfc(x) for x >= 1/2
  if (x < 1.0)
    return COALESCE_POLY(x - 0.75, -1.440376961255891e-05, 4.337915907561481e-05, -0.00012332717214560827,
                         0.00034666379283020214, -0.000938513222881505, 0.002437641069942269, -0.006051532271776434,
                         0.01428919858470859, -0.031897262039946896, 0.06679054252841538, -0.12983606199488007,
                         0.23095813155129497, -0.3679726916557954, 0.5069376502931449);
  if (x < 2.0)
    return COALESCE_POLY(x - 1.5, -4.932844202000261e-08, 1.8038197652346406e-07, -5.946998373950516e-07,
                         2.061689065129881e-06, -6.975285854904505e-06, 2.286543658874603e-05, -7.265888759557882e-05,
                         0.00022330981211640024, -0.0006619300686179933, 0.0018861348854630824, -0.005145957547915988,
                         0.013377340952802835, -0.03293090529956347, 0.07615103985548055, -0.16362291773256007,
                         0.3215854164543175);
  if (x < 3.0)
    return COALESCE_POLY(x - 2.5, 4.010268793982498e-09, -1.7022233265672403e-08, 6.706690790495327e-08,
                         -2.7262986241901926e-07, 1.0852366992052668e-06, -4.214357879841587e-06,
                         1.5961851696601105e-05, -5.8868958345706055e-05, 0.00021101982436023977,
                         -0.0007335909374729658, 0.002467036815699688, -0.008001569382093874, 0.024937997086656914,
                         -0.07434734678979472, 0.2108063640611436);
  if (x < 4.0)
    return COALESCE_POLY(x - 3.5, 1.5981815899094853e-10, -7.971848938959326e-10, 3.764843244262652e-09,
                         -1.816549302673174e-08, 8.622012306201682e-08, -4.017419077698321e-07, 1.8371878077863912e-06,
                         -8.237986344257561e-06, 3.618170436366868e-05, -0.00015546891823837533, 0.0006526863268788441,
                         -0.0026730744396433895, 0.010661133192510575, -0.041323577833252495, 0.1552936556088943);
  return COALESCE_POLY(1.0 / (x * x), 69995477.52362609, -39687864.88482249, 10871958.650492713, -1972899.5047844932,
                       279354.2139082331, -35130.23163523742, 4391.905806742145, -594.153124913214, 91.61554379111107,
                       -16.66101263698265, 3.7024927482353007, -1.0578554635113173, 0.4231421876485616,
                       -0.28209479177386704, 0.5641895835477563) /
         x;
}
COALESCE_MATH double erf_near(double x) {  // |x| < 1
  return x * COALESCE_POLY(x * x, -4.230945822299619e-12, 8.70904512770522e-11, -1.2164560056878832e-09,
                           1.4792401209333676e-08, -1.636464215815949e-07, 1.6462045441467787e-06,
                           -1.4925647567519298e-05, 0.00012055332902888734, -0.000854832702193483,
                           0.0052239776254232985, -0.02686617064512984, 0.1128379167095512, -0.37612638903183754,
                           1.1283791670955126);
}
COALESCE_MATH double erfc_far(double x) {  // x >= 1/2
  if (x > 27.3) return 0.0;
  const Two square = product(x, x);
  return exp(Two{-square.hi, -square.lo}) * erfcx_far(x);
}
COALESCE_MATH double erf(double x) {
  const double a = __builtin_fabs(x);
  if (x != x || a < 1.0) return erf_near(x);
  return __builtin_copysign(a > 6.0 ? 1.0 : 1.0 - erfc_far(a), x);
}
COALESCE_MATH double erfc(double x) {
  if (x != x || (x > -1.0 && x < 0.5)) return 1.0 - erf_near(x);
  return x > 0 ? erfc_far(x) : x < -6.0 ? 2.0 : 2.0 - erfc_far(-x);
}
COALESCE_MATH double erfcx(double x) {
  if (x >= 0.5) return x > 1e150 ? 0.5641895835477563 / x : erfcx_far(x);
  const Two square = product(x, x);
  return exp(square) * erfc(x);
}
COALESCE_MATH double normcdf(double x) {
  constexpr double kRoot = 0.7071067811865476, kRootLow = -4.833646656726457e-17;  // of a half, in two parts
  const double t = x * -kRoot;
  if (!(x < -1.0) || x < -38.5) return 0.5 * erfc(t);
  // The part that rounding took from t, times the slope of erfc, which is steep.
  const double rest = __builtin_fma(x, -kRoot, -t) - x * kRootLow;
  const double tail = erfc(t);
  return 0.5 * (tail - tail * rest * 1.1283791670955126 / erfcx(t));
}

COALESCE_MATH double stirling(double x) {  // what Stirling's formula leaves out, x >= 8
  const double w = 1.0 / (x * x);
  return COALESCE_POLY(w, -0.02085536921460754, 0.006208110258035777, -0.001914965289613633, 0.000841732519353674,
                       -0.0005952380233813745, 0.0007936507935115709, -0.0027777777777776747, 0.08333333333333333) /
         x;
}
COALESCE_MATH Two log_gamma_far(double x) {  // x >= 8: (x - 1/2) log x - x + log(2 pi) / 2 + …
  Two r = product(log_two(x), x - 0.5);
  r = sum(r, Two{-x, 0.0});
  return sum(r, Two{0x1.d67f1c864beb5p-1, -0x1.65b5a1b7ff5dfp-55 + stirling(x)});
}
COALESCE_MATH double tgamma(double x) {
  if (x != x || x == kInfinity) return x;
  if (x == 0) return 1.0 / x;
  if (x < 0 && (x == -kInfinity || __builtin_trunc(x) == x)) return not_a_number();
  if (x > 172.0) return kInfinity;
  if (x < -190.0) return 0.0;
  if (x < 0) {  // reflection; far out the gamma function alone would overflow, so its root is divided by twice
    const double s = sinpi(x);
    const Two mirror = sum(1.0, -x);
    if (x > -169.0) return kPi.hi / (s * tgamma(mirror.hi) * (1.0 + mirror.lo * (log(mirror.hi) - 0.5 / mirror.hi)));
    const Two l = log_gamma_far(1.0 - x);
    const double root = exp(Two{0.5 * l.hi, 0.5 * l.lo});
    return kPi.hi / s / root / root;
  }
  Two p{1.0, 0.0};
  int steps = 0;
  while (x + steps < 8.0) p = product(p, sum(x, static_cast<double>(steps))), ++steps;
  const Two y = sum(x, static_cast<double>(steps));  // what rounding x + steps lost counts digamma(y) times
  const double far = exp(log_gamma_far(y.hi));
  const double correction = y.lo * (log(y.hi) - 0.5 / y.hi) - p.lo / p.hi;
  return (far + far * correction) / p.hi;
}
COALESCE_MATH double log_gamma_two(
    double z) {  // of 2 + z, |z| <= 1/2: z (1 - gamma) + the sum of (zeta(k) - 1) (-z)^k / k
  return z * (0.42278433509846713 +
              z * COALESCE_POLY(
                      z, 1.330476437424449e-10, -2.7595228851242334e-10, 5.731367241678862e-10, -1.1921401405860912e-09,
                      2.4836745438024785e-09, -5.183475041970047e-09, 1.0838659214896955e-08, -2.2711094608943164e-08,
                      4.7698101693639804e-08, -1.0043224823968099e-07, 2.1207184805554665e-07, -4.492469198764566e-07,
                      9.55141213040742e-07, -2.039215753801366e-06, 4.374866789907488e-06, -9.439488275268397e-06,
                      2.050721277567069e-05, -4.492623673813314e-05, 9.945751278180853e-05, -0.00022315475845357939,
                      0.0005096695247430425, -0.001192753911703261, 0.0028905103307415234, -0.007385551028673986,
                      0.020580808427784546, -0.0673523010531981, 0.3224670334241132));
}
COALESCE_MATH double lgamma(double x) {
  if (x != x) return x;
  if (__builtin_fabs(x) == kInfinity) return kInfinity;
  if (x <= 0 && __builtin_trunc(x) == x) return kInfinity;
  if (__builtin_fabs(x) < 0x1p-60) return -log(__builtin_fabs(x));  // the square below would underflow
  if (x < 0) return log(kPi.hi / __builtin_fabs(x * sinpi(x))) - lgamma(-x);
  if (x == 1 || x == 2) return 0.0;
  if (x > 0.5 && x < 1.5) return log_gamma_two(x - 1.0) - log1p(x - 1.0);
  if (x >= 1.5 && x <= 2.5) return log_gamma_two(x - 2.0);
  if (x > 1e17) return x * (log(x) - 1.0);
  double p = 1.0;
  int steps = 0;
  while (x + steps < 8.0) p *= x + steps, ++steps;
  const Two y = sum(x, static_cast<double>(steps)), far = log_gamma_far(y.hi), shift = log_two(p);
  const Two r = sum(far, Two{-shift.hi, y.lo * (log(y.hi) - 0.5 / y.hi) - shift.lo});
  return r.hi + r.lo;
}

// Long division bit by bit; quotient: its low bits.
COALESCE_MATH double divide(double x, double y, unsigned int* quotient) {
  unsigned long long a = bits(x) & ~0ull >> 1, b = bits(y) & ~0ull >> 1;
  *quotient = 0;
  if (b == 0 || a >= 0x7ff0000000000000ull || b > 0x7ff0000000000000ull) return not_a_number();
  if (a < b) return x;
  const unsigned long long mask = 0xfffffffffffffull;
  const auto normalise = [](unsigned long long m,
                            int* e) {  // the leading bit at 52, whatever the exponent must be for it
    *e = static_cast<int>(m >> 52);
    m &= 0xfffffffffffffull;
    if (*e) return m | 0x10000000000000ull;
    const int up = __builtin_clzll(m) - 11;
    *e = 1 - up;
    return m << up;
  };
  int ea, eb;
  a = normalise(a, &ea);
  b = normalise(b, &eb);
  for (;; --ea) {
    *quotient <<= 1;
    if (a >= b) a -= b, *quotient |= 1;
    if (ea == eb) break;
    a <<= 1;
  }
  if (a == 0) return __builtin_copysign(0.0, x);
  const int up = __builtin_clzll(a) - 11;
  if (ea - up >= 1)
    a = (a << up & mask) | static_cast<unsigned long long>(ea - up) << 52;
  else if (ea >= 1)
    a <<= ea - 1;
  else
    a >>= 1 - ea;  // exact: a remainder of subnormals is a multiple of the smallest one
  return __builtin_copysign(number(a), x);
}
COALESCE_MATH double fmod(double x, double y) {
  unsigned int q;
  return divide(x, y, &q);
}
COALESCE_MATH double remquo(double x, double y, int* quotient) {
  unsigned int q;
  double r = divide(x, y, &q);
  const double b = __builtin_fabs(y), a = __builtin_fabs(r);
  if (a < kInfinity && b < kInfinity) {
    const double rest = b - a;  // to the next multiple; exact near the decision
    if (a > rest || (a == rest && (q & 1))) r = __builtin_copysign(rest, x), r = -r, ++q;
  }
  const int low = static_cast<int>(q & 0x7fffffffu);
  *quotient = (bits(x) ^ bits(y)) >> 63 ? -low : low;
  return r;
}
COALESCE_MATH double remainder(double x, double y) {
  int q;
  return remquo(x, y, &q);
}

COALESCE_MATH double frexp(double x, int* e) {
  *e = 0;
  if (x == 0 || !(__builtin_fabs(x) < kInfinity)) return x;
  int k = 0;
  if (__builtin_fabs(x) < 0x1p-1022) x *= 0x1p54, k = -54;
  *e = exponent(x) + 1 + k;
  return number((bits(x) & 0x800fffffffffffffull) | 0x3fe0000000000000ull);
}
COALESCE_MATH double modf(double x, double* whole) {
  *whole = __builtin_trunc(x);
  return __builtin_copysign(is_infinite(x) ? 0.0 : x - *whole, x);
}
COALESCE_MATH int ilogb(double x) {
  if (x == 0 || x != x) return -2147483647 - 1;
  if (is_infinite(x)) return 2147483647;
  int e;
  frexp(x, &e);
  return e - 1;
}
COALESCE_MATH double logb(double x) {
  return x == 0 ? -kInfinity : !(__builtin_fabs(x) < kInfinity) ? x * x : ilogb(x);
}
COALESCE_MATH double round(double x) {  // halves away from zero
  const double t = __builtin_trunc(x);
  return __builtin_fabs(x - t) >= 0.5 ? t + __builtin_copysign(1.0, x) : __builtin_copysign(t, x);
}
COALESCE_MATH double nextafter(double x, double y) {
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  if (x == 0) return __builtin_copysign(0x1p-1074, y);
  return number(bits(x) + ((x < y) == (x > 0) ? 1 : ~0ull));
}
COALESCE_MATH float nextafterf(float x, float y) {
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  if (x == 0) return __builtin_copysignf(0x1p-149f, y);
  return __builtin_bit_cast(float, __builtin_bit_cast(unsigned int, x) + ((x < y) == (x > 0) ? 1u : ~0u));
}

}  // namespace coalesce_cuda
#undef COALESCE_POLY
