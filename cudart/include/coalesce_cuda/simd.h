// Video intrinsics: four bytes or two halves of one word at a time. One loop each: the compiler unrolls it.
#pragma once

#include "integers.h"

#define COALESCE_FN static __device__ COALESCE_INLINE

namespace coalesce_cuda {
// The nearest value that a signed or unsigned piece of `bits` bits can hold.
constexpr __device__ COALESCE_INLINE int clamp_signed(int x, int bits) {
  return x > (1 << (bits - 1)) - 1 ? (1 << (bits - 1)) - 1 : x < -(1 << (bits - 1)) ? -(1 << (bits - 1)) : x;
}
constexpr __device__ COALESCE_INLINE int clamp_unsigned(int x, int bits) {
  return x > (1 << bits) - 1 ? (1 << bits) - 1 : x < 0 ? 0 : x;
}
}  // namespace coalesce_cuda

// x and y are the pieces of a and b as T, `bits` wide.
#define COALESCE_SIMD(name, T, lanes, expression)                                         \
  COALESCE_FN unsigned int name(unsigned int a, unsigned int b) {                         \
    constexpr int bits = 32 / lanes;                                                      \
    unsigned int r = 0;                                                                   \
    for (int i = 0; i < lanes; ++i) {                                                     \
      const int x = static_cast<T>(a >> (i * bits)), y = static_cast<T>(b >> (i * bits)); \
      const unsigned int v = static_cast<unsigned int>(expression);                       \
      r |= (v & (0xffffffffu >> (32 - bits))) << (i * bits);                              \
    }                                                                                     \
    return r;                                                                             \
  }
#define COALESCE_SIMD_ONE(name, T, lanes, expression)               \
  COALESCE_FN unsigned int name(unsigned int a) {                   \
    constexpr int bits = 32 / lanes;                                \
    unsigned int r = 0;                                             \
    for (int i = 0; i < lanes; ++i) {                               \
      const int x = static_cast<T>(a >> (i * bits));                \
      const unsigned int v = static_cast<unsigned int>(expression); \
      r |= (v & (0xffffffffu >> (32 - bits))) << (i * bits);        \
    }                                                               \
    return r;                                                       \
  }
#define COALESCE_SIMD_SUM(name, T, lanes, expression)                                     \
  COALESCE_FN unsigned int name(unsigned int a, unsigned int b) {                         \
    constexpr int bits = 32 / lanes;                                                      \
    unsigned int sum = 0;                                                                 \
    for (int i = 0; i < lanes; ++i) {                                                     \
      const int x = static_cast<T>(a >> (i * bits)), y = static_cast<T>(b >> (i * bits)); \
      sum += static_cast<unsigned int>(expression);                                       \
    }                                                                                     \
    return sum;                                                                           \
  }
// Comparisons: cmp gives all bits of a piece, set gives 1.
#define COALESCE_SIMD_COMPARE(n, suffix, T, lanes, op)        \
  COALESCE_SIMD(__vcmp##suffix##n, T, lanes, x op y ? -1 : 0) \
  COALESCE_SIMD(__vset##suffix##n, T, lanes, x op y)
#define COALESCE_SIMD_ALL(n, S, U, lanes)                                                     \
  COALESCE_SIMD(__vadd##n, U, lanes, x + y)                                                   \
  COALESCE_SIMD(__vaddss##n, S, lanes, coalesce_cuda::clamp_signed(x + y, bits))              \
  COALESCE_SIMD(__vaddus##n, U, lanes, coalesce_cuda::clamp_unsigned(x + y, bits))            \
  COALESCE_SIMD(__vsub##n, U, lanes, x - y)                                                   \
  COALESCE_SIMD(__vsubss##n, S, lanes, coalesce_cuda::clamp_signed(x - y, bits))              \
  COALESCE_SIMD(__vsubus##n, U, lanes, coalesce_cuda::clamp_unsigned(x - y, bits))            \
  COALESCE_SIMD(__vmaxs##n, S, lanes, x > y ? x : y)                                          \
  COALESCE_SIMD(__vmaxu##n, U, lanes, x > y ? x : y)                                          \
  COALESCE_SIMD(__vmins##n, S, lanes, x < y ? x : y)                                          \
  COALESCE_SIMD(__vminu##n, U, lanes, x < y ? x : y)                                          \
  COALESCE_SIMD(__vabsdiffu##n, U, lanes, x > y ? x - y : y - x)                              \
  COALESCE_SIMD(__vabsdiffs##n, S, lanes, x > y ? x - y : y - x)                              \
  COALESCE_SIMD(__vavgu##n, U, lanes, (x + y + 1) >> 1)                                       \
  COALESCE_SIMD(__vavgs##n, S, lanes, (x + y + (x + y >= 0)) >> 1)                            \
  COALESCE_SIMD(__vhaddu##n, U, lanes, (x + y) >> 1)                                          \
  COALESCE_SIMD_COMPARE(n, eq, U, lanes, ==)                                                  \
  COALESCE_SIMD_COMPARE(n, ne, U, lanes, !=)                                                  \
  COALESCE_SIMD_COMPARE(n, gtu, U, lanes, >)                                                  \
  COALESCE_SIMD_COMPARE(n, gts, S, lanes, >)                                                  \
  COALESCE_SIMD_COMPARE(n, geu, U, lanes, >=)                                                 \
  COALESCE_SIMD_COMPARE(n, ges, S, lanes, >=)                                                 \
  COALESCE_SIMD_COMPARE(n, ltu, U, lanes, <)                                                  \
  COALESCE_SIMD_COMPARE(n, lts, S, lanes, <)                                                  \
  COALESCE_SIMD_COMPARE(n, leu, U, lanes, <=)                                                 \
  COALESCE_SIMD_COMPARE(n, les, S, lanes, <=)                                                 \
  COALESCE_SIMD_ONE(__vabs##n, S, lanes, x < 0 ? -x : x)                                      \
  COALESCE_SIMD_ONE(__vabsss##n, S, lanes, coalesce_cuda::clamp_signed(x < 0 ? -x : x, bits)) \
  COALESCE_SIMD_ONE(__vneg##n, S, lanes, -x)                                                  \
  COALESCE_SIMD_ONE(__vnegss##n, S, lanes, coalesce_cuda::clamp_signed(-x, bits))             \
  COALESCE_SIMD_SUM(__vsadu##n, U, lanes, x > y ? x - y : y - x)                              \
  COALESCE_SIMD_SUM(__vsads##n, S, lanes, x > y ? x - y : y - x)
COALESCE_SIMD_ALL(4, signed char, unsigned char, 4)
COALESCE_SIMD_ALL(2, short, unsigned short, 2)
#undef COALESCE_SIMD_ALL
#undef COALESCE_SIMD_COMPARE
#undef COALESCE_SIMD_SUM
#undef COALESCE_SIMD_ONE
#undef COALESCE_SIMD
#undef COALESCE_FN
