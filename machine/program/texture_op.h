// One texture or surface instruction, small enough to be the first operand of the call that it becomes.
#pragma once

#include <bit>
#include <cstdint>

namespace coalesce::machine {

enum class TextureAction : uint8_t { sample, gather, load, store };  // tex, tld4, suld, sust
enum class Geometry : uint8_t { d1, d2, d3, layers1, layers2, cube, cubes };
enum class Boundary : uint8_t { trap, clamp, zero };  // surfaces: what an access outside does

struct TextureOp {
  uint32_t action : 2 = 0;     // TextureAction
  uint32_t geometry : 3 = 0;   // Geometry
  uint32_t whole : 1 = 0;      // coordinates are integers
  uint32_t first : 2 = 0;      // the first component that this call gives: 0 or 2
  uint32_t component : 2 = 0;  // gather: of the texels
  uint32_t boundary : 2 = 0;   // Boundary
  uint32_t width : 4 = 0;      // surfaces: bytes of one element,
  uint32_t count : 3 = 0;      //   and how many
  uint32_t unused : 13 = 0;
  uint32_t bits() const { return std::bit_cast<uint32_t>(*this); }
  static TextureOp of(uint32_t bits) { return std::bit_cast<TextureOp>(bits); }
};

inline unsigned coordinates(Geometry g) {
  constexpr unsigned n[] = {1, 2, 3, 2, 3, 3, 4};
  return n[static_cast<unsigned>(g)];
}

}  // namespace coalesce::machine
