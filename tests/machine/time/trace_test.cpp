// Which blocks are watched.
#include "machine/time/trace.h"

#include <gtest/gtest.h>

#include <set>

namespace coalesce::machine {
namespace {

TEST(Watched, AreBlocksOfOneMultiprocessorAndTheLast) {
  for (const uint64_t blocks : {1u, 2u, 131u, 132u, 133u, 264u, 1000u, 100000u})
    for (const uint64_t most : {1u, 2u, 6u, 24u, 192u}) {
      SCOPED_TRACE(testing::Message() << blocks << " blocks, at most " << most);
      const Watched w = watch(blocks, 132, most);
      std::set<uint64_t> watched;
      for (uint64_t b = 0; b < blocks; ++b)
        if (w.next(b) == b) watched.insert(b);
      EXPECT_EQ(watched.size(), w.number);
      EXPECT_LE(watched.size(), most);
      EXPECT_TRUE(watched.contains(blocks - 1));
      for (const uint64_t b : watched) EXPECT_EQ(b % 132, (blocks - 1) % 132);
      uint64_t of_all = 0;  // of that multiprocessor
      for (uint64_t b = 0; b < blocks; ++b) of_all += b % 132 == (blocks - 1) % 132;
      EXPECT_EQ(w.of_all, of_all);
      EXPECT_EQ(watched.size(), std::min<uint64_t>(of_all, most));
      EXPECT_EQ(w.next(blocks), blocks);
      // From any block on, the next watched one.
      for (uint64_t b = 0; b < std::min<uint64_t>(blocks, 2000); ++b) {
        const auto at = watched.lower_bound(b);
        EXPECT_EQ(w.next(b), at == watched.end() ? blocks : *at);
      }
    }
}

}  // namespace
}  // namespace coalesce::machine
