// Reductions by one block, for kernels of your own.
#pragma once

#include <coalesce/warp/reduce.cuh>

namespace coalesce::block {

// Combines `value` of all Threads threads with `combine(a, b)`, associative and commutative; thread 0 returns the
// result, the other threads something without meaning. Threads: the block's size in one dimension, a multiple of 32.
// All threads call it. Contains two barriers: it may be called again at once. Shared memory: sizeof(T) for each warp.
//   reproducible    (words: coalesce/reduce.cuh)
//   block::reduce   operation; else on which thread has which value, and on Threads
template <int Threads, class T, class Combine>
__device__ __forceinline__ T reduce(T value, Combine combine) {
  static_assert(Threads > 0 && Threads % 32 == 0 && Threads <= 1024,
                "coalesce: block::reduce needs a block of whole warps: make Threads a multiple of 32, up to 1024");
  static_assert(std::is_trivially_copyable_v<T>, "coalesce: only trivially copyable values can be reduced in a block");
  constexpr int warps = Threads / 32;
  value = warp::reduce(value, combine);
  if constexpr (warps > 1) {
    alignas(T) __shared__ unsigned char bytes[warps * sizeof(T)];
    T* of_warp = reinterpret_cast<T*>(bytes);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int i = 1; i < warps; ++i) value = combine(value, of_warp[i]);
    }
    __syncthreads();
  }
  return value;
}

}  // namespace coalesce::block
