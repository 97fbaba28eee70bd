// Tiles of shared memory that are written by rows and read by columns, as a transpose does: tile[x][y]. Each lane of a
// column is in another row, which is a gather, and the next warp's column is 4 bytes further. Where the block's
// dimensions say that the warps together read most of such a tile, and nothing writes shared memory meanwhile, code
// transposes it before the loop over warps (emit/tiles.cpp), and a warp's column is then one vector load.
#pragma once

#include <cstdint>
#include <vector>

#include "native/analyse/regions.h"
#include "native/analyse/registers.h"

namespace coalesce::native {

inline constexpr uint32_t kTileColumns = 16;      // are transposed at a time
inline constexpr uint32_t kMostTileColumns = 64;  // 8 KB of the CPU's first cache
inline constexpr uint32_t kMostTiles = 2;         // of a region

struct Tile {
  uint32_t reg;         // of the addresses
  uint32_t reads;       // of a column, by all warps of the region
  int64_t first, last;  // lane 0's lowest address, its highest
  uint32_t columns;     // a multiple of kTileColumns
};

// A load of one word for each lane, lanes at least a row of kTileColumns words apart.
bool reads_column(const Decoded& program, const Instruction& i);

std::vector<Tile> find_tiles(const Registers& registers, const RegionPlan& plan);

}  // namespace coalesce::native
