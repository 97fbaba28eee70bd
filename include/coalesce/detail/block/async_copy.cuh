// Copies from global to shared memory that threads start and do not wait for: no registers are held meanwhile.
#pragma once

#include <coalesce/detail/source.cuh>

namespace coalesce::detail {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
__device__ __forceinline__ void start_copy16(void* shared, const void* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
               :
               : "r"(static_cast<unsigned int>(__cvta_generic_to_shared(shared))), "l"(global)
               : "memory");
}
// The same by a policy for L2 (l2_policy.cuh).
__device__ __forceinline__ void start_copy16(void* shared, const void* global, unsigned long long policy) {
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;"
               :
               : "r"(static_cast<unsigned int>(__cvta_generic_to_shared(shared))), "l"(global), "l"(policy)
               : "memory");
}
// The same for one element; those of 1 or 2 bytes are waited for.
template <class T>
__device__ __forceinline__ void start_copy_of_one(T* shared, const T* global) {
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                 :
                 : "r"(static_cast<unsigned int>(__cvta_generic_to_shared(shared))), "l"(global), "n"(sizeof(T))
                 : "memory");
  } else {
    *shared = *global;
  }
}
// Copies started so far are a group.
__device__ __forceinline__ void end_group() { asm volatile("cp.async.commit_group;" : : : "memory"); }
// Until all but the last N of this thread's groups are there. Other threads' need a barrier, too.
template <int N>
__device__ __forceinline__ void wait_for_groups() {
  asm volatile("cp.async.wait_group %0;" : : "n"(N) : "memory");
}
#else
__device__ __forceinline__ void start_copy16(void* shared, const void* global) {
  *static_cast<uint4*>(shared) = *static_cast<const uint4*>(global);
}
__device__ __forceinline__ void start_copy16(void* shared, const void* global, unsigned long long) {
  start_copy16(shared, global);
}
template <class T>
__device__ __forceinline__ void start_copy_of_one(T* shared, const T* global) {
  *shared = *global;
}
__device__ __forceinline__ void end_group() {}
template <int N>
__device__ __forceinline__ void wait_for_groups() {}
#endif

// Two words of shared memory by one load, which clang would make two of.
__device__ __forceinline__ uint2 load_two(const void* shared) {
  uint2 two;
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
               : "=r"(two.x), "=r"(two.y)
               : "r"(static_cast<unsigned int>(__cvta_generic_to_shared(shared)))
               : "memory");
  return two;
}

__device__ __forceinline__ uint4 load_four(const void* shared) {
  uint4 four;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(four.x), "=r"(four.y), "=r"(four.z), "=r"(four.w)
               : "r"(static_cast<unsigned int>(__cvta_generic_to_shared(shared)))
               : "memory");
  return four;
}

__device__ __forceinline__ void store_four(void* shared, const uint4& four) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};"
               :
               : "r"(static_cast<unsigned int>(__cvta_generic_to_shared(shared))), "r"(four.x), "r"(four.y),
                 "r"(four.z), "r"(four.w)
               : "memory");
}

// The place of `from[0]` in a buffer aligned to 16 bytes: as far behind a 16-byte boundary as it is in memory.
template <class T>
__device__ __forceinline__ T* shared_at(T* buffer, const T* from) {
  return buffer + reinterpret_cast<std::uintptr_t>(from) % 16 / sizeof(T);
}

// Starts copying from[0] ... from[count - 1] to `to` (of shared_at) by all `Threads` threads.
template <int Threads, class T>
__device__ __forceinline__ void start_staging(T* to, const T* from, int count) {
  constexpr int width = elements_in_vector<T>;
  if constexpr (width == 1 && sizeof(T) != 16) {
    for (int i = threadIdx.x; i < count; i += Threads) to[i] = from[i];
  } else {
    int head = width == 1 ? 0 : elements_before(from, 16, sizeof(T));
    if (head > count) head = count;
    const int vectors = (count - head) / width, inside = vectors * width;
    // Thread 0 has the first half of a sector.
    const int before = static_cast<int>(reinterpret_cast<std::uintptr_t>(from + head) / 16 % 2);
    for (int i = static_cast<int>(threadIdx.x) - before; i < vectors; i += Threads) {
      if (i >= 0) start_copy16(to + head + i * width, from + head + i * width);
    }
    const int at = static_cast<int>(threadIdx.x) < head ? threadIdx.x : threadIdx.x + inside;
    if (at < count) to[at] = from[at];  // there are fewer than 32 of these
  }
}

}  // namespace coalesce::detail
