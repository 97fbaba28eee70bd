// Columns: the axis whose neighbours lie side by side is kept, another is reduced. Also the middle axes of an array:
// planes of columns. Rows may begin anywhere between two vectors: they are read by whole vectors all the same.
//
// A thread owns a vector of columns and goes down the rows, 8 under way. A block is `across` threads side by side by
// `down` below each other. Where rows begin, between two vectors, repeats after at most as many of them as a vector has
// elements; `down` is a multiple of that, so that a thread's rows all begin alike, and its vectors are always of the
// same columns. (What is not of the row in its first and last vector is read where it is the row before or behind.) In
// the end the threads below each other, each shifted by its rows' beginning, combine in shared memory; `splits` blocks
// share a tile's rows (split_k.cuh).
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
  std::int64_t tiles = 0, rows_of_split = 0;
  int tile = 0, across = 0;  // columns of a block: where rows are shifted, a thread's last vector may be the next one's
  split_tree tree = {};
  typename A::state* partials = nullptr;  // [tile][partial result of the tree][column of the tile]
  unsigned int* tickets = nullptr;        // [tile][ticket of the tree]
};

template <int Width, int Loads, class A, class Source>
__global__ void __launch_bounds__(columns_threads, columns_blocks<A, Width>)
    reduce_columns(const columns<A, Source> problem) {
  using state_type = typename A::state;
  using element = typename A::element;
  using vector = typename Source::template vector_of<Width>;
  __shared__ states_of_threads<Width, columns_threads / Width, A> room;
  const A& a = problem.accumulator;
  const int t = static_cast<int>(threadIdx.x), across = problem.across, down = columns_threads / across;
  const int x = t % across, y = t / across, splits = problem.tree.splits;
  const std::int64_t tile = blockIdx.x / splits, plane = problem.planes == 1 ? 0 : divide(tile, problem.tiles);
  const int split = static_cast<int>(blockIdx.x - tile * splits);
  const std::int64_t first = (tile - plane * problem.tiles) * problem.tile;
  const std::int64_t left = problem.columns_count - first;
  const int columns = left < problem.tile ? static_cast<int>(left) : problem.tile;
  std::int64_t row = split * problem.rows_of_split + y;
  const std::int64_t split_end = (split + 1) * problem.rows_of_split;
  const std::int64_t end = split_end < problem.rows_count ? split_end : problem.rows_count;
  const Source in = problem.in.from(plane * problem.plane_stride + first);
  const int head = in.from(row * problem.stride).template head<Width>();
  // The first column of the thread's vectors, and which of them are the row's.
  const int column = x * Width - ((Width - head) & (Width - 1));
  const int begin = first + column < 0 ? -column : 0,
            there = left - column < Width ? static_cast<int>(left - column) : Width;
  const bool wanted = column < columns;
  state_type state[Width];
#pragma unroll
  for (int e = 0; e < Width; ++e) state[e] = a.identity();
  if (wanted) {
    // What is not the row's is the row's before or behind, but for the first and the last, or where there are gaps.
    const bool gap = problem.stride != problem.columns_count;
    const bool whole = (begin == 0 || !(gap || row == 0)) &&
                       (there == Width || !(gap || (end == problem.rows_count && (end - 1 - row) % down == 0)));
    const std::int64_t step = down * problem.stride;
    std::int64_t at = row * problem.stride + column;
    const auto load = [&](vector(&loaded)[Loads], const auto& present) {
      if (whole && !gap) {
#pragma unroll
        for (int k = 0; k < Loads; ++k, at += step) {
          forget(at);
          if (present(k)) loaded[k] = in.template fetch_in_lines<Width>(at);
        }
      } else if (whole) {
#pragma unroll
        for (int k = 0; k < Loads; ++k, at += step) {
          forget(at);
          if (present(k)) loaded[k] = in.template fetch<Width>(at);
        }
      } else {
#pragma unroll
        for (int k = 0; k < Loads; ++k, at += step) {
          forget(at);
          if (present(k)) loaded[k] = in.template fetch_part<Width>(at, begin, there);
        }
      }
    };
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
        a.add(state[e], of_column, positions<1>{row, down});
      }
    }
    vector rest[Loads] = {};
    const auto present = [&](int k) { return row + k * down < end; };
    load(rest, present);
#pragma unroll
    for (int k = 0; k < Loads; ++k) {
      if (present(k)) {
        element one_row[Width];
        in.template unpack<Width>(rest[k], one_row);
#pragma unroll
        for (int e = 0; e < Width; ++e) {
          const element one[1] = {one_row[e]};
          a.add(state[e], one, positions<1>{row + k * down, 0});
        }
      }
    }
  }
  for (int turn = 0; turn < down; ++turn) {
    if (turn == y && wanted) {
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

  typename A::result* const out = problem.out + plane * problem.columns_count + first;
  const auto write = [&](int c, const state_type& merged) { out[c] = a.finish(merged, problem.rows_count); };
  // As many apart as a whole tile has columns.
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
  merge_splits<splits_under_way<A>>(a, problem.tree, partials, problem.tickets + tile * problem.tree.tickets(), split,
                                    columns, room, write);
}

template <class A, class Source>
status launch_tiles_of_columns(columns<A, Source> problem, cudaStream_t stream, workspace* work) {
  constexpr int width = columns_width<A, Source>;
  device_facts device;
  if (const status s = current_device(device); !s) return s;
  const bool aligned =
      columns_in_vectors<width, A>(problem.in, problem.planes, problem.plane_stride, problem.stride, width);
  // As wide as the matrix needs, but room for all the beginnings of rows.
  problem.across = columns_threads / (width < 4 ? 4 : width);
  const auto widest = [&](int across) { return (across - (aligned ? 0 : 1)) * width; };
  while (problem.across > 8 && widest(problem.across / 2) >= problem.columns_count) problem.across /= 2;
  const std::int64_t together = loads_of_columns(width * Source::bytes) * (columns_threads / problem.across);  // rows
  // A split's partial results are to be a small part of what it reads.
  const std::int64_t least = together < 128 ? 128 : together;
  const std::int64_t resident = static_cast<std::int64_t>(device.processors) * columns_blocks<A, width>;
  const std::int64_t fewest = ceil_div(problem.columns_count, widest(problem.across));
  // Of a matrix that is far larger than L2 two blocks of a multiprocessor read faster than three, if each is long.
  const bool large = problem.planes * problem.rows_count * problem.columns_count * Source::bytes >= 128 << 20;
  const tiling best = tiling_of_columns(
      problem.planes, fewest, problem.rows_count / least,
      large && problem.planes * fewest < resident ? static_cast<std::int64_t>(device.processors) * 2 : resident);
  problem.tiles = best.tiles;
  problem.tile = static_cast<int>(ceil_div(problem.columns_count, best.tiles));
  if (aligned) problem.tile = ceil_div(problem.tile, width) * width;
  problem.tiles = ceil_div(problem.columns_count, problem.tile);
  const std::int64_t tiles = problem.planes * problem.tiles;
  const std::int64_t down = columns_threads / problem.across;
  problem.rows_of_split = ceil_div(ceil_div(problem.rows_count, best.splits), down) * down;
  const std::int64_t splits = ceil_div(problem.rows_count, problem.rows_of_split);
  const std::int64_t bytes = problem.tile * static_cast<std::int64_t>(sizeof(typename A::state));
  problem.tree = tree_of_splits<splits_under_way<A>>(tiles, splits, problem.tile, columns_threads);
  if (splits > 1) {
    if (const status s = find_workspace(stream, device.device, tiles * problem.tree.partials() * bytes, work); !s) {
      return s;
    }
    problem.partials = static_cast<typename A::state*>(work->partials());
    problem.tickets = work->tickets();
  }
  return launch(reduce_columns<width, loads_of_columns(width * Source::bytes), A, Source>, problem, tiles * splits,
                columns_threads, 0, stream);
}

template <class A, class Source>
status launch_columns(const A& a, const Source& in, typename A::result* out, std::int64_t planes,
                      std::int64_t plane_stride, std::int64_t rows_count, std::int64_t stride,
                      std::int64_t columns_count, cudaStream_t stream, workspace* work) {
  device_facts device;
  if (const status s = current_device(device); !s) return s;
  if (rows_count > most_few_rows && columns_are_dense<A, Source>(planes, rows_count, stride, columns_count, device)) {
    return launch_dense_columns(a, in, out, planes, plane_stride, rows_count, columns_count, stream, work, device);
  }
  status result;
  const wide_columns<A, Source> wide = {a, in, out, planes, plane_stride, rows_count, stride, columns_count};
  if (launch_long_columns(wide, stream, work, result) || launch_wide_columns(wide, stream, work, result)) return result;
  return launch_tiles_of_columns(
      columns<A, Source>{a, in, out, planes, plane_stride, rows_count, stride, columns_count}, stream, work);
}

}  // namespace coalesce::detail
