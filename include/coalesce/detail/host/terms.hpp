// The terms of a sum, for an element or for a product of two: floats or doubles that are exactly that. Products of
// doubles, which fit in neither, are added here as 106-bit integers.
#pragma once

#include <coalesce/detail/host/superaccumulator.hpp>

namespace coalesce::detail::host {

inline float as_float(float x) { return x; }
inline float as_float(bfloat16_bits x) { return exact::from_bits<float>(std::uint32_t(x.bits) << 16); }
inline float as_float(half_bits x) {
  // The exponent moves from bias 15 to bias 127 by a multiplication, which is right for subnormals too; 31 becomes 255
  // by hand.
  const std::uint32_t magnitude = x.bits & 0x7fffu, sign = std::uint32_t(x.bits & 0x8000u) << 16;
  const float scaled = exact::from_bits<float>(magnitude << 13) * 0x1p112f;
  const std::uint32_t value = magnitude >= 0x7c00u ? 0x7f800000u | magnitude << 13 : exact::to_bits(scaled);
  return exact::from_bits<float>(value | sign);
}

inline double as_element(double x) { return x; }
inline float as_element(float x) { return x; }
inline float as_element(bfloat16_bits x) { return as_float(x); }
inline float as_element(half_bits x) { return as_float(x); }

// sum += x. For one element: bins and blocks cost more than they save.
template <class Term>
void add_one(exact::total<exact::format<Term>::sum>& sum, Term x) {
  using bits = typename exact::format<Term>::bits;
  constexpr int precision = exact::format<Term>::precision;
  constexpr bits fraction = (bits(1) << (precision - 1)) - 1;
  const bits b = exact::to_bits(x), magnitude = b & ~exact::sign_bit<Term>;
  const bool negative = b != magnitude;
  const int field = static_cast<int>(magnitude >> (precision - 1));
  std::uint32_t seen = magnitude == 0 && negative ? exact::negative_zero : exact::something;
  if (magnitude >= exact::infinity<Term>) {
    seen |= magnitude > exact::infinity<Term> ? exact::nan_seen : negative ? exact::minus_infinity : exact::plus_infinity;
  } else {
    const auto mantissa = static_cast<std::int64_t>((b & fraction) | bits(field != 0) << (precision - 1));
    exact::add_at(sum, negative ? -mantissa : mantissa, field + (field == 0));
  }
  exact::set_flags(sum, sum.flags() | seen);
}

// The superaccumulator (of two) of an element, and of a product.
template <class T>
struct terms {
  using element = float;
  using product = double;
};
template <>
struct terms<half_bits> {
  using element = float;
  using product = float;
};
template <>
struct terms<double> {
  using element = double;
  using product = double;  // and beyond: products_of_doubles
};

template <class T>
void add_elements(superaccumulator<typename terms<T>::element>& to, const T* data, std::size_t count) {
  if constexpr (sizeof(T) >= 4) {
    to.add(data, count);
  } else {
    float buffer[unrounded_block];
    while (count > 0) {
      const std::size_t now = count < unrounded_block ? count : unrounded_block;
      for (std::size_t i = 0; i < now; ++i) buffer[i] = as_float(data[i]);
      to.add(buffer, now);
      data += now;
      count -= now;
    }
  }
}

template <class T>
void add_products(superaccumulator<typename terms<T>::product>& to, const T* a, const T* b, std::size_t count) {
  using product = typename terms<T>::product;
  product buffer[largest_window_block];
  while (count > 0) {
    const std::size_t now = count < largest_window_block ? count : largest_window_block;
    for (std::size_t i = 0; i < now; ++i) buffer[i] = product(as_float(a[i])) * product(as_float(b[i]));
    to.add(buffer, now);
    a += now;
    b += now;
    count -= now;
  }
}

// Products of doubles. Where a block's products neither leave the range nor come near its lower end, each is the sum of
// two doubles, p = a*b rounded and its error e = a*b - p, and both go to the superaccumulator of doubles. Everywhere
// else it is an integer of 106 bits.
class products_of_doubles {
 public:
  products_of_doubles() : ieee_(arithmetic_is_ieee()) { exact::clear(large_); }

  void add(const double* a, const double* b, std::size_t count) {
    double high[largest_window_block], low[largest_window_block];
    while (count > 0) {
      const std::size_t now = count < largest_window_block ? count : largest_window_block;
      bool plain = ieee_;
      for (std::size_t i = 0; i < now; ++i) {
        high[i] = a[i] * b[i];
        low[i] = __builtin_fma(a[i], b[i], -high[i]);
        const double size = __builtin_fabs(high[i]);
        // The error's last bit is worth at least 2^-105 of the product: at 2^-960 it is above the least subnormal. An
        // error of 0 is written +0, so that it says nothing about -0; a product that is 0 is looked at more closely
        // below.
        plain = plain && size <= 0x1p1000 && (size >= 0x1p-960);
        low[i] += 0.0;
      }
      if (plain) {
        small_.add(high, now);
        small_.add(low, now);
      } else {
        for (std::size_t i = 0; i < now; ++i) add(a[i], b[i]);
      }
      a += now;
      b += now;
      count -= now;
    }
  }

  exact::total<exact::range::product> total() {
    exact::total<exact::range::product> sum = large_;
    using wide = exact::total<exact::range::wide>;
    const wide& small = small_.total();
    constexpr int offset = (wide::unit - decltype(sum)::unit) / 64;
    const std::uint64_t sign = small.word[wide::words - 1] >> 63 ? ~std::uint64_t(0) : 0;
    exact::total<exact::range::product> moved;
    exact::clear(moved);
    for (int i = offset; i < decltype(moved)::words; ++i)
      moved.word[i] = i - offset < wide::words ? small.word[i - offset] : sign;
    exact::set_flags(moved, small.flags());
    exact::merge(sum, moved);
    return sum;
  }

 private:
  void add(double a, double b) {
    using exact::to_bits;
    const std::uint64_t x = to_bits(a), y = to_bits(b), sign = (x ^ y) & exact::sign_bit<double>;
    const int ex = static_cast<int>(x >> 52 & 0x7ff), ey = static_cast<int>(y >> 52 & 0x7ff);
    if (ex == 0x7ff || ey == 0x7ff) {
      const double p = a * b;
      const std::uint32_t infinite = sign != 0 ? exact::minus_infinity : exact::plus_infinity;
      exact::set_flags(large_, large_.flags() | (p != p ? exact::nan_seen : infinite));
      return;
    }
    constexpr std::uint64_t fraction = (std::uint64_t(1) << 52) - 1;
    const std::uint64_t mx = (x & fraction) | std::uint64_t(ex != 0) << 52, my = (y & fraction) | std::uint64_t(ey != 0)
                                                                                                      << 52;
    const wide_unsigned m = static_cast<wide_unsigned>(mx) * my;
    exact::set_flags(large_, large_.flags() | (m == 0 && sign != 0 ? exact::negative_zero : exact::something));
    if (m == 0) return;
    const int position = ex - (ex != 0) + ey - (ey != 0) + 2 * exact::format<double>::unit - decltype(large_)::unit;
    const std::int64_t parts[3] = {static_cast<std::int64_t>(m & 0xffffffffffff),
                                   static_cast<std::int64_t>(m >> 48 & 0xffffffffffff),
                                   static_cast<std::int64_t>(m >> 96)};
    for (int i = 0; i < 3; ++i) {
      if (parts[i] != 0) exact::add_at(large_, sign != 0 ? -parts[i] : parts[i], position + 48 * i);
    }
  }

  superaccumulator<double> small_;
  exact::total<exact::range::product> large_;
  bool ieee_;
};

}  // namespace coalesce::detail::host
