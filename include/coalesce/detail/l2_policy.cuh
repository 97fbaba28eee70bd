// Policies of L2: which lines that a kernel reads and writes stay longer.
#pragma once

#include <coalesce/detail/vector16.cuh>
#include <cstring>

namespace coalesce::detail {

// A hint for L2, of a load or a store: what goes by `first` is the first to give up its place.
enum class place_in_l2 { usual, first };
__device__ __forceinline__ unsigned long long policy_of(place_in_l2 place) {
  unsigned long long policy = 0;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  unsigned long long usual, first;
  asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(usual));
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(first));
  policy = place == place_in_l2::first ? first : usual;
#endif
  return policy;
}

// Which lines leave L2 first. If results are more than a 48th of the bytes read, an H200 is fastest with one policy for
// both: a kernel that writes an eighth of what it reads reaches 4.37 TB/s, with reads first 4.09. If they are fewer,
// reads leave first, so that results gather in L2 and are written in long pieces: 4.5 TB/s instead of 4.34 for a
// hundredth. Loads past L1 have the policy `first` anyway.
inline constexpr int reads_per_result = 48;

template <class T>
__device__ __forceinline__ void write_result(T* to, const T& value, place_in_l2 place) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  constexpr int size = alignof(T) < 16 ? static_cast<int>(alignof(T)) : 16, count = sizeof(T) / size;
  typename unit_of<size>::type units[count];
  memcpy(static_cast<void*>(units), &value, sizeof(T));
  const unsigned long long policy = policy_of(place);
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const auto* const at = reinterpret_cast<const char*>(to) + i * size;
    if constexpr (size == 16) {
      asm volatile("st.global.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, %5;"
                   :
                   : "l"(at), "r"(units[i].x), "r"(units[i].y), "r"(units[i].z), "r"(units[i].w), "l"(policy)
                   : "memory");
    } else if constexpr (size == 8) {
      asm volatile("st.global.L2::cache_hint.v2.u32 [%0], {%1, %2}, %3;"
                   :
                   : "l"(at), "r"(units[i].x), "r"(units[i].y), "l"(policy)
                   : "memory");
    } else if constexpr (size == 4) {
      asm volatile("st.global.L2::cache_hint.u32 [%0], %1, %2;" : : "l"(at), "r"(units[i]), "l"(policy) : "memory");
    } else if constexpr (size == 2) {
      asm volatile("st.global.L2::cache_hint.u16 [%0], %1, %2;" : : "l"(at), "h"(units[i]), "l"(policy) : "memory");
    } else {
      asm volatile("st.global.L2::cache_hint.u8 [%0], %1, %2;"
                   :
                   : "l"(at), "h"(static_cast<unsigned short>(units[i])), "l"(policy)
                   : "memory");
    }
  }
#else
  *to = value;
#endif
}

}  // namespace coalesce::detail
