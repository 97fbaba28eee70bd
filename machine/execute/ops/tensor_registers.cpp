// A product of two factors has at most 22 bits, so single precision holds it, and holds it multiplied with
// 2^(fraction bits - highest exponent). The whole part of that, which a conversion to a whole number leaves, is the
// term of the rule: cut off towards zero. Sixteen terms are below 2^31. An exponent e is kept as the power 2^e, a
// zero's as 0: multiplying adds exponents.
//
// Cost of a product: two multiplications, a maximum, two additions, a conversion.
#include "machine/execute/ops/tensor_registers.h"

#include <cstring>

#include "machine/execute/ops/numbers.h"
#include "machine/execute/ops/tensor.h"

namespace coalesce::machine {

namespace {

// Sixteen numbers each. They are passed by reference: by value, their place depends on the CPU's level.
using Reals = float __attribute__((vector_size(64)));
using Words = int32_t __attribute__((vector_size(64)));
using Unsigned = uint32_t __attribute__((vector_size(64)));  // for sums that may overflow

constexpr uint32_t kColumns = 8, kAtOnce = 4;  // of a tile of sums; whose sums are computed together
// Products are scaled by adding to their exponent: factors are zero or from 2^-30 to below 2^31, addends from 2^-64 to
// below 2^61. Left factors have 2^-kDown in addition, so that what is added is not negative, and what becomes of a
// zero, at most 2^(25 + 64 + kDown - 127), is below 1. The least product, of subnormal halves, keeps an exponent:
// 2^(-48 - kDown).
constexpr int kDown = 36;
constexpr int32_t exponent_bits(int exponent) { return (exponent + 127) << 23; }
constexpr int32_t kLeastFactor = exponent_bits(-30), kFactorsEnd = exponent_bits(31), kHalfsEnd = exponent_bits(16);
constexpr int32_t kLeastAddend = exponent_bits(-64), kAddendsEnd = exponent_bits(61);
constexpr float kLeastHalfPower = 0x1p-14f;    // of subnormal ones, too
constexpr float kLeastPower = 0x1p-64f;        // of products
constexpr int32_t kMostSum = INT32_MAX - 128;  // what is larger may be rounded to 2^31
constexpr int32_t kInfinite = exponent_bits(128);

struct Numbers {
  Reals values, powers;
};

template <class To, class From>
COALESCE_INLINE void same_bits(const From& from, To& to) {
  static_assert(sizeof(From) == sizeof(To));
  std::memcpy(&to, &from, sizeof to);
}

// Numbers in the low bits of words. Adds to `outside` those that are not from `least` to below `end`, or zero.
COALESCE_INLINE void read(CellType cell, const Words& bits, int32_t least, int32_t end, Numbers& to, Words& outside) {
  if (cell == CellType::f16) {
    const Words magnitude = (bits & 0x7fff) << 13, sign = (bits & 0x8000) << 16;
    Reals size;
    same_bits(magnitude, size);
    size *= 0x1p112f;  // exact, of subnormal ones, too
    Words size_bits;
    same_bits(size, size_bits);
    outside |= size_bits >= kHalfsEnd;
    const Words value = size_bits | sign, power = size_bits & kInfinite;
    same_bits(value, to.values);
    same_bits(power, to.powers);
    to.powers = to.powers > kLeastHalfPower ? to.powers : Reals{} + kLeastHalfPower;
    to.powers = size == 0 ? Reals{} : to.powers;
    return;
  }
  const Words word = cell == CellType::bf16 ? bits << 16 : cell == CellType::tf32 ? bits & ~0x1fff : bits;
  const Words magnitude = word & INT32_MAX, power = word & kInfinite;
  outside |= (magnitude >= end) | ((magnitude < least) & (magnitude != 0));
  same_bits(word, to.values);
  same_bits(power, to.powers);
}

COALESCE_INLINE bool any(const Words& mask) {
  uint64_t parts[8], all = 0;
  std::memcpy(parts, &mask, sizeof parts);
  for (const uint64_t p : parts) all |= p;
  return all != 0;
}

// Word l of a register belongs to row l / 4. Words l % 4 of the rows of two registers, one eight rows below the other:
// to columns, and back.
COALESCE_INLINE void columns_from(const uint32_t* upper, const uint32_t* lower, Words (&columns)[4]) {
  Words a, b, c, d;
  std::memcpy(&a, upper, sizeof a), std::memcpy(&b, upper + 16, sizeof b);
  std::memcpy(&c, lower, sizeof c), std::memcpy(&d, lower + 16, sizeof d);
  const Words p = __builtin_shufflevector(a, b, 0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29);
  const Words q = __builtin_shufflevector(c, d, 0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29);
  const Words r = __builtin_shufflevector(a, b, 2, 6, 10, 14, 18, 22, 26, 30, 3, 7, 11, 15, 19, 23, 27, 31);
  const Words s = __builtin_shufflevector(c, d, 2, 6, 10, 14, 18, 22, 26, 30, 3, 7, 11, 15, 19, 23, 27, 31);
  columns[0] = __builtin_shufflevector(p, q, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
  columns[1] = __builtin_shufflevector(p, q, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  columns[2] = __builtin_shufflevector(r, s, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
  columns[3] = __builtin_shufflevector(r, s, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
}
COALESCE_INLINE void columns_to(const Words (&columns)[4], uint32_t* upper, uint32_t* lower) {
  const Words p =
      __builtin_shufflevector(columns[0], columns[1], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
  const Words q =
      __builtin_shufflevector(columns[0], columns[1], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  const Words r =
      __builtin_shufflevector(columns[2], columns[3], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
  const Words s =
      __builtin_shufflevector(columns[2], columns[3], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  const Words a = __builtin_shufflevector(p, r, 0, 8, 16, 24, 1, 9, 17, 25, 2, 10, 18, 26, 3, 11, 19, 27);
  const Words b = __builtin_shufflevector(p, r, 4, 12, 20, 28, 5, 13, 21, 29, 6, 14, 22, 30, 7, 15, 23, 31);
  const Words c = __builtin_shufflevector(q, s, 0, 8, 16, 24, 1, 9, 17, 25, 2, 10, 18, 26, 3, 11, 19, 27);
  const Words d = __builtin_shufflevector(q, s, 4, 12, 20, 28, 5, 13, 21, 29, 6, 14, 22, 30, 7, 15, 23, 31);
  std::memcpy(upper, &a, sizeof a), std::memcpy(upper + 16, &b, sizeof b);
  std::memcpy(lower, &c, sizeof c), std::memcpy(lower + 16, &d, sizeof d);
}

// Element `which` of each word, in the low bits.
COALESCE_INLINE void element(const Words& words, uint32_t which, uint32_t run, Words& to) {
  to = run == 1 ? words : words >> (16 * which) & 0xffff;
}

// The factors. Columns of the left one are in the order register, element of a word, word; of the right one every
// register of 32 words has that order, too, for each of its eight rows.
struct Factors {
  Numbers left[kMostDepth];
  alignas(64) float values[kMostColumns * kMostDepth];
  alignas(64) float powers[kMostColumns * kMostDepth];
};

bool read_factors(const MatrixForm& f, const uint32_t* const* left, const uint32_t* const* right, Factors& to) {
  const uint32_t run = run_of(f.left), registers = f.k / (4 * run);  // along k
  Words outside{};
  const int32_t signs = !f.negative ? 0 : run == 1 ? INT32_MIN : static_cast<int32_t>(0x80008000);
  for (uint32_t r = 0; r < registers; ++r) {
    Words words[4], bits;
    columns_from(left[2 * r], left[2 * r + 1], words);
    for (uint32_t e = 0; e < run; ++e)
      for (uint32_t c = 0; c < 4; ++c) {
        const Words word = words[c] ^ signs;
        element(word, e, run, bits);
        Numbers& numbers = to.left[(r * run + e) * 4 + c];
        read(f.left, bits, kLeastFactor, kFactorsEnd, numbers, outside);
        numbers.values *= 1.0f / (int64_t{1} << kDown);
      }
  }
  for (uint32_t r = 0; r < f.n / kColumns * registers; ++r)
    for (uint32_t half = 0; half < 2; ++half) {
      Words words, bits;
      std::memcpy(&words, right[r] + 16 * half, sizeof words);
      for (uint32_t e = 0; e < run; ++e) {
        Numbers numbers;
        element(words, e, run, bits);
        read(f.right, bits, kLeastFactor, kFactorsEnd, numbers, outside);
        const std::size_t at = (r * run + e) * 32 + 16 * half;
        std::memcpy(to.values + at, &numbers.values, sizeof numbers.values);
        std::memcpy(to.powers + at, &numbers.powers, sizeof numbers.powers);
      }
    }
  return !any(outside);
}

// sum * unit, a power of two, rounded towards zero; what is too large is infinite. `odd`: the last bit says that
// something was cut off.
COALESCE_INLINE void round(const Words& sum, const Reals& unit, bool odd, Words& bits) {
  Reals nearest = __builtin_convertvector(sum, Reals);
  const Words back = __builtin_convertvector(nearest, Words), sign = sum >> 31;
  same_bits(nearest, bits);
  bits += (back ^ sign) - sign > (sum ^ sign) - sign;  // -1 where it is further from zero
  if (odd) bits |= (back != sum) & 1;
  same_bits(bits, nearest);
  nearest *= unit;
  same_bits(nearest, bits);
}

// The nearest half, of two the even one, of numbers rounded with `odd`. No zero is negative.
COALESCE_INLINE void to_half(const Words& bits, Words& to) {
  const Words size = bits & 0x7fffffff;
  const Words normal = (size + (size >> 13 & 1) + 0xfff - (112 << 23)) >> 13;
  Reals small;
  same_bits(size, small);
  small += 0.5f;
  Words rounded;
  same_bits(small, rounded);
  const Words subnormal = rounded - 0x3f000000;
  Words half = size < 0x38800000 ? subnormal : normal;
  half = size >= 0x47800000 ? Words{} + 0x7c00 : half;
  to = half | (half != 0 ? bits >> 16 & 0x8000 : Words{});
}

// Adds to the sums of kAtOnce columns from `first` on (of eight) the products of `count` columns of the left factor
// from `from` on. `right`: of the eight columns in Factors::values. False as multiply_registers is.
COALESCE_INLINE bool add_block(const Factors& f, std::size_t right, uint32_t from, uint32_t count, uint32_t first,
                               CellType cell, Words* sums) {
  Reals highest[kAtOnce], units[kAtOnce];
  Unsigned scale[kAtOnce];  // is added to the exponents of products
  Numbers addends[kAtOnce];
  Words outside{};
  for (uint32_t j = 0; j < kAtOnce; ++j) {
    read(cell, sums[first + j], kLeastAddend, kAddendsEnd, addends[j], outside);
    highest[j] = addends[j].powers > kLeastPower ? addends[j].powers : Reals{} + kLeastPower;
  }
  for (uint32_t k = from; k < from + count; k += 4)
    for (uint32_t c = 0; c < 4; ++c)
      for (uint32_t j = 0; j < kAtOnce; ++j) {
        const Reals power = f.left[k + c].powers * f.powers[right + k * 8 + (first + j) * 4 + c];
        highest[j] = highest[j] > power ? highest[j] : power;
      }
  Words terms[kAtOnce]{};
  for (uint32_t j = 0; j < kAtOnce; ++j) {
    same_bits(highest[j], scale[j]);
    scale[j] = ((127u + kFractionBits + kDown) << 23) - scale[j];
    units[j] = highest[j] * (1.0f / (1 << kFractionBits));
  }
  for (uint32_t k = from; k < from + count; k += 4)
    for (uint32_t c = 0; c < 4; ++c)
      for (uint32_t j = 0; j < kAtOnce; ++j) {
        const Reals product = f.left[k + c].values * f.values[right + k * 8 + (first + j) * 4 + c];
        Unsigned bits;
        same_bits(product, bits);
        bits += scale[j];  // a zero becomes less than 1
        Reals scaled;
        same_bits(bits, scaled);
        terms[j] += __builtin_convertvector(scaled, Words);
      }
  for (uint32_t j = 0; j < kAtOnce; ++j) {
    const Unsigned factor_bits = scale[j] + ((127u - kDown) << 23);
    Reals scaled;
    same_bits(factor_bits, scaled);
    scaled *= addends[j].values;
    const Words addend = __builtin_convertvector(scaled, Words);
    Unsigned all;
    same_bits(terms[j], all);
    all += __builtin_convertvector(addend, Unsigned);
    Words sum;
    same_bits(all, sum);
    outside |= ((sum ^ terms[j]) & (sum ^ addend)) < 0;
    outside |= (sum ^ sum >> 31) > kMostSum;
    Words rounded;
    round(sum, units[j], cell == CellType::f16, rounded);
    if (cell == CellType::f16)
      to_half(rounded, sums[first + j]);
    else
      sums[first + j] = rounded;
  }
  return !any(outside);
}

}  // namespace

bool takes_registers(const MatrixForm& f) {
  const bool factors = f.left == CellType::f16 || f.left == CellType::bf16 || f.left == CellType::tf32;
  const bool sums = f.addend == f.result && (f.result == CellType::f32 || f.result == CellType::f16);
  return f.action == MatrixForm::Action::multiply && factors && sums && f.left == f.right && f.m == 16 && !f.sparse &&
         f.n <= kMostColumns && f.k <= kMostDepth && f.block % (4 * run_of(f.left)) == 0;
}

bool multiply_registers(const MatrixForm& f, const uint32_t* const* left, const uint32_t* const* right,
                        const uint32_t* const* addends, uint32_t (*to)[32]) {
  Factors factors;
  if (!read_factors(f, left, right, factors)) return false;
  const bool halves = f.result == CellType::f16;
  const uint32_t each = halves ? 1 : 2;  // registers of a tile of sums
  for (uint32_t n = 0; n < f.n / kColumns; ++n) {
    const uint32_t* const* from = addends + n * 2 * each;
    Words sums[kColumns];
    for (uint32_t r = 0; r < each; ++r) {
      Words columns[4];
      columns_from(from[r], from[each + r], columns);
      for (uint32_t c = 0; c < 4; ++c) {
        if (halves)
          sums[2 * c] = columns[c] & 0xffff, sums[2 * c + 1] = columns[c] >> 16 & 0xffff;
        else
          sums[2 * c + r] = columns[c];
      }
    }
    const std::size_t start = std::size_t{n} * kColumns * f.k;
    for (uint32_t k = 0; k < f.k; k += f.block)
      for (uint32_t first = 0; first < kColumns; first += kAtOnce)
        if (!add_block(factors, start, k, f.block, first, f.result, sums)) return false;
    for (uint32_t r = 0; r < each; ++r) {
      Words columns[4];
      for (uint32_t c = 0; c < 4; ++c) columns[c] = halves ? sums[2 * c] | sums[2 * c + 1] << 16 : sums[2 * c + r];
      columns_to(columns, to[n * 2 * each + r], to[n * 2 * each + each + r]);
    }
  }
  return true;
}

}  // namespace coalesce::machine
