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

// Size: of an element, 1 to 16 and a power of two. A unit is a word, or an element that is larger.
template <int Size>
struct crooked_tile {
  static constexpr int unit = Size < 4 ? 4 : Size, group = unit / Size;
  static constexpr int above = 32 / Size - 1;                   // rows for the output's shift
  static constexpr int height = 256 / Size;                     // of what is written
  static constexpr int row_units = Size < 4 ? 32 : 256 / Size;  // of what is read
  static constexpr int width = Size < 4 ? row_units * group - (group - 1) : row_units;
  static constexpr int rows = (height + above + group - 1) / group * group;  // of what is read
  static constexpr int pitch = row_units + 1 - row_units % 2;                // units; odd
};

// One more row than `rows` of each phase may be needed, `group` of them.
template <int Size>
__global__ void __launch_bounds__(crooked_threads)
    transpose_crooked(const void* from, void* to, transpose_shape shape) {
  using tile_of = crooked_tile<Size>;
  using unit = typename unit_of<tile_of::unit>::type;
  using element = typename unit_of<Size>::type;
  constexpr int group = tile_of::group, units = tile_of::row_units, pitch = tile_of::pitch, above = tile_of::above;
  constexpr int warps = crooked_threads / 32, rows = tile_of::rows, of_phase = rows / group;
  __shared__ unit tile[rows * pitch];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t down = static_cast<std::int64_t>(blockIdx.x / shape.tiles_across) * tile_of::height;
  const std::int64_t first_row = down - above,
                     column = static_cast<std::int64_t>(blockIdx.x % shape.tiles_across) * tile_of::width;
  const int width = shape.columns - column < tile_of::width ? static_cast<int>(shape.columns - column) : tile_of::width;
  const element* const in = static_cast<const element*>(from);
  const bool dense = shape.in_stride == shape.columns;

  // Each row's units, from the one that holds the tile's first element on.
  constexpr int parts = (units + 31) / 32;
  constexpr int passes = (rows + warps - 1) / warps, at_once = passes < 16 / parts ? passes : 16 / parts;
#pragma unroll 1
  for (int pass = 0; pass < passes; pass += at_once) {
    unit loaded[at_once][parts] = {};
#pragma unroll
    for (int k = 0; k < at_once; ++k) {
      const int r = (pass + k) * warps + warp;
      const std::int64_t row = first_row + r;
      if (r < rows && row >= 0 && row < shape.rows) {
        const element* const begin = in + row * shape.in_stride + column;
        const int shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(begin) % tile_of::unit) / Size;
#pragma unroll
        for (int p = 0; p < parts; ++p) {
          const int at = (p * 32 + lane) * group - shift;  // this lane's unit, from the tile's first element on
          if (at < width && (parts * 32 == units || p * 32 + lane < units)) {
            if constexpr (group == 1) {
              loaded[k][p] = reinterpret_cast<const unit*>(begin)[p * 32 + lane];
            } else {
              const element* const low = dense ? in : begin - column;
              const element* const high = dense ? in + shape.rows * shape.in_stride : begin - column + shape.columns;
              if (begin + at >= low && begin + at + group <= high) {
                loaded[k][p] = *reinterpret_cast<const unit*>(begin + at);
              } else {
                unsigned int bits = 0;
                for (int e = 0; e < group; ++e) {
                  if (at + e >= 0 && at + e < width) bits |= static_cast<unsigned int>(begin[at + e]) << (8 * Size * e);
                }
                loaded[k][p] = bits;
              }
            }
          }
        }
      }
    }
#pragma unroll
    for (int k = 0; k < at_once; ++k) {
      const int r = (pass + k) * warps + warp;
      if (r < rows) {
#pragma unroll
        for (int p = 0; p < parts; ++p) {
          if (parts * 32 == units || p * 32 + lane < units)
            tile[(r % group * of_phase + r / group) * pitch + p * 32 + lane] = loaded[k][p];
        }
      }
    }
  }
  __syncthreads();

  constexpr int out_units = tile_of::height / group, out_parts = (out_units + 31) / 32;
#pragma unroll 2
  for (int c = warp; c < width; c += warps) {
    element* const row_begin = static_cast<element*>(to) + (column + c) * shape.out_stride;
    const int phase = static_cast<int>(reinterpret_cast<std::uintptr_t>(row_begin + down) % 32) / Size;
    element* const begin = row_begin + down - phase;
    const int first = above - phase;  // row of the tile
    const element* place[group];
#pragma unroll
    for (int k = 0; k < group; ++k) {
      const int r = first + k;
      int shift = 0;
      if constexpr (group > 1)
        shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(in + (first_row + r) * shape.in_stride + column) %
                                 tile_of::unit) /
                Size;
      place[k] = reinterpret_cast<const element*>(tile + (r % group * of_phase + r / group) * pitch) + shift + c;
    }
#pragma unroll
    for (int p = 0; p < out_parts; ++p) {
      const int i = p * 32 + lane;
      if (out_parts * 32 != out_units && i >= out_units) continue;
      const std::int64_t r = down - phase + i * group;  // row of the matrix
      element elements[group];
#pragma unroll
      for (int k = 0; k < group; ++k) elements[k] = place[k][i * pitch * group];
      if (r >= 0 && r + group <= shape.rows) {
        unit whole;
        if constexpr (group == 1) {
          whole = elements[0];
        } else {
          memcpy(&whole, elements, sizeof(whole));
        }
        *reinterpret_cast<unit*>(begin + i * group) = whole;
      } else {
#pragma unroll
        for (int k = 0; k < group; ++k) {
          if (r + k >= 0 && r + k < shape.rows) begin[i * group + k] = elements[k];
        }
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
