// Occupancy against NVIDIA's rules, written anew: block by block it is tried whether one more fits.
#include "machine/time/occupancy.h"

#include <gtest/gtest.h>

namespace coalesce::machine {
namespace {

// A multiprocessor of four parts. A warp's registers lie in the part that it runs in, in units of 256; warps go to the
// part with the most room. Shared memory is given in units of `unit` bytes.
struct Multiprocessor {
  uint32_t warps, blocks, shared, reserved, unit;
  uint32_t part[4] = {16384, 16384, 16384, 16384};

  bool add(uint32_t threads, uint32_t registers, uint32_t bytes) {
    uint32_t w = 0;
    while (w * 32 < threads) ++w;
    uint32_t taken = 0;
    while (taken < bytes + reserved) taken += unit;
    if (w > warps || blocks == 0 || taken > shared) return false;
    uint32_t of_warp = 0;
    while (of_warp < registers * 32) of_warp += 256;
    for (uint32_t k = 0; k < w; ++k) {
      uint32_t* most = part;
      for (uint32_t& p : part)
        if (p > *most) most = &p;
      if (*most < of_warp) return false;
      *most -= of_warp;
    }
    warps -= w, blocks -= 1, shared -= taken;
    return true;
  }
};

uint32_t tried(Multiprocessor m, uint32_t threads, uint32_t registers, uint32_t bytes) {
  uint32_t n = 0;
  while (m.add(threads, registers, bytes)) ++n;
  return n;
}

TEST(Occupancy, IsWhatFits) {
  const Device& h200 = *find_device("h200");
  const Device& v100 = *find_device("v100");
  for (uint32_t threads = 1; threads <= 1024; threads += threads < 64 ? 7 : 31)
    for (uint32_t registers = 1; registers <= 255; registers += 5)
      for (const uint32_t bytes : {0u, 1u, 1000u, 5000u, 20000u, 48u * 1024}) {
        SCOPED_TRACE(testing::Message() << threads << " threads, " << registers << " registers, " << bytes << " bytes");
        EXPECT_EQ(occupancy(h200, {threads, registers, bytes}).blocks,
                  tried({64, 32, 228 * 1024, 1024, 128}, threads, registers, bytes));
        EXPECT_EQ(occupancy(v100, {threads, registers, bytes}).blocks,
                  tried({64, 32, 96 * 1024, 0, 256}, threads, registers, bytes));
      }
}

// Figures of NVIDIA's occupancy calculator.
TEST(Occupancy, IsTheCalculators) {
  const Device& h200 = *find_device("h200");
  EXPECT_EQ(occupancy(h200, {256, 32, 0}).blocks, 8u);
  EXPECT_EQ(occupancy(h200, {256, 33, 0}).blocks, 6u);
  EXPECT_EQ(occupancy(h200, {1024, 64, 0}).blocks, 1u);
  EXPECT_EQ(occupancy(h200, {1024, 65, 0}).blocks, 0u);
  EXPECT_EQ(occupancy(h200, {32, 16, 0}).blocks, 32u);
  EXPECT_EQ(occupancy(h200, {128, 16, 100 * 1024}).blocks, 2u);
  EXPECT_EQ(occupancy(h200, {128, 16, 100 * 1024}).limiter, Limiter::shared);
  EXPECT_DOUBLE_EQ(occupancy(h200, {256, 33, 0}).share, 0.75);
}

}  // namespace
}  // namespace coalesce::machine
