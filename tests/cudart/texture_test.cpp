// Arrays, textures and surfaces: what kernels read and write through them, against the addresses and weights worked out
// here by hand.
#include <gmock/gmock.h>

#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "textures.h"

namespace coalesce::cudart {
namespace {

using testing::ElementsAre;

TEST_F(TextureTest, TheNearestTexelOfTwoDimensions) {
  const auto t = texture(resource(array(ramp(15), {5, 3, 0})), reading(1));
  EXPECT_THAT(sampled(k2d, t, {{0.f, 0.f}, {0.99f, 0.5f}, {1.f, 1.f}, {4.9f, 2.9f}, {-3.f, 1.5f}, {9.f, 9.f}}),
              ElementsAre(0, 0, 6, 14, 5, 14));
}

TEST_F(TextureTest, AddressModes) {
  cudaArray* a = array(ramp(4), {4, 0, 0});
  const std::vector<std::array<float, 4>> places{{-0.3f}, {-1.1f}, {0.1f}, {1.f}, {1.3f}, {2.6f}};
  EXPECT_THAT(sampled(k1d, texture(resource(a), reading(0, false, true)), places), ElementsAre(2, 3, 0, 0, 1, 2));
  EXPECT_THAT(sampled(k1d, texture(resource(a), reading(1, false, true)), places), ElementsAre(0, 0, 0, 3, 3, 3));
  EXPECT_THAT(sampled(k1d, texture(resource(a), reading(2, false, true)), places), ElementsAre(1, 3, 0, 3, 2, 2));
  cudaTextureDesc border = reading(3, false, true);
  border.borderColor[0] = 9;
  EXPECT_THAT(sampled(k1d, texture(resource(a), border), places), ElementsAre(9, 9, 0, 9, 9, 9));
  // Texels for coordinates: nothing to wrap.
  EXPECT_THAT(sampled(k1d, texture(resource(a), reading(0)), {{-1.f}, {5.f}}), ElementsAre(0, 3));
}

// Texel i stands at i + 0.5; between two the weights are multiples of 1/256.
TEST_F(TextureTest, Interpolates) {
  const auto t = texture(resource(array(std::vector<float>{0, 256, 512, 1024}, {4, 0, 0})), reading(1, true));
  EXPECT_THAT(sampled(k1d, t, {{0.5f}, {1.f}, {1.75f}, {2.5f}, {3.f}, {0.f}, {7.f}, {0.5f + 3.2f / 256}}),
              ElementsAre(0, 128, 320, 512, 768, 0, 1024, 3));
  const auto plane = texture(resource(array(std::vector<float>{0, 100, 1000, 1100}, {2, 2, 0})), reading(1, true));
  EXPECT_THAT(sampled(k2d, plane, {{1.f, 1.f}, {0.75f, 0.5f}, {0.5f, 1.25f}, {1.5f, 1.5f}}),
              ElementsAre(550, 25, 750, 1100));
  const auto cube = texture(resource(array(ramp(8), {2, 2, 2})), reading(1, true));
  EXPECT_THAT(sampled("tex.3d.v4.f32.f32 {%r5, %r6, %r7, %r8}, [%rd1, {%f1, %f2, %f3, %f3}];", cube,
                      {{1.f, 1.f, 1.f}, {0.5f, 0.5f, 1.f}, {1.5f, 0.5f, 0.5f}}),
              ElementsAre(3.5f, 2, 1));
}

// Within half a texel of an edge the texel there counts alone, exactly.
TEST_F(TextureTest, InterpolatesNothingBeyondTheEdges) {
  const std::vector<float> values{0.1f, 3.7e-5f, 1234.567f, -0.3f};
  for (const bool normalised : {false, true}) {
    const auto t = texture(resource(array(values, {4, 0, 0})), reading(1, true, normalised));
    const float size = normalised ? 4 : 1;
    EXPECT_THAT(
        sampled(k1d, t, {{3.53f / size}, {3.7f / size}, {3.99f / size}, {5.2f / size}, {0.1f / size}, {0.47f / size}}),
        ElementsAre(-0.3f, -0.3f, -0.3f, -0.3f, 0.1f, 0.1f));
  }
}

// Two calls give the four results; the second reads the coordinates that the first may have overwritten.
TEST_F(TextureTest, ResultsMayTakeTheCoordinatesPlaces) {
  const auto t = texture(resource(array(ramp(16), {2, 2, 0}, 0, {32, 32, 32, 32, 2})), reading(1));
  const auto v = run<float>(
      "tex.2d.v4.f32.f32 {%f2, %f1, %f3, %f4}, [%rd1, {%f1, %f2}];\nmov.b32 %r5, %f2;\nmov.b32 %r6, %f1;\n"
      "mov.b32 %r7, %f3;\nmov.b32 %r8, %f4;\n",
      t, std::vector<std::array<float, 4>>{{0.f, 0.f}, {1.f, 0.f}, {0.f, 1.f}, {1.f, 1.f}});
  for (std::size_t k = 0; k < 4; ++k) {
    const auto first = static_cast<float>(4 * k);
    EXPECT_THAT(v[k], ElementsAre(first, first + 1, first + 2, first + 3));
  }
}

TEST_F(TextureTest, IntegersAsFractionsOfTheirRange) {
  const std::vector<uint8_t> bytes{0, 51, 255, 102};
  cudaArray* a = array(bytes, {1, 0, 0}, 0, {8, 8, 8, 8, 1});
  const auto v = run<float>(k1d, texture(resource(a), reading(1, false, false, true)),
                            std::vector{std::array{0.f, 0.f, 0.f, 0.f}});
  EXPECT_THAT(v[0], ElementsAre(0.f, 0.2f, 1.f, 0.4f));
  const std::vector<int16_t> shorts{-32768, 32767};
  cudaArray* s = array(shorts, {2, 0, 0}, 0, {16, 0, 0, 0, 0});
  EXPECT_THAT(sampled(k1d, texture(resource(s), reading(1, false, false, true)), {{0.f}, {1.f}}), ElementsAre(-1, 1));
  // Raw values of either sign.
  const auto raw = run<int32_t>("tex.1d.v4.s32.f32 {%r5, %r6, %r7, %r8}, [%rd1, {%f1}];",
                                texture(resource(s), reading(1)), std::vector<std::array<float, 4>>{{0.f}, {1.f}});
  EXPECT_EQ(raw[0][0], -32768);
  EXPECT_EQ(raw[1][0], 32767);
}

TEST_F(TextureTest, MemoryByIndex) {
  std::vector<int32_t> numbers{7, -8, 9};
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 12), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(memory, numbers.data(), 12, cudaMemcpyHostToDevice), cudaSuccess);
  cudaResourceDesc r{};
  r.resType = cudaResourceTypeLinear;
  r.res.linear = {memory, {32, 0, 0, 0, 0}, 12};
  const auto v = run<int32_t>("tex.1d.v4.s32.s32 {%r5, %r6, %r7, %r8}, [%rd1, {%r1}];", texture(r, reading(1)),
                              std::vector<std::array<int32_t, 4>>{{0}, {1}, {2}, {3}, {-1}});
  EXPECT_THAT((std::vector{v[0][0], v[1][0], v[2][0], v[3][0], v[4][0]}), ElementsAre(7, -8, 9, 0, 0));
}

TEST_F(TextureTest, LayersAndCubes) {
  const auto layers = texture(resource(array(ramp(12), {2, 2, 3}, cudaArrayLayered)), reading(1));
  EXPECT_THAT(sampled("tex.a2d.v4.f32.f32 {%r5, %r6, %r7, %r8}, [%rd1, {%r1, %f2, %f3, %f3}];", layers,
                      {{0.f, 0.f, 0.f}, {std::bit_cast<float>(2), 1.f, 1.f}, {std::bit_cast<float>(7), 0.f, 1.f}}),
              ElementsAre(0, 11, 10));
  // Faces +x -x +y -y +z -z, one texel each.
  const auto cube = texture(resource(array(ramp(6), {1, 1, 6}, cudaArrayCubemap)), reading(1, false, true));
  EXPECT_THAT(
      sampled(
          "tex.cube.v4.f32.f32 {%r5, %r6, %r7, %r8}, [%rd1, {%f1, %f2, %f3, %f3}];", cube,
          {{2.f, 1.f, 0.f}, {-2.f, 1.f, 0.f}, {0.f, 3.f, 1.f}, {0.f, -3.f, 1.f}, {0.f, 1.f, 5.f}, {0.f, 1.f, -5.f}}),
      ElementsAre(0, 1, 2, 3, 4, 5));
}

// Four texels a face. A direction's largest coordinate chooses the face, the others divided by it the place, as
// OpenGL's table of cube maps has it: face, the coordinates along a row and down the rows, with their signs.
TEST_F(TextureTest, PlacesOnTheFacesOfACube) {
  struct {
    int major, sign, across, across_sign, down, down_sign;
  } constexpr kFaces[] = {{0, 1, 2, -1, 1, -1}, {0, -1, 2, 1, 1, -1}, {1, 1, 0, 1, 2, 1},
                          {1, -1, 0, 1, 2, -1}, {2, 1, 0, 1, 1, -1},  {2, -1, 0, -1, 1, -1}};
  const auto cube = texture(resource(array(ramp(24), {2, 2, 6}, cudaArrayCubemap)), reading(1, false, true));
  std::vector<std::array<float, 4>> places;
  std::vector<float> wanted;
  for (std::size_t f = 0; f < 6; ++f)
    for (const float across : {-0.75f, -0.25f, 0.3f, 0.9f})
      for (const float down : {-0.9f, 0.2f}) {
        std::array<float, 4> at{};
        at[static_cast<std::size_t>(kFaces[f].major)] = static_cast<float>(kFaces[f].sign) * 3;
        at[static_cast<std::size_t>(kFaces[f].across)] = static_cast<float>(kFaces[f].across_sign) * across * 3;
        at[static_cast<std::size_t>(kFaces[f].down)] = static_cast<float>(kFaces[f].down_sign) * down * 3;
        places.push_back(at);
        wanted.push_back(static_cast<float>(4 * f) + (down < 0 ? 0.f : 2.f) + (across < 0 ? 0.f : 1.f));
      }
  EXPECT_EQ(sampled("tex.cube.v4.f32.f32 {%r5, %r6, %r7, %r8}, [%rd1, {%f1, %f2, %f3, %f3}];", cube, places), wanted);
}

// A face has two directions, whatever the third's address mode is.
TEST_F(TextureTest, FacesOfACubeHaveTwoDirections) {
  std::vector<std::array<float, 4>> places;
  for (const float u : {-0.9f, -0.2f, 0.35f, 0.99f})
    for (const float v : {-0.95f, 0.1f}) {
      places.push_back({1, u, v, 0});
      places.push_back({u, v, -1, 0});
    }
  std::vector<float> first;
  for (const int third : {1, 0, 2, 3}) {
    cudaTextureDesc d = reading(1, true, true);
    d.addressMode[2] = third;
    const auto cube = texture(resource(array(ramp(24), {2, 2, 6}, cudaArrayCubemap)), d);
    const auto v = sampled("tex.cube.v4.f32.f32 {%r5, %r6, %r7, %r8}, [%rd1, {%f1, %f2, %f3, %f3}];", cube, places);
    if (first.empty()) first = v;
    EXPECT_EQ(v, first) << third;
  }
}

// A constant is stored like a register.
TEST_F(TextureTest, ConstantsOnSurfaces) {
  cudaArray* a = array(ramp(4), {4, 1, 0}, cudaArraySurfaceLoadStore);
  unsigned long long s = 0;
  const cudaResourceDesc r = resource(a);
  ASSERT_EQ(cudaCreateSurfaceObject(&s, &r), cudaSuccess);
  run<uint32_t>(
      "sust.b.1d.b64.trap [%rd1, {%r3}], 0x1122334455667788;\nsust.b.1d.v2.b32.trap [%rd1, {%r1}], {77, %r2};\n"
      "sust.b.1d.b16.trap [%rd1, {%r2}], 0xbeef;\nsust.b.1d.b8.trap [%rd1, {%r4}], 200;",
      s, std::vector<std::array<int32_t, 4>>{{8, 2, 0, 6}});
  ASSERT_EQ(error_, cudaSuccess);
  std::array<uint32_t, 4> back{};
  ASSERT_EQ(cudaMemcpy2DFromArray(back.data(), 16, a, 0, 0, 16, 1, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_THAT(back, ElementsAre(0xbeef7788u, 0x11c83344u, 77u, 2u));
}

// Elements of 1, 2 and 8 bytes, one and several at once.
TEST_F(TextureTest, SurfacesOfEveryWidth) {
  std::vector<uint8_t> bytes(64);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(7 * i + 1);
  cudaArray* a = array(bytes, {4, 1, 0}, cudaArraySurfaceLoadStore, {32, 32, 32, 32, 1});
  unsigned long long s = 0;
  const cudaResourceDesc r = resource(a);
  ASSERT_EQ(cudaCreateSurfaceObject(&s, &r), cudaSuccess);
  const auto v = run<uint32_t>(
      "suld.b.1d.b8.trap {%h1}, [%rd1, {%r1}];\ncvt.u32.u16 %r5, %h1;\n"
      "suld.b.1d.b16.trap {%h2}, [%rd1, {%r2}];\ncvt.u32.u16 %r6, %h2;\n"
      "suld.b.1d.v2.b64.trap {%rd5, %rd6}, [%rd1, {%r3}];\nxor.b64 %rd5, %rd5, %rd6;\nmov.b64 {%r7, %r8}, %rd5;\n"
      "sust.b.1d.v4.b8.trap [%rd1, {%r4}], {%h1, %h2, %h2, %h1};",
      s, std::vector<std::array<int32_t, 4>>{{5, 10, 16, 60}});
  ASSERT_EQ(error_, cudaSuccess);
  const auto word = [&](std::size_t at, std::size_t n) {
    uint64_t w = 0;
    for (std::size_t k = 0; k < n; ++k) w |= uint64_t{bytes[at + k]} << (8 * k);
    return w;
  };
  const uint64_t both = word(16, 8) ^ word(24, 8);
  EXPECT_THAT(v[0],
              ElementsAre(word(5, 1), word(10, 2), static_cast<uint32_t>(both), static_cast<uint32_t>(both >> 32)));
  std::vector<uint8_t> back(64);
  ASSERT_EQ(cudaMemcpy2DFromArray(back.data(), 64, a, 0, 0, 64, 1, cudaMemcpyDeviceToHost), cudaSuccess);
  auto wanted = bytes;
  wanted[60] = wanted[63] = bytes[5], wanted[61] = wanted[62] = bytes[10];
  EXPECT_EQ(back, wanted);
}

TEST_F(TextureTest, GathersOneComponentOfFourTexels) {
  const auto t = texture(resource(array(ramp(9), {3, 3, 0}, cudaArrayTextureGather)), reading(1));
  const auto v = run<float>("tld4.r.2d.v4.f32.f32 {%r5, %r6, %r7, %r8}, [%rd1, {%f1, %f2}];", t,
                            std::vector{std::array{1.f, 2.f, 0.f, 0.f}});
  EXPECT_THAT(v[0], ElementsAre(6, 7, 4, 3));
}

TEST_F(TextureTest, SurfacesByByte) {
  cudaArray* a = array(ramp(8), {4, 2, 0}, cudaArraySurfaceLoadStore);
  unsigned long long s = 0;
  const cudaResourceDesc r = resource(a);
  ASSERT_EQ(cudaCreateSurfaceObject(&s, &r), cudaSuccess);
  const auto v = run<float>(
      "suld.b.2d.b32.trap {%r5}, [%rd1, {%r1, %r2}];\n"
      "suld.b.2d.v2.b32.clamp {%r6, %r7}, [%rd1, {%r3, %r2}];\n"
      "suld.b.2d.b32.zero {%r8}, [%rd1, {%r4, %r2}];\n"
      "sust.b.2d.b32.trap [%rd1, {%r1, %r2}], {%r8};\n"
      "sust.b.2d.b16.zero [%rd1, {%r4, %r2}], {%h1};",
      s, std::vector<std::array<int32_t, 4>>{{4, 1, 400, 16}});
  ASSERT_EQ(error_, cudaSuccess);
  EXPECT_THAT(v[0], ElementsAre(5, 6, 7, 0));
  std::vector<float> back(8);
  ASSERT_EQ(cudaMemcpy2DFromArray(back.data(), 16, a, 0, 0, 16, 2, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_THAT(back, ElementsAre(0, 1, 2, 3, 4, 0, 6, 7));

  run<float>("sust.b.2d.b32.trap [%rd1, {%r1, %r2}], {%r1};", s, std::vector<std::array<int32_t, 4>>{{16, 0}});
  EXPECT_EQ(error_, cudaErrorIllegalAddress);
}

TEST_F(TextureTest, WhatIsGoneIsAFault) {
  cudaArray* a = array(ramp(4), {4, 0, 0});
  const auto t = texture(resource(a), reading(1));
  ASSERT_EQ(cudaFreeArray(a), cudaSuccess);
  run<float>(k1d, t, std::vector<std::array<float, 4>>{{0.f}});
  EXPECT_EQ(error_, cudaErrorIllegalAddress);
  cudaDeviceReset();
  run<float>(k1d, 12345, std::vector<std::array<float, 4>>{{0.f}});
  EXPECT_EQ(error_, cudaErrorIllegalAddress);
}

TEST_F(TextureTest, ArraysAreChecked) {
  const cudaChannelFormatDesc floats = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat),
                              three{8, 8, 8, 0, 1};
  cudaArray* a = nullptr;
  EXPECT_EQ(cudaMallocArray(&a, &three, 4, 4, 0), cudaErrorInvalidChannelDescriptor);
  ASSERT_EQ(cudaMallocArray(&a, &floats, 5, 3, 0), cudaSuccess);
  cudaExtent extent{};
  cudaChannelFormatDesc format{};
  EXPECT_EQ(cudaArrayGetInfo(&format, &extent, nullptr, a), cudaSuccess);
  EXPECT_EQ(extent.width * 100 + extent.height * 10 + extent.depth, 530u);
  EXPECT_EQ(format.x, 32);
  // 15 numbers that run on over the rows, from the second row's third.
  const std::vector<float> in = ramp(8);
  EXPECT_EQ(cudaMemcpyToArray(a, 8, 1, in.data(), 32, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpyToArray(a, 8, 1, in.data(), 36, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  std::vector<float> out(15, -1.f);
  EXPECT_EQ(cudaMemcpy2DFromArray(out.data(), 20, a, 0, 0, 20, 3, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_THAT(out, ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(cudaMemcpy2DToArray(a, 4, 0, in.data(), 20, 20, 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2DToArray(nullptr, 0, 0, in.data(), 4, 4, 1, cudaMemcpyHostToDevice),
            cudaErrorInvalidResourceHandle);

  const cudaTextureDesc linear = reading(1, true);
  const cudaChannelFormatDesc integers{32, 0, 0, 0, 1};
  cudaArray* b = nullptr;
  ASSERT_EQ(cudaMallocArray(&b, &integers, 4, 0, 0), cudaSuccess);
  unsigned long long t = 0;
  const cudaResourceDesc r = resource(b);
  EXPECT_EQ(cudaCreateTextureObject(&t, &r, &linear, nullptr), cudaErrorInvalidFilterSetting);
  EXPECT_EQ(cudaDestroyTextureObject(77), cudaSuccess) << "as on an H100";
}

}  // namespace
}  // namespace coalesce::cudart
