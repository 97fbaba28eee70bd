// The rule for sums of real numbers (tensor.h), eight sums at a time, in loops that the compiler makes vector code of.
// Infinities and NaNs are not for it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "machine/execute/ops/numbers.h"
#include "machine/execute/ops/tensor.h"

namespace coalesce::machine {

inline constexpr uint32_t kTogether = 8;

// How a small floating-point type is written.
struct Layout {
  int exponent_bits, fraction_bits;
  bool has_infinity;  // else only all ones are not a number
};
inline Layout layout_of(CellType cell) {
  switch (cell) {
    case CellType::f16:
      return {5, 10, true};
    case CellType::bf16:
      return {8, 7, true};
    case CellType::e4m3:
      return {4, 3, false};
    case CellType::e5m2:
      return {5, 2, true};
    default:  // f32, and tf32 without its low bits
      return {8, 23, true};
  }
}

// A factor's terms, of the right one column by column. The fraction of a term has `kFactorBits` bits.
struct Factors {
  std::vector<int32_t> exponents, magnitudes, signs;  // signs: 0 or -1
  std::vector<uint8_t> special;                       // of each row and block of columns
  uint32_t rows, columns, block;

  Factors(CellType cell, const uint64_t* bits, uint32_t row_count, uint32_t column_count, uint32_t in_block, bool right)
      : exponents(std::size_t{row_count} * column_count),
        magnitudes(exponents.size()),
        signs(exponents.size()),
        special(std::size_t{row_count} * (column_count / in_block)),
        rows(row_count),
        columns(column_count),
        block(in_block) {
    const Layout l = layout_of(cell);
    const uint32_t fraction = (1u << l.fraction_bits) - 1, top = (1u << l.exponent_bits) - 1;
    const int bias = static_cast<int>(top >> 1), up = std::max(kFactorBits - l.fraction_bits, 0);
    const int down = std::max(l.fraction_bits - kFactorBits, 0);
    for (uint32_t r = 0; r < rows; ++r)
      for (uint32_t c = 0; c < columns; ++c) {
        const auto word = static_cast<uint32_t>(bits[r * columns + c]);
        const uint32_t written = word >> l.fraction_bits & top, low = word & fraction;
        const uint32_t whole = (written ? low | (fraction + 1) : low) >> down << up;
        const uint32_t at = right ? c * rows + r : r * columns + c;
        exponents[at] = whole ? static_cast<int32_t>(std::max(written, 1u)) - bias : kZeroExponent;
        signs[at] = -static_cast<int32_t>(word >> (l.exponent_bits + l.fraction_bits) & 1);
        magnitudes[at] = static_cast<int32_t>(whole);
        special[r * (columns / block) + c / block] |= written == top && (l.has_infinity || low == fraction);
      }
  }
  bool is_special(uint32_t row, uint32_t first) const { return special[row * (columns / block) + first / block]; }
};

struct EightSums {
  std::array<int64_t, kTogether> sums{};
  std::array<int32_t, kTogether> highest{};  // a sum's last bit is 2^(highest - fraction bits)
};

// Eight numbers as one vector: clang would rather make vectors of a loop's turns.
using Lane8 = int32_t __attribute__((vector_size(4 * kTogether)));
COALESCE_INLINE Lane8 eight_at(const std::vector<int32_t>& from, std::size_t at) {
  Lane8 v;
  std::memcpy(&v, from.data() + at, sizeof v);
  return v;
}

// left[row][first ... first + block) times columns j ... j + 7 of the right factor, with the addends. `columns` are the
// right factor's, for all of the left one's.
inline void eight_sums(const Factors& left, const Factors& right, uint32_t row, uint32_t first, const uint16_t* columns,
                       uint32_t j, const std::array<Term, kTogether>& addends, int bits, EightSums& e) {
  const int up = bits - 2 * kFactorBits, more = up < 0 ? -up : 0;  // a product's bits move up, or down
  Lane8 highest;
  for (uint32_t l = 0; l < kTogether; ++l) highest[l] = addends[l].exponent;
  const std::size_t a = std::size_t{row} * left.columns + first;
  for (uint32_t k = 0; k < left.block; ++k) {
    const std::size_t b = std::size_t{columns[first + k]} * right.rows + j;
    const Lane8 exponent = eight_at(right.exponents, b) + left.exponents[a + k];
    highest = highest > exponent ? highest : exponent;
  }
  Lane8 sums{};  // at most 16 products below 2^27
  for (uint32_t k = 0; k < left.block; ++k) {
    const std::size_t b = std::size_t{columns[first + k]} * right.rows + j;
    Lane8 down = highest - eight_at(right.exponents, b) - left.exponents[a + k];
    down = (down < 31 ? down : 31) + more;
    down = down < 31 ? down : 31;
    const Lane8 cut = eight_at(right.magnitudes, b) * (left.magnitudes[a + k] << (up < 0 ? 0 : up)) >> down;
    const Lane8 negative = eight_at(right.signs, b) ^ left.signs[a + k];
    sums += (cut ^ negative) - negative;
  }
  for (uint32_t l = 0; l < kTogether; ++l) {
    const int32_t s = addends[l].significand, magnitude = s < 0 ? -s : s;
    const int down = highest[l] - addends[l].exponent + kAddendBits - bits;
    const int32_t cut = down < 0 ? magnitude << -down : magnitude >> std::min(down, 31);
    e.sums[l] = int64_t{sums[l]} + (s < 0 ? -cut : cut);
    e.highest[l] = highest[l];
  }
}

}  // namespace coalesce::machine
