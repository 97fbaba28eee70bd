// Barriers, votes, shuffles and atomics of the emulated host, by the names that CUDA gives them.
#pragma once

#include "emulation.h"

#ifndef __CUDA_ARCH__
namespace rc {

template <class T>
u64 packed(T x) {
  u64 word = 0;
  memcpy(&word, &x, sizeof x);
  return word;
}
template <class T>
T unpacked(u64 word) {
  T x;
  memcpy(&x, &word, sizeof x);
  return x;
}

// Lane `from` of the group of `width` lanes; its own value where there is none. The generator uses no value of a lane
// that does not take part.
template <class T>
T shuffled(unsigned mask, T x, int from, bool inside, const char* operation) {
  const u64* seen = exchange(mask, packed(x), operation);
  return unpacked<T>(seen[inside ? unsigned(from) : block.at->lane]);
}
template <class T>
T shfl_sync(unsigned mask, T x, int from, int width = 32) {
  const int lane = int(block.at->lane);
  return shuffled(mask, x, (lane & -width) | (from & (width - 1)), true, "shfl");
}
template <class T>
T shfl_up_sync(unsigned mask, T x, unsigned by, int width = 32) {
  const int lane = int(block.at->lane), from = lane - int(by);
  return shuffled(mask, x, from, from >= (lane & -width), "shfl_up");
}
template <class T>
T shfl_down_sync(unsigned mask, T x, unsigned by, int width = 32) {
  const int lane = int(block.at->lane), from = lane + int(by);
  return shuffled(mask, x, from, from < (lane & -width) + width, "shfl_down");
}
template <class T>
T shfl_xor_sync(unsigned mask, T x, int with, int width = 32) {
  const int lane = int(block.at->lane), from = lane ^ with;
  return shuffled(mask, x, from, from < (lane & -width) + width, "shfl_xor");
}

inline unsigned ballot_sync(unsigned mask, int p) {
  const u64* seen = exchange(mask, p != 0, "ballot");
  unsigned result = 0;
  for (unsigned l = 0; l < 32; ++l) result |= unsigned(seen[l]) << l;
  return result;
}
inline int all_sync(unsigned mask, int p) { return ballot_sync(mask, p) == mask; }
inline int any_sync(unsigned mask, int p) { return ballot_sync(mask, p) != 0; }
inline void syncwarp(unsigned mask = 0xffffffffu) { exchange(mask, 0, "syncwarp"); }
// Used only where all lanes of the warp are together.
inline unsigned activemask() {
  unsigned result = 0;
  for (const Thread& t : block.threads)
    if (t.warp == block.at->warp && t.state != State::ended) result |= 1u << t.lane;
  return result;
}

template <class T>
unsigned match_any_sync(unsigned mask, T x) {
  const u64* seen = exchange(mask, packed(x), "match");
  unsigned result = 0;
  for (unsigned l = 0; l < 32; ++l) result |= unsigned((mask >> l & 1) && seen[l] == packed(x)) << l;
  return result;
}
template <class T>
unsigned match_all_sync(unsigned mask, T x, int* all) {
  *all = match_any_sync(mask, x) == mask;
  return *all ? mask : 0;
}

template <class T, class F>
T reduced(unsigned mask, T x, const F& f) {
  const u64* seen = exchange(mask, packed(x), "reduce");
  T result{};
  bool first = true;
  for (unsigned l = 0; l < 32; ++l) {
    if (!(mask >> l & 1)) continue;
    result = first ? unpacked<T>(seen[l]) : f(result, unpacked<T>(seen[l]));
    first = false;
  }
  return result;
}
#define RC_REDUCE(name, expression)                                               \
  template <class T>                                                              \
  T reduce_##name##_sync(unsigned mask, T x) {                                    \
    return reduced(mask, x, [](T a, T b) { return static_cast<T>(expression); }); \
  }
RC_REDUCE(add, u32(a) + u32(b))
RC_REDUCE(min, a < b ? a : b)
RC_REDUCE(max, a > b ? a : b)
RC_REDUCE(and, a& b)
RC_REDUCE(or, a | b)
RC_REDUCE(xor, a ^ b)

// One thread runs at a time: an atomic is an ordinary update.
#define RC_ATOMIC(name, expression)  \
  template <class T>                 \
  T atomic_##name(T* p, T b) {       \
    const T a = *p;                  \
    *p = static_cast<T>(expression); \
    return a;                        \
  }
template <class T>
T sum(T a, T b) {
  return T(a + b);
}
template <>
inline i32 sum(i32 a, i32 b) {
  return i32(u32(a) + u32(b));
}
RC_ATOMIC(add, sum(a, b))
RC_ATOMIC(sub, a - b)
RC_ATOMIC(exch, b)
RC_ATOMIC(min, a < b ? a : b)
RC_ATOMIC(max, a > b ? a : b)
RC_ATOMIC(and, a& b)
RC_ATOMIC(or, a | b)
RC_ATOMIC(xor, a ^ b)
RC_ATOMIC(inc, a >= b ? 0 : a + 1)
RC_ATOMIC(dec, a == 0 || a > b ? b : a - 1)
template <class T>
T atomic_cas(T* p, T expected, T desired) {
  const T old = *p;
  if (old == expected) *p = desired;
  return old;
}

}  // namespace rc

#define __syncthreads() ((void)rc::barrier(0))
#define __syncthreads_count(...) (int(rc::barrier(__VA_ARGS__).votes))
#define __syncthreads_or(...) (int(rc::barrier(__VA_ARGS__).votes != 0))
#define __syncthreads_and(...) (rc::all_voted(rc::barrier(__VA_ARGS__)))
namespace rc {
inline int all_voted(const Thread& t) { return t.votes == t.voters; }
}  // namespace rc
#define __syncwarp rc::syncwarp
#define __activemask rc::activemask
#define __shfl_sync rc::shfl_sync
#define __shfl_up_sync rc::shfl_up_sync
#define __shfl_down_sync rc::shfl_down_sync
#define __shfl_xor_sync rc::shfl_xor_sync
#define __ballot_sync rc::ballot_sync
#define __all_sync rc::all_sync
#define __any_sync rc::any_sync
#define __match_any_sync rc::match_any_sync
#define __match_all_sync rc::match_all_sync
#define __reduce_add_sync rc::reduce_add_sync
#define __reduce_min_sync rc::reduce_min_sync
#define __reduce_max_sync rc::reduce_max_sync
#define __reduce_and_sync rc::reduce_and_sync
#define __reduce_or_sync rc::reduce_or_sync
#define __reduce_xor_sync rc::reduce_xor_sync
#define atomicAdd rc::atomic_add
#define atomicSub rc::atomic_sub
#define atomicExch rc::atomic_exch
#define atomicMin rc::atomic_min
#define atomicMax rc::atomic_max
#define atomicAnd rc::atomic_and
#define atomicOr rc::atomic_or
#define atomicXor rc::atomic_xor
#define atomicInc rc::atomic_inc
#define atomicDec rc::atomic_dec
#define atomicCAS rc::atomic_cas
#define __threadfence() ((void)0)
#define __threadfence_block() ((void)0)
#endif

namespace rc {

// The lanes of the calling thread's warp that exist.
HD inline u32 lanes() {
  const u32 size = blockDim.x * blockDim.y * blockDim.z;
  const u32 self = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const u32 rest = size - self / 32 * 32;
  return rest >= 32 ? 0xffffffffu : (1u << rest) - 1;
}

}  // namespace rc
