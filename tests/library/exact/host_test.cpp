// The CPU's exact sums against MPFR. COALESCE_EXACT_CASES=1000000 runs a million random cases instead of a sample.
#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <coalesce/detail/exact/variance.hpp>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "tests/library/exact/cases.h"
#include "tests/library/exact/reference.h"
#include "tests/sanitized.h"

namespace {

using coalesce::bfloat16_bits;
using coalesce::half_bits;
namespace exact = coalesce::exact;
namespace host = coalesce::host;
using coalesce::kSanitized;
using reference::what;

long case_count() {
  const char* asked = std::getenv("COALESCE_EXACT_CASES");
  return asked != nullptr ? std::atol(asked) : kSanitized ? 2000 : 12000;
}

template <class T>
class Host : public testing::Test {};
using element_types = testing::Types<half_bits, bfloat16_bits, float, double>;
TYPED_TEST_SUITE(Host, element_types);

template <class T>
T bits(typename exact::format<T>::bits b) {
  return exact::from_bits<T>(b);
}

TYPED_TEST(Host, RandomArraysAgreeWithMpfr) {
  using T = TypeParam;
  const long cases = case_count() / 4;
  for (long seed = 0; seed < cases; ++seed) {
    cases::generator random(static_cast<std::uint64_t>(seed));
    const std::size_t count = cases::size(random);
    const auto x = cases::array<T>(random, count), y = cases::array<T>(random, count);
    reference::number sum, dot, squares;
    for (std::size_t i = 0; i < count; ++i) sum.add(x[i]);
    ASSERT_EQ(exact::to_bits(host::exact_sum(x.data(), count)), sum.read<T>(what::sum))
        << "seed " << seed << ", " << count;
    ASSERT_EQ(exact::to_bits(host::exact_mean(x.data(), count)), sum.read<T>(what::mean, count))
        << "seed " << seed << ", " << count;
    for (std::size_t i = 0; i < count; ++i) dot.add_product(x[i], y[i]);
    ASSERT_EQ(exact::to_bits(host::exact_dot(x.data(), y.data(), count)), dot.read<T>(what::sum))
        << "seed " << seed << ", " << count;
    if (seed % 2 == 0) continue;
    for (std::size_t i = 0; i < count; ++i) squares.add_product(x[i], x[i]);
    ASSERT_EQ(exact::to_bits(host::exact_sum_of_squares(x.data(), count)), squares.read<T>(what::sum))
        << "seed " << seed;
    ASSERT_EQ(exact::to_bits(host::exact_norm2(x.data(), count)), squares.read<T>(what::root))
        << "seed " << seed << ", " << count;
  }
}

TYPED_TEST(Host, OrderChunksThreadsAndMergesChangeNothing) {
  using T = TypeParam;
  for (std::uint64_t seed = 0; seed < (kSanitized ? 6 : 24); ++seed) {
    cases::generator random(seed + 1000000);
    auto x = cases::array<T>(random, 9000 + random() % 3000);
    host::exact_accumulator<T> whole, parts, backwards;
    whole.add(x.data(), x.size(), 1);
    for (std::size_t begin = 0; begin < x.size();) {
      const std::size_t now = std::min<std::size_t>(x.size() - begin, random() % 2 ? random() % 5000 : random() % 9);
      host::exact_accumulator<T> part;
      part.add(x.data() + begin, now, static_cast<unsigned>(1 + random() % 3));
      if (random() % 2) {
        parts.merge(part);
      } else {
        part.merge(parts);
        parts = part;
      }
      begin += now;
    }
    std::shuffle(x.begin(), x.end(), random);
    for (const T& v : x) backwards.add(v);
    unsigned char a[host::exact_accumulator<T>::stored_bytes], b[sizeof(a)], c[sizeof(a)];
    whole.store(a);
    parts.store(b);
    backwards.store(c);
    ASSERT_EQ(memcmp(a, b, sizeof(a)), 0) << "seed " << seed;
    ASSERT_EQ(memcmp(a, c, sizeof(a)), 0) << "seed " << seed;
    host::exact_accumulator<T> loaded;
    ASSERT_TRUE(loaded.load(a));
    ASSERT_EQ(exact::to_bits(loaded.sum()), exact::to_bits(whole.sum()));
  }
}

TYPED_TEST(Host, EdgesOfTheRange) {
  using T = TypeParam;
  using B = typename exact::format<T>::bits;
  const T largest = bits<T>(exact::infinity<T> - 1), least = bits<T>(1), minus_zero = bits<T>(exact::sign_bit<T>),
          zero = bits<T>(0);
  const auto sum = [](std::vector<T> x) {
    host::exact_accumulator<T> singly;
    for (const T& one : x) singly.add(one);
    const auto result = exact::to_bits(host::exact_sum(x.data(), x.size()));
    EXPECT_EQ(exact::to_bits(singly.sum()), result);
    return result;
  };
  const T minus_largest = cases::negated(largest), minus_least = cases::negated(least);
  EXPECT_EQ(sum({}), B(0));
  EXPECT_EQ(sum({minus_zero}), exact::sign_bit<T>);
  EXPECT_EQ(sum({minus_zero, minus_zero}), exact::sign_bit<T>);
  EXPECT_EQ(sum({minus_zero, zero}), B(0));
  EXPECT_EQ(sum({least, minus_least, minus_zero}), B(0));
  EXPECT_EQ(sum({largest, largest}), exact::infinity<T>);
  EXPECT_EQ(sum({minus_largest, minus_largest}), B(exact::infinity<T> | exact::sign_bit<T>));
  EXPECT_EQ(sum({largest, largest, minus_largest}), exact::infinity<T> - 1);
  EXPECT_EQ(sum({largest, least}), exact::infinity<T> - 1);
  // Half of the last place above the largest is a tie, and goes to the even neighbour, infinity; a hair less does not.
  const T half_place = bits<T>(
      static_cast<B>((exact::infinity<T> >> (exact::format<T>::precision - 1)) - 1 - exact::format<T>::precision)
      << (exact::format<T>::precision - 1));
  EXPECT_EQ(sum({largest, half_place}), exact::infinity<T>);
  EXPECT_EQ(sum({largest, half_place, minus_least}), exact::infinity<T> - 1);
  const T inf = bits<T>(exact::infinity<T>), minus_inf = cases::negated(inf), nan = bits<T>(exact::infinity<T> + 1);
  EXPECT_EQ(sum({inf, minus_largest}), exact::infinity<T>);
  EXPECT_EQ(sum({minus_inf, largest}), B(exact::infinity<T> | exact::sign_bit<T>));
  EXPECT_EQ(sum({inf, minus_inf}), exact::quiet_nan<T>);
  EXPECT_EQ(sum({cases::negated(nan), largest}), exact::quiet_nan<T>);
  EXPECT_EQ(exact::to_bits(host::exact_mean(&zero, 0)), exact::quiet_nan<T>);
  const T half_least[] = {least, zero};  // the mean is half of the least subnormal: a tie, to 0
  EXPECT_EQ(exact::to_bits(host::exact_mean(half_least, 2)), B(0));
  const T more[] = {least, least, zero};  // two thirds of it
  EXPECT_EQ(exact::to_bits(host::exact_mean(more, 3)), B(1));
  const T large[] = {largest, largest, largest};
  EXPECT_EQ(exact::to_bits(host::exact_mean(large, 3)), exact::infinity<T> - 1);
  EXPECT_EQ(exact::to_bits(host::exact_norm2(large, 1)), exact::infinity<T> - 1);
  EXPECT_EQ(exact::to_bits(host::exact_norm2(&least, 1)), B(1));
  EXPECT_EQ(exact::to_bits(host::exact_dot(&minus_zero, &largest, 1)), exact::sign_bit<T>);
  EXPECT_EQ(exact::to_bits(host::exact_dot(&inf, &zero, 1)), exact::quiet_nan<T>);
}

TYPED_TEST(Host, CarriesRunThroughAllBins) {
  using T = TypeParam;
  using B = typename exact::format<T>::bits;
  // The least of each exponent, from the highest down, then their negatives plus one least subnormal: a borrow through
  // everything.
  std::vector<T> x;
  const unsigned fields = static_cast<unsigned>(exact::infinity<T> >> (exact::format<T>::precision - 1));
  for (unsigned f = fields - 1; f > 0; --f)
    x.push_back(bits<T>(static_cast<B>(B(f) << (exact::format<T>::precision - 1))));
  for (unsigned f = fields - 1; f > 0; --f)
    x.push_back(bits<T>(static_cast<B>(B(f) << (exact::format<T>::precision - 1) | exact::sign_bit<T>)));
  x.push_back(bits<T>(static_cast<B>(1 | exact::sign_bit<T>)));
  for (int repeat = 0; repeat < 9; ++repeat) {
    host::exact_accumulator<T> a;
    for (int r = 0; r <= repeat; ++r) a.add(x.data(), x.size());
    EXPECT_EQ(exact::to_bits(a.sum()), B(exact::sign_bit<T> | B(repeat + 1)));
  }
}

TYPED_TEST(Host, ManyElementsOfOneKind) {
  using T = TypeParam;
  using B = typename exact::format<T>::bits;
  const std::size_t count = 300000;
  const T largest = bits<T>(exact::infinity<T> - 1);
  std::vector<T> x(count, largest);
  for (std::size_t i = 1; i < count; i += 2) x[i] = cases::negated(largest);
  EXPECT_EQ(exact::to_bits(host::exact_sum(x.data(), count)), B(0));
  EXPECT_EQ(exact::to_bits(host::exact_sum(x.data(), count - 1)), exact::infinity<T> - 1);
  x.assign(count, largest);
  EXPECT_EQ(exact::to_bits(host::exact_mean(x.data(), count, 2)), exact::infinity<T> - 1);
  x.assign(count, bits<T>(B(3)));
  EXPECT_EQ(exact::to_bits(host::exact_mean(x.data(), count)), B(3));
}

// (n x squares - sum^2) / n^2 in MPFR, with room for every bit of the numerator.
TYPED_TEST(Host, VariancesAreRoundedOnce) {
  using T = TypeParam;
  for (std::uint64_t seed = 0; seed < (kSanitized ? 40 : 400); ++seed) {
    cases::generator random(seed + 77);
    auto x = cases::array<T>(random, 1 + random() % 40);
    if (seed % 5 == 0) std::fill(x.begin(), x.end(), x[0]);
    host::exact_accumulator<T> sum;
    host::exact_accumulator<T, exact::format<T>::dot> squares;
    sum.add(x.data(), x.size());
    squares.add_products(x.data(), x.data(), x.size());
    const double got = exact::from_bits<double>(exact::variance<double>(sum.total(), squares.total(), x.size()));
    EXPECT_EQ(exact::to_bits(got), reference::variance(x)) << "seed " << seed;
  }
  const exact::total<exact::format<T>::sum> nothing = host::exact_accumulator<T>().total();
  const exact::total<exact::format<T>::dot> none = host::exact_accumulator<T, exact::format<T>::dot>().total();
  EXPECT_EQ(exact::variance<float>(nothing, none, 0), exact::quiet_nan<float>);
  EXPECT_EQ(exact::variance<float>(nothing, none, ~std::uint64_t(0)), 0u);
}

TEST(Host, MoreElementsThan31Bits) {
  if (std::getenv("COALESCE_EXACT_CASES") == nullptr) GTEST_SKIP() << "2^32 additions: set COALESCE_EXACT_CASES";
  const std::size_t chunk = 1 << 22;
  std::vector<float> x(chunk, 0.1f);
  host::exact_accumulator<float> sum;
  std::uint64_t count = 0;
  for (; count < (std::uint64_t(1) << 32) + chunk; count += chunk) sum.add(x.data(), chunk);
  EXPECT_EQ(sum.mean(count), 0.1f);
  EXPECT_EQ(sum.sum<double>(),
            static_cast<double>(0.1f) * static_cast<double>(count));  // 24 + 11 bits: exact in a double
}

TEST(Host, WhatIsNoStoredAccumulatorIsNotLoaded) {
  host::exact_accumulator<float> a;
  a.add(1.5f);
  unsigned char bytes[a.stored_bytes];
  a.store(bytes);
  const unsigned char header[8] = {'c', 'x', 'a', 'c', 1, 1, exact::something, 0};
  EXPECT_EQ(memcmp(bytes, header, 8), 0);
  EXPECT_TRUE(a.load(bytes));
  for (int i : {0, 4, 5, 7}) {  // magic, version, range, the byte that is 0
    bytes[i] ^= 3;
    EXPECT_FALSE(a.load(bytes)) << i;
    bytes[i] ^= 3;
  }
  bytes[6] = exact::plus_infinity | exact::something;  // with words that are not 0: not canonical
  EXPECT_FALSE(a.load(bytes));
  EXPECT_EQ(a.sum(), 1.5f);
}

TEST(Host, OtherTypesCanBeRead) {
  const float x[] = {1.0f, 0x1p-40f};
  host::exact_accumulator<float> a;
  a.add(x, 2);
  EXPECT_EQ(a.sum(), 1.0f);
  EXPECT_EQ(a.sum<double>(), 1.0 + 0x1p-40);
  EXPECT_EQ(a.sum<bfloat16_bits>().bits, 0x3f80);
}

}  // namespace
