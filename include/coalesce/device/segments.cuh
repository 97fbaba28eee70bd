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
// Units that the end of a segment counts as: it takes about as many instructions as so many elements.
inline constexpr int segments_weight = 4;
inline constexpr int segments_waves = 3;  // at most; see segments_plan

// A state in a segmented scan: `ended` says that a segment ended in the range it stands for, and state is what came
// after.
template <class State>
struct open_state {
  State state;
  bool ended;
};

// Offsets: a pointer, or what gives an offset for an index.
template <class A, class Source, class Offsets>
struct segments {
  A accumulator;
  Source in;
  Offsets offsets;
  std::int64_t count;  // of segments
  typename A::result* out;
  segments_left<typename A::state>* left;  // one for each portion
  unsigned int* tickets;                   // two
};

template <class A, class State>
__device__ __forceinline__ void go_on(const A& a, open_state<State>& before, const open_state<State>& next) {
  if (next.ended) {
    before = next;
  } else {
    a.merge(before.state, next.state);
  }
}

// What is open before each thread, of the threads before it. `of_warp`: an open_state for each warp. All threads call
// it.
template <int Threads, class A, class State>
__device__ __forceinline__ open_state<State> scan_open(const A& a, open_state<State> mine, open_state<State>* of_warp) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    open_state<State> before = warp::from_below(mine, step);
    if (lane >= step) {
      go_on(a, before, mine);
      mine = before;
    }
  }
  if (lane == 31) of_warp[warp] = mine;
  const open_state<State> previous = warp::from_below(mine, 1);
  __syncthreads();
  open_state<State> open = {a.identity(), false};
  for (int w = 0; w < warp; ++w) go_on(a, open, of_warp[w]);
  if (lane > 0) go_on(a, open, previous);
  return open;
}

// How the work is dealt out: in portions, one to a block, of which each warp has an equal share. Portions come in waves
// of as many as there are blocks, each wave's a quarter as large as those of the one before. The first wave's are
// given, the others taken by the blocks that are first to end: multiprocessors are not equally fast, and segments not
// equally dear. (Waited for were 9 % of the time where there was one wave.)
struct segments_plan {
  std::int64_t origin, total;  // the first element, and how many there are
  std::int64_t units, share;   // of all; of a warp in the first wave
  int blocks, portions;

  segments_plan() = default;
  __device__ segments_plan(std::int64_t begin, std::int64_t end, std::int64_t segments, int most_blocks, int least)
      : origin(begin), total(end - begin), units(end - begin + segments * segments_weight) {
    blocks = static_cast<int>(ceil_div(units, static_cast<std::int64_t>(least) * segments_warps));
    if (blocks > most_blocks) blocks = most_blocks;
    if (blocks < 1) blocks = 1;
    const std::int64_t warps = static_cast<std::int64_t>(blocks) * segments_warps;
    int waves = segments_waves;
    for (;; --waves) {
      const int sixteenths = waves == 3 ? 16 + 4 + 1 : waves == 2 ? 16 + 4 : 16;
      share = ceil_div(units, warps * sixteenths) * 16;
      if (waves == 1 || share >> (2 * (waves - 1)) >= least) break;
    }
    portions = waves * blocks;
  }

  // Units before warp `warp` of a portion.
  __device__ std::int64_t before(int portion, int warp) const {
    std::int64_t at = 0, size = share;
    for (; portion >= blocks; portion -= blocks, size /= 4) at += size * blocks * segments_warps;
    at += size * (static_cast<std::int64_t>(portion) * segments_warps + warp);
    return at < units ? at : units;
  }
};

// Where a share of the work begins: `ends` segments end among the first `units` units.
struct segments_edge {
  std::int64_t units, ends;
};

// How many segments end among the first `units` units, and the one that ends next if it has no more elements; it is
// between two edges. All lanes of a warp call it. They look at many places at a time, as one after the other would take
// long, but each place is a sector: where there are few segments at 8, first around where it would be if segments were
// alike.
template <class Offsets>
__device__ inline std::int64_t ends_before(const Offsets& offsets, std::int64_t origin, const segments_edge& before,
                                           const segments_edge& after, std::int64_t units) {
  std::int64_t low = before.ends, high = after.ends;  // the answer is in low ... high
  const double part = static_cast<double>(units - before.units) / static_cast<double>(after.units - before.units);
  const double wide = static_cast<double>(high - low);
  int places = high - low < 65536 ? 8 : 32;
  // Lengths vary by chance.
  std::int64_t step = static_cast<std::int64_t>(2 * sqrtf(static_cast<float>(wide))) / places + 1;
  std::int64_t start = low + static_cast<std::int64_t>(part * wide) - places / 2 * step;
  while (low < high) {
    if (start < low) start = low;
    const int lane = threadIdx.x % 32;
    const std::int64_t place = start + lane * step;  // has segment `place` ended?
    bool ended = false;
    if (lane < places && place < high) {
      ended = static_cast<std::int64_t>(offsets[place + 1]) - origin + place * segments_weight <= units;
    }
    const int how_many = __popc(__ballot_sync(0xffffffffu, ended));
    if (how_many < places && start + how_many * step < high) high = start + how_many * step;
    if (how_many > 0) low = start + (how_many - 1) * step + 1;
    start = low;
    places = 32;
    step = (high - low + 31) / 32;
  }
  return low;
}

// Shared memory of a block.
template <class A, class Source, class Offsets>
struct segments_shared {
  typename segments_walk<A, Source, Offsets>::shared of_warp[segments_warps];
  room<segments_left<typename A::state>, segments_warps> left;
  room<open_state<typename A::state>, segments_warps> open;
  std::int64_t edges[segments_warps + 1];  // how many segments end before each warp's share
  segments_plan plan;
  int portion;
};
// On a multiprocessor: what shared memory allows (228 KB, of which each block takes one more), and registers.
template <class A, class Source, class Offsets>
constexpr int segments_blocks() {
  constexpr int fit = 228 * 1024 / static_cast<int>(sizeof(segments_shared<A, Source, Offsets>) + 1024 + 16);
  constexpr int most = segment_tiles<A, Source>::by_parts ? 6 : shape<A>::state_words <= 4 ? 5 : 4;
  return fit < most ? fit : most;
}

// What a block's warps have left, in one; segments that begin and end in it are written.
template <class A, class Source, class Offsets, class Left>
__device__ __forceinline__ Left join_warps(const segments<A, Source, Offsets>& problem, Left* of_warp) {
  const A& a = problem.accumulator;
  Left all = of_warp[0];
  for (int w = 1; w < segments_warps; ++w) {
    const Left& next = of_warp[w];
    if (next.segment < 0) {
      a.merge(all.tail, next.tail);
      continue;
    }
    a.merge(all.tail, next.head);
    if (all.segment < 0) {
      all.head = all.tail;
      all.segment = next.segment;
    } else {
      problem.out[next.segment] = a.finish(all.tail, static_cast<std::int64_t>(problem.offsets[next.segment + 1]) -
                                                         static_cast<std::int64_t>(problem.offsets[next.segment]));
    }
    all.tail = next.tail;
  }
  return all;
}

template <class A, class Source, class Offsets>
__global__ void __launch_bounds__(segments_threads, (segments_blocks<A, Source, Offsets>()))
    reduce_segments(const segments<A, Source, Offsets> problem) {
  using state_type = typename A::state;
  using walk = segments_walk<A, Source, Offsets>;
  using left_type = segments_left<state_type>;
  constexpr int threads = segments_threads, warps = segments_warps;
  __shared__ segments_shared<A, Source, Offsets> shared;
  std::int64_t(&edges)[warps + 1] = shared.edges;
  wait_for_stream();
  const A& a = problem.accumulator;
  const Offsets offsets = problem.offsets;
  const int warp = threadIdx.x / 32;
  const auto offset = [&](std::int64_t i) { return static_cast<std::int64_t>(offsets[i]); };
  // Finding where to begin takes a warp about as long as two tiles.
  segments_plan& plan = shared.plan;
  if (threadIdx.x == 0) {
    plan = segments_plan(offset(0), offset(problem.count), problem.count, gridDim.x, 2 * walk::tile_elements);
  }
  __syncthreads();
  if (static_cast<int>(blockIdx.x) >= plan.blocks) return;
  int portion = blockIdx.x;
#pragma unroll 1
  do {
    // This block's units, and this warp's.
    const std::int64_t origin = plan.origin, low = plan.before(portion, 0), high = plan.before(portion, warps);
    const std::int64_t from = plan.before(portion, warp), to = plan.before(portion, warp + 1);
    if (warp < 2) {
      const std::int64_t mine = warp == 0 ? low : high;
      const segments_edge all = {plan.units, mine == 0 ? 0 : problem.count};
      const std::int64_t ends = ends_before(offsets, origin, {0, 0}, all, mine);
      if (threadIdx.x % 32 == 0) edges[warp == 0 ? 0 : warps] = ends;
    }
    __syncthreads();
    if (warp != 0) {
      const std::int64_t ends = ends_before(offsets, origin, {low, edges[0]}, {high, edges[warps]}, from);
      if (threadIdx.x % 32 == 0) edges[warp] = ends;
    }
    __syncthreads();
    // Where the segment that is open begins may be behind its share of units: see ends_before.
    const auto element_at = [&](std::int64_t units, std::int64_t segment, std::int64_t begin) {
      const std::int64_t element = origin + units - segment * segments_weight;
      return element < begin ? begin : element;
    };
    const std::int64_t segment = edges[warp], stop = edges[warp + 1], begin = offset(segment);
    walk(a, problem.in, offsets, problem.out, shared.of_warp[warp], segment, static_cast<int>(stop - segment), begin,
         element_at(from, segment, begin), element_at(to, stop, offset(stop)), origin, origin + plan.total)
        .run(shared.left[warp]);
    __syncthreads();
    if (threadIdx.x == 0) {
      problem.left[portion] = join_warps(problem, &shared.left[0]);
      shared.portion = plan.portions;
      if (plan.portions > plan.blocks) {  // each of them, and each block once in vain
        shared.portion = plan.blocks + static_cast<int>(atomicInc(problem.tickets + 1, plan.portions - 1));
      }
    }
    __syncthreads();
    portion = shared.portion;
  } while (portion < plan.portions);
  if (!last_block(problem.tickets, plan.blocks)) return;

  // Each thread has some neighbouring portions; what they left comes several at a time.
  const int each = ceil_div(plan.portions, threads), first = threadIdx.x * each;
  const int end = first + each < plan.portions ? first + each : plan.portions;
  const auto for_each = [&](const auto& work) {
    constexpr int together = shape<A>::state_words <= 2 ? 8 : shape<A>::state_words <= 4 ? 4 : 1;
#pragma unroll 1
    for (int i = first; i < end; i += together) {
      left_type some[together];
#pragma unroll
      for (int k = 0; k < together; ++k) {
        if (i + k < end) some[k] = problem.left[i + k];
      }
#pragma unroll
      for (int k = 0; k < together; ++k) {
        if (i + k < end) work(some[k]);
      }
    }
  };
  open_state<state_type> open = {a.identity(), false};
  for_each([&](const left_type& left) { go_on(a, open, open_state<state_type>{left.tail, left.segment >= 0}); });
  open = scan_open<threads>(a, open, &shared.open[0]);
  for_each([&](const left_type& left) {
    if (left.segment >= 0) {
      a.merge(open.state, left.head);
      problem.out[left.segment] = a.finish(open.state, offset(left.segment + 1) - offset(left.segment));
    }
    go_on(a, open, open_state<state_type>{left.tail, left.segment >= 0});
  });
}

template <class A, class Source, class Offsets>
status launch_segments(const A& a, const Source& in, const Offsets& offsets, std::int64_t count,
                       typename A::result* out, cudaStream_t stream, workspace* work) {
  using left = segments_left<typename A::state>;
  device_facts device;
  if (const status s = current_device(device); !s) return s;
  const std::int64_t blocks = static_cast<std::int64_t>(device.processors) * segments_blocks<A, Source, Offsets>();
  if (const status s = find_workspace(stream, device.device, segments_waves * blocks * sizeof(left), work); !s)
    return s;
  const segments<A, Source, Offsets> problem = {
      a, in, offsets, count, out, static_cast<left*>(work->partials()), work->tickets()};
  return launch_early(reduce_segments<A, Source, Offsets>, problem, blocks, segments_threads, 0, stream, device);
}

}  // namespace coalesce::detail
