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

// Tiles for whichever block is free, in chunks, because memory counts no faster than once a nanosecond or so at one
// place: a count in device memory of those that are taken, 0 before; and which ones a block has taken. Each begins with
// two, and takes one more when it begins with one, so that it need not wait for it.
struct tiles_of_all {
  static constexpr unsigned chunk_tiles = 16, most = 64, not_yet = ~0u;
  unsigned* next;
  unsigned chunk[most];

  __device__ __forceinline__ void begin(unsigned block, unsigned blocks) {
    const unsigned i = threadIdx.x;
    if (i < most) chunk[i] = i < 2 ? i * blocks + block : not_yet;
  }
  // How many a block may take: as many as its bins hold. With those of all blocks that is enough for all tiles, since
  // a call has no more than most_of_block for each of them.
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

// How `count` neighbouring elements are cut into tiles of 32 x Loads vectors. Elements before and after the whole
// vectors count as vectors of one element, at the end of all.
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

// Of how many tiles it is known beforehand who takes them, if all workers share the rest: `step` are a round of all.
__device__ __forceinline__ std::int64_t tiles_given(std::int64_t full, std::int64_t step, bool aligned) {
  const std::int64_t rounds = full / step;
  return (aligned && rounds >= 16 ? rounds - ::min(rounds / 8, std::int64_t(16)) : 1) * step;
}

// Adds a share of `count` neighbouring elements, a warp a call. Tiles go round the workers (blocks). A worker's tiles
// go to whichever of its warps is free: `next` counts those that are taken (null: there is one warp). With engines that
// say so each warp first has as many as the others, which saves asking, and only the last ones are for whoever is free:
// where `rest` is not null, of all workers, which do not end at the same time otherwise. While a tile is added the next
// one is requested. Zeros stand for vectors that are not there: the sum does not change.
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
                                        int slice, int slices, bool all, const tiles_of_all* rest) {
  using cut = tiling<Input, Engine::loads>;
  const cut tiled(in, count);
  const int warp = static_cast<int>(threadIdx.x) / 32, warps = threads / 32;
  const std::int64_t vectors = tiled.whole + tiled.single, step = static_cast<std::int64_t>(warps) * slices;
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
  for (std::int64_t at = static_cast<std::int64_t>(warp) * slices + slice; at < given && goes_on(); at += step)
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

// Slice `slice` of a run, by a whole block. True: the sum is held in room.sum; else it is in room.limb. And in
// room.flags.
// `meanwhile` is for its last warp, while the first requests are under way.
template <class Engine, class Input, class Meanwhile>
__device__ __forceinline__ bool sum_slice(const Input& in, std::int64_t count, char* shared, block_room<Engine>& room,
                                          int threads, int slice, int slices, tiles_of_all* rest, Meanwhile meanwhile) {
  constexpr int limbs = limbs_of<Input::values>;
  const int t = threadIdx.x;
  for (int k = t; k < limbs; k += threads) room.limb[k] = 0;
  if (t == 0) {
    room.flags = something;
    room.next = static_cast<unsigned>(threads) / 32;
  }
  if (rest != nullptr) rest->begin(slice, slices);
  folded sum{false, false};
  // Bins that warps share hold so many numbers at once.
  std::int64_t at_once = count;
  if constexpr (shares_bins<Engine>) at_once = Engine::most_of_block * slices;
  unsigned seen = 0;  // of infinities and NaN: looked for where they were met, by those who have
  for (std::int64_t first = 0; first == 0 || first < count; first += at_once) {
    Engine engine;
    engine.place(shared, t, room.limb);
    engine.begin();
    const Input part = in.from(first, first);
    const std::int64_t part_count = ::min(count - first, at_once);
    tiles_of_all* const shared_rest = count > at_once ? nullptr : rest;
    add_share(part, part_count, engine, t / 32, threads / 32, &room.next, shared_rest, slice, slices, [&] {
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
      find_flags<Engine>(part, part_count, room, threads, slice, slices, true, shared_rest);
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
    find_flags<Engine>(in, count, room, threads, slice, slices, false, count > at_once ? nullptr : rest);
  }
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
  if ((all.low | all.high) == 0) find_flags<Engine>(in, count, room, threads, 0, 1, false, nullptr);
  return true;
}

// Where the blocks of a run meet whose sums are of the narrow range: 0 between launches. Each block adds its limbs, and
// how many blocks had which flag, and with each word one to a count in its upper bits. So whoever adds last knows it
// from what the addition returns, without a ticket, and has the sum: nothing has to be written, waited for and read
// again.
struct alignas(128) meeting {
  static constexpr int limbs = limbs_of<range::narrow>, words = limbs + 1, count_bits = 48, flag_bits = 9;
  static constexpr int most_blocks = (1 << flag_bits) - 1;
  unsigned long long word[words];
  unsigned complete;  // of `words`, where not one block was the last for all of them
  unsigned next;      // counts tiles
};

// Limb k of a sum of 128 bits: 32 bits of its magnitude, with its sign.
template <range R>
__device__ __forceinline__ long long limb_of(const window_sum& sum, int k) {
  const bool negative = sum.high >> 63 != 0;
  const unsigned long long low = negative ? ~sum.low + 1 : sum.low,
                           high = negative ? ~sum.high + (sum.low == 0 ? 1 : 0) : sum.high;
  const int from = 32 * k - (sum.exponent - layout<R>::unit);  // of its bits
  unsigned long long bits = 0;
  if (from >= 64)
    bits = from < 128 ? high >> (from - 64) : 0;
  else if (from > 0)
    bits = low >> from | high << 1 << (63 - from);
  else if (from > -32)
    bits = low << -from;
  const long long limb = static_cast<long long>(bits & 0xffffffffull);
  return negative ? -limb : limb;
}

// Called by a block's first warp. True: this was the last of `slices` blocks, and the run's sum is in room.limb and
// room.flags.
template <class Engine>
__device__ __forceinline__ bool meet(meeting& all, int slices, bool held, block_room<Engine>& room) {
  constexpr int limbs = meeting::limbs, flag_bits = meeting::flag_bits, kinds = 5;
  constexpr unsigned long long one = 1ull << meeting::count_bits;
  const int k = threadIdx.x;
  const bool takes_part = k < meeting::words;
  long long own = 0;
  if (k < limbs) {
    if (held)
      own = limb_of<Engine::values>(room.sum, k);
    else  // in pieces of 32 bits, so that no sum of many leaves its bits
      own = (k == limbs - 1 ? room.limb[k] : room.limb[k] & 0xffffffffll) + (k > 0 ? room.limb[k - 1] >> 32 : 0);
  } else if (k == limbs) {
    for (int i = 0; i < kinds; ++i) own |= static_cast<long long>(room.flags >> i & 1) << flag_bits * i;
  }
  unsigned long long sum = static_cast<unsigned long long>(own) + one;
  if (takes_part) sum += atomicAdd(&all.word[k], sum);
  const auto count_of = [](unsigned long long word) {
    return static_cast<int>((word + one / 2) >> meeting::count_bits);
  };
  const unsigned complete = __ballot_sync(~0u, takes_part && count_of(sum) == slices);
  if (complete == 0) return false;
  if (complete != (1u << meeting::words) - 1) {
    unsigned before = 0;
    if (k == 0)
      asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
                   : "=r"(before)
                   : "l"(&all.complete), "r"(__popc(complete))
                   : "memory");
    before = __shfl_sync(~0u, before, 0);
    __syncwarp();
    if (before + __popc(complete) != meeting::words) return false;
    if (takes_part) sum = __ldcg(&all.word[k]);
  }
  if (takes_part) all.word[k] = 0;
  if (k == 0) all.complete = all.next = 0;
  const unsigned long long value = sum - one * static_cast<unsigned>(slices);
  if (k < limbs) room.limb[k] = static_cast<long long>(value);
  if (k == limbs) {
    unsigned flags = 0;
    for (int i = 0; i < kinds; ++i) flags |= (value >> flag_bits * i & meeting::most_blocks) != 0 ? 1u << i : 0u;
    room.flags = flags;
  }
  __syncwarp();
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
  for (int k = threadIdx.x; k < block_room<Engine>::limbs; k += 32) room.limb[k] = limb_of<Engine::values>(room.sum, k);
  __syncwarp();
}

// From limbs, by a warp: all its lanes get the answer.
template <class R, class Engine>
__device__ __noinline__ R answer_of_limbs(block_room<Engine>& room, reading how, std::uint64_t count) {
  carried sum = carry_limbs<block_room<Engine>::limbs>(room.limb, room.word);
  sum.number.exponent += layout<Engine::values>::unit;
  return answer_of<R>(sum.number, sum.zero, room.flags, how, count);
}

// Code that runs once takes as long as it takes to be fetched: behind a stream of a gigabyte from memory, 1 to 2 us for
// what only the last block does. So a warp goes through it in the beginning, when it has nothing else to do, and leaves
// the limbs 0 as they were.
template <class R, class Engine>
__device__ __forceinline__ void rehearse(block_room<Engine>& room, reading how) {
  if (threadIdx.x % 32 == 0) room.limb[block_room<Engine>::limbs / 2] = 1;
  __syncwarp();
  answer_of_limbs<R>(room, how, 1);
  for (int k = threadIdx.x % 32; k < block_room<Engine>::limbs; k += 32) room.limb[k] = 0;
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
  return answer_of_limbs<R>(room, how, count);
}

// Tickets: one of each run, and as many again that count tiles.
constexpr int most_shared_runs = detail::max_tickets / 2;

template <class Input, class R>
struct runs {
  Input in;
  answer_to<R> to;
  std::int64_t count;
  places where;
  int slices;  // blocks for a run
  long long* partials;
  unsigned* tickets;
  meeting* meetings;           // narrow sums have these, and none of the other two
  total<Input::values>* into;  // not null: the sum is added to this total, and `to` is not used
};

// Little: each block adds a piece of the run quickly or, if that fails, as others do. With fewer threads than the
// engine has columns.
template <bool Little, class Input>
using engine_of_runs = std::conditional_t<Little, typename little_engine_of<Input>::type, run_engine<Input>>;

template <bool Little, class Input, class R>
__global__ void __launch_bounds__(engine_of_runs<Little, Input>::threads, 1) sum_runs(const runs<Input, R> problem) {
  using Engine = engine_of_runs<Little, Input>;
  extern __shared__ __align__(16) char shared[];
  __shared__ block_room<Engine> room;
  const int threads = Little ? static_cast<int>(blockDim.x) : Engine::threads, slices = problem.slices;
  detail::wait_for_stream();
  const int run = static_cast<int>(blockIdx.x) / slices, slice = static_cast<int>(blockIdx.x) % slices;
  const auto begin = problem.where.begin(run);
  const Input in = problem.in.from(begin.first, begin.second);
  bool held = false;
  constexpr bool meets = Input::values == range::narrow;
  unsigned* next = nullptr;
  if constexpr (meets)
    next = &problem.meetings[run].next;
  else
    next = problem.tickets + most_shared_runs + run;
  if constexpr (Little) {
    const std::int64_t each = (problem.count / slices + 127) / 128 * 128, first = ::min(slice * each, problem.count);
    const std::int64_t left = problem.count - first, count = slice == slices - 1 ? left : ::min(each, left);
    const Input piece = in.from(first, first);
    if constexpr (Input::values != range::product) held = sum_quickly(piece, count, room, threads);
    if (!held) held = sum_slice(piece, count, shared, room, threads, 0, 1, nullptr, [] {});
  } else {
    __shared__ tiles_of_all rest;
    if (threadIdx.x == 0) rest.next = next;
    held = sum_slice(in, problem.count, shared, room, threads, slice, slices, slices > 1 ? &rest : nullptr,
                     [&] { rehearse<R>(room, problem.to.how); });
  }
  if (meets && slices > 1) {
    if (threadIdx.x >= 32 || !meet(problem.meetings[run], slices, held, room)) return;
    held = false;
  } else if (slices > 1) {
    long long* all = problem.partials + static_cast<std::int64_t>(run) * slices * left_words<Input::values>;
    if (!leave(all, problem.tickets + run, slice, slices, held, room)) return;
    if (threadIdx.x == 0) *next = 0;
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
