// Tiles of small numbers, several to an instruction. Bytes (int8, uint8) four at a time: there are 19 of them a clock
// and multiprocessor at the speed of an H200's memory, which leaves six instructions for each.
#pragma once

#include <coalesce/detail/number.cuh>
#include <cstring>

namespace coalesce::detail {

template <class T, int N>
inline constexpr bool in_words = std::is_integral_v<T> && sizeof(T) == 1 && !std::is_same_v<T, bool> && N % 4 == 0;
// True if two are compared at once, as halves of a word.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
template <class T, int N>
inline constexpr bool in_pairs = in_words<T, N> && N >= 8;
#else
template <class T, int N>
inline constexpr bool in_pairs = false;
#endif

template <class T, int N>
__device__ __forceinline__ void words_of(const T (&tile)[N], unsigned int (&words)[N / 4]) {
  memcpy(words, tile, sizeof(tile));
}

// sum + the four bytes' products.
template <class T>
__device__ __forceinline__ int add_products(unsigned int a, unsigned int b, int sum) {
  int result;
  if constexpr (std::is_signed_v<T>) {
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  } else {
    asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  }
  return result;
}

// sum + the two halves.
template <class T>
__device__ __forceinline__ int add_halves(unsigned int two, int sum) {
  int result;
  if constexpr (std::is_signed_v<T>) {
    asm("dp2a.lo.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(two), "r"(0x0101u), "r"(sum));
  } else {
    asm("dp2a.lo.u32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(two), "r"(0x0101u), "r"(sum));
  }
  return result;
}
// sum + all of up to four integers of 1 or 2 bytes, of which 4 bytes are a word.
template <class T, int N>
__device__ __forceinline__ int add_few(const T (&x)[N], int sum) {
  if constexpr (sizeof(x) == 4 && N > 1) {
    unsigned int word;
    memcpy(&word, x, sizeof(word));
    return N == 4 ? add_products<T>(word, 0x01010101u, sum) : add_halves<T>(word, sum);
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) sum += static_cast<int>(x[i]);
    return sum;
  }
}
// The same of the first `count` of them.
template <class T, int N>
__device__ __forceinline__ int add_few(const T (&x)[N], int sum, int count) {
  T some[N];
  if constexpr (sizeof(x) == 4) {
    unsigned int word;
    memcpy(&word, x, sizeof(word));
    asm("shl.b32 %0, %0, %1;" : "+r"(word) : "r"(32 - 8 * static_cast<int>(sizeof(T)) * count));  // by 32: 0
    memcpy(some, &word, sizeof(word));
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) some[i] = i < count ? x[i] : T(0);
  }
  return add_few(some, sum);
}

template <class T, int N>
__device__ __forceinline__ int sum_of_bytes(const T (&tile)[N]) {
  unsigned int words[N / 4];
  words_of(tile, words);
  constexpr int chains = N >= 64 ? 4 : 1;  // side by side: each addition waits for the one before
  int sum[chains] = {};
#pragma unroll
  for (int i = 0; i < N / 4; ++i) sum[i % chains] = add_products<T>(words[i], 0x01010101u, sum[i % chains]);
#pragma unroll
  for (int i = 1; i < chains; ++i) sum[0] += sum[i];
  return sum[0];
}
template <class T, int N>
__device__ __forceinline__ int squares_of_bytes(const T (&tile)[N]) {
  unsigned int words[N / 4];
  words_of(tile, words);
  int sum = 0;
#pragma unroll
  for (int i = 0; i < N / 4; ++i) sum = add_products<T>(words[i], words[i], sum);
  return sum;
}

// The extremes of two pairs of numbers of 16 bits.
template <bool Largest, class Half = short>
__device__ __forceinline__ unsigned int extreme_of_pairs(unsigned int a, unsigned int b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  unsigned int result;
  if constexpr (Largest && std::is_signed_v<Half>) {
    asm("max.s16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  } else if constexpr (Largest) {
    asm("max.u16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  } else if constexpr (std::is_signed_v<Half>) {
    asm("min.s16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  } else {
    asm("min.u16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  }
  return result;
#else
  const bool low = (static_cast<Half>(a) > static_cast<Half>(b)) == Largest;
  const bool high = (static_cast<Half>(a >> 16) > static_cast<Half>(b >> 16)) == Largest;
  return ((low ? a : b) & 0xffffu) | ((high ? a : b) & 0xffff0000u);
#endif
}
// Bytes 0 and 2 (Odd: 1 and 3) as numbers of 16 bits.
template <class T, bool Odd>
__device__ __forceinline__ unsigned int pair_of_bytes(unsigned int word) {
  unsigned int result;
  // A selector of 8 and more takes the byte's sign; 4 takes a byte of the second word, which is 0.
  constexpr unsigned int which = std::is_signed_v<T> ? (Odd ? 0xb391u : 0xa280u) : (Odd ? 0x4341u : 0x4240u);
  asm("prmt.b32 %0, %1, 0, %2;" : "=r"(result) : "r"(word), "n"(which));
  return result;
}
// The extremes of words[First] ... words[First + N - 1]'s even bytes and of their odd ones, as a tree.
template <bool Largest, class T, int First, int N, int Size>
__device__ __forceinline__ unsigned int extremes_of_words(const unsigned int (&words)[Size]) {
  if constexpr (N == 1) {
    return extreme_of_pairs<Largest>(pair_of_bytes<T, false>(words[First]), pair_of_bytes<T, true>(words[First]));
  } else {
    return extreme_of_pairs<Largest>(extremes_of_words<Largest, T, First, N / 2>(words),
                                     extremes_of_words<Largest, T, First + N / 2, N - N / 2>(words));
  }
}
template <bool Largest, class T, int N>
__device__ __forceinline__ int extreme_of_bytes(const T (&tile)[N]) {
  unsigned int words[N / 4];
  words_of(tile, words);
  const unsigned int even = extremes_of_words<Largest, T, 0, N / 4>(words);
  const int low = static_cast<short>(even), high = static_cast<short>(even >> 16);
  return (Largest ? low > high : low < high) ? low : high;
}

// The first place of `best`, which is there.
template <class T, int N>
__device__ __forceinline__ int place_among_bytes(const T (&tile)[N], int best) {
  unsigned int words[N / 4];
  words_of(tile, words);
  const unsigned int four = (best & 0xff) * 0x01010101u;
  int word = 0;
  unsigned int marks = 0x80;
#pragma unroll
  for (int i = N / 4 - 1; i >= 0; --i) {
    const unsigned int apart = words[i] ^ four;
    // The lowest byte that is 0 is the lowest one marked.
    const unsigned int zero = (apart - 0x01010101u) & ~apart & 0x80808080u;
    word = zero ? i : word;
    marks = zero ? zero : marks;
  }
  return word * 4 + (__ffs(static_cast<int>(marks)) - 1) / 8;
}

// half and bfloat16, two at a time.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
template <class T, int N>
inline constexpr bool in_halves = is_half<T> && N % 2 == 0 && N >= 4;
#else
template <class T, int N>
inline constexpr bool in_halves = false;
#endif

template <class T, bool Largest, bool IgnoreNan>
__device__ __forceinline__ unsigned int extreme_of_halves(unsigned int a, unsigned int b) {
  unsigned int result;
#define COALESCE_HALVES(type, largest, ignore, instruction)                             \
  if constexpr (std::is_same_v<T, type> && Largest == largest && IgnoreNan == ignore) { \
    asm(instruction " %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));                    \
  }
  COALESCE_HALVES(__half, true, true, "max.f16x2")
  COALESCE_HALVES(__half, true, false, "max.NaN.f16x2")
  COALESCE_HALVES(__half, false, true, "min.f16x2")
  COALESCE_HALVES(__half, false, false, "min.NaN.f16x2")
  COALESCE_HALVES(__nv_bfloat16, true, true, "max.bf16x2")
  COALESCE_HALVES(__nv_bfloat16, true, false, "max.NaN.bf16x2")
  COALESCE_HALVES(__nv_bfloat16, false, true, "min.bf16x2")
  COALESCE_HALVES(__nv_bfloat16, false, false, "min.NaN.bf16x2")
#undef COALESCE_HALVES
  return result;
}

// words[First] ... words[First + N - 1] as a tree.
template <class T, bool Largest, bool IgnoreNan, int First, int N, int Size>
__device__ __forceinline__ unsigned int extreme_of_many_halves(const unsigned int (&words)[Size]) {
  if constexpr (N == 1) {
    return words[First];
  } else {
    return extreme_of_halves<T, Largest, IgnoreNan>(
        extreme_of_many_halves<T, Largest, IgnoreNan, First, N / 2>(words),
        extreme_of_many_halves<T, Largest, IgnoreNan, First + N / 2, N - N / 2>(words));
  }
}
// Two numbers, whose first in order is that of the tile.
template <bool Largest, bool IgnoreNan, class T, int N>
__device__ __forceinline__ void extremes_of_halves(const T (&tile)[N], T (&two)[2]) {
  unsigned int words[N / 2];
  memcpy(words, tile, sizeof(tile));
  const unsigned int best = extreme_of_many_halves<T, Largest, IgnoreNan, 0, N / 2>(words);
  memcpy(static_cast<void*>(two), &best, sizeof(best));
}

// True if the places of equal elements are found two at a time.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
template <class T, int N>
inline constexpr bool marks_halves = in_halves<T, N>;
#else
template <class T, int N>
inline constexpr bool marks_halves = false;
#endif

// The first place of `best`, which is there; NaN: of the first NaN. (A NaN is what differs from itself.)
template <class T, int N>
__device__ __forceinline__ int place_among_halves(const T (&tile)[N], float best) {
  unsigned int words[N / 2];
  memcpy(words, tile, sizeof(tile));
  const T two[2] = {static_cast<T>(best), static_cast<T>(best)};
  unsigned int wanted;
  memcpy(&wanted, two, sizeof(wanted));
  const bool nan = best != best;
  const unsigned int turned = nan ? 0xffffffffu : 0;
  int word = 0;
  unsigned int marks = 0;
#pragma unroll
  for (int i = N / 2 - 1; i >= 0; --i) {
    const unsigned int other = nan ? words[i] : wanted;
    unsigned int equal;
    if constexpr (std::is_same_v<T, __half>) {
      asm("set.eq.u32.f16x2 %0, %1, %2;" : "=r"(equal) : "r"(words[i]), "r"(other));
    } else {
      asm("set.eq.u32.bf16x2 %0, %1, %2;" : "=r"(equal) : "r"(words[i]), "r"(other));
    }
    equal ^= turned;
    word = equal ? i : word;
    marks = equal ? equal : marks;
  }
  return word * 2 + (marks & 0xffff ? 0 : 1);
}

}  // namespace coalesce::detail
