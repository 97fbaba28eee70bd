// Deals out a run in tiles of vectors: to whichever warp is free, and at the end to whichever block.
#pragma once

#include <coalesce/detail/exact/fold.cuh>

namespace coalesce::detail::exact {

// Hands out tiles in chunks to any free block, because one address takes about one atomic a nanosecond. Device memory
// holds the count of chunks that are taken, 0 before; the block holds which ones it has. A block begins with two chunks
// and takes another when it begins one, so it does not wait for the atomic.
struct tiles_of_all {
  static constexpr unsigned chunk_tiles = 16, most = 64, not_yet = ~0u;
  unsigned* next;
  unsigned chunk[most];

  __device__ __forceinline__ void begin(unsigned block, unsigned blocks) {
    const unsigned i = threadIdx.x;
    if (i < most) chunk[i] = i < 2 ? i * blocks + block : not_yet;
  }
  // The most tiles of a block: as many as its bins hold. All blocks together can take all tiles, since a call has no
  // more than most_of_block for each of them.
  template <class Engine>
  static __device__ __forceinline__ unsigned most_of(int tile_elements, unsigned tiles_given) {
    if constexpr (!shares_bins<Engine>) {
      return most;
    } else {
      const std::int64_t room = Engine::most_of_block / tile_elements - tiles_given;
      return static_cast<unsigned>(::min(room / chunk_tiles + 1, std::int64_t(most)));
    }
  }
  __device__ __forceinline__ unsigned wait_for(unsigned i) const {
    unsigned taken;
    do {
      taken = *static_cast<const volatile unsigned*>(chunk + i);
    } while (taken == not_yet);
    return taken;
  }
};

// Cuts `count` neighbouring elements into tiles of 32 x Loads vectors. Elements before and after the whole vectors
// count as vectors of one element, at the end of all.
template <class Input, int Loads>
struct tiling {
  static constexpr int tile = 32 * Loads, width = Input::width;
  std::int64_t before, whole;
  int single;

  __device__ __forceinline__ tiling(const Input& in, std::int64_t count) {
    before = in.before();
    if (before > count) before = count;
    whole = (count - before) / width;
    single = static_cast<int>(count - whole * width);
  }
  __device__ __forceinline__ std::int64_t full() const { return whole / tile; }
  __device__ __forceinline__ std::int64_t tiles() const { return (whole + single + tile - 1) / tile; }
  __device__ __forceinline__ std::int64_t element(std::int64_t vector) const {  // its first
    const std::int64_t j = vector - whole;
    return j < 0 ? before + vector * width : j < before ? j : j + whole * width;
  }
};

// The number of tiles that are assigned beforehand, if all workers share the rest: `step` are a round of all.
__device__ __forceinline__ std::int64_t tiles_given(std::int64_t full, std::int64_t step, bool aligned) {
  const std::int64_t rounds = full / step;
  return (aligned && rounds >= 16 ? rounds - ::min(rounds / 8, std::int64_t(16)) : 1) * step;
}

// Adds a share of `count` neighbouring elements, a warp a call. Tiles go round the workers (blocks). A free warp
// takes the worker's next tile: `next` counts the tiles that are taken (null: there is one warp). Some engines first
// give each warp equally many tiles without the counter and hand out the last ones alone; if `rest` is not null, they
// hand them out among all workers, which then end at the same time. The load of the next tile is issued while a tile is
// added. Zeros stand for missing vectors: the sum does not change.
template <class Input, class Engine, class Start>
__device__ __forceinline__ void add_share(const Input& in, std::int64_t count, Engine& engine, unsigned warp,
                                          unsigned warps, unsigned* next, tiles_of_all* rest, std::int64_t worker,
                                          std::int64_t workers, Start start) {
  using cut = tiling<Input, Engine::loads>;
  constexpr int loads = Engine::loads, width = Input::width, tile = cut::tile;
  const int lane = threadIdx.x % 32;
  const cut tiled(in, count);
  const std::int64_t before = tiled.before, whole = tiled.whole, full = tiled.full(), tiles = tiled.tiles();
  const auto request = [&](std::int64_t at, int u) {
    unsigned own = lane;
    // Rarely gone: with few registers what it takes is to be computed here, not kept through the loop.
    if constexpr (Engine::lazy && sizeof(typename Input::element) == 2)
      asm volatile("mov.u32 %0, %%laneid;" : "=r"(own));
    const std::int64_t i = at * tile + own + u * 32;
    typename Input::vector v{};
    if (i < whole)
      v = in.load(before + i * width);
    else if (i - whole < tiled.single)
      v = in.single(tiled.element(i));
    return v;
  };
  typename Input::vector flying[loads];
  std::int64_t at = warp * workers + worker;
#pragma unroll
  for (int u = 0; u < loads; ++u) flying[u] = request(at, u);
  start();  // what can be done while the first requests are under way
  const bool aligned = in.all_aligned(before), of_all = Engine::fixed_shares && aligned && rest != nullptr;
  std::int64_t rest_begins = worker;  // tiles, or that of ticket 0
  unsigned most_chunks = 0;           // of all's for this block
  if constexpr (Engine::fixed_shares) {
    const std::int64_t step = warps * workers, given = tiles_given(full, step, aligned), stride = step * tile * width,
                       first = before + (at * tile + lane) * width;
    unsigned fixed = static_cast<unsigned>(given / step) - 1;
    rest_begins = of_all ? given : worker + given - step;
    most_chunks = tiles_of_all::most_of<Engine>(width * tile, static_cast<unsigned>(given / workers));
    Input here = in.from(first, first);
    at += given - step;
#pragma unroll 1
    for (; fixed > 0; --fixed) {
      const Input now = here;
      here = here.from(stride, stride);
      engine.round(
          flying, [&](int u) { return here.load_aligned(u * 32 * width); },
          [&](int u) { return now.load_aligned(u * 32 * width); });
    }
  }
  // Asked for a round before it is needed. inc, and up to 2^31: an add would be made one for all active lanes at once,
  // which takes longer.
  const unsigned first_ticket = warps;
  unsigned ahead, fetched = 0;
  const auto fetches = [&](unsigned ticket) {
    return of_all && lane == 0 && ticket % tiles_of_all::chunk_tiles == 0 &&
           ticket / tiles_of_all::chunk_tiles + 2 < most_chunks;
  };
  const auto take = [&] {
    unsigned taken = warp += warps;
    if (next != nullptr && lane == 0) {
      asm volatile("atom.shared.inc.u32 %0, [%1], 0x7fffffff;"
                   : "=r"(taken)
                   : "r"(static_cast<unsigned>(__cvta_generic_to_shared(next)))
                   : "memory");
    }
    if (fetches(taken - first_ticket))
      asm volatile("atom.relaxed.gpu.global.inc.u32 %0, [%1], 0x7fffffff;"
                   : "=r"(fetched)
                   : "l"(rest->next)
                   : "memory");
    return taken;
  };
  const auto taken_is = [&](unsigned taken) {
    if (fetches(taken - first_ticket))
      *static_cast<volatile unsigned*>(rest->chunk + (taken - first_ticket) / tiles_of_all::chunk_tiles + 2) =
          fetched + 2 * static_cast<unsigned>(workers);
    ahead = __shfl_sync(~0u, taken, 0);
  };
  const auto tile_of = [&](unsigned ticket) -> std::int64_t {
    if (!of_all) return rest_begins + ticket * workers;
    const unsigned i = (ticket - first_ticket) / tiles_of_all::chunk_tiles;
    if (i >= most_chunks) return tiles;
    return rest_begins + rest->wait_for(i) * std::int64_t(tiles_of_all::chunk_tiles) +
           (ticket - first_ticket) % tiles_of_all::chunk_tiles;
  };
  taken_is(take());
  while (at < tiles) {
    const std::int64_t following = tile_of(ahead);
    const unsigned taken = take();
    const auto again = [&](int u) { return request(at, u); };
    if (following < full && aligned) {
      const std::int64_t first = before + (following * tile + lane) * width;
      const Input here = in.from(first, first);
      engine.round(flying, [&](int u) { return here.load_aligned(u * 32 * width); }, again);
    } else {
      engine.round(flying, [&](int u) { return request(following, u); }, again);
    }
    taken_is(taken);
    at = following;
  }
}

// Elements are looked at again where the sum cannot tell: after infinities and NaN (all), and whether it is one of -0s
// only (until one says `something`). By a block, for the tiles that it has added.
template <class Engine, class Input>
__device__ __noinline__ void find_flags(const Input& in, std::int64_t count, block_room<Engine>& room, int threads,
                                        int split, int splits, bool all, const tiles_of_all* rest) {
  using cut = tiling<Input, Engine::loads>;
  const cut tiled(in, count);
  const int warp = static_cast<int>(threadIdx.x) / 32, warps = threads / 32;
  const std::int64_t vectors = tiled.whole + tiled.single, step = static_cast<std::int64_t>(warps) * splits;
  unsigned flags = 0;
  const auto goes_on = [&] { return all || !(flags & something); };
  const auto look = [&](std::int64_t at) {
    for (std::int64_t i = at * cut::tile + threadIdx.x % 32; i < (at + 1) * cut::tile && i < vectors && goes_on();
         i += 32) {
      const std::int64_t first = tiled.element(i);
      for (int k = 0; k < (i < tiled.whole ? Input::width : 1); ++k) flags |= in.flags(first + k, first + k);
    }
  };
  const bool of_all = Engine::fixed_shares && in.all_aligned(tiled.before) && rest != nullptr;
  const std::int64_t given = of_all ? tiles_given(tiled.full(), step, true) : tiled.tiles();
  for (std::int64_t at = static_cast<std::int64_t>(warp) * splits + split; at < given && goes_on(); at += step)
    look(at);
  for (unsigned i = warp; of_all && i < tiles_of_all::most * tiles_of_all::chunk_tiles && goes_on(); i += warps) {
    const unsigned chunk = rest->chunk[i / tiles_of_all::chunk_tiles];
    if (chunk != tiles_of_all::not_yet)
      look(given + chunk * std::int64_t(tiles_of_all::chunk_tiles) + i % tiles_of_all::chunk_tiles);
  }
  if (threadIdx.x == 0) room.flags = 0;
  __syncthreads();
  if (flags != 0) atomicOr(&room.flags, flags);
  __syncthreads();
}

}  // namespace coalesce::detail::exact
