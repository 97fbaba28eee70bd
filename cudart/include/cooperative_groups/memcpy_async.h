// memcpy_async(group, to, from, bytes): all members of the group copy together; wait(group) until it is done.
#pragma once
#pragma GCC system_header
#include "../coalesce_cuda/plain_names_away.h"
#include "../cooperative_groups.h"

namespace cooperative_groups {
namespace detail {

// One piece from global to shared memory past the registers: 16 bytes leave out the L1 cache, smaller ones may not.
template <int Bytes>
__device__ COALESCE_INLINE void copy_async(void* to, const void* from) {
  const unsigned int shared = static_cast<unsigned int>(__cvta_generic_to_shared(to));
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(__cvta_generic_to_global(from))
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(__cvta_generic_to_global(from)),
                 "n"(Bytes)
                 : "memory");
}

template <class Word, class Group>
__device__ inline void copy_words(const Group& group, void* to, const void* from, size_t bytes) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  if constexpr (sizeof(Word) >= 4) {
    if (__isShared(to) && __isGlobal(from)) {
      for (size_t i = group.thread_rank(); i < bytes / sizeof(Word); i += group.size())
        copy_async<sizeof(Word)>(static_cast<Word*>(to) + i, static_cast<const Word*>(from) + i);
      return;
    }
  }
#endif
  for (size_t i = group.thread_rank(); i < bytes / sizeof(Word); i += group.size())
    static_cast<Word*>(to)[i] = static_cast<const Word*>(from)[i];
}

}  // namespace detail

// In the widest pieces that both addresses and the length allow. From global to shared memory, pieces of 4 bytes and
// more are cp.async instructions (compute capability 8.0 and later); everything else is copied when this returns.
template <class Group, class T>
__device__ inline void memcpy_async(const Group& group, T* to, const T* from, size_t bytes) {
  const size_t bits = reinterpret_cast<size_t>(to) | reinterpret_cast<size_t>(from) | bytes;
  if (bits % 16 == 0)
    detail::copy_words<uint4>(group, to, from, bytes);
  else if (bits % 8 == 0)
    detail::copy_words<uint2>(group, to, from, bytes);
  else if (bits % 4 == 0)
    detail::copy_words<unsigned int>(group, to, from, bytes);
  else
    detail::copy_words<unsigned char>(group, to, from, bytes);
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Lengths in elements; the smaller one counts.
template <class Group, class T>
__device__ inline void memcpy_async(const Group& group, T* to, size_t to_count, const T* from, size_t from_count) {
  memcpy_async(group, to, from, (to_count < from_count ? to_count : from_count) * sizeof(T));
}

// All copies but the latest `Stages` are done, for all members.
template <unsigned int Stages, class Group>
__device__ inline void wait_prior(const Group& group) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(Stages) : "memory");
#endif
  group.sync();
}
template <class Group>
__device__ inline void wait(const Group& group) {
  wait_prior<0>(group);
}

}  // namespace cooperative_groups
#include "../coalesce_cuda/plain_names_back.h"
