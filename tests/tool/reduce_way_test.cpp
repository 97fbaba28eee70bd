// How a thread of `coalesce reduce` chooses between copying pieces of a file and reading them in place.
#include <gtest/gtest.h>

#include "reduce/way.h"

namespace coalesce::reduce {
namespace {

// Tells `way` what `pieces` cost; returns how many were read in place.
int read(Way& way, int pieces, double copied, double in_place) {
  int result = 0;
  for (int i = 0; i < pieces; ++i) {
    const bool chosen = way.in_place();
    way.took(chosen, chosen ? in_place : copied);
    result += chosen;
  }
  return result;
}

TEST(WayOfReading, TriesBothThenTakesTheQuicker) {
  Way copies, maps;
  EXPECT_EQ(read(copies, 6, 1, 2), 3);
  EXPECT_EQ(read(copies, 1000, 1, 2), 0);
  EXPECT_EQ(read(maps, 6, 2, 1), 3);
  EXPECT_EQ(read(maps, 1000, 2, 1), 1000);
}

TEST(WayOfReading, FirstPiecesDoNotCount) {
  Way way;
  EXPECT_EQ(read(way, 2, 1, 100), 1);  // the first mapping pays for page tables
  EXPECT_EQ(read(way, 4, 2, 1), 2);
  EXPECT_TRUE(way.in_place());
}

TEST(WayOfReading, ChangesWhenTheOtherBecomesQuicker) {
  Way way;
  EXPECT_EQ(read(way, 1006, 1, 2), 3);
  EXPECT_GT(read(way, 2000, 2, 1), 1900);
}

TEST(WayOfReading, CopiesWhereTheKernelDoesNotMap) {
  Way way;
  way.refuse();
  EXPECT_EQ(read(way, 3000, 2, 1), 0);
}

}  // namespace
}  // namespace coalesce::reduce
