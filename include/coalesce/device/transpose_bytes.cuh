// Matrices of few rows of 1 or 2 bytes an element, whose output is a stream: groups of 4 x 4 bytes (2 x 2 of 2) are
// turned over in registers, so that nothing is moved byte by byte.
//
// A word of shared memory has the elements of `group` rows of one column; those of rows that there are not are 0. So
// the output's words, which begin anywhere in a column and may end in the next, are put together by shifts.
#pragma once

#include "transpose_crooked.cuh"

namespace coalesce::detail {

inline constexpr int bytes_threads = 256;
inline constexpr int bytes_words = 12288;  // of shared memory

// Goes through i, i + step, i + 2 step ... as i / by and i % by, with one division.
struct two_digits {
  unsigned int high, low, high_step, low_step, by;
  __device__ two_digits(unsigned int i, unsigned int step, unsigned int by)
      : high(i / by), low(i - high * by), high_step(step / by), low_step(step - high_step * by), by(by) {}
  __device__ __forceinline__ void advance() {
    high += high_step;
    low += low_step;
    if (low >= by) {
      low -= by;
      ++high;
    }
  }
};

// How shared memory is divided: `parts` words a column, each in a plane. Lanes store to every fourth column, or every
// second, so there is a gap behind each 32.
template <int Size>
struct byte_planes {
  static constexpr unsigned int group = 4 / Size;
  unsigned int parts, pitch;
  __host__ __device__ explicit byte_planes(int rows) : parts((rows + group - 1) / group) {
    // 32 lanes read from about 32 / parts columns: planes begin so many banks after each other.
    const unsigned int apart = parts < 32 ? 32 / parts : 1;
    pitch = bytes_words / parts;
    pitch -= (pitch - apart) % 32;
  }
  __host__ __device__ unsigned int columns() const { return pitch / 33 * 32; }
  __device__ __forceinline__ static unsigned int place(unsigned int column) { return column + column / 32; }
};

// count: elements of the output that a block writes, whole sectors.
template <int Size>
__global__ void __launch_bounds__(bytes_threads, 4)
    transpose_flat_bytes(const void* from, void* to, transpose_shape shape, int count) {
  using element = typename unit_of<Size>::type;
  constexpr unsigned int group = 4 / Size, bits = 8 * Size;
  __shared__ unsigned int tile[bytes_words];
  const unsigned int rows = static_cast<unsigned int>(shape.rows);
  const byte_planes<Size> kept(rows);
  element* const out = static_cast<element*>(to);
  // Counted from the beginning of the sector in which the output begins.
  const int lead = static_cast<int>(reinterpret_cast<std::uintptr_t>(out) % 32) / Size;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * count - lead, all = shape.columns * rows;
  const std::int64_t column = first >= 0 ? first / rows : -((rows - 1 - first) / rows);
  const unsigned int skipped = static_cast<unsigned int>(first - column * rows);
  const unsigned int groups = ((skipped + count + rows - 1) / rows + group - 1) / group;
  // Whether every word that is read or written is there as a whole.
  const bool inside =
      first >= 0 && first + count <= all && column >= group && column + (groups + 1) * group <= shape.columns;
  const element* const low = static_cast<const element*>(from);
  const element* const high = low + (rows - 1) * shape.in_stride + shape.columns;
  const bool dense = shape.in_stride == shape.columns;

  // Group `low` of the columns, rows group * high ... of it.
  const unsigned int lane = threadIdx.x % 32, all_groups = kept.parts * groups;
  const auto stage = [&](auto whole) {
    constexpr int at_once = decltype(whole)::value ? 2 * Size : 1;  // 8 loads under way
    two_digits at(threadIdx.x, bytes_threads, groups);
#pragma unroll 1
    for (unsigned int u = threadIdx.x; u - lane < all_groups; u += at_once * bytes_threads) {
      unsigned int x[at_once][group], next[at_once][group], shift[at_once][group];
      unsigned int* place[at_once];
      bool alone[at_once];  // the next lane's word is not the next one
#pragma unroll
      for (int k = 0; k < at_once; ++k, at.advance()) {
        alone[k] = lane == 31 || at.low == groups - 1;
        place[k] = at.high < kept.parts ? tile + at.high * kept.pitch + kept.place(at.low * group) : nullptr;
        const element* row = low + at.high * group * shape.in_stride + column + at.low * group;
#pragma unroll
        for (unsigned int m = 0; m < group; ++m, row += shape.in_stride) {
          const bool there = at.high * group + m < rows;
          shift[k][m] = static_cast<unsigned int>(reinterpret_cast<std::uintptr_t>(row) % 4) / Size;
          const auto load = [&](const element* word) {
            if constexpr (decltype(whole)::value) return *reinterpret_cast<const unsigned int*>(word);
            const element* const row_begin = row - column - at.low * group;
            return load_unit<Size>(word, dense ? low : row_begin, dense ? high : row_begin + shape.columns);
          };
          x[k][m] = there ? load(row - shift[k][m]) : 0;
          next[k][m] = there && alone[k] && shift[k][m] ? load(row - shift[k][m] + group) : 0;
        }
      }
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
#pragma unroll
        for (unsigned int m = 0; m < group; ++m) {
          const unsigned int of_next_lane = __shfl_down_sync(0xffffffffu, x[k][m], 1);
          x[k][m] = __funnelshift_r(x[k][m], alone[k] ? next[k][m] : of_next_lane, shift[k][m] * bits);
        }
        turn_over<Size>(x[k]);
#pragma unroll
        for (unsigned int m = 0; m < group; ++m) {
          if (place[k]) place[k][m] = x[k][m];
        }
      }
    }
  };
  if (inside) {
    stage(std::true_type());
  } else {
    stage(std::false_type());
  }
  __syncthreads();

  // Word i of the output begins with element `low` of column `high`, and may end in the next ones.
  two_digits begin(skipped + threadIdx.x * group, bytes_threads * group, rows);
  for (unsigned int i = threadIdx.x * group; i < static_cast<unsigned int>(count); i += bytes_threads * group) {
    const unsigned int part = begin.low / group, above = begin.low % group;
    const unsigned int* const word = tile + part * kept.pitch + kept.place(begin.high);
    unsigned int whole = __funnelshift_r(*word, part + 1 < kept.parts ? word[kept.pitch] : 0, above * bits);
    unsigned int next = begin.high;
    for (unsigned int filled = rows - begin.low; filled < group; filled += rows) {
      whole |= tile[kept.place(++next)] << (filled * bits);
      if (rows >= group) break;
    }
    element* const place = out + first + i;
    if (inside) {
      *reinterpret_cast<unsigned int*>(place) = whole;
    } else {
      store_unit<Size>(place, whole, out, out + all);
    }
    begin.advance();
  }
}

template <int Size>
status start_flat_bytes(const void* in, void* out, const transpose_shape& shape, cudaStream_t stream) {
  constexpr int sector = 32 / Size, group = 4 / Size;
  const int rows = static_cast<int>(shape.rows);
  const byte_planes<Size> kept(rows);
  // A block begins and ends within a column.
  const int count = static_cast<int>((kept.columns() - group) * rows / sector * sector);
  const unsigned int blocks = grid_for(shape.columns * rows + sector - 1, count);
  if (!blocks) return refuse(too_many_blocks);
  return start(transpose_flat_bytes<Size>, blocks, bytes_threads, stream, in, out, shape, count);
}

}  // namespace coalesce::detail
