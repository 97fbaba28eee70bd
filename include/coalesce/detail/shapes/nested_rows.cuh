// Rows of two reduced axes: a result is of `outers` rows of `count` neighbouring elements, which lie apart and may
// begin anywhere. A group of lanes has a row and takes every so manieth of them; lanes of all groups have the same
// result, so that what they merge they merge once.
//
// A result is a block's or, where results are many and small, that of 1 to 32 lanes. `splits` blocks share one, each
// with its rows; the last of them merges (fold.cuh).
#pragma once

#include <coalesce/detail/block/launch.cuh>
#include <coalesce/detail/block/read_run.cuh>

namespace coalesce::detail {

template <class A, class Source>
struct nested_rows {
  A accumulator;
  Source in;
  typename A::result* out;
  std::int64_t results, outers, outer_stride, count;
  row_map map;  // result -> offset of its first element
  std::int64_t outers_of_split;
  int splits, lanes;            // of a row: a power of two up to 32
  int team;                     // threads of a result: a power of two from `lanes` to 32, or a block
  typename A::state* partials;  // [result][split]
  unsigned int* tickets;        // [result]
};

inline constexpr int nested_rows_threads = 256;

// Short: up to 64 vectors, two for a lane, four rows at once. Else rows of any length, 8 vectors of one row at once.
template <bool Short, class A, class Source>
__global__ void __launch_bounds__(nested_rows_threads, shape<A>::blocks_per_processor)
    reduce_nested_rows(const nested_rows<A, Source> problem) {
  constexpr int width = Source::width, threads = nested_rows_threads;
  using element = typename A::element;
  const A& a = problem.accumulator;
  const int lanes = problem.lanes, lane = threadIdx.x & (lanes - 1);
  const int team = problem.team, member = threadIdx.x & (team - 1), groups = team / lanes;
  const std::int64_t block = blockIdx.x, count = problem.count;
  const std::int64_t split = team == threads ? divide(block, problem.results) : 0;
  const std::int64_t mine = team == threads ? block - split * problem.results : (block * threads + threadIdx.x) / team;
  const bool there = mine < problem.results;
  const std::int64_t result = there ? mine : 0, begin = split * problem.outers_of_split;
  const std::int64_t next = there ? begin + problem.outers_of_split : begin;
  const std::int64_t end = next < problem.outers ? next : problem.outers;
  const Source in = problem.in.from(problem.map(result));
  typename A::state state = a.identity();
  if constexpr (Short) {
    constexpr int rows = 4, loads = 2;
#pragma unroll 1
    for (std::int64_t outer = begin + member / lanes; outer < end; outer += rows * groups) {
      typename Source::template vector_of<> loaded[rows][loads] = {};
      int head[rows], vectors[rows];
      element edge[rows] = {};
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        const std::int64_t row_of = outer + r * groups;
        head[r] = vectors[r] = 0;
        if (row_of < end) {
          const Source row = in.from(row_of * problem.outer_stride);
          head[r] = row.head();
          if (head[r] > count) head[r] = static_cast<int>(count);
          vectors[r] = static_cast<int>(count - head[r]) / width;
          const int at = lane < head[r] ? lane : lane + vectors[r] * width;
          if (at < count) edge[r] = row.at(at);
#pragma unroll
          for (int k = 0; k < loads; ++k) {
            if (lane + k * lanes < vectors[r]) loaded[r][k] = row.fetch(head[r] + (lane + k * lanes) * width);
          }
        }
      }
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        const std::int64_t row_of = outer + r * groups, position = row_of * count;
        if (lane + lanes < vectors[r]) {
          element tile[loads * width];
#pragma unroll
          for (int k = 0; k < loads; ++k) in.unpack(loaded[r][k], tile + k * width);
          a.add(state, tile, positions<width>{position + head[r] + lane * width, lanes * width});
        } else if (lane < vectors[r]) {
          element tile[width];
          in.unpack(loaded[r][0], tile);
          a.add(state, tile, positions<width>{position + head[r] + lane * width, 0});
        }
        const int inside = vectors[r] * width, single = row_of < end ? static_cast<int>(count) - inside : 0;
        if (lane < single) {
          const element one[1] = {edge[r]};
          a.add(state, one, positions<1>{position + (lane < head[r] ? lane : lane + inside), 0});
        }
#pragma unroll 1
        for (int i = lane + lanes; i < single; i += lanes) {  // more than a group has lanes: small elements
          const int at = i < head[r] ? i : i + inside;
          const element one[1] = {in.from(row_of * problem.outer_stride).at(at)};
          a.add(state, one, positions<1>{position + at, 0});
        }
      }
    }
  } else {
#pragma unroll 1
    for (std::int64_t outer = begin + member / lanes; outer < end; outer += groups) {
      const std::int64_t position = outer * count;
      read_run<8, 32>(
          in.from(outer * problem.outer_stride), count, lane, lanes, [](auto&...) {},
          [&](const auto& tile, auto at) {
            at.first += position;
            a.add(state, tile, at);
          });
    }
    __syncwarp();
  }
  if (team < threads) {
    state = merge_lanes(a, state, team);
    if (member == 0 && there) problem.out[result] = a.finish(state, problem.outers * count);
    return;
  }
  state = fold_block<threads>(a, state);
  if (problem.splits > 1) {
    typename A::state* const partials = problem.partials + result * problem.splits;
    if (threadIdx.x == 0) partials[split] = state;
    if (!last_block(problem.tickets + result, problem.splits)) return;
    state = fold_block<threads>(a, merge_partials(a, partials, threadIdx.x, problem.splits, threads, 1));
  }
  if (threadIdx.x == 0) problem.out[result] = a.finish(state, problem.outers * count);
}

template <class A, class Source>
status launch_nested_rows(const A& a, const Source& in, typename A::result* out, std::int64_t results,
                          const row_map& map, const plan& p, cudaStream_t stream, workspace* work) {
  device_facts device;
  if (const status s = current_device(device); !s) return s;
  const std::int64_t vectors = ceil_div(p.count, Source::width), bytes = p.outers * p.count * Source::bytes;
  const bool is_short = vectors <= 64;
  int lanes = is_short ? 1 : 32;
  while (lanes < 32 && lanes * 2 < vectors) lanes *= 2;
  const std::int64_t resident = static_cast<std::int64_t>(device.processors) * shape<A>::blocks_per_processor;
  int team = nested_rows_threads;
  std::int64_t splits = 1;
  if (bytes <= 32768 && results >= 8 * resident) {
    team = lanes;  // as many as have all of it under way at once
    while (team < 32 && team / lanes * 4 < p.outers) team *= 2;
  } else {
    const std::int64_t groups = nested_rows_threads / lanes, most_by_bytes = bytes / 65536;
    std::int64_t most = p.outers / groups;
    if (most > most_by_bytes) most = most_by_bytes;
    double share = 0;
    splits = splits_of_tiles(results, results <= max_tickets ? most : 1, resident, share, 16);
  }
  nested_rows<A, Source> problem = {
      a, in,    out,  results, p.outers, p.outer_stride, p.count, map, ceil_div(p.outers, splits),
      0, lanes, team, nullptr, nullptr};
  problem.splits = static_cast<int>(ceil_div(p.outers, problem.outers_of_split));
  if (problem.splits > 1) {
    const std::int64_t room = results * problem.splits * static_cast<std::int64_t>(sizeof(typename A::state));
    if (const status s = find_workspace(stream, device.device, room, work); !s) return s;
    problem.partials = static_cast<typename A::state*>(work->partials());
    problem.tickets = work->tickets();
  }
  const std::int64_t blocks =
      team < nested_rows_threads ? ceil_div(results, nested_rows_threads / team) : results * problem.splits;
  return launch(is_short ? reduce_nested_rows<true, A, Source> : reduce_nested_rows<false, A, Source>, problem, blocks,
                nested_rows_threads, 0, stream);
}

}  // namespace coalesce::detail
