// Rows to columns, a tile at a time through shared memory: both sides of the copy go along rows, and the column is
// walked in shared memory, where no two lanes of a pass want different words of one bank.
#pragma once

#include "copy.cuh"

namespace coalesce::detail {

inline constexpr int tile_side = 32, transpose_threads = 128;

// What a kernel needs to know of the matrix; strides in elements.
struct transpose_shape {
  std::int64_t rows, columns, in_stride, out_stride;
  unsigned int tiles_across;  // of a row
};

// Bytes between two rows of a tile of elements of `size` bytes that are accessed in units of `unit`. Lanes that walk
// down a column take their units from several rows, which must be in banks of their own: a row's part of a pass is in
// at most `words` neighbouring banks, so each row starts that many banks after the one above.
__host__ __device__ constexpr int tile_pitch(int size, int unit) {
  const int words = ((unit < 4 ? 4 - unit : 0) + size + 3) / 4;
  return (tile_side * size - 4 * words + 127) / 128 * 128 + 4 * words;
}

// Elements of Size bytes in units of Bytes. 128 threads: a warp has 8 rows of the tile, all in flight at once.
template <int Size, int Bytes>
__global__ void __launch_bounds__(transpose_threads) transpose_tile(const void* from, void* to, transpose_shape shape) {
  using unit = typename unit_of<Bytes>::type;
  constexpr int units = Size / Bytes, pitch = tile_pitch(Size, Bytes), warps = transpose_threads / 32;
  constexpr int each = tile_side / warps;  // rows of a warp
  alignas(16) __shared__ unsigned char tile[tile_side * pitch];
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x / shape.tiles_across) * tile_side;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x % shape.tiles_across) * tile_side;
  const int height = shape.rows - row < tile_side ? static_cast<int>(shape.rows - row) : tile_side;
  const int width = shape.columns - column < tile_side ? static_cast<int>(shape.columns - column) : tile_side;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unit* in = static_cast<const unit*>(from) + (row * shape.in_stride + column) * units;
  unit* out = static_cast<unit*>(to) + (column * shape.out_stride + row) * units;
#pragma unroll
  for (int part = 0; part < units; ++part) {
    const int i = part * 32 + lane;  // unit of the tile's row
    unit v[each] = {};
#pragma unroll
    for (int k = 0; k < each; ++k) {
      const int r = k * warps + warp;
      if (r < height && i < width * units) v[k] = in[r * shape.in_stride * units + i];
    }
#pragma unroll
    for (int k = 0; k < each; ++k) {
      *reinterpret_cast<unit*>(tile + (k * warps + warp) * pitch + i * Bytes) = v[k];
    }
  }
  __syncthreads();
#pragma unroll
  for (int part = 0; part < units; ++part) {
    const int i = part * 32 + lane, r = i / units;  // unit of the output's row; row of the tile
#pragma unroll
    for (int k = 0; k < each; ++k) {
      const int c = k * warps + warp;
      if (c < width && i < height * units) {
        out[c * shape.out_stride * units + i] =
            *reinterpret_cast<const unit*>(tile + r * pitch + c * Size + i % units * Bytes);
      }
    }
  }
}

// Elements of 1 or 2 bytes, moved as words: four or two rows' words are turned over in registers. Everything about the
// matrix is a multiple of a word.
template <int Size>
__global__ void __launch_bounds__(2 * transpose_threads)
    transpose_packed(const void* from, void* to, transpose_shape shape) {
  constexpr int group = 4 / Size, side = 32 * group, warps = 2 * transpose_threads / 32;
  __shared__ unsigned int tile[side * 33];  // row r is kept at place (r % group) * 32 + r / group
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x / shape.tiles_across) * side;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x % shape.tiles_across) * side;
  const int height = shape.rows - row < side ? static_cast<int>(shape.rows - row) : side;
  const int width = (shape.columns - column < side ? static_cast<int>(shape.columns - column) : side) / group;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::int64_t in_stride = shape.in_stride / group, out_stride = shape.out_stride / group;
  const unsigned int* in = static_cast<const unsigned int*>(from) + row * in_stride + column / group;
  unsigned int* out = static_cast<unsigned int*>(to) + column * out_stride + row / group;
  unsigned int v[side / warps] = {};
#pragma unroll
  for (int k = 0; k < side / warps; ++k) {
    const int r = k * warps + warp;
    if (r < height && lane < width) v[k] = in[r * in_stride + lane];
  }
#pragma unroll
  for (int k = 0; k < side / warps; ++k) {
    const int r = k * warps + warp;
    tile[(r % group * 32 + r / group) * 33 + lane] = v[k];
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 32 / warps; ++k) {
    const int c = k * warps + warp;  // word of the tile's row: `group` rows of the output
    unsigned int a[group], b[group];
#pragma unroll
    for (int g = 0; g < group; ++g) a[g] = tile[(g * 32 + lane) * 33 + c];
    if constexpr (group == 2) {
      b[0] = __byte_perm(a[0], a[1], 0x5410);
      b[1] = __byte_perm(a[0], a[1], 0x7632);
    } else {
      const unsigned int low = __byte_perm(a[0], a[1], 0x5140), low_below = __byte_perm(a[2], a[3], 0x5140);
      const unsigned int high = __byte_perm(a[0], a[1], 0x7362), high_below = __byte_perm(a[2], a[3], 0x7362);
      b[0] = __byte_perm(low, low_below, 0x5410);
      b[1] = __byte_perm(low, low_below, 0x7632);
      b[2] = __byte_perm(high, high_below, 0x5410);
      b[3] = __byte_perm(high, high_below, 0x7632);
    }
    if (c < width && lane < height / group) {
#pragma unroll
      for (int g = 0; g < group; ++g) out[(c * group + g) * out_stride + lane] = b[g];
    }
  }
}

// Tiles of side x side, one a block; 0 where a grid cannot hold them.
inline unsigned int tiles_of(transpose_shape& shape, std::int64_t side) {
  const std::int64_t across = (shape.columns + side - 1) / side, down = (shape.rows + side - 1) / side;
  std::int64_t all = 0;
  if (!multiply(across, down, all) || all > 0x7fffffff) return 0;
  shape.tiles_across = static_cast<unsigned int>(across);
  return static_cast<unsigned int>(all);
}

}  // namespace coalesce::detail
