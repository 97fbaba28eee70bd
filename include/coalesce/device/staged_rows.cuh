// Short rows that follow each other without gaps. A warp copies a tile of them to shared memory while it works at the
// one before: all that is on its way holds no registers, and no warp waits for another.
//
// Up to 768 bytes a lane has a row: it need not merge what it has with another's, and all lanes do the same number of
// the same steps. Up to 6 KB a warp has one. Rows are read from shared memory in units of 16, 8 or 4 bytes, the largest
// that all rows are made of.
//
// Banks: with units of 4 and 8 bytes a row has an odd number of them (or the unit would be larger), which puts 32 lanes
// in 32 banks. With 16 bytes it may have g = 2, 4 or 8 times an odd number: 8 / g neighbouring rows then are apart, and
// the next ones meet them. So unit u lies at u ^ (u / group % g), where a group is 8 / g rows.
#pragma once

#include "../block/stage.cuh"
#include "launch.cuh"

namespace coalesce::detail {

template <class A, class Source>
struct staged_rows {
  A accumulator;
  Source in;
  typename A::result* out;
  std::int64_t rows, tiles;
  int length;        // elements of a row
  int units;         // of a row
  int tile_rows;     // of a tile: a multiple of 32, where a row is a lane's
  int tile_vectors;  // 16 bytes each, of a whole tile
  int g_less_one;
  unsigned int group;  // 2^32 / units of a group, rounded up
};

inline constexpr int staged_rows_bytes = 48 * 1024;  // of a block

// Where unit u of a tile lies.
template <int Unit, class A, class Source>
__device__ __forceinline__ int place_of(const staged_rows<A, Source>& problem, int u) {
  if constexpr (Unit != 16) return u;
  return u ^ static_cast<int>(__umulhi(u, problem.group) & problem.g_less_one);
}

template <int Unit, class A, class Source>
__device__ __forceinline__ void load_unit(const Source& in, const typename Source::memory* from,
                                          typename A::element* to) {
  using memory = typename Source::memory;
  constexpr int count = Unit / static_cast<int>(sizeof(memory));
  memory raw[count];
  if constexpr (Unit == 16) {
    const uint4 bits = load_four(from);
    memcpy(static_cast<void*>(raw), &bits, Unit);
  } else if constexpr (Unit == 8) {
    const uint2 bits = load_two(from);
    memcpy(static_cast<void*>(raw), &bits, Unit);
  } else {
    const unsigned int bits = *reinterpret_cast<const unsigned int*>(from);
    memcpy(static_cast<void*>(raw), &bits, Unit);
  }
#pragma unroll
  for (int k = 0; k < count; ++k) to[k] = in.project(raw[k]);
}

// A warp's tiles of whole rows, one after the other: `work(buffer, first row, rows)`.
template <int Unit, class A, class Source, class Work>
__device__ __forceinline__ void go_through_tiles(const staged_rows<A, Source>& problem, Work&& work) {
  using memory = typename Source::memory;
  constexpr int width = 16 / static_cast<int>(sizeof(memory));
  extern __shared__ __align__(16) unsigned char staged_rows_shared[];
  const int lane = threadIdx.x % 32, warps = blockDim.x / 32, tile_rows = problem.tile_rows, length = problem.length;
  memory* const buffers = reinterpret_cast<memory*>(staged_rows_shared + threadIdx.x / 32 * 32 * problem.tile_vectors);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * warps;
  const auto rows_of = [&](std::int64_t first) {
    return problem.rows - first < tile_rows ? static_cast<int>(problem.rows - first) : tile_rows;
  };
  const auto stage = [&](std::int64_t tile, memory* to) {
    if (tile < problem.tiles) {
      const std::int64_t first = tile * tile_rows;
      const memory* const from = problem.in.data + first * length;
      const int count = rows_of(first) * length, vectors = count / width;
      for (int v = lane; v < vectors; v += 32) start_copy16(to + place_of<Unit>(problem, v) * width, from + v * width);
      for (int i = vectors * width + lane; i < count; i += 32) to[i] = from[i];  // at the end; with a unit of 16: none
    }
    end_group();
  };
  std::int64_t tile = static_cast<std::int64_t>(blockIdx.x) * warps + threadIdx.x / 32;
  stage(tile, buffers);
  for (int at = 0; tile < problem.tiles; tile += step, at ^= 1) {
    const int apart = problem.tile_vectors * width;
    stage(tile + step, buffers + (at ^ 1) * apart);
    wait_for_groups<1>();
    __syncwarp();
    work(buffers + at * apart, tile * tile_rows, rows_of(tile * tile_rows));
    __syncwarp();
  }
}

template <int Unit, class A, class Source>
__global__ void __launch_bounds__(128) reduce_staged_rows(const staged_rows<A, Source> problem) {
  using memory = typename Source::memory;
  using element = typename A::element;
  constexpr int width = Unit / static_cast<int>(sizeof(memory));
  constexpr int together = 64 / Unit > 4 ? 4 : 64 / Unit;  // units added as one tile
  wait_for_stream();
  const A& a = problem.accumulator;
  const int units = problem.units;
  go_through_tiles<Unit>(problem, [&](const memory* buffer, std::int64_t first, int rows) {
    for (int row = threadIdx.x % 32; row < rows; row += 32) {
      typename A::state state = a.identity();
      const int begin = row * units, turn = place_of<Unit>(problem, begin) ^ begin;
      int u = 0;
#pragma unroll 1
      for (; u + together <= units; u += together) {
        element tile[together * width];
#pragma unroll
        for (int k = 0; k < together; ++k) {
          load_unit<Unit, A>(problem.in, buffer + ((begin + u + k) ^ turn) * width, tile + k * width);
        }
        a.add(state, tile, positions<1>{u * width, 1});
      }
#pragma unroll 1
      for (; u < units; ++u) {
        element tile[width];
        load_unit<Unit, A>(problem.in, buffer + ((begin + u) ^ turn) * width, tile);
        a.add(state, tile, positions<1>{u * width, 1});
      }
      problem.out[first + row] = a.finish(state, problem.length);
    }
  });
}

// Longer rows of whole vectors: a warp for each. All lanes have the same number of vectors but for one.
template <class A, class Source>
__global__ void __launch_bounds__(128) reduce_staged_long_rows(const staged_rows<A, Source> problem) {
  using memory = typename Source::memory;
  using element = typename A::element;
  constexpr int width = 16 / static_cast<int>(sizeof(memory)), together = 4;
  wait_for_stream();
  const A& a = problem.accumulator;
  const int units = problem.units, lane = threadIdx.x % 32;
  go_through_tiles<0>(problem, [&](const memory* buffer, std::int64_t first, int rows) {
    for (int row = 0; row < rows; ++row) {
      typename A::state state = a.identity();
      const memory* const from = buffer + row * units * width;
      int u = 0;
#pragma unroll 1
      for (; u + together * 32 <= units; u += together * 32) {
        element tile[together * width];
#pragma unroll
        for (int k = 0; k < together; ++k) {
          load_unit<16, A>(problem.in, from + (u + k * 32 + lane) * width, tile + k * width);
        }
        a.add(state, tile, positions<width>{(u + lane) * width, 32 * width});
      }
#pragma unroll 1
      for (; u < units; u += 32) {
        element tile[width];
        if (u + lane < units) {
          load_unit<16, A>(problem.in, from + (u + lane) * width, tile);
          a.add(state, tile, positions<1>{(u + lane) * width, 1});
        }
      }
      state = merge_lanes(a, state, 32);
      if (lane == 0) problem.out[first + row] = a.finish(state, problem.length);
    }
  });
}

// Whether `length` elements at `data` are rows for these kernels: the unit, or 0. Longer ones are of whole vectors.
inline constexpr int longest_row_of_lane = 768, longest_row_of_warp = 6144;
template <class A, class Source>
int unit_of_staged_rows(const Source& in, std::int64_t length) {
  constexpr std::int64_t size = sizeof(typename Source::memory);
  const std::int64_t bytes = length * size;
  if (16 % size != 0 || bytes > longest_row_of_warp || reinterpret_cast<std::uintptr_t>(in.data) % 16 != 0) return 0;
  const int unit = common_divisor(bytes, 16);
  // Where states are costly to merge, lanes are to have some 16 elements each.
  if (bytes > longest_row_of_lane && (unit < 16 || (shape<A>::state_words > 2 && bytes < 2048))) return 0;
  return unit >= 4 && unit >= size ? unit : 0;
}

template <class A, class Source>
status launch_staged_rows(const A& a, const Source& in, typename A::result* out, std::int64_t rows, int length,
                          int unit, cudaStream_t stream) {
  using memory = typename Source::memory;
  device_facts device;
  if (const status s = current_device(device); !s) return s;
  const int bytes = length * static_cast<int>(sizeof(memory)), units = bytes / unit;
  const bool of_warp = bytes > longest_row_of_lane;
  const int g = unit == 16 && !of_warp ? common_divisor(units, 8) : 1, group = units * 8 / g;
  int tile_rows = of_warp ? 4096 / bytes : 4096 / bytes / 32 * 32;
  if (tile_rows == 0) tile_rows = of_warp ? 1 : 32;
  const int tile_vectors = tile_rows * bytes / 16;
  int warps = staged_rows_bytes / (32 * tile_vectors);
  warps = warps >= 4 ? 4 : warps >= 2 ? 2 : 1;
  const int shared = warps * 32 * tile_vectors;
  const std::int64_t tiles = ceil_div(rows, tile_rows);
  const staged_rows<A, Source> problem = {a,
                                          in,
                                          out,
                                          rows,
                                          tiles,
                                          length,
                                          units,
                                          tile_rows,
                                          tile_vectors,
                                          g - 1,
                                          static_cast<unsigned int>(((std::uint64_t{1} << 32) + group - 1) / group)};
  int resident = 227 * 1024 / (shared + 1024);
  if (resident > 48 / warps) resident = 48 / warps;
  if (resident > 32) resident = 32;
  std::int64_t blocks = ceil_div(tiles, warps);
  if (blocks > device.processors * resident) blocks = device.processors * resident;
  void (*kernel)(staged_rows<A, Source>) = reduce_staged_rows<16, A, Source>;
  if (of_warp) kernel = reduce_staged_long_rows<A, Source>;
  if constexpr (sizeof(memory) <= 8) {
    if (unit == 8) kernel = reduce_staged_rows<8, A, Source>;
  }
  if constexpr (sizeof(memory) <= 4) {
    if (unit == 4) kernel = reduce_staged_rows<4, A, Source>;
  }
  return launch_early(kernel, problem, blocks, warps * 32, shared, stream, device);
}

}  // namespace coalesce::detail
