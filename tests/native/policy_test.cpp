// When a kernel is worth native code: the thresholds of design.md's table, from both sides.
#include "native/tier/policy.h"

#include <gtest/gtest.h>

namespace coalesce::native {
namespace {

// One of 1000 thread blocks is done; all are alike.
Progress launch(uint64_t a_block, uint64_t threads = 1, uint64_t code_size = 1000) {
  return {.executed = a_block, .done = 1, .blocks = 1001, .threads = threads, .code_size = code_size};
}

TEST(Policy, WorkThatRemains) {
  EXPECT_EQ(remaining_work(launch(50)), 50'000);
  EXPECT_EQ(remaining_work({.executed = 90, .done = 3, .blocks = 3}), 0);
  // Before a block has ended each warp is taken to execute each instruction once.
  EXPECT_EQ(remaining_work({.blocks = 10, .warps_per_block = 8, .code_size = 20}), 1600);
}

TEST(Policy, AProbePaysFromAMillionOn) {
  EXPECT_FALSE(is_worth_a_probe(launch(998)));
  EXPECT_TRUE(is_worth_a_probe(launch(1'000)));
  EXPECT_FALSE(is_worth_a_probe({.earlier = 999'999, .code_size = 1}));
  EXPECT_TRUE(is_worth_a_probe({.earlier = 999'990, .executed = 10, .code_size = 1}));
}

TEST(Policy, BackgroundForWhatIsLongAndForegroundForWhatPaysAtOnce) {
  EXPECT_EQ(priority_of(launch(15'999), false), Priority::none);
  EXPECT_EQ(priority_of(launch(16'000), false), Priority::background);
  EXPECT_EQ(priority_of(launch(16'000, 2), false), Priority::none) << "for each thread";
  EXPECT_EQ(priority_of(launch(16'000), true), Priority::foreground) << "an earlier process wanted it";
  EXPECT_EQ(priority_of(launch(30'000, 1, 10), false), Priority::foreground) << "3 million for each instruction";
  EXPECT_EQ(priority_of(launch(29'999, 1, 10), false), Priority::background);
}

TEST(Policy, LaunchesThatAreRepeated) {
  EXPECT_EQ(priority_of({.earlier = 20'000'000}, false), Priority::foreground);
  EXPECT_EQ(priority_of({.earlier = 19'999'999}, false), Priority::none);
  EXPECT_EQ(priority_of({.earlier = 19'999'999, .executed = 1}, false), Priority::background);
}

}  // namespace
}  // namespace coalesce::native
