// Reads of a plane by a warp, against the programming guide's definition: the nearest texel is floor(x), clamped to the
// edge; interpolation at a texel's centre gives that texel; coordinates that are fractions are times the size.
#include "machine/execute/texture_plane.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "machine/memory/texture.h"

namespace coalesce::machine::test {
namespace {

constexpr uint32_t kWidth = 37, kHeight = 8;

class TexturePlane : public testing::Test {
 protected:
  TexturePlane() {
    for (uint32_t i = 0; i < texels.size(); ++i) texels[i] = 1.5f + static_cast<float>(i);
    t.address = reinterpret_cast<uint64_t>(texels.data());
    t.row = kWidth * sizeof(float);
    t.slice = t.row * kHeight;
    t.size = {kWidth, kHeight, 1};
  }
  bool read(const std::vector<float>& x, const std::vector<float>& y, uint32_t mask = ~0u) {
    LaneWords xs{}, ys{};
    for (uint32_t l = 0; l < 32; ++l)
      xs[l] = std::bit_cast<uint32_t>(x[l % x.size()]), ys[l] = std::bit_cast<uint32_t>(y[l % y.size()]);
    return read_plane(t, xs.data(), ys.data(), mask, values);
  }
  float at(int64_t x, int64_t y) const { return texels[static_cast<std::size_t>(y * kWidth + x)]; }
  float lane(uint32_t l) const { return std::bit_cast<float>(values[l]); }

  std::vector<float> texels = std::vector<float>(kWidth * kHeight);
  Texture t;
  LaneWords values{};
};

int64_t clamped(double at, uint32_t size) {
  return static_cast<int64_t>(std::fmin(std::fmax(std::floor(at), 0.), size - 1.));
}

TEST_F(TexturePlane, TheNearestTexelOfEachLane) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> some(-20.f, 60.f);
  for (int round = 0; round < 200; ++round) {
    std::vector<float> x(32), y(32);
    for (uint32_t l = 0; l < 32; ++l) x[l] = some(random), y[l] = some(random) / 4;
    ASSERT_TRUE(read(x, y));
    for (uint32_t l = 0; l < 32; ++l) ASSERT_EQ(lane(l), at(clamped(x[l], kWidth), clamped(y[l], kHeight))) << l;
  }
  ASSERT_TRUE(
      read({std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -1e30f, 1e-40f}, {3.f}));
  for (const auto& [l, x] : {std::pair{0u, 0}, {1u, 36}, {2u, 0}, {3u, 0}}) EXPECT_EQ(lane(l), at(x, 3));
}

TEST_F(TexturePlane, CentresNeedOneTexelOnly) {
  t.linear = true;
  std::vector<float> x(32), y(32);
  for (uint32_t l = 0; l < 32; ++l) x[l] = static_cast<float>(l) + 2.5f, y[l] = static_cast<float>(l % 8) + 0.5f;
  for (const AddressMode mode : {AddressMode::clamp, AddressMode::wrap, AddressMode::mirror, AddressMode::border}) {
    t.mode = {mode, mode, mode};
    if (mode == AddressMode::border) y.assign(32, 2.5f);
    ASSERT_TRUE(read(x, y));
    for (uint32_t l = 0; l < 32; ++l) ASSERT_EQ(lane(l), at(l + 2, static_cast<int64_t>(y[l]))) << l;
  }
  // Half a 256th beside a centre rounds up to the next weight, less does not.
  EXPECT_TRUE(read({2.5f + 0.49f / 256}, {2.5f}));
  EXPECT_FALSE(read({2.5f + 0.5f / 256}, {2.5f}));
  EXPECT_FALSE(read({2.5f}, {2.f}));
  EXPECT_TRUE(read({2.5f, 2.75f}, {2.5f}, 0x55555555));  // the lanes between are off
  // Beyond an edge that clamps there is one texel, whatever the weight; subnormal texels are zeros, NaN the canonical
  // one.
  t.mode = {AddressMode::clamp, AddressMode::clamp, AddressMode::clamp};
  texels[kWidth * 2] = -1e-40f, texels[kWidth * 2 + 36] = std::bit_cast<float>(0xffc12345u);
  ASSERT_TRUE(read({-3.25f, 0.25f, 40.125f, 36.75f}, {2.5f}));
  EXPECT_EQ(values[0], 0x80000000u);
  EXPECT_EQ(values[1], 0x80000000u);
  EXPECT_EQ(values[2], 0x7fffffffu);
  EXPECT_EQ(values[3], 0x7fffffffu);
}

TEST_F(TexturePlane, WhatTakesMoreIsForEachLane) {
  t.mode = {AddressMode::border, AddressMode::border, AddressMode::border};
  EXPECT_TRUE(read({0.f, 36.9f}, {0.f, 7.9f}));
  EXPECT_FALSE(read({37.f}, {0.f}));
  EXPECT_FALSE(read({-0.1f}, {0.f}));
  EXPECT_FALSE(read({0.f}, {8.f}));
  t.linear = true;
  EXPECT_FALSE(read({-0.5f}, {2.5f}));
  t.linear = false;
  t.normalised = true;
  t.mode = {AddressMode::wrap, AddressMode::wrap, AddressMode::wrap};
  ASSERT_TRUE(read({0.5f}, {0.75f}));
  EXPECT_EQ(lane(0), at(18, 6));
  EXPECT_FALSE(read({1.5f}, {0.75f}));
  t.mode = {AddressMode::clamp, AddressMode::clamp, AddressMode::clamp};
  ASSERT_TRUE(read({1.5f}, {-0.75f}));
  EXPECT_EQ(lane(0), at(36, 0));
  for (const auto change :
       {+[](Texture& x) { x.channels = 2; }, +[](Texture& x) { x.channel_bytes = 2; },
        +[](Texture& x) { x.kind = TexelKind::unsigned_integer; }, +[](Texture& x) { x.fractions = true; }}) {
    const Texture kept = t;
    change(t);
    EXPECT_FALSE(read({0.5f}, {0.5f}));
    t = kept;
  }
}

}  // namespace
}  // namespace coalesce::machine::test
