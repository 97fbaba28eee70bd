// Ragged segments: segment s is elements offsets[s] ... offsets[s + 1] - 1, of any length, also none.
//
// Work is dealt out by what there is to do and not by segments: a unit is an element, or the end of a segment, in the
// order in which one meets them going through the array. All warps get equally many units, whatever the segments are
// (a merge path: Odeh, Green, Mwassi, Shmueli, Birk 2012), and each goes through its own for itself
// (segments_walk.cuh). What a warp leaves open is put together by its block, and what a block leaves open by the last
// block to end, in order.
#pragma once

#include "segments_walk.cuh"

namespace coalesce::detail {

inline constexpr int segments_threads = 128;
inline constexpr int segments_warps = segments_threads / 32;
// On a multiprocessor: what shared memory allows, and registers.
template <class A>
inline constexpr int segments_blocks = shape<A>::state_words <= 4 ? 5 : 4;

// Offsets: a pointer, or what gives an offset for an index.
template <class A, class Source, class Offsets>
struct segments {
  A accumulator;
  Source in;
  Offsets offsets;
  std::int64_t count;  // of segments
  typename A::result* out;
  segments_left<typename A::state>* left;  // one for each block
  unsigned int* ticket;
};

// A state in a segmented scan: `ended` says that a segment ended in the range it stands for, and state is what came
// after.
template <class State>
struct open_state {
  State state;
  bool ended;
};

template <class A, class State>
__device__ __forceinline__ void go_on(const A& a, open_state<State>& before, const open_state<State>& next) {
  if (next.ended) {
    before = next;
  } else {
    a.merge(before.state, next.state);
  }
}

// What is open before each thread: of the threads before it, and of `carry`, which is before them all. `carry` then is
// what is open behind the last thread. `of_warp`: an open_state for each warp. All threads call it.
template <int Threads, class A, class State>
__device__ __forceinline__ open_state<State> scan_open(const A& a, open_state<State> mine, open_state<State>& carry,
                                                       open_state<State>* of_warp) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  open_state<State> all = mine;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    open_state<State> before = warp::from_below(all, step);
    if (lane >= step) {
      go_on(a, before, all);
      all = before;
    }
  }
  if (lane == 31) of_warp[warp] = all;
  const open_state<State> previous = warp::from_below(all, 1);
  __syncthreads();
  open_state<State> open = carry;
  for (int w = 0; w < Threads / 32; ++w) {
    if (w == warp) {
      mine = open;
    }
    go_on(a, open, of_warp[w]);
  }
  carry = open;
  if (lane > 0) go_on(a, mine, previous);
  return mine;
}

// How many segments end among the first `units` of `all_units` units, and the one that ends next if it has no more
// elements. By 16 lanes; the halves of a warp may ask different things. They look at 16 places at a time, as more would
// be fewer steps, but each place is a sector: first around where it would be if segments were alike.
template <class Offsets>
__device__ inline std::int64_t ends_before(const Offsets& offsets, std::int64_t origin, std::int64_t count,
                                           std::int64_t units, std::int64_t all_units) {
  const int lane = threadIdx.x % 16, half = threadIdx.x & 16;
  std::int64_t low = 0, high = count;  // the answer is in low ... high
  const double part = static_cast<double>(units) / static_cast<double>(all_units);
  std::int64_t step = static_cast<std::int64_t>(sqrtf(static_cast<float>(count))) / 8 + 1;  // lengths vary by chance
  std::int64_t start = static_cast<std::int64_t>(part * static_cast<double>(count)) - 8 * step;
  while (__any_sync(0xffffffffu, low < high)) {
    if (start < low) start = low;
    const std::int64_t place = start + lane * step;  // has segment `place` ended?
    const bool ended = place < high && static_cast<std::int64_t>(offsets[place + 1]) - origin + place <= units;
    const int how_many = __popc(__ballot_sync(0xffffffffu, ended) >> half & 0xffff);
    if (how_many < 16 && start + how_many * step < high) high = start + how_many * step;
    if (how_many > 0) low = start + (how_many - 1) * step + 1;
    start = low;
    step = (high - low + 15) / 16;
  }
  return low;
}

template <class A, class Source, class Offsets>
__global__ void __launch_bounds__(segments_threads, segments_blocks<A>)
    reduce_segments(const segments<A, Source, Offsets> problem) {
  using state_type = typename A::state;
  using walk = segments_walk<A, Source, Offsets>;
  using left_type = segments_left<state_type>;
  constexpr int threads = segments_threads, warps = segments_warps;
  __shared__ room<typename walk::shared, warps> rooms;
  __shared__ room<left_type, warps> left_of_warp;
  __shared__ room<open_state<state_type>, warps> of_warp;
  __shared__ std::int64_t edges[warps + 1];
  wait_for_stream();
  const A& a = problem.accumulator;
  const Offsets offsets = problem.offsets;
  const int warp = threadIdx.x / 32;

  // This warp's units.
  if (threadIdx.x < 2) edges[threadIdx.x] = static_cast<std::int64_t>(offsets[threadIdx.x == 0 ? 0 : problem.count]);
  __syncthreads();
  const std::int64_t origin = edges[0], total = edges[1] - origin;
  const std::int64_t units = total + problem.count;
  std::int64_t share = ceil_div(units, static_cast<std::int64_t>(gridDim.x) * warps);
  // Finding where to begin takes a warp about as long as two tiles.
  if (share < 2 * walk::tile_elements) share = 2 * walk::tile_elements;
  const int blocks = static_cast<int>(ceil_div(units, share * warps));  // that have something to do
  if (static_cast<int>(blockIdx.x) >= blocks) return;
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * warps + warp;
  const auto units_before = [&](std::int64_t i) { return units < i * share ? units : i * share; };
  const int upper = threadIdx.x / 16 % 2;  // the last warp's upper half looks for the block's end
  const bool looks = upper ? warp == warps - 1 : index > 0;
  const std::int64_t ends = ends_before(offsets, origin, looks ? problem.count : 0, units_before(index + upper), units);
  __syncthreads();
  if (threadIdx.x % 32 == 0) edges[warp] = ends;
  if (threadIdx.x == threads - 16) edges[warps] = ends;
  __syncthreads();
  // Where the segment that is open begins may be behind its share of units: see ends_before.
  const auto element_at = [&](std::int64_t i, std::int64_t segment, std::int64_t begin) {
    const std::int64_t element = origin + units_before(i) - segment;
    return element < begin ? begin : element;
  };
  const std::int64_t segment = edges[warp], stop = edges[warp + 1];
  const std::int64_t begin = static_cast<std::int64_t>(offsets[segment]);
  const std::int64_t first = element_at(index, segment, begin);
  const std::int64_t end = element_at(index + 1, stop, static_cast<std::int64_t>(offsets[stop]));
  walk(a, problem.in, offsets, problem.out, rooms[warp], segment, static_cast<int>(stop - segment), begin, first, end,
       origin, origin + total)
      .run(left_of_warp[warp]);
  __syncthreads();

  const auto length_of = [&](std::int64_t s) {
    return static_cast<std::int64_t>(offsets[s + 1]) - static_cast<std::int64_t>(offsets[s]);
  };
  if (threadIdx.x == 0) {
    left_type all = left_of_warp[0];
    for (int w = 1; w < warps; ++w) {
      const left_type& next = left_of_warp[w];
      if (next.segment < 0) {
        a.merge(all.tail, next.tail);
        continue;
      }
      a.merge(all.tail, next.head);
      if (all.segment < 0) {
        all.head = all.tail;
        all.segment = next.segment;
      } else {
        problem.out[next.segment] = a.finish(all.tail, length_of(next.segment));
      }
      all.tail = next.tail;
    }
    problem.left[blockIdx.x] = all;
  }
  if (!last_block(problem.ticket, blocks)) return;
  open_state<state_type> carry = {a.identity(), false};
  for (int start = 0; start < blocks; start += threads) {
    const int block = start + threadIdx.x;
    left_type other;
    other.segment = -1;
    other.tail = other.head = a.identity();
    if (block < blocks) {
      other.segment = problem.left[block].segment;
      other.tail = problem.left[block].tail;
      if (other.segment >= 0) other.head = problem.left[block].head;
    }
    const open_state<state_type> open =
        scan_open<threads>(a, open_state<state_type>{other.tail, other.segment >= 0}, carry, &of_warp[0]);
    if (other.segment >= 0) {
      state_type whole = open.state;
      a.merge(whole, other.head);
      problem.out[other.segment] = a.finish(whole, length_of(other.segment));
    }
    __syncthreads();
  }
}

template <class A, class Source, class Offsets>
status launch_segments(const A& a, const Source& in, const Offsets& offsets, std::int64_t count,
                       typename A::result* out, cudaStream_t stream, workspace* work) {
  using left = segments_left<typename A::state>;
  device_facts device;
  if (const status s = current_device(device); !s) return s;
  const std::int64_t blocks = static_cast<std::int64_t>(device.processors) * segments_blocks<A>;
  if (const status s = find_workspace(stream, device.device, blocks * sizeof(left), work); !s) return s;
  const segments<A, Source, Offsets> problem = {
      a, in, offsets, count, out, static_cast<left*>(work->partials()), work->tickets()};
  return launch_early(reduce_segments<A, Source, Offsets>, problem, blocks, segments_threads, 0, stream, device);
}

}  // namespace coalesce::detail
