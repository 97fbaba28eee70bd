#include "machine/execute/texture_plane.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "machine/execute/filter.h"
#include "machine/isa/row.h"
#include "machine/memory/texture.h"

namespace coalesce::machine {
namespace {

// The texel's number along an axis, for each lane; false if one needs two texels, or one beyond an edge that the
// address mode does not clamp. Lanes that are off have some texel of the texture.
bool texels_of(const Texture& t, unsigned axis, const uint32_t* at, uint32_t mask,
               std::array<uint32_t, kLanes>& texels) {
  const int64_t last = int64_t{t.size[axis]} - 1;
  const bool clamps = t.mode[axis] == AddressMode::clamp || (!t.normalised && t.mode[axis] != AddressMode::border);
  std::array<int64_t, kLanes> wanted;
  std::array<uint64_t, kLanes> mixed{}, beyond;
  if (t.linear) {
    for (uint32_t l = 0; l < kLanes; ++l) {
      const double u = filter_coordinate(std::bit_cast<float>(at[l]), t.size[axis], t.normalised);
      const FilterPlace f = filter_place(u);
      wanted[l] = f.texel;
      mixed[l] = f.part;
      beyond[l] = f.texel < 0 || f.texel >= last;  // the one above counts, too
    }
  } else {
    for (uint32_t l = 0; l < kLanes; ++l) {
      wanted[l] =
          static_cast<int64_t>(std::floor(filter_coordinate(std::bit_cast<float>(at[l]), t.size[axis], t.normalised)));
      beyond[l] = wanted[l] < 0 || wanted[l] > last;
    }
  }
  uint64_t needs_more = 0;
  for (uint32_t l = 0; l < kLanes; ++l) {
    const uint64_t on = mask >> l & 1 ? ~uint64_t{0} : 0;
    needs_more |= on & (clamps ? mixed[l] & (beyond[l] - 1) : mixed[l] | beyond[l]);
    texels[l] = static_cast<uint32_t>(std::clamp<int64_t>(wanted[l], 0, last));
  }
  return needs_more == 0;
}

}  // namespace

bool read_plane(const Texture& t, const uint32_t* x, const uint32_t* y, uint32_t mask, LaneWords& values) {
  if (t.kind != TexelKind::real || t.channel_bytes != 4 || t.channels != 1 || t.fractions) return false;
  LaneWords columns, rows;
  if (!texels_of(t, 0, x, mask, columns) || !texels_of(t, 1, y, mask, rows)) return false;
  for (uint32_t l = 0; l < kLanes; ++l) {
    const auto* from = reinterpret_cast<const std::byte*>(t.address + rows[l] * t.row + uint64_t{columns[l]} * 4);
    std::memcpy(&values[l], from, 4);
  }
  if (t.linear)
    for (uint32_t& v : values) v = unmixed_real(v);
  return true;
}

}  // namespace coalesce::machine
