// How the work of ragged segments (segments.cuh) is dealt out, and where each portion of it begins.
#pragma once

#include "segments_tiles.cuh"

namespace coalesce::detail {

inline constexpr int segments_threads = 128;
inline constexpr int segments_warps = segments_threads / 32;
// See segments_plan: at most so many waves.
inline constexpr int segments_waves = 4;

// So many segments end before a place, and the next one begins at element `begin`.
struct segments_place {
  std::int64_t ends, begin;
};

// How the work is dealt out. Portions come in waves of as many as there are warps, and get smaller from one to the
// next: each wave begins with half of what the one before began with. The first wave's are given, the others taken by
// the warps that are first to end: multiprocessors are not equally fast, and segments not equally dear. Where portions
// were alike in a wave, all warps came to look for their next one at the same time, and nobody read meanwhile. `least`:
// units that a portion is to have at least.
template <int Weight>
struct segments_plan {
  std::int64_t origin, total;  // the first element, and how many there are
  std::int64_t units, share;   // of all; of the first portion
  int first, portions;         // of the first wave, of all
  int slope;                   // see of_wave

  segments_plan() = default;
  __device__ segments_plan(std::int64_t begin, std::int64_t end, std::int64_t segments, int most_blocks, int least)
      : origin(begin), total(end - begin), units(end - begin + segments * Weight) {
    first = blocks_for(units, most_blocks, least) * segments_warps;
    for (int waves = segments_waves;; --waves) {
      const int whole = 1 << (waves - 1);  // so that shares can be halved
      slope = waves == 1 ? 63 : 34 - __clz(first);
      const std::int64_t shares = first - (waves == 1 ? 0 : (static_cast<std::int64_t>(first) * first >> slope) + 1);
      const std::int64_t all = shares * (2 * whole - 1);
      share = divide(units + all - 1, all) * whole;
      portions = waves * first;
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
  // Of `count` portions of a wave that begins with one of `size`: they get smaller by equal steps, down to a half.
  __device__ std::int64_t of_wave(std::int64_t size, std::int64_t count) const {
    return size * count - (size * count * count >> slope);
  }
};

// Where a share of the work begins: `ends` segments end among the first `units` units.
struct segments_edge {
  std::int64_t units, ends;
};

// How many segments end among the first `units` units, and the one that ends next if it has no more elements; it is
// between two edges. All lanes of a warp call it, for one place or, 16 lanes each, for two. They look at many offsets
// at a time, as one after the other would take long, but each is a sector: first at 8, around where it would be if
// segments were alike.
template <int Lanes, int Weight, class Offsets>
__device__ inline std::int64_t ends_before(const Offsets& offsets, std::int64_t origin, const segments_edge& before,
                                           const segments_edge& after, std::int64_t units) {
  std::int64_t low = before.ends, high = after.ends;  // the answer is in low ... high
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
