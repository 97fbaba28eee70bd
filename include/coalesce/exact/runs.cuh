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

// The share of `worker` (of `workers`, each of `team` threads) in `count` neighbouring elements. Tiles of loads x team
// vectors go round the workers, the next tile is requested while one is added.
template <class Input, class Engine>
__device__ __forceinline__ void add_share(const Input& in, std::int64_t count, Engine& engine, int thread, int team,
                                          std::int64_t worker, std::int64_t workers) {
  constexpr int loads = Engine::loads, width = Input::width;
  std::int64_t before = in.before();
  if (before > count) before = count;
  const std::int64_t whole = (count - before) / width, tile = static_cast<std::int64_t>(loads) * team;
  const std::int64_t rounds = whole / (workers * tile);
  // The last, short tile of each worker is cut anew, evenly, and requested at once like the others.
  const std::int64_t stride = workers * team, rest = rounds * workers * tile + worker * team + thread;
  std::int64_t at = worker * tile + thread;
  typename Input::vector flying[loads];
  if (rounds > 0) {
#pragma unroll
    for (int u = 0; u < loads; ++u) flying[u] = in.load(before + (at + u * team) * width);
    for (std::int64_t i = 1; i < rounds; ++i) {
      at += workers * tile;
      engine.round(flying, [&](int u) { return in.load(before + (at + u * team) * width); });
    }
    drain(engine, flying, loads);
    settle(engine, loads * width);
  }
  int left = 0;
#pragma unroll
  for (int u = 0; u < loads; ++u) {
    if (rest + u * stride < whole) {
      flying[u] = in.load(before + (rest + u * stride) * width);
      left = u + 1;
    }
  }
  drain(engine, flying, left);
  settle(engine, loads * width);
  if (worker == workers - 1) {
    const std::int64_t inside = whole * width;
    for (std::int64_t i = thread; i < count - inside; i += team) {
      const std::int64_t j = i < before ? i : i + inside;
      engine.one(in.at(j, j));
    }
  }
}

// The same elements' flags, by a slower way that is rarely gone. Stops at the first that says `something` unless all
// have to be seen.
template <class Input, int Loads>
__device__ unsigned flags_of_share(const Input& in, std::int64_t count, int thread, int team, std::int64_t worker,
                                   std::int64_t workers, bool all) {
  constexpr int width = Input::width;
  std::int64_t before = in.before();
  if (before > count) before = count;
  const std::int64_t whole = (count - before) / width, tile = static_cast<std::int64_t>(Loads) * team;
  const std::int64_t tiled = whole / (workers * tile) * (workers * tile);
  unsigned flags = 0;
  const auto look = [&](std::int64_t i) { flags |= in.flags(i, i); };
  const auto goes_on = [&] { return all || !(flags & something); };
  for (std::int64_t at = worker * tile; at < tiled && goes_on(); at += workers * tile) {
    for (int u = 0; u < Loads; ++u) {
      for (int k = 0; k < width; ++k) look(before + (at + u * team + thread) * width + k);
    }
  }
  for (std::int64_t at = tiled + worker * team + thread; at < whole && goes_on(); at += workers * team) {
    for (int k = 0; k < width; ++k) look(before + at * width + k);
  }
  if (worker == workers - 1) {
    const std::int64_t inside = whole * width;
    for (std::int64_t i = thread; i < count - inside && goes_on(); i += team) look(i < before ? i : i + inside);
  }
  return flags;
}

// A block's part of a sum.
template <range R>
struct partial {
  unsigned long long flags;
  long long limb[limbs_of<R>];
};

// Slice `slice` of a run, by a whole block: the sum in room.limb and room.flags.
template <class Input>
__device__ __forceinline__ void sum_slice(const Input& in, std::int64_t count, char* shared,
                                          block_room<engine<Input>>& room, int threads, int slice, int slices) {
  using Engine = engine<Input>;
  constexpr int limbs = limbs_of<Input::values>;
  const int t = threadIdx.x;
  for (int k = t; k < limbs; k += threads) room.limb[k] = 0;
  if (t == 0) room.flags = 0;
  Engine engine;
  engine.place(shared, t, room.limb);
  engine.zero();
  engine.begin();
  if (Input::values == range::product) __syncthreads();  // before rare products go to the limbs
  add_share(in, count, engine, t, threads, slice, slices);
  engine.close();
  const bool special = __syncthreads_or(engine.met_special());
  fold_block<Engine>(shared, room, threads);
  // Elements are looked at again where the sum cannot tell: after infinities and NaN, and whether it is one of -0s
  // only, which leave nothing above the lowest limbs.
  // In two's complement -0 leaves 2^32 - 2^32 in the engine's lowest bins: four limbs that say nothing here.
  bool nothing = true;
  constexpr int lowest = Engine::origin / 32;
  for (int k = t; k < limbs; k += threads) {
    nothing = nothing && (room.limb[k] == 0 || (k >= lowest && k < lowest + 4));
  }
  if (__syncthreads_and(nothing) || special) {
    const unsigned seen = flags_of_share<Input, Engine::loads>(in, count, t, threads, slice, slices, special);
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
__device__ __forceinline__ void leave(partial<Engine::values>& to, const block_room<Engine>& room, int threads) {
  for (int k = threadIdx.x; k < block_room<Engine>::limbs; k += threads) to.limb[k] = room.limb[k];
  if (threadIdx.x == 0) to.flags = room.flags;
}

// What `slices` blocks have left, put together by the last of them, in room.limb.
template <class Engine>
__device__ __forceinline__ void put_together(const partial<Engine::values>* all, int slices, block_room<Engine>& room,
                                             int threads) {
  constexpr int limbs = block_room<Engine>::limbs;
  const int t = threadIdx.x;
  // A warp takes a limb. Low and high halves are added apart, so that no sum of many leaves its 64 bits.
  for (int k = t / 32; k < limbs; k += threads / 32) {
    long long low = 0, high = 0;
    for (int i = t % 32; i < slices; i += 32) {
      const long long part = __ldcg(all[i].limb + k);
      low += part & 0xffffffffll;
      high += part >> 32;
    }
    low = warp_sum(low);
    high = warp_sum(high);
    if (t % 32 == 0) {
      room.low[k] = low;
      room.high[k] = high;
    }
  }
  for (int i = t; i < slices; i += threads) atomicOr(&room.flags, static_cast<unsigned>(__ldcg(&all[i].flags)));
  __syncthreads();
  for (int k = t; k < limbs; k += threads) room.limb[k] = room.low[k] + (k > 0 ? room.high[k - 1] : 0);
  __syncthreads();
}

template <class Input, class R>
struct runs {
  Input in;
  answer_to<R> to;
  std::int64_t count;
  places where;
  int slices;  // blocks for a run
  partial<Input::values>* partials;
  unsigned* tickets;
  total<Input::values>* into;  // not null: the sum is added to this total, and `to` is not used
};

// Small: with fewer threads than columns, for little to add: zeroing and folding columns would be most of the work.
template <bool Small, class Input, class R>
__global__ void __launch_bounds__(engine<Input>::threads, 1) sum_runs(const runs<Input, R> problem) {
  using Engine = engine<Input>;
  extern __shared__ __align__(16) char shared[];
  __shared__ block_room<Engine> room;
  const int threads = Small ? static_cast<int>(blockDim.x) : Engine::threads, slices = problem.slices;
  const int run = static_cast<int>(blockIdx.x) / slices, slice = static_cast<int>(blockIdx.x) % slices;
  const auto begin = problem.where.begin(run);
  const Input in = problem.in.from(begin.first, begin.second);
  sum_slice(in, problem.count, shared, room, threads, slice, slices);
  if (slices > 1) {
    leave(problem.partials[blockIdx.x], room, threads);
    if (!detail::last_block(problem.tickets + run, slices)) return;
    put_together<Engine>(problem.partials + static_cast<std::int64_t>(run) * slices, slices, room, threads);
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
