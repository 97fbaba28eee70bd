// An exact sum of 128 bits and an exponent: what windows (thread_accumulator.cuh, windows.cuh) hold, and how several
// are added, by a thread or by the lanes of a warp.
#pragma once

#include <coalesce/detail/exact/carry_propagation.cuh>

namespace coalesce::detail::exact {

// Windows lie one below the other: the second 40 powers of two below the first, a third 32 below the second.
__host__ __device__ constexpr int below_window(int i) { return i == 0 ? 40 : 32; }

// (high:low), signed, times 2^exponent.
struct __align__(16) window_sum {
  unsigned long long low, high;
  int exponent, failed;
};
template <int Parts>
__device__ __forceinline__ window_sum total_of(const long long (&part)[Parts], int exponent, bool failed = false) {
  // Many full windows may need more bits than there are: one is left for carries.
  constexpr int room = Parts < 3 ? 63 : 126 - below_window(0) - below_window(1);
  const bool held = room == 63 || (part[0] >> room) == (part[0] >> 63);
  window_sum sum{static_cast<unsigned long long>(part[0]), static_cast<unsigned long long>(part[0] >> 63), exponent,
                 failed || !held};
#pragma unroll
  for (int i = 1; i < Parts; ++i) {
    const int up = below_window(i - 1);
    sum.high = sum.high << up | sum.low >> (64 - up);
    sum.low = (sum.low << up) + static_cast<unsigned long long>(part[i]);
    sum.high +=
        static_cast<unsigned long long>(part[i] >> 63) + (sum.low < static_cast<unsigned long long>(part[i]) ? 1 : 0);
  }
  return sum;
}

// A warp's sum in two windows, `up` powers of two apart.
__device__ __forceinline__ window_sum two_parts(long long upper, long long lower, int up, int exponent) {
  window_sum sum{static_cast<unsigned long long>(upper) << up, static_cast<unsigned long long>(upper >> (64 - up)),
                 exponent, 0};
  sum.low += static_cast<unsigned long long>(lower);
  sum.high += static_cast<unsigned long long>(lower >> 63) + (sum.low < static_cast<unsigned long long>(lower) ? 1 : 0);
  return sum;
}

__device__ __forceinline__ window_sum together(window_sum a, window_sum b) {
  if (a.failed | b.failed) return {0, 0, 0, 1};
  if ((a.low | a.high) == 0) return b;
  if ((b.low | b.high) == 0) return a;
  if (a.exponent < b.exponent) {
    const window_sum other = a;
    a = b;
    b = other;
  }
  const int up = a.exponent - b.exponent;
  if (up > 0) {
    const unsigned long long sign = a.high >> 63 ? ~0ull : 0ull;
    if (up > 60 || (a.high ^ sign) >> (62 - up) != 0) return {0, 0, 0, 1};  // a bit is left for the carry
    a.high = a.high << up | a.low >> (64 - up);
    a.low <<= up;
  }
  a.exponent = b.exponent;
  const unsigned long long low = a.low + b.low;
  a.high += b.high + (low < b.low ? 1 : 0);
  a.low = low;
  // For two numbers of at most 127 bits each, only the sum's top bits can overflow.
  const unsigned long long top = a.high >> 62;
  a.failed = top == 1 || top == 2;
  return a;
}

// To limbs of the range.
template <range R>
__device__ __forceinline__ void deposit(long long* limb, const window_sum& sum) {
  const int bit = sum.exponent - layout<R>::unit;
  if (sum.low != 0)
    deposit(limb, static_cast<long long>(sum.low & 0xffffffffull), static_cast<long long>(sum.low >> 32), bit);
  if (sum.high != 0) {
    const long long high = static_cast<long long>(sum.high);
    deposit(limb, high & 0xffffffffll, high >> 32, bit + 64);
  }
}

// sum *= 2^up, which must fit; if up < 0, its last -up bits must be 0.
__device__ __forceinline__ void shift(window_sum& sum, int up) {
  const long long high = static_cast<long long>(sum.high);
  if (up >= 64) {
    sum.high = sum.low << (up & 63);
    sum.low = 0;
  } else if (up > 0) {
    sum.high = sum.high << up | sum.low >> (64 - up);
    sum.low <<= up;
  } else if (up > -64) {
    sum.low = sum.low >> -up | sum.high << 1 << (63 + up);
    sum.high = static_cast<unsigned long long>(high >> -up);
  } else {
    sum.low = static_cast<unsigned long long>(high >> (-up - 64));
    sum.high = static_cast<unsigned long long>(high >> 63);
  }
}

// The sum of all lanes' numbers, the same in all lanes: brought to the exponent of the lowest bit that any of them has,
// added in five pieces of up to 27 bits. It fails where that takes too many bits.
__device__ __forceinline__ window_sum sum_of_lanes(window_sum mine) {
  const bool nothing = (mine.low | mine.high) == 0;
  const int zeros = mine.low != 0 ? __ffsll(static_cast<long long>(mine.low)) - 1
                                  : 63 + __ffsll(static_cast<long long>(mine.high));  // below the lowest bit
  const int lowest = __reduce_min_sync(~0u, nothing ? 0x7fffffff : mine.exponent + zeros),
            up = nothing ? 0 : mine.exponent - lowest;
  const unsigned long long sign = static_cast<unsigned long long>(static_cast<long long>(mine.high) >> 63);
  const unsigned long long high = mine.high ^ sign, low = mine.low ^ sign;
  const int room = high != 0 ? __clzll(static_cast<long long>(high)) : 64 + __clzll(static_cast<long long>(low));
  const bool failed =
      mine.failed != 0 || up > room - 7;  // a bit for the sign, five for 32 numbers, one for their carries
  shift(mine, up);
  constexpr unsigned mask = (1u << 27) - 1;
  const auto piece = [](unsigned long long bits) {
    return static_cast<unsigned long long>(__reduce_add_sync(~0u, static_cast<unsigned>(bits) & mask));
  };
  const unsigned long long p0 = piece(mine.low), p1 = piece(mine.low >> 27),
                           p2 = piece(mine.low >> 54 | mine.high << 10), p3 = piece(mine.high >> 17);
  const unsigned top = __reduce_add_sync(~0u, static_cast<unsigned>(mine.high >> 44));
  window_sum sum{p0 + (p1 << 27), (p2 >> 10) + (p3 << 17) + (static_cast<unsigned long long>(top) << 44), lowest,
                 __any_sync(~0u, failed)};
  const unsigned long long below = sum.low;
  sum.low += p2 << 54;
  sum.high += sum.low < below ? 1 : 0;
  return sum;
}

}  // namespace coalesce::detail::exact
