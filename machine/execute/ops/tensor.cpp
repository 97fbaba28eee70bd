#include "machine/execute/ops/tensor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "machine/execute/ops/half.h"
#include "machine/execute/ops/tensor_lanes.h"

namespace coalesce::machine {

namespace {

Term term_of(CellType cell, uint32_t bits, int kept) {
  const Layout l = layout_of(cell);
  const uint32_t fraction = bits & ((1u << l.fraction_bits) - 1);
  const uint32_t top = (1u << l.exponent_bits) - 1;
  const uint32_t written = bits >> l.fraction_bits & top;
  const bool negative = bits >> (l.exponent_bits + l.fraction_bits) & 1;
  const int bias = (1 << (l.exponent_bits - 1)) - 1;
  Term t;
  if (l.has_infinity ? written == top : written == top && fraction == (1u << l.fraction_bits) - 1) {
    t.special = true;
    t.value = fraction != 0 ? std::nan("") : negative ? -HUGE_VAL : HUGE_VAL;
    return t;
  }
  const uint32_t whole = written ? fraction | 1u << l.fraction_bits : fraction;
  if (whole == 0) return t;
  const auto scaled = static_cast<int32_t>(kept >= l.fraction_bits ? whole << (kept - l.fraction_bits)
                                                                   : whole >> (l.fraction_bits - kept));
  t.significand = negative ? -scaled : scaled;
  t.exponent = static_cast<int>(std::max(1u, written)) - bias;
  return t;
}

int64_t cut(int64_t value, int shift) {  // value * 2^shift, towards zero
  if (shift >= 0) return value << shift;
  if (shift <= -63) return 0;
  return value < 0 ? -(-value >> -shift) : value >> -shift;
}

// sum * 2^exponent. Towards zero, to the fraction's bits of `mask`; what is too large is infinite.
uint32_t to_single(int64_t sum, int exponent, uint32_t mask) {
  if (sum == 0) return 0;
  const uint32_t sign = sum < 0 ? 1u << 31 : 0;
  const auto magnitude = static_cast<uint64_t>(sum < 0 ? -sum : sum);
  const int leading = 63 - std::countl_zero(magnitude), power = leading + exponent;
  if (power > 127) return sign | 0x7f800000u;
  const int unit = std::max(power, -126) - 23;  // of the result's last place
  const auto kept = static_cast<uint32_t>(cut(static_cast<int64_t>(magnitude), exponent - unit)) & mask;
  if (kept == 0) return 0;
  return sign | (power < -126 ? kept : (static_cast<uint32_t>(power + 127) << 23) + (kept - (1u << 23)));
}

// To nearest even.
uint32_t to_half(int64_t sum, int exponent) {
  if (sum == 0) return 0;
  const uint32_t sign = sum < 0 ? 1u << 15 : 0;
  const auto magnitude = static_cast<uint64_t>(sum < 0 ? -sum : sum);
  const int leading = 63 - std::countl_zero(magnitude), power = leading + exponent;
  if (power > 15) return sign | 0x7c00u;
  const int unit = std::max(power, -14) - 10, shift = unit - exponent;
  uint64_t kept = 0;
  if (shift <= 0) {
    kept = magnitude << -shift;
  } else if (shift < 64) {
    kept = magnitude >> shift;
    const uint64_t rest = magnitude & ((uint64_t{1} << shift) - 1), half = uint64_t{1} << (shift - 1);
    if (rest > half || (rest == half && (kept & 1))) ++kept;
  }
  const auto bits = static_cast<uint32_t>(power < -14 ? kept : (static_cast<uint64_t>(power + 14) << 10) + kept);
  return bits == 0 ? 0 : sign | std::min(bits, 0x7c00u);
}

// A sum of terms cut off `bits` below 2^highest.
uint32_t rounded(int64_t sum, int highest, CellType result, int bits) {
  if (result == CellType::f16) return to_half(sum, highest - bits);
  return to_single(sum, highest - bits, bits >= 23 ? ~0u : ~0u << (23 - bits));
}

uint32_t special_sum(std::span<const Term> left, std::span<const Term> right, const Term& addend, CellType result) {
  // Only infinities, NaNs, zeros and signs matter.
  const auto value = [](const Term& t) { return t.special ? t.value : static_cast<double>(t.significand); };
  double sum = addend.special ? addend.value : 0;
  for (std::size_t k = 0; k < left.size(); ++k)
    if (left[k].special || right[k].special) sum += value(left[k]) * value(right[k]);
  if (std::isnan(sum)) return result == CellType::f16 ? kNanHalf : kNanSingle;
  const uint32_t sign = sum < 0;
  return result == CellType::f16 ? sign << 15 | 0x7c00u : sign << 31 | 0x7f800000u;
}

uint32_t half_of_small(CellType cell, uint64_t bits) {  // e4m3 and e5m2 are halves, too
  const Term t = factor_of(cell, static_cast<uint32_t>(bits));
  if (t.special) return std::isnan(t.value) ? kNanHalf : static_cast<uint32_t>((bits & 0x80) << 8 | 0x7c00);
  return (bits & 0x80 ? 0x8000u : 0) | (to_half(t.significand, t.exponent - kFactorBits) & 0x7fffu);
}

// 8-bit reals have instructions of their own in wgmma only.
int fraction_bits(const MatrixForm& f) {
  return f.left == CellType::e4m3 || f.left == CellType::e5m2 ? kSmallFractionBits : kFractionBits;
}

// `picked`: null, or of a sparse form the columns of the left factor's elements.
void multiply_real(const MatrixForm& f, const uint64_t* left, const uint16_t* picked, const uint64_t* right,
                   uint64_t* sums) {
  const uint32_t lefts = picked ? f.k / 2 : f.k, apart = f.k / lefts;
  const Factors a(f.left, left, f.m, lefts, f.block, false), b(f.right, right, f.n, f.k, f.block * apart, true);
  const auto term = [](CellType cell, uint64_t bits) { return factor_of(cell, static_cast<uint32_t>(bits)); };
  const int bits = fraction_bits(f);
  const CellType result = f.addend == CellType::f32 ? CellType::f32 : f.result;
  std::vector<Term> one, other;
  std::vector<uint16_t> all(lefts);
  for (uint32_t k = 0; k < lefts; ++k) all[k] = static_cast<uint16_t>(k);
  EightSums e;
  for (uint32_t i = 0; i < f.m; ++i) {
    const uint16_t* const columns = picked ? picked + std::size_t{i} * lefts : all.data();
    for (uint32_t j = 0; j < f.n; j += kTogether) {
      uint64_t* const to = sums + i * f.n + j;
      // A half added in single precision is converted first.
      if (f.addend == CellType::f16 && result == CellType::f32)
        for (uint32_t l = 0; l < kTogether; ++l) to[l] = bits_of(to_float(Half{static_cast<uint16_t>(to[l])}));
      for (uint32_t first = 0; first < lefts; first += f.block) {
        std::array<Term, kTogether> addends;
        for (uint32_t l = 0; l < kTogether; ++l) addends[l] = addend_of(result, static_cast<uint32_t>(to[l]));
        eight_sums(a, b, i, first, columns, j, addends, bits, e);
        for (uint32_t l = 0; l < kTogether; ++l) {
          if (!addends[l].special && !a.is_special(i, first) && !b.is_special(j + l, first * apart)) {
            to[l] = rounded(e.sums[l], e.highest[l], result, bits);
            continue;
          }
          one.clear(), other.clear();
          for (uint32_t k = first; k < first + f.block; ++k) {
            one.push_back(term(f.left, left[i * lefts + k]));
            other.push_back(term(f.right, right[(j + l) * f.k + columns[k]]));
          }
          to[l] = tensor_sum(one, other, addends[l], result, bits);
        }
      }
      // An instruction with an addend in single precision has such a sum.
      if (result != f.result)
        for (uint32_t l = 0; l < kTogether; ++l) {
          const float sum = float_of(static_cast<uint32_t>(to[l]));
          to[l] = std::isnan(sum) ? kNanHalf : nearest_half(sum);
        }
    }
  }
}

// sm_90 has no instruction for 8-bit reals: ptxas makes them halves, multiplies the even pairs of columns, then the odd
// ones, from zero, and adds the addend as FADD and HADD2 do.
void multiply_small(const MatrixForm& f, const uint64_t* left, const uint64_t* right, uint64_t* sums) {
  const auto half = [&](CellType cell, const uint64_t* from, uint32_t rows, uint32_t odd) {
    std::vector<Term> terms;
    for (uint32_t r = 0; r < rows; ++r)
      for (uint32_t k = 0; k < f.k; ++k)
        if ((k >> 1 & 1) == odd) terms.push_back(factor_of(CellType::f16, half_of_small(cell, from[r * f.k + k])));
    return terms;
  };
  const uint32_t block = f.k / 2;
  const std::vector<Term> a[2] = {half(f.left, left, f.m, 0), half(f.left, left, f.m, 1)};
  const std::vector<Term> b[2] = {half(f.right, right, f.n, 0), half(f.right, right, f.n, 1)};
  for (uint32_t i = 0; i < f.m; ++i)
    for (uint32_t j = 0; j < f.n; ++j) {
      uint32_t bits = 0;
      for (uint32_t odd = 0; odd < 2; ++odd)
        bits = tensor_sum({a[odd].data() + i * block, block}, {b[odd].data() + j * block, block},
                          addend_of(f.result, bits), f.result);
      uint64_t& sum = sums[i * f.n + j];
      if (f.result == CellType::f16) {
        const float s = to_float(Half{static_cast<uint16_t>(bits)}) + to_float(Half{static_cast<uint16_t>(sum)});
        sum = std::isnan(s) ? kNanHalf : nearest_half(s);
      } else {
        sum = bits_of(canonical(float_of(bits) + float_of(static_cast<uint32_t>(sum))));
      }
    }
}

// sm_90 has no instruction for 8 by 8 by 4 halves. Fused multiply-adds in single precision from zero, then the addend;
// a result in f16: each two products, between which the addend comes. Products of halves are exact.
void multiply_quads(const MatrixForm& f, const uint64_t* left, const uint64_t* right, uint64_t* sums) {
  const auto half = [](uint64_t bits) { return to_float(Half{static_cast<uint16_t>(bits)}); };
  for (uint32_t i = 0; i < f.m; ++i)
    for (uint32_t j = 0; j < f.n; ++j) {
      float product[4];
      for (uint32_t k = 0; k < 4; ++k) product[k] = half(left[i * 4 + k]) * half(right[j * 4 + k]);
      uint64_t& sum = sums[i * f.n + j];
      const float addend = f.addend == CellType::f16 ? half(sum) : float_of(static_cast<uint32_t>(sum));
      if (f.result == CellType::f16) {
        const float s = ((product[0] + product[1]) + addend) + (product[2] + product[3]);
        sum = std::isnan(s) ? kNanHalf : nearest_half(s);
        continue;
      }
      float s = 0;
      for (const float p : product) s += p;
      sum = bits_of(canonical(s + addend));
    }
}

// Fused multiply-adds from the first column to the last.
void multiply_double(const MatrixForm& f, const uint64_t* left, const uint64_t* right, uint64_t* sums) {
  for (uint32_t i = 0; i < f.m; ++i)
    for (uint32_t j = 0; j < f.n; ++j) {
      auto sum = std::bit_cast<double>(sums[i * f.n + j]);
      for (uint32_t k = 0; k < f.k; ++k) {
        const auto a = std::bit_cast<double>(left[i * f.k + k]), b = std::bit_cast<double>(right[j * f.k + k]);
        sum = with_nan_of(with_nan_of(std::fma(a, b, sum), a, sum), b, b);
      }
      sums[i * f.n + j] = std::bit_cast<uint64_t>(sum);
    }
}

int64_t integer_of(CellType cell, uint64_t bits) {
  if (cell == CellType::s8) return static_cast<int8_t>(bits);
  if (cell == CellType::s4) return static_cast<int8_t>(bits << 4) >> 4;
  return static_cast<int64_t>(bits);
}

void multiply_integer(const MatrixForm& f, const uint64_t* left, const uint64_t* right, uint64_t* sums) {
  const auto numbers = [&](CellType cell, const uint64_t* from, uint32_t rows) {
    std::vector<int32_t> all(std::size_t{rows} * f.k);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int32_t>(integer_of(cell, from[i]));
    return all;
  };
  const std::vector<int32_t> a = numbers(f.left, left, f.m), b = numbers(f.right, right, f.n);
  for (uint32_t i = 0; i < f.m; ++i)
    for (uint32_t j = 0; j < f.n; ++j) {
      const int32_t *x = a.data() + i * f.k, *y = b.data() + j * f.k;
      int32_t products = 0;  // below 2^24
      if (f.left != CellType::b1)
        for (uint32_t k = 0; k < f.k; ++k) products += x[k] * y[k];
      else
        for (uint32_t k = 0; k < f.k; ++k) products += f.and_bits ? x[k] & y[k] : x[k] ^ y[k];
      int64_t sum = int64_t{static_cast<int32_t>(sums[i * f.n + j])} + products;
      if (f.saturate) sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
      sums[i * f.n + j] = static_cast<uint32_t>(sum);
    }
}

}  // namespace

Term factor_of(CellType cell, uint32_t bits) {
  if (cell == CellType::tf32) bits &= ~0x1fffu;
  return term_of(cell, bits, kFactorBits);
}
Term addend_of(CellType cell, uint32_t bits) { return term_of(cell, bits, kAddendBits); }

uint32_t tensor_sum(std::span<const Term> left, std::span<const Term> right, const Term& addend, CellType result,
                    int fraction_bits) {
  int highest = addend.exponent;
  bool special = addend.special;
  for (std::size_t k = 0; k < left.size(); ++k) {
    highest = std::max(highest, left[k].exponent + right[k].exponent);
    special = special || left[k].special || right[k].special;
  }
  if (special) return special_sum(left, right, addend, result);
  int64_t sum = cut(addend.significand, fraction_bits - kAddendBits + addend.exponent - highest);
  for (std::size_t k = 0; k < left.size(); ++k)
    sum += cut(int64_t{left[k].significand} * right[k].significand,
               fraction_bits - 2 * kFactorBits + left[k].exponent + right[k].exponent - highest);
  return rounded(sum, highest, result, fraction_bits);
}

void multiply(const MatrixForm& form, const uint64_t* left, const uint64_t* right, uint64_t* sums) {
  if (form.negative) {
    MatrixForm positive = form;
    positive.negative = false;
    std::vector<uint64_t> other(left, left + std::size_t{form.m} * form.k);
    for (uint64_t& x : other) x ^= uint64_t{1} << (bits_of(form.left) - 1);
    return multiply(positive, other.data(), right, sums);
  }
  if (form.left == CellType::f64) return multiply_double(form, left, right, sums);
  if (!is_float(form.left)) return multiply_integer(form, left, right, sums);
  if (form.quads) return multiply_quads(form, left, right, sums);
  if (form.block == 0) return multiply_small(form, left, right, sums);
  multiply_real(form, left, nullptr, right, sums);
}

void multiply_sparse(const MatrixForm& form, const uint64_t* left, const uint16_t* columns, const uint64_t* right,
                     uint64_t* sums) {
  if (is_float(form.left) && form.left != CellType::f64 && form.block != 0 && !form.negative)
    return multiply_real(form, left, columns, right, sums);
  MatrixForm row = form;
  row.m = 1, row.k = form.k / 2, row.sparse = false;
  std::vector<uint64_t> picked(std::size_t{form.n} * row.k);
  for (uint32_t i = 0; i < form.m; ++i) {
    for (uint32_t j = 0; j < form.n; ++j)
      for (uint32_t k = 0; k < row.k; ++k) picked[j * row.k + k] = right[j * form.k + columns[i * row.k + k]];
    multiply(row, left + i * row.k, picked.data(), sums + i * form.n);
  }
}

}  // namespace coalesce::machine
