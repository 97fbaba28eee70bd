// The order in which instructions of a basic block are issued: how many loads registers let go ahead.
#include "machine/time/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/machine/time/estimated.h"

namespace coalesce::machine {
namespace {

constexpr uint32_t kSumRegister = 0, kOrderedLoads = 32;

// Loads of a word each, and behind each load an addition of it to one sum, as a program has them.
std::vector<Scheduled> sum_of_loads(AddressSpace space) {
  std::vector<Scheduled> code;
  for (uint32_t k = 1; k <= kOrderedLoads; ++k) {
    code.push_back({.cost = {Pipe::memory, 1, 40}, .keeps = Keeps::load, .space = space, .writes = {k}});
    code.push_back({.cost = {Pipe::fp32, 1, 4}, .reads = {kSumRegister, k}, .writes = {kSumRegister}});
  }
  return code;
}

// The most loads that are under way: issued, and not read.
uint32_t most_under_way(uint32_t registers, AddressSpace space = AddressSpace::global) {
  const std::vector<Scheduled> code = sum_of_loads(space);
  const std::vector<uint32_t> order = schedule(code, limits(),
                                               {.most = registers,
                                                .words = std::vector<uint8_t>(kOrderedLoads + 1, 1),
                                                .in = {kSumRegister},
                                                .out = {kSumRegister}});
  EXPECT_EQ(order.size(), code.size());
  uint32_t now = 0, most = 0;
  for (const uint32_t k : order) {
    now += code[k].keeps == Keeps::load ? 1u : ~0u;
    most = std::max(most, now);
  }
  EXPECT_EQ(now, 0u);
  return most;
}

// Beside what waits to be read there are the sum, and two registers that hold no number.
TEST(Schedule, LoadsGoAheadAsFarAsThereAreRegisters) {
  EXPECT_EQ(most_under_way(16), 13u);
  EXPECT_EQ(most_under_way(24), 21u);
  EXPECT_EQ(most_under_way(64), kOrderedLoads);
}

TEST(Schedule, NothingHoldsLoadsWhereRegistersAreNotKnown) { EXPECT_EQ(most_under_way(0), kOrderedLoads); }

// The program's order has to fit, even where numbers seem to need more than there is.
TEST(Schedule, TheProgramsOrderFitsAlways) { EXPECT_EQ(most_under_way(2), 1u); }

TEST(Schedule, WhatSharedMemoryGivesDoesNotWaitLong) {
  EXPECT_EQ(most_under_way(16, AddressSpace::shared), kOrderedLoads);
}

}  // namespace
}  // namespace coalesce::machine
