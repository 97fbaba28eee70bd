#include "machine/execute/filter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace coalesce::machine {

// Weights are divided axis by axis, each time by rounding for one side and with the rest for the other; the rounded
// side decides where a half goes.
std::array<uint32_t, 8> filter_weights(std::span<const uint32_t> parts) {
  std::array<uint32_t, 8> w{};
  const auto part_of = [](uint32_t weight, uint32_t part) { return (weight * part + 128) >> 8; };
  const uint32_t x = parts[0];
  if (parts.size() == 1) {
    w[0] = 256 - x, w[1] = x;
    return w;
  }
  const uint32_t y = parts[1], z = parts.size() == 3 ? parts[2] : 0;
  for (uint32_t high = 0; high < (parts.size() == 3 ? 2u : 1u); ++high) {
    const uint32_t all = high ? z : 256 - z, right = part_of(all, x), left = all - right;
    uint32_t* const to = &w[4 * high];
    to[3] = part_of(right, y);
    to[1] = right - to[3];
    to[0] = part_of(left, 256 - y);
    to[2] = left - to[0];
  }
  return w;
}

// The texels are cut to whole multiples of 2^-27 (half precision: 2^-14) of the largest one's leading bit; their
// weighted sum is exact, and rounded once, halves away from zero. Subnormal numbers of single precision are zeros.
float mix_reals(std::span<const float> texels, std::span<const uint32_t> weights, bool half) {
  constexpr int kMantissa = 24, kBias = 127, kLeastHalf = -24;
  const int bits = half ? 14 : 27;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto exponent = [&](std::size_t k) { return static_cast<int>(std::bit_cast<uint32_t>(texels[k]) >> 23 & 255); };
  int highest = 0;
  bool plus = false, minus = false, nan = false, negative = true;
  for (std::size_t k = 0; k < texels.size(); ++k) {
    if (weights[k] == 0) continue;
    nan = nan || texels[k] != texels[k];
    plus = plus || texels[k] == kInfinity;
    minus = minus || texels[k] == -kInfinity;
    negative = negative && std::signbit(texels[k]);
    highest = std::max(highest, exponent(k));
  }
  if (nan || (plus && minus)) return std::bit_cast<float>(0x7fffffffu);
  if (plus || minus) return plus ? kInfinity : -kInfinity;
  int64_t sum = 0;
  for (std::size_t k = 0; k < texels.size(); ++k) {
    const int e = exponent(k);
    if (weights[k] == 0 || e == 0 || highest - e > bits) continue;
    const int64_t mantissa = (std::bit_cast<uint32_t>(texels[k]) & 0x7fffff) | 0x800000;
    const int64_t part = (mantissa << 4 >> (27 - bits + highest - e)) * weights[k];
    sum += std::signbit(texels[k]) ? -part : part;
  }
  if (sum == 0) return negative ? -0.f : 0.f;
  auto size = static_cast<uint64_t>(std::abs(sum));
  int shift = highest - kBias - bits - 8;
  int extra = static_cast<int>(std::bit_width(size)) - (half ? 11 : kMantissa);
  if (half) extra = std::max(extra, kLeastHalf - shift);
  if (extra > 0) {
    size = (size >> extra) + (size >> (extra - 1) & 1);
    shift += extra;
  }
  const double result = static_cast<double>(size) * std::bit_cast<double>(static_cast<uint64_t>(1023 + shift) << 52);
  return static_cast<float>(result < double{std::numeric_limits<float>::min()} ? 0 : sum < 0 ? -result : result);
}

// In 16 bits, rounded once, halves upwards. Bytes become 16 bits before the sum without a sign (times 257), after it
// with one, by three terms of the series for 32767 / 127 to three more bits.
float mix_fractions(std::span<const int32_t> texels, std::span<const uint32_t> weights, unsigned bytes,
                    bool is_signed) {
  int64_t sum = 0;
  for (std::size_t k = 0; k < texels.size(); ++k) sum += int64_t{texels[k]} * weights[k];
  if (is_signed && bytes == 1) {
    const int64_t s = 8 * sum;
    return std::max(-1.f, static_cast<float>((s + (s >> 7) + (s >> 15) + 4) >> 3) / 32767);
  }
  if (bytes == 1) sum *= 257;
  return std::max(-1.f, static_cast<float>((sum + 128) >> 8) / (is_signed ? 32767.f : 65535.f));
}

// Rounded once, halves upwards; those of four bytes are cut downwards.
int64_t mix_integers(std::span<const int64_t> texels, std::span<const uint32_t> weights, unsigned bytes) {
  int64_t sum = bytes == 4 ? 0 : 128;
  for (std::size_t k = 0; k < texels.size(); ++k) sum += texels[k] * weights[k];
  return sum >> 8;
}

}  // namespace coalesce::machine
