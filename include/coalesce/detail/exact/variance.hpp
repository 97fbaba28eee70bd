// The variance of an exact sum and an exact sum of squares: (n x squares - sum^2) / n^2, whose numerator is computed as an
// integer, rounded once. Plain C++17, host and device.
#pragma once

#include <coalesce/detail/exact/total.hpp>

namespace coalesce::exact {

#ifndef __CUDA_ARCH__
__extension__ typedef unsigned __int128 two_words;
#endif

COALESCE_EXACT_CALL std::uint64_t multiplied(std::uint64_t a, std::uint64_t b, std::uint64_t& high) {
#ifdef __CUDA_ARCH__
  high = __umul64hi(a, b);
  return a * b;
#else
  const two_words both = static_cast<two_words>(a) * b;
  high = static_cast<std::uint64_t>(both >> 64);
  return static_cast<std::uint64_t>(both);
#endif
}

// |total| x 2^shift, 0 <= shift < 64: one word more.
template <range R>
COALESCE_EXACT_CALL void magnitude_of(const total<R>& sum, int shift, std::uint64_t (&out)[total<R>::words + 1]) {
  constexpr int words = total<R>::words;
  const std::uint64_t sign = sum.word[words - 1] >> 63 ? ~std::uint64_t(0) : 0;
  std::uint64_t carry = sign & 1, below = 0;
  for (int i = 0; i < words; ++i) {
    const std::uint64_t word = (sum.word[i] ^ sign) + carry;
    carry = carry != 0 && word == 0;
    out[i] = word << shift | (shift == 0 ? 0 : below >> (64 - shift));
    below = word;
  }
  out[words] = shift == 0 ? 0 : below >> (64 - shift);
}

// into += (or -=) factor x the `count` words at `from`, from into[at] on. What is carried beyond `size` words is lost.
template <bool Subtract>
COALESCE_EXACT_CALL void add_multiple(std::uint64_t* into, int size, int at, const std::uint64_t* from, int count,
                                      std::uint64_t factor) {
  std::uint64_t carry = 0;
  for (int i = 0; at + i < size && (i < count || carry != 0); ++i) {
    std::uint64_t high = 0, low = i < count ? multiplied(from[i], factor, high) : 0;
    low += carry;
    high += low < carry;
    const std::uint64_t before = into[at + i];
    into[at + i] = Subtract ? before - low : before + low;
    carry = high + (Subtract ? before < low : into[at + i] < before);
  }
}

// Rounded once. NaN of no elements, and where one is NaN or infinite.
template <class As, range Sum, range Squares>
COALESCE_EXACT_CALL typename format<As>::bits variance(const total<Sum>& sum, const total<Squares>& squares,
                                                       std::uint64_t count) {
  constexpr int sum_words = total<Sum>::words, square_words = total<Squares>::words;
  constexpr int square_unit = 2 * total<Sum>::unit, unit = square_unit < layout<Squares>::unit ? square_unit : layout<Squares>::unit;
  constexpr int up_sum = square_unit - unit, up_squares = layout<Squares>::unit - unit;
  constexpr int most = 2 * sum_words + up_sum / 64 + 1, other = square_words + up_squares / 64 + 2;
  constexpr int words = most > other ? most : other;
  if (count == 0 || ((sum.flags() | squares.flags()) & (nan_seen | plus_infinity | minus_infinity)) != 0)
    return quiet_nan<As>;
  std::uint64_t numerator[words] = {}, moved_squares[square_words + 1], plain[sum_words + 1], moved[sum_words + 1];
  magnitude_of(squares, up_squares % 64, moved_squares);
  add_multiple<false>(numerator, words, up_squares / 64, moved_squares, square_words + 1, count);
  magnitude_of(sum, 0, plain);
  magnitude_of(sum, up_sum % 64, moved);
  for (int i = 0; i < sum_words; ++i) {
    if (plain[i] != 0) add_multiple<true>(numerator, words, up_sum / 64 + i, moved, sum_words + 1, plain[i]);
  }
  int top = words - 1;
  while (top >= 0 && numerator[top] == 0) --top;
  if (top < 0) return 0;
  head number{numerator[top], top > 0 ? numerator[top - 1] : 0, unit + 64 * (top - 1), false, false};
  const int up = leading_zeros(number.high);
  const std::uint64_t below = top > 1 ? numerator[top - 2] : 0;
  if (up != 0) {
    number.high = number.high << up | number.low >> (64 - up);
    number.low = number.low << up | below >> (64 - up);
  }
  number.more = (below << up) != 0;
  for (int i = top - 3; i >= 0 && !number.more; --i) number.more = numerator[i] != 0;
  number.exponent -= up;
  return rounded<As>(divided(divided(number, count), count));
}

}  // namespace coalesce::exact
