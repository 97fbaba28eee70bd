// Textures that are refused, held against an H100: tests/truth/texture_codes.txt.
#include <bit>
#include <fstream>
#include <map>
#include <sstream>

#include "textures.h"

extern "C" coalesce::cudart::cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(
    size_t*, const coalesce::cudart::cudaChannelFormatDesc*, int);

namespace coalesce::cudart {
namespace {

const std::map<std::string, cudaChannelFormatDesc> kFormats = {
    {"u8x1", {8, 0, 0, 0, cudaChannelFormatKindUnsigned}},
    {"u8x2", {8, 8, 0, 0, cudaChannelFormatKindUnsigned}},
    {"u8x4", {8, 8, 8, 8, cudaChannelFormatKindUnsigned}},
    {"u16x1", {16, 0, 0, 0, cudaChannelFormatKindUnsigned}},
    {"u16x2", {16, 16, 0, 0, cudaChannelFormatKindUnsigned}},
    {"u16x4", {16, 16, 16, 16, cudaChannelFormatKindUnsigned}},
    {"h16x1", {16, 0, 0, 0, cudaChannelFormatKindFloat}},
    {"u32x1", {32, 0, 0, 0, cudaChannelFormatKindUnsigned}},
    {"f32x1", {32, 0, 0, 0, cudaChannelFormatKindFloat}},
    {"f32x2", {32, 32, 0, 0, cudaChannelFormatKindFloat}},
    {"f32x4", {32, 32, 32, 32, cudaChannelFormatKindFloat}}};

class TextureCodes : public TextureTest {
 protected:
  void SetUp() override { ASSERT_EQ(cudaMalloc(&memory_, 4 << 20), cudaSuccess); }
  static int code(const cudaResourceDesc& r, const cudaTextureDesc& d = reading(0)) {
    unsigned long long t = 0;
    const int code = cudaCreateTextureObject(&t, &r, &d, nullptr);
    if (code == 0) cudaDestroyTextureObject(t);
    return code;
  }
  int linear(const cudaChannelFormatDesc& f, size_t offset, size_t bytes) const {
    cudaResourceDesc r{};
    r.resType = cudaResourceTypeLinear;
    r.res.linear = {static_cast<char*>(memory_) + offset, f, bytes};
    return code(r);
  }
  int pitched(const cudaChannelFormatDesc& f, size_t offset, size_t width, size_t height, size_t pitch) const {
    cudaResourceDesc r{};
    r.resType = cudaResourceTypePitch2D;
    r.res.pitch2D = {static_cast<char*>(memory_) + offset, f, width, height, pitch};
    return code(r);
  }
  // `body` gets format and number of each entry of the lines that begin so, and gives the code.
  template <class Body>
  static unsigned held(const std::string& what, const Body& body) {
    std::ifstream file(COALESCE_SOURCE_DIR "/tests/truth/texture_codes.txt");
    unsigned entries = 0;
    for (std::string line; std::getline(file, line);) {
      const size_t colon = line.find(':'), blank = line.find(' ');
      if (colon == std::string::npos || line.substr(0, blank) != what) continue;
      const auto format = kFormats.find(line.substr(blank + 1, colon - blank - 1));
      if (format == kFormats.end()) continue;
      std::istringstream in(line.substr(colon + 1));
      size_t number = 0;
      char sign = 0;
      int runtime = 0, driver = 0;
      for (; in >> number >> sign >> runtime >> sign >> driver; ++entries)
        EXPECT_EQ(body(format->second, number), runtime) << line.substr(0, colon) << ", " << number;
    }
    return entries;
  }

  void* memory_ = nullptr;
};

TEST_F(TextureCodes, OfMemoryThatIsNoArray) {
  EXPECT_EQ(held("linear", [&](const auto& f, size_t offset) { return linear(f, offset, 4096); }), 11u * 21);
  EXPECT_EQ(held("pitch512", [&](const auto& f, size_t offset) { return pitched(f, offset, 8, 8, 512); }), 11u * 21);
  EXPECT_EQ(held("pitches", [&](const auto& f, size_t pitch) { return pitched(f, 0, 1, 8, pitch); }), 11u * 28);
  EXPECT_EQ(held("large", [&](const auto& f, size_t n) { return linear(f, 0, n * texel_bytes(f)); }), 11u * 7);
}

// Small allocations begin at smaller multiples than a GPU's.
TEST_F(TextureCodes, AnyAllocationServes) {
  for (int k = 0; k < 8; ++k) {
    ASSERT_EQ(cudaMalloc(&memory_, 300), cudaSuccess);
    EXPECT_EQ(linear(kFormats.at("f32x1"), 0, 300), 0);
  }
}

TEST_F(TextureCodes, OfExtents) {
  const cudaChannelFormatDesc f = kFormats.at("f32x1");
  EXPECT_EQ(pitched(f, 0, 131072, 1, 131072 * 4), 0);
  EXPECT_EQ(pitched(f, 0, 131073, 1, 131072 * 4), 1);
  EXPECT_EQ(pitched(f, 0, 8, 65000, 32), 0);
  EXPECT_EQ(pitched(f, 0, 8, 65001, 32), 1);
  EXPECT_EQ(pitched(f, 0, 8, 1, 2097120), 0);
  EXPECT_EQ(pitched(f, 0, 8, 1, 2097152), 1);
  size_t width = 0;
  EXPECT_EQ(cudaDeviceGetTexture1DLinearMaxWidth(&width, &f, 0), 0);
  EXPECT_EQ(width, size_t{1} << 30);
  EXPECT_EQ(cudaDeviceGetTexture1DLinearMaxWidth(&width, &kFormats.at("f32x4"), 0), 0);
  EXPECT_EQ(width, size_t{1} << 28);
  EXPECT_EQ(cudaDeviceGetTexture1DLinearMaxWidth(&width, nullptr, 0), 1);
  EXPECT_EQ(cudaDeviceGetTexture1DLinearMaxWidth(&width, &f, 9), 101);
  const cudaChannelFormatDesc three{32, 32, 32, 0, cudaChannelFormatKindFloat};
  EXPECT_EQ(cudaDeviceGetTexture1DLinearMaxWidth(&width, &three, 0), 20);
}

// Reals are not read as fractions, and no integers of 32 bits; a filter that mixes is for what becomes real.
TEST_F(TextureCodes, OfWaysToRead) {
  std::ifstream file(COALESCE_SOURCE_DIR "/tests/truth/texture_codes.txt");
  const std::map<std::string, cudaChannelFormatDesc> formats = {{"f32", kFormats.at("f32x1")},
                                                                {"u32", kFormats.at("u32x1")},
                                                                {"u8x4", kFormats.at("u8x4")},
                                                                {"h16", kFormats.at("h16x1")}};
  unsigned lines = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    std::string name, read, filter, normalised;
    int r = 0, f = 0, n = 0, expected = 0;
    char colon = 0;
    if (!(in >> name >> read >> r >> filter >> f >> normalised >> n >> colon) || !formats.contains(name)) continue;
    ++lines;
    cudaArray* a = nullptr;
    ASSERT_EQ(cudaMallocArray(&a, &formats.at(name), 64, 64, 0), cudaSuccess);
    for (int mode = 0; mode < 4 && in >> expected; ++mode)
      EXPECT_EQ(code(resource(a), reading(mode, f != 0, n != 0, r != 0)), expected) << line << ", mode " << mode;
    cudaFreeArray(a);
  }
  EXPECT_EQ(lines, 32u);
}

// The border's colour of integers is the lowest bits of what stands in the description.
TEST_F(TextureCodes, BordersOfIntegersAreBits) {
  const auto border = [&](cudaChannelFormatDesc format, float colour) {
    cudaArray* a = array(std::vector<unsigned char>(16, 7), {4 / texel_bytes(format), 4, 0}, 0, format);
    cudaTextureDesc d = reading(3);
    d.borderColor[0] = colour;
    const std::string fetch = "tex.2d.v4.u32.f32 {%r5, %r6, %r7, %r8}, [%rd1, {%f1, %f2}];";
    return run<unsigned>(fetch, texture(resource(a), d), std::vector<std::array<float, 4>>{{-5.f, 0.f}})[0][0];
  };
  EXPECT_EQ(border(kFormats.at("u8x1"), 5.5f), 0u);
  EXPECT_EQ(border(kFormats.at("u8x1"), std::bit_cast<float>(0x12345678u)), 0x78u);
  EXPECT_EQ(border(kFormats.at("u16x1"), std::bit_cast<float>(0x89abcdefu)), 0xcdefu);
  EXPECT_EQ(border(kFormats.at("u32x1"), 5.5f), 0x40b00000u);
}

// The border of what is read as fractions is rounded to a texel's steps, a half to zero: 127 and 64 of 255; NaN is 0.
TEST_F(TextureCodes, BordersOfFractionsAreRounded) {
  cudaArray* a = array(std::vector<unsigned char>(16, 7), {4, 4, 0}, 0, kFormats.at("u8x1"));
  for (const auto& [colour, bits] : {std::pair{0.5f, 0x3efefeffu}, std::pair{0.25f, 0x3e808081u},
                                     std::pair{std::bit_cast<float>(0xffffff00u), 0u}}) {
    cudaTextureDesc d = reading(3, false, false, true);
    d.borderColor[0] = colour;
    EXPECT_EQ(sampled(k2d, texture(resource(a), d), {{-5.f, 0.f}})[0], std::bit_cast<float>(bits));
  }
}

// On the edges of a cube an H100 reads the face of z before that of y before that of x.
TEST_F(TextureCodes, EdgesOfCubes) {
  const auto cube = texture(resource(array(ramp(6), {1, 1, 6}, cudaArrayCubemap)), reading(1, false, true));
  const std::string fetch = "tex.cube.v4.f32.f32 {%r5, %r6, %r7, %r8}, [%rd1, {%f1, %f2, %f3, %f3}];";
  EXPECT_EQ(sampled(fetch, cube, {{1.f, 0.f, 1.f}, {0.f, -1.f, -1.f}, {1.f, 1.f, 0.f}, {-1.f, 1.f, 1.f}}),
            (std::vector<float>{4, 5, 2, 4}));
}

}  // namespace
}  // namespace coalesce::cudart
