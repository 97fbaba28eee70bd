// Bytes from one place to another, as they are or turned round element by element, at the speed of memory whatever the
// alignment: both sides are accessed in vectors of 16 bytes. Where they are not aligned alike, the warp loads aligned
// vectors, every lane fetches its right neighbour's by shuffle, and cuts its 16 bytes out of the two.
#pragma once

#include <coalesce/detail/vector16.cuh>
#include <coalesce/types/status.cuh>
#include <cstdint>

namespace coalesce::detail {

inline constexpr int copy_vectors = 8;                // a lane has in flight: 4 KiB a warp
inline constexpr int copy_chunk = copy_vectors * 32;  // vectors of a warp
inline constexpr int copy_chunk_bytes = copy_chunk * 16;
inline constexpr int copy_threads = 256;

// Cuts up `bytes` bytes at `from` and `to`. The body is `vectors` vectors: aligned ones at `to`, each made of aligned
// ones at `from`, all of which lie inside the input. Head and tail go element by element.
struct copy_cut {
  std::int64_t head, vectors;
  unsigned int shift;  // of the body's source within aligned vectors
};

// `size`: bytes of an element; 1 for a plain copy. Mirrored, the body's first source bytes go to its last place.
template <bool Mirrored>
__device__ inline copy_cut cut(std::uintptr_t from, std::uintptr_t to, std::int64_t bytes) {
  copy_cut result;
  result.head = static_cast<std::int64_t>(-to & 15);
  if (result.head > bytes) result.head = bytes;
  result.vectors = (bytes - result.head) / 16;
  const auto source = [&] {
    return Mirrored ? from + (bytes - result.head - 16 * result.vectors) : from + result.head;
  };
  result.shift = source() & 15;
  if (!Mirrored) {
    // Aligned vectors that begin at the start of a sector, and not before the input.
    const auto drop = [&] {
      result.head += 16;
      --result.vectors;
    };
    if (result.vectors > 0 && source() - result.shift < from) drop();
    if (result.vectors > 0 && (source() - result.shift) & 16) drop();
    if (result.shift && result.vectors > 0 && source() - result.shift + 16 * (result.vectors + 1) > from + bytes) {
      --result.vectors;
    }
  } else {
    // The first source vector is the last of the body, and the other way about.
    if (result.vectors > 0 && source() - result.shift < from) --result.vectors;
    if (result.vectors > 0 && (source() - result.shift) & 16) --result.vectors;
    while (result.shift && result.vectors > 0 && source() - result.shift + 16 * (result.vectors + 1) > from + bytes) {
      result.head += 16;
      --result.vectors;
    }
  }
  if (result.vectors < 0) result.vectors = 0;
  return result;
}

// The right neighbour's `own`; lane 31 gets lane 0's `row_below`. By value: a choice between two elements of an array
// would put the array into memory.
__device__ inline uint4 from_right(int lane, uint4 own, uint4 row_below) {
  const bool first = lane == 0;
  return make_uint4(__shfl_sync(0xffffffffu, first ? row_below.x : own.x, lane + 1),
                    __shfl_sync(0xffffffffu, first ? row_below.y : own.y, lane + 1),
                    __shfl_sync(0xffffffffu, first ? row_below.z : own.z, lane + 1),
                    __shfl_sync(0xffffffffu, first ? row_below.w : own.w, lane + 1));
}

// One warp moves chunk `chunk` of the body, and with chunk 0 head and tail.
template <int Size, bool Mirrored>
__device__ inline void move_chunk(const unsigned char* from, unsigned char* to, std::int64_t bytes,
                                  std::int64_t chunk) {
  using element = typename unit_of<Size>::type;
  const int lane = threadIdx.x % 32;
  const copy_cut c = cut<Mirrored>(reinterpret_cast<std::uintptr_t>(from), reinterpret_cast<std::uintptr_t>(to), bytes);
  if (chunk == 0) {
    const element* source = reinterpret_cast<const element*>(from);
    element* target = reinterpret_cast<element*>(to);
    const std::int64_t count = bytes / Size, before = c.head / Size, after = (c.head + 16 * c.vectors) / Size;
    for (std::int64_t i = lane; i < before; i += 32) target[i] = source[Mirrored ? count - 1 - i : i];
    for (std::int64_t i = after + lane; i < count; i += 32) target[i] = source[Mirrored ? count - 1 - i : i];
  }
  const std::int64_t first = chunk * copy_chunk, left = c.vectors - first;  // vectors of the body
  if (left <= 0) return;
  const std::int64_t start = Mirrored ? bytes - c.head - 16 * c.vectors : c.head;
  const uint4* in = reinterpret_cast<const uint4*>(from + start - c.shift) + first;
  uint4* out = reinterpret_cast<uint4*>(to + c.head) + (Mirrored ? c.vectors - 1 - first : first);
  const std::int64_t present = left + (c.shift ? 1 : 0);  // aligned vectors to load
  // Loads by __ldg and stores by __stwb: clang would make narrower accesses of an assignment.
  uint4 v[copy_vectors + 1];
#pragma unroll
  for (int k = 0; k <= copy_vectors; ++k) {
    const int i = k * 32 + lane;
    v[k] = make_uint4(0, 0, 0, 0);
    if (i < present && (k < copy_vectors || (lane == 0 && c.shift))) v[k] = __ldg(in + i);
  }
  if (c.shift) {
#pragma unroll
    for (int k = 0; k < copy_vectors; ++k) {
      // Lane 31's neighbour is lane 0 of the next row of vectors.
      const uint4 next = from_right(lane, v[k], v[k + 1]);
      v[k] = window(v[k], next, c.shift);
    }
  }
#pragma unroll
  for (int k = 0; k < copy_vectors; ++k) {
    const int i = k * 32 + lane;
    if (i < left) __stwb(out + (Mirrored ? -i : i), Mirrored ? mirrored<Size>(v[k]) : v[k]);
  }
}

// Rows of `bytes` bytes; a warp for each chunk of a row.
template <int Size, bool Mirrored>
__global__ void __launch_bounds__(copy_threads)
    move_rows(const unsigned char* from, std::int64_t from_pitch, unsigned char* to, std::int64_t to_pitch,
              std::int64_t bytes, std::int64_t rows, std::int64_t row_chunks) {
  const std::int64_t warp = (static_cast<std::int64_t>(blockIdx.x) * copy_threads + threadIdx.x) / 32;
  const std::int64_t row = row_chunks == 1 ? warp : warp / row_chunks;
  if (row >= rows) return;
  move_chunk<Size, Mirrored>(from + row * from_pitch, to + row * to_pitch, bytes, warp - row * row_chunks);
}

// Rows of up to Vectors x 512 bytes: a warp moves 8 / Vectors of them at once, so that as much is in flight as with
// long ones. Edges are single elements of Size bytes.
template <int Size, int Vectors>
__global__ void __launch_bounds__(copy_threads)
    move_medium_rows(const unsigned char* from, std::int64_t from_pitch, unsigned char* to, std::int64_t to_pitch,
                     std::int64_t bytes, std::int64_t rows) {
  using element = typename unit_of<Size>::type;
  constexpr int at_once = copy_vectors / Vectors;
  const int lane = threadIdx.x % 32;
  const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * copy_threads + threadIdx.x) / 32 * at_once;
  uint4 v[at_once][Vectors + 1];
  element edge[at_once];
  copy_cut c[at_once];
  // Edge i of a row: its head's and its tail's elements in turn.
  const auto place = [](const copy_cut& row, int i) {
    const int before = static_cast<int>(row.head) / Size;
    return i < before ? i : i + static_cast<int>(row.vectors) * (16 / Size);
  };
  const int count = static_cast<int>(bytes / Size);
  const auto edges = [&](const copy_cut& row) { return count - static_cast<int>(row.vectors) * (16 / Size); };
#pragma unroll
  for (int r = 0; r < at_once; ++r) {
    const std::int64_t row = first + r;
    c[r] = {0, 0, 0};
    edge[r] = {};
#pragma unroll
    for (int k = 0; k <= Vectors; ++k) v[r][k] = make_uint4(0, 0, 0, 0);
    if (row >= rows) continue;
    const unsigned char* source = from + row * from_pitch;
    c[r] = cut<false>(reinterpret_cast<std::uintptr_t>(source), reinterpret_cast<std::uintptr_t>(to + row * to_pitch),
                      bytes);
    const uint4* in = reinterpret_cast<const uint4*>(source + c[r].head - c[r].shift);
    const std::int64_t present = c[r].vectors > 0 ? c[r].vectors + (c[r].shift ? 1 : 0) : 0;
#pragma unroll
    for (int k = 0; k < Vectors; ++k) {
      if (k * 32 + lane < present) v[r][k] = __ldg(in + k * 32 + lane);
    }
    if (lane < edges(c[r])) edge[r] = reinterpret_cast<const element*>(source)[place(c[r], lane)];
  }
#pragma unroll
  for (int r = 0; r < at_once; ++r) {
    const std::int64_t row = first + r;
#pragma unroll
    for (int k = 0; k < Vectors; ++k) {
      // Shifted, a row's last vector ends before lane 31's right neighbour would be needed.
      const uint4 next = from_right(lane, v[r][k], v[r][k + 1]);
      v[r][k] = window(v[r][k], next, c[r].shift);
    }
    if (row >= rows) continue;
    const element* source = reinterpret_cast<const element*>(from + row * from_pitch);
    element* target = reinterpret_cast<element*>(to + row * to_pitch);
    uint4* out = reinterpret_cast<uint4*>(to + row * to_pitch + c[r].head);
#pragma unroll
    for (int k = 0; k < Vectors; ++k) {
      if (k * 32 + lane < c[r].vectors) __stwb(out + k * 32 + lane, v[r][k]);
    }
    if (lane < edges(c[r])) target[place(c[r], lane)] = edge[r];
    for (int i = lane + 32; i < edges(c[r]); i += 32) target[place(c[r], i)] = source[place(c[r], i)];
  }
}

inline constexpr int short_rows = 4;  // a thread has in flight

// Rows too short for a warp each: 2^lanes_log2 lanes a row, a unit at a time.
template <class Unit>
__global__ void __launch_bounds__(copy_threads)
    move_short_rows(const unsigned char* from, std::int64_t from_pitch, unsigned char* to, std::int64_t to_pitch,
                    int units, std::int64_t rows, int lanes_log2) {
  const int lanes = 1 << lanes_log2, rows_at_once = copy_threads >> lanes_log2;
  const int column = threadIdx.x & (lanes - 1);
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x) * rows_at_once * short_rows + (threadIdx.x >> lanes_log2);
  for (int i = column; i < units; i += lanes) {
    Unit v[short_rows] = {};
#pragma unroll
    for (int k = 0; k < short_rows; ++k) {
      const std::int64_t row = first + k * rows_at_once;
      if (row < rows) v[k] = reinterpret_cast<const Unit*>(from + row * from_pitch)[i];
    }
#pragma unroll
    for (int k = 0; k < short_rows; ++k) {
      const std::int64_t row = first + k * rows_at_once;
      if (row < rows) reinterpret_cast<Unit*>(to + row * to_pitch)[i] = v[k];
    }
  }
}

// Blocks for `items`, or 0 where a grid cannot hold them.
inline unsigned int grid_for(std::int64_t items, std::int64_t per_block) {
  const std::int64_t blocks = (items + per_block - 1) / per_block;
  return blocks > 0x7fffffff ? 0 : static_cast<unsigned int>(blocks);
}

inline constexpr const char* too_many_blocks =
    "more rows or elements than a grid has thread blocks for: split the call";

// Not <<< >>> and cudaGetLastError, which may speak of somebody else's earlier error.
template <class... Parameters>
status start(void (*kernel)(Parameters...), unsigned int blocks, int threads, cudaStream_t stream,
             std::common_type_t<Parameters>... arguments) {
  void* list[] = {&arguments...};
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(blocks), dim3(threads), list, 0, stream);
}

template <class Unit>
status start_short_rows(const unsigned char* from, std::int64_t from_pitch, unsigned char* to, std::int64_t to_pitch,
                        std::int64_t bytes, std::int64_t rows, cudaStream_t stream) {
  const int units = static_cast<int>(bytes / static_cast<std::int64_t>(sizeof(Unit)));
  int lanes_log2 = 0;
  while (lanes_log2 < 5 && (1 << lanes_log2) < units) ++lanes_log2;
  const unsigned int blocks = grid_for(rows, static_cast<std::int64_t>(copy_threads >> lanes_log2) * short_rows);
  if (!blocks) return refuse(too_many_blocks);
  return start(move_short_rows<Unit>, blocks, copy_threads, stream, from, from_pitch, to, to_pitch, units, rows,
               lanes_log2);
}

template <int Size>
status start_medium_rows(const unsigned char* from, std::int64_t from_pitch, unsigned char* to, std::int64_t to_pitch,
                         std::int64_t bytes, std::int64_t rows, cudaStream_t stream) {
  const int vectors = bytes <= 512 ? 1 : bytes <= 1024 ? 2 : 4;
  const unsigned int blocks = grid_for(rows, copy_threads / 32 * (copy_vectors / vectors));
  if (!blocks) return refuse(too_many_blocks);
  const auto kernel = vectors == 1   ? move_medium_rows<Size, 1>
                      : vectors == 2 ? move_medium_rows<Size, 2>
                                     : move_medium_rows<Size, 4>;
  return start(kernel, blocks, copy_threads, stream, from, from_pitch, to, to_pitch, bytes, rows);
}

template <int Size, bool Mirrored>
status start_rows(const unsigned char* from, std::int64_t from_pitch, unsigned char* to, std::int64_t to_pitch,
                  std::int64_t bytes, std::int64_t rows, cudaStream_t stream) {
  const std::int64_t row_chunks = (bytes + copy_chunk_bytes - 1) / copy_chunk_bytes;
  std::int64_t warps = 0;
  const unsigned int blocks = multiply(row_chunks, rows, warps) ? grid_for(warps, copy_threads / 32) : 0;
  if (!blocks) return refuse(too_many_blocks);
  return start(move_rows<Size, Mirrored>, blocks, copy_threads, stream, from, from_pitch, to, to_pitch, bytes, rows,
               row_chunks);
}

}  // namespace coalesce::detail
