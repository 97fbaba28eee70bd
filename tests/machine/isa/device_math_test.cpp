// The mathematics that clang-compiled kernels use, computed on the host and compared with the x87's 64-bit-mantissa
// functions (their error is below a thousandth of a double's last place). The bounds are what cudart/include promises
// in math.h.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "cudart/include/coalesce_cuda/math_special.h"

namespace {

namespace device = coalesce_cuda;

// Largest error in units of the last place over `samples` points, uniform in [a, b].
double worst(double (*ours)(double), long double (*exact)(long double), double a, double b, int samples = 20000) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(a, b);
  double most = 0;
  for (int i = 0; i < samples; ++i) {
    const double x = uniform(random), got = ours(x);
    const long double want = exact(static_cast<long double>(x));
    const double rounded = static_cast<double>(want);
    if (got == rounded) continue;
    int e = 0;
    std::frexp(rounded, &e);
    const long double unit = std::ldexp(1.0L, std::max(e, -1021) - 53);
    const double error = static_cast<double>(std::fabs(static_cast<long double>(got) - want) / unit);
    if (!(error <= most)) most = error == error ? error : 1e30;
  }
  return most;
}

struct Row {
  const char* name;
  double (*ours)(double);
  long double (*exact)(long double);
  double from, to, ulps;
};

#define ROW(f, from, to, ulps)                                                                         \
  Row {                                                                                                \
    #f, [](double x) { return device::f(x); }, [](long double x) { return std::f(x); }, from, to, ulps \
  }
const Row kRows[] = {
    ROW(exp, -700, 709, 1),   ROW(exp2, -1020, 1023, 1), ROW(expm1, -40, 5, 2.5),  ROW(log, 0.1, 20, 1),
    ROW(log2, 0.1, 1e9, 1),   ROW(log10, 0.1, 1e9, 1),   ROW(log1p, -0.99, 10, 1), ROW(sin, -100, 100, 1),
    ROW(sin, 1e15, 1e18, 1),  ROW(cos, -100, 100, 1),    ROW(tan, -100, 100, 2.5), ROW(asin, -1, 1, 1.5),
    ROW(acos, -1, 1, 1.5),    ROW(atan, -10, 10, 1),     ROW(sinh, -5, 5, 2.5),    ROW(cosh, -5, 5, 2.5),
    ROW(tanh, -3, 3, 2.5),    ROW(asinh, -9, 9, 2.5),    ROW(acosh, 1, 9, 2.5),    ROW(atanh, -0.99, 0.99, 2.5),
    ROW(cbrt, -1e9, 1e9, 1),  ROW(erf, -4, 4, 2.5),      ROW(erfc, -4, 20, 3.5),   ROW(tgamma, 0.1, 170, 8),
    ROW(lgamma, 3, 1e4, 1.5),
};
#undef ROW

TEST(DeviceMath, StaysWithinItsBounds) {
  for (const Row& row : kRows)
    EXPECT_LE(worst(row.ours, row.exact, row.from, row.to), row.ulps)
        << row.name << " on [" << row.from << ", " << row.to << "]";
}

TEST(DeviceMath, PowerAndHypotenuse) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> base(0.5, 2), power(-1000, 1000), side(-1e200, 1e200);
  for (int i = 0; i < 20000; ++i) {
    const double x = base(random), y = power(random), a = side(random), b = side(random);
    const double want = std::pow(x, y), longest = std::hypot(a, b);
    EXPECT_LE(std::fabs(device::pow(x, y) - want), 2 * std::nextafter(want, INFINITY) - 2 * want) << x << " ^ " << y;
    EXPECT_LE(std::fabs(device::hypot(a, b) - longest), std::nextafter(longest, INFINITY) - longest) << a << ", " << b;
  }
}

TEST(DeviceMath, ExactFunctionsAreExact) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 50000; ++i) {
    double x = device::number(random()), y = device::number(random());
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    if (i & 1) y = std::ldexp(y, -std::ilogb(y) + std::ilogb(x) - i % 60);
    if (y == 0) continue;
    int q = 0, expected_q = 0, e = 0, expected_e = 0;
    EXPECT_EQ(device::fmod(x, y), std::fmod(x, y)) << x << " % " << y;
    EXPECT_EQ(device::remquo(x, y, &q), std::remquo(x, y, &expected_q)) << x << ", " << y;
    EXPECT_EQ(q & 7, expected_q & 7);
    EXPECT_EQ(device::frexp(x, &e), std::frexp(x, &expected_e));
    EXPECT_EQ(e, expected_e);
    EXPECT_EQ(device::nextafter(x, y), std::nextafter(x, y));
    EXPECT_EQ(device::scale(x, i - 25000), std::ldexp(x, i - 25000));
  }
}

TEST(DeviceMath, SpecialValuesAsIeeeHasThem) {
  const double values[] = {0.0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 0.5, -0.5, 2, -2, 3, -3, 5e-324};
  const auto same = [](double a, double b) {
    return (a != a && b != b) || (a == b && std::signbit(a) == std::signbit(b));
  };
  for (double x : values) {
    for (double y : values) {
      const bool ordinary = std::isfinite(x) && std::isfinite(y) && x != 0 && std::fabs(x) != 1 && y != 0;
      if (ordinary) continue;  // those are a matter of accuracy: above
      EXPECT_TRUE(same(device::pow(x, y), std::pow(x, y))) << x << " ^ " << y;
      EXPECT_TRUE(same(device::fmod(x, y), std::fmod(x, y))) << x << " % " << y;
    }
    if (std::fabs(x) < 5e-300 || !(std::fabs(x) < INFINITY)) {
      EXPECT_TRUE(same(device::exp(x), std::exp(x))) << x;
      EXPECT_TRUE(same(device::sin(x), std::sin(x))) << x;
      EXPECT_TRUE(same(device::tanh(x), std::tanh(x))) << x;
      EXPECT_TRUE(same(device::cbrt(x), std::cbrt(x)) || x == 5e-324) << x;
      EXPECT_TRUE(same(device::log1p(x), std::log1p(x))) << x;
    }
  }
}

}  // namespace
