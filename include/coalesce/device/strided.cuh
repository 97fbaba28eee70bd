// Everything else: any axes kept and reduced, any strides. Elements are read one by one, their places computed.
//
// A block is `across` results by `down` threads for each; threads whose elements lie closest together are neighbours:
// those of one result where a reduced axis has the smallest stride, those of neighbouring results where a kept one has.
#pragma once

#include "../source.cuh"
#include "launch.cuh"
#include "layout.cuh"

namespace coalesce::detail {

inline constexpr int strided_threads = 256;

// Axes as divisions: the place of index i, in elements and in the order of `index`.
struct axis_map {
  int rank = 0;
  std::int64_t extents[max_rank] = {}, strides[max_rank] = {}, others[max_rank] = {}, indices[max_rank] = {};

  axis_map() = default;
  axis_map(const axis* list, int count) : rank(count) {
    for (int i = 0; i < count; ++i) {
      extents[i] = list[i].extent;
      strides[i] = list[i].stride;
      others[i] = list[i].other;
      indices[i] = list[i].index;
    }
  }
  struct place {
    std::int64_t at, other, index;
  };
  __device__ __forceinline__ place operator()(std::int64_t i) const {
    place result = {0, 0, 0};
    for (int axis = rank - 1; axis >= 0; --axis) {
      const std::int64_t next = axis == 0 ? 0 : divide(i, extents[axis]), here = i - next * extents[axis];
      result.at += here * strides[axis];
      result.other += here * others[axis];
      result.index += here * indices[axis];
      i = next;
    }
    return result;
  }
};

template <class A, class Source>
struct strided {
  A accumulator;
  Source in;
  typename A::result* out;
  std::int64_t kept_count, reduced_count, kept_index, reduced_index, tiles;
  axis_map kept, reduced;
  int across, down, slices;
  bool along_reduced;  // neighbouring threads have elements of one result
  typename A::state* partials;
  unsigned int* tickets;
};

// In constant memory, where an array of a parameter can be indexed; clang copies it to where it can be.
#if defined(__NVCC__)
#define COALESCE_GRID_CONSTANT __grid_constant__
#else
#define COALESCE_GRID_CONSTANT
#endif

template <class A, class Source>
__global__ void __launch_bounds__(strided_threads)
    reduce_strided(const COALESCE_GRID_CONSTANT strided<A, Source> problem) {
  using element = typename A::element;
  using state_type = typename A::state;
  __shared__ planes<state_type, strided_threads> states;
  const A& a = problem.accumulator;
  const int across = problem.across, down = problem.down;
  const int x = problem.along_reduced ? threadIdx.x / down : threadIdx.x % across;
  const int y = problem.along_reduced ? threadIdx.x % down : threadIdx.x / across;
  const int slice = blockIdx.x % problem.slices, tile = blockIdx.x / problem.slices;
  const std::int64_t result = static_cast<std::int64_t>(tile) * across + x;
  const bool there = result < problem.kept_count;
  const axis_map::place kept = problem.kept(there ? result : 0);
  state_type state = a.identity();
  if (there) {
    constexpr int loads = 4;
    const std::int64_t step = static_cast<std::int64_t>(down) * problem.slices;
    for (std::int64_t i = static_cast<std::int64_t>(slice) * down + y; i < problem.reduced_count; i += loads * step) {
      element loaded[loads][1];
      std::int64_t position[loads];
#pragma unroll
      for (int k = 0; k < loads; ++k) {
        if (i + k * step < problem.reduced_count) {
          const axis_map::place reduced = problem.reduced(i + k * step);
          loaded[k][0] = problem.in.at_both(kept.at + reduced.at, kept.other + reduced.other);
          position[k] = problem.reduced_index + reduced.index;
        }
      }
#pragma unroll
      for (int k = 0; k < loads; ++k) {
        if (i + k * step < problem.reduced_count) a.add(state, loaded[k], positions<1>{position[k], 0});
      }
    }
  }
  // By halves: the state of thread (x, y) is in place y * across + x.
  if (problem.along_reduced) {
    // Those of one result are neighbouring lanes: first by shuffles, which is all where 32 of them do it.
    const int lanes = down < 32 ? down : 32;
    state = merge_lanes(a, state, lanes);
    if (y % lanes == 0) states.put(y / lanes * across + x, state);
  } else {
    states.put(y * across + x, state);
  }
  for (int rows = problem.along_reduced ? (down + 31) / 32 : down; rows > 1; rows /= 2) {
    __syncthreads();
    const int i = threadIdx.x;
    if (i < rows / 2 * across) {
      state_type merged = states.get(i);
      a.merge(merged, states.get(i + rows / 2 * across));
      states.put(i, merged);
    }
  }
  __syncthreads();
  const bool writes =
      threadIdx.x < across && static_cast<std::int64_t>(tile) * across + threadIdx.x < problem.kept_count;
  const std::int64_t mine = static_cast<std::int64_t>(tile) * across + threadIdx.x;
  if (writes) state = states.get(threadIdx.x);
  if (problem.slices > 1) {
    state_type* partials = problem.partials + static_cast<std::int64_t>(tile) * problem.slices * across;
    if (writes) partials[slice * across + threadIdx.x] = state;
    if (!last_block(problem.tickets + tile, problem.slices)) return;
    if (writes) {
      state = partials[threadIdx.x];
      for (int s = 1; s < problem.slices; ++s) a.merge(state, partials[s * across + threadIdx.x]);
    }
  }
  if (writes) problem.out[problem.kept_index + problem.kept(mine).index] = a.finish(state, problem.reduced_count);
}

// in: at its view's data; the layout's offsets are added here.
template <class A, class Source>
status launch_strided(const A& a, const Source& in, typename A::result* out, const reduction_layout& layout,
                      cudaStream_t stream, workspace* work) {
  device_facts device;
  if (const status s = current_device(device); !s) return s;
  strided<A, Source> problem = {a,
                                in,
                                out,
                                layout.kept_count,
                                layout.reduced_count,
                                layout.kept_index,
                                layout.reduced_index,
                                1,
                                {layout.kept, layout.kept_rank},
                                {layout.reduced, layout.reduced_rank},
                                1,
                                1,
                                1,
                                false,
                                nullptr,
                                nullptr};
  const auto smallest = [](const axis* list, int rank) {
    return rank == 0 || list[rank - 1].stride == 0 ? INT64_MAX : magnitude(list[rank - 1].stride);
  };
  problem.along_reduced = smallest(layout.reduced, layout.reduced_rank) < smallest(layout.kept, layout.kept_rank);
  // Threads of a result: 32 at most while there are results enough, all of the block for few results.
  const std::int64_t resident = static_cast<std::int64_t>(device.processors) * 8;
  int down = 1;
  const int most = problem.along_reduced || layout.kept_count < resident * 32 ? strided_threads : 1;
  while (down < most && down * 4 < layout.reduced_count &&
         (problem.along_reduced ? down < 32 || ceil_div(layout.kept_count, strided_threads / down) < resident
                                : strided_threads / down > 8 || strided_threads / down > layout.kept_count)) {
    down *= 2;
  }
  problem.down = down;
  problem.across = strided_threads / down;
  problem.tiles = ceil_div(layout.kept_count, problem.across);
  if (problem.tiles < resident && problem.tiles <= max_tickets) {
    std::int64_t slices = resident / problem.tiles;
    const std::int64_t rounds = layout.reduced_count / (8 * problem.down);
    if (slices > rounds) slices = rounds;
    if (slices > 1) problem.slices = static_cast<int>(slices);
  }
  if (problem.slices > 1) {
    const std::int64_t bytes =
        problem.tiles * problem.slices * problem.across * static_cast<std::int64_t>(sizeof(typename A::state));
    if (const status s = find_workspace(stream, device.device, bytes, work); !s) return s;
    problem.partials = static_cast<typename A::state*>(work->partials());
    problem.tickets = work->tickets();
  }
  return launch(reduce_strided<A, Source>, problem, problem.tiles * problem.slices, strided_threads, 0, stream);
}

}  // namespace coalesce::detail
