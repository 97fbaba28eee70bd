// Who reads which elements of a run: `count` neighbouring elements, read by threads 0 ... threads - 1 of whatever team
// (a few lanes, a warp, a block, several blocks). Each thread calls visit_run and gets its elements tile by tile.
//
// Elements up to the first 16-byte boundary and behind the last go one each to the first threads. Between, thread t
// reads vectors t, t + threads, ...: `Loads` of them per tile, all requested before the first is used. Shares differ by
// one vector at most, so all threads end together.
#pragma once

#include "../source.cuh"

namespace coalesce::detail {

template <int Loads, class Source, class Body>
__device__ __forceinline__ void visit_run(const Source& in, std::int64_t count, std::int64_t thread,
                                          std::int64_t threads, Body&& body) {
  using element = typename Source::element;
  constexpr int width = Source::width;
  const std::int64_t head = width == 1 || in.head() < count ? in.head() : count;
  const std::int64_t vectors = (count - head) / width;
  if constexpr (width > 1) {
    const std::int64_t inside = vectors * width, single = count - inside;
    for (std::int64_t i = thread; i < single; i += threads) {
      const std::int64_t at = i < head ? i : i + inside;
      const element one[1] = {in.at(at)};
      body(one, positions<1>{at, 0});
    }
  }
  std::int64_t i = thread;
  for (; i + (Loads - 1) * threads < vectors; i += Loads * threads) {
    element tile[Loads * width];
#pragma unroll
    for (int k = 0; k < Loads; ++k) in.vector(head + (i + k * threads) * width, tile + k * width);
    body(tile, positions<width>{head + i * width, threads * width});
  }
  if constexpr (Loads > 1) {
    element rest[Loads - 1][width];
#pragma unroll
    for (int k = 0; k < Loads - 1; ++k) {
      if (i + k * threads < vectors) in.vector(head + (i + k * threads) * width, rest[k]);
    }
#pragma unroll
    for (int k = 0; k < Loads - 1; ++k) {
      if (i + k * threads < vectors) body(rest[k], positions<width>{head + (i + k * threads) * width, 0});
    }
  }
}

}  // namespace coalesce::detail
