// Short rows that follow each other without gaps. A warp copies a tile of them to shared memory while it works at the
// one before: loads in flight hold no registers, and no warp waits for another.
//
// Up to 768 bytes a lane has a row: it merges with no other lane, and all lanes take the same steps. Up to 6 KB, 8
// lanes or a warp share a row. Rows are read from shared memory in units of 16, 8 or 4 bytes, the largest unit of which
// all rows have a whole number. Rows without whole words are read as words and the elements before and behind these.
//
// Banks: with units of 4 and 8 bytes a row has an odd number of them (or the unit would be larger), which puts 32 lanes
// in 32 banks. With 16 bytes it may have g = 2, 4 or 8 times an odd number: 8 / g neighbouring rows then are apart, and
// the next ones use the same banks. So unit u lies at u ^ (u / group % g), where a group is 8 / g rows. With 2 bytes
// and 1 lanes take every second or fourth row, which are an odd number of words apart, and all begin alike within a
// word.
#pragma once

#include <coalesce/detail/block/async_copy.cuh>
#include <coalesce/detail/block/launch.cuh>
#include <coalesce/detail/l2_policy.cuh>

namespace coalesce::detail {

template <class A, class Source>
struct shared_rows {
  A accumulator;
  Source in;
  typename A::result* out;
  std::int64_t rows, tiles;
  int length;        // elements of a row
  int units;         // of a row
  int log2_lanes;    // for each row
  int tile_rows;     // of a tile: a multiple of 32, where a row is a lane's
  int tile_vectors;  // 16 bytes each, of a whole tile
  int g_less_one;
  bool by_vectors;     // whether all tiles begin at 16 bytes; else elements are copied one by one
  unsigned int group;  // 2^32 / units of a group, rounded up
  place_in_l2 reads;
};

inline constexpr int shared_rows_bytes = 48 * 1024;  // of a block

// Where unit u of a tile lies.
template <int Unit, class A, class Source>
__device__ __forceinline__ int place_of(const shared_rows<A, Source>& problem, int u) {
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
  } else if constexpr (Unit == 4) {
    const unsigned int bits = *reinterpret_cast<const unsigned int*>(from);
    memcpy(static_cast<void*>(raw), &bits, Unit);
  } else {
    raw[0] = *from;
  }
#pragma unroll
  for (int k = 0; k < count; ++k) to[k] = in.project(raw[k]);
}

// A warp's tiles of whole rows, one after the other: `work(buffer, first row, rows)`.
template <int Unit, class A, class Source, class Work>
__device__ __forceinline__ void go_through_tiles(const shared_rows<A, Source>& problem, Work&& work) {
  using memory = typename Source::memory;
  constexpr int width = 16 / static_cast<int>(sizeof(memory));
  extern __shared__ __align__(16) unsigned char shared_rows_buffer[];
  const int lane = threadIdx.x % 32, warps = blockDim.x / 32, tile_rows = problem.tile_rows, length = problem.length;
  memory* const buffers = reinterpret_cast<memory*>(shared_rows_buffer + threadIdx.x / 32 * 32 * problem.tile_vectors);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * warps;
  const unsigned long long policy = policy_of(problem.reads);
  const auto rows_of = [&](std::int64_t first) {
    return problem.rows - first < tile_rows ? static_cast<int>(problem.rows - first) : tile_rows;
  };
  const auto stage = [&](std::int64_t tile, memory* to) {
    if (tile < problem.tiles) {
      const std::int64_t first = tile * tile_rows;
      const memory* const from = problem.in.data + first * length;
      const int count = rows_of(first) * length, vectors = count / width;
      if (problem.by_vectors) {
        for (int v = lane; v < vectors; v += 32)
          start_copy16(to + place_of<Unit>(problem, v) * width, from + v * width, policy);
      }
      // Elements that vectors leave over; without vectors all, from a multiple of 128 bytes on for whole sectors.
      const int begin = problem.by_vectors
                            ? vectors * width
                            : -static_cast<int>(reinterpret_cast<std::uintptr_t>(from) % 128 / sizeof(memory));
      for (int i = begin + lane; i < count; i += 32) {
        if (i >= 0) start_copy_of_one(to + place_of<Unit>(problem, i / width) * width + i % width, from + i);
      }
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

// Units 0 ... count - 1 of a row, `unit(u)` being where unit u lies; its first element is at `position`.
template <int Unit, class A, class Source, class Place>
__device__ __forceinline__ void add_units(const A& a, typename A::state& state, const Source& in, int count,
                                          int position, Place&& unit) {
  using element = typename A::element;
  constexpr int width = Unit / static_cast<int>(sizeof(typename Source::memory));
  // Units of a tile: 64 bytes where looking for a position takes long, or four units.
  constexpr int units_of_tile = A::indexed || 64 / Unit < 4 ? 64 / Unit : 4;
  int u = 0;
#pragma unroll 1
  for (; u + units_of_tile <= count; u += units_of_tile) {
    element tile[units_of_tile * width];
#pragma unroll
    for (int k = 0; k < units_of_tile; ++k) load_unit<Unit, A>(in, unit(u + k), tile + k * width);
    a.add(state, tile, positions<1>{position + u * width, 1});
  }
#pragma unroll 1
  for (; u < count; ++u) {
    element tile[width];
    load_unit<Unit, A>(in, unit(u), tile);
    a.add(state, tile, positions<1>{position + u * width, 1});
  }
}

// Rows of Units units: a lane loads those of several before it adds the first.
template <int Unit, int Units, class A, class Source>
__global__ void __launch_bounds__(128, 6) reduce_tiny_rows(const shared_rows<A, Source> problem) {
  using memory = typename Source::memory;
  constexpr int width = Unit / static_cast<int>(sizeof(memory)), at_once = 4;
  wait_for_stream();
  const A& a = problem.accumulator;
  go_through_tiles<Unit>(problem, [&](const memory* buffer, std::int64_t first, int rows) {
    for (int begin = threadIdx.x % 32; begin < rows; begin += 32 * at_once) {
      typename A::element tiles[at_once][Units * width];
#pragma unroll
      for (int r = 0; r < at_once; ++r) {
        const int row = begin + 32 * r;
        if (row < rows) {
#pragma unroll
          for (int u = 0; u < Units; ++u) {
            load_unit<Unit, A>(problem.in, buffer + place_of<Unit>(problem, row * Units + u) * width,
                               tiles[r] + u * width);
          }
        }
      }
#pragma unroll
      for (int r = 0; r < at_once; ++r) {
        const int row = begin + 32 * r;
        if (row < rows) {
          typename A::state state = a.identity();
          a.add(state, tiles[r], positions<1>{0, 1});
          problem.out[first + row] = a.finish(state, Units * width);
        }
      }
    }
  });
}

template <int Unit, class A, class Source>
__global__ void __launch_bounds__(128, 8) reduce_shared_rows(const shared_rows<A, Source> problem) {
  using memory = typename Source::memory;
  constexpr int every = Unit < 4 ? 4 / Unit : 1;  // a lane's rows
  wait_for_stream();
  const A& a = problem.accumulator;
  const int length = problem.length, units = problem.units;
  go_through_tiles<Unit>(problem, [&](const memory* buffer, std::int64_t first, int rows) {
    for (int group = 0; group < rows; group += 32 * every) {
#pragma unroll 1
      for (int which = 0; which < every; ++which) {
        const int row = group + static_cast<int>(threadIdx.x % 32) * every + which;
        if (row >= rows) continue;
        typename A::state state = a.identity();
        if constexpr (Unit >= 4) {
          const int begin = row * units, turn = place_of<Unit>(problem, begin) ^ begin;
          constexpr int width = Unit / static_cast<int>(sizeof(memory));
          add_units<Unit>(a, state, problem.in, units, 0, [&](int u) { return buffer + ((begin + u) ^ turn) * width; });
        } else {
          constexpr int in_word = 4 / static_cast<int>(sizeof(memory)), size = static_cast<int>(sizeof(memory));
          const memory* const from = buffer + row * length;
          // All lanes have the same number of elements before the first word.
          int before = (4 - which * length * size % 4) % 4 / size;
          if (before > length) before = length;
          const int words = (length - before) / in_word, behind = before + words * in_word;
          add_units<size>(a, state, problem.in, before, 0, [&](int i) { return from + i; });
          add_units<4>(a, state, problem.in, words, before, [&](int i) { return from + before + i * in_word; });
          add_units<size>(a, state, problem.in, length - behind, behind, [&](int i) { return from + behind + i; });
        }
        problem.out[first + row] = a.finish(state, length);
      }
    }
  });
}

// Rows of whole vectors, 2^log2_lanes lanes for each: 8 or more, whose vectors then are in all banks. All lanes have
// the same number of vectors but for one.
template <class A, class Source>
__global__ void __launch_bounds__(128, 8) reduce_shared_long_rows(const shared_rows<A, Source> problem) {
  using memory = typename Source::memory;
  using element = typename A::element;
  constexpr int width = 16 / static_cast<int>(sizeof(memory)), units_of_tile = 4;
  wait_for_stream();
  const A& a = problem.accumulator;
  const int units = problem.units, lanes = 1 << problem.log2_lanes, lane = threadIdx.x & (lanes - 1);
  go_through_tiles<0>(problem, [&](const memory* buffer, std::int64_t first, int rows) {
    const int at_once = 32 >> problem.log2_lanes;
    for (int group = 0; group < rows; group += at_once) {
      const int row = group + (static_cast<int>(threadIdx.x % 32) >> problem.log2_lanes);
      typename A::state state = a.identity();
      if (row < rows) {
        const memory* const from = buffer + (row * units + lane) * width;
        int u = 0;
#pragma unroll 1
        for (; u + units_of_tile * lanes <= units; u += units_of_tile * lanes) {
          element tile[units_of_tile * width];
#pragma unroll
          for (int k = 0; k < units_of_tile; ++k) {
            load_unit<16, A>(problem.in, from + (u + k * lanes) * width, tile + k * width);
          }
          a.add(state, tile, positions<width>{(u + lane) * width, lanes * width});
        }
#pragma unroll 1
        for (; u < units; u += lanes) {
          if (u + lane < units) {
            element tile[width];
            load_unit<16, A>(problem.in, from + u * width, tile);
            a.add(state, tile, positions<1>{(u + lane) * width, 1});
          }
        }
      }
      state = merge_lanes(a, state, lanes);
      if (lane == 0 && row < rows) problem.out[first + row] = a.finish(state, problem.length);
    }
  });
}

template <class A, class Source>
status launch_shared_rows(const A& a, const Source& in, typename A::result* out, std::int64_t rows, int length,
                          const row_form& form, cudaStream_t stream) {
  using memory = typename Source::memory;
  device_facts device;
  if (const status s = current_device(device); !s) return s;
  const int unit = form.unit, bytes = length * static_cast<int>(sizeof(memory)), units = bytes / unit;
  const bool shared_by_lanes = form.log2_lanes > 0;
  const int g = unit == 16 && !shared_by_lanes ? common_divisor(units, 8) : 1, group = units * 8 / g;
  const int least = shared_by_lanes ? 32 >> form.log2_lanes : unit < 4 ? 128 / unit : 32;
  int tile_rows = 4096 / bytes / least * least;
  if (tile_rows == 0) tile_rows = least;
  const int tile_vectors = tile_rows * bytes / 16;
  int warps = shared_rows_bytes / (32 * tile_vectors);
  warps = warps >= 4 ? 4 : warps >= 2 ? 2 : 1;
  const int shared = warps * 32 * tile_vectors;
  const std::int64_t tiles = ceil_div(rows, tile_rows);
  const bool many = bytes < reads_per_result * static_cast<int>(sizeof(typename A::result));
  const shared_rows<A, Source> problem = {a,
                                          in,
                                          out,
                                          rows,
                                          tiles,
                                          length,
                                          units,
                                          form.log2_lanes,
                                          tile_rows,
                                          tile_vectors,
                                          g - 1,
                                          in.template begins_aligned<16 / sizeof(memory)>(),
                                          static_cast<unsigned int>(((std::uint64_t{1} << 32) + group - 1) / group),
                                          many ? place_in_l2::usual : place_in_l2::first};
  // Tiny rows: the kernel computes little for what it reads, or in long chains.
  constexpr bool may_be_tiny = shape<A>::state_words <= 2 || !A::indexed;
  const bool tiny =
      unit >= 4 && may_be_tiny && !shared_by_lanes && (unit == 16 ? units <= 2 : units == 1 || units == 3);
  int resident = 227 * 1024 / (shared + 1024);
  const int by_registers = (tiny ? 24 : 32) / warps;  // see __launch_bounds__
  if (resident > by_registers) resident = by_registers;
  std::int64_t blocks = ceil_div(tiles, warps);
  if (blocks > device.processors * resident * waves_of_blocks) blocks = device.processors * resident * waves_of_blocks;
  void (*kernel)(shared_rows<A, Source>) = nullptr;
  constexpr int size = sizeof(memory);
  if (shared_by_lanes) {
    kernel = reduce_shared_long_rows<A, Source>;
  } else if (unit == 16) {
    kernel = reduce_shared_rows<16, A, Source>;
  } else if (unit == 8) {
    if constexpr (size <= 8) kernel = reduce_shared_rows<8, A, Source>;
  } else if (unit == 4) {
    if constexpr (size <= 4) kernel = reduce_shared_rows<4, A, Source>;
  } else if (unit == 2) {  // of an odd number of these
    if constexpr (size <= 2) kernel = reduce_shared_rows<2, A, Source>;
  } else {
    if constexpr (size == 1) kernel = reduce_shared_rows<1, A, Source>;
  }
  if constexpr (may_be_tiny) {
    if (tiny && unit == 16)
      kernel = units == 1 ? reduce_tiny_rows<16, 1, A, Source> : reduce_tiny_rows<16, 2, A, Source>;
    if constexpr (size <= 8) {
      if (tiny && unit == 8)
        kernel = units == 1 ? reduce_tiny_rows<8, 1, A, Source> : reduce_tiny_rows<8, 3, A, Source>;
    }
    if constexpr (size <= 4) {
      if (tiny && unit == 4)
        kernel = units == 1 ? reduce_tiny_rows<4, 1, A, Source> : reduce_tiny_rows<4, 3, A, Source>;
    }
  }
  return launch_early(kernel, problem, blocks, warps * 32, shared, stream, device);
}

}  // namespace coalesce::detail
