// Transposes matrices of few columns, or of few rows, without gaps between rows: one side of the copy is a stream, of
// which an ordinary tile takes only a few elements at a time.
//
// Tall: the input is the stream. A block reads a number of its rows, word by word as they lie, and writes their part of
// every output row, from sector to sector. Flat: the output is the stream; a block writes whole sectors of it and reads
// their columns in every row.
#pragma once

#include <coalesce/detail/block/async_copy.cuh>
#include <coalesce/detail/move/transpose_unaligned.cuh>

namespace coalesce::detail {

inline constexpr int narrow_threads = 256;
// Bytes of shared memory. Long pieces of rows and few blocks in flight are best: with 4 blocks of 48 KB an H200
// transposes seven rows of floats at 4.0 TB/s and seven columns at 3.9, with 8 of 24 KB at 3.5 and 3.4.
inline constexpr int narrow_bytes = 49152;

// The place of unit `unit` of the stream: lanes that are `columns` units apart are in different banks, and so are
// neighbours. Say n units fill all banks once (32 words, 16 units of 8 bytes) and 2^k divides `columns`: then lanes n /
// 2^k apart use the same bank, unless they are shifted by how often the banks were filled before them.
template <int UnitSize>
struct swizzle {
  static constexpr int log2_fill = UnitSize <= 4 ? 5 : UnitSize == 8 ? 4 : 3;
  int shift, mask;
  __device__ explicit swizzle(int columns) {
    const int log2 = __ffs(columns) - 1;
    shift = log2 > log2_fill ? log2 : log2_fill;
    mask = ((1 << log2) - 1) & ((1 << log2_fill) - 1);
  }
  __device__ __forceinline__ int operator()(int unit) const { return unit ^ ((unit >> shift) & mask); }
};

// height: rows of a block, of which the output has whole sectors. An element is `Of` units of Size bytes.
template <int Size, int Of>
__global__ void __launch_bounds__(narrow_threads)
    transpose_tall(const void* from, void* to, transpose_shape shape, int height) {
  using element = typename unit_of<Size>::type;
  constexpr int unit_size = Size < 4 ? 4 : Size, group = unit_size / Size, above = rows_above<Size, Of>;
  using unit = typename unit_of<unit_size>::type;
  __shared__ unit tile[narrow_bytes / unit_size];
  const int columns = static_cast<int>(shape.columns) * Of;  // of units
  const swizzle<unit_size> kept(columns);
  const std::int64_t down = static_cast<std::int64_t>(blockIdx.x) * height;
  const std::int64_t first_row = down > above ? down - above : 0;
  const std::int64_t end_row = shape.rows < down + height ? shape.rows : down + height;
  const element* const in = static_cast<const element*>(from);
  const element* const low = in + first_row * columns;
  const element* const high = in + end_row * columns;
  const int shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(low) % unit_size) / Size;
  const int end = static_cast<int>(high - low) + shift, units = (end + group - 1) / group;
  // True if all of it exists, so that no element is checked.
  const bool inside = down >= above && down + height <= shape.rows && low - shift >= in &&
                      low - shift + units * group <= in + shape.rows * columns;
  const element* const begin_of_units = low - shift;
  constexpr int at_once = 4;
  if (inside) {
    for (int i = static_cast<int>(threadIdx.x); i < units; i += at_once * narrow_threads) {
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        const int u = i + k * narrow_threads;
        if (u < units) start_copy_of_one(tile + kept(u), reinterpret_cast<const unit*>(begin_of_units + u * group));
      }
    }
    end_group();
    wait_for_groups<0>();
  } else {
    for (int first = 0; first < units; first += narrow_threads) {
      const int i = first + static_cast<int>(threadIdx.x);
      const unit loaded = load_unit<Size>(begin_of_units + i * group, low, high);
      __syncwarp();  // lanes that stayed behind would cause bank conflicts
      if (i < units) tile[kept(i)] = loaded;
    }
  }
  __syncthreads();
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  constexpr int warps = narrow_threads / 32;
  for (int c = 0; c < columns / Of; ++c) {
    element* const row_begin = static_cast<element*>(to) + c * shape.out_stride * Of;
    const int phase = static_cast<int>(reinterpret_cast<std::uintptr_t>(row_begin + down * Of) % 32) / Size;
    element* const begin = row_begin + down * Of - phase;
    // Unit u of it is unit down * Of - phase + u of the matrix's column.
    const int first = static_cast<int>(down - first_row) * Of - phase;
    if constexpr (group > 1) {
      if (inside && kept.mask == 0) {  // elements as they lie in memory: places without a swizzle
        const int i = ((warp + c) % warps * 32 + lane) * group;
        const element* at = reinterpret_cast<const element*>(tile) + (first + i) * columns + c + shift;
#pragma unroll 4
        for (element* to_unit = begin + i; to_unit < begin + height; to_unit += narrow_threads * group) {
          unsigned int whole = 0;
#pragma unroll
          for (int k = 0; k < group; ++k) whole |= static_cast<unsigned int>(at[k * columns]) << (8 * Size * k);
          *reinterpret_cast<unit*>(to_unit) = whole;
          at += narrow_threads * group * columns;
        }
        continue;
      }
    }
    // The warps take turns at who begins.
#pragma unroll 2
    for (int i = ((warp + c) % warps * 32 + lane) * group; i < height * Of; i += narrow_threads * group) {
      unit whole = {};
      const int u = first + i, row = Of == 1 ? u : (u + 8 * Of) / Of - 8;  // rounded down
      int e = row * columns + c * Of + (u - row * Of) + shift;
#pragma unroll
      for (int k = 0; k < group; ++k, e += columns) {
        if (!inside && (e < shift || e >= end)) continue;  // rows that there are not, or not here
        if constexpr (group == 1) {
          whole = tile[kept(e)];
        } else {
          const unsigned int bits = reinterpret_cast<const element*>(tile + kept(e / group))[e % group];
          whole |= bits << (8 * Size * k);
        }
      }
      if (inside) {
        *reinterpret_cast<unit*>(begin + i) = whole;
      } else {
        store_unit<Size>(begin + i, whole, row_begin, row_begin + shape.rows * Of);
      }
    }
  }
}

// count: units of the output that a block writes, whole sectors and elements. An element is `Of` units of Size bytes.
template <int Size, int Of>
__global__ void __launch_bounds__(narrow_threads, 4)
    transpose_flat(const void* from, void* to, transpose_shape shape, int count) {
  using unit = typename unit_of<Size>::type;
  __shared__ unit tile[narrow_bytes / Size];
  const int rows = static_cast<int>(shape.rows);
  const swizzle<Size> kept(rows * Of);
  unit* const out = static_cast<unit*>(to);
  // Counted from the beginning of the sector in which the output begins.
  const int lead = static_cast<int>(reinterpret_cast<std::uintptr_t>(out) % 32) / Size;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * count - lead, all = shape.columns * rows * Of;
  const std::int64_t begin = first > 0 ? first : 0, end = first + count < all ? first + count : all;
  const std::int64_t column = begin / (rows * Of);
  // The first column may begin in the block before, the last one end in the next.
  const int units = static_cast<int>((end + rows * Of - 1) / (rows * Of) - column) * Of;
  const int skipped = static_cast<int>(first - column * rows * Of);
  const int first_place = static_cast<int>(begin - first), end_place = static_cast<int>(end - first);
  const unit* row = static_cast<const unit*>(from) + column * Of;
  for (int r = 0; r < rows; ++r, row += shape.in_stride * Of) {
    constexpr int at_once = 4;
    for (int j = static_cast<int>(threadIdx.x); j < units; j += at_once * narrow_threads) {
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        const int i = j + k * narrow_threads, place = (i / Of * rows + r) * Of + i % Of - skipped;
        if (place >= first_place && place < end_place) start_copy_of_one(tile + kept(place), row + i);
      }
    }
  }
  end_group();
  wait_for_groups<0>();
  __syncthreads();
#pragma unroll 1
  for (int i = first_place + static_cast<int>(threadIdx.x); i < end_place; i += narrow_threads) {
    out[first + i] = tile[kept(i)];
  }
}

template <int Size, int Of>
status start_tall(const void* in, void* out, const transpose_shape& shape, cudaStream_t stream) {
  constexpr int sector = 32 / Size;
  // The rows that fit, with those above and a unit for the shift; whole sectors of the output.
  const int fit = static_cast<int>((narrow_bytes - 8) / (shape.columns * Size * Of)) - sector;
  const int height = fit / sector * sector;
  const unsigned int blocks = grid_for(shape.rows + sector - 1, height);
  if (!blocks) return refuse(too_many_blocks);
  return start(transpose_tall<Size, Of>, blocks, narrow_threads, stream, in, out, shape, height);
}

template <int Size, int Of>
status start_flat(const void* in, void* out, const transpose_shape& shape, cudaStream_t stream) {
  constexpr int sector = 32 / Size, count = narrow_bytes / Size / (sector * Of) * (sector * Of);
  const unsigned int blocks = grid_for(shape.columns * shape.rows * Of + sector - 1, count);
  if (!blocks) return refuse(too_many_blocks);
  return start(transpose_flat<Size, Of>, blocks, narrow_threads, stream, in, out, shape, count);
}

}  // namespace coalesce::detail
