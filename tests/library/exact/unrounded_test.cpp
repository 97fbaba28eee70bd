// Floats added as doubles (coalesce/detail/host/unrounded.hpp), by every adder that this CPU can run, against MPFR.
#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <coalesce/host/exact.hpp>
#include <limits>
#include <vector>

#include "tests/library/exact/cases.h"
#include "tests/library/exact/reference.h"
#include "tests/sanitized.h"

namespace {

namespace exact = coalesce::exact;
namespace in = coalesce::detail::host;
using coalesce::kSanitized;
using reference::what;

constexpr std::size_t kBlock = in::unrounded_block;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::uint32_t wanted(const std::vector<float>& x) {
  reference::number sum;
  for (const float one : x) sum.add(one);
  return sum.read<float>(what::sum);
}

// Each adder makes the same of them, whatever the program does with MXCSR; the windows alone, too.
void expect_all_right(const std::vector<float>& x, const std::string& about) {
  const std::uint32_t bits = wanted(x);
  std::vector<in::unrounded_adder> adders{nullptr};
  for (auto one = in::unrounded_adders(); *one != nullptr; ++one) adders.push_back(*one);
  exact::total<exact::range::narrow> first;
  bool is_first = true;
  for (auto passes = in::window_passes_of<float>(); passes->add != nullptr; ++passes) {
    for (std::size_t i = 0; i < adders.size(); ++i) {
      in::superaccumulator<float> sum(adders[i], *passes);
      sum.add(x.data(), x.size());
      const auto total = sum.total();
      ASSERT_EQ(exact::read<float>(total), bits) << about << ", adder " << i << ", windows of " << passes->block;
      if (is_first) first = total;
      is_first = false;
      ASSERT_EQ(memcmp(&first, &total, sizeof(total)), 0)
          << about << ", adder " << i << ", windows of " << passes->block;
    }
  }
}

// The two passes of a window against their definitions, element by element, at the edges of both halves. A sum counts
// in units of 2^-44 and of 2^-89 of 2^bound: what an element has above the first, and what is left of it above the
// second.
template <class Term>
void expect_passes_as_defined(std::uint64_t seed) {
  const int bound = 20, first = bound + 8 - 52, second = bound - 89 + 52 - 52;
  for (auto passes = in::window_passes_of<Term>(); passes->add != nullptr; ++passes) {
    ASSERT_EQ(in::largest_window_block % passes->block, 0u);
    cases::generator random(seed);
    std::vector<Term> x(passes->block);
    __int128 wanted = 0;  // in units of 2^second
    std::uint64_t largest = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const int precision = std::numeric_limits<Term>::digits;
      const std::uint64_t mantissa = random() >> (64 - precision);
      const int lowest = second + static_cast<int>(random() % static_cast<unsigned>(bound - precision - second));
      x[i] = static_cast<Term>(std::ldexp(static_cast<double>(mantissa), lowest)) * (random() % 2 != 0 ? -1 : 1);
      const __int128 value = static_cast<__int128>(mantissa) << (lowest - second);
      wanted += x[i] < 0 ? -value : value;
      const auto size = exact::to_bits(x[i]) & ~exact::sign_bit<Term>;
      largest = size > largest ? size : largest;
    }
    EXPECT_EQ(passes->largest(x.data()), largest);
    const double start1 = 1.5 * std::ldexp(1.0, bound + 8), start2 = 1.5 * std::ldexp(1.0, second + 52);
    std::int64_t sum1 = 0, sum2 = 0;
    ASSERT_TRUE(passes->add(x.data(), start1, start2, sum1, sum2));
    EXPECT_TRUE((static_cast<__int128>(sum1) << (first - second)) + sum2 == wanted) << "block " << passes->block;
    x[random() % x.size()] = static_cast<Term>(std::ldexp(1.0, second - 1));  // below the window
    EXPECT_FALSE(passes->add(x.data(), start1, start2, sum1, sum2));
  }
}

TEST(Windows, PassesAreAsDefinedOfFloatsAndDoubles) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    expect_passes_as_defined<float>(seed);
    expect_passes_as_defined<double>(seed);
  }
}

TEST(Unrounded, ABlockIsAddedExactlyOrNotAtAll) {
  long added = 0, refused = 0;
  for (auto adder = in::unrounded_adders(); *adder != nullptr; ++adder) {
    for (std::uint64_t seed = 0; seed < (kSanitized ? 20 : 200); ++seed) {
      cases::generator random(seed);
      const auto x = cases::array<float>(random, kBlock);
      alignas(64) double lanes[in::unrounded_lanes] = {0x1p-3, -0x1p9}, before[in::unrounded_lanes];
      memcpy(before, lanes, sizeof(lanes));
      reference::number sum, lanes_sum;
      sum.add(0x1p-3 - 0x1p9);
      for (const float one : x) sum.add(one);
      if ((*adder)(x.data(), lanes)) {
        ++added;
        for (const double one : lanes) lanes_sum.add(one);
        ASSERT_EQ(lanes_sum.read<double>(what::sum), sum.read<double>(what::sum)) << "seed " << seed;
      } else {
        ++refused;
        for (unsigned i = 0; i < in::unrounded_lanes; ++i)
          ASSERT_EQ(std::bit_cast<std::uint64_t>(lanes[i]), std::bit_cast<std::uint64_t>(before[i])) << "seed " << seed;
      }
    }
  }
  if (*in::unrounded_adders() == nullptr) GTEST_SKIP() << "this CPU has no such adder";
  EXPECT_GT(added, 0);
  EXPECT_GT(refused, 0);
}

// One bit too far from the others, in each place of a block and of a vector.
TEST(Unrounded, OneRoundingAnywhereIsNoticed) {
  for (auto adder = in::unrounded_adders(); *adder != nullptr; ++adder) {
    for (std::size_t place = 0; place < kBlock; place += kSanitized ? 101 : 1) {
      std::vector<float> x(kBlock, 1.0f);
      double lanes[in::unrounded_lanes] = {};
      x[place] = 0x1p-44f;  // beside up to 256 ones in a lane: 53 bits
      ASSERT_TRUE((*adder)(x.data(), lanes)) << place;
      double others[in::unrounded_lanes] = {};
      x[place] = 0x1p-53f;
      ASSERT_FALSE((*adder)(x.data(), others)) << place;
    }
  }
}

TEST(Unrounded, RandomArraysAgreeWithMpfr) {
  for (std::uint64_t seed = 0; seed < (kSanitized ? 8 : 80); ++seed) {
    cases::generator random(seed);
    std::vector<float> x;
    // Kinds that follow each other: lanes are poured, blocks are tried again, ways alternate.
    for (int kinds = 0; kinds < 3; ++kinds) {
      const auto some = cases::array<float>(random, kBlock * (random() % 3) + random() % 5000);
      x.insert(x.end(), some.begin(), some.end());
    }
    expect_all_right(x, "seed " + std::to_string(seed));
  }
}

TEST(Unrounded, SumsThatGrowArePouredInTime) {
  std::vector<float> x(kBlock * 60);
  cases::generator random(7);
  for (float& one : x) one = static_cast<float>(random() >> 40) * 0x1p-24f;  // multiples of 2^-24 below 1
  for (std::size_t i = 0; i < x.size(); i += 97) x[i] *= 0x1p-12f;
  expect_all_right(x, "positive");
  for (float& one : x) one = std::numeric_limits<float>::max();
  expect_all_right(x, "the largest");
  for (float& one : x) one = std::numeric_limits<float>::denorm_min() * 3;
  expect_all_right(x, "subnormal");
}

TEST(Unrounded, SpecialValues) {
  const auto with = [](std::initializer_list<float> some, float rest) {
    std::vector<float> x(3 * kBlock, rest);
    std::size_t at = kBlock + 5;
    for (const float one : some) x[at] = one, at += 1001;
    return x;
  };
  const float quiet = std::numeric_limits<float>::quiet_NaN(), signalling = std::numeric_limits<float>::signaling_NaN();
  expect_all_right(with({kInfinity}, 1), "infinity");
  expect_all_right(with({-kInfinity, -kInfinity}, 1), "minus infinity");
  expect_all_right(with({kInfinity, -kInfinity}, 1), "both infinities");
  expect_all_right(with({quiet}, 1), "NaN");
  expect_all_right(with({-quiet, kInfinity}, 1), "NaN and infinity");
  expect_all_right(with({signalling}, 1), "a signalling NaN");
  expect_all_right(with({}, 0.0f), "zeros");
  expect_all_right(with({}, -0.0f), "zeros of negative sign");
  expect_all_right(with({0.0f}, -0.0f), "one zero of positive sign");
  expect_all_right(with({1.0f, -1.0f}, -0.0f), "what cancels among zeros of negative sign");
}

#if defined(__x86_64__)
TEST(Unrounded, TheProgramsMxcsrNeitherMattersNorChanges) {
  std::vector<float> x(kBlock, 0x1p-149f);
  for (std::size_t i = 0; i < kBlock / 2; ++i) x[i] = 1.5f;
  const std::vector<float> rounds(kBlock, 0.1f);
  const unsigned words[] = {0x1f80,           // the default
                            0x1f80 | 0x8040,  // flush to zero, subnormals are zero
                            0x1f80 | 0x4000,  // upwards
                            0x1f80 | 0x3f,    // all flags are set
                            0x0f80};          // "inexact" would be a signal
  for (auto adder = in::unrounded_adders(); *adder != nullptr; ++adder) {
    for (const unsigned word : words) {
      double lanes[in::unrounded_lanes] = {}, little[in::unrounded_lanes] = {};
      const std::vector<float> least(kBlock, 0x1p-149f);
      unsigned before = 0, after = 0;
      asm volatile("stmxcsr %0" : "=m"(before));
      asm volatile("ldmxcsr %0" : : "m"(word));
      const bool mixed = (*adder)(x.data(), lanes), small = (*adder)(least.data(), little);
      asm volatile("stmxcsr %0" : "=m"(after));
      asm volatile("ldmxcsr %0" : : "m"(before));
      EXPECT_FALSE(mixed) << word;
      EXPECT_TRUE(small) << word;
      EXPECT_EQ(after, word);
      double sum = 0;
      for (const double one : little) sum += one;
      EXPECT_EQ(sum, 0x1p-149 * static_cast<double>(kBlock)) << word;
    }
  }
  // The windows' own arithmetic has to notice what these change.
  std::fesetround(FE_UPWARD);
  in::superaccumulator<float> sum;
  sum.add(rounds.data(), rounds.size());
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(exact::read<float>(sum.total()), wanted(rounds));
}
#endif

}  // namespace
