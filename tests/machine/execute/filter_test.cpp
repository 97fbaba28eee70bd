// Filtered texture values of an H200, bit by bit (a choice of the measurements named in execute/filter.h).
#include "machine/execute/filter.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <random>
#include <vector>

namespace coalesce::machine::test {
namespace {

struct Mixed {
  std::vector<uint32_t> texels;  // bits of floats
  std::vector<uint32_t> parts;
  uint32_t result;
};

void expect_mixed(const std::vector<Mixed>& measured, bool half) {
  for (const Mixed& m : measured) {
    std::vector<float> texels;
    for (uint32_t t : m.texels) texels.push_back(std::bit_cast<float>(t));
    const auto weights = filter_weights(m.parts);
    EXPECT_EQ(std::bit_cast<uint32_t>(mix_reals(texels, std::span(weights).first(texels.size()), half)), m.result)
        << texels[0] << " " << texels[1] << " by " << m.parts[0];
  }
}

const std::vector<Mixed> kReals{
    {{0x3f248e0a, 0x3f30ea14}, {6}, 0x3f24d832},
    {{0xbf6d3314, 0x3ce5c600}, {148}, 0xbebfd5b1},
    {{0xbe5453e0, 0x3f175dfa}, {215}, 0x3eed3f22},
    {{0x3f60874c, 0xbe4c51b0}, {162}, 0x3e487b06},
    {{0xbe96abd8, 0xbf7fa31c}, {61}, 0xbeec98a1},
    {{0xbe8a1c5c, 0xbea94944}, {11}, 0xbe8b734a},
    {{0xc615376e, 0x39630cbc}, {180}, 0xc53131d2},
    {{0xb621a038, 0xbe1bca06}, {5}, 0xbb42e425},
    {{0x402f5d9f, 0x3740f12a}, {209}, 0x3f00c95e},
    {{0x3a84c12b, 0x3fca2fa0}, {5}, 0x3d026f0e},
    {{0xb7e9755a, 0xb8b5163a}, {227}, 0xb8a72f48},
    {{0x3c6af642, 0x42fcc32e}, {134}, 0x428451aa},
    {{0xbf911154, 0xb633f928}, {147}, 0xbef711b7},
    {{0xc3ddbfa6, 0xb67ff110}, {205}, 0xc2b0b4b8},
    {{0x47a6c782, 0x4451734c}, {170}, 0x46e474cb},
    {{0x38116fa7, 0x42a45c04}, {81}, 0x41d00481},
    {{0xc0a3ae09, 0x40f1f8df}, {30}, 0xc06848f4},
    {{0x3fe1e4e2, 0xc0b0a306}, {127}, 0xbfecaf2a},
    {{0x40d57d7d, 0xc002f5a1}, {68}, 0x408b6388},
    {{0xbe19187c, 0x3f1fa951}, {187}, 0x3ed49f90},
    {{0x40e9547c, 0x402fc00c}, {10}, 0x40e3a5ef},
    {{0xc0bd05eb, 0xbee6a1c6}, {133}, 0xc0449df1},
    {{0xbefafb60, 0xc0b4a84e, 0x3e7dc099, 0x4080d1ec}, {199, 13}, 0xc0838f55},
    {{0x40b30688, 0x411dd2e0, 0xbec102c4, 0xbf1e3f18}, {77, 2}, 0x40da0fe8},
    {{0x3d9eb3dc, 0x3df9c8a7, 0x4057ab46, 0xbde99108}, {3, 33}, 0x3f009e4d},
    {{0x415c356b, 0xc09156ee, 0x3dcd03d6, 0xc0a8062d}, {55, 43}, 0x40ffb4c5},
    {{0x3f426ed2, 0x3e38c3d2, 0x3e0e68a4, 0xbe90c992}, {22, 37}, 0x3f1f3581},
    {{0x401bf0b9, 0xc1542d0e, 0xbd841ac2, 0x3ffd4d7c}, {159, 107}, 0xc0723715},
    {{0x3e14db4d, 0x3e14db4d, 0x3e636f0e, 0x3e636f0e}, {228, 142}, 0x3e407142},
    {{0x3d9eaea2, 0xc05025ce, 0xc0293030, 0x3fcbaf4a}, {231, 211}, 0x3ee39703},
    {{0x4057ab46, 0xbde99108, 0x409f9800, 0x3df5ad57}, {252, 160}, 0x3dc7948a},
    {{0x3f6a45f6, 0x3fa4b75d, 0x3ec2c952, 0xbebbd3e7}, {209, 37}, 0x3f814dd8},
    {{0xbf319845, 0xbf541df2, 0x3efc754a, 0xbf27fffd}, {205, 30}, 0xbf41fb90},
    {{0x3f630f36, 0x3f630f36, 0xbf485a9a, 0xbf485a9a}, {64, 115}, 0x3e0c3ab6},
    {{0x3f0523b2, 0xbebfad38, 0x3f60a9ce, 0x3f0ee112, 0x3ed485e8, 0x3f3f26f6, 0xbf16b8ae, 0x3ee63bfc},
     {19, 126, 234},
     0x3ce47e85},
    {{0xbf66e304, 0xbf74f686, 0xbf509a02, 0x3e8ef5d8, 0xbedf29cc, 0x3e488c60, 0xbdcf0090, 0xbd85b250},
     {251, 204, 205},
     0xbc17a2b9},
    {{0x3e92ecb8, 0xbedc454c, 0x3e818994, 0x3f4d9280, 0x3c6c6200, 0x3e6872a8, 0xbe32b4c8, 0xbf3f02c4},
     {207, 75, 104},
     0xbcd26a88},
    {{0xbde0beb0, 0x3f1f6ae4, 0x3ca27240, 0x3f1801b4, 0xbf23d18a, 0x3f73c618, 0x3f4fc078, 0x3f0acc1c},
     {92, 62, 125},
     0x3e143070},
    {{0xbc4e9980, 0x3f60a9ce, 0x3f467c66, 0xbdcf82d0, 0xbf4fef9a, 0xbf16b8ae, 0x3dd60100, 0xbd1f1620},
     {119, 48, 189},
     0xbea16001},
    {{0xbf6829ce, 0xbe714258, 0x3f0a4acc, 0x3e637e38, 0x3e82937c, 0x3f100658, 0xbf574caa, 0xbf0f12dc},
     {102, 57, 46},
     0xbe9d4633},
    {{0x3f5ef33a, 0xbf4d8316, 0x3f4505fc, 0x3f0ca4de, 0x3f52e1d8, 0x3f7064c2, 0xbf471b2a, 0x3ef20500},
     {58, 221, 15},
     0x3f205e6c},
    {{0x3f1072e6, 0x3efb5c8c, 0xbeea78fc, 0xbf13ef30, 0xbf1118fe, 0x3f16f166, 0x3f5cf8b6, 0xbf198082},
     {127, 116, 115},
     0x3d6823a9},
};

const std::vector<Mixed> kHalves{
    {{0xb7c80000, 0xbb750000}, {16}, 0xb9864000},  {{0xbf340000, 0xc1e54000}, {204}, 0xc1b7e000},
    {{0x37d50000, 0xc4914000}, {183}, 0xc44fa000}, {{0xc3e58000, 0x3e87e000}, {3}, 0xc3e2c000},
    {{0xbc168000, 0xbd72a000}, {140}, 0xbd15c000}, {{0x46346000, 0x39906000}, {55}, 0x460da000},
    {{0x442c8000, 0x35a00000}, {84}, 0x43e7c000},  {{0x3c56a000, 0x3e4f4000}, {28}, 0x3d0a8000},
    {{0x3e87e000, 0x395b8000}, {241}, 0x3c80e000}, {{0x399e8000, 0xb8b82000}, {41}, 0x397b8000},
    {{0xb9cb2000, 0x42650000}, {102}, 0x41b68000}, {{0xc5126000, 0x42ad0000}, {254}, 0x42870000},
    {{0x3f456000, 0x3ab08000}, {19}, 0x3f36c000},  {{0x45b08000, 0x3cb08000}, {177}, 0x44d9e000},
};

struct Fractions {
  std::vector<int32_t> texels;
  uint32_t part;
  unsigned bytes;
  bool is_signed;
  uint32_t result;
};
const std::vector<Fractions> kFractions{
    {{35, 4}, 154, 1, false, 0x3d835083},         {{113, 201}, 196, 1, false, 0x3f3514b5},
    {{167, 74}, 253, 1, false, 0x3e96c497},       {{209, 32}, 65, 1, false, 0x3f24b3a5},
    {{72, 191}, 158, 1, false, 0x3f120392},       {{118, 29}, 21, 1, false, 0x3ede44de},
    {{37375, 28502}, 94, 2, false, 0x3f054585},   {{5348, 42662}, 253, 2, false, 0x3f24f1a5},
    {{33420, 48070}, 204, 2, false, 0x3f3026b0},  {{3866, 20500}, 191, 2, false, 0x3e7e54fe},
    {{33250, 13653}, 217, 2, false, 0x3e81fc82},  {{65163, 61055}, 187, 2, false, 0x3f72d2f3},
    {{-12106, 5950}, 196, 2, true, 0x3d56c1ae},   {{4836, 9122}, 174, 2, true, 0x3e7229e4},
    {{-29638, -25197}, 248, 2, true, 0xbf45f18c}, {{-8093, -4435}, 71, 2, true, 0xbe5d31ba},
    {{-12369, 25067}, 11, 2, true, 0xbea82150},   {{32600, 664}, 148, 2, true, 0x3edce5ba},
    {{31, 38}, 136, 1, true, 0x3e8bf918},         {{3, -33}, 12, 1, true, 0x3c298153},
    {{94, -36}, 211, 1, true, 0xbdd401a8},        {{-60, -63}, 57, 1, true, 0xbef495e9},
    {{-36, 23}, 164, 1, true, 0x3c6801d0},        {{-57, -120}, 69, 1, true, 0xbf15212a},
    {{-56, 82}, 56, 1, true, 0xbe5021a0},         {{92, 40}, 85, 1, true, 0x3f16a52d},
    {{53, 126}, 159, 1, true, 0x3f46398c},        {{107, -8}, 35, 1, true, 0x3f37fd70},
};

struct At {
  uint32_t coordinate;  // bits of a float
  uint32_t size;
  bool normalised;
  int64_t place;  // in 256ths of a texel from the first one's centre
};
const std::vector<At> kPlaces{
    {0x40c11102, 16, false, 1417},    {0x4084140c, 16, false, 929},     {0x41457a73, 16, false, 3032},
    {0x40d009d0, 16, false, 1536},    {0x40b82fe4, 16, false, 1345},    {0x3fc43c1e, 16, false, 264},
    {0x4043a9ce, 16, false, 655},     {0x4139e324, 16, false, 2846},    {0x3f6bd738, 13, true, 2938},
    {0x3f58439e, 13, true, 2683},     {0x3ea118b6, 13, true, 919},      {0x3e978823, 13, true, 857},
    {0x3f738ff6, 13, true, 3038},     {0x3e92132e, 13, true, 821},      {0x3ef62b05, 13, true, 1472},
    {0x3e064eec, 13, true, 309},      {0x3f15ba4d, 1000, true, 149600}, {0x3f68cc24, 1000, true, 232669},
    {0x3f0e1085, 1000, true, 141936}, {0x3f016d8c, 1000, true, 129300}, {0x3e848b0f, 1000, true, 66143},
    {0x3f7cad24, 1000, true, 252548}, {0x3f0f9194, 1000, true, 143441}, {0x3ecbf4fe, 1000, true, 101850},
};

TEST(Filter, SinglePrecision) { expect_mixed(kReals, false); }
TEST(Filter, HalfPrecision) { expect_mixed(kHalves, true); }

TEST(Filter, Fractions) {
  for (const Fractions& f : kFractions) {
    const auto weights = filter_weights(std::span(&f.part, 1));
    EXPECT_EQ(std::bit_cast<uint32_t>(mix_fractions(f.texels, std::span(weights).first(2), f.bytes, f.is_signed)),
              f.result)
        << f.texels[0] << " " << f.texels[1] << " by " << f.part;
  }
}

TEST(Filter, Places) {
  for (const At& a : kPlaces) {
    const double at = std::bit_cast<float>(a.coordinate);
    const FilterPlace f = filter_place(filter_coordinate(at, a.size, a.normalised));
    EXPECT_EQ(f.texel * 256 + f.part, a.place) << at << " of " << a.size;
  }
}

// Whatever the place: nothing is lost or won, and a texel's centre is that texel.
TEST(Filter, WeightsAreWhole) {
  for (uint32_t x = 0; x < 256; x += 5)
    for (uint32_t y = 0; y < 256; ++y)
      for (uint32_t z = 0; z < 256; z += 17) {
        const uint32_t parts[] = {x, y, z};
        for (std::size_t n = 1; n <= 3; ++n) {
          uint32_t sum = 0;
          for (uint32_t w : filter_weights(std::span(parts).first(n))) sum += w;
          ASSERT_EQ(sum, 256u);
        }
      }
  const uint32_t centre[] = {0, 0, 0};
  EXPECT_EQ(filter_weights(centre)[0], 256u);
}

TEST(Filter, SpecialValues) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const uint32_t weights[] = {100, 156}, first[] = {256, 0};
  const auto mix = [&](float a, float b) {
    const float texels[] = {a, b};
    return std::bit_cast<uint32_t>(mix_reals(texels, weights, false));
  };
  EXPECT_EQ(mix(kInfinity, -1), 0x7f800000u);
  EXPECT_EQ(mix(2, -kInfinity), 0xff800000u);
  EXPECT_EQ(mix(kInfinity, -kInfinity), 0x7fffffffu);
  EXPECT_EQ(mix(-1, std::numeric_limits<float>::quiet_NaN()), 0x7fffffffu);
  EXPECT_EQ(mix(1e-42f, 1e-42f), 0u);
  EXPECT_EQ(mix(-0.f, -0.f), 0x80000000u);
  EXPECT_EQ(mix(-0.f, 0.f), 0u);
  const float texels[] = {3, kInfinity};  // without weight it is not there
  EXPECT_EQ(mix_reals(texels, first, false), 3.f);
}

// An H100 gave these, for textures of cuTexObjectCreate: halves go upwards, integers of four bytes downwards.
TEST(Filter, OneTexelWithAllTheWeight) {
  std::mt19937 random(29);
  const uint32_t all = 256;
  for (int n = 0; n < 20000; ++n) {
    uint32_t bits = static_cast<uint32_t>(random());
    if (n % 4 == 0) bits &= 0x807fffff;  // subnormal ones and zeros
    if (n % 4 == 1) bits |= 0x7f800000;  // infinities and NaNs
    if (n % 8 < 2 && n % 3 == 0) bits &= 0xff800000;
    const float texel = std::bit_cast<float>(bits);
    EXPECT_EQ(unmixed_real(bits), std::bit_cast<uint32_t>(mix_reals({&texel, 1}, {&all, 1}, false))) << bits;
  }
}

TEST(Filter, IntegersReadAsTheyAre) {
  struct Case {
    std::vector<int64_t> texels;
    std::vector<uint32_t> parts;
    unsigned bytes;
    int64_t result;
  };
  for (const Case& c :
       {Case{{60, 94}, {8}, 1, 61}, Case{{60, 94}, {64}, 1, 69}, Case{{24124, -19327}, {128}, 2, 2399},
        Case{{24124, -19327}, {144}, 2, -317}, Case{{-128, 71, -16, -19}, {176, 104}, 1, -2},
        Case{{71, -50, -19, -48}, {232, 152}, 1, -42}, Case{{-28986, -23804, -16178, -22931}, {168, 24}, 2, -25130},
        Case{{3028377148, 2395364876}, {8}, 4, 3008595514}, Case{{-1266590148, -1899602420}, {8}, 4, -1286371782}}) {
    const auto weights = filter_weights(c.parts);
    EXPECT_EQ(mix_integers(c.texels, std::span(weights).first(c.texels.size()), c.bytes), c.result) << c.texels[0];
  }
}

}  // namespace
}  // namespace coalesce::machine::test
