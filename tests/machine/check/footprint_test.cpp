// Sets of bytes against sets of the standard library: by words, by bytes, and one with the other.
#include "machine/check/footprint.h"

#include <gtest/gtest.h>

#include <bitset>
#include <random>

namespace coalesce::machine {
namespace {

constexpr uint64_t kPage = ByteSet::kPage;

struct Both {
  ByteSet tested;
  std::bitset<kPage> known;

  void add(uint64_t at, uint64_t bytes) {
    tested.add(at, bytes);
    for (uint64_t k = at; k < at + bytes; ++k) known.set(k);
  }
};

void expect_same(const Both& b) {
  EXPECT_EQ(b.tested.empty(), b.known.none());
  for (uint64_t k = 0; k < kPage; ++k) ASSERT_EQ(b.tested.contains(k), b.known.test(k)) << "byte " << k;
}

// Up to eight ranges, of multiples of `unit`.
void fill(Both& b, uint64_t unit, std::mt19937& random) {
  for (uint32_t n = random() % 9; n > 0; --n) {
    const uint64_t at = random() % (kPage / unit) * unit, left = (kPage - at) / unit;
    b.add(at, unit * (1 + random() % std::min<uint64_t>(left, random() % 4 == 0 ? left : 40)));
  }
}

TEST(SetsOfBytes, AreThoseOfTheStandardLibrary) {
  std::mt19937 random(1);
  for (int round = 0; round < 400; ++round) {
    Both a, b;
    fill(a, round % 2 == 0 ? 4 : 1, random);
    fill(b, round / 2 % 2 == 0 ? 4 : 1, random);
    const auto common = a.known & b.known;
    EXPECT_EQ(a.tested.meets(b.tested), common.none() ? kPage : common._Find_first());
    const uint64_t from = random() % kPage, to = from + random() % (kPage + 1 - from);
    const auto gaps = ~a.known >> from << from;
    EXPECT_EQ(a.tested.first_missing(from, to), std::min<uint64_t>(gaps._Find_first(), to));
    if (round / 4 % 2 == 0) {
      a.tested.unite(b.tested);
      a.known |= b.known;
    } else {
      a.tested.remove(b.tested);
      a.known &= ~b.known;
    }
    expect_same(a);
    expect_same(b);
    a.add(8, 4);
    a.add(21, 2);
    expect_same(a);
  }
  Both whole;
  whole.tested.add_all();
  whole.known.set();
  expect_same(whole);
}

// Sets of all launches of a stream last until the host waits: they have to be small beside the memory.
TEST(SetsOfBytes, OfWordsAreSmall) { EXPECT_LE(sizeof(ByteSet), ByteSet::kPage / 4 / 8 + sizeof(void*)); }

}  // namespace
}  // namespace coalesce::machine
