// Deals out the work of ragged segments (segments.cuh) and finds the beginning of each portion.
#pragma once

#include <coalesce/detail/segments/tiles.cuh>

namespace coalesce::detail {

inline constexpr int segments_threads = 128;
inline constexpr int segments_warps = segments_threads / 32;
// See segments_plan: at most so many waves.
inline constexpr int segments_waves = 4;
// From this many segments on whole blocks search: see segments_search.
inline constexpr std::int64_t many_segments = 1 << 18;

// A place: the number of segments that end before it, and the element at which the next one begins.
struct segments_place {
  std::int64_t ends, begin;
};

// Deals out the work. Portions come in waves of as many as there are warps, and get smaller: each wave begins with half
// of what the one before began with. The first wave is assigned; the others go to the warps that finish first, because
// multiprocessors differ in speed and segments in cost. Equal portions in a wave would make all warps search for their
// next one at the same time, while none reads. `least`: units of the smallest portion.
template <int Weight>
struct segments_plan {
  std::int64_t origin;        // the first element
  std::int64_t units, share;  // of all; of the first portion
  int first;                  // portions of the first wave
  short waves, slope;         // see of_wave

  __device__ int portions() const { return waves * first; }

  segments_plan() = default;
  __device__ segments_plan(std::int64_t begin, std::int64_t end, std::int64_t segments, int most_blocks, int least)
      : origin(begin), units(end - begin + segments * Weight), waves(segments_waves) {
    first = blocks_for(units, most_blocks, least) * segments_warps;
    for (;; --waves) {
      const int whole = 1 << (waves - 1);  // so that shares can be halved
      slope = static_cast<short>(waves == 1 ? 63 : 34 - __clz(first));
      const std::int64_t shares = first - (waves == 1 ? 0 : (static_cast<std::int64_t>(first) * first >> slope) + 1);
      const std::int64_t all = shares * (2 * whole - 1);
      share = divide(units + all - 1, all) * whole;
      if (waves == 1 || share >> waves >= least) break;
    }
  }

  // Blocks that have something to do.
  __device__ static int blocks_for(std::int64_t units, int most_blocks, int least) {
    const std::int64_t wanted = ceil_div(units, static_cast<std::int64_t>(least) * segments_warps);
    return wanted > most_blocks ? most_blocks : wanted < 1 ? 1 : static_cast<int>(wanted);
  }

  // Units before a portion.
  __device__ std::int64_t before(int portion) const {
    std::int64_t at = 0, size = share;
    for (; portion >= first; portion -= first, size /= 2) at += of_wave(size, first);
    at += of_wave(size, portion);
    return at < units ? at : units;
  }

 private:
  // Units of the first `count` portions of a wave that begins with one of `size`. They get smaller by equal steps: a
  // wave's last has between a half and three quarters of its first, of 2640 (five blocks on an H200) two thirds. Where
  // there is one wave all are alike.
  __device__ std::int64_t of_wave(std::int64_t size, std::int64_t count) const {
    return size * count - (size * count * count >> slope);
  }
};

// The beginning of a share of the work: `ends` segments end among the first `units` units.
struct segments_edge {
  std::int64_t units, ends;
};

// The number of segments that end among the first `units` units, and the one that ends next if it has no more elements;
// it is between two edges. All lanes of a warp call it, for one place or, 16 lanes each, for two. They look at many
// offsets at a time, because single looks would follow one another; but each is a sector, so they begin with 8, around
// the place where it would be if segments were alike.
template <int Lanes, int Weight, class Offsets>
__device__ inline std::int64_t ends_before(const Offsets& offsets, std::int64_t origin, const segments_edge& before,
                                           const segments_edge& after, std::int64_t units) {
  std::int64_t low = before.ends, high = after.ends;  // the result is in low ... high
  const double part = static_cast<double>(units - before.units) / static_cast<double>(after.units - before.units);
  const double wide = static_cast<double>(high - low);
  int places = 8;
  // Lengths vary by chance.
  std::int64_t step = static_cast<std::int64_t>(2 * sqrtf(static_cast<float>(wide))) / places + 1;
  std::int64_t start = low + static_cast<std::int64_t>(part * wide) - places / 2 * step;
  const int lane = threadIdx.x % Lanes, others = threadIdx.x % 32 - lane;
  while (__any_sync(0xffffffffu, low < high)) {
    if (start < low) start = low;
    const std::int64_t place = start + lane * step;  // has segment `place` ended?
    bool ended = false;
    if (lane < places && place < high) {
      ended = static_cast<std::int64_t>(offsets[place + 1]) - origin + place * Weight <= units;
    }
    const int how_many = __popc(__ballot_sync(0xffffffffu, ended) >> others & (~0u >> (32 - Lanes)));
    if (how_many < places && start + how_many * step < high) high = start + how_many * step;
    if (how_many > 0) low = start + (how_many - 1) * step + 1;
    start = low;
    places = Lanes;
    step = (high - low + Lanes - 1) / Lanes;
  }
  return low;
}

// The beginning of a warp's portion, and of the next one.
struct segments_portion {
  segments_place from, to;
};

// The edges of a block's first portions, found by all its threads at once if there are many segments: one turn looks at
// 128 ends for all of the block's portions. The first turn's ends are the same for all blocks, and are loaded while the
// number of elements is still on its way. At last each warp looks at all ends that are left, up to `enough`, as one
// load.
template <int Weight, class Offsets>
class segments_search {
  static constexpr int threads = segments_threads, warps = segments_warps, at_once = 10, enough = at_once * 16;

 public:
  using shared = std::int64_t[threads];

  __device__ __forceinline__ segments_search(const Offsets& offsets, std::int64_t count)
      : offsets_(offsets), high_(count), step_(ceil_div(count, threads)) {}

  // Starts to look: before run().
  __device__ __forceinline__ void look() {
    const std::int64_t next = place_of_thread() + 1;
    end_ = offsets_[next < high_ ? next : high_];
  }

  // All threads call it.
  __device__ __forceinline__ segments_portion run(const segments_plan<Weight>& plan, shared& units) {
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
    // Each lane has one of the edges between portions.
    const int first = static_cast<int>(blockIdx.x) * warps;
    std::int64_t wanted = plan.before(first + (lane < warps ? lane : warps)), low, high;
    if (first == 0 && lane == 0) wanted = -1;  // segments without elements at the beginning are the first portion's
    for (;;) {
      const std::int64_t place = place_of_thread();
      units[thread] = place < high_ ? end_ - plan.origin + place * Weight : INT64_MAX;
      __syncthreads();
      int ended = 0;
#pragma unroll
      for (int half = threads / 2; half > 0; half /= 2) {
        if (units[ended + half - 1] <= wanted) ended += half;
      }
      if (units[ended] <= wanted) ++ended;
      low = low_ + ended * step_;
      high = low + step_ - 1 < high_ ? low + step_ - 1 : high_;
      const std::int64_t first_low = warp::from_lane(low, 0), last_high = warp::from_lane(high, warps);
      std::int64_t step = ceil_div(last_high - first_low, threads);
      if (step == 0) step = 1;
      if (step_ <= enough || step > step_ / 2) break;  // or the block's portions have more among them
      low_ = first_low;
      high_ = last_high;
      step_ = step;
      look();
      __syncthreads();
    }
    const int edge = thread / 32 + lane / 16;
    low = warp::from_lane(low, edge);
    high = warp::from_lane(high, edge);
    wanted = warp::from_lane(wanted, edge);
    while (__any_sync(0xffffffffu, low < high)) {
      const std::int64_t step = low < high ? ceil_div(high - low, enough) : 1;
      std::int64_t next[at_once], end[at_once];
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        next[k] = low + (k * 16 + lane % 16 + 1) * step;
        end[k] = offsets_[next[k] < high ? next[k] : high];
      }
      int ended = 0;
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        const bool here = next[k] <= high && end[k] - plan.origin + (next[k] - 1) * Weight <= wanted;
        ended += __popc(__ballot_sync(0xffffffffu, here) >> lane / 16 * 16 & 0xffffu);
      }
      low += ended * step;
      if (low + step - 1 < high) high = low + step - 1;
    }
    const segments_place mine = {low, static_cast<std::int64_t>(offsets_[low])};
    __syncthreads();
    return {{warp::from_lane(mine.ends, 0), warp::from_lane(mine.begin, 0)},
            {warp::from_lane(mine.ends, 16), warp::from_lane(mine.begin, 16)}};
  }

 private:
  __device__ __forceinline__ std::int64_t place_of_thread() const {
    return low_ + (static_cast<std::int64_t>(threadIdx.x) + 1) * step_ - 1;
  }

  const Offsets offsets_;
  std::int64_t low_ = 0, high_, step_;  // what is looked for is in low_ ... high_; every step_-th is looked at
  std::int64_t end_ = 0;                // of this thread's segment
};

// The same as segments_search, where there are few.
template <int Weight, class Offsets>
__device__ __forceinline__ segments_portion find_among_few(const Offsets& offsets, const segments_plan<Weight>& plan,
                                                           std::int64_t count,
                                                           std::int64_t (&edges)[segments_warps + 1]) {
  constexpr int warps = segments_warps;
  const int warp = threadIdx.x / 32;
  // The edges of the block's first portions, then the others.
  const std::int64_t low = plan.before(blockIdx.x * warps), high = plan.before((blockIdx.x + 1) * warps);
  if (warp < 2) {
    const std::int64_t mine = warp == 0 ? low : high;
    const segments_edge last = {plan.units, mine == 0 ? 0 : count};
    const std::int64_t ends = ends_before<32, Weight>(offsets, plan.origin, {0, 0}, last, mine);
    if (threadIdx.x % 32 == 0) edges[warp == 0 ? 0 : warps] = ends;
  }
  __syncthreads();
  if (warp != 0) {
    const std::int64_t ends = ends_before<32, Weight>(offsets, plan.origin, {low, edges[0]}, {high, edges[warps]},
                                                      plan.before(blockIdx.x * warps + warp));
    if (threadIdx.x % 32 == 0) edges[warp] = ends;
  }
  __syncthreads();
  const segments_portion mine = {{edges[warp], static_cast<std::int64_t>(offsets[edges[warp]])},
                                 {edges[warp + 1], static_cast<std::int64_t>(offsets[edges[warp + 1]])}};
  __syncthreads();
  return mine;
}

// The same for one lane, by a quarter of what is left at each step.
template <int Weight, class Offsets>
__device__ inline segments_place place_of(const Offsets& offsets, const segments_plan<Weight>& plan, std::int64_t count,
                                          std::int64_t units) {
  std::int64_t low = 0, high = count;
  while (low < high) {
    const std::int64_t quarter = (high - low) / 4;
    std::int64_t place[3];
    bool ended[3];
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      place[k] = low + quarter * (k + 1);
      ended[k] = place[k] < high &&
                 static_cast<std::int64_t>(offsets[place[k] + 1]) - plan.origin + place[k] * Weight <= units;
    }
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      if (ended[k]) low = place[k] + 1;
    }
#pragma unroll
    for (int k = 2; k >= 0; --k) {
      if (!ended[k] && place[k] < high) high = place[k];
    }
  }
  return {low, static_cast<std::int64_t>(offsets[low])};
}

}  // namespace coalesce::detail
