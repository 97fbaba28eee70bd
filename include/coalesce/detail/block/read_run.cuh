// Deals out the elements of a run to threads: `count` neighbouring elements, read by threads 0 ... threads - 1 of any
// team (a warp, a block, several blocks; whole warps, thread t being lane t % 32 of its own). Each thread calls
// read_run and gets its elements tile by tile.
//
// Thread t reads vectors of 16 bytes t, t + threads, ...: `Loads` of them requested before the first is used, and given
// to `body` in tiles of up to 32 elements, or 128 bytes. The first vector is at a multiple of Align bytes: 32 for a
// sector, or 128 for a line. Elements before it and behind the last go one each to the first threads. Shares differ by
// one vector at most, so all threads end together.
#pragma once

#include <coalesce/detail/source.cuh>

namespace coalesce::detail {

// Elements in a tile at most.
template <class T>
inline constexpr int longest_tile = sizeof(T) == 1 ? 128 : 32;

// Vectors in a tile while every lane has Loads of them. Smaller tiles come last.
template <int Loads, class Source>
inline constexpr int vectors_of_tile = longest_tile<typename Source::element> / Source::width < 1 ? 1
                                       : longest_tile<typename Source::element> / Source::width < Loads
                                           ? longest_tile<typename Source::element> / Source::width
                                           : Loads;

// Gives Loads vectors to `body` in tiles. The first vector begins at element `first`, each next one `step` elements on.
template <int Loads, class Source, class Body>
__device__ __forceinline__ void pass_full_turn(const Source& in,
                                               const typename Source::template vector_of<> (&loaded)[Loads],
                                               std::int64_t first, std::int64_t step, Body&& body) {
  constexpr int together = vectors_of_tile<Loads, Source>, width = Source::width;
#pragma unroll
  for (int k = 0; k < Loads; k += together) {
    typename Source::element tile[together * width];
#pragma unroll
    for (int j = 0; j < together; ++j) in.unpack(loaded[k + j], tile + j * width);
    body(tile, positions<width>{first + k * step, step});
  }
}

// Gives a thread's last vectors to `body`: vector k exists if k * threads < left. The first begins at element `first`.
// Tiles have four vectors where four are left, or two, or one. Bytes go two at a time at most: twice 64 elements exceed
// 64 registers.
template <int Loads, class Source, class Index, class Body>
__device__ __forceinline__ void pass_loaded(const Source& in,
                                            const typename Source::template vector_of<> (&rest)[Loads], Index left,
                                            Index threads, std::int64_t first, Body&& body) {
  using element = typename Source::element;
  constexpr int width = Source::width;
  constexpr int most = sizeof(element) == 1 ? 2 : 4;
  const std::int64_t step = static_cast<std::int64_t>(threads) * width;
  const auto at = [&](int k) { return positions<width>{first + k * step, step}; };
#pragma unroll
  for (int k = 0; k < Loads; k += most) {
    if (most == 4 && k + 3 < Loads && (k + 3) * threads < left) {
      element tile[4 * width];
#pragma unroll
      for (int j = 0; j < 4; ++j) in.unpack(rest[k + j < Loads ? k + j : k], tile + j * width);
      if constexpr (most == 4) body(tile, at(k));
      continue;
    }
#pragma unroll
    for (int j = k; j < k + most; j += 2) {
      if (j + 1 < Loads && (j + 1) * threads < left) {
        element tile[2 * width];
        in.unpack(rest[j], tile);
        in.unpack(rest[j + 1 < Loads ? j + 1 : j], tile + width);
        body(tile, at(j));
      } else if (j < Loads && j * threads < left) {
        element tile[width];
        in.unpack(rest[j < Loads ? j : 0], tile);
        body(tile, at(j));
      }
    }
  }
}

// Prefetches into L2, whose lines are never stale, what the warps read first. A launch that starts early thus keeps
// memory busy while the launch ahead of it folds. Four lanes prefetch the lines of each of a warp's first `Vectors`
// vectors of 512 bytes. Arrays that may be in L2 already are left out.
template <int Vectors, class Source>
__device__ __forceinline__ void prefetch_first(const Source& in, std::int64_t head, std::int64_t vectors,
                                               std::int64_t thread, std::int64_t threads) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900  // where launches start early
  constexpr std::int64_t in_l2 = 32 << 20;
  if (Source::width == 1 || vectors * 16 <= in_l2) return;
  const std::int64_t lane = thread % 32;
#pragma unroll
  for (std::int64_t k = lane / 4; k < Vectors; k += 8) {
    const std::int64_t at = thread - lane + k * threads + lane % 4 * 8;
    if (at < vectors) in.prefetch(head + at * Source::width);
  }
#endif
}

// `before` is called ahead of the first load, with the elements before the first vector, the vectors, and the thread.
template <int Loads, int Align, class Source, class Before, class Body>
__device__ __forceinline__ void read_run(const Source& in, std::int64_t count, std::int64_t thread,
                                         std::int64_t threads, Before&& before, Body&& body) {
  using element = typename Source::element;
  using vector = typename Source::template vector_of<>;
  constexpr int width = Source::width;
  std::int64_t head = 0;
  if constexpr (width > 1) {
    head = in.template head<width*(Align / 16)>();
    if (head > count) head = count;
  }
  std::int64_t vectors = (count - head) / width;
  if (Align > 16 && width > 1) vectors &= ~std::int64_t{1};
  std::int64_t i = thread;
  before(head, vectors, i);
  if constexpr (width > 1) {
    const std::int64_t inside = vectors * width, single = count - inside;
#pragma unroll 1
    for (std::int64_t s = i; s < single; s += threads) {
      const std::int64_t at = s < head ? s : s + inside;
      const element one[1] = {in.at(at)};
      body(one, positions<1>{at, 0});
    }
  }
  // All lanes of a warp take a turn, or none: lanes that go on alone would make the warp wait for memory once more.
  for (; (i | 31) + (Loads - 1) * threads < vectors; i += Loads * threads) {
    vector loaded[Loads];
#pragma unroll
    for (int k = 0; k < Loads; ++k) loaded[k] = in.fetch(head + (i + k * threads) * width);
    pass_full_turn(in, loaded, head + i * width, threads * width, body);
  }
  // The vectors are cleared. Otherwise, within a loop, those that are not loaded keep the previous turn's values and
  // their registers.
  vector rest[Loads] = {};
#pragma unroll
  for (int k = 0; k < Loads; ++k) in.fetch_if(i + k * threads < vectors, head + (i + k * threads) * width, rest[k]);
  pass_loaded(in, rest, vectors - i, threads, head + i * width, body);
}

}  // namespace coalesce::detail
