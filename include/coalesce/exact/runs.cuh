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
  std::int64_t at = worker * tile + thread;
  if (rounds > 0) {
    typename Input::vector flying[loads];
#pragma unroll
    for (int u = 0; u < loads; ++u) flying[u] = in.load(before + (at + u * team) * width);
    for (std::int64_t i = 1; i < rounds; ++i) {
      at += workers * tile;
      engine.round(flying, [&](int u) { return in.load(before + (at + u * team) * width); });
    }
#pragma unroll
    for (int u = 0; u < loads; ++u) engine.vector(flying[u]);
  }
  // What is left: less than a tile for each worker.
  at = rounds * workers * tile + worker * team + thread;
  const std::int64_t stride = workers * team;
  for (; at + stride < whole; at += 2 * stride) {
    const typename Input::vector v = in.load(before + at * width), w = in.load(before + (at + stride) * width);
    engine.vector(v);
    engine.vector(w);
  }
  if (at < whole) engine.vector(in.load(before + at * width));
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
template <class Input>
__device__ unsigned flags_of_share(const Input& in, std::int64_t count, int thread, int team, std::int64_t worker,
                                   std::int64_t workers, bool all) {
  unsigned flags = 0;
  for (std::int64_t i = worker * team + thread; i < count && (all || !(flags & something)); i += workers * team)
    flags |= in.flags(i, i);
  return flags;
}

// A block's part of a sum.
template <range R>
struct partial {
  unsigned flags;
  unsigned word[limbs_of<R>];
};

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
  constexpr int limbs = limbs_of<Input::values>;
  const int threads = Small ? static_cast<int>(blockDim.x) : Engine::threads;
  extern __shared__ __align__(16) char shared[];
  __shared__ block_room<Engine> room;
  const int t = threadIdx.x, slices = problem.slices;
  const int run = static_cast<int>(blockIdx.x) / slices, slice = static_cast<int>(blockIdx.x) % slices;
  const auto begin = problem.where.begin(run);
  const Input in = problem.in.from(begin.first, begin.second);
  for (int k = t; k < limbs; k += threads) room.limb[k] = 0;
  if (t == 0) room.flags = 0;
  Engine engine;
  engine.place(shared, t, room.limb);
  engine.zero();
  engine.begin();
  if (Input::values == range::product) __syncthreads();  // before rare products go to the limbs
  add_share(in, problem.count, engine, t, threads, slice, slices);
  engine.close();
  const bool special = __syncthreads_or(engine.met_special());
  fold_block<Engine>(shared, room, threads);
  carried sum;
  if (t < 32) {
    sum = carry_limbs<limbs>(room.limb, room.word);
    if (t == 0) room.zero = sum.zero;
  }
  __syncthreads();
  // Elements are looked at again where the sum cannot tell: after infinities and NaN, and whether a sum of 0 is one of
  // -0s.
  if (special || room.zero) {
    const unsigned seen = flags_of_share(in, problem.count, t, threads, slice, slices, special);
    if (seen != 0) atomicOr(&room.flags, seen);
    __syncthreads();
  } else if (t == 0) {
    room.flags = something;
  }
  if (slices > 1) {
    partial<Input::values>& mine = problem.partials[blockIdx.x];
    for (int k = t; k < limbs; k += threads) mine.word[k] = room.word[k];
    if (t == 0) mine.flags = room.flags;
    if (!detail::last_block(problem.tickets + run, slices)) return;
    // A warp takes a limb. Sums are in two's complement: what goes beyond the last limb is not missed.
    const partial<Input::values>* all = problem.partials + static_cast<std::int64_t>(run) * slices;
    for (int k = t / 32; k < limbs; k += threads / 32) {
      long long part = 0;
      for (int i = t % 32; i < slices; i += 32) part += __ldcg(all[i].word + k);
      part = warp_sum(part);
      if (t % 32 == 0) room.limb[k] = part;
    }
    for (int i = t; i < slices; i += threads) atomicOr(&room.flags, __ldcg(&all[i].flags));
    __syncthreads();
    if (t < 32) sum = carry_limbs<limbs>(room.limb, room.word);
  } else {
    __syncthreads();
  }
  if (t >= 32) return;
  sum.number.exponent += layout<Input::values>::unit;
  if (t > 0) return;
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
