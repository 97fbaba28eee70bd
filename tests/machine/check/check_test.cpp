// The order that `check` derives (machine/check/clocks.h), and its memory of accesses.
#include <gtest/gtest.h>

#include "machine/check/clocks.h"
#include "machine/check/shadow.h"

namespace coalesce::machine {
namespace {

TEST(Clocks, LanesSeeWhatLanesTheySyncWithHaveSeen) {
  WarpView w;
  w.begin(1);
  const Clock first = w.now;
  w.sync_lanes(0b0011);
  EXPECT_GT(w.lanes[0][1], first);
  EXPECT_EQ(w.lanes[0][2], 0u);
  w.sync_lanes(0b0110);  // lane 2 hears of lane 0 by lane 1
  EXPECT_GT(w.lanes[2][0], first);
  EXPECT_EQ(w.lanes[0][2], 0u);
  EXPECT_LE(w.lanes[2][0], w.now - 1) << "but not of what lane 0 has done since";
  EXPECT_EQ(w.lanes[3], w.lanes[31]);
}

TEST(Clocks, AFenceCoversWhatCameBeforeIt) {
  WarpView w;
  w.begin(2);
  w.seen = {0, 7};
  const Clock before = w.now;
  w.fence(0, false);
  EXPECT_GT(w.block_fenced[0], before);
  EXPECT_EQ(w.block_fenced[1], 7u);
  EXPECT_EQ(w.fenced, (Clocks{0, 0})) << "of the block only";
  w.fence(0, true);
  EXPECT_EQ(w.fenced, w.block_fenced);
  EXPECT_LE(w.fenced[0], w.now) << "not what comes after it";
}

TEST(Handovers, ShowsWhatWasLeftBeforeItWasTaken) {
  Handovers all;
  EXPECT_EQ(all.find(Handovers::kGlobal, 64), Handovers::kNowhere);
  const uint32_t ticket = all.make(Handovers::kGlobal, 64);
  all.leave(ticket, 3, {5}, {5}, {});
  const Known early{{ticket, all.entries(ticket)}};
  all.leave(ticket, 3, {9}, {9}, {});
  const Known late{{ticket, all.entries(ticket)}};
  EXPECT_TRUE(all.shows(early, 3, 0, 4));
  EXPECT_FALSE(all.shows(early, 3, 0, 5));
  EXPECT_TRUE(all.shows(late, 3, 0, 8));
  EXPECT_FALSE(all.shows(late, 4, 0, 0)) << "another block has left nothing";
  Clocks own{1};
  all.take_own(ticket, 1, 3, own);
  EXPECT_EQ(own, Clocks{5});
}

// Block 1 leaves at a, block 2 takes that and leaves at b: who takes b knows of block 1.
TEST(Handovers, KnowledgeGoesOn) {
  Handovers all;
  const uint32_t a = all.make(Handovers::kGlobal, 0), b = all.make(Handovers::kGlobal, 4);
  all.leave(b, 7, {2}, {2}, {});
  const Known before{{b, all.entries(b)}};
  all.leave(a, 1, {5}, {5}, {});
  all.leave(b, 2, {3}, {3}, {{a, all.entries(a)}});
  EXPECT_TRUE(all.shows({{b, all.entries(b)}}, 1, 0, 4));
  EXPECT_FALSE(all.shows(before, 1, 0, 4));
  // Two addresses that know of each other are no endless way.
  all.leave(a, 1, {6}, {6}, {{b, all.entries(b)}});
  EXPECT_FALSE(all.shows({{a, all.entries(a)}, {b, all.entries(b)}}, 9, 0, 0));
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
    cells.visit(at, bytes, made, [&](Cell& c) {
      ++n;
      if (id) c.writer = {id, 1};
    });
    return n;
  };
  EXPECT_EQ(count(16, 16, 5), 4u);
  EXPECT_EQ(count(17, 1, 6), 1u);  // from here on this page has a cell for each byte, with what the words held
  std::vector<AccessId> ids;
  cells.visit(16, 4, made, [&](Cell& c) { ids.push_back(c.writer.id); });
  EXPECT_EQ(ids, (std::vector<AccessId>{5, 6, 5, 5}));
  EXPECT_EQ(count(1024, 8, 0), 2u) << "another page";
  EXPECT_EQ(made, (1024 + 256) * sizeof(Cell));
}

}  // namespace
}  // namespace coalesce::machine
