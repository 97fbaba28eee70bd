// Rows to columns, a tile at a time through shared memory: both sides of the copy go along rows, and the column is
// walked in shared memory, where no two lanes of a pass read different words of one bank.
#pragma once

#include <coalesce/detail/move/copy.cuh>

namespace coalesce::detail {

// A tile is `tile_side` elements square: 256 bytes or more of a row on either side of the copy. (With 128 an H200 was
// 6 % slower.) A warp has 8 rows of it.
template <int Size>
inline constexpr int tile_side = Size <= 4 ? 64 : 32;
template <int Size>
inline constexpr int transpose_threads = tile_side<Size> / 8 * 32;

// The matrix as a kernel needs it; strides in elements.
struct transpose_shape {
  std::int64_t rows, columns, in_stride, out_stride;
  unsigned int tiles_across;  // of a row
};

// Bytes between two rows of a tile of elements of `size` bytes that are accessed in units of `unit`. Lanes that walk
// down a column take their units from several rows, which must be in banks of their own: a row's part of a pass is in
// at most `words` neighbouring banks, so each row starts that many banks after the one above.
__host__ __device__ constexpr int tile_pitch(int side, int size, int unit) {
  const int words = ((unit < 4 ? 4 - unit : 0) + size + 3) / 4;
  return (side * size - 4 * words + 127) / 128 * 128 + 4 * words;
}

// Elements of Size bytes in units of Bytes.
template <int Size, int Bytes>
__global__ void __launch_bounds__(transpose_threads<Size>)
    transpose_tile(const void* from, void* to, transpose_shape shape) {
  using unit = typename unit_of<Bytes>::type;
  constexpr int side = tile_side<Size>, units = Size / Bytes, pitch = tile_pitch(side, Size, Bytes);
  constexpr int warps = transpose_threads<Size> / 32, each = side / warps;  // rows of a warp
  constexpr int parts = units * side / 32;                                  // of a row: a unit for every lane
  constexpr int at_once = parts < 4 ? parts : parts % 4 == 0 ? 4 : parts % 3 == 0 ? 3 : 1;
  alignas(16) __shared__ unsigned char tile[side * pitch];
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x / shape.tiles_across) * side;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x % shape.tiles_across) * side;
  const int height = shape.rows - row < side ? static_cast<int>(shape.rows - row) : side;
  const int width = shape.columns - column < side ? static_cast<int>(shape.columns - column) : side;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unit* in = static_cast<const unit*>(from) + (row * shape.in_stride + column) * units;
  unit* out = static_cast<unit*>(to) + (column * shape.out_stride + row) * units;
#pragma unroll
  for (int part = 0; part < parts; part += at_once) {
    unit v[at_once][each] = {};
#pragma unroll
    for (int p = 0; p < at_once; ++p) {
      const int i = (part + p) * 32 + lane;  // unit of the tile's row
#pragma unroll
      for (int k = 0; k < each; ++k) {
        const int r = k * warps + warp;
        if (r < height && i < width * units) v[p][k] = in[r * shape.in_stride * units + i];
      }
    }
#pragma unroll
    for (int p = 0; p < at_once; ++p) {
#pragma unroll
      for (int k = 0; k < each; ++k) {
        *reinterpret_cast<unit*>(tile + (k * warps + warp) * pitch + ((part + p) * 32 + lane) * Bytes) = v[p][k];
      }
    }
  }
  __syncthreads();
#pragma unroll
  for (int part = 0; part < parts; ++part) {
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

// The elements of 4 / Size words, which are rows, by columns.
template <int Size>
__device__ __forceinline__ void turn_over(unsigned int (&x)[4 / Size]) {
  if constexpr (Size == 2) {
    const unsigned int low = __byte_perm(x[0], x[1], 0x5410), high = __byte_perm(x[0], x[1], 0x7632);
    x[0] = low;
    x[1] = high;
  } else {
    const unsigned int low = __byte_perm(x[0], x[1], 0x5140), low_below = __byte_perm(x[2], x[3], 0x5140);
    const unsigned int high = __byte_perm(x[0], x[1], 0x7362), high_below = __byte_perm(x[2], x[3], 0x7362);
    x[0] = __byte_perm(low, low_below, 0x5410);
    x[1] = __byte_perm(low, low_below, 0x7632);
    x[2] = __byte_perm(high, high_below, 0x5410);
    x[3] = __byte_perm(high, high_below, 0x7632);
  }
}

// Elements of 1 or 2 bytes, moved as words: four or two rows' words are turned over in registers. Everything about the
// matrix is a multiple of a word.
template <int Size>
inline constexpr int packed_words = Size == 2 ? 64 : 32;  // of a tile's row; the tile is square in elements
template <int Size>
inline constexpr int packed_threads = packed_words<Size> * 8;

template <int Size>
__global__ void __launch_bounds__(packed_threads<Size>)
    transpose_packed(const void* from, void* to, transpose_shape shape) {
  constexpr int group = 4 / Size, words = packed_words<Size>, side = words * group, warps = packed_threads<Size> / 32;
  constexpr int parts = words / 32, each = side / warps;  // of a row: a word for every lane; rows of a warp
  __shared__ unsigned int tile[side * (words + 1)];       // row r is kept at place (r % group) * words + r / group
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x / shape.tiles_across) * side;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x % shape.tiles_across) * side;
  const int height = shape.rows - row < side ? static_cast<int>(shape.rows - row) : side;
  const int width = (shape.columns - column < side ? static_cast<int>(shape.columns - column) : side) / group;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::int64_t in_stride = shape.in_stride / group, out_stride = shape.out_stride / group;
  const unsigned int* in = static_cast<const unsigned int*>(from) + row * in_stride + column / group;
  unsigned int* out = static_cast<unsigned int*>(to) + column * out_stride + row / group;
  unsigned int v[each][parts] = {};
#pragma unroll
  for (int k = 0; k < each; ++k) {
    const int r = k * warps + warp;
#pragma unroll
    for (int p = 0; p < parts; ++p) {
      if (r < height && p * 32 + lane < width) v[k][p] = in[r * in_stride + p * 32 + lane];
    }
  }
#pragma unroll
  for (int k = 0; k < each; ++k) {
    const int r = k * warps + warp;
#pragma unroll
    for (int p = 0; p < parts; ++p) tile[(r % group * words + r / group) * (words + 1) + p * 32 + lane] = v[k][p];
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < words / warps * parts; ++k) {
    const int c = k / parts * warps + warp;  // word of the tile's row: `group` rows of the output
    const int i = k % parts * 32 + lane;     // word of those rows
    unsigned int x[group];
#pragma unroll
    for (int g = 0; g < group; ++g) x[g] = tile[(g * words + i) * (words + 1) + c];
    turn_over<Size>(x);
    if (c < width && i < height / group) {
#pragma unroll
      for (int g = 0; g < group; ++g) out[(c * group + g) * out_stride + i] = x[g];
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
