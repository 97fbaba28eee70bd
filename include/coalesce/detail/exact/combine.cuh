// Combines the sums of the blocks that share a run: by additions in device memory, each of which also counts the
// blocks. No state is written, waited for and read again.
#pragma once

#include <coalesce/detail/block/flagged.cuh>
#include <coalesce/detail/block/launch.cuh>
#include <coalesce/detail/exact/fold.cuh>

namespace coalesce::detail::exact {

// The words to which the blocks of a run add their sums; 0 between launches. With each word a block adds one to a count
// in its upper bits. A block adds the limbs that its sum reaches, its flags (counted by blocks), and the number of
// limbs it has added. So the last to add to `limbs_added` is the last block, and sees when all additions are there:
// often at once, from the results of its own additions.
template <range R>
struct alignas(32) combination {
  static constexpr int limbs = limbs_of<R>, flags = limbs, limbs_added = limbs + 1, words = limbs + 2;
  static constexpr int count_bits = 48, flag_bits = 9, most_blocks = (1 << flag_bits) - 1;
  unsigned long long word[words];
  unsigned next;  // counts tiles
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

// A sum of 128 bits lies in so many limbs from an even one on; of a narrow range in any case.
template <range R>
constexpr int limbs_of_window = limbs_of<R> < 12 ? limbs_of<R> : 6;
template <range R>
__device__ __forceinline__ int first_limb(const window_sum& sum) {
  return limbs_of_window<R> == limbs_of<R> ? 0 : (sum.exponent - layout<R>::unit) >> 5 & ~1;
}

// The sum of lanes' limbs, lane 0's worth 2^exponent, if it needs no more than 128 bits.
template <int Limbs>
__device__ __forceinline__ bool window_of_limbs(long long limb, int exponent, window_sum& sum) {
  unsigned digit[Limbs];
  long long carry = 0;
#pragma unroll
  for (int i = 0; i < Limbs; ++i) {
    carry = (carry >> 32) + __shfl_sync(~0u, limb, i);
    digit[i] = static_cast<unsigned>(carry);
  }
  const unsigned sign = static_cast<unsigned>(carry >> 63);
  bool fits = carry >> 31 == carry >> 63;
#pragma unroll
  for (int times = 0; times < Limbs - 4; ++times) {  // lowest digits that are 0
    const bool down = digit[0] == 0;
#pragma unroll
    for (int i = 0; i < Limbs; ++i) digit[i] = !down ? digit[i] : i + 1 < Limbs ? digit[i + 1] : sign;
    exponent += down ? 32 : 0;
  }
  fits = fits && digit[3] >> 31 == (sign & 1);
#pragma unroll
  for (int i = 4; i < Limbs; ++i) fits = fits && digit[i] == sign;
  sum = {digit[0] | static_cast<unsigned long long>(digit[1]) << 32,
         digit[2] | static_cast<unsigned long long>(digit[3]) << 32, exponent, 0};
  const int zeros = sum.low == 0 ? 0 : __ffsll(static_cast<long long>(sum.low)) - 1;
  shift(sum, -zeros);
  sum.exponent += zeros;
  return fits;
}

// Called by a block's first warp, with what sum_split or sum_by_windows found: `sum`, if it is held. True: this was the
// last of `splits` blocks, and the run's sum is in `sum` or, if it is not held, in room.limb. And in room.flags.
template <class Engine>
__device__ __forceinline__ bool combine(combination<Engine::values>& all, int splits, bool& held, window_sum& sum,
                                        block_room<Engine>& room) {
  constexpr range values = Engine::values;
  using place = combination<values>;
  constexpr int limbs = place::limbs, each = limbs_of_window<values>, kinds = 5;
  constexpr unsigned long long one = 1ull << place::count_bits;
  const int lane = threadIdx.x;
  const auto count_of = [](unsigned long long word) { return static_cast<int>((word + one / 2) >> place::count_bits); };
  const auto content_of = [&](unsigned long long word) {
    return static_cast<long long>(word - one * static_cast<unsigned>(count_of(word)));
  };
  const auto left_limb = [&](int k) {  // in pieces of 32 bits, so that no sum of many leaves its bits
    return (k == limbs - 1 ? room.limb[k] : room.limb[k] & 0xffffffffll) + (k > 0 ? room.limb[k - 1] >> 32 : 0);
  };
  const bool by_lanes = held || each == limbs;  // a lane's limb each
  int first = 0, added = 0;                     // limbs
  int mine = -1;                                // a lane's word
  long long own = 0;
  if (by_lanes) {
    bool some = lane < each;
    if (each != limbs) {
      const bool nothing = (sum.low | sum.high) == 0;
      if (!nothing) first = first_limb<values>(sum);
      some = some && !nothing && first + lane < limbs;
    }
    if (some) {
      mine = first + lane;
      own = held ? limb_of<values>(sum, mine) : left_limb(mine);
    }
    added = __popc(__ballot_sync(~0u, some));
  } else {
    for (int begin = 0; begin < limbs; begin += 32) {
      const int k = begin + lane;
      const long long limb = k < limbs ? left_limb(k) : 0;
      if (limb != 0) atomicAdd(&all.word[k], static_cast<unsigned long long>(limb) + one);
      added += __popc(__ballot_sync(~0u, limb != 0));
    }
  }
  constexpr int for_flags = each, for_added = each + 1;  // lanes
  if (lane == for_flags) {
    mine = place::flags;
    for (int i = 0; i < kinds; ++i) own |= static_cast<long long>(room.flags >> i & 1) << place::flag_bits * i;
  } else if (lane == for_added) {
    mine = place::limbs_added;
    own = added;
  }
  unsigned long long word = 0;
  if (mine >= 0) {
    word = static_cast<unsigned long long>(own) + one;
    word += atomicAdd(&all.word[mine], word);
  }
  if (__shfl_sync(~0u, count_of(word), for_added) != splits) return false;
  __syncwarp();
  // The last block. If all that added anything have added to its words, their counts say so.
  const int all_added = static_cast<int>(__shfl_sync(~0u, content_of(word), for_added));
  const auto complete = [&] {
    const int blocks = __shfl_sync(~0u, count_of(word), 0);
    return added * blocks == all_added &&
           __all_sync(~0u, mine < 0 || count_of(word) == (lane < each ? blocks : splits));
  };
  volatile unsigned long long* const now = all.word;
  bool there = complete();
  if (by_lanes && !there) {
    if (mine >= 0) word = now[mine];
    there = complete();
  }
  if (there) {
    const long long limb = mine >= 0 && lane < each ? content_of(word) : 0;
    if (held) held = window_of_limbs<each>(limb, layout<values>::unit + 32 * first, sum);
    if (!held) {
      for (int k = lane; k < limbs; k += 32) room.limb[k] = 0;
      __syncwarp();
      if (limb != 0) room.limb[mine] = limb;
    }
    if (mine >= 0) now[mine] = 0;
  } else {
    held = false;
    int counted;
    detail::wait_limit wait_limit;
    do {
      wait_limit.turn();
      counted = 0;
      for (int k = lane; k < limbs; k += 32) {
        const unsigned long long limb = now[k];
        room.limb[k] = content_of(limb);
        counted += count_of(limb);
      }
      counted = __reduce_add_sync(~0u, counted);
      if (lane == for_flags) word = now[mine];
    } while (counted != all_added || __shfl_sync(~0u, count_of(word), for_flags) != splits);
    __syncwarp();
    for (int k = lane; k < place::words; k += 32) now[k] = 0;
  }
  if (lane == 0) all.next = 0;
  if (lane == for_flags) {
    unsigned flags = 0;
    for (int i = 0; i < kinds; ++i)
      flags |= (content_of(word) >> place::flag_bits * i & place::most_blocks) != 0 ? 1u << i : 0u;
    room.flags = flags;
  }
  __syncwarp();
  return true;
}

}  // namespace coalesce::detail::exact
