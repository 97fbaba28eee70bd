// One result's numbers in registers of one lane, without bins: what most data needs. Where that does not hold the sum
// exactly (it spans too many powers of two, or has an infinity or NaN), `failed` says so, and the result is left to the
// bins.
//
// quick_sum: of one lane. Its sum is upper * 2^40 + lower, times 2^exponent(). Sums of lanes that were placed alike are
// added by adding upper and lower.
#pragma once

#include <coalesce/exact/runs.cuh>

namespace coalesce::exact {

// Where two windows lie: high words; 0: nowhere. The second lies 40 powers of two below the first: together some 75
// bits, into which a float fits down to 2^-50 of the largest, a double down to 2^-22.
struct window_places {
  unsigned first = 0, second = 0;

  // For numbers up to that with high word `most`, with `room` powers of two above it.
  __device__ __forceinline__ void place(unsigned most, int room) {
    const int exponent = ::max(static_cast<int>(most >> 20) + room, 41);
    const bool off = exponent > 2040;
    first = off ? 0 : static_cast<unsigned>(exponent) << 20 | 0x80000u;
    second = off ? 0 : first - (40u << 20);  // 2^12 halves of the first's last bit
  }
  __device__ __forceinline__ int exponent() const { return static_cast<int>(second >> 20) - 1023 - 52; }
};

// Whether something was lost: a window left its place, or something was left below the second.
struct window_losses {
  unsigned moved = 0, left = 0;
  __device__ __forceinline__ bool any() const { return ((moved & place_bits) | left) != 0; }
};

struct window_pair {
  double first, second;
  __device__ __forceinline__ void begin(const window_places& at) {
    first = window_at(at.first);
    second = window_at(at.second);
  }
  __device__ __forceinline__ void put(double x, const window_places& at, window_losses& losses) {
    const double t = __dadd_rn(first, x), rest = __dsub_rn(x, __dsub_rn(t, first));
    const double u = __dadd_rn(second, rest), none = __dsub_rn(rest, __dsub_rn(u, second));
    first = t;
    second = u;
    losses.moved |= (high(t) ^ at.first) | (high(u) ^ at.second);
    losses.left |= high(none) | low(none);
  }
};

template <class Input>
struct quick_sum {
  window_places at;
  window_losses losses;
  window_pair sum;
  bool inexact;

  __device__ __forceinline__ void begin() {
    at = {};
    losses = {};
    sum.begin(at);
    inexact = false;
  }
  static __device__ __forceinline__ void look(const typename Input::vector& v, unsigned& most) {
    Input::numbers(v, [&](auto x, auto y) {
      most = ::max(most, ::max(high(as_double(x)) & 0x7fffffffu, high(as_double(y)) & 0x7fffffffu));
    });
  }
  __device__ __forceinline__ void place(unsigned most, int room) {
    at.place(most, room);
    sum.begin(at);
  }
  __device__ __forceinline__ void vector(const typename Input::vector& v) {
    if constexpr (std::is_same_v<Input, elements<__nv_bfloat16>>) {
      const auto two = [&](unsigned w) {
        const float2 p = both(w, __nv_bfloat16());
        return exact_pair(p.x, p.y, inexact);
      };
      sum.put(widened(exact_pair(two(v.x), two(v.y), inexact)), at, losses);
      sum.put(widened(exact_pair(two(v.z), two(v.w), inexact)), at, losses);
    } else {
      Input::numbers(v, [&](auto x, auto y) {
        sum.put(as_double(x), at, losses);
        sum.put(as_double(y), at, losses);
      });
    }
  }
  __device__ __forceinline__ bool close(long long& upper, long long& lower) {
    upper = content(sum.first, at.first);
    lower = content(sum.second, at.second);
    return !inexact && !losses.any();
  }
  __device__ __forceinline__ int exponent() const { return at.exponent(); }
};

// Halves are multiples of 2^-24 below 2^16: a double holds the sum of 2^13 of them.
template <>
struct quick_sum<elements<__half>> {
  double first, second;
  long long settled;
  int pending;
  bool special;

  __device__ __forceinline__ void begin() {
    first = second = 0;
    settled = 0;
    pending = 0;
    special = false;
  }
  static __device__ __forceinline__ void look(const uint4&, unsigned&) {}
  __device__ __forceinline__ void place(unsigned, int) {}
  __device__ __forceinline__ void vector(const uint4& v) {
    elements<__half>::numbers(v, [&](float x, float y) {
      first = __dadd_rn(first, widened(x));
      second = __dadd_rn(second, widened(y));
    });
    if (++pending == 512) settle();
  }
  __device__ __forceinline__ void settle() {
    const double sum = first + second;
    special = special || !(fabs(sum) < 0x1p40);
    settled += special ? 0 : static_cast<long long>(sum * 0x1p24);
    first = second = 0;
    pending = 0;
  }
  __device__ __forceinline__ bool close(long long& upper, long long& lower) {
    settle();
    upper = 0;
    lower = settled;
    return !special;
  }
  __device__ __forceinline__ int exponent() const { return -24; }
};

// (high:low), signed, times 2^exponent.
struct __align__(16) window_sum {
  unsigned long long low, high;
  int exponent, failed;
};
__device__ __forceinline__ window_sum sum_of(long long upper, long long lower, int exponent, bool failed = false) {
  window_sum sum{static_cast<unsigned long long>(upper) << 40, static_cast<unsigned long long>(upper >> 24), exponent,
                 failed};
  sum.low += static_cast<unsigned long long>(lower);
  sum.high += static_cast<unsigned long long>(lower >> 63) + (sum.low < static_cast<unsigned long long>(lower) ? 1 : 0);
  return sum;
}

// s, and e below half its last bit: the double next to s + e that says on which side of s it lies. Rounding it to a
// type with two bits less is rounding s + e.
__device__ __forceinline__ double towards_odd(double s, double e) {
  const long long bits = __double_as_longlong(s);
  const bool even = (bits & 1) == 0, outwards = (e > 0) == (s > 0);
  return e != 0 && even ? __longlong_as_double(bits + (outwards ? 1 : -1)) : s;
}

__device__ __forceinline__ void narrowed(double x, double& to) { to = x; }
__device__ __forceinline__ void narrowed(double x, float& to) { asm("cvt.rn.f32.f64 %0, %1;" : "=f"(to) : "d"(x)); }
__device__ __forceinline__ unsigned odd_float(double x) {
  float cut;
  asm("cvt.rz.f32.f64 %0, %1;" : "=f"(cut) : "d"(x));
  return __float_as_uint(cut) | (widened(cut) != x ? 1u : 0u);
}
__device__ __forceinline__ void narrowed(double x, __half& to) { to = __float2half_rn(__uint_as_float(odd_float(x))); }
__device__ __forceinline__ void narrowed(double x, __nv_bfloat16& to) {
  const unsigned bits = odd_float(x);
  to = from_bits<__nv_bfloat16>(static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16));
}

// (high:low) * 2^exponent, not 0, rounded once: by a few instructions where it is a sum of usual size, else in general.
template <class R>
__device__ __forceinline__ R quick_answer(unsigned long long low, unsigned long long high, int exponent, reading how,
                                          std::uint64_t count) {
  // a * 2^48 + b with |a| <= 2^53: both parts are exact doubles.
  const long long a = static_cast<long long>(high << 16 | low >> 48);
  const bool fits = static_cast<long long>(high) >> 37 == static_cast<long long>(high) >> 63;
  if (how == reading::sum && exponent >= -1022 && exponent < 900 && fits) {
    const double top = static_cast<double>(a) * 0x1p48, rest = static_cast<double>(low & 0xffffffffffffull);
    const double s = __dadd_rn(top, rest), part = __dsub_rn(s, top);
    const double e = __dadd_rn(__dsub_rn(top, __dsub_rn(s, part)), __dsub_rn(rest, part));
    const double scale = __hiloint2double((exponent + 1023) << 20, 0);
    R result;
    narrowed(__dmul_rn(sizeof(R) == 8 ? s : towards_odd(s, e), scale), result);
    return result;
  }
  head number{};
  number.negative = high >> 63 != 0;
  number.high = number.negative ? ~high + (low == 0 ? 1 : 0) : high;
  number.low = number.negative ? ~low + 1 : low;
  number.exponent = exponent;
  return answer_of<R>(aligned(number), false, something, how, count);
}

}  // namespace coalesce::exact
