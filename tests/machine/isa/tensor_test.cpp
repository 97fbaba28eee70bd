// Sums of the tensor cores: the rule, written again with double precision; and by hand where it shows.
#include "machine/execute/ops/tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <tuple>

#include "machine/execute/ops/tensor_doubles.h"
#include "machine/execute/ops/tensor_registers.h"

namespace coalesce::machine {
namespace tensors {

struct Written {
  int exponent_bits, fraction_bits;
};
Written written(CellType c) {
  return c == CellType::f16 ? Written{5, 10} : c == CellType::bf16 ? Written{8, 7} : Written{8, 23};
}

struct Number {
  double value = 0;
  int exponent = -1000;
};
// From the bits of a finite number; of tf32 without the low 13 bits.
Number number_of(CellType c, uint32_t bits) {
  const Written w = written(c);
  if (c == CellType::tf32) bits = bits >> 13 << 13;
  const int top = static_cast<int>(bits >> w.fraction_bits) & ((1 << w.exponent_bits) - 1);
  const double fraction = bits % (1u << w.fraction_bits) * std::pow(2.0, -w.fraction_bits);
  const int bias = (1 << (w.exponent_bits - 1)) - 1;
  Number n;
  n.value = top ? (1 + fraction) * std::pow(2.0, top - bias) : fraction * std::pow(2.0, 1 - bias);
  if (n.value != 0) n.exponent = top ? top - bias : 1 - bias;
  if (bits >> (w.exponent_bits + w.fraction_bits) & 1) n.value = -n.value;
  return n;
}

// Cut off 25 bits below the largest exponent, added, rounded.
double rule(const std::vector<Number>& a, const std::vector<Number>& b, const Number& c, int* exponent) {
  int highest = c.exponent;
  for (std::size_t k = 0; k < a.size(); ++k) highest = std::max(highest, a[k].exponent + b[k].exponent);
  const double unit = std::pow(2.0, highest - 25);
  double sum = std::trunc(c.value / unit);
  for (std::size_t k = 0; k < a.size(); ++k) sum += std::trunc(a[k].value * b[k].value / unit);
  *exponent = highest - 25;
  return sum;
}
uint32_t as_single(double sum, int exponent) {
  double v = sum * std::pow(2.0, exponent);
  auto f = static_cast<float>(v);
  if (std::fabs(static_cast<double>(f)) > std::fabs(v)) f = std::nextafterf(f, 0.0f);
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  return bits & 0x7fffffff ? bits : 0;
}
// Halves by search: the nearest, of two equally near ones the even one.
uint32_t as_half(double sum, int exponent) {
  const double v = std::fabs(sum * std::pow(2.0, exponent));
  uint32_t best = 0;
  if (v >= 65520) {
    best = 0x7c00;
  } else {
    uint32_t low = 0, high = 0x7bff;
    while (low < high) {
      const uint32_t middle = (low + high + 1) / 2;
      number_of(CellType::f16, middle).value <= v ? low = middle : high = middle - 1;
    }
    const double below = v - number_of(CellType::f16, low).value;
    const double above = (low == 0x7bff ? 65536 : number_of(CellType::f16, low + 1).value) - v;
    best = below < above || (below == above && low % 2 == 0) ? low : low + 1;
  }
  return sum < 0 && best ? best | 0x8000 : best;
}

uint32_t computed(CellType cell, const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, uint32_t c,
                  CellType result) {
  std::vector<Term> left, right;
  for (const uint32_t x : a) left.push_back(factor_of(cell, x));
  for (const uint32_t x : b) right.push_back(factor_of(cell, x));
  return tensor_sum(left, right, addend_of(result, c), result);
}

TEST(TensorSum, KeepsTwentyFiveBitsBelowTheLargest) {
  const uint32_t one = 0x3c00, tiny = 0x0800;  // 2^-13 as f16: 2^-13 = exponent field 2
  const std::vector<uint32_t> small(16, tiny);
  std::vector<uint32_t> factors(16, 0);
  const auto with = [&](uint32_t count, uint32_t factor) {
    std::vector<uint32_t> f(16, 0);
    for (uint32_t k = 0; k < count; ++k) f[k] = factor;
    return computed(CellType::f16, small, f, 0x3f800000, CellType::f32);
  };
  const uint32_t to_minus_26 = 0x0800, to_minus_25 = 0x0c00;  // 2^-13 * 2^-13, 2^-13 * 2^-12
  EXPECT_EQ(with(16, to_minus_26), 0x3f800000u) << "2^-26 is cut off, sixteen times";
  EXPECT_EQ(with(3, to_minus_25), 0x3f800000u) << "1 + 3 * 2^-25, towards zero";
  EXPECT_EQ(with(4, to_minus_25), 0x3f800001u);
  EXPECT_EQ(computed(CellType::f16, {one, one}, {one, 0xbc00}, 0x80000000, CellType::f32), 0u) << "no zero is negative";
}

TEST(TensorSum, RoundsHalvesToNearestEven) {
  const std::vector<uint32_t> one{0x3c00};
  EXPECT_EQ(computed(CellType::f16, one, {0x1000}, 0x3c00, CellType::f16), 0x3c00u) << "1 + 2^-11";
  EXPECT_EQ(computed(CellType::f16, one, {0x1000}, 0x3c01, CellType::f16), 0x3c02u);
  EXPECT_EQ(computed(CellType::f16, one, {0x7bff}, 0x7bff, CellType::f16), 0x7c00u);
}

TEST(TensorSum, InfinitiesAndNaNs) {
  const uint32_t infinity = 0x7c00, one = 0x3c00, nan = 0x7e01;
  EXPECT_EQ(computed(CellType::f16, {infinity}, {one}, 0, CellType::f32), 0x7f800000u);
  EXPECT_EQ(computed(CellType::f16, {infinity}, {0xbc00}, 0, CellType::f32), 0xff800000u);
  EXPECT_EQ(computed(CellType::f16, {infinity}, {0}, 0, CellType::f32), 0x7fffffffu);
  EXPECT_EQ(computed(CellType::f16, {infinity}, {one}, 0xff800000, CellType::f32), 0x7fffffffu);
  EXPECT_EQ(computed(CellType::f16, {nan}, {one}, 0, CellType::f16), 0x7fffu);
}

TEST(TensorSum, RandomOnesFollowTheRule) {
  std::mt19937 random(29);
  for (const auto& [cell, block] : {std::pair{CellType::f16, 16u}, {CellType::bf16, 16u}, {CellType::tf32, 8u}}) {
    const Written w = written(cell);
    const auto factor = [&] {
      // Exponents near each other, so that all bits matter; some zeros and subnormals.
      const uint32_t bits = static_cast<uint32_t>(random());
      const uint32_t spread = random() % 24, middle = (1u << (w.exponent_bits - 1)) - 13;
      uint32_t top = random() % 16 ? middle + spread : 0;
      if (w.exponent_bits == 5) top = random() % 31;
      return (bits & ((1u << w.fraction_bits) - 1)) | top << w.fraction_bits |
             (bits >> 31) << (w.exponent_bits + w.fraction_bits);
    };
    for (int n = 0; n < 20000; ++n) {
      for (const CellType result : {CellType::f32, CellType::f16}) {
        if (result == CellType::f16 && cell != CellType::f16) continue;
        std::vector<uint32_t> a(block), b(block);
        std::vector<Number> left, right;
        for (uint32_t& x : a) left.push_back(number_of(cell, x = factor()));
        for (uint32_t& x : b) right.push_back(number_of(cell, x = factor()));
        uint32_t c = static_cast<uint32_t>(random());
        c = result == CellType::f16 ? (c & 0x83ffu) | random() % 31 << 10
                                    : (c & 0x807fffffu) | (random() % 16 ? 115 + random() % 24 : 0) << 23;
        int exponent = 0;
        const double sum = rule(left, right, number_of(result, c), &exponent);
        const uint32_t expected = result == CellType::f16 ? as_half(sum, exponent) : as_single(sum, exponent);
        ASSERT_EQ(computed(cell, a, b, c, result), sum == 0 ? 0 : expected) << n;
      }
    }
  }
}

// Registers of random numbers, by vectors, beside the rule for each sum.
struct Registers {
  MatrixForm form;
  std::vector<uint32_t> words;  // of left, right, sums: 32 a register
  std::size_t lefts, rights, sums;

  explicit Registers(const MatrixForm& f)
      : form(f),
        lefts(left_tiles(f.m, f.k, f.left).size()),
        rights(right_tiles(f.n, f.k, f.right).size()),
        sums(sum_tiles(f.m, f.n).size() * registers_of_sums(f.addend)) {
    words.resize((lefts + rights + sums) * 32);
  }
  uint32_t factor(bool right, uint32_t row, uint32_t k) const {
    const auto tiles = right ? right_tiles(form.n, form.k, form.right) : left_tiles(form.m, form.k, form.left);
    const uint32_t run = run_of(form.left);
    for (std::size_t t = 0; t < tiles.size(); ++t) {
      const uint32_t r = row - tiles[t].row, c = k - tiles[t].column;
      if (r < 8 && c < 4 * run)
        return words[((right ? lefts : 0) + t) * 32 + r * 4 + c / run] >> c % run * 16 & (run == 1 ? ~0u : 0xffffu);
    }
    return 0;
  }
  uint32_t sum(const uint32_t* from, uint32_t row, uint32_t column) const {
    const std::vector<Tile> tiles = sum_tiles(form.m, form.n);
    for (std::size_t t = 0; t < tiles.size(); ++t) {
      const uint32_t r = row - tiles[t].row, c = column - tiles[t].column, lane = r * 4 + c / 2;
      if (r >= 8 || c >= 8) continue;
      return form.result == CellType::f16 ? from[t * 32 + lane] >> c % 2 * 16 & 0xffff
                                          : from[(2 * t + c % 2) * 32 + lane];
    }
    return 0;
  }
  bool multiply(std::vector<uint32_t>& to) const {
    std::vector<const uint32_t*> from;
    for (std::size_t i = 0; i < words.size(); i += 32) from.push_back(words.data() + i);
    to.resize(sums * 32);
    std::vector<uint32_t*> registers;
    for (std::size_t i = 0; i < to.size(); i += 32) registers.push_back(to.data() + i);
    return multiply_registers(form, from.data(), from.data() + lefts, from.data() + lefts + rights, registers.data());
  }
};

MatrixForm form_of(CellType cell, CellType sum, uint16_t n, uint16_t k, uint16_t block, bool negative) {
  MatrixForm f;
  f.action = MatrixForm::Action::multiply;
  f.m = 16, f.n = n, f.k = k, f.block = block;
  f.left = f.right = cell, f.addend = f.result = sum, f.negative = negative;
  return f;
}

TEST(TensorRegisters, FollowTheRule) {
  std::mt19937 random(31);
  const MatrixForm forms[] = {
      form_of(CellType::f16, CellType::f32, 8, 16, 16, false), form_of(CellType::f16, CellType::f16, 8, 8, 8, false),
      form_of(CellType::f16, CellType::f16, 24, 16, 16, true), form_of(CellType::bf16, CellType::f32, 16, 16, 16, true),
      form_of(CellType::tf32, CellType::f32, 8, 8, 4, false),  form_of(CellType::tf32, CellType::f32, 16, 8, 8, true)};
  for (const MatrixForm& f : forms)
    for (int round = 0; round < 60; ++round) {
      ASSERT_TRUE(takes_registers(f));
      Registers r(f);
      const uint32_t spread = 1 + random() % 20;
      for (std::size_t i = 0; i < r.words.size(); ++i) {
        const bool half = i / 32 < r.lefts + r.rights ? f.left == CellType::f16 : f.addend == CellType::f16;
        const bool wide = i / 32 < r.lefts + r.rights ? f.left == CellType::tf32 : f.addend == CellType::f32;
        const auto top = [&] { return half ? random() % 31 : random() % 8 ? 127 - spread / 2 + random() % spread : 0; };
        uint32_t word = static_cast<uint32_t>(random());
        if (half)
          word = (word & 0x83ff83ff) | static_cast<uint32_t>(top() << 10 | top() << 26);
        else if (wide)
          word = static_cast<uint32_t>((word & 0x807fffff) | top() << 23);
        else
          word = static_cast<uint32_t>((word & 0x807f807f) | top() << 7 | top() << 23);
        if (!half && (word & 0x7f800000) == 0) word &= ~0x7fffffu;  // subnormal ones are not for vectors
        if (!half && !wide && (word & 0x7f80) == 0) word &= ~0x7fu;
        r.words[i] = word;
      }
      std::vector<uint32_t> got;
      ASSERT_TRUE(r.multiply(got));
      for (uint32_t m = 0; m < 16; ++m)
        for (uint32_t n = 0; n < f.n; ++n) {
          uint32_t expected = r.sum(r.words.data() + (r.lefts + r.rights) * 32, m, n);
          for (uint32_t first = 0; first < f.k; first += f.block) {
            std::vector<Number> a, b;
            for (uint32_t k = first; k < first + f.block; ++k) {
              a.push_back(number_of(f.left, r.factor(false, m, k)));
              if (f.negative) a.back().value = -a.back().value;
              b.push_back(number_of(f.right, r.factor(true, n, k)));
            }
            int exponent = 0;
            const double sum = rule(a, b, number_of(f.result, expected), &exponent);
            expected = sum == 0 ? 0 : f.result == CellType::f16 ? as_half(sum, exponent) : as_single(sum, exponent);
          }
          ASSERT_EQ(r.sum(got.data(), m, n), expected) << m << ", " << n << ", " << round;
        }
    }
}

// Numbers read of the same words are not kept where they mean something else.
TEST(TensorRegisters, AreReadAnewForAnotherForm) {
  const auto sum_of = [](CellType cell, bool negative, uint32_t changed) {
    Registers r(form_of(cell, CellType::f32, 8, 16, 16, negative));
    std::fill(r.words.begin(), r.words.begin() + static_cast<std::ptrdiff_t>(32 * (r.lefts + r.rights)), 0x40004000u);
    r.words[0] ^= changed;
    std::vector<uint32_t> got;
    EXPECT_TRUE(r.multiply(got));
    EXPECT_TRUE(r.multiply(got)) << "again";
    return std::bit_cast<float>(got[0]);
  };
  EXPECT_EQ(sum_of(CellType::f16, false, 0), 64);  // 16 times 2 * 2, and bf16 has a 2 with the same bits
  EXPECT_EQ(sum_of(CellType::f16, true, 0), -64);
  EXPECT_EQ(sum_of(CellType::bf16, true, 0), -64);
  EXPECT_EQ(sum_of(CellType::bf16, false, 0x40), 66);    // 0x4040 is 3
  EXPECT_EQ(sum_of(CellType::f16, false, 0x40), 64.25);  // 0x4040 is 2.125
}

TEST(TensorRegisters, LeaveExtremesToOthers) {
  for (const auto& [cell, sum, word, where] : {std::tuple{CellType::f16, CellType::f32, 0x7c00u, 0},
                                               {CellType::f16, CellType::f16, 0xfe000000u, 1},
                                               {CellType::bf16, CellType::f32, 0x00000001u, 0},
                                               {CellType::bf16, CellType::f32, 0x7f7f0000u, 1},
                                               {CellType::tf32, CellType::f32, 0x00800000u, 1},
                                               {CellType::tf32, CellType::f32, 0x7f800000u, 2},
                                               {CellType::f16, CellType::f32, 0x00000001u, 2},
                                               {CellType::f16, CellType::f16, 0x7c00u, 2}}) {
    const uint16_t k = cell == CellType::tf32 ? 8 : 16;
    Registers r(form_of(cell, sum, 8, k, k, false));
    std::vector<uint32_t> got;
    EXPECT_TRUE(r.multiply(got)) << "zeros";
    EXPECT_EQ(std::count(got.begin(), got.end(), 0u), static_cast<std::ptrdiff_t>(got.size()));
    r.words[(where == 0 ? 0 : where == 1 ? r.lefts : r.lefts + r.rights) * 32 + 5] = word;
    EXPECT_FALSE(r.multiply(got)) << word;
  }
}

// Doubles in registers as `multiply` makes them of matrices; what is not finite is left to it.
TEST(TensorDoubles, FollowTheRule) {
  std::mt19937_64 random(41);
  for (const auto& [m, k] : {std::pair<uint16_t, uint16_t>{8, 4}, {16, 4}, {16, 8}, {16, 16}}) {
    MatrixForm f = form_of(CellType::f64, CellType::f64, 8, k, k, false);
    f.m = m;
    const auto left = left_tiles(m, k, CellType::f64), right = right_tiles(8, k, CellType::f64), sums = sum_tiles(m, 8);
    std::vector<std::array<double, 32>> registers(left.size() + right.size() + 2 * sums.size());
    std::vector<uint64_t> a(m * k), b(8u * k), c(m * 8u);
    for (auto& r : registers)
      for (double& x : r) x = std::bit_cast<double>((random() & ~(uint64_t{7} << 60)) | uint64_t{3} << 60);
    const auto each = [&](auto use) {  // element of a matrix, its place in a register
      std::size_t r = 0;
      for (const Tile& t : left) {
        for (uint32_t l = 0; l < 32; ++l) use(a[(t.row + l / 4) * k + t.column + l % 4], registers[r][l]);
        ++r;
      }
      for (const Tile& t : right) {
        for (uint32_t l = 0; l < 32; ++l) use(b[(t.row + l / 4) * k + t.column + l % 4], registers[r][l]);
        ++r;
      }
      for (const Tile& t : sums)
        for (uint32_t e = 0; e < 2; ++e, ++r)
          for (uint32_t l = 0; l < 32; ++l) use(c[(t.row + l / 4) * 8 + t.column + l % 4 * 2 + e], registers[r][l]);
    };
    each([](uint64_t& element, double x) { element = std::bit_cast<uint64_t>(x); });
    std::vector<const double*> from;
    for (const auto& r : registers) from.push_back(r.data());
    double got[4][32];
    const auto multiplied = [&] {
      return multiply_doubles(f, from.data(), from.data() + left.size(), from.data() + left.size() + right.size(), got);
    };
    ASSERT_TRUE(multiplied());
    multiply(f, a.data(), b.data(), c.data());
    for (std::size_t t = 0; t < sums.size(); ++t)
      for (uint32_t e = 0; e < 2; ++e)
        for (uint32_t l = 0; l < 32; ++l)
          ASSERT_EQ(std::bit_cast<uint64_t>(got[2 * t + e][l]),
                    c[(sums[t].row + l / 4) * 8 + sums[t].column + l % 4 * 2 + e]);
    registers[0][3] = std::nan("");
    EXPECT_FALSE(multiplied());
  }
}

TEST(TensorProducts, IntegersWrapOrSaturate) {
  MatrixForm f;
  f.m = f.n = 1, f.k = 2;
  f.left = CellType::s8, f.right = CellType::u8, f.addend = f.result = CellType::s32;
  const uint64_t left[] = {0x80, 0x7f}, right[] = {0xff, 1};  // -128 * 255 + 127
  uint64_t sum = 0x80000000;
  multiply(f, left, right, &sum);
  EXPECT_EQ(sum, 0x80000000u - 128 * 255 + 127);
  f.saturate = true;
  sum = 0x80000000;
  multiply(f, left, right, &sum);
  EXPECT_EQ(sum, 0x80000000u);
  f.left = f.right = CellType::b1, f.saturate = false;
  const uint64_t bits[] = {1, 0}, ones[] = {1, 1};
  sum = 5;
  multiply(f, bits, ones, &sum);
  EXPECT_EQ(sum, 6u) << "xor";
  f.and_bits = true;
  sum = 5;
  multiply(f, ones, ones, &sum);
  EXPECT_EQ(sum, 7u);
}

TEST(TensorProducts, EightBitReals) {
  MatrixForm f;
  f.m = f.n = 1, f.k = 4;
  f.left = CellType::e4m3, f.right = CellType::e5m2, f.addend = f.result = CellType::f32;
  const uint64_t left[] = {0x38, 0x01, 0xc8, 0x7e};   // 1, 2^-9, -4, 448
  const uint64_t right[] = {0x3c, 0x7b, 0x40, 0x01};  // 1, 57344, 2, 2^-16
  uint64_t sum = 0x3f800000;
  multiply(f, left, right, &sum);
  const double expected = 1 + 1 + 112 - 8 + 448.0 / 65536;
  float as_float;
  const auto low = static_cast<uint32_t>(sum);
  std::memcpy(&as_float, &low, 4);
  EXPECT_EQ(static_cast<double>(as_float), expected);
  const uint64_t nan[] = {0x7f, 0, 0, 0};
  multiply(f, nan, right, &sum);
  EXPECT_EQ(sum, kNanSingle);
}

}  // namespace tensors
}  // namespace coalesce::machine
