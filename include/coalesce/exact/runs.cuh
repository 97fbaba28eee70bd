// The exact sum of one whole array, or of each of a few long rows: blocks share a row, each folds its threads' columns
// to limbs and leaves them in the workspace; the row's last block adds the limbs up and rounds.
#pragma once

#include <coalesce/device/launch.cuh>
#include <coalesce/exact/fold.cuh>

namespace coalesce::exact {

// Where the elements of result r lie in both inputs.
struct places {
  reduction_layout layout;

  struct pair {
    std::int64_t first, second;
  };
  static __device__ __forceinline__ pair decode(const axis* list, int rank, std::int64_t i) {
    pair at{0, 0};
    for (int k = rank - 1; k > 0; --k) {
      const std::int64_t next = detail::divide(i, list[k].extent), here = i - next * list[k].extent;
      at.first += here * list[k].stride;
      at.second += here * list[k].other;
      i = next;
    }
    if (rank > 0) {
      at.first += i * list[0].stride;
      at.second += i * list[0].other;
    }
    return at;
  }
  // Element j of a reduction, from its beginning.
  __device__ __forceinline__ pair element(std::int64_t j) const {
    return decode(layout.reduced, layout.reduced_rank, j);
  }
  // Where result r begins, and to which index of `out` it goes.
  __device__ __forceinline__ pair begin(std::int64_t r) const {
    pair at = decode(layout.kept, layout.kept_rank, r);
    at.first += layout.offset;
    at.second += layout.other_offset;
    return at;
  }
  __device__ __forceinline__ std::int64_t index(std::int64_t r) const {
    std::int64_t at = layout.kept_index;
    for (int k = layout.kept_rank - 1; k > 0; --k) {
      const std::int64_t next = detail::divide(r, layout.kept[k].extent);
      at += (r - next * layout.kept[k].extent) * layout.kept[k].index;
      r = next;
    }
    return layout.kept_rank > 0 ? at + r * layout.kept[0].index : at;
  }
};

template <class Engine>
__device__ __forceinline__ void settle(Engine& engine, int numbers) {
  if constexpr (Engine::most < 1 << 20) engine.settle_after(numbers, engine);
}

// Adds a share of `count` neighbouring elements, a warp a call. Tiles of 32 x loads vectors go round the workers
// (blocks); a worker's tiles go to whichever of its warps is free: `next` counts those that are taken (null: there is
// one warp). While a tile is added the next one is requested. Elements before and after the whole vectors count as
// vectors of one element and zeros, at the end of all; zeros also stand for vectors that are not there: the sum does
// not change.
template <class Input, class Engine, class Start>
__device__ __forceinline__ void add_share(const Input& in, std::int64_t count, Engine& engine, unsigned warp,
                                          unsigned warps, unsigned* next, std::int64_t worker, std::int64_t workers,
                                          Start start) {
  constexpr int loads = Engine::loads, width = Input::width, tile = 32 * loads;
  const int lane = threadIdx.x % 32;
  std::int64_t before = in.before();
  if (before > count) before = count;
  const std::int64_t whole = (count - before) / width;
  const int single = static_cast<int>(count - whole * width);
  const std::int64_t full = whole / tile, tiles = (whole + single + tile - 1) / tile;
  const auto request = [&](std::int64_t at, int u) {
    const std::int64_t i = at * tile + lane + u * 32;
    typename Input::vector v{};
    if (i < whole) {
      v = in.load(before + i * width);
    } else if (i - whole < single) {
      const std::int64_t j = i - whole;
      v = in.single(j < before ? j : j + whole * width);
    }
    return v;
  };
  typename Input::vector flying[loads];
  std::int64_t at = warp * workers + worker;
#pragma unroll
  for (int u = 0; u < loads; ++u) flying[u] = request(at, u);
  start();  // what can be done while the first requests are under way
  // Asked for a round before it is needed.
  const auto take = [&] {
    unsigned taken = warp += warps;
    if (next != nullptr && lane == 0) {
      asm volatile("atom.shared.add.u32 %0, [%1], 1;"
                   : "=r"(taken)
                   : "r"(static_cast<unsigned>(__cvta_generic_to_shared(next)))
                   : "memory");
    }
    return taken;
  };
  const bool aligned = in.all_aligned(before);
  unsigned ahead = __shfl_sync(~0u, take(), 0);
  while (at < tiles) {
    const std::int64_t following = ahead * workers + worker;
    const unsigned taken = take();
    const auto again = [&](int u) { return request(at, u); };
    if (following < full && aligned) {
      const std::int64_t first = before + (following * tile + lane) * width;
      const Input here = in.from(first, first);
      engine.round(flying, [&](int u) { return here.load_aligned(u * 32 * width); }, again);
    } else {
      engine.round(flying, [&](int u) { return request(following, u); }, again);
    }
    ahead = __shfl_sync(~0u, taken, 0);
    at = following;
  }
}

// The flags of the same elements, by a slower way that is rarely gone. Stops at the first that says `something` unless
// all have to be seen.
template <class Input, int Loads>
__device__ unsigned flags_of_share(const Input& in, std::int64_t count, int warp, int warps, std::int64_t worker,
                                   std::int64_t workers, bool all) {
  constexpr int width = Input::width, tile = 32 * Loads;
  std::int64_t before = in.before();
  if (before > count) before = count;
  const std::int64_t whole = (count - before) / width, vectors = whole + count - whole * width;
  unsigned flags = 0;
  const auto goes_on = [&] { return all || !(flags & something); };
  for (std::int64_t at = warp * workers + worker; at * tile < vectors && goes_on(); at += warps * workers) {
    for (std::int64_t i = at * tile + threadIdx.x % 32; i < (at + 1) * tile && i < vectors && goes_on(); i += 32) {
      const std::int64_t j = i - whole, first = j < 0 ? before + i * width : j < before ? j : j + whole * width;
      for (int k = 0; k < (j < 0 ? width : 1); ++k) flags |= in.flags(first + k, first + k);
    }
  }
  return flags;
}

// What blocks leave for the last of them: limb k of block i is word k * blocks + i, after the limbs come the flags.
template <range R>
constexpr int left_words = limbs_of<R> + 1;

// Slice `slice` of a run, by a whole block: the sum in room.limb and room.flags.
template <class Engine, class Input>
__device__ __forceinline__ void sum_slice(const Input& in, std::int64_t count, char* shared, block_room<Engine>& room,
                                          int threads, int slice, int slices) {
  constexpr int limbs = limbs_of<Input::values>;
  const int t = threadIdx.x;
  for (int k = t; k < limbs; k += threads) room.limb[k] = 0;
  if (t == 0) {
    room.flags = 0;
    room.next = static_cast<unsigned>(threads) / 32;
  }
  Engine engine;
  engine.place(shared, t, room.limb);
  engine.begin();
  add_share(in, count, engine, t / 32, threads / 32, &room.next, slice, slices, [&] {
    engine.start();
    __syncthreads();
  });
  const bool special = __syncthreads_or(engine.met_special());
  fold_block(engine, shared, room, threads);
  // Elements are looked at again where the sum cannot tell: after infinities and NaN, and whether it is one of -0s
  // only, which leave nothing above the lowest limbs.
  // In two's complement -0 leaves 2^32 - 2^32 in the lowest bins of doubles: four limbs that say nothing here.
  bool nothing = true;
  constexpr int lowest = Engine::origin / 32, silent = Engine::zeros_leave_traces ? 4 : 0;
  for (int k = t; k < limbs; k += threads) {
    nothing = nothing && (room.limb[k] == 0 || (k >= lowest && k < lowest + silent));
  }
  if (__syncthreads_and(nothing) || special) {
    const unsigned seen = flags_of_share<Input, Engine::loads>(in, count, t / 32, threads / 32, slice, slices, special);
    if (seen != 0) atomicOr(&room.flags, seen);
  } else if (t == 0) {
    room.flags = something;
  }
  __syncthreads();
}

// The number that room.limb holds, for the first warp.
template <class Engine>
__device__ __forceinline__ carried carry_room(block_room<Engine>& room) {
  carried sum{};
  if (threadIdx.x < 32) sum = carry_limbs<block_room<Engine>::limbs>(room.limb, room.word);
  sum.number.exponent += layout<Engine::values>::unit;
  return sum;
}

template <class Engine>
__device__ __forceinline__ void leave(long long* all, int slice, int slices, const block_room<Engine>& room) {
  constexpr int limbs = block_room<Engine>::limbs;
  if (threadIdx.x >= 32) return;
  int lowest = limbs, end = 0;  // of the limbs that are not 0: most are
  for (int k = threadIdx.x; k < limbs; k += 32) {
    // In pieces of 32 bits, so that no sum of many leaves its 64 bits.
    const long long own = k == limbs - 1 ? room.limb[k] : room.limb[k] & 0xffffffffll;
    const long long left = own + (k > 0 ? room.limb[k - 1] >> 32 : 0);
    all[k * slices + slice] = left;
    if (left != 0) {
      lowest = ::min(lowest, k);
      end = k + 1;
    }
  }
  lowest = __reduce_min_sync(~0u, lowest);
  end = __reduce_max_sync(~0u, end);
  if (threadIdx.x == 0) all[limbs * slices + slice] = room.flags | lowest << 8 | end << 16;
}

// Of a word of each block, a lane's: five at once are requested. `nothing` stands for those that are not there.
template <class Use>
__device__ __forceinline__ void over_blocks(const long long* words, int blocks, long long nothing, Use use) {
  for (int first = threadIdx.x % 32; first < blocks; first += 5 * 32) {
    long long word[5];
#pragma unroll
    for (int u = 0; u < 5; ++u) word[u] = first + 32 * u < blocks ? __ldcg(words + first + 32 * u) : nothing;
#pragma unroll
    for (int u = 0; u < 5; ++u) use(word[u]);
  }
}

// What `slices` blocks have left, put together by the last of them, in room.limb.
template <class Engine>
__device__ __forceinline__ void put_together(const long long* all, int slices, block_room<Engine>& room, int threads) {
  constexpr int limbs = block_room<Engine>::limbs;
  const int t = threadIdx.x, lane = t % 32;
  unsigned flags = 0;
  int lowest = limbs, end = 0;
  over_blocks(all + limbs * slices, slices, limbs << 8, [&](long long word) {
    const unsigned said = static_cast<unsigned>(word);
    flags |= said & 0xff;
    lowest = ::min(lowest, static_cast<int>(said >> 8 & 0xff));
    end = ::max(end, static_cast<int>(said >> 16));
  });
  flags = __reduce_or_sync(~0u, flags);
  lowest = __reduce_min_sync(~0u, lowest);
  end = __reduce_max_sync(~0u, end);
  for (int k = t / 32; k < limbs; k += threads / 32) {  // a warp takes a limb
    long long sum = 0;
    if (k >= lowest && k < end) {
      over_blocks(all + k * slices, slices, 0, [&](long long part) { sum += part; });
      sum = warp_sum(sum);
    }
    if (lane == 0) room.limb[k] = sum;
  }
  if (t == 0) room.flags = flags;
  __syncthreads();
}

template <class Input, class R>
struct runs {
  Input in;
  answer_to<R> to;
  std::int64_t count;
  places where;
  int slices;  // blocks for a run
  long long* partials;
  unsigned* tickets;
  total<Input::values>* into;  // not null: the sum is added to this total, and `to` is not used
};

template <bool Small, class Input>
using engine_of_runs = std::conditional_t<Small, small_engine<Input>, engine<Input>>;

// Small: for little to add, and with fewer threads than the engine has columns.
template <bool Small, class Input, class R>
__global__ void __launch_bounds__(engine_of_runs<Small, Input>::threads, 1) sum_runs(const runs<Input, R> problem) {
  using Engine = engine_of_runs<Small, Input>;
  extern __shared__ __align__(16) char shared[];
  __shared__ block_room<Engine> room;
  const int threads = Small ? static_cast<int>(blockDim.x) : Engine::threads, slices = problem.slices;
  const int run = static_cast<int>(blockIdx.x) / slices, slice = static_cast<int>(blockIdx.x) % slices;
  const auto begin = problem.where.begin(run);
  const Input in = problem.in.from(begin.first, begin.second);
  sum_slice(in, problem.count, shared, room, threads, slice, slices);
  if (slices > 1) {
    long long* all = problem.partials + static_cast<std::int64_t>(run) * slices * left_words<Input::values>;
    leave(all, slice, slices, room);
    if (!detail::last_block(problem.tickets + run, slices)) return;
    put_together<Engine>(all, slices, room, threads);
  }
  const carried sum = carry_room(room);
  if (threadIdx.x > 0) return;
  if (problem.into != nullptr) {
    total<Input::values> part;
    part.header = total<Input::values>::blank_header;
    for (int i = 0; i < part.words; ++i)
      part.word[i] = room.word[2 * i] | static_cast<unsigned long long>(room.word[2 * i + 1]) << 32;
    set_flags(part, room.flags);
    merge(*problem.into, part);
  } else {
    const R answer = answer_of<R>(sum.number, sum.zero, room.flags, problem.to.how, problem.count);
    problem.to.out[problem.where.index(run)] = answer;
  }
}

}  // namespace coalesce::exact
