// Columns of a narrow matrix without gaps, which is one array: read as one, in whole lines, wherever its rows begin.
//
// A **period** is the fewest vectors in which rows begin alike again; so many vectors further on a thread finds the
// same columns. A block has a multiple of that many threads at work, of lines where it can, and each of them a state
// for each element of a vector. `splits` blocks take the array's tiles in turn.
//
// At the end the threads of a column combine in shared memory, and the splits as split_k.cuh says.
#pragma once

#include <coalesce/detail/shapes/split_k.cuh>
#include <coalesce/detail/source.cuh>

namespace coalesce::detail {

inline constexpr int columns_threads = 256;  // here and in columns.cuh
// One large matrix takes one block a multiprocessor, each thread with 256 bytes in flight.
inline constexpr int large_threads = 512;
// The same of small states where so many threads read whole lines and 512 do not: 1000 columns of floats. (The states
// of 16 bytes in a vector would be 64 KB of shared memory; of smaller elements it has not been measured.)
inline constexpr int largest_threads = 1024;
template <class A, int Width>
inline constexpr bool fits_largest = shape<A>::state_words <= 2 && Width <= 4;

template <class A, class Source>
struct dense_columns {
  A accumulator;
  Source in;
  typename A::result* out;
  std::int64_t rows_count, columns_count;
  std::int64_t plane_stride;  // from one matrix to the next
  int period, working;        // vectors; threads of a block
  split_tree tree;
  typename A::state* partials;  // [plane][partial result of the tree][column]
  unsigned int* tickets;        // [plane][ticket of the tree]
};

// The elements of a vector, of which a thread has that many states.
template <class A, class Source>
inline constexpr int columns_width = states_in_vector<A, Source>(128);
template <class A, int Width>
inline constexpr int columns_blocks = shape<A>::state_words * Width <= 16 ? 3 : 2;
// Under way: 128 bytes of a thread, or 16 loads.
__host__ __device__ constexpr int loads_of_columns(int bytes) {
  return bytes >= 32 ? 4 : bytes <= 8 ? 16 : 128 / bytes;
}

// Partial results that a thread has under way.
template <class A, int Threads>
inline constexpr int columns_under_way = Threads == largest_threads ? 12 : splits_under_way<A>;

template <int Width, int Loads, int Threads, class A, class Source>
__global__ void __launch_bounds__(Threads, Threads >= large_threads ? 1 : columns_blocks<A, Width>)
    reduce_dense_columns(const dense_columns<A, Source> problem) {
  using state_type = typename A::state;
  using element = typename A::element;
  using vector = typename Source::template vector_of<Width>;
  using room_type = states_of_threads<Width, Threads == largest_threads ? Threads / 2 : columns_threads, A>;
  static_assert(sizeof(room_type) <= 47 * 1024, "ptxas takes 48 KB of shared memory, clang any");
  __shared__ room_type room;
  const A& a = problem.accumulator;
  const int t = static_cast<int>(threadIdx.x), working = problem.working, period = problem.period;
  const int splits = problem.tree.splits, columns = static_cast<int>(problem.columns_count);
  const int plane = static_cast<int>(blockIdx.x) / splits, split = static_cast<int>(blockIdx.x) - plane * splits;
  const Source in = problem.in.from(plane * problem.plane_stride);
  const int head = in.template head<Width>();
  const std::int64_t total = problem.rows_count * columns;
  const std::int64_t vectors = total > head ? (total - head) / Width : 0;
  // Rows of the matrix that a block's threads read at once.
  const int rows = working * Width / columns;
  state_type state[Width];
#pragma unroll
  for (int e = 0; e < Width; ++e) state[e] = a.identity();
  if (t < working) {
    int row_of[Width] = {};
    if constexpr (A::indexed) {
#pragma unroll
      for (int e = 0; e < Width; ++e) row_of[e] = (head + t * Width + e) / columns;
    }
    const std::int64_t turn = static_cast<std::int64_t>(splits) * Loads, step = working;
    std::int64_t m = static_cast<std::int64_t>(split) * Loads;
    const int row_step = rows;
    std::int64_t at = m * working + t;
#pragma unroll 1
    for (; at + (Loads - 1) * step < vectors; at += turn * working, m += turn) {
      vector loaded[Loads];
#pragma unroll
      for (int k = 0; k < Loads; ++k) {
        const std::int64_t place = head + (at + k * step) * Width;
        loaded[k] =
            Threads == largest_threads ? in.template fetch<Width>(place) : in.template fetch_in_lines<Width>(place);
      }
      element tile_of[Loads][Width];
#pragma unroll
      for (int k = 0; k < Loads; ++k) in.template unpack<Width>(loaded[k], tile_of[k]);
#pragma unroll
      for (int e = 0; e < Width; ++e) {
        element tile[Loads];
#pragma unroll
        for (int k = 0; k < Loads; ++k) tile[k] = tile_of[k][e];
        a.add(state[e], tile, positions<1>{m * rows + row_of[e], row_step});
      }
    }
    vector rest[Loads] = {};
#pragma unroll
    for (int k = 0; k < Loads; ++k) {
      if (at + k * step < vectors) rest[k] = in.template fetch<Width>(head + (at + k * step) * Width);
    }
#pragma unroll
    for (int k = 0; k < Loads; ++k) {
      if (at + k * step < vectors) {
        element one_of[Width];
        in.template unpack<Width>(rest[k], one_of);
#pragma unroll
        for (int e = 0; e < Width; ++e) {
          const element one[1] = {one_of[e]};
          a.add(state[e], one, positions<1>{m * rows + row_of[e] + k * row_step, 0});
        }
      }
    }
    // Elements before the first vector belong to the period's last one, those behind the last one to the next.
    if (split == 0 && (t == period - 1 || t == static_cast<int>(vectors % period))) {
#pragma unroll
      for (int e = 0; e < Width; ++e) {
        const std::int64_t before = head - Width + e, behind = head + vectors * Width + e;
        if (t == period - 1 && before >= 0 && before < total) {
          const element one[1] = {in.at(before)};
          a.add(state[e], one, positions<1>{divide(before, columns), 0});
        }
        if (t == static_cast<int>(vectors % period) && behind < total) {
          const element one[1] = {in.at(behind)};
          a.add(state[e], one, positions<1>{divide(behind, columns), 0});
        }
      }
    }
  }
  fold_rows(a, state, room, period, working / period);
  if (t < period) {
#pragma unroll
    for (int e = 0; e < Width; ++e) room.put(e, t, state[e]);
  }
  __syncthreads();

  typename A::result* const out = problem.out + static_cast<std::int64_t>(plane) * columns;
  state_type* const partials = problem.partials + static_cast<std::int64_t>(plane) * problem.tree.partials() * columns;
  for (int place = t; place < columns; place += Threads) {
    // The row of threads has each column once for each of the rows in a period.
    state_type merged = room.column(place);
    for (int j = place + columns; j < period * Width; j += columns) a.merge(merged, room.column(j));
    const int c = (place + head) % columns;
    if (splits == 1) {
      out[c] = a.finish(merged, problem.rows_count);
    } else {
      partials[static_cast<std::int64_t>(split) * columns + c] = merged;
    }
  }
  merge_splits<columns_under_way<A, Threads>>(
      a, problem.tree, partials, problem.tickets + plane * problem.tree.tickets(), split, columns, room,
      [&](int c, const state_type& merged) { out[c] = a.finish(merged, problem.rows_count); });
}

// Blocks of so many threads.
template <int Threads, class A, class Source>
status launch_dense_columns_by(const A& a, const Source& in, typename A::result* out, const plan& p,
                               cudaStream_t stream, workspace* work) {
  constexpr int width = columns_width<A, Source>;
  device_facts device;
  if (const status s = current_device(device); !s) return s;
  const int period = static_cast<int>(period_of_columns(p.columns, width));
  dense_columns<A, Source> problem = {a, in, out, p.rows, p.columns, p.plane, period, 0, {}, nullptr, nullptr};
  problem.working = lines_of_columns(period, width * Source::bytes, Threads);
  if (problem.working == 0) problem.working = Threads / period * period;
  const std::int64_t vectors = p.rows * p.columns / width;
  const std::int64_t resident =
      static_cast<std::int64_t>(device.processors) * (Threads >= large_threads ? 1 : columns_blocks<A, width>);
  const std::int64_t most = p.planes <= max_tickets ? vectors / (16 * problem.working) : 1;
  const std::int64_t splits = tiling_of_columns(p.planes, 1, most < 1 ? 1 : most, resident).splits;
  if (p.planes > 0x7fffffff) return refuse("more results than one launch can have: split the call");
  const std::int64_t bytes = p.columns * static_cast<std::int64_t>(sizeof(typename A::state));
  problem.tree = tree_of_splits<columns_under_way<A, Threads>>(p.planes, splits, p.columns, Threads);
  if (splits > 1) {
    if (const status s = find_workspace(stream, device.device, p.planes * problem.tree.partials() * bytes, work); !s)
      return s;
    problem.partials = static_cast<typename A::state*>(work->partials());
    problem.tickets = work->tickets();
  }
  constexpr int loads = loads_of_columns(width * Source::bytes) * (Threads == large_threads ? 2 : 1);
  return launch(reduce_dense_columns<width, loads, Threads, A, Source>, problem, p.planes * splits, Threads, 0, stream);
}

template <class A, class Source>
status launch_dense_columns(const A& a, const Source& in, typename A::result* out, const plan& p, cudaStream_t stream,
                            workspace* work) {
  if constexpr (fits_largest<A, columns_width<A, Source>>) {
    if (p.threads == largest_threads) return launch_dense_columns_by<largest_threads>(a, in, out, p, stream, work);
  }
  return p.threads == large_threads ? launch_dense_columns_by<large_threads>(a, in, out, p, stream, work)
                                    : launch_dense_columns_by<columns_threads>(a, in, out, p, stream, work);
}

}  // namespace coalesce::detail
