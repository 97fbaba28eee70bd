// Lanes of one warp that name textures and surfaces of their own.
#include <bit>
#include <functional>

#include "textures.h"

namespace coalesce::cudart {
namespace {

// Each lane names its own texture or surface: the same as others, or one of another size, form or filter.
TEST_F(TextureTest, LanesNameTexturesOfTheirOwn) {
  std::vector<float> tens(35);
  for (size_t i = 0; i < tens.size(); ++i) tens[i] = 100.f + static_cast<float>(i);
  cudaArray *few = array(ramp(15), {5, 3, 0}, 2), *many = array(tens, {7, 5, 0}, 2);
  const unsigned long long handles[] = {texture(resource(few), reading(1)), texture(resource(many), reading(1, true))};
  unsigned long long surfaces[2] = {};
  const cudaResourceDesc of[] = {resource(few), resource(many)};
  for (int k = 0; k < 2; ++k) ASSERT_EQ(cudaCreateSurfaceObject(&surfaces[k], &of[k]), cudaSuccess);
  const std::function<bool(uint32_t)> kSecond[] = {
      [](uint32_t) { return false; },       [](uint32_t) { return true; },      [](uint32_t l) { return l == 0; },
      [](uint32_t l) { return l == 39; },   [](uint32_t l) { return l == 31; }, [](uint32_t l) { return l % 2 == 1; },
      [](uint32_t l) { return l % 32 < 7; }};
  const std::string name = "mov.b64 %rd1, {%r3, %r4};\n";
  for (const auto& second : kSecond)
    for (const bool read_by_place : {true, false}) {
      std::vector<std::array<uint32_t, 4>> places;
      std::vector<float> expected;
      for (uint32_t l = 0; l < 40; ++l) {
        const uint32_t x = l % 5, y = l / 5 % 3;
        const unsigned long long h = (read_by_place ? handles : surfaces)[second(l)];
        const auto at = [&](uint32_t i) { return std::bit_cast<uint32_t>(static_cast<float>(i) + 0.5f); };
        places.push_back({read_by_place ? at(x) : 4 * x, read_by_place ? at(y) : y, static_cast<uint32_t>(h),
                          static_cast<uint32_t>(h >> 32)});
        expected.push_back(static_cast<float>(second(l) ? 100 + 7 * y + x : 5 * y + x));
      }
      std::vector<float> is;
      for (const auto& v :
           run<float>(name + (read_by_place ? k2d : "suld.b.2d.b32.trap {%r5}, [%rd1, {%r1, %r2}];"), 0, places))
        is.push_back(v[0]);
      ASSERT_EQ(error_, cudaSuccess);
      EXPECT_EQ(is, expected) << read_by_place;
    }
}

}  // namespace
}  // namespace coalesce::cudart
