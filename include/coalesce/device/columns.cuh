// Columns: the axis whose neighbours lie side by side is kept, another is reduced. Also the middle axes of an array:
// planes of columns.
//
// A thread owns a vector of columns and goes down the rows, 4 or 8 rows under way. A block is `across` threads side by
// side and `down` threads below each other; `slices` blocks share a column's rows when there are too few columns to
// fill the device. At the end the block's threads of a column meet in shared memory, and the last block of a tile folds
// the slices in order.
//
// A dense narrow matrix whose rows do not begin at 16-byte boundaries is **folded**: `phases` rows, after which rows
// begin so again, are taken as one row of a matrix with fewer, longer, aligned rows, in which each column appears
// `phases` times.
#pragma once

#include "../source.cuh"
#include "wide_columns.cuh"

namespace coalesce::detail {

inline constexpr int columns_threads = 512;

template <class A, class Source>
struct columns {
  A accumulator;
  Source in;
  typename A::result* out;
  std::int64_t rows_count, stride;  // rows that are reduced, and how far apart they begin
  std::int64_t columns_count;
  std::int64_t plane_stride;  // from one matrix to the next
  std::int64_t tiles;         // of a matrix, side by side
  int across, down, phases;
  bool folded;
  int slices;
  typename A::state* partials;  // [plane][tile][slice][column of the tile]
  unsigned int* tickets;        // [plane][tile]
};

template <class A>
inline constexpr int columns_blocks = shape<A>::state_words <= 8 ? 2 : 1;

// A thread's way down `count` rows `step` elements apart, the first of them at `at`: row `row` of the matrix, the next
// one row_step further. Column e's position in that row's numbering is row * rows_each + row_of[e].
template <int Width, class A, class Source, class State>
__device__ __forceinline__ void walk_columns(const A& a, const Source& in, State (&state)[Width], std::int64_t at,
                                             std::int64_t step, std::int64_t count, std::int64_t row,
                                             std::int64_t row_step, const int (&row_of)[Width], int rows_each) {
  using element = typename A::element;
  constexpr int at_once = Width * Source::bytes == 16 ? 4 : 8;  // 8 of 16 bytes are more than 64 registers hold
#pragma unroll 1
  for (; count >= at_once; count -= at_once) {
    typename Source::template vector_of<Width> loaded[at_once];
#pragma unroll
    for (int r = 0; r < at_once; ++r, at += step) loaded[r] = in.template fetch<Width>(at);
    element rows[at_once][Width];
#pragma unroll
    for (int r = 0; r < at_once; ++r) in.template unpack<Width>(loaded[r], rows[r]);
#pragma unroll
    for (int e = 0; e < Width; ++e) {
      element tile[at_once];
#pragma unroll
      for (int r = 0; r < at_once; ++r) tile[r] = rows[r][e];
      a.add(state[e], tile, positions<1>{row * rows_each + row_of[e], row_step * rows_each});
    }
    if constexpr (A::indexed) row += at_once * row_step;
  }
  typename Source::template vector_of<Width> loaded[at_once - 1];
#pragma unroll
  for (int r = 0; r < at_once - 1; ++r, at += step) {
    if (r < count) loaded[r] = in.template fetch<Width>(at);
  }
#pragma unroll
  for (int r = 0; r < at_once - 1; ++r) {
    if (r < count) {
      element rows[Width];
      in.template unpack<Width>(loaded[r], rows);
#pragma unroll
      for (int e = 0; e < Width; ++e) {
        const element one[1] = {rows[e]};
        a.add(state[e], one, positions<1>{(row + r * row_step) * rows_each + row_of[e], 0});
      }
    }
  }
}

// The states of a block: e of thread t in place e * states_pitch + t. The pitch spreads a thread's Width states over
// the banks, so that 32 neighbouring columns are in 32 of them.
template <int Width>
inline constexpr int states_pitch = columns_threads + 32 / Width;
template <int Width, class A>
using column_states = planes<typename A::state, Width * states_pitch<Width>>;

// Merges rows of threads, row y being threads y * across ... (y + 1) * across - 1, into the first.
template <int Width, class A>
__device__ void fold_rows(const A& a, column_states<Width, A>& states, int used, int across, int rows) {
  while (rows > 1) {
    const int half = (rows + 1) / 2, count = (rows - half) * across;
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < count) {
      for (int e = 0; e < used; ++e) {
        const int i = e * states_pitch<Width> + threadIdx.x;
        typename A::state state = states.get(i);
        a.merge(state, states.get(i + half * across));
        states.put(i, state);
      }
    }
    rows = half;
  }
  __syncthreads();
}

template <int Width, class A, class Source>
__global__ void __launch_bounds__(columns_threads, columns_blocks<A>) reduce_columns(const columns<A, Source> problem) {
  using state_type = typename A::state;
  using element = typename A::element;
  __shared__ column_states<Width, A> states;
  const A& a = problem.accumulator;
  const int across = problem.across, down = problem.down, phases = problem.phases;
  const bool folded = problem.folded;
  const int x = threadIdx.x % across, y = threadIdx.x / across;
  const int slice = blockIdx.x % problem.slices;
  const int plane_tile = blockIdx.x / problem.slices;
  const int plane = plane_tile / static_cast<int>(problem.tiles);
  const int tile = plane_tile - plane * static_cast<int>(problem.tiles);
  const std::int64_t columns_count = problem.columns_count, rows_count = problem.rows_count;
  const Source in = problem.in.from(plane * problem.plane_stride);
  const int head = in.template head<Width>();
  // The columns that the tile gives results for.
  const int usable = folded ? static_cast<int>(columns_count) : across * Width;
  const std::int64_t first_column = folded ? 0 : static_cast<std::int64_t>(tile) * usable;
  state_type state[Width];
#pragma unroll
  for (int e = 0; e < Width; ++e) state[e] = a.identity();
  if (y < down) {
    const std::int64_t row_step = static_cast<std::int64_t>(down) * problem.slices, row = slice * down + y;
    int row_of[Width] = {};
    if (folded) {
      // Row m of the folded matrix begins at element head + m * period; -1 and the last one are there in part.
      const std::int64_t period = columns_count * phases, total = rows_count * columns_count;
      const std::int64_t whole = total > head ? (total - head) / period : 0;
      const int place = x * Width;
      if constexpr (A::indexed) {
#pragma unroll
        for (int e = 0; e < Width; ++e) row_of[e] = (head + place + e) / static_cast<int>(columns_count);
      }
      const std::int64_t mine = row < whole ? divide(whole - row + row_step - 1, row_step) : 0;
      walk_columns<Width>(a, in, state, head + row * period + place, row_step * period, mine, row, row_step, row_of,
                          phases);
      const bool begins = slice == 0 && y == 0, ends = slice == problem.slices - 1 && y == 0;
      if (begins || ends) {
#pragma unroll
        for (int e = 0; e < Width; ++e) {
          const std::int64_t before = head - period + place + e, behind = head + whole * period + place + e;
          if (begins && before >= 0 && before < total) {
            const element one[1] = {in.at(before)};
            a.add(state[e], one, positions<1>{divide(before, columns_count), 0});
          }
          if (ends && behind < total) {
            const element one[1] = {in.at(behind)};
            a.add(state[e], one, positions<1>{divide(behind, columns_count), 0});
          }
        }
      }
    } else {
      const std::int64_t column = first_column + x * Width;
      const std::int64_t at = row * problem.stride + column, step = row_step * problem.stride;
      if (column + Width <= columns_count) {
        const std::int64_t mine = row < rows_count ? divide(rows_count - row + row_step - 1, row_step) : 0;
        walk_columns<Width>(a, in, state, at, step, mine, row, row_step, row_of, 1);
      } else if (column < columns_count) {
        const std::int64_t mine = row < rows_count ? divide(rows_count - row + row_step - 1, row_step) : 0;
        for (std::int64_t r = 0; r < mine; r += 4) {
          element loaded[4][Width];
#pragma unroll
          for (int k = 0; k < 4; ++k) {
#pragma unroll
            for (int e = 0; e < Width; ++e) {
              if (r + k < mine && column + e < columns_count) loaded[k][e] = in.at(at + (r + k) * step + e);
            }
          }
#pragma unroll
          for (int k = 0; k < 4; ++k) {
#pragma unroll
            for (int e = 0; e < Width; ++e) {
              const element one[1] = {loaded[k][e]};
              if (r + k < mine && column + e < columns_count)
                a.add(state[e], one, positions<1>{row + (r + k) * row_step, 0});
            }
          }
        }
      }
    }
#pragma unroll
    for (int e = 0; e < Width; ++e) states.put(e * states_pitch<Width> + threadIdx.x, state[e]);
  }
  fold_rows<Width>(a, states, Width, across, down);
  // Element j of the row of threads.
  const auto state_of = [&](int j) { return states.get(j % Width * states_pitch<Width> + j / Width); };

  const std::int64_t left = columns_count - first_column;
  const int here = left < usable ? static_cast<int>(left) : usable;
  const std::int64_t result = plane * columns_count + first_column;
  const bool alone = problem.slices == 1;
  // Each slice's partial results lie `usable` apart.
  state_type* partials =
      alone ? nullptr : problem.partials + static_cast<std::int64_t>(plane_tile) * problem.slices * usable;
  // A folded matrix's row of threads begins `head` elements behind the first column.
  const int turned = folded ? head % usable : 0;
  for (int place = threadIdx.x; place < here; place += columns_threads) {
    state_type merged = state_of(place);
    if (folded) {
      for (int copy = 1; copy < phases; ++copy) a.merge(merged, state_of(place + copy * usable));
    }
    const int c = place + turned < usable ? place + turned : place + turned - usable;
    if (alone) {
      problem.out[result + c] = a.finish(merged, rows_count);
    } else {
      partials[slice * static_cast<std::int64_t>(usable) + c] = merged;
    }
  }
  if (alone || !last_block(problem.tickets + plane_tile, problem.slices)) return;

  // As many threads to a column as there are; then again by halves.
  const int teams = here < columns_threads ? columns_threads / here : 1;
  for (int first = 0; first < here; first += columns_threads) {
    const int wide = here - first < columns_threads ? here - first : columns_threads;
    const int c = threadIdx.x % wide, team = threadIdx.x / wide;
    if (team < teams) {
      states.put(threadIdx.x, merge_partials(a, partials + first + c, team, problem.slices, teams, usable));
    }
    fold_rows<Width>(a, states, 1, wide, teams);
    if (threadIdx.x < wide) problem.out[result + first + threadIdx.x] = a.finish(states.get(threadIdx.x), rows_count);
    __syncthreads();
  }
}

// Vectors of one row of a folded matrix.
template <int Width>
std::int64_t period_of_columns(std::int64_t columns_count) {
  return columns_count / common_divisor(columns_count, Width);
}
template <int Width>
bool columns_fold(std::int64_t rows_count, std::int64_t stride, std::int64_t columns_count) {
  const std::int64_t period = period_of_columns<Width>(columns_count);
  return stride == columns_count && period <= 128 && (rows_count >= 64 || period * Width < 256);
}
template <int Width, class Source>
bool columns_begin_aligned(const Source& in, std::int64_t planes, std::int64_t plane_stride, std::int64_t stride) {
  return in.template begins_aligned<Width>() && (planes == 1 || plane_stride % Width == 0) && stride % Width == 0;
}
// Whether there are so many columns (or vectors of them) that each can have a thread of its own: `resident` fit at
// once.
inline bool a_thread_each(std::int64_t columns, std::int64_t rows_count, std::int64_t resident) {
  const std::int64_t rounds = ceil_div(columns, resident);
  return rows_count <= 8 || rounds >= 8 || columns * 10 >= rounds * resident * 9;
}
template <class A, class Source>
status launch_columns(const A& a, const Source& in, typename A::result* out, std::int64_t planes,
                      std::int64_t plane_stride, std::int64_t rows_count, std::int64_t stride,
                      std::int64_t columns_count, cudaStream_t stream, workspace* work) {
  constexpr int width = vector_of_states<A, Source>;
  status result;
  if (launch_long_columns<A, Source>({a, in, out, planes, plane_stride, rows_count, stride, columns_count}, stream,
                                     work, result)) {
    return result;
  }
  device_facts device;
  if (const status s = current_device(device); !s) return s;
  columns<A, Source> problem = {a, in, out, rows_count, stride, columns_count, plane_stride, 1,
                                1, 1,  1,   false,      1,      nullptr,       nullptr};
  const std::int64_t resident = static_cast<std::int64_t>(device.processors) * columns_blocks<A>;
  const std::int64_t period = period_of_columns<width>(columns_count);
  problem.folded = columns_fold<width>(rows_count, stride, columns_count);
  const bool aligned = columns_begin_aligned<width>(in, planes, plane_stride, stride);
  if (!problem.folded && !aligned) {
    return launch_wide_columns(a, in, out, planes, plane_stride, rows_count, stride, columns_count, stream, work);
  }
  if (aligned && columns_count >= 2 * width && columns_count % width == 0 &&
      a_thread_each(planes * columns_count / width, rows_count, resident * columns_threads)) {
    return launch_wide_columns(a, in, out, planes, plane_stride, rows_count, stride, columns_count, stream, work);
  }
  double share = 0;
  std::int64_t slices = 1;
  if (problem.folded) {
    problem.phases = width / common_divisor(columns_count, width);
    problem.across = static_cast<int>(period);
    problem.down = columns_threads / problem.across;
    // Whole sectors to a row of threads, or to two.
    if (problem.across % 2 == 1 && problem.down > 1) problem.down &= ~1;
    slices = slices_of_tiles(planes, planes <= max_tickets ? rows_count / problem.phases / (16 * problem.down) : 1,
                             resident, share);
  } else {
    const std::int64_t vectors = ceil_div(columns_count, width);
    // The number of threads below each other with which the blocks fill the device best.
    for (int wish = 16; wish >= 2; wish /= 2) {
      const int most = columns_threads / wish;
      std::int64_t tiles = ceil_div(vectors, most);
      // Tiles of equal size, in whole sectors.
      int across = static_cast<int>(ceil_div(ceil_div(vectors, tiles), 2)) * 2;
      if (across > most) across = most;
      tiles = ceil_div(vectors, across);
      const int down = columns_threads / across;
      double here = 0;
      const std::int64_t parts =
          slices_of_tiles(planes * tiles, planes * tiles <= max_tickets ? rows_count / (16 * down) : 1, resident, here);
      if (problem.across == 1 || here > share + 0.01) {
        problem.across = across;
        problem.down = down;
        problem.tiles = tiles;
        slices = parts;
        share = here;
      }
    }
  }
  problem.slices = static_cast<int>(slices);
  const std::int64_t tiles = planes * problem.tiles;
  if (tiles > 0x7fffffff) return refuse("more results than one launch can have: split the call");
  if (problem.slices > 1) {
    const std::int64_t bytes =
        tiles * problem.slices * problem.across * width * static_cast<std::int64_t>(sizeof(typename A::state));
    if (const status s = find_workspace(stream, device.device, bytes, work); !s) return s;
    problem.partials = static_cast<typename A::state*>(work->partials());
    problem.tickets = work->tickets();
  }
  return launch(reduce_columns<width, A, Source>, problem, tiles * problem.slices, columns_threads, 0, stream);
}

}  // namespace coalesce::detail
