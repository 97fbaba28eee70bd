// The two passes of a window over a block of floats or doubles (superaccumulator.hpp), by vectors of 16, 32 and 64 bytes.
// The widest that the CPU has is chosen when the program runs, so that a build for any CPU is as fast as one for this.
#pragma once

#include <coalesce/detail/exact/total.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace coalesce::detail::host {

// Additions have a latency of about four cycles: so many vectors are on their way at once.
constexpr int window_chains = 4;
constexpr int window_steps = 128;  // additions to one accumulator within a block: the window leaves 7 bits for them
constexpr std::size_t largest_window_block = std::size_t(64 / 8) * window_chains * window_steps;

template <class Term>
struct window_passes {
  using bits = typename exact::format<Term>::bits;
  std::size_t block;  // elements; divides largest_window_block
  // The largest of the elements' bits without their signs.
  bits (*largest)(const Term* x);
  // Adds up what the elements have within the window's halves, in units of the last bits of start1 and start2. False:
  // something lies below them.
  bool (*add)(const Term* x, double start1, double start2, std::int64_t& sum1, std::int64_t& sum2);
};

#define COALESCE_VECTOR_BYTES 16
#define COALESCE_TARGET
#include <coalesce/detail/host/window.def>

#if defined(__x86_64__) && !defined(__CUDA_ARCH__)

#define COALESCE_VECTOR_BYTES 32
#define COALESCE_TARGET __attribute__((target("avx2")))
#include <coalesce/detail/host/window.def>

#define COALESCE_VECTOR_BYTES 64
#if defined(__clang__)  // which halves vectors of 64 bytes for some CPUs
#define COALESCE_TARGET __attribute__((target("avx512f"), min_vector_width(512)))
#else
#define COALESCE_TARGET __attribute__((target("avx512f")))
#endif
#include <coalesce/detail/host/window.def>

#endif

// Those that this CPU can run, the fastest first; then one without functions.
template <class Term>
const window_passes<Term>* window_passes_of() {
  static const struct table {
    window_passes<Term> one[4] = {};
    table() {
      int count = 0;
#if defined(__x86_64__) && !defined(__CUDA_ARCH__)
      if (__builtin_cpu_supports("avx512f")) one[count++] = window_64::passes<Term>();
      if (__builtin_cpu_supports("avx2")) one[count++] = window_32::passes<Term>();
#endif
      one[count++] = window_16::passes<Term>();
    }
  } all;
  return all.one;
}

}  // namespace coalesce::detail::host
