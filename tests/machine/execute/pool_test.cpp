// The pool's threads: each job runs once by each thread that is wanted, and wherever a thread is made to begin, it may
// use all its cores again while it works.
#include "machine/execute/pool.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/no_threads.h"

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

// Threads see what the caller wrote before a call, and the caller sees what they wrote, also under ThreadSanitizer.
TEST(Pool, EachWantedThreadRunsEachJobOnce) {
  constexpr unsigned kThreads = 5;
  Pool pool(kThreads);
  ASSERT_EQ(pool.size(), kThreads);
  std::vector<int> given(kThreads), got(kThreads), calls(kThreads), expected(kThreads);
  for (int call = 1; call <= 4000; ++call) {
    const unsigned wanted = 1 + static_cast<unsigned>(call * 7 % 11) % kThreads;
    for (int& g : given) g = call;
    pool.run(wanted, [&](unsigned number) {
      got[number] = given[number];
      calls[number] += 1;
    });
    for (unsigned k = 0; k < wanted; ++k) {
      ASSERT_EQ(got[k], call) << "thread " << k;
      expected[k] += 1;
    }
  }
  EXPECT_EQ(calls, expected);
}

TEST(Pool, ThreadsThatHaveGoneToSleepAreCalledAgain) {
  Pool pool(3);
  std::vector<int> calls(3);
  for (int call = 0; call < 5; ++call) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // ten times as long as they stay awake
    pool.run(3, [&](unsigned number) {
      if (number == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      calls[number] += 1;
    });
  }
  EXPECT_EQ(calls, std::vector<int>(3, 5));
}

TEST(Pool, EndsWithoutAJobOrRightAfterOne) {
  { const Pool never(3); }
  int ran = 0;
  {
    Pool pool(1);
    pool.run(8, [&](unsigned) { ++ran; });  // as many as there are
  }
  EXPECT_EQ(ran, 1);
  std::vector<int> calls(3);
  for (int round = 0; round < 50; ++round) {
    Pool pool(3);
    pool.run(3, [&](unsigned number) { calls[number] += 1; });
  }
  EXPECT_EQ(calls, std::vector<int>(3, 50));
}

TEST(Pool, IsTheCallerAloneWhereNoThreadCanBeStarted) {
  const NoThreads none;
  Pool pool(3);
  EXPECT_EQ(pool.size(), 1u);
  int ran = 0;
  pool.run(3, [&](unsigned) { ++ran; });
  EXPECT_EQ(ran, 1);
}

TEST(Pool, WhatAJobThrowsTheCallerGetsOnceAllHaveEnded) {
  Pool pool(3);
  for (unsigned one = 0; one < 3; ++one) {
    std::vector<int> ended(3);
    try {
      pool.run(3, [&](unsigned number) {
        if (number >= one) throw std::runtime_error(std::to_string(number));
        ended[number] = 1;
      });
      ADD_FAILURE() << "nothing thrown";
    } catch (const std::runtime_error& e) {
      EXPECT_EQ(e.what(), std::to_string(one)) << "the first one's";
    }
    for (unsigned k = 0; k < one; ++k) EXPECT_EQ(ended[k], 1);
  }
  int ran = 0;
  pool.run(1, [&](unsigned) { ++ran; });
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace coalesce::machine
