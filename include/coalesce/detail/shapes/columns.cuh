// Columns: the axis whose neighbours lie side by side is kept, another is reduced, or two. Also the middle axes of an
// array: planes of columns. Rows may begin anywhere between two vectors: they are read by whole vectors all the same.
//
// A thread owns a vector of columns and goes down the rows, 8 under way. A block is `across` threads side by side by
// `down` below each other. Where rows begin, between two vectors, repeats after at most as many of them as a vector has
// elements; `down` is a multiple of that, so that a thread's rows all begin alike, and its vectors are always of the
// same columns. (What is not of the row in its first and last vector is read where it is the row before or behind.) In
// the end the threads below each other, each shifted by its rows' beginning, combine in shared memory; `splits` blocks
// share a tile's rows (split_k.cuh). Neighbouring blocks have neighbouring tiles of the same rows, so that a line of
// which both read a part is loaded once.
//
// Two reduced axes: the rows of the second are `outers` groups of `rows_count`, `outer_stride` apart, which is a
// multiple of the stride. A thread then takes other rows of each group, those that begin as its rows of the first do.
//
// Or each `run` neighbouring columns make one result: a short axis that is reduced, too. The block that has a tile's
// columns merges them, so a tile has whole runs.
#pragma once

#include <coalesce/detail/shapes/dense_columns.cuh>
#include <coalesce/detail/shapes/wide_columns.cuh>
#include <coalesce/detail/source.cuh>

namespace coalesce::detail {

template <class A, class Source>
struct columns {
  A accumulator;
  Source in;
  typename A::result* out;
  std::int64_t planes, plane_stride, rows_count, stride, columns_count;
  std::int64_t outers = 1, outer_stride = 0;
  bool dense = true;  // a row's neighbours in memory are the view's
  int run = 1;        // columns of a result
  std::int64_t tiles = 0, rows_of_split = 0;
  int tile = 0, across = 0, down = 0;  // columns of a block; threads
  int outer_shift = 0, last_row = 0;   // modulo down: rows from one group to the next; the last row's number
  split_tree tree = {};
  typename A::state* partials = nullptr;  // [tile][partial result of the tree][column of the tile]
  typename A::state* of_runs = nullptr;   // [tile][column of the tile]
  unsigned int* tickets = nullptr;        // [tile][ticket of the tree]
};

// Threads of a block at most, and blocks of a multiprocessor. Where a block of 256 threads would leave many idle in
// each row, as tiles are no multiple of a warp, one of 320 has a row of any width; large states have no registers for
// that.
template <class A, int Width>
inline constexpr int most_tile_threads = columns_blocks<A, Width> == 3 ? 320 : columns_threads;
template <class A, int Width, int Threads>
inline constexpr int tile_blocks = Threads == columns_threads ? columns_blocks<A, Width> : 2;

// Nested: two axes are reduced.
template <int Width, int Loads, int Threads, bool Nested, class A, class Source>
__global__ void __launch_bounds__(Threads, tile_blocks<A, Width, Threads>)
    reduce_columns(const columns<A, Source> problem) {
  using state_type = typename A::state;
  using element = typename A::element;
  using vector = typename Source::template vector_of<Width>;
  __shared__ states_of_threads<Width, Threads / Width, A> room;
  const A& a = problem.accumulator;
  const std::int64_t outers = Nested ? problem.outers : 1;
  const int run = Nested ? problem.run : 1;
  const int t = static_cast<int>(threadIdx.x), across = problem.across, down = problem.down;
  const int y = t / across, x = t - y * across, splits = problem.tree.splits;
  std::int64_t plane = 0, tile_of_plane = blockIdx.x;
  int split = 0;
  if (problem.planes > 1 || splits > 1) {
    const std::int64_t in_plane = problem.tiles * splits;
    if (problem.planes > 1) plane = divide(tile_of_plane, in_plane);
    tile_of_plane -= plane * in_plane;
    if (splits > 1) split = static_cast<int>(divide(tile_of_plane, problem.tiles));
    tile_of_plane -= split * problem.tiles;
  }
  const std::int64_t tile = plane * problem.tiles + tile_of_plane;
  const std::int64_t first = tile_of_plane * problem.tile, left = problem.columns_count - first;
  const int columns = left < problem.tile ? static_cast<int>(left) : problem.tile;
  // The split's rows, counted through all groups; of the group at hand `row` up to `end`, the first being row `before`.
  const std::int64_t rows_count = problem.rows_count, total = outers * rows_count;
  const std::int64_t split_begin = split * problem.rows_of_split, split_next = split_begin + problem.rows_of_split;
  const std::int64_t split_end = split_next < total ? split_next : total;
  const std::int64_t outer = outers == 1 ? 0 : divide(split_begin, rows_count);
  std::int64_t before = outer * rows_count, base = outer * problem.outer_stride, row = split_begin - before;
  std::int64_t end = split_end - before < rows_count ? split_end - before : rows_count;
  // The first of a group's rows that begins as this thread's do.
  int phase = y;
  if (outers > 1) {
    const std::int64_t shift = outer * problem.outer_shift, skipped = shift + row;
    phase -= static_cast<int>(skipped - divide(skipped, down) * down);
    if (phase < 0) phase += down;
    row += phase;
    phase = y - static_cast<int>(shift - divide(shift, down) * down);
    if (phase < 0) phase += down;
  } else {
    row += y;
  }
  const Source in = problem.in.from(plane * problem.plane_stride + first);
  const int head = in.from(base + row * problem.stride).template head<Width>();
  // The first column of the thread's vectors, and which of them are the row's.
  const int column = x * Width - ((Width - head) & (Width - 1));
  const int begin = first + column < 0 ? -column : 0,
            there = left - column < Width ? static_cast<int>(left - column) : Width;
  const bool takes_part = y < down && column < columns;
  state_type state[Width];
#pragma unroll
  for (int e = 0; e < Width; ++e) state[e] = a.identity();
  // Where a column's elements are among its result's: element (row, column) is row * run + in_run[e].
  int in_run[Width];
#pragma unroll
  for (int e = 0; e < Width; ++e) in_run[e] = run == 1 || column + e < 0 ? 0 : (column + e) % run;
  if (takes_part) {
    // Elements outside the row belong to the row before or behind, but for the view's first and last, or where there
    // are gaps.
    const bool gap = !problem.dense, several = outers > 1;
    const bool has_first = split_begin == 0 && row == 0 && (!several || plane == 0);
    const bool has_last = split_end == total && y == problem.last_row && (!several || plane == problem.planes - 1);
    const bool whole = (begin == 0 || !(gap || has_first)) && (there == Width || !(gap || has_last));
    const std::int64_t step = down * problem.stride;
    std::int64_t at = base + row * problem.stride + column;
    const auto load = [&](vector(&loaded)[Loads], const auto& present) {
      if (whole && !gap) {
#pragma unroll
        for (int k = 0; k < Loads; ++k) {
          forget(at);
          if (present(k)) loaded[k] = in.template fetch_in_lines<Width>(at);
          at += step;
        }
      } else if (whole) {
#pragma unroll
        for (int k = 0; k < Loads; ++k) {
          forget(at);
          if (present(k)) loaded[k] = in.template fetch<Width>(at);
          at += step;
        }
      } else {
#pragma unroll
        for (int k = 0; k < Loads; ++k) {
          forget(at);
          if (present(k)) loaded[k] = in.template fetch_part<Width>(at, begin, there);
          at += step;
        }
      }
    };
    for (;;) {
#pragma unroll 1
      for (; row + (Loads - 1) * down < end; row += Loads * down) {
        vector loaded[Loads];
        load(loaded, [](int) { return true; });
        element rows[Loads][Width];
#pragma unroll
        for (int k = 0; k < Loads; ++k) in.template unpack<Width>(loaded[k], rows[k]);
#pragma unroll
        for (int e = 0; e < Width; ++e) {
          element of_column[Loads];
#pragma unroll
          for (int k = 0; k < Loads; ++k) of_column[k] = rows[k][e];
          a.add(state[e], of_column, positions<1>{(before + row) * run + in_run[e], down * run});
        }
      }
      // The rest of the group and the first rows of the next ones keep as many loads in flight.
      vector rest[Loads] = {};
      std::uint32_t present = 0, number[Loads];  // there are fewer than 2^32
      if (!several) {
        load(rest, [&](int k) { return row + k * down < end; });
#pragma unroll
        for (int k = 0; k < Loads; ++k, row += down) {
          present |= static_cast<std::uint32_t>(row < end) << k;
          number[k] = static_cast<std::uint32_t>(row);
        }
      } else {
        load(rest, [&](int k) {
          while (row >= end && before + rows_count < split_end) {
            before += rows_count;
            base += problem.outer_stride;
            end = split_end - before < rows_count ? split_end - before : rows_count;
            phase -= problem.outer_shift;
            if (phase < 0) phase += down;
            row = phase;
            at = base + row * problem.stride + column;
          }
          const bool there_is = row < end;
          present |= static_cast<std::uint32_t>(there_is) << k;
          number[k] = static_cast<std::uint32_t>(before + row);
          row += down;
          return there_is;
        });
      }
#pragma unroll
      for (int k = 0; k < Loads; ++k) {
        if (present >> k & 1) {
          element one_row[Width];
          in.template unpack<Width>(rest[k], one_row);
#pragma unroll
          for (int e = 0; e < Width; ++e) {
            const element one[1] = {one_row[e]};
            a.add(state[e], one, positions<1>{static_cast<std::int64_t>(number[k]) * run + in_run[e], 0});
          }
        }
      }
      if (!several || present >> (Loads - 1) == 0) break;
    }
  }
  for (int turn = 0; turn < down; ++turn) {
    if (turn == y && takes_part) {
#pragma unroll
      for (int e = 0; e < Width; ++e) {
        const int c = column + e;
        if (c >= 0 && c < columns) {
          if (turn > 0) a.merge(state[e], room.column(c));
          room.put(c % Width, c / Width, state[e]);
        }
      }
    }
    __syncthreads();
  }

  // A result is a column's, or a run's, which follows the tile's columns in `of_runs`.
  const auto write = [&](int c, const state_type& merged) {
    if (run == 1) {
      problem.out[plane * problem.columns_count + first + c] = a.finish(merged, total);
    } else {
      problem.of_runs[tile * problem.tile + c] = merged;
    }
  };
  // The columns are as many apart as a whole tile has columns.
  state_type* const partials =
      problem.partials + tile * problem.tree.partials() * static_cast<std::int64_t>(problem.tile);
  if (t < columns) {
    const state_type merged = room.column(t);
    if (splits == 1) {
      write(t, merged);
    } else {
      partials[static_cast<std::int64_t>(split) * columns + t] = merged;
    }
  }
  const bool has_all = merge_splits<splits_under_way<A>>(
      a, problem.tree, partials, problem.tickets + tile * problem.tree.tickets(), split, columns, room, write);
  if (run == 1 || !has_all) return;
  __syncthreads();
  const state_type* const of_runs = problem.of_runs + tile * problem.tile;
  typename A::result* const out = problem.out + (plane * problem.columns_count + first) / run;
  for (int c = t * run; c < columns; c += Threads * run) {
    state_type merged = of_runs[c];
    for (int i = 1; i < run; ++i) a.merge(merged, of_runs[c + i]);
    out[c / run] = a.finish(merged, total * run);
  }
}

template <int Threads, class A, class Source>
status launch_columns_by(columns<A, Source> problem, const tile_form& form, const device_facts& device,
                         cudaStream_t stream, workspace* work) {
  constexpr int width = columns_width<A, Source>;
  const std::int64_t at_once = loads_of_columns(width * Source::bytes) * form.down;  // rows
  // A split's partial results are to be a small part of what it reads.
  const std::int64_t least = at_once < 128 ? 128 : at_once, rows = problem.rows_count * problem.outers;
  const std::int64_t resident = static_cast<std::int64_t>(device.processors) * tile_blocks<A, width, Threads>;
  // Two blocks of a multiprocessor read a matrix that is far larger than L2 faster than three, if each is long.
  const bool two = form.large && problem.planes * form.tiles < resident;
  const tiling best = tiling_of_columns(problem.planes, form.tiles, rows / least,
                                        two ? static_cast<std::int64_t>(device.processors) * 2 : resident);
  problem.tile = static_cast<int>(ceil_div(problem.columns_count, best.tiles));
  if (form.aligned) problem.tile = ceil_div(problem.tile, width) * width;
  if (problem.run > 1 && problem.tile < problem.columns_count) {  // whole runs, and vectors
    const int unit = form.aligned ? problem.run / common_divisor(problem.run, width) * width : problem.run;
    const int most = (form.across - (form.aligned ? 0 : 1)) * width, next = ceil_div(problem.tile, unit) * unit;
    problem.tile = next <= most ? next : most / unit * unit;
  }
  problem.tiles = ceil_div(problem.columns_count, problem.tile);
  problem.across = form.across;
  problem.down = form.down;
  const int threads = ceil_div(form.across * form.down, 32) * 32;
  const std::int64_t tiles = problem.planes * problem.tiles;
  // (Tiles of whole runs may be a third more: tickets for these, too.)
  const std::int64_t most_splits = problem.run > 1 && tiles * 2 > max_tickets ? 1 : best.splits;
  problem.rows_of_split = ceil_div(ceil_div(rows, most_splits), form.down) * form.down;
  const std::int64_t shift = problem.stride > 0 ? problem.outer_stride / problem.stride : 0;
  problem.outer_shift = static_cast<int>(shift % form.down);
  problem.last_row =
      static_cast<int>(((problem.outers - 1) % form.down * problem.outer_shift + problem.rows_count - 1) % form.down);
  const std::int64_t splits = ceil_div(rows, problem.rows_of_split);
  const std::int64_t bytes = problem.tile * static_cast<std::int64_t>(sizeof(typename A::state));
  problem.tree = tree_of_splits<splits_under_way<A>>(tiles, splits, problem.tile, threads);
  if (const std::int64_t places = problem.tree.partials() + (problem.run > 1 ? 1 : 0); places > 0) {
    if (const status s = find_workspace(stream, device.device, tiles * places * bytes, work); !s) return s;
    problem.of_runs =
        static_cast<typename A::state*>(work->partials()) + tiles * problem.tree.partials() * problem.tile;
    problem.partials = static_cast<typename A::state*>(work->partials());
    problem.tickets = work->tickets();
  }
  const auto by = [&](auto nested) {
    return launch(
        reduce_columns<width, loads_of_columns(width * Source::bytes), Threads, decltype(nested)::value, A, Source>,
        problem, tiles * splits, threads, 0, stream);
  };
  return problem.outers > 1 || problem.run > 1 ? by(std::true_type()) : by(std::false_type());
}

template <class A, class Source>
status launch_columns(const A& a, const Source& in, typename A::result* out, const plan& p, cudaStream_t stream,
                      workspace* work) {
  constexpr int width = columns_width<A, Source>, most = most_tile_threads<A, width>;
  const bool aligned =
      in.template begins_aligned<width>() && (p.planes == 1 || p.plane % width == 0) && p.stride % width == 0;
  device_facts device;
  if (const status s = current_device(device); !s) return s;
  // Far more than fits in L2.
  const bool large =
      p.planes * p.outers * p.rows * p.columns * Source::bytes / device.processors >= tuning::large_share;
  // (Runs: 64 threads side by side, so that any run fits.)
  const tile_form form = form_of_tiles(p.columns, width, aligned, large && p.run == 1, most);
  const columns<A, Source> problem = {a,        in,        out,      p.planes,       p.plane, p.rows,
                                      p.stride, p.columns, p.outers, p.outer_stride, p.dense, p.run};
  if constexpr (most > columns_threads) {
    if (form.across * form.down > columns_threads) return launch_columns_by<most>(problem, form, device, stream, work);
  }
  return launch_columns_by<columns_threads>(problem, form, device, stream, work);
}

}  // namespace coalesce::detail
