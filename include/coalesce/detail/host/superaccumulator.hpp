// Adds floats or doubles exactly on the CPU, block by block.
//
// First floats are added as doubles, for as long as that does not round (unrounded.hpp). Where it does, a block is taken as
// if its elements were alike. The largest element places a window of 2 x 45 bits, and three
// additions cut every element by it, a whole vector at a time: t = a + x, where `a` is so large that its last bit is
// the window's; h = t - a is the part of x in the first half, x - h the rest for the second half. If nothing is left
// over in the end, the two accumulators are exact integers and hold the block's sum. Otherwise the block is added
// element by element to bins, integers that lie 16 or 32 bits apart. All ways are exact, so order does not matter.
#pragma once

#include <coalesce/detail/exact/total.hpp>
#include <coalesce/detail/host/unrounded.hpp>
#include <coalesce/detail/host/window.hpp>
#include <cstddef>

#if !defined(__GNUC__)
#error "coalesce/host needs GCC or Clang: it uses their vector types and 128-bit integers"
#endif

namespace coalesce::detail::host {

__extension__ typedef __int128 wide_signed;
__extension__ typedef unsigned __int128 wide_unsigned;
template <class Term>
struct term;
template <>
struct term<float> {
  static constexpr bool widens = true;
  static constexpr int spacing = 16, bins = 32, flush = 0;  // a bin has room for 2^24 elements
};
template <>
struct term<double> {
  static constexpr bool widens = false;
  static constexpr int spacing = 32, bins = 72, flush = 1024;
};

// The window's additions need IEEE arithmetic to nearest with subnormals. A program built with -ffast-math, or that has
// told its CPU otherwise, gets the bins, which are integers.
inline bool arithmetic_is_ieee() {
#ifdef __FAST_MATH__
  return false;
#else
  volatile double least = 4.9406564584124654e-324, one = 1.0, little = 0x1.8p-54;
  return least * one > 0 && one + little == one && -one - little == -one && one + 2 * little > one;
#endif
}

// Whether a fast way is worth another try: data that did not suit it tends not to, so each failure doubles the blocks that
// go without, up to 15.
class trial {
 public:
  bool due() {
    if (pause_ == 0) return true;
    --pause_;
    return false;
  }
  void worked() { failures_ = 0; }
  void failed() {
    failures_ = failures_ < 4 ? failures_ + 1 : 4;
    pause_ = (1 << failures_) - 1;
  }

 private:
  int pause_ = 0, failures_ = 0;
};

template <class Term>
class superaccumulator {
 public:
  using traits = term<Term>;
  using format = exact::format<Term>;
  using bits = typename format::bits;
  static constexpr exact::range range = format::sum;
  static constexpr int unit = exact::layout<range>::unit;

  explicit superaccumulator(unrounded_adder adder = unrounded_adders()[0],
                            const window_passes<Term>& window = window_passes_of<Term>()[0])
      : adder_(adder), passes_(window), windows_(arithmetic_is_ieee()) {
    exact::clear(sum_);
  }

  void add(const Term* x, std::size_t count) {
    const std::size_t block = passes_.block;
    if constexpr (traits::widens) {
      for (; count >= unrounded_block; x += unrounded_block, count -= unrounded_block) {
        if (add_unrounded(x)) continue;
        for (std::size_t i = 0; i < unrounded_block; i += block) add_block(x + i);
      }
    }
    for (; count >= block; x += block, count -= block) add_block(x);
    add_singly(x, count);
  }

  void add_flags(std::uint32_t flags) { flags_ |= flags; }

  // value x 2^position units
  void deposit(std::int64_t value, int position) {
    constexpr int spacing = traits::spacing;
    const wide_signed shifted = static_cast<wide_signed>(value) * (std::int64_t(1) << (position % spacing));
    std::int64_t* bin = bins_[0] + position / spacing;
    bin[0] += static_cast<std::int64_t>(shifted & 0xffffffff);
    bin[32 / spacing] += static_cast<std::int64_t>(shifted >> 32 & 0xffffffff);
    bin[64 / spacing] += static_cast<std::int64_t>(shifted >> 64);
    count_singly(1);
  }

  // All that was added so far.
  exact::total<range>& total() {
    pour();
    return sum_;
  }

 private:
  static constexpr int copies =
      4;  // neighbours go to different copies, so that no addition waits for the last one's store

  bool add_unrounded(const float* x) {
    if (adder_ == nullptr || !unrounded_.due()) return false;
    if (!adder_(x, lanes_)) {
      if (!lanes_used_) return unrounded_.failed(), false;
      pour_lanes();  // sums that have grown leave less room
      if (!adder_(x, lanes_)) return unrounded_.failed(), false;
    }
    unrounded_.worked();
    lanes_used_ = true;
    // As a rule the first element says it.
    for (std::size_t i = 0; i < unrounded_block && (flags_ & exact::something) == 0; ++i)
      flags_ |= exact::to_bits(x[i]) == exact::sign_bit<float> ? exact::negative_zero : exact::something;
    return true;
  }

  // The lanes are multiples of the least float, because all that was added is.
  void pour_lanes() {
    for (double& lane : lanes_) {
      const std::uint64_t b = exact::to_bits(lane);
      const int field = static_cast<int>(b >> 52 & 0x7ff);
      const auto fraction = static_cast<std::int64_t>(b & ((std::uint64_t(1) << 52) - 1));
      if (field == 0x7ff) {
        flags_ |= fraction != 0 ? exact::nan_seen : b >> 63 != 0 ? exact::minus_infinity : exact::plus_infinity;
      } else if (field != 0) {
        const std::int64_t mantissa = fraction | std::int64_t(1) << 52;
        const int position = field - 1075 - unit, below = position < 0 ? -position : 0;
        deposit(b >> 63 != 0 ? -(mantissa >> below) : mantissa >> below, position + below);
      }
      lane = 0;
    }
    lanes_used_ = false;
  }

  void add_block(const Term* x) {
    const std::size_t block = passes_.block;
    const bits top = passes_.largest(x);
    if (top == 0) {
      bool other = false;
      for (std::size_t i = 0; i < block; ++i) other |= exact::to_bits(x[i]) == 0;
      flags_ |= other ? exact::something : exact::negative_zero;
      return;
    }
    if (top >= exact::infinity<Term> || !windows_ || !window_.due()) {
      add_singly(x, block);
      return;
    }
    // All elements are less than 2^bound, and the least bit of the second half is not less than a unit.
    int bound = static_cast<int>(top >> (format::precision - 1)) + format::unit + format::precision - 1;
    if (bound < format::unit + second_depth) bound = format::unit + second_depth;
    if (bound + first_room > 1023 || !add_window(x, bound)) {
      add_singly(x, block);
      window_.failed();
    } else {
      window_.worked();
      flags_ |= exact::something;
    }
  }

  // |x| < 2^bound. The first accumulator begins at 1.5 x 2^(bound + 8), and 128 additions leave it between 2^(bound +
  // 8) and twice that: its last bit stays 2^(bound + 8 - 52). What is left of an element is at most half of that, and
  // so on.
  static constexpr int first_room = 8, first_depth = 52 - first_room, second_depth = first_depth + 1 - first_room + 52;

  static double power(int exponent) {
    return exact::from_bits<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
  }

  bool add_window(const Term* x, int bound) {
    std::int64_t sum1 = 0, sum2 = 0;
    if (!passes_.add(x, 1.5 * power(bound + first_room), 1.5 * power(bound - second_depth + 52), sum1, sum2)) return false;
    deposit(sum1, bound - first_depth - unit);
    deposit(sum2, bound - second_depth - unit);
    return true;
  }

  void add_singly(const Term* x, std::size_t count) {
    constexpr int precision = format::precision, spacing = traits::spacing;
    constexpr bits fraction = (bits(1) << (precision - 1)) - 1;
    while (count > 0) {
      const std::size_t now = count < 256 ? count : 256;
      bool other = false;
      for (std::size_t i = 0; i < now; ++i) {
        const bits b = exact::to_bits(x[i]);
        other = other || b != exact::sign_bit<Term>;
        const unsigned field = static_cast<unsigned>((b & ~exact::sign_bit<Term>) >> (precision - 1));
        if (field == exact::infinity<Term> >> (precision - 1)) {
          flags_ |= (b & fraction) != 0             ? exact::nan_seen
                    : b >> (8 * sizeof(b) - 1) != 0 ? exact::minus_infinity
                                                    : exact::plus_infinity;
          continue;
        }
        const unsigned normal = field != 0, position = field + (1 - normal);
        std::int64_t mantissa = static_cast<std::int64_t>((b & fraction) | bits(normal) << (precision - 1));
        mantissa = (b & exact::sign_bit<Term>) != 0 ? -mantissa : mantissa;
        std::int64_t* bin = bins_[i % copies] + position / spacing;
        const unsigned shift = position % spacing;
        if constexpr (spacing == 16) {
          *bin += mantissa * (std::int64_t(1) << shift);
        } else {
          bin[0] += static_cast<std::int64_t>(static_cast<std::uint64_t>(mantissa) << shift & 0xffffffff);
          bin[1] += mantissa >> (32 - shift);
        }
      }
      if (now > 0) flags_ |= other ? exact::something : exact::negative_zero;
      count_singly(now);
      x += now;
      count -= now;
    }
  }

  // The bins of doubles take 2^32 or 2^53 an element, so carries go up in time.
  void count_singly(std::size_t count) {
    since_pour_ += count;
    if (traits::flush == 0 && since_pour_ > (1u << 23)) pour();
    if (traits::flush == 0) return;
    since_flush_ += static_cast<int>(count);
    if (since_flush_ < traits::flush) return;
    since_flush_ = 0;
    for (auto& copy : bins_) {
      for (int i = 0; i + 1 < traits::bins; ++i) {
        copy[i + 1] += copy[i] >> 32;
        copy[i] &= 0xffffffff;
      }
    }
  }

  void pour() {
    if (lanes_used_) pour_lanes();
    for (auto& copy : bins_) {
      for (int i = 0; i < traits::bins; ++i) {
        if (copy[i] != 0) exact::add_at(sum_, copy[i], traits::spacing * i);
        copy[i] = 0;
      }
    }
    exact::set_flags(sum_, sum_.flags() | flags_);
    flags_ = 0;
    since_pour_ = 0;
  }

  double lanes_[unrounded_lanes] = {};
  std::int64_t bins_[copies][traits::bins] = {};
  exact::total<range> sum_;
  std::uint32_t flags_ = 0;
  std::size_t since_pour_ = 0;
  int since_flush_ = 0;
  trial unrounded_, window_;
  unrounded_adder adder_;
  window_passes<Term> passes_;
  bool windows_, lanes_used_ = false;
};

}  // namespace coalesce::detail::host
