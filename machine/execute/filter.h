// Linear filtering of textures as an H200 does it, bit by bit: found from what one gave. Of 1.1 million values that
// were compared afterwards 217 differ (tests/hardware/textures_probe.cu says which).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

namespace coalesce::machine {

// A coordinate in texels, kept where integers can hold it. Fractions of the size (`normalised`) are cut to 21 bits
// behind the point, and what is subnormal is 0; and NaN.
inline double filter_coordinate(double u, uint32_t size, bool normalised) {
  if (u != u || std::fabs(u) < double{std::numeric_limits<float>::min()}) return 0;
  constexpr double unit = 1 << 21;
  return std::clamp(normalised ? std::floor(u * unit) / unit * size : u, -1e9, 1e9);
}

// Between two texels: the lower one's number, and how many 256ths towards the next.
struct FilterPlace {
  int64_t texel = 0;
  uint32_t part = 0;
};
// `at` in texels, whose centres are at halves.
inline FilterPlace filter_place(double at) {
  const auto k = static_cast<int64_t>(std::floor((at - 0.5) * 256 + 0.5));  // halves upwards
  return {k >> 8, static_cast<uint32_t>(k & 255)};
}

// Weights of the 2, 4 or 8 texels around a place, in 256ths, together 256. Corner c is the higher texel along axis d
// where bit d of c is set.
std::array<uint32_t, 8> filter_weights(std::span<const uint32_t> parts);

// One channel of the texels around a place, mixed; of single or of half precision.
float mix_reals(std::span<const float> texels, std::span<const uint32_t> weights, bool half);
// The same of one texel in single precision that has all the weight.
inline uint32_t unmixed_real(uint32_t bits) {
  const uint32_t size = bits & 0x7fffffffu;
  return size > 0x7f800000u ? 0x7fffffffu : size < 0x800000u ? bits & 0x80000000u : bits;
}
// Integers that are read as fractions: as stored, 1 or 2 bytes each.
float mix_fractions(std::span<const int32_t> texels, std::span<const uint32_t> weights, unsigned bytes, bool is_signed);
// Integers that are read as they are, 1, 2 or 4 bytes each, as an H100 does it: 160,398 texels were compared.
int64_t mix_integers(std::span<const int64_t> texels, std::span<const uint32_t> weights, unsigned bytes);

}  // namespace coalesce::machine
