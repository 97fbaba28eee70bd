// Sixteen numbers of the tensor cores' small types as vectors: reading them, and their exponents. For
// tensor_registers.cpp.
#pragma once

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include <cstdint>
#include <cstring>

#include "machine/execute/ops/numbers.h"
#include "machine/isa/matrix.h"

namespace coalesce::machine::sixteens {

// Sixteen numbers each. They are passed by reference: by value, their place depends on the CPU's level.
using Reals = float __attribute__((vector_size(64)));
using Words = int32_t __attribute__((vector_size(64)));
using Unsigned = uint32_t __attribute__((vector_size(64)));  // for sums that may overflow
using Bytes = signed char __attribute__((vector_size(64)));  // exponents: of four sums in each of 16 rows
using Sixteen = signed char __attribute__((vector_size(16)));

// Products are scaled by adding to their exponent: factors are zero or from 2^-30 to below 2^31, addends from 2^-64 to
// below 2^61. Left factors have 2^-kDown in addition, so that what is added is not negative, and what becomes of a
// zero, at most 2^(25 + 64 + kDown - 127), is below 1. The least product, of subnormal halves, keeps an exponent:
// 2^(-48 - kDown).
inline constexpr int kDown = 36;
constexpr int32_t exponent_bits(int exponent) { return (exponent + 127) << 23; }
inline constexpr int32_t kLeastFactor = exponent_bits(-30), kFactorsEnd = exponent_bits(31), kHalvesEnd = 0x7c00;
inline constexpr int32_t kLeastAddend = exponent_bits(-64), kAddendsEnd = exponent_bits(61);
inline constexpr int kLeastExponent = -64;  // of products
inline constexpr int kNoExponent = -128;    // of a zero; with any other one it is below kLeastExponent

template <class To, class From>
COALESCE_INLINE void same_bits(const From& from, To& to) {
  static_assert(sizeof(From) == sizeof(To));
  std::memcpy(&to, &from, sizeof to);
}

COALESCE_INLINE bool any(const Words& mask) {
#ifdef __AVX512F__
  __m512i all_of_it;
  same_bits(mask, all_of_it);
  return _mm512_test_epi32_mask(all_of_it, all_of_it) != 0;
#else
  uint64_t parts[8], all = 0;
  std::memcpy(parts, &mask, sizeof parts);
  for (const uint64_t p : parts) all |= p;
  return all != 0;
#endif
}

// The extremes of magnitudes as they are written; zeros are none.
struct Extremes {
  Words most{};
  Unsigned least = ~Unsigned{};  // less 1
  COALESCE_INLINE bool outside(CellType cell, int32_t first, int32_t end) const {
    if (cell == CellType::f16) return any(most >= kHalvesEnd);
    Words low, high = most >= end;
    same_bits(least < static_cast<uint32_t>(first - 1), low);
    return any(low | high);
  }
};

// Numbers in the low bits of words, 2^`down` times smaller, and their exponents.
COALESCE_INLINE void read(CellType cell, const Words& bits, int down, Reals& values, Words& exponents, Extremes& met) {
  const float factor = 1 / static_cast<float>(int64_t{1} << down);
  if (cell == CellType::f16) {
    const Words magnitude = bits & 0x7fff, sign = (bits & 0x8000) << 16, single = magnitude << 13;
    met.most = met.most > magnitude ? met.most : magnitude;
    const Words written = magnitude >> 10;
    exponents = (written > 1 ? written : Words{} + 1) - 15;
    exponents = magnitude == 0 ? Words{} + kNoExponent : exponents;
    Reals size;
    same_bits(single, size);
    size *= 0x1p112f * factor;  // exact, of subnormal ones, too
    Words size_bits;
    same_bits(size, size_bits);
    size_bits |= sign;
    same_bits(size_bits, values);
    return;
  }
  const Words word = cell == CellType::bf16 ? bits << 16 : cell == CellType::tf32 ? bits & ~0x1fff : bits;
  const Words magnitude = word & INT32_MAX;
  met.most = met.most > magnitude ? met.most : magnitude;
  Unsigned less;
  same_bits(magnitude, less);
  less -= 1u;
  met.least = met.least < less ? met.least : less;
  exponents = (magnitude >> 23) - 127;
  same_bits(word, values);
  if (down != 0) values *= factor;
}

// The sum of exponents, at least the least one of a byte.
COALESCE_INLINE void add_exponents(const Bytes& a, const Bytes& b, Bytes& to) {
#ifdef __clang__
  to = __builtin_elementwise_add_sat(a, b);
#else
  for (int i = 0; i < 64; ++i) to[i] = static_cast<signed char>(a[i] + b[i] < -128 ? -128 : a[i] + b[i]);
#endif
}
// In each 16 bytes, word (byte) `Which` of four repeated (of the four in each word).
template <int Which>
COALESCE_INLINE void repeat_word(const Reals& from, Reals& to) {
  to = __builtin_shufflevector(from, from, Which, Which, Which, Which, 4 + Which, 4 + Which, 4 + Which, 4 + Which,
                               8 + Which, 8 + Which, 8 + Which, 8 + Which, 12 + Which, 12 + Which, 12 + Which,
                               12 + Which);
}
template <int Which>
COALESCE_INLINE void repeat_byte(const Sixteen& from, Sixteen& to) {
  to = __builtin_shufflevector(from, from, Which, Which, Which, Which, 4 + Which, 4 + Which, 4 + Which, 4 + Which,
                               8 + Which, 8 + Which, 8 + Which, 8 + Which, 12 + Which, 12 + Which, 12 + Which,
                               12 + Which);
}

// Element `which` of each word, in the low bits.
COALESCE_INLINE void element(const Words& words, uint32_t which, uint32_t run, Words& to) {
  to = run == 1 ? words : words >> (16 * which) & 0xffff;
}

}  // namespace coalesce::machine::sixteens
