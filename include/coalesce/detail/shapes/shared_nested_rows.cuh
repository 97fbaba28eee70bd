// Short rows that follow each other without gaps, and more of them for each result, `outer_stride` apart: a lane has a
// result and goes through its rows. Rows reach it through shared memory, as those of shared_rows.cuh do; a warp has
// several groups of 32 rows under way, as each is small.
#pragma once

#include <coalesce/detail/shapes/shared_rows.cuh>

namespace coalesce::detail {

// rows: of one plane; tile_rows is 32.
template <class A, class Source>
struct shared_nested_rows {
  shared_rows<A, Source> plane;
  std::int64_t outers, outer_stride;
};

inline constexpr int nested_buffers = 4;  // of a warp

template <int Unit, class A, class Source>
__global__ void __launch_bounds__(128, 8) reduce_shared_nested_rows(const shared_nested_rows<A, Source> problem) {
  using memory = typename Source::memory;
  constexpr int width = 16 / static_cast<int>(sizeof(memory)), unit_width = Unit / static_cast<int>(sizeof(memory));
  extern __shared__ __align__(16) unsigned char shared_nested_rows_buffer[];
  wait_for_stream();
  const shared_rows<A, Source>& plane = problem.plane;
  const A& a = plane.accumulator;
  const int lane = threadIdx.x % 32, warps = blockDim.x / 32, length = plane.length, units = plane.units;
  const int apart = plane.tile_vectors * width;
  memory* const buffers = reinterpret_cast<memory*>(shared_nested_rows_buffer) +
                          static_cast<int>(threadIdx.x / 32) * nested_buffers * apart;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * warps;
  const unsigned long long policy = policy_of(plane.reads);
  const auto rows_of = [&](std::int64_t tile) {
    return plane.rows - tile * 32 < 32 ? static_cast<int>(plane.rows - tile * 32) : 32;
  };
  std::int64_t tile = static_cast<std::int64_t>(blockIdx.x) * warps + threadIdx.x / 32;
  // The rows that are copied next, and their buffer.
  std::int64_t next_tile = tile, next_outer = 0;
  int next_buffer = 0;
  const auto start_next = [&] {
    if (next_tile < plane.tiles) {
      const memory* const from = plane.in.data + next_outer * problem.outer_stride + next_tile * 32 * length;
      memory* const to = buffers + next_buffer * apart;
      const int count = rows_of(next_tile) * length;
      const int behind = static_cast<int>(reinterpret_cast<std::uintptr_t>(from) % 128 / sizeof(memory));
      const bool by_vectors = behind % width == 0;
      const int vectors = by_vectors ? count / width : 0;
      for (int v = lane; v < vectors; v += 32) {
        start_copy16(to + place_of<Unit>(plane, v) * width, from + v * width, policy);
      }
      // One by one: each request for whole sectors. By vectors: what is left at the end.
      for (int i = (by_vectors ? vectors * width : -behind) + lane; i < count; i += 32) {
        if (i >= 0) start_copy_of_one(to + place_of<Unit>(plane, i / width) * width + i % width, from + i);
      }
      next_buffer = (next_buffer + 1) % nested_buffers;
      if (++next_outer == problem.outers) {
        next_outer = 0;
        next_tile += step;
      }
    }
    end_group();
  };
#pragma unroll 1
  for (int k = 1; k < nested_buffers; ++k) start_next();
  const int begin = lane * units, turn = place_of<Unit>(plane, begin) ^ begin;
  int at = 0;
  for (; tile < plane.tiles; tile += step) {
    typename A::state state = a.identity();
    const bool there = lane < rows_of(tile);
#pragma unroll 1
    for (std::int64_t outer = 0; outer < problem.outers; ++outer) {
      start_next();
      wait_for_groups<nested_buffers - 1>();
      __syncwarp();
      const memory* const buffer = buffers + at * apart;
      if (there) {
        add_units<Unit>(a, state, plane.in, units, outer * length,
                        [&](int u) { return buffer + ((begin + u) ^ turn) * unit_width; });
      }
      __syncwarp();
      at = (at + 1) % nested_buffers;
    }
    if (there) plane.out[tile * 32 + lane] = a.finish(state, problem.outers * length);
  }
}

template <class A, class Source>
status launch_shared_nested_rows(const A& a, const Source& in, typename A::result* out, std::int64_t results,
                                 const plan& p, cudaStream_t stream) {
  using memory = typename Source::memory;
  constexpr int size = sizeof(memory);
  device_facts device;
  if (const status s = current_device(device); !s) return s;
  const int unit = p.form.unit, length = static_cast<int>(p.count), bytes = length * size, units = bytes / unit;
  const int g = unit == 16 ? common_divisor(units, 8) : 1, group = units * 8 / g, tile_vectors = 2 * bytes;
  int warps = shared_rows_bytes / (nested_buffers * 16 * tile_vectors);
  warps = warps >= 4 ? 4 : warps >= 2 ? 2 : 1;
  const int shared = warps * nested_buffers * 16 * tile_vectors;
  const std::int64_t tiles = ceil_div(results, 32);
  const bool many = p.outers * bytes < reads_per_result * static_cast<std::int64_t>(sizeof(typename A::result));
  const shared_nested_rows<A, Source> problem = {
      {a, in, out, results, tiles, length, units, 0, 32, tile_vectors, g - 1, true,
       static_cast<unsigned int>(((std::uint64_t{1} << 32) + group - 1) / group),
       many ? place_in_l2::usual : place_in_l2::first},
      p.outers,
      p.outer_stride};
  int resident = 227 * 1024 / (shared + 1024);
  if (resident > 32 / warps) resident = 32 / warps;  // see __launch_bounds__
  std::int64_t blocks = ceil_div(tiles, warps);
  if (blocks > device.processors * resident * waves_of_blocks) blocks = device.processors * resident * waves_of_blocks;
  void (*kernel)(shared_nested_rows<A, Source>) = reduce_shared_nested_rows<16, A, Source>;
  if constexpr (size <= 8) {
    if (unit == 8) kernel = reduce_shared_nested_rows<8, A, Source>;
  }
  if constexpr (size <= 4) {
    if (unit == 4) kernel = reduce_shared_nested_rows<4, A, Source>;
  }
  return launch_early(kernel, problem, blocks, warps * 32, shared, stream, device);
}

}  // namespace coalesce::detail
