// How handlers read and write 32 lanes: vectors of elements, and predicates as one bit per lane.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "machine/execute/ops/numbers.h"
#include "machine/execute/ops/ops.h"
#if defined(__AVX2__)
#include <immintrin.h>
#endif

// Lanes never depend on one another, whatever the compiler can prove of the slots. Width and count are chosen so that
// all 32 lanes (kWidth, in scope where it is used, at a time) are one straight run of vector instructions; a function
// that does not vectorise stays a loop, silently.
#if defined(__clang__)
#define COALESCE_INDEPENDENT_LANES \
  _Pragma(                         \
      "clang loop vectorize_width(kWidth) interleave_count(kLanes / kWidth) vectorize(assume_safety) unroll(disable)")
#pragma clang diagnostic ignored "-Wpass-failed"
#else
#define COALESCE_INDEPENDENT_LANES _Pragma("GCC ivdep")
#endif

namespace coalesce::machine {

__extension__ using uint128_t = unsigned __int128;
__extension__ using int128_t = __int128;

#if defined(__AVX512F__)
inline constexpr uint32_t kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr uint32_t kVectorBytes = 32;
#else
inline constexpr uint32_t kVectorBytes = 16;
#endif

template <size_t kBytes>
struct FlagOfSize {
  using Type = uint64_t;
};
template <>
struct FlagOfSize<1> {
  using Type = uint32_t;  // only predicates as sources
};
template <>
struct FlagOfSize<2> {
  using Type = uint16_t;
};
template <>
struct FlagOfSize<4> {
  using Type = uint32_t;
};
template <size_t kBytes>
using FlagOf = typename FlagOfSize<kBytes>::Type;

template <size_t kBytes>
using BitsFor =
    std::conditional_t<kBytes == 16, uint128_t,
                       std::conditional_t<kBytes == 8, uint64_t, std::conditional_t<kBytes == 4, uint32_t, uint16_t>>>;

template <class T>
using StorageOf = std::conditional_t<std::is_same_v<T, bool>, uint32_t, T>;

template <class T>
struct Input {
  const T* at;
  explicit Input(const T* from) : at(from) {}
  COALESCE_INLINE T operator[](uint32_t i) const { return at[i]; }
};
template <>
struct Input<bool> {
  uint32_t bits;
  explicit Input(const uint32_t* from) : bits(*from) {}
  COALESCE_INLINE bool operator[](uint32_t i) const { return (bits & (1u << i)) != 0; }
};

// Bit i of the result is the top bit of flags[i]; every flag is 0 or all ones.
inline uint32_t bits_of(const uint16_t* flags) {
#if defined(__AVX512BW__)
  return _mm512_movepi16_mask(_mm512_loadu_si512(flags));
#elif defined(__AVX2__)
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(flags));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(flags + 16));
  // packs works within 128-bit halves: bring the quarters 0 2 1 3 back into order
  const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packs_epi16(low, high), 0xd8);
  return static_cast<uint32_t>(_mm256_movemask_epi8(bytes));
#else
  uint32_t bits = 0;
  for (uint32_t i = 0; i < kLanes; ++i) bits |= uint32_t{flags[i] & 1u} << i;
  return bits;
#endif
}

inline uint32_t bits_of(const uint32_t* flags) {
#if defined(__AVX512DQ__)
  const uint32_t low = _mm512_movepi32_mask(_mm512_loadu_si512(flags));
  const uint32_t high = _mm512_movepi32_mask(_mm512_loadu_si512(flags + 16));
  return low | high << 16;
#else
  uint32_t bits = 0;
#if defined(__AVX2__)
  for (uint32_t i = 0; i < kLanes; i += 8) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(flags + i));
    bits |= static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(v))) << i;
  }
#else
  for (uint32_t i = 0; i < kLanes; ++i) bits |= (flags[i] & 1u) << i;
#endif
  return bits;
#endif
}

inline uint32_t bits_of(const uint64_t* flags) {
  uint32_t bits = 0;
#if defined(__AVX512DQ__)
  for (uint32_t i = 0; i < kLanes; i += 8) {
    bits |= uint32_t{_mm512_movepi64_mask(_mm512_loadu_si512(flags + i))} << i;
  }
#elif defined(__AVX2__)
  for (uint32_t i = 0; i < kLanes; i += 4) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(flags + i));
    bits |= static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(v))) << i;
  }
#else
  for (uint32_t i = 0; i < kLanes; ++i) bits |= static_cast<uint32_t>(flags[i] & 1u) << i;
#endif
  return bits;
}

// Where a result goes. Predicates gather in a buffer of flags first (a variable of its own: in one struct with `at`
// the compiler would have to assume that the flags overwrite the pointer).
template <class T, class Flag>
struct Output {
  T* at;
  Output(std::byte* to, Flag*) : at(reinterpret_cast<T*>(to)) {}
  // Blended bit by bit: of a plain choice between two memory cells compilers make gathers.
  COALESCE_INLINE void set(uint32_t i, T value, bool on) const {
    using Bits = BitsFor<sizeof(T)>;
    const Bits mask = static_cast<Bits>(Bits{0} - Bits{on});
    const Bits blend = static_cast<Bits>((std::bit_cast<Bits>(value) & mask) | (std::bit_cast<Bits>(at[i]) & ~mask));
    at[i] = std::bit_cast<T>(blend);
  }
  void close(uint32_t) const {}
};
template <class Flag>
struct Output<bool, Flag> {
  uint32_t* at;
  Flag* flags;
  explicit Output(Flag* buffer) : at(nullptr), flags(buffer) {}
  Output(std::byte* to, Flag* buffer) : at(reinterpret_cast<uint32_t*>(to)), flags(buffer) {}
  COALESCE_INLINE void set(uint32_t i, bool value, bool) const {
    flags[i] = static_cast<Flag>(value ? ~Flag{0} : Flag{0});
  }
  void close(uint32_t active) const { *at = (*at & ~active) | (bits_of(flags) & active); }
};

}  // namespace coalesce::machine
