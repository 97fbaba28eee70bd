// The warp layer: lanes hand each other partial results by shuffles.
#pragma once

#include <coalesce/detail/accumulator.cuh>
#include <cstring>

namespace coalesce::warp {

// Applies `shuffle` to each word of `value`. T: any trivially copyable type, 4 bytes a shuffle. All lanes of the warp
// call it.
template <class T, class Shuffle>
__device__ __forceinline__ T shuffled(const T& value, const Shuffle& shuffle) {
  static_assert(std::is_trivially_copyable_v<T>,
                "coalesce: only trivially copyable values can be shuffled between lanes");
  constexpr int words = (sizeof(T) + 3) / 4;
  unsigned int word[words] = {};
  memcpy(word, &value, sizeof(T));
#pragma unroll
  for (int i = 0; i < words; ++i) word[i] = shuffle(word[i]);
  T other;
  memcpy(&other, word, sizeof(T));
  return other;
}

// The value of the lane whose number differs in `bits`.
template <class T>
__device__ __forceinline__ T exchange(const T& value, int bits) {
  return shuffled(value, [&](unsigned int word) { return __shfl_xor_sync(0xffffffffu, word, bits); });
}

// The value of the lane `steps` below; the lowest lanes get their own.
template <class T>
__device__ __forceinline__ T from_below(const T& value, int steps) {
  return shuffled(value, [&](unsigned int word) { return __shfl_up_sync(0xffffffffu, word, steps); });
}

// The value of lane `lane`.
template <class T>
__device__ __forceinline__ T from_lane(const T& value, int lane) {
  return shuffled(value, [&](unsigned int word) { return __shfl_sync(0xffffffffu, word, lane); });
}

// Combines `value` over each group of `lanes` neighbouring lanes (1, 2, 4 ... 32) with `combine(a, b)`, associative and
// commutative; every lane of a group returns its group's result, the same bits in each. All lanes of the warp call it.
//   reproducible   (words: coalesce/reduce.cuh)
//   warp::reduce   operation; else on which lane has which value, and on `lanes`
template <class T, class Combine>
__device__ __forceinline__ T reduce(T value, Combine combine, int lanes = 32) {
  for (int step = lanes / 2; step > 0; step /= 2) {
    const T other = exchange(value, step);
    // The lower lane's value first, in both lanes: so they compute the same bits whatever `combine` is.
    value = threadIdx.x & step ? combine(other, value) : combine(value, other);
  }
  return value;
}

}  // namespace coalesce::warp

namespace coalesce::detail {

// The same for an accumulator's state. Merging is commutative bit for bit in every accumulator of the library.
template <class A>
__device__ __forceinline__ typename A::state merge_lanes(const A& a, typename A::state state, int lanes) {
  if constexpr (merges_warps<A>) {
    if (lanes == 32) {
      a.merge_warp(state);
      return state;
    }
  }
  for (int step = lanes / 2; step > 0; step /= 2) a.merge(state, warp::exchange(state, step));
  return state;
}

}  // namespace coalesce::detail
