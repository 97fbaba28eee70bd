// Partial results that blocks leave for the last of them without a fence: each word lies beside a flag in the same 8
// bytes, which are read and written as one. A reader that sees the flag has the word. So neither the last block nor the
// others wait until all writes are visible: half a microsecond on an H200.
//
// Every block writes its words before it takes its ticket, so the block with the last ticket waits for stores in
// flight, and for no block. Flags are 0 between launches: the reader clears them.
#pragma once

#include <coalesce/detail/block/fold.cuh>

namespace coalesce::detail {

template <class State>
inline constexpr int flagged_words = (sizeof(State) + 3) / 4;

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
#define COALESCE_STRONG(what) what ".relaxed.gpu.global"
#else
#define COALESCE_STRONG(what) what ".volatile.global"
#endif

__device__ __forceinline__ void store_flagged(unsigned long long* to, unsigned long long a) {
  asm volatile(COALESCE_STRONG("st") ".u64 [%0], %1;" : : "l"(to), "l"(a) : "memory");
}
__device__ __forceinline__ void store_flagged(unsigned long long* to, unsigned long long a, unsigned long long b) {
  asm volatile(COALESCE_STRONG("st") ".v2.u64 [%0], {%1, %2};" : : "l"(to), "l"(a), "l"(b) : "memory");
}
// Loads if `there`; else a and b stay as they are.
__device__ __forceinline__ void load_flagged_if(bool there, const unsigned long long* from, unsigned long long& a) {
  asm volatile("{\n.reg .pred there;\nsetp.ne.u32 there, %2, 0;\n@there " COALESCE_STRONG("ld") ".u64 %0, [%1];\n}"
               : "+l"(a)
               : "l"(from), "r"(static_cast<unsigned int>(there))
               : "memory");
}
__device__ __forceinline__ void load_flagged_if(bool there, const unsigned long long* from, unsigned long long& a,
                                                unsigned long long& b) {
  asm volatile(
      "{\n.reg .pred there;\nsetp.ne.u32 there, %3, 0;\n@there " COALESCE_STRONG("ld") ".v2.u64 {%0, %1}, [%2];\n}"
      : "+l"(a), "+l"(b)
      : "l"(from), "r"(static_cast<unsigned int>(there))
      : "memory");
}
#undef COALESCE_STRONG

// One partial result in memory.
template <class State>
struct alignas(flagged_words<State> % 2 == 0 ? 16 : 8) flagged {
  static constexpr int words = flagged_words<State>;
  unsigned long long word[words];

  __device__ __forceinline__ static void flag(const State& state, unsigned long long (&to)[words]) {
    unsigned int of_state[words] = {};
    memcpy(of_state, &state, sizeof(State));
#pragma unroll
    for (int w = 0; w < words; ++w) to[w] = static_cast<unsigned long long>(of_state[w]) << 32 | 0xffffffffu;
  }
  // Called by one thread.
  __device__ __forceinline__ void leave(const State& state) {
    unsigned long long with_flag[words];
    flag(state, with_flag);
    store(with_flag);
  }
  __device__ __forceinline__ void clear() {
    constexpr unsigned long long nothing[words] = {};
    store(nothing);
  }
  __device__ __forceinline__ void fetch_if(bool there, unsigned long long (&to)[words]) const {
    if constexpr (words % 2 == 0) {
#pragma unroll
      for (int w = 0; w < words; w += 2) load_flagged_if(there, word + w, to[w], to[w + 1]);
    } else {
#pragma unroll
      for (int w = 0; w < words; ++w) load_flagged_if(there, word + w, to[w]);
    }
  }
  // All ones where all words have their flags.
  __device__ __forceinline__ static unsigned int flags_of(const unsigned long long (&from)[words]) {
    unsigned int flags = 0xffffffffu;
#pragma unroll
    for (int w = 0; w < words; ++w) flags &= static_cast<unsigned int>(from[w]);
    return flags;
  }
  __device__ __forceinline__ static State state_of(const unsigned long long (&from)[words]) {
    unsigned int of_state[words];
#pragma unroll
    for (int w = 0; w < words; ++w) of_state[w] = static_cast<unsigned int>(from[w] >> 32);
    State state;
    memcpy(static_cast<void*>(&state), of_state, sizeof(State));
    return state;
  }

 private:
  __device__ __forceinline__ void store(const unsigned long long (&from)[words]) {
    if constexpr (words % 2 == 0) {
#pragma unroll
      for (int w = 0; w < words; w += 2) store_flagged(word + w, from[w], from[w + 1]);
    } else {
#pragma unroll
      for (int w = 0; w < words; ++w) store_flagged(word + w, from[w]);
    }
  }
};

// merge(merge(x[0], x[1]), merge(x[2], x[3])) ... into x[First].
template <int First, int N, class A, int Size>
__device__ __forceinline__ void merge_as_tree(const A& a, typename A::state (&x)[Size]) {
  if constexpr (N > 1) {
    merge_as_tree<First, N / 2>(a, x);
    merge_as_tree<First + N / 2, N - N / 2>(a, x);
    a.merge(x[First], x[First + N / 2]);
  }
}

// atomicInc, which orders nothing.
__device__ __forceinline__ unsigned int take_ticket_alone(unsigned int* ticket, unsigned int last) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
  unsigned int mine;
  asm volatile("atom.relaxed.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(mine) : "l"(ticket), "r"(last) : "memory");
  return mine;
#else
  return atomicInc(ticket, last);
#endif
}

// The compiler uses these words only after it has issued all loads ahead of them in the program.
template <int N>
__device__ __forceinline__ void all_before(unsigned long long (&words)[N]) {
#pragma unroll
  for (int w = 0; w < N; ++w) asm volatile("" : "+l"(words[w]));
}

// For loops that wait for stores on their way, which take some microseconds: more than seconds mean that the workspace
// is another launch's, too. Then the launch fails, instead of running for ever.
struct wait_limit {
  unsigned int turns = 1u << 24;
  __device__ __forceinline__ void turn() {
    if (turns-- == 0) __trap();
  }
};

// `there` partial results, `step` apart, of which the first is `from[0]`; `otherwise` stands for the
// missing ones. The loads of all are issued at once and repeated until the flags are set; then the flags are cleared.
template <int Loads, class State>
__device__ __forceinline__ void fetch_flagged(flagged<State>* from, int step, int there, const State& otherwise,
                                              State (&to)[Loads]) {
  using slot = flagged<State>;
  unsigned long long word[Loads][slot::words];
#pragma unroll
  for (int k = 0; k < Loads; ++k) slot::flag(otherwise, word[k]);
  unsigned int flags;
  wait_limit wait_limit;
  do {
    wait_limit.turn();
#pragma unroll
    for (int k = 0; k < Loads; ++k) from[step * k].fetch_if(k < there, word[k]);
    flags = 0xffffffffu;
#pragma unroll
    for (int k = 0; k < Loads; ++k) {
      all_before(word[k]);
      flags &= slot::flags_of(word[k]);
    }
  } while (flags != 0xffffffffu);
#pragma unroll
  for (int k = 0; k < Loads; ++k) {
    to[k] = slot::state_of(word[k]);
    if (k < there) from[step * k].clear();
  }
}

// Partial results that a thread fetches at once: 64 registers have room for as many.
template <class State>
inline constexpr int flagged_loads = flagged_words<State> <= 2   ? 9
                                     : flagged_words<State> <= 4 ? 5
                                     : flagged_words<State> <= 6 ? 3
                                                                 : 1;
// The number of blocks whose states are one turn of such loads.
template <class State>
inline constexpr int blocks_of_one_turn = 32 * flagged_loads<State>;

// The first `threads` threads (whole warps, Threads or fewer) of each of `blocks` blocks come with that block's
// `state`, in thread 0. Those of the last of them get true, and all blocks' merged state in warp 0.
template <int Threads, class A>
__device__ __forceinline__ bool combine_flagged(const A& a, typename A::state& state, flagged<typename A::state>* left,
                                                unsigned int* ticket, int block, int blocks, int threads) {
  const int thread = static_cast<int>(threadIdx.x);
  unsigned int last = 0;
  if (thread == 0) {
    left[block].leave(state);
    last = take_ticket_alone(ticket, blocks - 1) == static_cast<unsigned int>(blocks) - 1;
  }
  if constexpr (Threads == 32) {
    last = __shfl_sync(0xffffffffu, last, 0);
  } else {
    last = static_cast<unsigned int>(__syncthreads_or(static_cast<int>(last)));
  }
  if (!last) return false;
  constexpr int loads = flagged_loads<typename A::state>;
  state = a.identity();
  for (int first = thread; first - thread < blocks; first += threads * loads) {
    typename A::state part[loads];
    fetch_flagged(left + first, threads, (blocks - first + threads - 1) / threads, a.identity(), part);
    merge_as_tree<0, loads>(a, part);
    a.merge(state, part[0]);
  }
  state = fold_block<Threads>(a, state, threads);
  return true;
}

}  // namespace coalesce::detail
