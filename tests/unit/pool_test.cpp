// The pool's threads: each job runs once by each thread that is wanted, and wherever a thread is made to begin, it may
// use all its cores again while it works.
#include <gtest/gtest.h>
#include <sched.h>

#include "machine/execute/launch.h"

namespace coalesce::machine {
namespace {

TEST(Pool, ThreadsHaveAllTheirCoresWhileTheyWork) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  Pool pool(3);
  for (unsigned round = 0; round < 20; ++round) {
    const unsigned wanted = 1 + round % 3;
    std::vector<int> ran(3), same(3);
    // All on one core in the end, so that next time they have to be kept apart.
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    pool.run(wanted, [&](unsigned number) {
      cpu_set_t mine;
      ran[number] += 1;
      same[number] = sched_getaffinity(0, sizeof mine, &mine) == 0 && CPU_EQUAL(&mine, &all);
      if (number == 0) return;
      sched_setaffinity(0, sizeof one, &one);
      sched_setaffinity(0, sizeof all, &all);
    });
    for (unsigned k = 0; k < 3; ++k) {
      EXPECT_EQ(ran[k], k < wanted) << "thread " << k << ", round " << round;
      if (k < wanted) EXPECT_TRUE(same[k]) << "thread " << k << ", round " << round;
    }
  }
}

}  // namespace
}  // namespace coalesce::machine
