// Textures and surfaces: how kernels see an array or a stretch of memory through a handle. The texels themselves lie in
// ordinary allocations, row after row, slice after slice.
#pragma once

#include <array>
#include <cstdint>
#include <map>

namespace coalesce::machine {

enum class TexelKind : uint8_t { unsigned_integer, signed_integer, real };
enum class AddressMode : uint8_t { wrap, clamp, mirror, border };

struct Texture {
  uint64_t address = 0;                     // of texel (0, 0, 0)
  uint64_t row = 0, slice = 0;              // bytes from row to row, from slice (or layer) to slice
  std::array<uint32_t, 3> size{1, 1, 1};    // texels in a row, rows, slices or layers; a cube map's faces are layers
  uint8_t channels = 1, channel_bytes = 4;  // 1, 2 or 4 each
  TexelKind kind = TexelKind::real;         // real: float, or half where channel_bytes is 2
  // For textures only.
  std::array<AddressMode, 3> mode{AddressMode::clamp, AddressMode::clamp, AddressMode::clamp};
  std::array<float, 4> border{};
  bool linear = false;      // interpolates; else the nearest texel
  bool normalised = false;  // coordinates are fractions of the size
  bool fractions = false;   // integers are read as fractions of their range
  uint32_t texel_bytes() const { return uint32_t{channels} * channel_bytes; }
  uint64_t bytes() const {  // from the first texel to behind the last
    return slice * (size[2] - 1) + row * (size[1] - 1) + uint64_t{size[0]} * texel_bytes();
  }
};

// Those that exist, by handle. Changed only between launches.
class Textures {
 public:
  uint64_t add(const Texture& texture) {
    all_.emplace(++last_, texture);
    return last_;
  }
  bool remove(uint64_t handle) { return all_.erase(handle) != 0; }
  const Texture* find(uint64_t handle) const {
    const auto at = all_.find(handle);
    return at == all_.end() ? nullptr : &at->second;
  }

 private:
  std::map<uint64_t, Texture> all_;
  uint64_t last_ = 0x7e00'0000'0000'0000ull;  // no address and no small number is a handle
};

}  // namespace coalesce::machine
