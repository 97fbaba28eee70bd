// Rounds an exact number to the nearest element, once, to nearest even. Plain C++17, host and device.
#pragma once

#include <coalesce/detail/exact/format.hpp>

namespace coalesce::exact {

COALESCE_EXACT_CALL int leading_zeros(std::uint64_t word) {  // word != 0
#ifdef __CUDA_ARCH__
  return __clzll(static_cast<long long>(word));
#else
  return __builtin_clzll(word);
#endif
}

// The leading 128 bits of a number that is not 0, and whether anything but zeros follows: (high:low + rest) x
// 2^exponent with 0 <= rest < 1, and rest > 0 exactly if `more`. The top bit of `high` is set. 64 of these bits, and
// `more`, are enough to round sum, mean and root to any element type, because a quotient or root keeps at least 64.
struct head {
  std::uint64_t high, low;
  int exponent;
  bool negative, more;
};

COALESCE_EXACT_CALL head aligned(head number) {  // brings the top bit up; number != 0
  if (number.high == 0) {
    number.high = number.low;
    number.low = 0;
    number.exponent -= 64;
  }
  const int up = leading_zeros(number.high);
  if (up != 0) {
    number.high = number.high << up | number.low >> (64 - up);
    number.low <<= up;
    number.exponent -= up;
  }
  return number;
}

// Magnitude / count, for means. count > 0. What `more` stands for may be pushed down into the quotient's own rest,
// because the quotient's last bit is worth more than everything that was cut off.
COALESCE_EXACT_CALL head divided(head number, std::uint64_t count) {
  std::uint64_t rest = number.high % count;
  number.high /= count;
  std::uint64_t quotient = 0;
  for (int i = 63; i >= 0; --i) {
    const bool carry = rest >> 63;
    rest = rest << 1 | (number.low >> i & 1);
    quotient <<= 1;
    if (carry || rest >= count) {
      rest -= count;
      quotient |= 1;
    }
  }
  number.low = quotient;
  number.more = number.more || rest != 0;
  return aligned(number);
}

// Square root of a number that is not negative: its first 64 bits, digit by digit, and whether that was all.
COALESCE_EXACT_CALL head root(head number) {
  if (number.exponent & 1) {
    number.more = number.more || (number.low & 1);
    number.low = number.low >> 1 | number.high << 63;
    number.high >>= 1;
    ++number.exponent;
  }
  std::uint64_t found = 0, rest_high = 0, rest = 0;  // rest = what is read so far - found^2, at most 2 x found: 65 bits
  for (int i = 0; i < 64; ++i) {
    const std::uint64_t two = i < 32 ? number.high >> (62 - 2 * i) & 3 : number.low >> (126 - 2 * i) & 3;
    rest_high = rest_high << 2 | rest >> 62;
    rest = rest << 2 | two;
    const std::uint64_t try_high = found >> 62, try_low = found << 2 | 1;
    found <<= 1;
    if (rest_high > try_high || (rest_high == try_high && rest >= try_low)) {
      rest_high -= try_high + (rest < try_low);
      rest -= try_low;
      found |= 1;
    }
  }
  number.more = number.more || (rest | rest_high) != 0;
  number.high = found;
  number.low = 0;
  number.exponent = number.exponent / 2 - 64;
  return number;
}

template <class T>
COALESCE_EXACT_CALL typename format<T>::bits rounded(const head& number) {
  using bits = typename format<T>::bits;
  constexpr int precision = format<T>::precision, unit = format<T>::unit;
  const int top = number.exponent + 127;  // 2^top <= magnitude < 2^(top + 1)
  const int last = top - (precision - 1) > unit ? top - (precision - 1) : unit;
  const int cut = last - number.exponent;  // bits of high:low that go: at least 128 - 53, more for subnormal results
  std::uint64_t mantissa = 0, half = 0;
  bool below = number.low != 0 || number.more;
  if (cut < 128) {
    mantissa = number.high >> (cut - 64);
    half = number.high >> (cut - 65) & 1;
    below = below || (number.high << (128 - cut) << 1) != 0;
  } else if (cut == 128) {
    half = 1;
    below = below || number.high << 1 != 0;
  }
  if (half != 0 && (below || (mantissa & 1) != 0)) ++mantissa;
  // The hidden bit counts 1 in the exponent's field, and so does a carry out of the significand: both come out by
  // adding.
  const std::uint64_t field = static_cast<std::uint64_t>(last - unit);
  const std::uint64_t limit = infinity<T>;
  std::uint64_t result = limit;
  if (field < (limit >> (precision - 1))) {
    result = (field << (precision - 1)) + mantissa;
    if (result > limit) result = limit;
  }
  return static_cast<bits>(result | (number.negative ? sign_bit<T> : bits(0)));
}

}  // namespace coalesce::exact
