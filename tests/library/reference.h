// Reference results, computed on the host in long double, element by element, and the tolerance of each result.
//
// Bounds. u: half an ulp of 1 in the type in which a tile of at most 128 elements is added as a tree (depth 7), d =
// 2^-53: that of double, in which tiles are added up one after the other, at worst n of them.
//   sum      (7 u + n d) sum|x|, and rounding to the result's type. Elements are exact.
//   mean     that / n
//   squares  as a sum of exact products (of halves and floats; one rounding d each for double), added in double
//   product  n factors, each rounded once in double: n d, relative
//   variance squares of x - s for some element s of the data, in double: each at most range^2, (n + 8) d range^2
//   - integers of up to 16 bits: of x itself, whose sums are exact; the squares less sum^2 / n round three times, and
//     all of that is at most n max x^2
//   - integers of 64 bits: x is rounded to a double, by d max|x|: four times in (x - mean)^2, times the range
//   - half, bfloat16 (e = 2^-24): x - c in float, e; tiles as trees, 7 e; so a tile's sum is off by 8 e range, its
//     squares by 10 e range^2. Brought to the shift, at most the range away: 26 e; less the square of the mean, which
//     is off by 8 e range: 42 e range^2
//   logsumexp  exp within 2 ulp and 128 added one by one in the element's type e: (4 + 128) e, absolute in the
//   logarithm
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "test.h"

using real = long double;

// Half an ulp of 1: what rounding to T costs, relatively. 0: integers are exact.
template <class T>
constexpr real unit() {
  if constexpr (std::is_same_v<T, __half>) return 0x1p-11L;
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return 0x1p-8L;
  if constexpr (std::is_same_v<T, float>) return 0x1p-24L;
  if constexpr (std::is_same_v<T, double>) return 0x1p-53L;
  return 0;
}
// Half an ulp of 1 in the type in which tiles of T are added.
template <class T>
constexpr real tile_unit() {
  return unit<T>() > 0x1p-24L ? 0x1p-24L : unit<T>();
}
template <class T>
inline constexpr bool floating = unit<T>() > 0;

template <class T>
real number(T x) {
  if constexpr (std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>) {
    return static_cast<real>(static_cast<float>(x));
  } else {
    return static_cast<real>(x);
  }
}

template <class T>
const char* type_name() {
  if constexpr (std::is_same_v<T, __half>) return "half";
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return "bfloat16";
  if constexpr (std::is_same_v<T, float>) return "float";
  if constexpr (std::is_same_v<T, double>) return "double";
  if constexpr (sizeof(T) == 1) return std::is_signed_v<T> ? "int8" : "uint8";
  if constexpr (sizeof(T) == 2) return std::is_signed_v<T> ? "int16" : "uint16";
  if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? "int32" : "uint32";
  return std::is_signed_v<T> ? "int64" : "uint64";
}

// Values that make mistakes visible. Integers: their whole range. Floating point: of both signs and many sizes, none of
// them so large that a sum overflows.
template <class T>
T value(Random& random) {
  if constexpr (floating<T>) {
    const double sizes = std::is_same_v<T, __half> ? 4 : 12;
    const double x = (2 * random.unit() - 1) * std::exp2(sizes * random.unit() - sizes / 2);
    return static_cast<T>(static_cast<float>(x));
  } else {
    return static_cast<T>(random.next());
  }
}
template <class T>
std::vector<T> values(i64 count, Random& random) {
  std::vector<T> list(count);
  for (T& x : list) x = value<T>(random);
  return list;
}

// Everything about some elements that any function asks for. NaNs: counted, and left out of the rest.
template <class T>
struct Facts {
  i64 count = 0, nans = 0, nonzero = 0, first_nan = -1, lowest_at = -1, highest_at = -1;
  real sum = 0, absolute = 0, squares = 0, lowest = 0, highest = 0;
  std::uint64_t wrapped = 0, product = 1;  // of integers, modulo 2^64
  real real_product = 1;
  std::vector<real> numbers;

  void add(T x) {
    const real v = number(x);
    if constexpr (floating<T>) {
      if (v != v) {
        if (!nans++) first_nan = count;
        ++count;
        ++nonzero;
        return;
      }
    } else {
      wrapped += static_cast<std::uint64_t>(x);
      product *= static_cast<std::uint64_t>(x);
    }
    nonzero += v != 0;
    sum += v, absolute += std::fabs(v), squares += v * v;
    real_product *= v;
    if (lowest_at < 0 || v < lowest) lowest = v, lowest_at = count;
    if (highest_at < 0 || v > highest) highest = v, highest_at = count;
    numbers.push_back(v);
    ++count;
  }
  i64 numbers_count() const { return count - nans; }
  real mean() const { return sum / static_cast<real>(numbers.size()); }
  // Differences to the first number: differences of 64-bit integers are exact, and equal numbers have none.
  real variance() const {
    const real n = static_cast<real>(numbers.size()), first = numbers[0];
    real away = 0, all = 0;
    for (const real x : numbers) away += x - first;
    for (const real x : numbers) all += (x - first - away / n) * (x - first - away / n);
    return all / n;
  }
  real range() const { return highest - lowest; }
  real logsumexp() const {
    real all = 0;
    for (const real x : numbers) all += std::exp(x - highest);
    return highest + std::log(all);
  }
};

template <class T>
Facts<T> facts(const std::vector<T>& list) {
  Facts<T> all;
  for (const T& x : list) all.add(x);
  return all;
}

// Says what was reduced when something is wrong.
struct What {
  std::string text;
};

template <class R>
void expect_near(R result, real exact, real bound, const char* function, const What& what) {
  // Rounding to the result's type: half an ulp, or half the smallest subnormal.
  const real rounding = std::fabs(exact) * unit<R>() + (std::is_same_v<R, __half> ? 0x1p-25L : 0x1p-150L);
  const real error = std::fabs(number(result) - exact);
  EXPECT(error <= bound * (1 + 2 * unit<R>()) + rounding, "%s of %s: %.17Lg, not %.17Lg: %.3Lg off, %.3Lg allowed",
         function, what.text.c_str(), number(result), exact, error, bound + rounding);
}
template <class R>
void expect_same(R result, R exact, const char* function, const What& what) {
  EXPECT(result == exact, "%s of %s: %.17Lg, not %.17Lg", function, what.text.c_str(), number(result), number(exact));
}

template <class T>
real sum_bound(const Facts<T>& f) {
  return (7 * tile_unit<T>() + static_cast<real>(f.count) * 0x1p-53L) * f.absolute;
}
template <class T>
real squares_bound(const Facts<T>& f) {
  return static_cast<real>(f.count + 8) * 0x1p-53L * f.squares;
}
template <class T>
inline constexpr bool of_halves = unit<T>() > 0x1p-24L;
template <class T>
real variance_bound(const Facts<T>& f) {
  const real most = std::max(std::fabs(f.lowest), std::fabs(f.highest)), range = f.range();
  real more = 0;
  if (of_halves<T>) more = 42 * 0x1p-24L * range * range;
  if (!floating<T> && sizeof(T) <= 2) more = 4 * 0x1p-53L * most * most;
  if (!floating<T> && sizeof(T) == 8) more = 4 * 0x1p-53L * most * range;
  return more + static_cast<real>(f.count + 8) * 0x1p-53L * range * range;
}
template <class T>
real mean_bound(const Facts<T>& f) {  // of the same sums
  return (of_halves<T> ? 8 * 0x1p-24L * f.range() : 0) + static_cast<real>(f.count + 8) * 0x1p-53L * f.range() +
         f.absolute / f.count * 0x1p-52L;
}
