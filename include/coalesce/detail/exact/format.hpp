// The element types of exact sums: the place of a value's bits on the line of powers of two. Plain C++17.
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define COALESCE_EXACT_CALL __host__ __device__ inline
#else
#define COALESCE_EXACT_CALL inline
#endif

namespace coalesce {

// IEEE binary16 and bfloat16 as their bits, for programs without CUDA's types; the exact sums take either.
struct half_bits {
  std::uint16_t bits;
};
struct bfloat16_bits {
  std::uint16_t bits;
};

namespace exact {

// Sums are integers in units of a power of two, and there are three ranges:
//   narrow   every half, bfloat16 and float, and every product of two halves
//   wide     every double, and every product of two bfloat16 or of two float
//   product  every product of two doubles
enum class range : std::uint8_t { narrow = 1, wide = 2, product = 3 };

// A sum is `words` 64-bit words, the least first, in two's complement, times 2^unit. The words hold any 2^63 elements.
// The units are half of the least subnormal, so that the last bit of an element with exponent field e is bit max(e, 1);
// in the range of products, word 17 is word 0 of the wide range.
template <range R>
struct layout;
template <>
struct layout<range::narrow> {
  static constexpr int words = 6, unit = -150;
};
template <>
struct layout<range::wide> {
  static constexpr int words = 34, unit = -1075;
};
template <>
struct layout<range::product> {
  static constexpr int words = 68, unit = -2163;
};

// Per element type: bits of the significand (the hidden one included), exponent of the least subnormal, type of the
// bits; and in which range a sum of elements and a sum of products of two elements lies.
template <class T>
struct format;
template <>
struct format<half_bits> {
  using bits = std::uint16_t;
  static constexpr int precision = 11, unit = -24;
  static constexpr range sum = range::narrow, dot = range::narrow;
};
template <>
struct format<bfloat16_bits> {
  using bits = std::uint16_t;
  static constexpr int precision = 8, unit = -133;
  static constexpr range sum = range::narrow, dot = range::wide;
};
template <>
struct format<float> {
  using bits = std::uint32_t;
  static constexpr int precision = 24, unit = -149;
  static constexpr range sum = range::narrow, dot = range::wide;
};
template <>
struct format<double> {
  using bits = std::uint64_t;
  static constexpr int precision = 53, unit = -1074;
  static constexpr range sum = range::wide, dot = range::product;
};

template <class T>
constexpr typename format<T>::bits sign_bit =
    typename format<T>::bits(typename format<T>::bits(1) << (8 * sizeof(typename format<T>::bits) - 1));
// The bits of +infinity: all ones in the exponent. What is larger, the sign aside, is NaN.
template <class T>
constexpr typename format<T>::bits infinity =
    typename format<T>::bits(sign_bit<T> - (typename format<T>::bits(1) << (format<T>::precision - 1)));
// The NaN that results are: quiet, positive, nothing else set.
template <class T>
constexpr typename format<T>::bits quiet_nan =
    typename format<T>::bits(infinity<T> | (typename format<T>::bits(1) << (format<T>::precision - 2)));

template <class T>
COALESCE_EXACT_CALL typename format<T>::bits to_bits(T value) {
  typename format<T>::bits bits;
  static_assert(sizeof(bits) == sizeof(value), "a format's bits are as wide as the type");
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}
template <class T>
COALESCE_EXACT_CALL T from_bits(typename format<T>::bits bits) {
  T value;
  memcpy(&value, &bits, sizeof(bits));
  return value;
}

}  // namespace exact
}  // namespace coalesce
