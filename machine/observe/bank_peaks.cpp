// The number of lanes on the fullest bank, for sixteen warps at once.
//
// Each lane's bank is one bit of a word. Bit-sliced addition sums the 32 words of a warp by bit: bit k of the sum of
// bank b is bit b of plane k, so an addition is a few logical operations for all 32 banks. Five steps add one half of a
// warp's words to the other, and each step makes one vector of two; at the end a vector has one word of each warp. A
// warp costs some 20 operations of 512 bits, without an instruction that counts bits by columns and without waits
// between lanes.
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "machine/observe/traffic.h"

namespace coalesce::machine {
namespace {

constexpr int kWords = 16;
using WordVector [[gnu::vector_size(4 * kWords)]] = uint32_t;

template <int n>
struct Planes {
  WordVector bit[n];
};

template <int n>
[[gnu::always_inline]] inline void add(const Planes<n>& a, const Planes<n>& b, Planes<n + 1>& sum) {
  WordVector carry = a.bit[0] & b.bit[0];
  sum.bit[0] = a.bit[0] ^ b.bit[0];
  for (int k = 1; k < n; ++k) {
    const WordVector x = a.bit[k], y = b.bit[k];
    sum.bit[k] = x ^ y ^ carry;
    carry = (x & y) | (x & carry) | (y & carry);
  }
  sum.bit[n] = carry;
}

// Adds neighbouring groups of `size` words of `x`, then those of `y`: sums come to lie in blocks of 4 words, or, within
// blocks, x's before y's.
template <int size, int n>
[[gnu::always_inline]] inline void fold(const Planes<n>& x, const Planes<n>& y, Planes<n + 1>& sum) {
  Planes<n> even, odd;
  for (int k = 0; k < n; ++k) {
    const WordVector &a = x.bit[k], &b = y.bit[k];
    if constexpr (size == 4) {
      even.bit[k] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
      odd.bit[k] = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    } else if constexpr (size == 2) {
      even.bit[k] = __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
      odd.bit[k] = __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
    } else {
      even.bit[k] = __builtin_shufflevector(a, b, 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30);
      odd.bit[k] = __builtin_shufflevector(a, b, 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
    }
  }
  add(even, odd, sum);
}

// Bank bits of the words' numbers modulo 32.
[[gnu::always_inline]] inline WordVector bank_bits(const WordVector& word) {
#if defined(__AVX512F__)  // a rotation is one instruction, and takes its distance modulo 32
  return WordVector(_mm512_rolv_epi32(_mm512_set1_epi32(1), __m512i(word)));
#else
  return (WordVector{} + 1) << (word & 31);
#endif
}

// Sums of 1, 2, 4, 8 and 16 warps, which follow those of `at`.
[[gnu::always_inline]] inline void sum_1(const uint32_t* at, Planes<2>& sum) {
  Planes<1> low, high;
  __builtin_memcpy(&low, at, sizeof low);
  __builtin_memcpy(&high, at + kWords, sizeof high);
  low.bit[0] = bank_bits(low.bit[0]);
  high.bit[0] = bank_bits(high.bit[0]);
  add(low, high, sum);
}
[[gnu::always_inline]] inline void sum_2(const uint32_t (*at)[32], Planes<3>& sum) {
  Planes<2> first, second;
  sum_1(at[0], first);
  sum_1(at[1], second);
  fold<4>(first, second, sum);
}
[[gnu::always_inline]] inline void sum_4(const uint32_t (*at)[32], Planes<4>& sum) {
  Planes<3> first, second;
  sum_2(at, first);
  sum_2(at + 2, second);
  fold<4>(first, second, sum);
}
[[gnu::always_inline]] inline void sum_8(const uint32_t (*at)[32], Planes<5>& sum) {
  Planes<4> first, second;
  sum_4(at, first);
  sum_4(at + 4, second);
  fold<2>(first, second, sum);
}

}  // namespace

void shared_atomic_wavefronts(const uint32_t (*word)[32], uint32_t* wavefronts) {
  static_assert(kAtomicsTogether == kWords);
  Planes<5> first, second;
  Planes<6> sum;
  sum_8(word, first);
  sum_8(word + 8, second);
  fold<1>(first, second, sum);
  // From the highest bit down: if any banks have the bit, only these can be the fullest.
  WordVector banks = ~WordVector{}, fullest{};
  for (int k = 5; k >= 0; --k) {
    const WordVector some = banks & sum.bit[k];
    const WordVector none = WordVector(some == 0);
    banks = (banks & none) | (some & ~none);
    fullest |= ~none & (uint32_t{1} << k);
  }
  for (int i = 0; i < kWords; ++i) wavefronts[i % 4 * 4 + i / 4] = fullest[i];
}

}  // namespace coalesce::machine
