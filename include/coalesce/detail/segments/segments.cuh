// Ragged segments: segment s is elements offsets[s] ... offsets[s + 1] - 1, of any length, also none.
//
// Work is dealt out in units: a unit is an element, or the end of a segment, in the order of the array. Warps get
// portions of equally many units, whatever the segments (a merge path: Odeh, Green, Mwassi, Shmueli, Birk 2012), and
// each works alone (warp.cuh). The warp that ends the last of 128 neighbouring portions combines, in order, what they
// leave open; the last of all combines what these leave. They use flagged words (detail/block/flagged.cuh), not fences:
// a fence waits until all results of the warp are visible, 3 to 8 us while memory is busy.
#pragma once

#include <coalesce/detail/block/flagged.cuh>
#include <coalesce/detail/segments/merge_path.cuh>
#include <coalesce/detail/segments/warp.cuh>

namespace coalesce::detail {

inline constexpr int segments_group = 128;  // portions
inline constexpr int segments_few = 256;    // so many are one group

// Offsets: a pointer, or what gives an offset for an index.
template <class A, class Source, class Offsets>
struct segments {
  A accumulator;
  Source in;
  Offsets offsets;
  std::int64_t count;  // of segments
  typename A::result* out;
  flagged<segments_left<typename A::state>>* left;  // one for each portion
  flagged<segments_left<typename A::state>>* of_groups;
  segments_place* places;  // where the portions of later waves begin
  unsigned long long*
      taken;              // how many of these have been taken; and, 32 bits higher, how many warps have looked where
  unsigned int* tickets;  // of all groups, and one for each group
};

template <class A, class Source, class Offsets>
__device__ __forceinline__ void write_segment(const segments<A, Source, Offsets>& problem, std::int64_t segment,
                                              const typename A::state& state) {
  problem.out[segment] = problem.accumulator.finish(state, static_cast<std::int64_t>(problem.offsets[segment + 1]) -
                                                               static_cast<std::int64_t>(problem.offsets[segment]));
}

// Shared memory of a block. Five of 39040 bytes, and 1 KB more for each, are just within 196 KB; where blocks of a
// multiprocessor have more it gives them 228 KB, which its first cache then lacks: 1 to 7 % more time.
template <class A, class Source, class Offsets>
struct segments_shared {
  union {
    typename segments_walk<A, Source, Offsets>::shared of_warp[segments_warps];
    std::int64_t edges[segments_warps + 1];  // before that: how many segments end before each warp's first portion
    std::int64_t units[segments_threads];
  };
  room<segments_left<typename A::state>, segments_warps> left;
  segments_plan<segment_tiles<A, Source>::weight> plan;
};
// On a multiprocessor: what shared memory allows (228 KB, of which each block takes one more), and registers. Where six
// blocks read, some multiprocessors get their tiles so much later than others that five are faster.
template <class A, class Source, class Offsets>
constexpr int segments_blocks() {
  using tiles = segment_tiles<A, Source>;
  constexpr int fit = 228 * 1024 / static_cast<int>(sizeof(segments_shared<A, Source, Offsets>) + 1024 + 16);
  constexpr int most = tiles::by_parts || tiles::by_words || shape<A>::state_words <= 4 ? 5 : 4;
  return fit < most ? fit : most;
}

// Combines what many portions left open, by a warp: some neighbours to a lane. Writes segments that begin and end
// there.
template <class A, class Source, class Offsets>
class join_portions : open_segment<A> {
  using base = open_segment<A>;
  using base::a_;
  using base::lane_;
  using base::open_;
  using state_type = typename A::state;
  using left = segments_left<state_type>;
  static constexpr int each = shape<A>::state_words <= 2 ? 4 : shape<A>::state_words <= 4 ? 2 : 1;

 public:
  __device__ __forceinline__ explicit join_portions(const segments<A, Source, Offsets>& problem)
      : base(problem.accumulator), problem_(problem) {}

  __device__ __forceinline__ void run(flagged<left>* of_portions, int count, left& all) {
    if (lane_ == 0) {
      all.segment = -1;
      all.head = a_.identity();
    }
    __syncwarp();
    open_ = a_.identity();
    ended_ = false;
#pragma unroll 1
    for (int i = lane_ * each; i - lane_ * each < count; i += 32 * each) {
      left some[each];
      fetch_flagged(of_portions + i, 1, count - i, left{a_.identity(), a_.identity(), -1}, some);
      add(some, all);
    }
    if (lane_ == 0) all.tail = open_;
  }

 private:
  __device__ __forceinline__ void add(const left (&some)[each], left& all) {
    state_type state = a_.identity();
    bool ends = false;
#pragma unroll
    for (int k = 0; k < each; ++k) {
      ends |= some[k].segment >= 0;
      go_on(state, some[k]);
    }
    const int owner = base::owner_of(ends);
    state_type before = base::scan_open(state, owner, ends);
    bool known = ended_ || owner >= 0;  // what is open before the first end of all is not
#pragma unroll
    for (int k = 0; k < each; ++k) {
      if (some[k].segment >= 0) {
        a_.merge(before, some[k].head);
        if (known) {
          write_segment(problem_, some[k].segment, before);
        } else {
          all.head = before;
          all.segment = some[k].segment;
          known = true;
        }
      }
      go_on(before, some[k]);
    }
    ended_ |= __any_sync(base::all, ends) != 0;
    open_ = warp::from_lane(state, 31);
    __syncwarp();
  }
  // Leads from the state that is open before a portion to the one behind it.
  __device__ __forceinline__ void go_on(state_type& state, const left& portion) const {
    if (portion.segment >= 0) {
      state = portion.tail;
    } else {
      a_.merge(state, portion.tail);
    }
  }

  const segments<A, Source, Offsets>& problem_;
  bool ended_ = false;  // whether a segment has
};

// Portions that one warp joins.
struct segments_group_of {
  int first, count, group, groups;
  __device__ __forceinline__ segments_group_of(int portion, int portions) {
    const int most = portions <= segments_few ? segments_few : segments_group;
    group = portion / most;
    groups = static_cast<int>(ceil_div(portions, most));
    first = group * most;
    count = portions - first < most ? portions - first : most;
  }
};

// Called by the warp that has the last ticket of its group. `room`: for the warp alone.
template <class A, class Source, class Offsets, class Left>
__device__ __forceinline__ void join(const segments<A, Source, Offsets>& problem, const segments_group_of& mine,
                                     Left& room) {
  flagged<Left>* of_portions = problem.left + mine.first;
  int count = mine.count;
  join_portions<A, Source, Offsets> joined(problem);
#pragma unroll 1
  for (bool of_groups = mine.groups == 1;; of_groups = true) {  // the code is long: once for both
    joined.run(of_portions, count, room);
    if (of_groups) break;
    unsigned int ticket = 0;
    if (threadIdx.x % 32 == 0) {
      problem.of_groups[mine.group].leave(room);
      ticket = take_ticket_alone(problem.tickets, mine.groups - 1);
    }
    of_portions = problem.of_groups;
    count = mine.groups;
    if (static_cast<int>(warp::from_lane(ticket, 0)) != count - 1) return;
  }
  if (threadIdx.x % 32 == 0 && room.segment >= 0) write_segment(problem, room.segment, room.head);
  __syncwarp();
}

template <class A, class Source, class Offsets>
__global__ void __launch_bounds__(segments_threads, (segments_blocks<A, Source, Offsets>()))
    reduce_segments(const segments<A, Source, Offsets> problem) {
  using walk = segments_walk<A, Source, Offsets>;
  constexpr int warps = segments_warps;
  __shared__ segments_shared<A, Source, Offsets> shared;
  wait_for_stream();
  const Offsets offsets = problem.offsets;
  const int warp = threadIdx.x / 32;
  const auto offset = [&](std::int64_t i) { return static_cast<std::int64_t>(offsets[i]); };
  // Finding where to begin takes a warp about as long as two tiles.
  constexpr int weight = segment_tiles<A, Source>::weight;
  using plan_type = segments_plan<weight>;
  plan_type& plan = shared.plan;
  const bool many = problem.count >= many_segments;
  segments_search<weight, Offsets> search(offsets, problem.count);
  if (many) search.look();
  if (threadIdx.x == 0) {
    constexpr int least = 2 * walk::tile_elements;
    const int most = static_cast<int>(gridDim.x), mine = static_cast<int>(blockIdx.x);
    const std::int64_t end = offset(problem.count), of_ends = problem.count * weight;
    plan.first = 0;
    // Most blocks of a small array have nothing to do, and then read one offset. That of others is not waited for.
    if (mine < plan_type::blocks_for(of_ends, most, least) ||
        mine < plan_type::blocks_for(end + of_ends, most, least)) {
      plan = plan_type(offset(0), end, problem.count, most, least);
    }
  }
  __syncthreads();
  int portion = blockIdx.x * warps + warp;
  if (portion >= plan.first) return;
  const std::int64_t origin = plan.origin;
  const std::int64_t end_of_all = origin + plan.units - problem.count * weight;
  const segments_edge all = {plan.units, problem.count};
  // The beginnings of this portion and the next one. The open segment may begin behind its share of units: see
  // ends_before.
  const segments_portion mine =
      many ? search.run(plan, shared.units) : find_among_few(offsets, plan, problem.count, shared.edges);
  segments_place from = mine.from, to = mine.to;
  const auto element_at = [&](std::int64_t units, const segments_place& place) {
    const std::int64_t element = origin + units - place.ends * weight;
    return element < place.begin ? place.begin : element;
  };
  // One warp of some blocks looks where portions of later waves begin, a lane for each: one offset after the other, as
  // few as can be, while all others begin to read.
  const int later = plan.portions() - plan.first, finders = static_cast<int>(ceil_div(later, 32));
  const int finder = plan.first / warps - 1 - static_cast<int>(blockIdx.x);
  if (warp == warps - 1 && finder < finders) {
    const int i = finder * 32 + threadIdx.x % 32;
    if (i < later) problem.places[i] = place_of(offsets, plan, problem.count, plan.before(plan.first + i));
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
      __threadfence();
      atomicAdd(problem.taken, 1ull << 32);
    }
  }
  segments_left<typename A::state>& left = shared.left[warp];
  bool known = false;  // whether all have looked
#pragma unroll 1
  for (;;) {
    walk(problem.accumulator, problem.in, offsets, problem.out, shared.of_warp[warp], from.ends,
         static_cast<int>(to.ends - from.ends), from.begin, element_at(plan.before(portion), from),
         element_at(plan.before(portion + 1), to), origin, end_of_all)
        .run(left);
    const segments_group_of group(portion, plan.portions());
    unsigned int ticket = 0;
    if (threadIdx.x % 32 == 0) {
      problem.left[portion].leave(left);
      ticket = take_ticket_alone(problem.tickets + 1 + group.group, group.count - 1);
    }
    if (static_cast<int>(warp::from_lane(ticket, 0)) == group.count - 1) join(problem, group, left);
    if (plan.portions() == plan.first) break;
    // Not earlier, because a portion that is taken must be run.
    unsigned long long taken = 0;
    if (threadIdx.x % 32 == 0) taken = atomicAdd(problem.taken, 1ull);
    taken = warp::from_lane(taken, 0);
    if (!known && static_cast<int>(taken >> 32) >= finders) {
      if (threadIdx.x % 32 == 0) __threadfence();
      __syncwarp();
      known = true;
    }
    portion = plan.first + static_cast<int>(taken);
    if (portion >= plan.portions()) {  // as often as there are warps
      if (threadIdx.x % 32 == 0 && portion == plan.portions() - 1 + plan.first) *problem.taken = 0;
      break;
    }
    const segments_place end = {problem.count, end_of_all};
    if (known) {
      from = problem.places[portion - plan.first];
      to = portion + 1 < plan.portions() ? problem.places[portion + 1 - plan.first] : end;
    } else {
      const std::int64_t ends =
          ends_before<16, weight>(offsets, origin, {0, 0}, all, plan.before(portion + threadIdx.x % 32 / 16));
      const segments_place found = {ends, offset(ends)};
      from = {warp::from_lane(found.ends, 0), warp::from_lane(found.begin, 0)};
      to = {warp::from_lane(found.ends, 16), warp::from_lane(found.begin, 16)};
    }
  }
}

template <class A, class Source, class Offsets>
status launch_segments(const A& a, const Source& in, const Offsets& offsets, std::int64_t count,
                       typename A::result* out, cudaStream_t stream, workspace* work) {
  using left = segments_left<typename A::state>;
  device_facts device;
  if (const status s = current_device(device); !s) return s;
  const std::int64_t blocks = static_cast<std::int64_t>(device.processors) * segments_blocks<A, Source, Offsets>();
  const std::int64_t portions = segments_waves * blocks * segments_warps, groups = ceil_div(portions, segments_group);
  if (const status s = find_workspace(stream, device.device, portions * sizeof(segments_place), work); !s) return s;
  if (const status s = work->reserve_more_flagged((portions + groups) * sizeof(flagged<left>)); !s) return s;
  segments<A, Source, Offsets> problem = {a, in, offsets, count, out};
  problem.left = static_cast<flagged<left>*>(work->more_flagged());
  problem.of_groups = problem.left + portions;
  problem.places = static_cast<segments_place*>(work->partials());
  problem.taken = reinterpret_cast<unsigned long long*>(work->tickets());
  problem.tickets = work->tickets() + 2;
  return launch_early(reduce_segments<A, Source, Offsets>, problem, blocks, segments_threads, 0, stream, device);
}

}  // namespace coalesce::detail
