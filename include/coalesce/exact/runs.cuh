// The exact sum of one whole array, or of each of a few long rows: blocks share a row, each folds its threads' columns
// to limbs and leaves them in the workspace; the row's last block adds the limbs up and rounds.
#pragma once

#include <coalesce/device/launch.cuh>
#include <coalesce/exact/fold.cuh>
#include <coalesce/exact/quick.cuh>

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
// (blocks). A worker's tiles go to whichever of its warps is free: `next` counts those that are taken (null: there is
// one warp). With engines that say so each warp first has as many as the others, which saves asking, and only the last
// eighth is for whoever is free. While a tile is added the next one is requested. Elements before and after the whole
// vectors count as vectors of one element and zeros, at the end of all; zeros also stand for vectors that are not
// there: the sum does not change.
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
    unsigned own = lane;
    // Rarely gone: with few registers what it takes is to be computed here, not kept through the loop.
    if constexpr (Engine::lazy && sizeof(typename Input::element) == 2)
      asm volatile("mov.u32 %0, %%laneid;" : "=r"(own));
    const std::int64_t i = at * tile + own + u * 32;
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
  const bool aligned = in.all_aligned(before);
  unsigned given = 0;
  if constexpr (Engine::fixed_shares) {
    const std::int64_t step = warps * workers, rounds = full / step, stride = step * tile * width,
                       first = before + (at * tile + lane) * width;
    unsigned fixed = !aligned || rounds < 16 ? 0 : static_cast<unsigned>(rounds - rounds / 8 - 1);
    given = fixed * warps;
    Input here = in.from(first, first);
    at += fixed * step;
    warp += given;
#pragma unroll 1
    for (; fixed > 0; --fixed) {
      const Input now = here;
      here = here.from(stride, stride);
      engine.round(
          flying, [&](int u) { return here.load_aligned(u * 32 * width); },
          [&](int u) { return now.load_aligned(u * 32 * width); });
    }
  }
  // Asked for a round before it is needed.
  const auto take = [&] {
    unsigned taken = warp += warps;
    if (next != nullptr && lane == 0) {
      // inc, and up to 2^31: an add would be made one for all active lanes at once, which takes longer.
      asm volatile("atom.shared.inc.u32 %0, [%1], 0x7fffffff;"
                   : "=r"(taken)
                   : "r"(static_cast<unsigned>(__cvta_generic_to_shared(next)))
                   : "memory");
      taken += given;
    }
    return taken;
  };
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

// Elements are looked at again where the sum cannot tell: after infinities and NaN (all), and whether it is one of -0s
// only.
template <class Engine, class Input>
__device__ __forceinline__ void find_flags(const Input& in, std::int64_t count, block_room<Engine>& room, int threads,
                                           int slice, int slices, bool all) {
  const unsigned seen =
      flags_of_share<Input, Engine::loads>(in, count, threadIdx.x / 32, threads / 32, slice, slices, all);
  if (threadIdx.x == 0) room.flags = 0;
  __syncthreads();
  if (seen != 0) atomicOr(&room.flags, seen);
  __syncthreads();
}

// Slice `slice` of a run, by a whole block. True: the sum is held in room.sum; else it is in room.limb. And in
// room.flags.
template <class Engine, class Input>
__device__ __forceinline__ bool sum_slice(const Input& in, std::int64_t count, char* shared, block_room<Engine>& room,
                                          int threads, int slice, int slices) {
  constexpr int limbs = limbs_of<Input::values>;
  const int t = threadIdx.x;
  for (int k = t; k < limbs; k += threads) room.limb[k] = 0;
  if (t == 0) {
    room.flags = something;
    room.next = static_cast<unsigned>(threads) / 32;
  }
  folded sum{false, false};
  // Bins that warps share hold so many numbers at once.
  std::int64_t at_once = count;
  if constexpr (shares_bins<Engine>) at_once = Engine::most_of_block * slices;
  std::int64_t first = 0;
  do {
    const bool special = sum.special;
    Engine engine;
    engine.place(shared, t, room.limb);
    engine.begin();
    const Input part = in.from(first, first);
    add_share(part, ::min(count - first, at_once), engine, t / 32, threads / 32, &room.next, slice, slices, [&] {
      if (first > 0 && t == 0) room.next = static_cast<unsigned>(threads) / 32;
      engine.start();
      if (t == 0) room.first = count > 0 ? in.flags(0, 0) : 0;
      __syncthreads();
    });
    if constexpr (shares_bins<Engine>)
      sum = fold_shared(engine, shared, room, threads);
    else
      sum = fold_block(engine, shared, room, threads);
    sum.special = sum.special || special;
    first += at_once;
  } while (shares_bins<Engine> && first < count);
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
  if ((nothing && !(room.first & something)) || sum.special)
    find_flags<Engine>(in, count, room, threads, slice, slices, sum.special);
  return sum.held;
}

// The same for little to add: to registers, and by little code, because code that runs once takes as long as it takes
// to be fetched. False: they did not hold it, and nothing is done.
template <class Engine, class Input>
__device__ __forceinline__ bool sum_quickly(const Input& in, std::int64_t count, block_room<Engine>& room,
                                            int threads) {
  using quick = quick_sum<Input, windows_for<typename Input::number>>;
  constexpr int loads = Input::inputs == 2 ? 2 : 4, parts = quick::parts;
  const int t = threadIdx.x;
  const int shift = vectors_of_run<Input>::shift_of(in);
  const vectors_of_run<Input> request{in, shift, shift + static_cast<int>(count)};
  const int vectors = request.count();
  typename Input::vector flying[loads], coming[loads];
  int at = t;
#pragma unroll
  for (int u = 0; u < loads; ++u) flying[u] = request(at + u * threads);
  quick sum;
  sum.begin();
  unsigned most = 0;
#pragma unroll
  for (int u = 0; u < loads; ++u) quick::look(flying[u], most);
  sum.place(__reduce_max_sync(~0u, most), 14);  // room for 2^13 of the first vectors' largest
#pragma unroll 1
  while (__any_sync(~0u, at < vectors) && !__any_sync(~0u, sum.failed())) {
    const int next = at + loads * threads;
#pragma unroll
    for (int u = 0; u < loads; ++u) coming[u] = request(next + u * threads);
    in_turn(flying, [&](const typename Input::vector& v) {
      if (__any_sync(~0u, at < vectors)) sum.vector(v);
      at += threads;
    });
#pragma unroll
    for (int u = 0; u < loads; ++u) flying[u] = coming[u];
  }
  long long part[parts];
  const bool failed = !sum.close(part);
#pragma unroll
  for (int i = 0; i < parts; ++i) part[i] = warp_sum(part[i]);
  const window_sum of_warp = total_of(part, sum.exponent(), __any_sync(~0u, failed));
  if (t % 32 == 0) room.part[t / 32] = of_warp;
  if (t == 0) room.flags = something;
  __syncthreads();
  fold_parts(room, threads / 32);
  const window_sum all = room.sum;
  if (all.failed) return false;
  if ((all.low | all.high) == 0) find_flags<Engine>(in, count, room, threads, 0, 1, false);
  return true;
}

// What blocks leave for the last of them: a record each, which is a sum held in 128 bits, with flags in the place of
// `failed`; and then, for those that did not hold theirs, limbs: limb k of block i is word k * blocks + i, and the
// record's flags have the lowest limb that is not 0 << 8, and the end of them << 16.
constexpr int record_words = sizeof(window_sum) / 8;
template <range R>
constexpr int left_words = limbs_of<R> + record_words;

// Leaves what sum_slice found. Returns whether this block is the last of `slices`, to which all is visible.
template <class Engine>
__device__ __forceinline__ bool leave(long long* all, unsigned* ticket, int slice, int slices, bool held,
                                      block_room<Engine>& room) {
  constexpr int limbs = block_room<Engine>::limbs;
  window_sum* const record = reinterpret_cast<window_sum*>(all) + slice;
  if (held) {
    if (threadIdx.x == 0) {
      const window_sum sum = room.sum;
      *record = {sum.low, sum.high, sum.exponent, static_cast<int>(room.flags)};
      room.last = detail::take_ticket(ticket, slices - 1) == slices - 1;
    }
    __syncthreads();
    return room.last;
  }
  if (threadIdx.x < 32) {
    long long* const words = all + slices * record_words;
    int lowest = limbs, end = 0;  // of the limbs that are not 0: most are
    for (int k = threadIdx.x; k < limbs; k += 32) {
      // In pieces of 32 bits, so that no sum of many leaves its 64 bits.
      const long long own = k == limbs - 1 ? room.limb[k] : room.limb[k] & 0xffffffffll;
      const long long left = own + (k > 0 ? room.limb[k - 1] >> 32 : 0);
      words[k * slices + slice] = left;
      if (left != 0) {
        lowest = ::min(lowest, k);
        end = k + 1;
      }
    }
    lowest = __reduce_min_sync(~0u, lowest);
    end = __reduce_max_sync(~0u, end);
    if (threadIdx.x == 0) *record = {0, 0, 0, static_cast<int>(room.flags) | lowest << 8 | end << 16};
  }
  return detail::last_block(ticket, slices);
}

// The sum of a word of each block that left limbs, a lane's part: five at once are requested.
__device__ __forceinline__ long long sum_of_words(const long long* words, const window_sum* records, int blocks) {
  long long sum = 0;
  for (int first = threadIdx.x % 32; first < blocks; first += 5 * 32) {
    long long word[5];
    int said[5];
#pragma unroll
    for (int u = 0; u < 5; ++u) {
      const bool there = first + 32 * u < blocks;
      word[u] = there ? __ldcg(words + first + 32 * u) : 0;
      said[u] = there ? __ldcg(&records[first + 32 * u].failed) : 0;
    }
#pragma unroll
    for (int u = 0; u < 5; ++u) sum += said[u] >> 16 != 0 ? word[u] : 0;
  }
  return sum;
}

__device__ __forceinline__ window_sum record_of(const long long* all, int block) {
  const uint4* const words = reinterpret_cast<const uint4*>(all) + 2 * block;
  const uint4 word[2] = {__ldcg(words), __ldcg(words + 1)};
  window_sum record;
  static_assert(sizeof(record) == sizeof(word), "a record is two words of 16 bytes");
  memcpy(&record, word, sizeof(record));
  return record;
}

// What `slices` blocks have left, put together by the last of them: true if it is held in room.sum, else it is in
// room.limb. And in room.flags.
template <class Engine>
__device__ __forceinline__ bool put_together(const long long* all, int slices, block_room<Engine>& room, int threads) {
  constexpr int limbs = block_room<Engine>::limbs;
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  window_sum sum{};
  unsigned flags = 0, lowest = limbs, end = 0;
  for (int i = t; i < slices; i += threads) {
    window_sum one = record_of(all, i);
    const unsigned said = static_cast<unsigned>(one.failed);
    one.failed = 0;
    sum = together(sum, one);
    flags |= said & 0xff;
    if (said >> 16 != 0) {
      lowest = ::min(lowest, said >> 8 & 0xff);
      end = ::max(end, said >> 16);
    }
  }
  const window_sum of_warp = sum_of_lanes(sum);
  flags = __reduce_or_sync(~0u, flags);
  lowest = __reduce_min_sync(~0u, lowest);
  end = __reduce_max_sync(~0u, end);
  if (t == 0) {
    room.flags = 0;
    room.lowest = limbs;
    room.end = 0;
  }
  if (lane == 0) room.part[warp] = of_warp;
  __syncthreads();
  if (lane == 0 && flags != 0) {
    atomicOr(&room.flags, flags);
    atomicMin(&room.lowest, lowest);
    atomicMax(&room.end, end);
  }
  fold_parts(room, threads / 32);
  lowest = room.lowest;
  end = room.end;
  if (end == 0 && !room.sum.failed) return true;
  const long long* const words = all + slices * record_words;
  for (unsigned k = warp; k < limbs; k += threads / 32) {  // a warp takes a limb
    long long one = 0;
    if (k >= lowest && k < end) {
      one = warp_sum(sum_of_words(words + k * slices, reinterpret_cast<const window_sum*>(all), slices));
    }
    if (lane == 0) room.limb[k] = one;
  }
  __syncthreads();
  // All records at once, because deposits that meet wait for each other; one by one where they are too far apart.
  if (!room.sum.failed) {
    if (t == 0) deposit<Engine::values>(room.limb, room.sum);
  } else {
    for (int i = t; i < slices; i += threads) deposit<Engine::values>(room.limb, record_of(all, i));
  }
  __syncthreads();
  return false;
}

// The same where all blocks have left limbs: nothing has to be known before they are requested, all at once.
template <class Engine>
__device__ __forceinline__ void put_limbs_together(const long long* all, int slices, block_room<Engine>& room) {
  constexpr int warps = Engine::threads / 32, limbs = block_room<Engine>::limbs, each = (limbs + warps - 1) / warps;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const long long* const words = all + slices * record_words;
  long long sum[each] = {};
  for (int first = lane; first < slices; first += 5 * 32) {
#pragma unroll
    for (int j = 0; j < each; ++j) {
      const int k = warp + j * warps;
#pragma unroll
      for (int u = 0; u < 5; ++u) {
        const int i = first + 32 * u;
        sum[j] += k < limbs && i < slices ? __ldcg(words + k * slices + i) : 0;
      }
    }
  }
  if (warp == warps - 1) {
    unsigned flags = 0;
    for (int i = lane; i < slices; i += 32)
      flags |= static_cast<unsigned>(__ldcg(&reinterpret_cast<const window_sum*>(all)[i].failed));
    flags = __reduce_or_sync(~0u, flags & 0xff);
    if (lane == 0) room.flags = flags;
  }
#pragma unroll
  for (int j = 0; j < each; ++j) {
    const long long one = warp_sum(sum[j]);
    if (lane == 0 && warp + j * warps < limbs) room.limb[warp + j * warps] = one;
  }
  __syncthreads();
}

// The first warp's: what is held goes to the limbs.
template <class Engine>
__device__ __forceinline__ void to_limbs(block_room<Engine>& room) {
  for (int k = threadIdx.x; k < block_room<Engine>::limbs; k += 32) room.limb[k] = 0;
  __syncwarp();
  if (threadIdx.x == 0) deposit<Engine::values>(room.limb, room.sum);
  __syncwarp();
}

// A block's answer, for its first thread; called by its first warp.
template <class R, class Engine>
__device__ __forceinline__ R answer_of_room(block_room<Engine>& room, bool held, reading how, std::uint64_t count) {
  if (held) {
    const window_sum sum = room.sum;
    if (threadIdx.x > 0) return R();
    if ((sum.low | sum.high) == 0 || (room.flags & (nan_seen | plus_infinity | minus_infinity)) != 0)
      return answer_of<R>(head{}, true, room.flags, how, count);
    return quick_answer<R>(sum.low, sum.high, sum.exponent, how, count);
  }
  carried sum = carry_limbs<block_room<Engine>::limbs>(room.limb, room.word);
  sum.number.exponent += layout<Engine::values>::unit;
  return answer_of<R>(sum.number, sum.zero, room.flags, how, count);
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

// Little: each block adds a piece of the run quickly or, if that fails, as others do. With fewer threads than the
// engine has columns.
template <bool Little, class Input, class R>
__global__ void __launch_bounds__(run_engine<Input>::threads, 1) sum_runs(const runs<Input, R> problem) {
  using Engine = run_engine<Input>;
  extern __shared__ __align__(16) char shared[];
  __shared__ block_room<Engine> room;
  const int threads = Little ? static_cast<int>(blockDim.x) : Engine::threads, slices = problem.slices;
  detail::wait_for_stream();
  const int run = static_cast<int>(blockIdx.x) / slices, slice = static_cast<int>(blockIdx.x) % slices;
  const auto begin = problem.where.begin(run);
  const Input in = problem.in.from(begin.first, begin.second);
  bool held = false;
  if constexpr (Little) {
    const std::int64_t each = (problem.count / slices + 127) / 128 * 128, first = ::min(slice * each, problem.count);
    const std::int64_t left = problem.count - first, count = slice == slices - 1 ? left : ::min(each, left);
    const Input piece = in.from(first, first);
    if constexpr (Input::values != range::product) held = sum_quickly(piece, count, room, threads);
    if (!held) held = sum_slice(piece, count, shared, room, threads, 0, 1);
  } else {
    held = sum_slice(in, problem.count, shared, room, threads, slice, slices);
  }
  if (slices > 1) {
    long long* all = problem.partials + static_cast<std::int64_t>(run) * slices * left_words<Input::values>;
    if (!leave(all, problem.tickets + run, slice, slices, held, room)) return;
    if constexpr (Little || Engine::lazy)
      held = put_together<Engine>(all, slices, room, threads);
    else
      put_limbs_together<Engine>(all, slices, room);
  }
  if (threadIdx.x >= 32) return;
  if (problem.into == nullptr) {
    const R answer = answer_of_room<R>(room, held, problem.to.how, problem.count);
    if (threadIdx.x == 0) problem.to.out[problem.where.index(run)] = answer;
    return;
  }
  if (held) to_limbs(room);
  carry_limbs<block_room<Engine>::limbs>(room.limb, room.word);
  if (threadIdx.x > 0) return;
  total<Input::values> part;
  part.header = total<Input::values>::blank_header;
  for (int i = 0; i < part.words; ++i)
    part.word[i] = room.word[2 * i] | static_cast<unsigned long long>(room.word[2 * i + 1]) << 32;
  set_flags(part, room.flags);
  merge(*problem.into, part);
}

}  // namespace coalesce::exact
