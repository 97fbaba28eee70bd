// Reads of a plane of floats by all lanes of a warp at once: what programs ask textures for most.
#pragma once

#include <array>
#include <cstdint>

namespace coalesce::machine {

struct Texture;

using LaneWords = std::array<uint32_t, 32>;

// True if `values` has what lanes of `mask` read at (x, y), which are bits of floats. False: another kind of texture,
// or a lane's value is mixed of several texels or from the border or beyond a period; nothing is written then.
bool read_plane(const Texture& t, const uint32_t* x, const uint32_t* y, uint32_t mask, LaneWords& values);

}  // namespace coalesce::machine
