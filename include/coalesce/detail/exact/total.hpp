// An exact sum as it is kept, merged, stored and read. Plain C++17, host and device; the layout is documented in
// docs/exact.md.
#pragma once

#include <coalesce/detail/exact/round.hpp>

namespace coalesce::exact {

// Flags for what no integer represents. `something` is any element but -0: without it the sum of -0s is -0.
enum seen : std::uint32_t { nan_seen = 1, plus_infinity = 2, minus_infinity = 4, negative_zero = 8, something = 16 };

// In memory as in a file (where words are little-endian): a header, then the integer, least word first. Two totals of
// one range are equal as sums exactly if their bytes are equal.
template <range R>
struct total {
  static constexpr int words = layout<R>::words, unit = layout<R>::unit;
  // Bytes 'c' 'x' 'a' 'c', version 1, range, flags (`seen`), 0.
  static constexpr std::uint64_t blank_header =
      0x63617863u | std::uint64_t(1) << 32 | std::uint64_t(static_cast<std::uint8_t>(R)) << 40;

  std::uint64_t header;
  std::uint64_t word[words];

  COALESCE_EXACT_CALL std::uint32_t flags() const { return static_cast<std::uint32_t>(header >> 48) & 0xff; }
};

template <range R>
COALESCE_EXACT_CALL void clear(total<R>& sum) {
  sum.header = total<R>::blank_header;
  for (int i = 0; i < total<R>::words; ++i) sum.word[i] = 0;
}

template <range R>
COALESCE_EXACT_CALL void set_flags(total<R>& sum, std::uint32_t flags) {
  // One form for each sum: NaN and infinities leave nothing of the rest, and a -0 beside anything else adds nothing.
  if ((flags & nan_seen) || ((flags & plus_infinity) && (flags & minus_infinity))) {
    flags = nan_seen | something;
  } else if (flags & (plus_infinity | minus_infinity)) {
    flags = (flags & (plus_infinity | minus_infinity)) | something;
  } else if (flags & something) {
    flags = something;
  }
  sum.header = total<R>::blank_header | std::uint64_t(flags) << 48;
  if (flags & (nan_seen | plus_infinity | minus_infinity)) {
    for (int i = 0; i < total<R>::words; ++i) sum.word[i] = 0;
  }
}

// sum += value x 2^position units
template <range R>
COALESCE_EXACT_CALL void add_at(total<R>& sum, std::int64_t value, int position) {
  constexpr int words = total<R>::words;
  const std::uint64_t sign = value < 0 ? ~std::uint64_t(0) : 0;
  const int first = position / 64, shift = position % 64;
  std::uint64_t low = static_cast<std::uint64_t>(value) << shift;
  std::uint64_t high = shift == 0 ? sign : static_cast<std::uint64_t>(value) >> (64 - shift) | sign << shift;
  std::uint64_t carry = 0;
  for (int i = first; i < words; ++i) {
    const std::uint64_t add = i == first ? low : i == first + 1 ? high : sign;
    const std::uint64_t partial = sum.word[i] + add, next = partial + carry;
    carry = (partial < add) | (next < partial);
    sum.word[i] = next;
  }
}

template <range R>
COALESCE_EXACT_CALL void merge(total<R>& sum, const total<R>& other) {
  std::uint64_t carry = 0;
  for (int i = 0; i < total<R>::words; ++i) {
    const std::uint64_t partial = sum.word[i] + other.word[i], next = partial + carry;
    carry = (partial < other.word[i]) | (next < partial);
    sum.word[i] = next;
  }
  set_flags(sum, sum.flags() | other.flags());
}

// The reading of a total.
enum class reading : std::uint8_t { sum, mean, root };

// The results that are not a rounded number: true and the result's bits, or false.
template <class T>
COALESCE_EXACT_CALL bool read_special(std::uint32_t flags, bool zero, reading how, std::uint64_t count,
                                      typename format<T>::bits& result) {
  using bits = typename format<T>::bits;
  const bool no_mean = how == reading::mean && count == 0;
  if ((flags & nan_seen) || ((flags & plus_infinity) && (flags & minus_infinity)) || no_mean) {
    result = quiet_nan<T>;
  } else if (flags & plus_infinity) {
    result = infinity<T>;
  } else if (flags & minus_infinity) {
    result = how == reading::root ? quiet_nan<T> : bits(infinity<T> | sign_bit<T>);
  } else if (zero) {
    result = (flags & negative_zero) && !(flags & something) ? sign_bit<T> : bits(0);
  } else {
    return false;
  }
  return true;
}

template <class T>
COALESCE_EXACT_CALL typename format<T>::bits read_head(head number, reading how, std::uint64_t count) {
  if (how == reading::mean) number = divided(number, count);
  if (how == reading::root) {
    if (number.negative) return quiet_nan<T>;
    number = root(number);
  }
  return rounded<T>(number);
}

// The leading bits of the integer's magnitude. False if it is 0.
template <range R>
COALESCE_EXACT_CALL bool head_of(const total<R>& sum, head& number) {
  constexpr int words = total<R>::words;
  const std::uint64_t sign = sum.word[words - 1] >> 63 ? ~std::uint64_t(0) : 0;
  // Magnitude from the least word up: flipped, plus 1 as long as all below were 0.
  std::uint64_t carry = sign & 1, high = 0, middle = 0, low = 0;
  bool more = false;
  int top = -1;
  for (int i = 0; i < words; ++i) {
    const std::uint64_t magnitude = (sum.word[i] ^ sign) + carry;
    carry = carry != 0 && magnitude == 0;
    // The last three words up to the highest that is not 0; what falls out below is only `more`.
    const bool counts = magnitude != 0;
    if (counts) {
      for (; top < i; ++top) {
        more = more || low != 0;
        low = middle;
        middle = high;
        high = 0;
      }
      high = magnitude;
    }
  }
  if (top < 0) return false;
  const int up = leading_zeros(high);
  if (up != 0) {
    high = high << up | middle >> (64 - up);
    middle = middle << up | low >> (64 - up);
    low <<= up;
  }
  number.high = high;
  number.low = middle;
  number.exponent = total<R>::unit + 64 * (top - 1) - up;
  number.negative = sign != 0;
  number.more = more || low != 0;
  return true;
}

// The sum, the sum / count, or the sum's square root, rounded once. A mean of nothing, and a root of less than 0, is
// NaN.
template <class T, range R>
COALESCE_EXACT_CALL typename format<T>::bits read(const total<R>& sum, reading how = reading::sum,
                                                  std::uint64_t count = 1) {
  typename format<T>::bits result;
  head number{};
  const bool zero = !head_of(sum, number);
  if (read_special<T>(sum.flags(), zero, how, count, result)) return result;
  return read_head<T>(number, how, count);
}

}  // namespace coalesce::exact
