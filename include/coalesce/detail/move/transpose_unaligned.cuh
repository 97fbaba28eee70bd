// Transposes matrices whose rows do not begin at sectors, on either side of the copy.
//
// Parts of sectors are the most expensive writes, so a block writes whole sectors only. Row c of the output gets the
// tile's elements moved back by the distance of its place in memory from a sector's beginning; for this the tile has up
// to a sector's elements more rows above. Elements of 1 and 2 bytes are read and written as words, gathered from the
// bytes of four or two rows. In shared memory a row lies as far behind a word's beginning as it does in memory, and
// rows that are `group` apart lie alike.
#pragma once

#include <coalesce/detail/move/copy.cuh>
#include <coalesce/detail/move/transpose.cuh>

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

// Rows above, for the output's shift: up to a sector less one unit.
template <int Size, int Of>
inline constexpr int rows_above = (32 / Size - 1 + Of - 1) / Of;

// An element is `Of` parts of Size bytes: one of 1 to 16, a power of two, or several words. A unit is a word, or a part
// that is larger.
template <int Size, int Of>
struct crooked_tile {
  static constexpr int unit = Size < 4 ? 4 : Size, group = unit / Size;
  static constexpr int above = rows_above<Size, Of>;
  static constexpr int height = 256 / Size;  // of what is written
  static constexpr int row_units = Of > 1 ? 32 * Of : Size < 4 ? 32 : Size < 16 ? 256 / Size : 32;  // of what is read
  static constexpr int width = (row_units * group - (group - 1)) / Of;
  static constexpr int rows = (height + above + 7) / 8 * 8;  // of what is read: as many for each warp
  // In units; odd, and Of more than all banks: neighbours down a column are in neighbouring banks.
  static constexpr int pitch = Of > 1 ? row_units + Of : row_units + 1 - row_units % 2;
};

template <int Size, int Of>
__global__ void __launch_bounds__(crooked_threads)
    transpose_crooked(const void* from, void* to, transpose_shape shape) {
  using tile_of = crooked_tile<Size, Of>;
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
  // True if all units of the tile's elements hold elements of one row only.
  const bool inside = first_row >= 0 && first_row + rows <= shape.rows && left * Of >= units * group + group - 1 &&
                      (group == 1 || column > 0);

  // Each row's units, from the one that holds the tile's first element on.
  const std::int64_t in_stride = shape.in_stride * Of, out_stride = shape.out_stride * Of;
  const element* row_begin = static_cast<const element*>(from) + (first_row + warp) * in_stride + column * Of;
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
      for (int k = 0; k < at_once; ++k, row_begin += warps * in_stride) {
        const element* const begin = units_of_row();
#pragma unroll
        for (int p = 0; p < parts; ++p) loaded[k][p] = *reinterpret_cast<const unit*>(begin + p * 32 * group);
      }
    } else {
#pragma unroll
      for (int k = 0; k < at_once; ++k, row_begin += warps * in_stride) {
        const std::int64_t row = first_row + (pass + k) * warps + warp;
        const element* const low = row_begin - column * Of;
        const element* const high = row >= 0 && row < shape.rows ? low + shape.columns * Of : low;
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
    const element* const row = static_cast<const element*>(from) + (first_row + m) * in_stride + column * Of;
    kind[m] = reinterpret_cast<const element*>(tile + (m * of_phase + lane) * pitch) + shift_of(row);
  }
  constexpr int column_units = tile_of::height * Of / group, out_parts = column_units < 32 ? 1 : column_units / 32;
  element* out = static_cast<element*>(to) + (column + warp) * out_stride;
  for (int c = warp; c < width; c += warps, out += warps * out_stride) {
    __syncwarp();  // lanes that stored nothing wait for the others: apart they would cause bank conflicts
    const int phase = static_cast<int>(reinterpret_cast<std::uintptr_t>(out + down * Of) % 32) / Size;
    element* const begin = out + down * Of - phase + lane * group;
    const int first = above * Of - phase;  // part of the tile's column
#pragma unroll
    for (int p = 0; p < out_parts; ++p) {
      if (column_units < 32 && lane >= column_units) continue;
      unit whole;
      if constexpr (Of > 1) {
        const int i = first + p * 32 + lane;
        whole = tile[i / Of * pitch + c * Of + i % Of];
      } else if constexpr (group == 1) {
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
        store_unit<Size>(begin + p * 32 * group, whole, out, out + shape.rows * Of);
      }
    }
  }
}

// Tiles, one a block; 0 where a grid cannot hold them.
template <int Size, int Of>
unsigned int crooked_tiles_of(transpose_shape& shape) {
  using tile_of = crooked_tile<Size, Of>;
  const std::int64_t across = (shape.columns + tile_of::width - 1) / tile_of::width;
  const std::int64_t down = (shape.rows + tile_of::above + tile_of::height - 1) / tile_of::height;
  std::int64_t all = 0;
  if (!multiply(across, down, all) || all > 0x7fffffff) return 0;
  shape.tiles_across = static_cast<unsigned int>(across);
  return static_cast<unsigned int>(all);
}

}  // namespace coalesce::detail
