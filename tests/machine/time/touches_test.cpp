// Footprints of blocks, against a table of single sectors.
#include "machine/time/touches.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace coalesce::machine {
namespace {

struct Sector {
  bool loaded = false, stored = false, made = false;
};

TEST(Touches, OfBlocksInTurnAreThoseOfTheirSectors) {
  std::mt19937 random(1);
  std::map<uint64_t, Sector> sectors;  // by page * 64 + place
  Touches all;
  for (int block = 0; block < 20; ++block) {
    Touches its;
    for (int k = 0; k < 200; ++k) {
      const uint64_t page = random() % 7 * (uint64_t{1} << random() % 40), some = uint64_t{random()} << random() % 33;
      const auto kind = random() % 3;  // a load, a store, both
      its.sectors[page].touch(some, kind != 1, kind != 0);
      for (uint64_t place = 0; place < 64; ++place) {
        if (!(some >> place & 1)) continue;
        Sector& s = sectors[page * 64 + place];
        s.made |= kind == 1 && !s.loaded;
        s.loaded |= kind != 1;
        s.stored |= kind != 0;
      }
    }
    all.join(its);
  }
  std::map<uint64_t, Sector> found;
  for (const auto& [page, s] : all.sectors)
    for (uint64_t place = 0; place < 64; ++place)
      if ((s.loaded | s.stored) >> place & 1)
        found[page * 64 + place] = {(s.loaded >> place & 1) != 0, (s.stored >> place & 1) != 0,
                                    (s.made >> place & 1) != 0};
  ASSERT_EQ(found.size(), sectors.size());
  for (const auto& [place, s] : sectors) {
    EXPECT_EQ(found[place].loaded, s.loaded) << place;
    EXPECT_EQ(found[place].stored, s.stored) << place;
    EXPECT_EQ(found[place].made, s.made) << place;
  }
}

TEST(Touches, LinesThatSeveralBlocksChangeAreKnown) {
  const auto changes = [](uint64_t lines, uint64_t atomic, double cycles) {
    Touches t;
    t.changes[5].lines = lines;
    t.changes[5].atomic = atomic;
    t.changes[5].cycles[1] = cycles;
    return t;
  };
  Touches all;
  all.join(changes(0x111, 0x110, 2));
  EXPECT_EQ(all.changes[5].of_many, 0u);
  all.join(changes(0x1010, 0x1000, 3));
  EXPECT_EQ(all.changes[5].of_many, 0x10u);
  EXPECT_EQ(all.changes[5].atomic_of_many, 0u);
  all.join(changes(0x100, 0x100, 0));
  EXPECT_EQ(all.changes[5].of_many, 0x110u);
  EXPECT_EQ(all.changes[5].atomic_of_many, 0x100u);
  EXPECT_EQ(all.changes[5].lines, 0x1111u);
  EXPECT_EQ(all.changes[5].cycles[1], 5);
}

TEST(Touches, LinesOfSectorsAndBack) {
  EXPECT_EQ(lines_of(0), 0u);
  EXPECT_EQ(lines_of(0x8000'0000'0000'0420), 0x1000'0000'0000'0110u);
  std::vector<uint32_t> lines;
  each_line(lines_of(0x8000'0000'0000'0420), [&](uint32_t k) { lines.push_back(k); });
  EXPECT_EQ(lines, (std::vector<uint32_t>{1, 2, 15}));
}

}  // namespace
}  // namespace coalesce::machine
