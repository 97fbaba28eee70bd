// The block layer: threads of a block combine their partial results, and the last block to end combines those of the
// blocks.
#pragma once

#include <coalesce/warp/reduce.cuh>

namespace coalesce::detail {

// Room in shared memory for N values of a type that may have constructors. It begins at a sector: where copies past L1
// put the halves of one source sector into two of shared memory, L2 is asked twice (docs/counters.md).
template <class T, int N>
struct room {
  alignas(32) alignas(T) unsigned char bytes[N * sizeof(T)];  // stored to by vectors
  __device__ T& operator[](int i) { return reinterpret_cast<T*>(bytes)[i]; }
};

// Room in shared memory for N values, each word of them in an array of its own: threads that take neighbouring values
// are in neighbouring banks, however large a value is.
template <class T, int N>
struct planes {
  static constexpr int count = (sizeof(T) + 3) / 4;
  unsigned int words[count][N];

  __device__ __forceinline__ void put(int i, const T& value) {
    unsigned int word[count] = {};
    memcpy(word, &value, sizeof(T));
#pragma unroll
    for (int w = 0; w < count; ++w) words[w][i] = word[w];
  }
  __device__ __forceinline__ T get(int i) const {
    unsigned int word[count];
#pragma unroll
    for (int w = 0; w < count; ++w) word[w] = words[w][i];
    T value;
    memcpy(static_cast<void*>(&value), word, sizeof(T));
    return value;
  }
};

// The merged state of all threads, in warp 0; what other warps return means nothing. One barrier; shared memory is free
// again after the next barrier. `threads`: how many there are, Threads or fewer.
template <int Threads, class A>
__device__ __forceinline__ typename A::state fold_block(const A& a, typename A::state state, int threads = Threads) {
  constexpr int warps = Threads / 32;
  static_assert(Threads % 32 == 0 && Threads <= 1024 && (warps & (warps - 1)) == 0);
  state = merge_lanes(a, state, 32);
  if constexpr (warps > 1) {
    if (threads == 32) return state;
    __shared__ planes<typename A::state, warps> of_warp;
    if (threadIdx.x % 32 == 0) of_warp.put(threadIdx.x / 32, state);
    __syncthreads();
    if (threadIdx.x < 32) {
      // All steps, however many warps there are: between branches one step would wait for the end of the other.
      state = a.identity();
      if (static_cast<int>(threadIdx.x) < threads / 32) state = of_warp.get(threadIdx.x);
      state = merge_lanes(a, state, merges_warps<A> ? 32 : warps);
    }
  }
  return state;
}

// atomicInc, before which this thread's writes and those it waited for are visible to the whole device, and after which
// the same holds for what other blocks wrote before theirs. A fence on both sides would do more and take longer.
__device__ __forceinline__ unsigned int take_ticket(unsigned int* ticket, unsigned int last) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
  unsigned int mine;
  asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(mine) : "l"(ticket), "r"(last) : "memory");
  return mine;
#else
  __threadfence();
  const unsigned int mine = atomicInc(ticket, last);
  __threadfence();
  return mine;
#endif
}

// True if this warp is the last of `warps` to get here; all its lanes call it. See last_block.
__device__ __forceinline__ bool last_warp(unsigned int* ticket, unsigned int warps) {
  __syncwarp();
  const bool mine = threadIdx.x % 32 == 0 && take_ticket(ticket, warps - 1) == warps - 1;
  const bool last = __shfl_sync(0xffffffffu, mine, 0);
  __syncwarp();  // what the first lane may see now the others may, too: a shuffle orders no memory
  return last;
}

// True if this block is the last of `blocks` to get here; all its threads call it and get the same result, or (Threads
// = 32) those of its first warp do. Then all earlier writes of the other blocks' threads are visible. The ticket must
// be 0 before the first block, and is 0 again after the last.
template <int Threads = 0>
__device__ __forceinline__ bool last_block(unsigned int* ticket, unsigned int blocks) {
  if constexpr (Threads == 32) {
    return last_warp(ticket, blocks);
  } else {
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) last = take_ticket(ticket, blocks - 1) == blocks - 1;
    __syncthreads();
    return last;
  }
}

// partials[first * pitch], partials[(first + step) * pitch] ... of `count`, merged in this order. Several, `Loads`, are
// on their way at once.
template <int Loads = 0, class A>
__device__ __forceinline__ typename A::state merge_partials(const A& a, const typename A::state* partials, int first,
                                                            int count, int step, std::int64_t pitch) {
  constexpr int loads = Loads > 0 ? Loads : shape<A>::state_words <= 4 ? 8 : 2;
  typename A::state merged = a.identity();
  for (int i = first; i < count; i += loads * step) {
    typename A::state other[loads];
#pragma unroll
    for (int k = 0; k < loads; ++k) {
      if (i + k * step < count) other[k] = partials[(i + k * step) * pitch];
    }
#pragma unroll
    for (int k = 0; k < loads; ++k) {
      if (i + k * step < count) a.merge(merged, other[k]);
    }
  }
  return merged;
}

}  // namespace coalesce::detail
