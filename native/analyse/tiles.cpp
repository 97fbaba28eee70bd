#include "native/analyse/tiles.h"

#include <algorithm>

#include "native/analyse/shared_access.h"

namespace coalesce::native {

using machine::AddressSpace;
using machine::Kind;
using machine::kLanes;

bool reads_column(const Decoded& p, const Instruction& i) {
  if (i.kind != Kind::load || i.guard != kNone) return false;
  const MemoryOp& m = p.memory[i.memory];
  if (m.space != AddressSpace::shared || m.is_volatile || m.width != 4 || m.count != 1 || !m.address.is_reg() ||
      !m.values[0].is_reg() || !in_bounds(p, m))
    return false;
  const Register& r = p.registers[m.address.reg];
  return r.lanes == LaneClass::affine && r.stride >= 4 * int64_t{kTileColumns} && r.stride % 4 == 0;
}

std::vector<Tile> find_tiles(const Registers& registers, const RegionPlan& plan) {
  const Decoded& p = registers.program();
  std::vector<Tile> tiles;
  for (const uint32_t b : plan.blocks)
    for (uint32_t k = p.blocks[b].first; k < p.blocks[b].last; ++k) {
      const Instruction& i = p.code[k];
      const bool writes = i.kind == Kind::store && p.memory[i.memory].space != AddressSpace::global;
      const bool computes = i.kind == Kind::pure || i.kind == Kind::load || i.kind == Kind::store;
      const bool ends =
          i.kind == Kind::nothing || i.kind == Kind::branch || i.kind == Kind::barrier || i.kind == Kind::exit;
      if (writes || (!computes && !ends)) return {};
      if (!reads_column(p, i)) continue;
      const MemoryOp& m = p.memory[i.memory];
      const machine::Range& range = p.registers[m.address.reg].range;
      const int64_t span = (int64_t{kLanes} - 1) * p.registers[m.address.reg].stride;
      auto tile = std::ranges::find(tiles, m.address.reg, &Tile::reg);
      if (tile == tiles.end()) tile = tiles.insert(tile, {m.address.reg, 0, INT64_MAX, 0, 0});
      if (!p.blocks[b].divergent) tile->reads += registers.warps();
      tile->first = std::min(tile->first, range.low + m.offset);
      tile->last = std::max(tile->last, range.high - span + m.offset);
    }
  std::erase_if(tiles, [](Tile& t) {
    t.first &= ~int64_t{3};
    const int64_t columns = ((t.last - t.first) / 4 + kTileColumns) / kTileColumns * kTileColumns;
    t.columns = static_cast<uint32_t>(std::min<int64_t>(columns, kMostTileColumns + 1));
    return t.columns > kMostTileColumns || 2 * t.reads < t.columns;
  });
  if (tiles.size() > kMostTiles) tiles.resize(kMostTiles);
  return tiles;
}

}  // namespace coalesce::native
