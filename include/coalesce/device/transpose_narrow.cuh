// Matrices with few columns, or few rows, without gaps on that side: a block takes a stretch of the long side, whose
// elements follow each other on the narrow matrix's side, and brings it through shared memory.
//
// Elements of 1 and 2 bytes are written as words wherever a word begins.
#pragma once

#include "../block/stage.cuh"
#include "transpose.cuh"

namespace coalesce::detail {

inline constexpr int narrow_threads = 256;
inline constexpr int narrow_bytes = 16384;  // of a stretch
inline constexpr int most_narrow = 16;      // elements of the short side

// `count` elements to out[0], out[1] ...; element(i) gives each.
template <class T, class Element>
__device__ __forceinline__ void write_stretch(T* out, int count, const Element& element) {
  constexpr int together = sizeof(T) < 4 ? 4 / static_cast<int>(sizeof(T)) : 1;
  if constexpr (together == 1) {
    for (int i = threadIdx.x; i < count; i += narrow_threads) out[i] = element(i);
  } else {
    const int shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(out) % 4 / sizeof(T));
    for (int i = static_cast<int>(threadIdx.x) * together - shift; i < count; i += narrow_threads * together) {
      if (i >= 0 && i + together <= count) {
        T few[together];
#pragma unroll
        for (int k = 0; k < together; ++k) few[k] = element(i + k);
        unsigned int word;
        memcpy(&word, few, sizeof(word));
        *reinterpret_cast<unsigned int*>(out + i) = word;
      } else {
        for (int k = 0; k < together; ++k) {
          if (i + k >= 0 && i + k < count) out[i + k] = element(i + k);
        }
      }
    }
  }
}

// in: rows of `narrow` elements, one behind the other; out: `narrow` rows, out_stride apart.
template <class T>
__global__ void __launch_bounds__(narrow_threads)
    transpose_few_columns(const T* in, T* out, std::int64_t rows, std::int64_t out_stride, int narrow, int stretch) {
  constexpr int room_for = narrow_bytes / static_cast<int>(sizeof(T));
  alignas(16) __shared__ unsigned char buffer[room_for * sizeof(T) + 16];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * stretch;
  const int count = rows - first < stretch ? static_cast<int>(rows - first) : stretch;
  const T* const from = in + first * narrow;
  T* const elements = staged_at(reinterpret_cast<T*>(buffer), from);
  start_staging<narrow_threads>(elements, from, count * narrow);
  end_group();
  wait_for_groups<0>();
  __syncthreads();
  for (int c = 0; c < narrow; ++c) {
    write_stretch(out + c * out_stride + first, count, [&](int r) { return elements[r * narrow + c]; });
  }
}

// in: `narrow` rows, in_stride apart; out: rows of `narrow` elements, one behind the other.
template <class T>
__global__ void __launch_bounds__(narrow_threads)
    transpose_few_rows(const T* in, T* out, std::int64_t columns, std::int64_t in_stride, int narrow, int stretch,
                       int pitch) {
  constexpr int room_for = narrow_bytes / static_cast<int>(sizeof(T));
  alignas(16) __shared__ unsigned char buffer[room_for * sizeof(T) + most_narrow * 64];
  T* const elements = reinterpret_cast<T*>(buffer);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * stretch;
  const int count = columns - first < stretch ? static_cast<int>(columns - first) : stretch;
  for (int c = 0; c < narrow; ++c) {
    const T* const from = in + c * in_stride + first;
    start_staging<narrow_threads>(staged_at(elements + c * pitch, from), from, count);
  }
  end_group();
  wait_for_groups<0>();
  __syncthreads();
  // Rows begin at different places between two 16-byte boundaries.
  const int shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(in + first) % 16 / sizeof(T));
  const int step = static_cast<int>(in_stride * static_cast<std::int64_t>(sizeof(T)) % 16 / sizeof(T));
  constexpr int vector = sizeof(T) < 16 ? 16 / static_cast<int>(sizeof(T)) : 1;
  write_stretch(out + first * narrow, count * narrow, [&](int i) {
    const int r = i / narrow, c = i - r * narrow;
    return elements[c * pitch + (shift + c * step) % vector + r];
  });
}

// A stretch's elements on the long side: whole sectors on both.
template <class T>
int narrow_stretch(int narrow) {
  return narrow_bytes / static_cast<int>(sizeof(T)) / narrow / 32 * 32;
}

template <class T>
status start_few_columns(const T* in, T* out, std::int64_t rows, std::int64_t out_stride, int narrow,
                         cudaStream_t stream) {
  const int stretch = narrow_stretch<T>(narrow);
  const unsigned int blocks = grid_for(rows, stretch);
  if (!blocks) return refuse(too_many_blocks);
  return start(transpose_few_columns<T>, blocks, narrow_threads, stream, in, out, rows, out_stride, narrow, stretch);
}

template <class T>
status start_few_rows(const T* in, T* out, std::int64_t columns, std::int64_t in_stride, int narrow,
                      cudaStream_t stream) {
  const int stretch = narrow_stretch<T>(narrow);
  // Neighbours of a row of the output lie in different banks: rows of the stretch 32 / narrow banks apart, and whole
  // vectors.
  const int vector = 16 / static_cast<int>(sizeof(T));
  const int pitch = stretch + 2 * vector;
  const unsigned int blocks = grid_for(columns, stretch);
  if (!blocks) return refuse(too_many_blocks);
  return start(transpose_few_rows<T>, blocks, narrow_threads, stream, in, out, columns, in_stride, narrow, stretch,
               pitch);
}

}  // namespace coalesce::detail
