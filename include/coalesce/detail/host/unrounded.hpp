// Adds floats in doubles for as long as no addition rounds, which the CPU itself says: an addition that rounds sets the
// flag "inexact" of MXCSR, and the flag stays until it is cleared. A block whose additions leave it clear is added exactly,
// whatever its elements are. Each float becomes a double exactly, and the sums are doubles too, so any elements within some
// 22 powers of two of each other pass, and integers far beyond that.
//
// Costs a conversion and an addition for a vector of doubles: on an AMD EPYC of 2024, 100 GB/s a core from the L2 cache.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coalesce::detail::host {

constexpr std::size_t unrounded_block = 4096;  // elements at a time: two accesses to MXCSR are little beside them
constexpr int unrounded_lanes = 64;

// So many bytes ahead elements come to the caches. The CPU does that by itself only within a page, and each access to
// MXCSR waits for what was begun before. Where there is no memory, it ignores the request.
constexpr int unrounded_ahead = 8192;

// Adds x[0 … unrounded_block) to the lanes, which together are the sum. False, and nothing changed, if an addition rounded,
// overflowed or was invalid. Quiet NaNs and infinities pass, and stay in their lanes. MXCSR is afterwards as it was, so the
// program's own rounding, flushing and flags neither matter nor change.
using unrounded_adder = bool (*)(const float* x, double* lanes);

// With -ffast-math compilers may use other operations than those written here.
#if defined(__x86_64__) && !defined(__CUDA_ARCH__) && !defined(__FAST_MATH__)

// The accumulators are operands of each access to MXCSR, so that compilers move no addition across it. 0x1f80: to nearest,
// subnormals, no exceptions, no flags; 0x3d: all flags but "subnormal operand", which changes nothing.
#define COALESCE_MXCSR(instruction, word, a)                                                                         \
  asm volatile(instruction " %8"                                                                                     \
               : "+x"((a)[0]), "+x"((a)[1]), "+x"((a)[2]), "+x"((a)[3]), "+x"((a)[4]), "+x"((a)[5]), "+x"((a)[6]), \
                 "+x"((a)[7]), "+m"(word))

// Conversions are written in assembly because GCC makes two of one, and includes no header because NVCC does not take all.
#define COALESCE_UNROUNDED(name, features, bytes, convert)                                                  \
  __attribute__((target(features))) inline bool name(const float* x, double* lanes) {                       \
    typedef double doubles __attribute__((vector_size(bytes), may_alias));                                  \
    struct floats {                                                                                         \
      float one[(bytes) / 8];                                                                               \
    };                                                                                                      \
    constexpr int chains = 8, each = (bytes) / 8;                                                           \
    doubles a[chains];                                                                                      \
    std::uint32_t before = 0, clear = 0x1f80, after = 0;                                                    \
    __builtin_memcpy(a, lanes, sizeof(a));                                                                  \
    COALESCE_MXCSR("stmxcsr", before, a);                                                                   \
    COALESCE_MXCSR("ldmxcsr", clear, a);                                                                    \
    for (std::size_t i = 0; i < unrounded_block; i += chains * each) {                                      \
      for (int line = 0; line < (bytes) * chains / 2; line += 64)                                           \
        __builtin_prefetch(                                                                                 \
            reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(x + i) + unrounded_ahead + line)); \
      for (int c = 0; c < chains; ++c) {                                                                    \
        doubles v;                                                                                          \
        asm(convert " %1, %0" : "=x"(v) : "m"(*reinterpret_cast<const floats*>(x + i + c * each)));         \
        a[c] += v;                                                                                          \
      }                                                                                                     \
    }                                                                                                       \
    COALESCE_MXCSR("stmxcsr", after, a);                                                                    \
    COALESCE_MXCSR("ldmxcsr", before, a);                                                                   \
    if ((after & 0x3d) != 0) return false;                                                                  \
    __builtin_memcpy(lanes, a, sizeof(a));                                                                  \
    return true;                                                                                            \
  }

COALESCE_UNROUNDED(add_unrounded_16, "sse2", 16, "cvtps2pd")
COALESCE_UNROUNDED(add_unrounded_32, "avx", 32, "vcvtps2pd")
COALESCE_UNROUNDED(add_unrounded_64, "avx512f", 64, "vcvtps2pd")

#undef COALESCE_UNROUNDED
#undef COALESCE_MXCSR

// The adders that this CPU can run, the fastest first; then null.
inline const unrounded_adder* unrounded_adders() {
  static const struct table {
    unrounded_adder one[4] = {};
    table() {
      int count = 0;
      if (__builtin_cpu_supports("avx512f")) one[count++] = add_unrounded_64;
      if (__builtin_cpu_supports("avx")) one[count++] = add_unrounded_32;
      one[count++] = add_unrounded_16;
    }
  } adders;
  return adders.one;
}

#else

inline const unrounded_adder* unrounded_adders() {
  static const unrounded_adder none[1] = {};
  return none;
}

#endif

}  // namespace coalesce::detail::host
