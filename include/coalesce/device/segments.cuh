// Ragged segments: segment s is elements offsets[s] ... offsets[s + 1] - 1, of any length, also none.
//
// Work is dealt out by what there is to do and not by segments: a unit is an element, or the end of a segment, in the
// order in which one meets them going through the array. All blocks get equally many units, whatever the segments are
// (a merge path: Odeh, Green, Mwassi, Shmueli, Birk 2012). A block goes through its units in tiles: elements to shared
// memory, offsets to a ring there, then each thread its `items` units one after the other. What a thread leaves open
// goes on to the next threads by a segmented scan, what a tile leaves open to the next tile, and what a block leaves
// open is put together by the last block to end, in the order of the blocks. A segment that is longer than a tile is
// read as a run.
//
// An odd number of items puts the 32 lanes, that many elements apart, in 32 banks.
#pragma once

#include "../block/visit.cuh"
#include "launch.cuh"

namespace coalesce::detail {

inline constexpr int segments_threads = 128;

template <class A>
inline constexpr int segments_blocks = shape<A>::state_words <= 4 ? 6 : 4;

template <class T>
inline constexpr int segments_items = sizeof(T) <= 4   ? 31
                                      : sizeof(T) <= 8 ? 15
                                                       : 7;

// Units that are the least a block is for: two tiles, of which finding their beginning is a tenth.
template <class T>
inline constexpr int segments_least = 2 * segments_threads * segments_items<T>;

// Segments of equal length, one behind the other.
struct equal_segments {
  std::int64_t length;
  __device__ std::int64_t operator[](std::int64_t i) const { return i * length; }
};

// Whether A's merge must have what comes first on the left. Here all merges are in order but those of long runs, which
// ordered accumulators therefore take tile by tile.
template <class A, class = void>
inline constexpr bool ordered = false;
template <class A>
inline constexpr bool ordered<A, std::void_t<decltype(A::is_ordered)>> = A::is_ordered;

// What a block leaves to the others.
template <class State>
struct segments_left {
  State head;            // of the first segment that ended in the block: the part that the block read
  State tail;            // of the segment that is open at its end
  std::int64_t segment;  // the first that ended; -1: none
};

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

// How many segments end among the first `units` units. By a whole warp, 16 places at a time: more would be fewer steps,
// but each place is a sector.
template <class Offsets>
__device__ inline std::int64_t ends_before(const Offsets& offsets, std::int64_t origin, std::int64_t count,
                                           std::int64_t units) {
  const int lane = threadIdx.x % 32;
  std::int64_t low = 0, high = count;  // the answer is in low ... high
  while (low < high) {
    const std::int64_t step = (high - low + 15) / 16;
    const std::int64_t place = low + lane * step;  // has segment `place` ended?
    const bool ended =
        lane < 16 && place < high && static_cast<std::int64_t>(offsets[place + 1]) - origin + place < units;
    const int how_many = __popc(__ballot_sync(0xffffffffu, ended));
    if (how_many == 0) {
      high = low;
    } else {
      const std::int64_t last = low + (how_many - 1) * step;  // has ended; last + step has not
      high = last + step < high ? last + step : high;
      low = last + 1;
    }
  }
  return low;
}

template <class A, class Source, class Offsets>
__global__ void __launch_bounds__(segments_threads, segments_blocks<A>)
    reduce_segments(const segments<A, Source, Offsets> problem) {
  using element = typename A::element;
  using state_type = typename A::state;
  constexpr int threads = segments_threads, items = segments_items<element>, tile_units = threads * items;
  constexpr int width = Source::width, ring_size = tile_units + 1;
  __shared__ room<element, tile_units + 2 * width> element_store;
  // Where the coming segments end, counted from the tile's first element; the next tile's while this one is worked at.
  // What lies behind the tile is tile_units + 1.
  __shared__ unsigned short rings[2][ring_size];
  __shared__ room<open_state<state_type>, threads / 32> of_warp;
  __shared__ std::int64_t edges[2];
  const A& a = problem.accumulator;
  const Offsets offsets = problem.offsets;
  element* elements = &element_store[0];

  // This block's units.
  if (threadIdx.x < 2) edges[threadIdx.x] = static_cast<std::int64_t>(offsets[threadIdx.x == 0 ? 0 : problem.count]);
  __syncthreads();
  const std::int64_t origin = edges[0], total = edges[1] - origin;
  const std::int64_t units = total + problem.count;
  std::int64_t share = (units + gridDim.x - 1) / gridDim.x;
  if (share < segments_least<element>) share = segments_least<element>;
  const int blocks = static_cast<int>(divide(units + share - 1, share));  // that have something to do
  if (static_cast<int>(blockIdx.x) >= blocks) return;
  const std::int64_t unit_end = units < (blockIdx.x + 1) * share ? units : (blockIdx.x + 1) * share;
  std::int64_t unit = blockIdx.x * share;
  __syncthreads();
  if (threadIdx.x < 64) {
    const std::int64_t ends = ends_before(offsets, origin, problem.count, threadIdx.x < 32 ? unit : unit_end);
    if (threadIdx.x % 32 == 0) edges[threadIdx.x / 32] = ends;
  }
  __syncthreads();
  std::int64_t segment = edges[0];                 // the open one
  std::int64_t first = origin + (unit - segment);  // the next element
  const std::int64_t segment_end = edges[1], end = origin + (unit_end - segment_end);

  open_state<state_type> carry = {a.identity(), false};  // in all threads alike
  segments_left<state_type>* const left = problem.left + blockIdx.x;
  if (threadIdx.x == 0) left->segment = -1;
  const auto length_of = [&](std::int64_t s) {
    return static_cast<std::int64_t>(offsets[s + 1]) - static_cast<std::int64_t>(offsets[s]);
  };

  // Entries `from` ... `to` - 1 of the ring of a tile that begins with segment s and element e.
  const auto fill = [&](unsigned short* ring, int from, int to, std::int64_t s, std::int64_t e) {
#pragma unroll 4
    for (int i = from + threadIdx.x; i < to; i += threads) {
      const std::int64_t away = s + i < problem.count ? static_cast<std::int64_t>(offsets[s + i + 1]) - e : ring_size;
      ring[i] = static_cast<unsigned short>(away < ring_size ? away : ring_size);
    }
  };
  // How many segments end among the first n units of a tile, of which `known` entries are there.
  const auto ends_in = [](const unsigned short* ring, int n, int known) {
    int low = 0, high = n < known ? n : known;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (ring[middle] + middle < n) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };

  // The first of `ends` entries that is `place` or more.
  const auto first_at = [](const unsigned short* ring, int ends, int place) {
    int low = 0, high = ends;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (ring[middle] < place) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };

  std::int64_t begin = segment < problem.count ? static_cast<std::int64_t>(offsets[segment]) : first;
  unsigned short *ring = rings[0], *next_ring = rings[1];
  int known = threads;  // entries in the ring
  fill(ring, 0, known, segment, first);
  __syncthreads();
  while (unit < unit_end) {
    if (!ordered<A> && ring[0] > tile_units && segment < problem.count) {
      std::int64_t stop = static_cast<std::int64_t>(offsets[segment + 1]);
      if (stop > end) stop = end;
      if (stop - first >= 2 * tile_units) {  // a long part of the open segment: as a run
        state_type state = a.identity();
        const std::int64_t at_begin = first - begin;
        visit_run<shape<A>::loads, 128>(problem.in.from(first), stop - first, threadIdx.x, threads,
                                        [&](const auto& tile, auto at) {
                                          at.first += at_begin;
                                          a.add(state, tile, at);
                                        });
        state = fold_block<threads>(a, state);
        if (threadIdx.x == 0) of_warp[0].state = state;
        __syncthreads();
        a.merge(carry.state, of_warp[0].state);
        unit += stop - first;
        first = stop;
        known = threads;
        fill(ring, 0, known, segment, first);
        __syncthreads();
        continue;
      }
    }

    const int here = unit_end - unit < tile_units ? static_cast<int>(unit_end - unit) : tile_units;
    int tile_ends = ends_in(ring, here, known);
    while (tile_ends == known && known < ring_size) {
      const int more = known + 4 * threads < ring_size ? known + 4 * threads : ring_size;
      fill(ring, known, more, segment, first);
      known = more;
      __syncthreads();
      tile_ends = ends_in(ring, here, known);
    }
    const int tile_elements = here - tile_ends;
    // About as many segments will end in the next tile.
    int next_known = (tile_ends + tile_ends / 8 + 63) / 32 * 32;
    if (next_known > ring_size) next_known = ring_size;

    // The elements.
    const Source in = problem.in.from(first);
    const int head = in.head() < tile_elements ? in.head() : tile_elements;
    element* const base = elements + (width - head) % width;
    const int vectors = (tile_elements - head) / width;
    constexpr int loads = 4;
    // Thread 0 has the first half of a sector.
    const int before = in.template head<2 * width>() == in.head() ? 0 : 1;
    for (int i = static_cast<int>(threadIdx.x) - before; i < vectors; i += loads * threads) {
      typename Source::template vector_of<> loaded[loads];
#pragma unroll
      for (int k = 0; k < loads; ++k) {
        if (i + k * threads >= 0 && i + k * threads < vectors) loaded[k] = in.fetch(head + (i + k * threads) * width);
      }
#pragma unroll
      for (int k = 0; k < loads; ++k) {
        if (i + k * threads >= 0 && i + k * threads < vectors) {
          element tile[width];
          in.unpack(loaded[k], tile);
          store_elements<width>(base + head + (i + k * threads) * width, tile);
        }
      }
    }
    const int inside = vectors * width;
    for (int i = threadIdx.x; i < tile_elements - inside; i += threads) {
      const int at = i < head ? i : i + inside;
      base[at] = in.at(at);
    }
    fill(next_ring, 0, next_known, segment + tile_ends, first + tile_elements);
    __syncthreads();

    // Of segments without elements all but the first that ends at a place are done.
    for (int i = threadIdx.x + 1; i < tile_ends; i += threads) {
      if (ring[i] == ring[i - 1]) problem.out[segment + i] = a.finish(a.identity(), 0);
    }
    // This thread's elements, one after the other. What ends at an element's place ends before it; what ends behind the
    // tile's last element, behind it.
    const int my_first = threadIdx.x * items < tile_elements ? threadIdx.x * items : tile_elements;
    const int my_end = my_first + items < tile_elements ? my_first + items : tile_elements;
    const bool is_last = my_end == tile_elements && (my_first < my_end || (threadIdx.x == 0 && tile_elements == 0));
    int at_segment = is_last || my_first < my_end ? first_at(ring, tile_ends, my_first) : tile_ends;
    int stop_at = ring[at_segment];  // the one behind the tile's ends ends behind its elements
    std::int64_t segment_begin = 0;
    if constexpr (A::indexed) segment_begin = at_segment == 0 ? begin : first + ring[at_segment - 1];
    open_state<state_type> mine = {a.identity(), false};
    state_type before_end = mine.state;
    int first_ended = 0;
    // The first that ends here may have begun before; its result is written once more below.
    const auto end_segment = [&] {
      const std::int64_t s = segment + at_segment;
      problem.out[s] = a.finish(mine.state, length_of(s));
      before_end = mine.ended ? before_end : mine.state;
      first_ended = mine.ended ? first_ended : at_segment;
      mine.ended = true;
      mine.state = a.identity();
      if constexpr (A::indexed) segment_begin = first + stop_at;
      const int stopped_at = stop_at;
      stop_at = ring[++at_segment];
      if (stop_at == stopped_at) {
        at_segment = first_at(ring, tile_ends, stopped_at + 1);
        stop_at = ring[at_segment];
      }
    };
    for (int i = my_first; i < my_end; ++i) {
      const element one[1] = {base[i]};
      if (i == stop_at) end_segment();
      a.add(mine.state, one, positions<1>{first + i - segment_begin, 0});
    }
    if (is_last && at_segment < tile_ends) end_segment();
    const bool ended = mine.ended;
    open_state<state_type> open = scan_open<threads>(a, mine, carry, &of_warp[0]);
    if (ended) {
      a.merge(open.state, before_end);
      const std::int64_t s = segment + first_ended;
      if (open.ended) {
        problem.out[s] = a.finish(open.state, length_of(s));
      } else {
        left->head = open.state;
        left->segment = s;
      }
    }
    if (tile_ends > 0) begin = first + ring[tile_ends - 1];
    unit += here;
    segment += tile_ends;
    first += tile_elements;
    known = next_known;
    __syncthreads();
    unsigned short* const used = ring;
    ring = next_ring;
    next_ring = used;
  }

  if (threadIdx.x == 0) left->tail = carry.state;
  if (!last_block(problem.ticket, blocks)) return;
  carry = {a.identity(), false};
  for (int start = 0; start < blocks; start += threads) {
    const int block = start + threadIdx.x;
    segments_left<state_type> other;
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
  const std::int64_t blocks = static_cast<std::int64_t>(device.processors) * (segments_blocks<A>);
  if (const status s = find_workspace(stream, device.device, blocks * sizeof(left), work); !s) return s;
  const segments<A, Source, Offsets> problem = {
      a, in, offsets, count, out, static_cast<left*>(work->partials()), work->tickets()};
  return launch(reduce_segments<A, Source, Offsets>, problem, blocks, segments_threads, 0, stream);
}

}  // namespace coalesce::detail
