#include "machine/execute/ops/tensor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "machine/execute/ops/half.h"

namespace coalesce::machine {

namespace {

constexpr int kFactorBits = 10, kAddendBits = 23;

// How a small floating-point type is written.
struct Layout {
  int exponent_bits, fraction_bits;
  bool has_infinity;  // else only all ones are not a number
};
Layout layout_of(CellType cell) {
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
  t.value = std::ldexp(t.significand, t.exponent - kept);
  return t;
}

int64_t cut(int64_t value, int shift) {  // value * 2^shift, towards zero
  if (shift >= 0) return value << shift;
  if (shift <= -63) return 0;
  return value < 0 ? -(-value >> -shift) : value >> -shift;
}

// sum * 2^exponent. Towards zero; what is too large is infinite.
uint32_t to_single(int64_t sum, int exponent) {
  if (sum == 0) return 0;
  const uint32_t sign = sum < 0 ? 1u << 31 : 0;
  const auto magnitude = static_cast<uint64_t>(sum < 0 ? -sum : sum);
  const int leading = 63 - std::countl_zero(magnitude), power = leading + exponent;
  if (power > 127) return sign | 0x7f800000u;
  const int unit = std::max(power, -126) - 23;  // of the result's last place
  const auto kept = static_cast<uint32_t>(cut(static_cast<int64_t>(magnitude), exponent - unit));
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
  return sign | std::min(bits, 0x7c00u);
}

uint32_t special_sum(std::span<const Term> left, std::span<const Term> right, const Term& addend, CellType result) {
  double sum = addend.value;
  for (std::size_t k = 0; k < left.size(); ++k) sum += left[k].value * right[k].value;
  if (std::isnan(sum)) return result == CellType::f16 ? kNanHalf : kNanSingle;
  const uint32_t sign = sum < 0;
  return result == CellType::f16 ? sign << 15 | 0x7c00u : sign << 31 | 0x7f800000u;
}

uint32_t half_of_small(CellType cell, uint64_t bits) {  // e4m3 and e5m2 are halves, too
  const Term t = factor_of(cell, static_cast<uint32_t>(bits));
  if (t.special) return std::isnan(t.value) ? kNanHalf : static_cast<uint32_t>((bits & 0x80) << 8 | 0x7c00);
  return (bits & 0x80 ? 0x8000u : 0) | (to_half(t.significand, t.exponent - kFactorBits) & 0x7fffu);
}

void multiply_real(const MatrixForm& f, const uint64_t* left, const uint64_t* right, uint64_t* sums) {
  std::vector<Term> a(std::size_t{f.m} * f.k), b(std::size_t{f.n} * f.k);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = factor_of(f.left, static_cast<uint32_t>(left[i]));
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = factor_of(f.right, static_cast<uint32_t>(right[i]));
  for (uint32_t i = 0; i < f.m; ++i)
    for (uint32_t j = 0; j < f.n; ++j) {
      uint64_t& sum = sums[i * f.n + j];
      auto bits = static_cast<uint32_t>(sum);
      CellType have = f.addend;
      for (uint32_t k = 0; k < f.k; k += f.block, have = f.result)
        bits = tensor_sum({a.data() + i * f.k + k, f.block}, {b.data() + j * f.k + k, f.block}, addend_of(have, bits),
                          f.result);
      sum = bits;
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
  for (uint32_t i = 0; i < f.m; ++i)
    for (uint32_t j = 0; j < f.n; ++j) {
      int64_t sum = static_cast<int32_t>(sums[i * f.n + j]);
      for (uint32_t k = 0; k < f.k; ++k) {
        const uint64_t a = left[i * f.k + k], b = right[j * f.k + k];
        if (f.left == CellType::b1)
          sum += static_cast<int64_t>(f.and_bits ? a & b : a ^ b);
        else
          sum += integer_of(f.left, a) * integer_of(f.right, b);
      }
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

uint32_t tensor_sum(std::span<const Term> left, std::span<const Term> right, const Term& addend, CellType result) {
  int highest = addend.exponent;
  bool special = addend.special;
  for (std::size_t k = 0; k < left.size(); ++k) {
    highest = std::max(highest, left[k].exponent + right[k].exponent);
    special = special || left[k].special || right[k].special;
  }
  if (special) return special_sum(left, right, addend, result);
  int64_t sum = cut(addend.significand, kFractionBits - kAddendBits + addend.exponent - highest);
  for (std::size_t k = 0; k < left.size(); ++k)
    sum += cut(int64_t{left[k].significand} * right[k].significand,
               kFractionBits - 2 * kFactorBits + left[k].exponent + right[k].exponent - highest);
  return result == CellType::f16 ? to_half(sum, highest - kFractionBits) : to_single(sum, highest - kFractionBits);
}

void multiply(const MatrixForm& form, const uint64_t* left, const uint64_t* right, uint64_t* sums) {
  if (form.left == CellType::f64) return multiply_double(form, left, right, sums);
  if (!is_float(form.left)) return multiply_integer(form, left, right, sums);
  if (form.block == 0) return multiply_small(form, left, right, sums);
  multiply_real(form, left, right, sums);
}

}  // namespace coalesce::machine
