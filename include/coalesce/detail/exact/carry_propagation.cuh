// Carries and rounds the superaccumulator. Limbs are 64-bit integers 32 bits apart, L[k] worth 2^(32 k), in shared
// memory. One warp carries all limbs at once by carry look-ahead: ballots give what each limb generates and propagates.
#pragma once

#include <coalesce/detail/exact/total.hpp>

namespace coalesce::detail::exact {

template <range R>
constexpr int limbs_of = 2 * layout<R>::words;

// In pieces of 22, 22 and 20 bits, whose sums fit the adder that a warp has.
__device__ __forceinline__ long long warp_sum(long long value) {
  const unsigned long long bits = static_cast<unsigned long long>(value);
  const auto piece = [](unsigned long long part) {
    return static_cast<unsigned long long>(__reduce_add_sync(~0u, static_cast<unsigned>(part)));
  };
  constexpr unsigned mask = (1u << 22) - 1;
  return static_cast<long long>(piece(bits & mask) + (piece(bits >> 22 & mask) << 22) + (piece(bits >> 44) << 44));
}

// limb += (low + high * 2^32) * 2^position, in pieces of 32 bits but for the last. Alone: no other thread does so now.
template <bool Alone = false>
__device__ __forceinline__ void deposit(long long* limb, long long low, long long high, int position) {
  const int k = position / 32, shift = position % 32;
  high += low >> 32;
  const unsigned long long a = static_cast<unsigned long long>(low & 0xffffffffll) << shift;
  const unsigned long long b = static_cast<unsigned long long>(high & 0xffffffffll) << shift;
  const auto add = [&](int i, unsigned long long v) {
    if (Alone)
      limb[i] += static_cast<long long>(v);
    else
      atomicAdd(reinterpret_cast<unsigned long long*>(limb + i), v);
  };
  add(k, a & 0xffffffffull);
  add(k + 1, (a >> 32) + (b & 0xffffffffull));
  add(k + 2, (b >> 32) + (static_cast<unsigned long long>(high >> 32) << shift));
}

// An exact number after carrying: in `word` the integer in two's complement, limbs of 32 bits, and the leading bits.
// Limbs lie within +-2^62 before, and are not kept. All lanes call it and get the same result.
struct carried {
  head number;
  bool zero;
};

template <int Limbs>
__device__ carried carry_limbs(long long* limb, unsigned* word) {
  constexpr int each = (Limbs + 31) / 32;  // a lane has `each` neighbours
  const int lane = threadIdx.x & 31, first = lane * each;
  unsigned digit[each];
  // With 2^62 added to each limb none is negative; the sum of all that, negated, is added limb by limb too.
  unsigned long long carry = 0;
#pragma unroll
  for (int j = 0; j < each; ++j) {
    const int k = first + j;
    const unsigned long long back = k == 0 ? 0ull : k == 1 ? 0xC0000000ull : 0xBFFFFFFFull;
    carry += k < Limbs ? static_cast<unsigned long long>(limb[k]) + (1ull << 62) + back : 0ull;
    digit[j] = static_cast<unsigned>(carry);
    carry >>= 32;
  }
  const auto add_in = [&](unsigned long long in) {  // returns what is carried out
#pragma unroll
    for (int j = 0; j < each; ++j) {
      in += digit[j];
      digit[j] = static_cast<unsigned>(in);
      in >>= 32;
    }
    return static_cast<unsigned>(in);
  };
  const auto all_are = [&](unsigned value) {
    bool all = true;
#pragma unroll
    for (int j = 0; j < each; ++j) all = all && digit[j] == value;
    return all;
  };
  const unsigned long long from_below = __shfl_up_sync(~0u, carry, 1);
  const unsigned out = add_in(lane == 0 ? 0ull : from_below);
  // Carries are 0 or 1 from here on: a lane makes one, or hands on the one it gets if all its bits are 1.
  const unsigned makes = __ballot_sync(~0u, out != 0), hands_on = __ballot_sync(~0u, all_are(~0u));
  add_in(((makes + (makes | hands_on)) ^ hands_on) >> lane & 1);
  // Bits beyond the last limb are the sign's.
  constexpr int top_lane = (Limbs - 1) / each, top_slot = (Limbs - 1) % each;
  const bool negative = __shfl_sync(~0u, digit[top_slot], top_lane) >> 31;
#pragma unroll
  for (int j = 0; j < each; ++j) {
    if (first + j < Limbs) word[first + j] = digit[j];
    if (first + j >= Limbs)
      digit[j] = 0;
    else if (negative)
      digit[j] = ~digit[j];
  }
  const unsigned ones = __ballot_sync(~0u, all_are(~0u));
  if (negative) add_in((ones ^ (ones + 1)) >> lane & 1);
  int highest = -1;
#pragma unroll
  for (int j = 0; j < each; ++j) highest = digit[j] != 0 ? first + j : highest;
  const unsigned filled = __ballot_sync(~0u, highest >= 0);
  carried result;
  result.zero = filled == 0;
  const int top = __shfl_sync(~0u, highest, filled == 0 ? 0 : 31 - __clz(filled));
  // The highest five limbs, and whether any lower one is not 0.
  bool lower = false;
#pragma unroll
  for (int j = 0; j < each; ++j) {
    if (first + j < Limbs) limb[first + j] = digit[j];
    lower = lower || (first + j < top - 4 && digit[j] != 0);
  }
  __syncwarp();
  unsigned long long part[3] = {0, 0, 0};
#pragma unroll
  for (int d = 0; d < 5; ++d)
    part[d / 2] |= static_cast<unsigned long long>(top >= d ? limb[top - d] : 0) << (d % 2 == 0 ? 32 : 0);
  head& h = result.number;
  h.negative = negative;
  h.more = __any_sync(~0u, lower);
  h.high = part[0];
  h.low = part[1];
  if (!result.zero) {
    const int up = leading_zeros(part[0]);  // less than 32
    if (up != 0) {
      h.high = part[0] << up | part[1] >> (64 - up);
      h.low = part[1] << up | part[2] >> (64 - up);
    }
    h.more = h.more || part[2] << up != 0;
    h.exponent = 32 * (top - 3) - up;  // in units of the range
  }
  __syncwarp();
  return result;
}

}  // namespace coalesce::detail::exact
