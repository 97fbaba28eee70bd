// Rows of up to a few thousand neighbouring elements, one result each: a group of lanes takes a row, so that a warp
// works at 1 to 32 rows at once and no barrier is needed.
//
// A lane has Loads x Rows = 8 vectors under way: Loads of each of Rows rows. The host chooses the pair and the number
// of lanes so that a row's vectors just fit (lanes x Loads); longer rows are for Loads = 8, where the group goes along
// the row.
#pragma once

#include "../block/visit.cuh"
#include "launch.cuh"

#ifndef COALESCE_ROWS_WAVES
#define COALESCE_ROWS_WAVES 8
#endif
namespace coalesce::detail {

template <class A, class Source>
struct rows {
  A accumulator;
  Source in;
  typename A::result* out;
  std::int64_t rows_count, count;  // count: elements of a row
  row_map map;                     // row -> offset of its first element
  int lanes;                       // of a group: 1, 2, 4 ... 32
};

template <class A>
inline constexpr int rows_threads = 256;

// Even: every row begins at a 16-byte boundary and has whole vectors only.
template <int Loads, int Rows, bool Even, class A, class Source>
__global__ void __launch_bounds__(rows_threads<A>, shape<A>::blocks_per_processor)
    reduce_rows(const rows<A, Source> problem) {
  constexpr int width = Source::width;
  using element = typename A::element;
  const A& a = problem.accumulator;
  const int lanes = problem.lanes, lane = threadIdx.x & (lanes - 1);
  const int groups = rows_threads<A> / lanes, group = threadIdx.x / lanes;
  const std::int64_t count = problem.count, rows_count = problem.rows_count;

  // All lanes of a warp make the same number of rounds: they meet in the shuffles.
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * groups * Rows; first < rows_count;
       first += static_cast<std::int64_t>(gridDim.x) * groups * Rows) {
    typename A::state state[Rows];
    if constexpr (Rows == 1) {
      const std::int64_t row = first + group;
      state[0] = a.identity();
      if (row < rows_count) {
        visit_run<Loads, 16>(problem.in.from(problem.map(row)), count, lane, lanes,
                             [&](const auto& tile, auto at) { a.add(state[0], tile, at); });
      }
    } else {
      typename Source::template vector_of<> loaded[Rows][Loads];
      int head[Rows], vectors[Rows];
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        const std::int64_t row = first + r * groups + group;
        head[r] = vectors[r] = 0;
        if (row < rows_count) {
          const Source in = problem.in.from(problem.map(row));
          if (!Even) head[r] = in.head();
          vectors[r] = count > head[r] ? static_cast<int>(count - head[r]) / width : 0;
#pragma unroll
          for (int k = 0; k < Loads; ++k) {
            if (lane + k * lanes < vectors[r]) loaded[r][k] = in.fetch(head[r] + (lane + k * lanes) * width);
          }
        }
      }
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        state[r] = a.identity();
#pragma unroll
        for (int k = 0; k < Loads; ++k) {
          const int vector = lane + k * lanes;
          if (vector < vectors[r]) {
            element tile[width];
            problem.in.unpack(loaded[r][k], tile);
            a.add(state[r], tile, positions<width>{head[r] + vector * width, 0});
          }
        }
        if constexpr (!Even && width > 1) {
          const std::int64_t row = first + r * groups + group;
          const int inside = vectors[r] * width, single = static_cast<int>(count) - inside;
          if (row < rows_count && single > 0) {
            const Source in = problem.in.from(problem.map(row));
            for (int i = lane; i < single; i += lanes) {
              const int at = i < head[r] ? i : i + inside;
              const element one[1] = {in.at(at)};
              a.add(state[r], one, positions<1>{at, 0});
            }
          }
        }
      }
    }
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      const std::int64_t row = first + r * groups + group;
      state[r] = merge_lanes(a, state[r], lanes);
      if (lane == 0 && row < rows_count) problem.out[row] = a.finish(state[r], count);
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
  // Pairs of lanes at least: 32 bytes, a sector, are then read by one request.
  const int loads = vectors > 128 ? 8 : vectors > 8 || !even ? 4 : vectors > 2 ? 2 : 1;
  int lanes = 1;
  while (lanes < 32 && lanes * loads < vectors) lanes *= 2;
  const rows<A, Source> problem = {a, in, out, rows_count, count, map, lanes};
  const std::int64_t at_once = static_cast<std::int64_t>(rows_threads<A> / lanes) * (loads == 1 ? 4 : 8 / loads);
  // Blocks come in many waves, so that those on a slower multiprocessor do not hold up the rest, but each does several
  // rounds, so that starting it does not count.
  const std::int64_t waves =
      static_cast<std::int64_t>(device.processors) * shape<A>::blocks_per_processor * COALESCE_ROWS_WAVES;
  std::int64_t blocks = ceil_div(rows_count, at_once);
  if (blocks > waves) blocks = waves;
  void (*kernel)(rows<A, Source>) = loads == 8   ? reduce_rows<8, 1, false, A, Source>
                                    : !even      ? reduce_rows<4, 2, false, A, Source>
                                    : loads == 4 ? reduce_rows<4, 2, true, A, Source>
                                    : loads == 2 ? reduce_rows<2, 4, true, A, Source>
                                                 : reduce_rows<1, 4, true, A, Source>;
  return launch(kernel, problem, blocks, rows_threads<A>, 0, stream);
}

}  // namespace coalesce::detail
