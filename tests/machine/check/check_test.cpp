// The order that `check` derives (machine/check/clocks.h), and its memory of accesses.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "machine/check/clocks.h"
#include "machine/check/shadow.h"
#include "machine/execute/launch.h"
#include "machine/isa/mbarrier.h"

namespace coalesce::machine {
namespace {

BlockClocks clocks(std::vector<Clock> warps) { return {std::move(warps), {}}; }

TEST(Knowledge, JoinsBlockByBlockAndLaneByLane) {
  Knowledge a, b;
  for (const uint64_t block : {0u, 1u, 7u, 1000000u}) a.join(block, clocks({5, 2}));
  b.join(7, clocks({1, 9}));
  b.join(uint64_t{1} << 40, clocks({3, 3}));
  LaneClocks lanes{};
  lanes[4] = 11;
  BlockClocks apart = clocks({0, 0});
  apart.raise(0, lanes);
  b.join(1000000, apart);
  Knowledge both = a;
  both.join(b);
  EXPECT_EQ(both.of(0, 0, 31), 5u);
  EXPECT_EQ(both.of(7, 0, 0), 5u);
  EXPECT_EQ(both.of(7, 1, 0), 9u);
  EXPECT_EQ(both.of(uint64_t{1} << 40, 1, 0), 3u);
  EXPECT_EQ(both.of(1000000, 0, 4), 11u);
  EXPECT_EQ(both.of(1000000, 0, 5), 5u) << "the other lanes of the warp";
  EXPECT_EQ(both.of(2, 0, 0), 0u);
  EXPECT_EQ(a.of(7, 1, 0), 2u) << "what it was made of stays as it was";
  const Knowledge same = both;
  both.join(a);
  EXPECT_TRUE(both == same) << "nothing new, nothing made";
}

TEST(Clocks, LanesKnowWhatLanesTheySyncWithKnow) {
  WarpView w;
  w.begin(0, 1, 0);
  const Clock first = w.now;
  EXPECT_FALSE(w.knows_lane(0, 1, first));
  w.sync_lanes(0b0011, ~0u);
  EXPECT_TRUE(w.knows_lane(0, 1, first));
  EXPECT_FALSE(w.knows_lane(0, 2, first));
  const Clock second = w.now;
  w.sync_lanes(0b0110, ~0u);  // lane 2 hears of lane 0 by lane 1
  EXPECT_TRUE(w.knows_lane(2, 0, first));
  EXPECT_FALSE(w.knows_lane(0, 2, first));
  EXPECT_FALSE(w.knows_lane(2, 0, second)) << "but not of what lane 0 has done since";
  w.sync_lanes(~0u, ~0u);
  EXPECT_TRUE(w.knows_lane(31, 2, second));
}

TEST(Clocks, OneLaneReleasesAndOneAcquires) {
  WarpView a, b;
  a.begin(3, 1, 0);
  b.begin(4, 1, 0);
  const Clock then = a.now;
  const Knowledge left = a.release(5);
  EXPECT_EQ(left.of(3, 0, 5), a.now);
  EXPECT_LE(left.of(3, 0, 6), then) << "not what other lanes have done";
  b.read(9, {}, left, false);
  EXPECT_FALSE(b.knows(9, 3, 0, 5, then, false)) << "no fence yet";
  EXPECT_TRUE(b.knows(9, 3, 0, 5, then, true)) << "strong accesses see it";
  b.fence(1u << 9, false);
  EXPECT_FALSE(b.knows(9, 3, 0, 5, then, false)) << "a fence of block scope does not reach another block";
  b.fence(1u << 9, true);
  EXPECT_TRUE(b.knows(9, 3, 0, 5, then, false));
  EXPECT_FALSE(b.knows(8, 3, 0, 5, then, false)) << "another lane of the warp";
  b.sync_lanes(~0u, ~0u);
  EXPECT_TRUE(b.knows(8, 3, 0, 5, then, false));
}

TEST(Clocks, WhoPollsHearsOfWhatIsNew) {
  WarpView a, b;
  a.begin(3, 1, 0);
  b.begin(4, 1, 0);
  const Clock then = a.now;
  const Knowledge left = a.release(5);
  b.read(9, {}, left, false);
  b.fence(1u << 9, true);
  b.read(9, {}, left, false);
  EXPECT_TRUE(b.knows(9, 3, 0, 5, then, false)) << "what a fence has made known stays known";
  const Clock later = a.now;
  const Knowledge more = a.release(5);
  b.read(9, {}, more, false);
  EXPECT_TRUE(b.knows(9, 3, 0, 5, later, true));
  EXPECT_FALSE(b.knows(9, 3, 0, 5, later, false)) << "no fence since";
  b.read(9, {}, more, true);
  EXPECT_TRUE(b.knows(9, 3, 0, 5, later, false)) << "the same, acquired";
  b.sync_lanes(~0u, ~0u);
  b.read(8, {}, more, true);
  EXPECT_TRUE(b.knows(8, 3, 0, 5, later, false));
}

TEST(Clocks, AReadOfAChainStandsForThoseBeforeIt) {
  const auto of = [](uint64_t block, Clock clock) {
    Knowledge k;
    k.join(block, clocks({clock}));
    return k;
  };
  Knowledge grown = of(3, 5);
  grown.join(of(4, 6));
  WarpView w;
  w.begin(9, 1, 0);
  w.read(1, {}, of(3, 5), false, 7);
  EXPECT_TRUE(w.knows(1, 3, 0, 0, 4, true));
  EXPECT_FALSE(w.knows(1, 3, 0, 0, 4, false)) << "no fence";
  w.read(1, {}, grown, false, 7);
  EXPECT_TRUE(w.knows(1, 4, 0, 0, 5, true));
  w.read(1, {}, of(5, 2), false, 8);
  EXPECT_TRUE(w.knows(1, 4, 0, 0, 5, true)) << "of another chain: what was read before stays";
  EXPECT_TRUE(w.knows(1, 5, 0, 0, 1, true));
  w.read(2, {}, of(6, 3), true, 9);
  EXPECT_TRUE(w.knows(2, 6, 0, 0, 2, false)) << "acquired";
  w.read(2, {}, of(6, 4), false, 9);
  EXPECT_TRUE(w.knows(2, 6, 0, 0, 2, false)) << "what was acquired stays";
  EXPECT_FALSE(w.knows(2, 6, 0, 0, 3, false));
  EXPECT_EQ(w.release(2).of(6, 0, 0), 3u) << "of what is known";
  w.sync_lanes(~0u, ~0u);
  EXPECT_TRUE(w.knows(0, 4, 0, 0, 5, true)) << "other lanes have read it, too";
  w.fence(1, true);
  EXPECT_TRUE(w.knows(0, 4, 0, 0, 5, false));
  EXPECT_TRUE(w.knows(0, 6, 0, 0, 3, false));
  EXPECT_FALSE(w.knows(3, 4, 0, 0, 5, false));
}

TEST(Clocks, AFenceCoversWhatCameBeforeIt) {
  WarpView w;
  w.begin(0, 2, 1);
  const Clock before = w.now;
  EXPECT_TRUE(w.fenced(0, false).empty());
  w.fence(1, false);
  EXPECT_GT(w.fenced(0, false).of(0, 1, 0), before);
  EXPECT_TRUE(w.fenced(0, true).empty()) << "of the block only";
  EXPECT_TRUE(w.fenced(1, false).empty()) << "of one lane";
  const Clock after = w.now;
  EXPECT_LE(w.fenced(0, false).of(0, 1, 0), after) << "not what comes after it";
}

TEST(Clocks, ABarrierTellsAllOfAll) {
  WarpView a, b;
  a.begin(0, 2, 0);
  b.begin(0, 2, 1);
  const Clock then = a.now;
  View all;
  BlockClocks done = clocks({0, 0});
  a.give(~0u, ~0u, all, done);
  b.give(~0u, ~0u, all, done);
  all.known.join(0, done);
  b.take(~0u, ~0u, all);
  EXPECT_TRUE(b.all_know(0, 0, then));
  EXPECT_TRUE(b.knows(7, 0, 0, 30, then, false));
  EXPECT_FALSE(b.knows(7, 0, 0, 30, a.now, false));
}

TEST(Handovers, AnAtomicAddsToAChainAndAStoreEndsIt) {
  const auto of = [](uint64_t block, Clock clock) {
    Knowledge k;
    k.join(block, clocks({clock}));
    return k;
  };
  Handovers all;
  EXPECT_EQ(all.find(64), nullptr);
  all.leave(64, 3, of(3, 5), of(3, 5), true);
  all.leave(64, 4, of(4, 6), {}, true);
  ASSERT_NE(all.find(64), nullptr);
  EXPECT_EQ(all.find(64)->device.of(3, 0, 0), 5u);
  EXPECT_EQ(all.find(64)->device.of(4, 0, 0), 0u) << "of block scope";
  EXPECT_EQ(all.find(64)->of_block, 4u);
  EXPECT_EQ(all.find(64)->block.of(4, 0, 0), 6u);
  all.leave(64, 9, of(9, 1), of(9, 1), false);
  EXPECT_EQ(all.find(64)->device.of(3, 0, 0), 0u);
  all.end(64);
  EXPECT_EQ(all.find(64), nullptr);
}

TEST(Handovers, SayWhereTheyMayBe) {
  Knowledge k;
  k.join(3, clocks({1}));
  Handovers all;
  EXPECT_FALSE(all.any_within(0, ~uint64_t{0}));
  all.leave(64, 3, k, k, false);
  all.leave(128, 3, k, k, false);
  EXPECT_TRUE(all.any_within(128, 132));
  EXPECT_TRUE(all.any_within(0, 65));
  EXPECT_FALSE(all.any_within(132, 256));
  EXPECT_FALSE(all.any_within(0, 64));
  all.clear();
  EXPECT_FALSE(all.any_within(0, ~uint64_t{0}));
}

// Objects of 64 expect two arrivals: who waits hears of those of phases that have ended.
TEST(Handovers, AWaitHearsOfPhasesThatHaveEnded) {
  const auto of = [](Clock clock) {
    Knowledge k;
    k.join(3, clocks({clock}));
    return k;
  };
  Handovers all;
  all.look_at_object(64, mbarrier_of(2));
  const auto arrive = [&](Clock clock) {
    all.arrive(64, 3, of(clock), of(clock));
    all.change_object(64, 1);
  };
  arrive(4);
  EXPECT_EQ(all.find(64), nullptr) << "one is still to come";
  arrive(6);
  arrive(8);
  ASSERT_NE(all.find(64), nullptr);
  EXPECT_EQ(all.find(64)->block.of(3, 0, 0), 6u) << "the third is of the next phase";
  all.look_at_object(64, mbarrier_after(mbarrier_after(mbarrier_after(mbarrier_of(2), 1), 1), 1));
  EXPECT_EQ(all.find(64)->block.of(3, 0, 0), 6u);
  all.look_at_object(64, mbarrier_of(2));  // the bytes of a copy have ended it
  EXPECT_EQ(all.find(64)->block.of(3, 0, 0), 8u);
  arrive(9);
  all.begin_object(64);
  EXPECT_EQ(all.find(64), nullptr);
}

// An order of blocks or warps has each of them once: as they are, backwards, or mixed, each order in its own way. The
// third is the first again, in which they overtake one another.
TEST(Schedules, AreOrdersOfAll) {
  for (const uint64_t count : {1u, 2u, 3u, 64u, 1000u}) {
    std::vector<std::vector<uint64_t>> orders;
    for (uint32_t schedule = 0; schedule < 6; ++schedule) {
      std::vector<uint64_t> order(count);
      for (uint64_t k = 0; k < count; ++k) order[k] = scheduled(schedule, 5, k, count);
      std::vector<uint64_t> sorted = order;
      std::sort(sorted.begin(), sorted.end());
      for (uint64_t k = 0; k < count; ++k) {
        EXPECT_EQ(sorted[k], k) << schedule;
        if (schedule == 0 || schedule == 2) EXPECT_EQ(order[k], k);
        if (schedule == 1) EXPECT_EQ(order[k], count - 1 - k);
      }
      if (schedule == 2) continue;
      for (const auto& other : orders) EXPECT_TRUE(count < 64 || other != order) << schedule;
      orders.push_back(std::move(order));
    }
  }
}

TEST(Shadow, KnowsEveryByte) {
  Written w(200);
  EXPECT_FALSE(w.any(0, 200));
  w.set(63, 2);
  EXPECT_FALSE(w.any(0, 63));
  EXPECT_TRUE(w.get(63) && w.get(64) && !w.get(65) && !w.get(62));
  EXPECT_TRUE(w.any(0, 64));
  EXPECT_FALSE(w.any(65, 135));
  w.set(0, 200);
  EXPECT_TRUE(w.get(199));
  w.clear();
  EXPECT_FALSE(w.any(0, 200));
}

TEST(Shadow, NarrowAccessesGetCellsOfTheirOwn) {
  Cells cells(4096);
  uint64_t made = 0;
  const auto count = [&](uint64_t at, uint32_t bytes, AccessId id) {
    std::size_t n = 0;
    cells.visit(at, bytes, 1, made, [&](Cell& c, uint64_t) {
      ++n;
      if (id) c.writer = {id, 1};
    });
    return n;
  };
  EXPECT_EQ(count(16, 16, 5), 4u);
  EXPECT_EQ(count(17, 1, 6), 1u);  // from here on this page has a cell for each byte, with what the words held
  std::vector<AccessId> ids;
  cells.visit(16, 4, 1, made, [&](Cell& c, uint64_t) { ids.push_back(c.writer.id); });
  EXPECT_EQ(ids, (std::vector<AccessId>{5, 6, 5, 5}));
  EXPECT_EQ(count(1024, 8, 0), 2u) << "another page";
  EXPECT_EQ(made, (256 + 1024 + 256) * sizeof(Cell));
}

TEST(Shadow, WrittenCountsByBytes) {
  Written w(256);
  w.set(60, 8);
  EXPECT_TRUE(w.all(60, 8));
  EXPECT_FALSE(w.all(59, 2));
  EXPECT_TRUE(w.any(67, 100));
  EXPECT_FALSE(w.any(68, 188));
  w.clear();
  EXPECT_FALSE(w.any(0, 256));
}

TEST(Shadow, CellsAreOfLinesThenWordsThenBytes) {
  Cells cells(4096);
  uint64_t made = 0;
  Cell* line = cells.line(2048 + 128, 4, 1, made);
  ASSERT_NE(line, nullptr);
  line->writer = {7, ~0u};
  const auto lanes = [&](uint64_t at, uint32_t bytes) {
    uint32_t all = 0;
    cells.visit(at, bytes, 1, made, [&](Cell& c, uint64_t) { all |= c.writer.id == 7 ? c.writer.lanes : 0; });
    return all;
  };
  EXPECT_EQ(lanes(2048 + 128 + 4 * 9, 4), 1u << 9);
  EXPECT_EQ(lanes(2048 + 256, 4), 0u) << "another line";
  EXPECT_EQ(cells.line(2048 + 128, 4, 1, made), nullptr);
  EXPECT_EQ(lanes(2048 + 128 + 4 * 31 + 3, 1), 1u << 31);
  EXPECT_EQ(lanes(2048 + 128, 8), 3u);
  EXPECT_EQ(made, (8 + 256 + 1024) * sizeof(Cell));
}

TEST(Shadow, LinesAreOfElements) {
  for (const uint32_t element : {1u, 2u, 4u, 8u, 16u}) {
    Cells cells(4096);
    uint64_t made = 0;
    const uint64_t base = 1024 + (element == 16 ? 512 : 256);
    Cell* line = cells.line(base, element, 1, made);
    ASSERT_NE(line, nullptr);
    line->writer = {7, ~0u};
    EXPECT_EQ(made, 1024 / (32 * element) * sizeof(Cell));
    EXPECT_EQ(cells.line(base, element == 4 ? 8 : 4, 1, made), nullptr);
    for (uint32_t at = 0; at < 32 * element; ++at) {
      uint32_t lanes = 0;
      cells.visit(base + at, 1, 1, made, [&](Cell& c, uint64_t) { lanes = c.writer.id == 7 ? c.writer.lanes : 0; });
      EXPECT_EQ(lanes, 1u << at / element) << element << " " << at;
    }
    cells.visit(base - 4, 4, 1, made, [&](Cell& c, uint64_t) { EXPECT_EQ(c.writer.id, 0u); });
    // A word of narrow elements is of the lanes of all.
    Cells words(4096);
    words.line(base, element, 1, made)->writer = {7, ~0u};
    uint32_t lanes = 0;
    words.visit(base + 4, 4, 1, made, [&](Cell& c, uint64_t) { lanes |= c.writer.lanes; });
    EXPECT_EQ(lanes, element == 1 ? 0xf0u : element == 2 ? 0xcu : element == 4 ? 2u : 1u);
  }
}

TEST(Shadow, AnotherEpochBeginsCoarse) {
  Cells cells(4096);
  uint64_t made = 0;
  cells.visit(17, 1, 1, made, [](Cell& c, uint64_t) { c.writer = {7, 1}; });
  EXPECT_EQ(cells.line(0, 4, 1, made), nullptr);
  const uint64_t before = made;
  Cell* line = cells.line(0, 4, 2, made);
  ASSERT_NE(line, nullptr);
  line->writer = {9, ~0u};
  std::size_t words = 0;
  cells.visit(16, 16, 2, made, [&](Cell& c, uint64_t at) {
    EXPECT_EQ(c.writer.id, 9u);
    EXPECT_EQ(c.writer.lanes, 1u << at / 4);
    ++words;
  });
  EXPECT_EQ(words, 4u);
  EXPECT_EQ(made, before) << "the memory of the epoch before is used";
}

}  // namespace
}  // namespace coalesce::machine
