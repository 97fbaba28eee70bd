// Matrices whose rows do not begin at sectors, on either side of the copy.
//
// What is written to memory in parts of sectors costs most, so a block writes whole sectors only: row c of the output
// gets the tile's elements moved back by as many as its place in memory is behind a sector's beginning, for which the
// tile has up to a sector's elements more rows above. Elements of 1 and 2 bytes are read and written as words, which
// bytes of four or two rows are gathered for; in shared memory a row lies as far behind a word's beginning as it does
// in memory, and rows that are `group` apart lie alike.
#pragma once

#include "copy.cuh"
#include "transpose.cuh"

namespace coalesce::detail {

inline constexpr int crooked_threads = 256;

// A unit of `group` elements of which some may lie outside of low ... high, which are then 0.
template <int Size>
__device__ __forceinline__ typename unit_of<(Size < 4 ? 4 : Size)>::type load_unit(
    const typename unit_of<Size>::type* at, const typename unit_of<Size>::type* low,
    const typename unit_of<Size>::type* high) {
  using unit = typename unit_of<(Size < 4 ? 4 : Size)>::type;
  constexpr int group = Size < 4 ? 4 / Size : 1;
  unit result = {};
  if constexpr (group == 1) {
    if (at >= low && at < high) result = *reinterpret_cast<const unit*>(at);
  } else {
    if (at >= low && at + group <= high) {
      result = *reinterpret_cast<const unit*>(at);
    } else {
      for (int e = 0; e < group; ++e) {
        if (at + e >= low && at + e < high) result |= static_cast<unsigned int>(at[e]) << (8 * Size * e);
      }
    }
  }
  return result;
}
// Element e of a unit. (No memcpy: of vectors of 8 and 16 bytes clang would make narrower accesses.)
template <int Size, class Unit>
__device__ __forceinline__ typename unit_of<Size>::type element_of(const Unit& from, int e) {
  if constexpr (Size >= 4) {
    return from;
  } else {
    return static_cast<typename unit_of<Size>::type>(from >> (8 * Size * e));
  }
}
// Writes those of a unit's elements that lie in low ... high.
template <int Size, class Unit>
__device__ __forceinline__ void store_unit(typename unit_of<Size>::type* at, const Unit& from,
                                           const typename unit_of<Size>::type* low,
                                           const typename unit_of<Size>::type* high) {
  constexpr int group = Size < 4 ? 4 / Size : 1;
  if (at >= low && at + group <= high) {
    *reinterpret_cast<Unit*>(at) = from;
  } else if constexpr (group > 1) {
#pragma unroll
    for (int e = 0; e < group; ++e) {
      if (at + e >= low && at + e < high) at[e] = element_of<Size>(from, e);
    }
  }
}

// Size: of an element, 1 to 16 and a power of two. A unit is a word, or an element that is larger.
template <int Size>
struct crooked_tile {
  static constexpr int unit = Size < 4 ? 4 : Size, group = unit / Size;
  static constexpr int above = 32 / Size - 1;                                    // rows for the output's shift
  static constexpr int height = 256 / Size;                                      // of what is written
  static constexpr int row_units = Size < 4 ? 32 : Size < 16 ? 256 / Size : 32;  // of what is read
  static constexpr int width = row_units * group - (group - 1);
  static constexpr int rows = (height + above + 7) / 8 * 8;    // of what is read: as many for each warp
  static constexpr int pitch = row_units + 1 - row_units % 2;  // units; odd
};

template <int Size>
__global__ void __launch_bounds__(crooked_threads)
    transpose_crooked(const void* from, void* to, transpose_shape shape) {
  using tile_of = crooked_tile<Size>;
  using unit = typename unit_of<tile_of::unit>::type;
  using element = typename unit_of<Size>::type;
  constexpr int group = tile_of::group, units = tile_of::row_units, pitch = tile_of::pitch, above = tile_of::above;
  constexpr int warps = crooked_threads / 32, rows = tile_of::rows, of_phase = rows / group, parts = units / 32;
  static_assert(warps % group == 0 && rows % warps == 0 && units % 32 == 0);
  __shared__ unit tile[rows * pitch];  // row r is kept at place (r % group) * of_phase + r / group
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t down = static_cast<std::int64_t>(blockIdx.x / shape.tiles_across) * tile_of::height;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x % shape.tiles_across) * tile_of::width;
  const std::int64_t first_row = down - above, left = shape.columns - column;
  const int width = left < tile_of::width ? static_cast<int>(left) : tile_of::width;
  // Whether all units that the tile's elements lie in have nothing but elements of the same row.
  const bool inside = first_row >= 0 && first_row + rows <= shape.rows && left >= units * group + group - 1 &&
                      (group == 1 || column > 0);

  // Each row's units, from the one that holds the tile's first element on.
  const element* row_begin = static_cast<const element*>(from) + (first_row + warp) * shape.in_stride + column;
  unit* place = tile + (warp % group * of_phase + warp / group) * pitch + lane;
  const auto shift_of = [](const element* at) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(at) % tile_of::unit) / Size;
  };
  constexpr int passes = rows / warps, at_once = passes * parts <= 18 ? passes : passes % 9 == 0 ? 9 : 6;
  static_assert(passes % at_once == 0);
#pragma unroll 1
  for (int pass = 0; pass < passes; pass += at_once) {
    unit loaded[at_once][parts];
    const auto units_of_row = [&] { return row_begin - shift_of(row_begin) + lane * group; };
    if (inside) {
#pragma unroll
      for (int k = 0; k < at_once; ++k, row_begin += warps * shape.in_stride) {
        const element* const begin = units_of_row();
#pragma unroll
        for (int p = 0; p < parts; ++p) loaded[k][p] = *reinterpret_cast<const unit*>(begin + p * 32 * group);
      }
    } else {
#pragma unroll
      for (int k = 0; k < at_once; ++k, row_begin += warps * shape.in_stride) {
        const std::int64_t row = first_row + (pass + k) * warps + warp;
        const element* const low = row_begin - column;
        const element* const high = row >= 0 && row < shape.rows ? low + shape.columns : low;
#pragma unroll
        for (int p = 0; p < parts; ++p) {
          loaded[k][p] = load_unit<Size>(units_of_row() + p * 32 * group, low, high);
        }
      }
    }
#pragma unroll
    for (int k = 0; k < at_once; ++k, place += warps / group * pitch) {
#pragma unroll
      for (int p = 0; p < parts; ++p) place[p * 32] = loaded[k][p];
    }
  }
  __syncthreads();

  // A unit of the output has an element of each of the `group` kinds of rows that lie alike.
  const element* kind[group];
#pragma unroll
  for (int m = 0; m < group; ++m) {
    const element* const row = static_cast<const element*>(from) + (first_row + m) * shape.in_stride + column;
    kind[m] = reinterpret_cast<const element*>(tile + (m * of_phase + lane) * pitch) + shift_of(row);
  }
  constexpr int out_parts = tile_of::height / group / 32 > 0 ? tile_of::height / group / 32 : 1;
  constexpr bool part_of_warp = tile_of::height / group < 32;
  element* out = static_cast<element*>(to) + (column + warp) * shape.out_stride;
  for (int c = warp; c < width; c += warps, out += warps * shape.out_stride) {
    __syncwarp();  // lanes that stored nothing wait for the others: apart they would meet in banks
    const int phase = static_cast<int>(reinterpret_cast<std::uintptr_t>(out + down) % 32) / Size;
    element* const begin = out + down - phase + lane * group;
    const int first = above - phase;  // row of the tile
#pragma unroll
    for (int p = 0; p < out_parts; ++p) {
      if (part_of_warp && lane >= tile_of::height / group) continue;
      unit whole;
      if constexpr (group == 1) {
        whole = kind[0][(first + p * 32) * pitch + c];
      } else {
        unsigned int all = 0;
#pragma unroll
        for (int m = 0; m < group; ++m) {
          const int r = first / group + (m < first % group ? 1 : 0);
          all |= static_cast<unsigned int>(kind[m][(r + p * 32) * pitch * group + c]) << (8 * Size * m);
        }
        whole = __funnelshift_r(all, all, 8 * Size * (first % group));
      }
      if (inside) {
        *reinterpret_cast<unit*>(begin + p * 32 * group) = whole;
      } else {
        store_unit<Size>(begin + p * 32 * group, whole, out, out + shape.rows);
      }
    }
  }
}

// Tiles, one a block; 0 where a grid cannot hold them.
template <int Size>
unsigned int crooked_tiles_of(transpose_shape& shape) {
  using tile_of = crooked_tile<Size>;
  const std::int64_t across = (shape.columns + tile_of::width - 1) / tile_of::width;
  const std::int64_t down = (shape.rows + tile_of::above + tile_of::height - 1) / tile_of::height;
  std::int64_t all = 0;
  if (!multiply(across, down, all) || all > 0x7fffffff) return 0;
  shape.tiles_across = static_cast<unsigned int>(across);
  return static_cast<unsigned int>(all);
}

}  // namespace coalesce::detail
