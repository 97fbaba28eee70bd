// Talk between the lanes of a warp: shuffles, votes, matches, reductions.
#pragma once

#include "qualifiers.h"

namespace coalesce_cuda {

// The lane groups of a shuffle are aligned pieces of `width` lanes (a power of two): the hardware takes the complement
// of width - 1 in bits 8-12 and the last lane of the group, as far as the direction needs it, in bits 0-4.
constexpr __device__ unsigned int shuffle_limits(int width, unsigned int last) {
  return (static_cast<unsigned int>(32 - width) << 8) | last;
}

template <class T>
struct Words {  // any trivially copyable value as 32-bit words
  static constexpr int count = (sizeof(T) + 3) / 4;
  int word[count];
};

}  // namespace coalesce_cuda

#define COALESCE_SHUFFLE(name, mode, third, last)                                                          \
  template <class T>                                                                                       \
  __device__ COALESCE_INLINE T coalesce_shfl_##mode(unsigned int mask, T value, third other, int width) {  \
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 4 or 8 bytes");                         \
    const int limits = static_cast<int>(coalesce_cuda::shuffle_limits(width, last));                       \
    auto words = __builtin_bit_cast(coalesce_cuda::Words<T>, value);                                       \
    for (int& w : words.word) w = __nvvm_shfl_sync_##mode##_i32(mask, w, static_cast<int>(other), limits); \
    return __builtin_bit_cast(T, words);                                                                   \
  }                                                                                                        \
  COALESCE_SHUFFLE_OF(name, mode, third, int)                                                              \
  COALESCE_SHUFFLE_OF(name, mode, third, unsigned int)                                                     \
  COALESCE_SHUFFLE_OF(name, mode, third, long)                                                             \
  COALESCE_SHUFFLE_OF(name, mode, third, unsigned long)                                                    \
  COALESCE_SHUFFLE_OF(name, mode, third, long long)                                                        \
  COALESCE_SHUFFLE_OF(name, mode, third, unsigned long long)                                               \
  COALESCE_SHUFFLE_OF(name, mode, third, float)                                                            \
  COALESCE_SHUFFLE_OF(name, mode, third, double)
// Each also in the form that toolkits before 9 had, with every lane taking part.
#define COALESCE_SHUFFLE_OF(name, mode, third, T)                                                            \
  static __device__ COALESCE_INLINE T name##_sync(unsigned int mask, T value, third other, int width = 32) { \
    return coalesce_shfl_##mode(mask, value, other, width);                                                  \
  }                                                                                                          \
  static __device__ COALESCE_INLINE T name(T value, third other, int width = 32) {                           \
    return coalesce_shfl_##mode(0xffffffffu, value, other, width);                                           \
  }
COALESCE_SHUFFLE(__shfl, idx, int, 31u)
COALESCE_SHUFFLE(__shfl_up, up, unsigned int, 0u)
COALESCE_SHUFFLE(__shfl_down, down, unsigned int, 31u)
COALESCE_SHUFFLE(__shfl_xor, bfly, int, 31u)
#undef COALESCE_SHUFFLE
#undef COALESCE_SHUFFLE_OF

static __device__ COALESCE_INLINE unsigned int __activemask() { return __nvvm_activemask(); }
static __device__ COALESCE_INLINE int __all_sync(unsigned int mask, int p) { return __nvvm_vote_all_sync(mask, p); }
static __device__ COALESCE_INLINE int __any_sync(unsigned int mask, int p) { return __nvvm_vote_any_sync(mask, p); }
static __device__ COALESCE_INLINE int __uni_sync(unsigned int mask, int p) { return __nvvm_vote_uni_sync(mask, p); }
static __device__ COALESCE_INLINE unsigned int __ballot_sync(unsigned int mask, int p) {
  return static_cast<unsigned int>(__nvvm_vote_ballot_sync(mask, p));
}
static __device__ COALESCE_INLINE int __all(int p) { return __nvvm_vote_all_sync(0xffffffffu, p); }
static __device__ COALESCE_INLINE int __any(int p) { return __nvvm_vote_any_sync(0xffffffffu, p); }
static __device__ COALESCE_INLINE unsigned int __ballot(int p) { return __ballot_sync(0xffffffffu, p); }

template <class T>
__device__ COALESCE_INLINE unsigned int __match_any_sync(unsigned int mask, T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "__match_any_sync compares 4 or 8 bytes");
  if constexpr (sizeof(T) == 4)
    return __nvvm_match_any_sync_i32(mask, __builtin_bit_cast(unsigned int, value));
  else
    return __nvvm_match_any_sync_i64(mask, __builtin_bit_cast(long, value));
}
template <class T>
__device__ COALESCE_INLINE unsigned int __match_all_sync(unsigned int mask, T value, int* all) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "__match_all_sync compares 4 or 8 bytes");
  if constexpr (sizeof(T) == 4)
    return __nvvm_match_all_sync_i32p(mask, __builtin_bit_cast(unsigned int, value), all);
  else
    return __nvvm_match_all_sync_i64p(mask, __builtin_bit_cast(long, value), all);
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define COALESCE_REDUX(name, builtin, T)                                                                 \
  static __device__ COALESCE_INLINE T __reduce_##name##_sync(unsigned int mask, T value) {               \
    return static_cast<T>(__nvvm_redux_sync_##builtin(static_cast<int>(value), static_cast<int>(mask))); \
  }
COALESCE_REDUX(add, add, int)
COALESCE_REDUX(add, add, unsigned int)
COALESCE_REDUX(min, min, int)
COALESCE_REDUX(min, umin, unsigned int)
COALESCE_REDUX(max, max, int)
COALESCE_REDUX(max, umax, unsigned int)
COALESCE_REDUX(and, and, unsigned int)
COALESCE_REDUX(or, or, unsigned int)
COALESCE_REDUX(xor, xor, unsigned int)
#undef COALESCE_REDUX
#endif
