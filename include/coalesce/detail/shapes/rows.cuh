// Rows of up to a few thousand neighbouring elements, one result each: a group of lanes takes a row, so that a warp
// works at 1 to 32 rows at once and no barrier is needed.
//
// A lane has Loads x Rows = 8 vectors under way: Loads of each of Rows rows. A warp's rows are neighbours, and where
// they lie one behind the other each of its requests is for 512 bytes in a piece: so lanes come first, Loads only grow
// where a row has more than 32 vectors. Loads = 8 is for rows of any length; the group then goes along the row.
#pragma once

#include <coalesce/detail/block/launch.cuh>
#include <coalesce/detail/block/read_run.cuh>
#include <coalesce/detail/l2_policy.cuh>

namespace coalesce::detail {

template <class A, class Source>
struct rows {
  A accumulator;
  Source in;
  typename A::result* out;
  std::int64_t rows_count, count;  // count: elements of a row
  row_map map;                     // row -> offset of its first element
  int lanes;                       // of a group: 1, 2, 4 ... 32
  bool sectors;                    // vectors are read in pairs that lie in one sector
  place_in_l2 results;
};

inline constexpr int rows_threads = 256;

// Merges states of Rows rows over groups of `lanes` lanes. Instead of all lanes merging all rows, at each step a lane
// gives away half of its rows and gets its partner's part of the other half: Rows - 1 exchanges, not Rows *
// log2(lanes). Afterwards the first `return value` states are merged; state k is that of row (mine << log2(return
// value)) + k.
template <int Rows, class A>
__device__ __forceinline__ int merge_rows(const A& a, typename A::state (&state)[Rows], int lanes, int& mine) {
  int left = Rows;
  mine = 0;
#pragma unroll
  for (int half = Rows / 2; half > 0; half /= 2) {
    const int step = lanes * half / Rows;  // lanes / 2, lanes / 4, ...
    if (step > 0) {
      const bool upper = threadIdx.x & step;
#pragma unroll
      for (int k = 0; k < half; ++k) {
        const typename A::state given = upper ? state[k] : state[k + half];
        if (upper) state[k] = state[k + half];
        a.merge(state[k], warp::exchange(given, step));
      }
      mine = 2 * mine + upper;
      left = half;
    }
  }
  for (int step = lanes / Rows / 2; step > 0; step /= 2) {
    a.merge(state[0], warp::exchange(state[0], step));
  }
  return left;
}

// Even: every row begins at a 16-byte boundary and has whole vectors only.
template <int Loads, int Rows, bool Even, class A, class Source>
__global__ void __launch_bounds__(rows_threads, shape<A>::blocks_per_processor)
    reduce_rows(const rows<A, Source> problem) {
  constexpr int width = Source::width;
  using element = typename A::element;
  wait_for_stream();
  const A& a = problem.accumulator;
  const int lanes = problem.lanes, lane = threadIdx.x & (lanes - 1);
  const int groups = 32 / lanes, group = threadIdx.x % 32 / lanes;  // in the warp
  const std::int64_t count = problem.count, rows_count = problem.rows_count;
  const std::int64_t warp = (static_cast<std::int64_t>(blockIdx.x) * rows_threads + threadIdx.x) / 32;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * (rows_threads / 32) * groups * Rows;

  for (std::int64_t first = warp * groups * Rows; first < rows_count; first += step) {
    if constexpr (Rows == 1) {
      typename A::state state = a.identity();
      const std::int64_t row = first + group;
      if (row < rows_count) {
        read_run<Loads, 32>(
            problem.in.from(problem.map(row)), count, lane, lanes, [](auto&...) {},
            [&](const auto& tile, auto at) { a.add(state, tile, at); });
      }
      state = merge_lanes(a, state, lanes);
      if (lane == 0 && row < rows_count) write_result(problem.out + row, a.finish(state, count), problem.results);
    } else {
      // Row r of this group is row first + r * groups + group.
      typename A::state state[Rows];
      typename Source::template vector_of<> loaded[Rows][Loads] = {};  // see read_run
      int head[Rows], vectors[Rows];
      element edge[Rows] = {};
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        const std::int64_t row = first + r * groups + group;
        head[r] = vectors[r] = 0;
        if (row < rows_count) {
          const Source in = problem.in.from(problem.map(row));
          if constexpr (!Even) {
            head[r] = problem.sectors ? in.template head<2 * width>() : in.head();
            if (head[r] > count) head[r] = static_cast<int>(count);
            vectors[r] = static_cast<int>(count - head[r]) / width;
            if (problem.sectors) vectors[r] &= ~1;
            const int inside = vectors[r] * width, at = lane < head[r] ? lane : lane + inside;
            if (at < count) edge[r] = in.at(at);
          } else {
            vectors[r] = static_cast<int>(count / width);
          }
#pragma unroll
          for (int k = 0; k < Loads; ++k) {
            if (lane + k * lanes < vectors[r]) loaded[r][k] = in.fetch(head[r] + (lane + k * lanes) * width);
          }
        }
      }
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        state[r] = a.identity();
        if (Loads > 1 && lane + (Loads - 1) * lanes < vectors[r]) {
          element tile[Loads * width];
#pragma unroll
          for (int k = 0; k < Loads; ++k) problem.in.unpack(loaded[r][k], tile + k * width);
          a.add(state[r], tile, positions<width>{head[r] + lane * width, lanes * width});
        } else {
          // Vectors go two at a time, where there are two.
#pragma unroll
          for (int k = 0; k < (Loads > 1 ? Loads - 1 : 1); k += 2) {
            const int vector = lane + k * lanes;
            const positions<width> at{head[r] + vector * width, lanes * width};
            if (k + 1 < Loads - 1 && vector + lanes < vectors[r]) {
              element tile[2 * width];
              problem.in.unpack(loaded[r][k], tile);
              problem.in.unpack(loaded[r][k + 1 < Loads ? k + 1 : k], tile + width);
              a.add(state[r], tile, at);
            } else if (vector < vectors[r]) {
              element tile[width];
              problem.in.unpack(loaded[r][k], tile);
              a.add(state[r], tile, at);
            }
          }
        }
        if constexpr (!Even) {
          const std::int64_t row = first + r * groups + group;
          const int inside = vectors[r] * width, single = row < rows_count ? static_cast<int>(count) - inside : 0;
          if (lane < single) {
            const element one[1] = {edge[r]};
            a.add(state[r], one, positions<1>{lane < head[r] ? lane : lane + inside, 0});
          }
          for (int i = lane + lanes; i < single; i += lanes) {  // more than a group has lanes: small elements
            const int at = i < head[r] ? i : i + inside;
            const element one[1] = {problem.in.from(problem.map(row)).at(at)};
            a.add(state[r], one, positions<1>{at, 0});
          }
        }
      }
      int mine = 0;
      const int left = merge_rows<Rows>(a, state, lanes, mine);
      // If several lanes have the same row, the lowest writes.
      const bool writes = lanes <= Rows || lane % (lanes / Rows) == 0;
#pragma unroll
      for (int k = 0; k < Rows; ++k) {
        const std::int64_t row = first + (mine * left + k) * groups + group;
        if (writes && k < left && row < rows_count)
          write_result(problem.out + row, a.finish(state[k], count), problem.results);
      }
    }
  }
}

template <class A, class Source>
status launch_rows(const A& a, const Source& in, typename A::result* out, std::int64_t rows_count, std::int64_t count,
                   const row_map& map, cudaStream_t stream) {
  device_facts device;
  if (const status s = current_device(device); !s) return s;
  constexpr int width = Source::width;
  const std::int64_t vectors = ceil_div(count, width);
  const bool even = in.template begins_aligned<width>() && count % width == 0 && map.stride % width == 0 &&
                    (map.inner == 0 || map.plane % width == 0);
  constexpr int most = 4;  // rows at once, of 1 load or 2
  // If merging costs more than an addition, a lane takes more of a row, so that fewer lanes merge. But a row's piece of
  // a request stays close to a line.
  constexpr bool cheap = shape<A>::state_words <= 2, plain = cheap && !A::indexed;
  const int loads = vectors > 128 ? 8
                    : vectors > (plain   ? 64
                                 : cheap ? 16
                                         : 8)
                        ? 4
                    : vectors > (plain ? 32 : 2) ? 2
                                                 : 1;
  int lanes = 1;
  while (lanes < 32 && lanes * loads < vectors) lanes *= 2;
  const bool many = count * Source::bytes < reads_per_result * static_cast<std::int64_t>(sizeof(typename A::result));
  const rows<A, Source> problem = {a,
                                   in,
                                   out,
                                   rows_count,
                                   count,
                                   map,
                                   lanes,
                                   lanes == 32 && width > 1,
                                   many ? place_in_l2::first : place_in_l2::usual};
  const int at_once = loads == 1 ? most : loads == 2 ? most : loads == 4 ? 2 : 1;
  // Blocks come in many waves, so that those on a slower multiprocessor do not hold up the rest, but each does several
  // rounds, so that starting it does not count.
  const std::int64_t waves = static_cast<std::int64_t>(device.processors) * shape<A>::blocks_per_processor * 16;
  std::int64_t blocks = ceil_div(rows_count, static_cast<std::int64_t>(rows_threads / lanes) * at_once);
  if (blocks > waves) blocks = waves;
  void (*kernel)(rows<A, Source>) = nullptr;
  if (loads == 8) {
    kernel = reduce_rows<8, 1, false, A, Source>;
  } else if (loads == 4) {
    kernel = even ? reduce_rows<4, 2, true, A, Source> : reduce_rows<4, 2, false, A, Source>;
  } else if (loads == 2) {
    kernel = even ? reduce_rows<2, most, true, A, Source> : reduce_rows<2, most, false, A, Source>;
  } else {
    kernel = even ? reduce_rows<1, most, true, A, Source> : reduce_rows<1, most, false, A, Source>;
  }
  return launch_early(kernel, problem, blocks, rows_threads, 0, stream, device);
}

}  // namespace coalesce::detail
