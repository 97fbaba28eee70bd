// Matrices of few rows of 1 or 2 bytes an element, whose output is a stream.
//
// The input is read by words, aligned ones of every row, and taken apart: each element is stored where it comes to lie
// in the output, which then is a stream of words. Lanes have neighbouring words of a row, that is elements as many
// words apart as there are rows: with an odd number of rows in banks of their own, else with a word left out behind
// each 32.
#pragma once

#include <coalesce/detail/move/transpose_unaligned.cuh>

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

// The word, counted from the tile's first, in which word `word` of the stream is kept.
template <bool Padded>
__device__ __forceinline__ unsigned int place_of_word(unsigned int word) {
  return Padded ? word + word / 32 : word;
}

// count: elements of the output that a block writes, whole sectors.
template <int Size, bool Padded>
__global__ void __launch_bounds__(bytes_threads, 4)
    transpose_flat_bytes(const void* from, void* to, transpose_shape shape, int count) {
  using element = typename unit_of<Size>::type;
  constexpr unsigned int group = 4 / Size;
  __shared__ unsigned int tile[bytes_words];
  const unsigned int rows = static_cast<unsigned int>(shape.rows);
  element* const out = static_cast<element*>(to);
  // Counted from the beginning of the sector in which the output begins.
  const int lead = static_cast<int>(reinterpret_cast<std::uintptr_t>(out) % 32) / Size;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * count - lead, all = shape.columns * rows;
  const std::int64_t column = first >= 0 ? first / rows : -((rows - 1 - first) / rows);
  const unsigned int skipped = static_cast<unsigned int>(first - column * rows);
  // Words of a row, which may begin `group` - 1 elements before the first column.
  const unsigned int words = ((skipped + count + rows - 1) / rows + group - 1) / group + 1;
  // The place of the first column's first element: with room for the earlier elements of its word, and with the
  // output's beginning in bank 0.
  constexpr unsigned int banks = 32 * group;
  const unsigned int origin = group * rows + (2 * banks - (group * rows + skipped) % banks) % banks;
  // True if every word that is read or written exists as a whole.
  const bool inside = first >= 0 && first + count <= all && column >= group && column + words * group <= shape.columns;
  const element* const low = static_cast<const element*>(from);
  const element* const high = low + (rows - 1) * shape.in_stride + shape.columns;
  const bool dense = shape.in_stride == shape.columns;

  const auto stage = [&](auto whole) {
    constexpr int at_once = decltype(whole)::value ? 8 : 1;
    two_digits at(threadIdx.x, bytes_threads, words);
#pragma unroll 1
    for (unsigned int u = threadIdx.x; u < rows * words; u += at_once * bytes_threads) {
      unsigned int x[at_once], place[at_once];
#pragma unroll
      for (int k = 0; k < at_once; ++k, at.advance()) {
        const element* const row = low + at.high * shape.in_stride + column;
        const unsigned int shift = static_cast<unsigned int>(reinterpret_cast<std::uintptr_t>(row) % 4) / Size;
        const element* const word = row - shift + at.low * group;
        place[k] = at.high < rows ? origin + at.high + (at.low * group - shift) * rows : ~0u;
        if constexpr (decltype(whole)::value) {
          if (at.high < rows) x[k] = *reinterpret_cast<const unsigned int*>(word);
        } else {
          x[k] = load_unit<Size>(word, dense ? low : row - column, dense ? high : row - column + shape.columns);
        }
      }
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        if (place[k] != ~0u) {
#pragma unroll
          for (unsigned int e = 0; e < group; ++e) {
            const unsigned int i = place[k] + e * rows;
            reinterpret_cast<element*>(tile)[place_of_word<Padded>(i / group) * group + i % group] =
                static_cast<element>(x[k] >> (8 * Size * e));
          }
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

  const unsigned int begin = (origin + skipped) / group;
  for (unsigned int i = threadIdx.x; i < static_cast<unsigned int>(count) / group; i += bytes_threads) {
    const unsigned int whole = tile[place_of_word<Padded>(begin + i)];
    element* const place = out + first + i * group;
    if (inside) {
      *reinterpret_cast<unsigned int*>(place) = whole;
    } else {
      store_unit<Size>(place, whole, out, out + all);
    }
  }
}

template <int Size>
status start_flat_bytes(const void* in, void* out, const transpose_shape& shape, cudaStream_t stream) {
  constexpr int sector = 32 / Size, group = 4 / Size;
  const int rows = static_cast<int>(shape.rows);
  const bool padded = rows % 2 == 0;
  // The room, less the elements that words add before and behind, and less the shift to bank 0.
  const int kept = (padded ? bytes_words / 33 * 32 : bytes_words) * group;
  const int count = (kept - (3 * group + 2) * rows - 33 * group) / sector * sector;
  const unsigned int blocks = grid_for(shape.columns * rows + sector - 1, count);
  if (!blocks) return refuse(too_many_blocks);
  return start(padded ? transpose_flat_bytes<Size, true> : transpose_flat_bytes<Size, false>, blocks, bytes_threads,
               stream, in, out, shape, count);
}

}  // namespace coalesce::detail
