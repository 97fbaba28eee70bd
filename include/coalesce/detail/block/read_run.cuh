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

// Vectors of one while there are Loads of them for every lane; behind the first smaller one no whole one comes.
template <int Loads, class Source>
inline constexpr int vectors_of_tile = longest_tile<typename Source::element> / Source::width < 1 ? 1
                                       : longest_tile<typename Source::element> / Source::width < Loads
                                           ? longest_tile<typename Source::element> / Source::width
                                           : Loads;

// Gives `body` Loads vectors by tiles; the first begins at element `first`, each next one `step` further on.
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

// Gives `body` those of a thread's last vectors that are there, `left` and the threads' number saying which; the first
// begins at element `first`. By twos where there are two; of larger elements than bytes by fours where there are four
// (64 bytes under way twice are more than 64 registers hold).
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

// Asks for what the warps read first, before they may read it: lines go to L2, where they never are old. So a launch
// that starts early keeps the memory at work while the one ahead of it folds. Of each of a warp's first `Vectors`
// vectors of 512 bytes four lanes have a line each. Not of arrays that may be in L2 already.
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

//
// `before` is called when all is known that does not need the elements, with what is known.
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
  // All lanes of a warp or none: lanes that go on alone would make the warp wait for the memory once more.
  for (; (i | 31) + (Loads - 1) * threads < vectors; i += Loads * threads) {
    vector loaded[Loads];
#pragma unroll
    for (int k = 0; k < Loads; ++k) loaded[k] = in.fetch(head + (i + k * threads) * width);
    pass_full_turn(in, loaded, head + i * width, threads * width, body);
  }
  // Cleared: otherwise, within a loop, elements that are not loaded keep the previous turn's values, and their
  // registers stay live.
  vector rest[Loads] = {};
#pragma unroll
  for (int k = 0; k < Loads; ++k) in.fetch_if(i + k * threads < vectors, head + (i + k * threads) * width, rest[k]);
  pass_loaded(in, rest, vectors - i, threads, head + i * width, body);
}

}  // namespace coalesce::detail
