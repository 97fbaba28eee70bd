// How many sectors a launch loads and stores, told from some of its blocks.
#include "machine/time/touched.h"

#include "tests/machine/time/estimated.h"

namespace coalesce::machine {
namespace {

constexpr TouchedRegion kRegion{.base = 4096, .end = 8192, .sectors = 100, .halves = 60};

struct LineTouched {
  uint64_t number, loaded, stored, made;
};
Touched touched_of(const std::vector<LineTouched>& lines) {
  Touched t;
  for (const auto& [number, loaded, stored, made] : lines) {
    PageSectors& s = t.touches.sectors[number / kLinesOfPage];
    const uint32_t at = 4 * (number % kLinesOfPage);
    s.loaded |= loaded << at;
    s.stored |= stored << at;
    s.made |= made << at;
  }
  return t;
}

// All blocks do with a region what the watched ones do with a part of it.
TEST(DistinctSectors, RegionsAreLoadedOrStored) {
  TouchedRegion to = kRegion;
  to.base = 8192, to.end = 9000, to.sectors = 40, to.halves = 20;
  const Touched t = touched_of({{4096 / 128 + 1, 15, 0, 0}, {8192 / 128, 0, 3, 3}});
  const DistinctSectors f = distinct_sectors(t, {kRegion, to});
  EXPECT_EQ(f.distinct, 140);
  EXPECT_EQ(f.loaded, 100);
  EXPECT_EQ(f.fetched, 120);
  EXPECT_EQ(f.stored, 40);
}

// One sector is loaded, one changed, two are stored before they are loaded.
TEST(DistinctSectors, APartOfARegionIsStoredFirst) {
  const Touched t = touched_of({{4096 / 128, 15, 14, 12}});
  const DistinctSectors f = distinct_sectors(t, {kRegion});
  EXPECT_EQ(f.loaded, 50);
  EXPECT_EQ(f.fetched, 60);
  EXPECT_EQ(f.stored, 75);
}

TEST(DistinctSectors, WhatOnlyOthersTouchIsTouchedAlike) {
  TouchedRegion other = kRegion;
  other.base = 8192, other.end = 9000;
  const Touched t = touched_of({{4096 / 128, 3, 0, 0}});
  EXPECT_EQ(distinct_sectors(t, {kRegion, other}).loaded, 200);
  EXPECT_EQ(distinct_sectors({}, {kRegion}).loaded, 0);
}

// Blocks of four lanes: eight of them make a line. `from` and `to` are bytes from the start of the data.
Ran copied(const std::string& body, uint32_t blocks) {
  return run(
      ".reg .b32 %r<8>; .reg .b64 %rd<6>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\n"
      "mad.lo.s32 %r3, %r1, 4, %r2;\nmul.wide.u32 %rd2, %r3, 4;\nadd.s64 %rd3, %rd1, %rd2;\n" +
          body,
      blocks, 4, uint64_t{blocks} * 32 + 64);
}

TEST(DistinctSectors, BlocksThatShareSectorsReadTheseFromMemory) {
  constexpr uint32_t kBlocks = 65536;
  const uint64_t beside = copied("", kBlocks).time.dram_read_bytes;
  const Ran r =
      copied("ld.global.u32 %r4, [%rd3];\nst.global.u32 [%rd3+" + std::to_string(kBlocks * 16) + "], %r4;\n", kBlocks);
  EXPECT_NEAR(static_cast<double>(r.time.dram_read_bytes - beside), kBlocks * 16.0, 512);
}

TEST(DistinctSectors, WhatIsStoredFirstIsNotReadFromMemory) {
  constexpr uint32_t kBlocks = 65536;
  const uint64_t beside = copied("", kBlocks).time.dram_read_bytes;
  const Ran r = copied("st.global.u32 [%rd3], %r2;\nld.volatile.global.u32 %r4, [%rd3];\nst.global.u32 [%rd3+" +
                           std::to_string(kBlocks * 16) + "], %r4;\n",
                       kBlocks);
  EXPECT_NEAR(static_cast<double>(r.time.dram_read_bytes), static_cast<double>(beside), 512);
}

}  // namespace
}  // namespace coalesce::machine
