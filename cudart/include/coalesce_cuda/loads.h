// Loads and stores that name their caching: __ldg (read-only), and .ca .cg .cs .lu .cv loads, .wb .cg .cs .wt stores.
#pragma once

#include "vectors.h"

namespace coalesce_cuda {

// The same bytes as another type; unlike a bit cast, also for the wide vectors.
template <class To, class From>
__device__ COALESCE_INLINE To as(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof(To));
  return to;
}

}  // namespace coalesce_cuda

// A value moves as one access of its own size and alignment: 1 to 8 bytes in one register, 16 as four.
// Asm needs global addresses; like the toolkit's, these promise the address to be global.
#define COALESCE_LOAD(name, how, kind, ...)                                                                \
  template <class T>                                                                                       \
  __device__ COALESCE_INLINE T name(const T* p) {                                                          \
    static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16, \
                  #name " loads 1, 2, 4, 8 or 16 bytes");                                                  \
    if constexpr (sizeof(T) == 1) {                                                                        \
      unsigned int v;                                                                                      \
      asm kind("ld.global." how ".u8 %0, [%1];" : "=r"(v) : "l"(p)__VA_ARGS__);                            \
      return coalesce_cuda::as<T>(static_cast<unsigned char>(v));                                          \
    } else if constexpr (sizeof(T) == 2) {                                                                 \
      unsigned short v;                                                                                    \
      asm kind("ld.global." how ".u16 %0, [%1];" : "=h"(v) : "l"(p)__VA_ARGS__);                           \
      return coalesce_cuda::as<T>(v);                                                                      \
    } else if constexpr (sizeof(T) == 4) {                                                                 \
      unsigned int v;                                                                                      \
      asm kind("ld.global." how ".u32 %0, [%1];" : "=r"(v) : "l"(p)__VA_ARGS__);                           \
      return coalesce_cuda::as<T>(v);                                                                      \
    } else if constexpr (sizeof(T) == 8 && alignof(T) < 8) {                                               \
      uint2 v;                                                                                             \
      asm kind("ld.global." how ".v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(p)__VA_ARGS__);     \
      return coalesce_cuda::as<T>(v);                                                                      \
    } else if constexpr (sizeof(T) == 8) {                                                                 \
      unsigned long long v;                                                                                \
      asm kind("ld.global." how ".u64 %0, [%1];" : "=l"(v) : "l"(p)__VA_ARGS__);                           \
      return coalesce_cuda::as<T>(v);                                                                      \
    } else {                                                                                               \
      uint4 v;                                                                                             \
      asm kind("ld.global." how ".v4.u32 {%0, %1, %2, %3}, [%4];"                                          \
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)                                                \
               : "l"(p)__VA_ARGS__);                                                                       \
      return coalesce_cuda::as<T>(v);                                                                      \
    }                                                                                                      \
  }
COALESCE_LOAD(__ldg, "nc", )  // read-only data: nothing to order
COALESCE_LOAD(__ldca, "ca", volatile, : "memory")
COALESCE_LOAD(__ldcg, "cg", volatile, : "memory")
COALESCE_LOAD(__ldcs, "cs", volatile, : "memory")
COALESCE_LOAD(__ldlu, "lu", volatile, : "memory")
COALESCE_LOAD(__ldcv, "cv", volatile, : "memory")
#undef COALESCE_LOAD

#define COALESCE_STORE(name, how)                                                                                      \
  template <class T>                                                                                                   \
  __device__ COALESCE_INLINE void name(T* p, T value) {                                                                \
    static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16,             \
                  #name " stores 1, 2, 4, 8 or 16 bytes");                                                             \
    if constexpr (sizeof(T) == 1) {                                                                                    \
      unsigned int v = coalesce_cuda::as<unsigned char>(value);                                                        \
      asm volatile("st.global." how ".u8 [%0], %1;" ::"l"(p), "r"(v) : "memory");                                      \
    } else if constexpr (sizeof(T) == 2) {                                                                             \
      asm volatile("st.global." how ".u16 [%0], %1;" ::"l"(p), "h"(coalesce_cuda::as<unsigned short>(value))           \
                   : "memory");                                                                                        \
    } else if constexpr (sizeof(T) == 4) {                                                                             \
      asm volatile("st.global." how ".u32 [%0], %1;" ::"l"(p), "r"(coalesce_cuda::as<unsigned int>(value))             \
                   : "memory");                                                                                        \
    } else if constexpr (sizeof(T) == 8) {                                                                             \
      asm volatile("st.global." how ".u64 [%0], %1;" ::"l"(p), "l"(coalesce_cuda::as<unsigned long long>(value))       \
                   : "memory");                                                                                        \
    } else {                                                                                                           \
      const uint4 v = coalesce_cuda::as<uint4>(value);                                                                 \
      asm volatile("st.global." how ".v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) \
                   : "memory");                                                                                        \
    }                                                                                                                  \
  }
COALESCE_STORE(__stwb, "wb")
COALESCE_STORE(__stcg, "cg")
COALESCE_STORE(__stcs, "cs")
COALESCE_STORE(__stwt, "wt")
#undef COALESCE_STORE
