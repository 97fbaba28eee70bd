// The exact sum of one whole array, or of each of a few long rows: blocks share a row (tiles.cuh), each folds its bins
// to limbs, these combine (combine.cuh), and the row's last block rounds.
#pragma once

#include <coalesce/detail/block/launch.cuh>
#include <coalesce/detail/exact/combine.cuh>
#include <coalesce/detail/exact/tiles.cuh>
#include <coalesce/detail/exact/windows.cuh>

namespace coalesce::detail::exact {

// The place of the elements of result r in both inputs.
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
  // The beginning of result r, and its index in `out`.
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

// Split `split` of a run, by a whole block. True: the sum is held in room.sum; else it is in room.limb. And in
// room.flags.
// `meanwhile` is for its last warp, while the first requests are under way.
template <class Engine, class Input, class Meanwhile>
__device__ __forceinline__ bool sum_split(const Input& in, std::int64_t count, char* shared, block_room<Engine>& room,
                                          int threads, int split, int splits, tiles_of_all* rest, Meanwhile meanwhile) {
  constexpr int limbs = limbs_of<Input::values>;
  const int t = threadIdx.x;
  for (int k = t; k < limbs; k += threads) room.limb[k] = 0;
  if (t == 0) {
    room.flags = something;
    room.next = static_cast<unsigned>(threads) / 32;
  }
  if (rest != nullptr) rest->begin(split, splits);
  folded sum{false, false};
  // Bins that warps share hold so many numbers at once.
  std::int64_t at_once = count;
  if constexpr (shares_bins<Engine>) at_once = Engine::most_of_block * splits;
  unsigned seen = 0;  // of infinities and NaN: looked for where they were met, by those who have
  for (std::int64_t first = 0; first == 0 || first < count; first += at_once) {
    Engine engine;
    engine.place(shared, t, room.limb);
    engine.begin();
    const Input part = in.from(first, first);
    const std::int64_t part_count = ::min(count - first, at_once);
    tiles_of_all* const shared_rest = count > at_once ? nullptr : rest;
    add_share(part, part_count, engine, t / 32, threads / 32, &room.next, shared_rest, split, splits, [&] {
      if (first > 0 && t == 0) room.next = static_cast<unsigned>(threads) / 32;
      engine.start();
      __syncthreads();
      if (first == 0 && t >= threads - 32) meanwhile();
    });
    if constexpr (shares_bins<Engine>)
      sum = fold_shared(engine, shared, room, threads);
    else
      sum = fold_block(engine, shared, room, threads);
    if (sum.special) {
      find_flags<Engine>(part, part_count, room, threads, split, splits, true, shared_rest);
      seen |= room.flags;
      __syncthreads();
    }
    if (!shares_bins<Engine>) break;  // at once
  }
  bool nothing = true;  // -0s leave nothing above the lowest limbs
  if (sum.held) {
    nothing = (room.sum.low | room.sum.high) == 0;
  } else {
    // In two's complement -0 leaves 2^32 - 2^32 in the lowest bins of doubles: four limbs that say nothing here.
    constexpr int lowest = Engine::origin / 32, silent = Engine::zeros_leave_traces ? 4 : 0;
    for (int k = t; k < limbs; k += threads) {
      nothing = nothing && (room.limb[k] == 0 || (k >= lowest && k < lowest + silent));
    }
    nothing = __syncthreads_and(nothing);
  }
  if (seen != 0) {
    if (t == 0) room.flags = seen;
    __syncthreads();
  } else if (nothing && !(count > 0 && (in.flags(0, 0) & something) != 0)) {
    find_flags<Engine>(in, count, room, threads, split, splits, false, count > at_once ? nullptr : rest);
  }
  return sum.held;
}

// The same for little to add: to registers, and by little code, because code that runs once takes as long as it takes
// to be fetched. False: windows did not hold it, and nothing is done.
template <class Engine, class Input>
__device__ __forceinline__ bool sum_by_windows(const Input& in, std::int64_t count, block_room<Engine>& room,
                                               int threads) {
  using quick = lane_windows<Input, windows_for<typename Input::number>>;
  constexpr int loads = Input::inputs == 2 ? 2 : 4, parts = quick::parts;
  const int t = threadIdx.x;
  const int shift = vectors_of_run<Input>::shift_of(in);
  const vectors_of_run<Input> request{in, shift, shift + static_cast<int>(count)};
  const int vectors = request.count(), each = (vectors + threads - 1) / threads * Input::width;  // a lane's numbers
  using vectors_in_flight = typename Input::vector[loads];
  // All of the warp's, turn by turn: begin(flying) once, body(flying, at) with the lane's first vector of the turn.
  const auto visit = [&](auto begin, auto body) {
    vectors_in_flight flying, coming;
    int at = t;
#pragma unroll
    for (int u = 0; u < loads; ++u) flying[u] = request(at + u * threads);
    begin(flying);
    while (__any_sync(~0u, at < vectors)) {
      const int next = at + loads * threads;
#pragma unroll
      for (int u = 0; u < loads; ++u) coming[u] = request(next + u * threads);
      if (!body(flying, at)) break;
      for (int u = 0; u < loads; ++u) flying[u] = coming[u];
      at = next;
    }
  };
  const auto in_windows = [&] {
    quick sum;
    sum.begin();
    visit(
        [&](const vectors_in_flight& flying) {
          unsigned most = 0;
#pragma unroll
          for (int u = 0; u < loads; ++u) quick::look(flying[u], most);
          // Room for as many of the first vectors' largest as there are; and so that 128 bits hold three windows' sum.
          sum.place(__reduce_max_sync(~0u, most), 34 - __clz(each - 1) + (parts == 3 ? 4 : 0));
        },
        [&](vectors_in_flight& flying, int at) {
          const auto add = [&](const typename Input::vector& v) {
            if (__any_sync(~0u, at < vectors)) sum.vector_of_warp(v);
            at += threads;
          };
          if constexpr (Input::width == 2) {  // so little code that unrolled it takes less time
#pragma unroll
            for (int u = 0; u < loads; ++u) add(flying[u]);
          } else {
            in_turn(flying, add);
          }
          return !__any_sync(~0u, sum.failed());
        });
    long long part[parts];
    const bool failed = !sum.close(part);
#pragma unroll
    for (int i = 0; i < parts; ++i) part[i] = warp_sum(part[i]);
    return total_of(part, sum.exponent(), __any_sync(~0u, failed));
  };
  window_sum of_warp{0, 0, 0, 1};
  if constexpr (std::is_same_v<Input, elements<float>>) {
    close_sum sum;
    sum.begin();
    visit([](const auto&) {},
          [&](const vectors_in_flight& flying, int at) {
#pragma unroll
            for (int u = 0; u < loads; ++u) {
              if (__any_sync(~0u, at + u * threads < vectors)) sum.vector(flying[u]);
            }
            return true;
          });
    of_warp = sum.of_warp(each);
  }
  if (of_warp.failed) of_warp = in_windows();
  if (t % 32 == 0) room.part[t / 32] = of_warp;
  if (t == 0) room.flags = something;
  __syncthreads();
  fold_parts(room, threads / 32);
  const window_sum all = room.sum;
  if (all.failed) return false;
  if ((all.low | all.high) == 0) find_flags<Engine>(in, count, room, threads, 0, 1, false, nullptr);
  return true;
}

// The first warp's: what is held goes to the limbs.
template <class Engine>
__device__ __forceinline__ void to_limbs(const window_sum& sum, block_room<Engine>& room) {
  for (int k = threadIdx.x; k < block_room<Engine>::limbs; k += 32) room.limb[k] = limb_of<Engine::values>(sum, k);
  __syncwarp();
}

// Rounds limbs, by a warp: all its lanes get the result.
template <class R, class Engine>
__device__ __noinline__ R result_of_limbs(block_room<Engine>& room, reading how, std::uint64_t count) {
  carried sum = carry_limbs<block_room<Engine>::limbs>(room.limb, room.word);
  sum.number.exponent += layout<Engine::values>::unit;
  return result_of<R>(sum.number, sum.zero, room.flags, how, count);
}

// Code that runs once takes as long as it takes to be fetched: behind a stream of a gigabyte from memory, 1 to 2 us for
// what only the last block does. So a warp goes through it in the beginning, when it has nothing else to do, and leaves
// the limbs 0 as they were.
template <class R, class Engine>
__device__ __forceinline__ void rehearse(block_room<Engine>& room, reading how) {
  if (threadIdx.x % 32 == 0) room.limb[block_room<Engine>::limbs / 2] = 1;
  __syncwarp();
  result_of_limbs<R>(room, how, 1);
  for (int k = threadIdx.x % 32; k < block_room<Engine>::limbs; k += 32) room.limb[k] = 0;
}

// The result for a sum that is held, or else in room.limb: for the first thread; called by the first warp.
template <class R, class Engine>
__device__ __forceinline__ R result_of_room(block_room<Engine>& room, bool held, const window_sum& sum, reading how,
                                            std::uint64_t count) {
  if (held) {
    if (threadIdx.x > 0) return R();
    if ((sum.low | sum.high) == 0 || (room.flags & (nan_seen | plus_infinity | minus_infinity)) != 0)
      return result_of<R>(head{}, true, room.flags, how, count);
    return window_result<R>(sum.low, sum.high, sum.exponent, how, count);
  }
  return result_of_limbs<R>(room, how, count);
}

template <class Input, class R>
struct runs {
  Input in;
  result_to<R> to;
  std::int64_t count;
  places where;
  int splits;                                // blocks for a run
  combination<Input::values>* combinations;  // one for each run, where blocks share them
  total<Input::values>* into;                // not null: the sum is added to this total, and `to` is not used
};

// Elements of a block where `splits` blocks at most share a run: whole lines of memory, if the run begins with one.
__host__ __device__ inline std::int64_t piece_of_run(std::int64_t count, std::int64_t splits) {
  return ((count + splits - 1) / splits + 127) / 128 * 128;
}

// Little: each block adds a piece of the run quickly or, if that fails, as others do. With fewer threads than the
// engine has columns.
template <bool Little, class Input>
using engine_of_runs = std::conditional_t<Little, typename little_engine_of<Input>::type, run_engine<Input>>;

template <bool Little, class Input, class R>
__global__ void __launch_bounds__(engine_of_runs<Little, Input>::threads, 1) sum_runs(const runs<Input, R> problem) {
  using Engine = engine_of_runs<Little, Input>;
  extern __shared__ __align__(16) char shared[];
  __shared__ block_room<Engine> room;
  const int threads = Little ? static_cast<int>(blockDim.x) : Engine::threads, splits = problem.splits;
  detail::wait_for_stream();
  const int run = static_cast<int>(blockIdx.x) / splits, split = static_cast<int>(blockIdx.x) % splits;
  const auto begin = problem.where.begin(run);
  const Input in = problem.in.from(begin.first, begin.second);
  bool held = false;
  if constexpr (Little) {
    const std::int64_t each = piece_of_run(problem.count, splits), first = split * each;
    const std::int64_t count = ::min(each, problem.count - first);
    const Input piece = in.from(first, first);
    if constexpr (Input::values != range::product) held = sum_by_windows(piece, count, room, threads);
    if (!held) held = sum_split(piece, count, shared, room, threads, 0, 1, nullptr, [] {});
  } else {
    __shared__ tiles_of_all rest;
    if (threadIdx.x == 0) rest.next = &problem.combinations[run].next;
    held = sum_split(in, problem.count, shared, room, threads, split, splits, splits > 1 ? &rest : nullptr,
                     [&] { rehearse<R>(room, problem.to.how); });
  }
  if (threadIdx.x >= 32) return;
  window_sum sum = room.sum;
  if (splits > 1 && !combine(problem.combinations[run], splits, held, sum, room)) return;
  if (problem.into == nullptr) {
    const R result = result_of_room<R>(room, held, sum, problem.to.how, problem.count);
    if (threadIdx.x == 0) problem.to.out[problem.where.index(run)] = result;
    return;
  }
  if (held) to_limbs(sum, room);
  carry_limbs<block_room<Engine>::limbs>(room.limb, room.word);
  if (threadIdx.x > 0) return;
  total<Input::values> part;
  part.header = total<Input::values>::blank_header;
  for (int i = 0; i < part.words; ++i)
    part.word[i] = room.word[2 * i] | static_cast<unsigned long long>(room.word[2 * i + 1]) << 32;
  set_flags(part, room.flags);
  merge(*problem.into, part);
}

}  // namespace coalesce::detail::exact
