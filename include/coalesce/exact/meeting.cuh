// How the sums of the blocks that share a run become one: by additions in device memory where they have few limbs, else
// by the last block, for which the others have left theirs.
#pragma once

#include <coalesce/device/launch.cuh>
#include <coalesce/exact/fold.cuh>

namespace coalesce::exact {

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
      const unsigned others = static_cast<unsigned>(slices) - 1;
      room.last = detail::take_ticket(ticket, others) == others;
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

// The same of limb k of sums that blocks have left.
template <range R>
__device__ __forceinline__ long long sum_of_limbs(const long long* all, int blocks, int k) {
  long long sum = 0;
  for (int first = threadIdx.x % 32; first < blocks; first += 5 * 32) {
    window_sum record[5];
#pragma unroll
    for (int u = 0; u < 5; ++u) record[u] = first + 32 * u < blocks ? record_of(all, first + 32 * u) : window_sum{};
#pragma unroll
    for (int u = 0; u < 5; ++u) sum += limb_of<R>(record[u], k);
  }
  return sum;
}

constexpr unsigned left_limbs = 0x80;  // beside the flags of what was seen: some block left limbs

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
      flags |= left_limbs;
      lowest = ::min(lowest, said >> 8 & 0xff);
      end = ::max(end, said >> 16);
    } else if ((one.low | one.high) != 0) {  // 128 bits lie in five limbs
      const int first = (one.exponent - layout<Engine::values>::unit) >> 5;
      lowest = ::min(lowest, static_cast<unsigned>(::max(first, 0)));
      end = ::max(end, static_cast<unsigned>(::min(first + 5, limbs)));
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
  const bool left = (room.flags & left_limbs) != 0, apart = room.sum.failed;  // too far for 128 bits
  if (!left && !apart) return true;
  const long long* const words = all + slices * record_words;
  for (unsigned k = warp; k < limbs; k += threads / 32) {  // a warp takes a limb
    long long one = 0;
    if (k >= lowest && k < end) {
      if (left) one = sum_of_words(words + k * slices, reinterpret_cast<const window_sum*>(all), slices);
      if (apart) one += sum_of_limbs<Engine::values>(all, slices, static_cast<int>(k));
      one = warp_sum(one);
    }
    if (lane == 0) room.limb[k] = one;
  }
  __syncthreads();
  if (t == 0) {
    room.flags &= ~left_limbs;
    if (!apart) deposit<Engine::values>(room.limb, room.sum);
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

}  // namespace coalesce::exact
