// A product of two factors has at most 22 bits, so single precision holds it, and holds it multiplied with
// 2^(fraction bits - highest exponent). The whole part of that, which a conversion to a whole number leaves, is the
// term of the rule: cut off towards zero. Sixteen terms are below 2^31. Exponents are bytes, 64 sums in a vector.
//
// Cost of a product: a multiplication, two additions, a conversion; a quarter of an addition and of a maximum.
#include "machine/execute/ops/tensor_registers.h"

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include <cstring>

#include "machine/execute/ops/tensor.h"
#include "machine/execute/ops/tensor_numbers.h"

namespace coalesce::machine {

namespace sixteens {

namespace {

#ifdef __AVX512F__
constexpr bool kRoundsToZero = true;  // conversions of whole numbers to real ones, if told
constexpr uint32_t kAtOnce = 8;       // vectors of sums that are computed together
#else
constexpr bool kRoundsToZero = false;
constexpr uint32_t kAtOnce = 4;
#endif
constexpr uint32_t kColumns = 8;  // of a tile of sums
// A tile of sums is vectors as its registers are, two each: word l of a register is row l / 4, and has column l % 4 *
// 2, or, in the other registers, the next one. Vector 4 * e + g has rows 4 g to 4 g + 3 and columns e, 2 + e, 4 + e, 6
// + e.
constexpr uint32_t kGroups = 4, kVectors = 8;
using Four = float __attribute__((vector_size(16)));
constexpr int32_t kMostSum = INT32_MAX - 128;  // what is larger may be rounded to 2^31

// Factors as numbers. Programs multiply what lies in a register several times, so each thread keeps what it has read,
// with the registers' words. Columns of the left factor are in the order register, element of a word, word; of the
// right one, of which eight rows are a tile, columns have that order, too.
constexpr uint32_t kMostTileRegisters = kMostDepth / 4;
struct Origin {
  alignas(64) uint32_t words[2 * kMostTileRegisters][32];
  CellType cell = CellType::none;
  bool negative = false, inside = false;
  uint32_t registers = 0;

  // Whether it comes from these registers, which are remembered otherwise.
  COALESCE_INLINE bool is(CellType its_cell, bool is_negative, const uint32_t* const* from, uint32_t count) {
    if (cell == its_cell && negative == is_negative && registers == count) {
      Words difference{}, old, given;
      for (uint32_t r = 0; r < count; ++r)
        for (uint32_t half = 0; half < 2; ++half) {
          std::memcpy(&old, words[r] + 16 * half, sizeof old), std::memcpy(&given, from[r] + 16 * half, sizeof given);
          difference |= old ^ given;
        }
      if (!any(difference)) return true;
    }
    cell = its_cell, negative = is_negative, registers = count;
    for (uint32_t r = 0; r < count; ++r) std::memcpy(words[r], from[r], sizeof words[r]);
    return false;
  }
};
struct Left {
  Origin origin;
  Reals values[kMostDepth][kGroups];  // each row's four times
  Bytes exponents[kMostDepth];
};
struct Right {
  Origin origin;
  alignas(64) float values[kMostDepth][kColumns];  // first the even rows'
  alignas(64) signed char exponents[kMostDepth][kColumns];
};
struct Known {
  Left left[kLeftPlaces];
  Right right[kRightPlaces];
};
thread_local Known known;

template <CellType kCell>
constexpr uint32_t kRun = kCell == CellType::tf32 ? 1 : 2;

template <CellType kCell>
COALESCE_INLINE void read_left(const MatrixForm& f, const uint32_t* const* from, Left& to) {
  constexpr uint32_t run = kRun<kCell>;
  const uint32_t along_k = f.k / (4 * run);
  Extremes met;
  Words words, bits, exponents;
  Reals values;
  const int32_t signs = !f.negative ? 0 : run == 1 ? INT32_MIN : static_cast<int32_t>(0x80008000);
  for (uint32_t r = 0; r < along_k; ++r)
    for (uint32_t g = 0; g < kGroups; ++g) {
      std::memcpy(&words, from[2 * r + g / 2] + 16 * (g % 2), sizeof words);
      words ^= signs;
      for (uint32_t e = 0; e < run; ++e) {
        const uint32_t k = (r * run + e) * 4;
        element(words, e, run, bits);
        read(kCell, bits, kDown, values, exponents, met);
        repeat_word<0>(values, to.values[k][g]), repeat_word<1>(values, to.values[k + 1][g]);
        repeat_word<2>(values, to.values[k + 2][g]), repeat_word<3>(values, to.values[k + 3][g]);
        const Sixteen bytes = __builtin_convertvector(exponents, Sixteen);
        Sixteen row[4];
        repeat_byte<0>(bytes, row[0]), repeat_byte<1>(bytes, row[1]);
        repeat_byte<2>(bytes, row[2]), repeat_byte<3>(bytes, row[3]);
        for (uint32_t c = 0; c < 4; ++c)
          std::memcpy(reinterpret_cast<char*>(&to.exponents[k + c]) + 16 * g, &row[c], sizeof row[c]);
      }
    }
  to.origin.inside = !met.outside(kCell, kLeastFactor, kFactorsEnd);
}
template <CellType kCell>
COALESCE_INLINE void read_right(const MatrixForm& f, const uint32_t* const* from, Right& to) {
  constexpr uint32_t run = kRun<kCell>;
  const uint32_t along_k = f.k / (4 * run);
  Extremes met;
  Reals values;
  Words exponents, bits;
  for (uint32_t r = 0; r < along_k; ++r) {
    // Words of rows 0 to 3 and 4 to 7, four each, to those of the even rows and the odd ones of two columns.
    Words upper, lower, pairs[2];
    std::memcpy(&upper, from[r], sizeof upper), std::memcpy(&lower, from[r] + 16, sizeof lower);
    pairs[0] = __builtin_shufflevector(upper, lower, 0, 8, 16, 24, 4, 12, 20, 28, 1, 9, 17, 25, 5, 13, 21, 29);
    pairs[1] = __builtin_shufflevector(upper, lower, 2, 10, 18, 26, 6, 14, 22, 30, 3, 11, 19, 27, 7, 15, 23, 31);
    for (uint32_t pair = 0; pair < 2; ++pair)
      for (uint32_t e = 0; e < run; ++e) {
        element(pairs[pair], e, run, bits);
        read(kCell, bits, 0, values, exponents, met);
        const uint32_t k = (r * run + e) * 4 + 2 * pair;
        std::memcpy(to.values[k], &values, sizeof values);
        const Sixteen bytes = __builtin_convertvector(exponents, Sixteen);
        std::memcpy(to.exponents[k], &bytes, sizeof bytes);
      }
  }
  to.origin.inside = !met.outside(kCell, kLeastFactor, kFactorsEnd);
}

// sum * unit, a power of two, rounded towards zero; what is too large is infinite. `odd`: the last bit says that
// something was cut off.
COALESCE_INLINE void round(const Words& sum, const Reals& unit, bool odd, Words& bits) {
  Reals near;
#ifdef __AVX512F__
  __m512i whole;
  same_bits(sum, whole);
  same_bits(_mm512_cvt_roundepi32_ps(whole, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC), near);
#else
  near = __builtin_convertvector(sum, Reals);
#endif
  same_bits(near, bits);
  if (!kRoundsToZero || odd) {
    const Words back = __builtin_convertvector(near, Words), sign = sum >> 31;
    if (!kRoundsToZero) bits += (back ^ sign) - sign > (sum ^ sign) - sign;  // -1 where it is further from zero
    if (odd) bits |= (back != sum) & 1;
  }
  same_bits(bits, near);
  near *= unit;
  same_bits(near, bits);
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

// Exponents of products and addends rise by kUp less the highest one among them.
constexpr int kUp = kFractionBits + kDown;

// kUp less the highest exponents of the products of `count` columns of the left factor from `from` on.
COALESCE_INLINE void ways_up(const Left& l, const Right& r, uint32_t from, uint32_t count, Words* up) {
  const Bytes least = Bytes{} + static_cast<signed char>(kLeastExponent);
  Bytes most[2] = {least, least};
#pragma clang loop unroll_count(4)
  for (uint32_t k = from; k < from + count; ++k)
    for (uint32_t e = 0; e < 2; ++e) {
      int32_t four;
      std::memcpy(&four, r.exponents[k] + 4 * e, sizeof four);
      const Words all = Words{} + four;
      Bytes other, sum;
      same_bits(all, other);
      add_exponents(l.exponents[k], other, sum);
      most[e] = most[e] > sum ? most[e] : sum;
    }
  for (uint32_t v = 0; v < kVectors; ++v) {
    Sixteen part;
    std::memcpy(&part, reinterpret_cast<const char*>(&most[v / kGroups]) + v % kGroups * 16, sizeof part);
    up[v] = kUp - __builtin_convertvector(part, Words);
  }
}

// Adds to the sums of a tile the products of kCount columns (0: of `given`) of the left factor from `from` on. False as
// multiply_registers is.
template <CellType kCell, uint32_t kCount>
COALESCE_INLINE bool add_block(const Left& l, const Right& r, uint32_t from, uint32_t given, Words* sums) {
  const uint32_t count = kCount ? kCount : given;
  Words up[kVectors], exponents, overflown{};  // the highest bit counts
  Reals addends[kVectors];
  Extremes met;
  ways_up(l, r, from, count, up);
  for (uint32_t j = 0; j < kVectors; ++j) {
    read(kCell, sums[j], 0, addends[j], exponents, met);
    const Words own = kUp - exponents;
    up[j] = up[j] < own ? up[j] : own;
  }
  for (uint32_t first = 0; first < kVectors; first += kAtOnce) {
    Words terms[kAtOnce]{};
    Unsigned scale[kAtOnce];  // is added to the exponents of products
    for (uint32_t j = 0; j < kAtOnce; ++j) {
      same_bits(up[first + j], scale[j]);
      scale[j] <<= 23;
    }
#pragma clang loop unroll_count(4)
    for (uint32_t k = from; k < from + count; ++k)
      for (uint32_t j = 0; j < kAtOnce; ++j) {
        Four four;
        std::memcpy(&four, r.values[k] + (first + j) / kGroups * 4, sizeof four);
        const Reals other = __builtin_shufflevector(four, four, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
        const Reals product = l.values[k][(first + j) % kGroups] * other;
        Unsigned bits;
        same_bits(product, bits);
        bits += scale[j];  // a zero becomes less than 1
        Reals scaled;
        same_bits(bits, scaled);
        terms[j] += __builtin_convertvector(scaled, Words);
      }
    for (uint32_t j = 0; j < kAtOnce; ++j) {
      const Unsigned factor_bits = scale[j] + ((127u - kDown) << 23);
      const Words unit_bits = (127 - kFractionBits + kUp - up[first + j]) << 23;
      Reals scaled, unit;
      same_bits(factor_bits, scaled), same_bits(unit_bits, unit);
      scaled *= addends[first + j];
      const Words addend = __builtin_convertvector(scaled, Words);
      Unsigned all;
      same_bits(terms[j], all);
      all += __builtin_convertvector(addend, Unsigned);
      Words sum;
      same_bits(all, sum);
      overflown |= (sum ^ terms[j]) & (sum ^ addend);
      if (!kRoundsToZero) overflown |= kMostSum - (sum ^ sum >> 31);
      Words rounded;
      round(sum, unit, kCell == CellType::f16, rounded);
      if (kCell == CellType::f16)
        to_half(rounded, sums[first + j]);
      else
        sums[first + j] = rounded;
    }
  }
  return !any(overflown < 0) && !met.outside(kCell, kLeastAddend, kAddendsEnd);
}

template <CellType kFactor, CellType kSum>
bool product(const MatrixForm& f, const FactorPlaces* places, const uint32_t* const* left, const uint32_t* const* right,
             const uint32_t* const* addends, uint32_t* const* to) {
  Known& all = known;
  const uint32_t along_k = f.k / (4 * kRun<kFactor>);
  Left& l = all.left[places ? places->left : 0];
  if (!(places ? places->has_left : l.origin.is(kFactor, f.negative, left, 2 * along_k))) {
    if (places) l.origin.cell = CellType::none;
    read_left<kFactor>(f, left, l);
  }
  if (!l.origin.inside) return false;
  constexpr bool halves = kSum == CellType::f16;
  constexpr uint32_t each = halves ? 1 : 2;  // registers of a tile of sums
  for (uint32_t n = 0; n < f.n / kColumns; ++n) {
    // The place where a tile is kept: by its number, or by where its registers are.
    const std::size_t place = places            ? places->right
                              : f.n == kColumns ? reinterpret_cast<uintptr_t>(right[0]) / (2 * sizeof(uint32_t[32]))
                                                : n;
    const uint32_t* const* its = right + n * along_k;
    Right& r = all.right[place % kRightPlaces];
    if (!(places ? places->has_right : r.origin.is(kFactor, false, its, along_k))) {
      if (places) r.origin.cell = CellType::none;
      read_right<kFactor>(f, its, r);
    }
    if (!r.origin.inside) return false;
    const uint32_t* const* from = addends + n * 2 * each;
    Words sums[kVectors], words;
    for (uint32_t g = 0; g < kGroups; ++g)
      for (uint32_t i = 0; i < each; ++i) {
        std::memcpy(&words, from[g / 2 * each + i] + 16 * (g % 2), sizeof words);
        if (halves)
          sums[g] = words & 0xffff, sums[kGroups + g] = words >> 16 & 0xffff;
        else
          sums[i * kGroups + g] = words;
      }
    if (f.block == 16) {  // mma.m16n8k16
      for (uint32_t k = 0; k < f.k; k += 16)
        if (!add_block<kSum, 16>(l, r, k, 16, sums)) return false;
    } else {
      for (uint32_t k = 0; k < f.k; k += f.block)
        if (!add_block<kSum, 0>(l, r, k, f.block, sums)) return false;
    }
    for (uint32_t g = 0; g < kGroups; ++g)
      for (uint32_t i = 0; i < each; ++i) {
        words = halves ? sums[g] | sums[kGroups + g] << 16 : sums[i * kGroups + g];
        std::memcpy(to[n * 2 * each + g / 2 * each + i] + 16 * (g % 2), &words, sizeof words);
      }
  }
  return true;
}

using Product = decltype(product<CellType::f16, CellType::f32>);
Product* product_of(const MatrixForm& f) {
  const bool halves = f.result == CellType::f16;
  switch (f.left) {
    case CellType::f16:
      return halves ? product<CellType::f16, CellType::f16> : product<CellType::f16, CellType::f32>;
    case CellType::bf16:
      return halves ? product<CellType::bf16, CellType::f16> : product<CellType::bf16, CellType::f32>;
    default:
      return halves ? product<CellType::tf32, CellType::f16> : product<CellType::tf32, CellType::f32>;
  }
}

}  // namespace

}  // namespace sixteens

bool takes_registers(const MatrixForm& f) {
  const bool factors = f.left == CellType::f16 || f.left == CellType::bf16 || f.left == CellType::tf32;
  const bool sums = f.addend == f.result && (f.result == CellType::f32 || f.result == CellType::f16);
  return f.action == MatrixForm::Action::multiply && factors && sums && f.left == f.right && f.m == 16 && !f.sparse &&
         f.n <= kMostColumns && f.k <= kMostDepth && (f.block & (4 * run_of(f.left) - 1)) == 0;
}

bool multiply_registers(const MatrixForm& f, const uint32_t* const* left, const uint32_t* const* right,
                        const uint32_t* const* addends, uint32_t* const* to) {
  return sixteens::product_of(f)(f, nullptr, left, right, addends, to);
}
bool multiply_registers(const MatrixForm& f, const FactorPlaces& places, const uint32_t* const* left,
                        const uint32_t* const* right, const uint32_t* const* addends, uint32_t* const* to) {
  return sixteens::product_of(f)(f, &places, left, right, addends, to);
}

}  // namespace coalesce::machine
