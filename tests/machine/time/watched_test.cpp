// Which blocks are watched.
#include "machine/time/watched.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace coalesce::machine {
namespace {

constexpr uint64_t kMultiprocessors = 132;

TEST(Watched, AreBlocksOfSomeMultiprocessorsAndTheLast) {
  for (const uint64_t blocks : {1u, 2u, 131u, 132u, 133u, 264u, 1000u, 100000u})
    for (const uint64_t most : {1u, 2u, 6u, 24u, 192u}) {
      SCOPED_TRACE(testing::Message() << blocks << " blocks, at most " << most);
      const Watched w = watch(blocks, kMultiprocessors, most);
      std::map<uint64_t, uint64_t> all, watched;  // blocks of each multiprocessor
      std::set<uint64_t> numbers;
      for (uint64_t b = 0; b < blocks; ++b) {
        ++all[b % kMultiprocessors];
        if (w.next(b) != b) continue;
        numbers.insert(b);
        ++watched[b % kMultiprocessors];
      }
      EXPECT_EQ(numbers.size(), w.numbers.size());
      EXPECT_LE(numbers.size(), std::max(most, kMultiprocessors));
      EXPECT_TRUE(numbers.contains(blocks - 1));
      EXPECT_EQ(w.of_all, all[(blocks - 1) % kMultiprocessors]);
      for (const auto& [multiprocessor, number] : watched) EXPECT_EQ(number, std::min(all[multiprocessor], most));
      // Where not all of one are watched, one is enough; where each has one block, all.
      if (w.of_all > most) EXPECT_EQ(watched.size(), 1u);
      if (blocks <= kMultiprocessors) EXPECT_EQ(numbers.size(), blocks);
      EXPECT_EQ(w.next(blocks), blocks);
      // From any block on, the next watched one.
      for (uint64_t b = 0; b < std::min<uint64_t>(blocks, 2000); ++b) {
        const auto at = numbers.lower_bound(b);
        EXPECT_EQ(w.next(b), at == numbers.end() ? blocks : *at);
      }
    }
}

}  // namespace
}  // namespace coalesce::machine
