// The functions of lanes_portable.h for CPUs with AVX-512: 32 numbers in two registers.
//
// Distinct numbers: conflict detection finds repeats within 16 lanes; then the upper lanes are compared with the lower
// ones. Lanes per bank: each lane's bank becomes one bit of 32, and transposing that 32 x 32 bit matrix in blocks of
// 8 x 8 leaves, for every 8 lanes and every bank, a byte whose set bits are the lanes on it.
#pragma once

#include <immintrin.h>

#include <bit>
#include <cstdint>

#include "machine/observe/lanes_portable.h"

namespace coalesce::machine {

struct Avx512Lanes {
  static constexpr const char* kName = "avx512";

  struct Table {
    __m512i low, high;  // lanes 0-15, 16-31
    Table operator>>(unsigned bits) const { return {_mm512_srai_epi32(low, bits), _mm512_srai_epi32(high, bits)}; }
    Table operator&(uint32_t bits) const {
      const __m512i b = _mm512_set1_epi32(static_cast<int>(bits));
      return {_mm512_and_si512(low, b), _mm512_and_si512(high, b)};
    }
    Table with_group(unsigned shift, unsigned group_bits) const {
      const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
      const __m512i upper = _mm512_add_epi32(lane, _mm512_set1_epi32(16));
      return {_mm512_or_si512(_mm512_slli_epi32(low, group_bits), _mm512_srli_epi32(lane, shift)),
              _mm512_or_si512(_mm512_slli_epi32(high, group_bits), _mm512_srli_epi32(upper, shift))};
    }
  };

  static __mmask16 low_of(uint32_t mask) { return static_cast<__mmask16>(mask); }
  static __mmask16 high_of(uint32_t mask) { return static_cast<__mmask16>(mask >> 16); }
  static uint32_t join(__mmask16 low, __mmask16 high) { return uint32_t{low} | uint32_t{high} << 16; }

  static Table load(const uint32_t* from, uint32_t mask) {
    const __m512i fill = _mm512_set1_epi32(static_cast<int>(from[std::countr_zero(mask)]));
    return {_mm512_mask_loadu_epi32(fill, low_of(mask), from), _mm512_mask_loadu_epi32(fill, high_of(mask), from + 16)};
  }

  static bool distances(const uint64_t* address, uint32_t mask, uint64_t base, Table* out) {
    const __m512i fill = _mm512_set1_epi64(static_cast<int64_t>(address[std::countr_zero(mask)]));
    const __m512i from = _mm512_set1_epi64(static_cast<int64_t>(base));
    const __m512i half = _mm512_set1_epi64(0x8000'0000);
    __m256i part[4];
    __m512i far = _mm512_setzero_si512();
    for (unsigned k = 0; k < 4; ++k) {
      const auto lanes = static_cast<__mmask8>(mask >> (8 * k));
      const __m512i d = _mm512_sub_epi64(_mm512_mask_loadu_epi64(fill, lanes, address + 8 * k), from);
      far = _mm512_or_si512(far, _mm512_add_epi64(d, half));
      part[k] = _mm512_cvtepi64_epi32(d);
    }
    out->low = _mm512_inserti64x4(_mm512_castsi256_si512(part[0]), part[1], 1);
    out->high = _mm512_inserti64x4(_mm512_castsi256_si512(part[2]), part[3], 1);
    return _mm512_test_epi64_mask(far, _mm512_set1_epi64(static_cast<int64_t>(0xffff'ffff'0000'0000ull))) == 0;
  }

  static bool any(const Table& t, uint32_t bits) {
    return _mm512_test_epi32_mask(_mm512_or_si512(t.low, t.high), _mm512_set1_epi32(static_cast<int>(bits))) != 0;
  }

  static uint32_t first_of_each(const Table& t, uint32_t mask) {
    const __mmask16 low = low_of(mask), high = high_of(mask);
    // Bit j of a lane's conflicts: lane j, below it, has its number. Only active ones matter.
    const __mmask16 low_repeats =
        _mm512_test_epi32_mask(_mm512_conflict_epi32(t.low), _mm512_set1_epi32(static_cast<int>(low)));
    const __mmask16 high_repeats =
        _mm512_test_epi32_mask(_mm512_conflict_epi32(t.high), _mm512_set1_epi32(static_cast<int>(high)));
    // Inactive low lanes repeat an active low one when there is any, so comparing with all of them is right.
    const __mmask16 in_low = low ? found_in(t.low, t.high) : __mmask16{0};
    return mask & ~join(low_repeats, static_cast<__mmask16>(high_repeats | in_low));
  }

  template <uint32_t flip>
  static uint32_t unlike_partner(const Table& t) {
    static_assert(flip == 1 || flip == 2);
    constexpr auto kSwap = static_cast<_MM_PERM_ENUM>(flip == 1 ? 0xb1 : 0x4e);  // neighbours, or neighbouring pairs
    return join(_mm512_cmpneq_epi32_mask(t.low, _mm512_shuffle_epi32(t.low, kSwap)),
                _mm512_cmpneq_epi32_mask(t.high, _mm512_shuffle_epi32(t.high, kSwap)));
  }

  static uint32_t union_of(const Table& t, uint32_t mask) {
    const __m512i one = _mm512_set1_epi32(1);
    const __m512i low = _mm512_maskz_sllv_epi32(low_of(mask), one, t.low);
    const __m512i high = _mm512_maskz_sllv_epi32(high_of(mask), one, t.high);
    return static_cast<uint32_t>(_mm512_reduce_or_epi32(_mm512_or_si512(low, high)));
  }

#if defined(__GFNI__) && defined(__AVX512VBMI__) && defined(__AVX512BITALG__)
  static constexpr bool kQuickPeaks = true;  // as quick as union_of
  static uint32_t sum_of_peaks(const Table& t, uint32_t mask, uint32_t lanes) {
    const __m512i low = lanes_per_bank(t.low, low_of(mask)), high = lanes_per_bank(t.high, high_of(mask));
    const __m256i eighth[4] = {_mm512_castsi512_si256(low), _mm512_extracti64x4_epi64(low, 1),
                               _mm512_castsi512_si256(high), _mm512_extracti64x4_epi64(high, 1)};
    if (lanes == 8) return largest(eighth[0]) + largest(eighth[1]) + largest(eighth[2]) + largest(eighth[3]);
    const __m256i first = _mm256_add_epi8(eighth[0], eighth[1]), second = _mm256_add_epi8(eighth[2], eighth[3]);
    if (lanes == 16) return largest(first) + largest(second);
    return largest(_mm256_add_epi8(first, second));
  }
#else
  static constexpr bool kQuickPeaks = false;
  static uint32_t sum_of_peaks(const Table& t, uint32_t mask, uint32_t lanes) {
    PortableLanes::Table stored;
    _mm512_store_si512(stored.n, t.low);
    _mm512_store_si512(stored.n + 16, t.high);
    return PortableLanes::sum_of_peaks(stored, mask, lanes);
  }
#endif

 private:
  // Lanes of `b` whose number is in `a`.
  static __mmask16 found_in(__m512i a, __m512i b) {
#if defined(__AVX512VP2INTERSECT__)
    __mmask16 of_a, of_b;
    _mm512_2intersect_epi32(a, b, &of_a, &of_b);
    return of_b;
#else
    __mmask16 found = _mm512_cmpeq_epi32_mask(a, b);
    for (int k = 1; k < 16; ++k) {
      a = _mm512_alignr_epi32(a, a, 1);
      found = static_cast<__mmask16>(found | _mm512_cmpeq_epi32_mask(a, b));
    }
    return found;
#endif
  }

#if defined(__GFNI__) && defined(__AVX512VBMI__) && defined(__AVX512BITALG__)
  // 16 lanes' banks -> 2 x 32 bytes: of lanes 0-7, then 8-15, how many are on each bank.
  static __m512i lanes_per_bank(__m512i bank, __mmask16 mask) {
    const __m512i bits = _mm512_maskz_sllv_epi32(mask, _mm512_set1_epi32(1), bank);
    // Byte o (banks 8o to 8o+7) of lanes 8g to 8g+7 becomes 8-byte block 4g + o.
    alignas(64) static constexpr struct Order {
      uint8_t from[64];
      constexpr Order() : from() {
        for (unsigned i = 0; i < 64; ++i) from[i] = static_cast<uint8_t>((i / 32 * 8 + i % 8) * 4 + i / 8 % 4);
      }
    } kOrder;
    const __m512i blocks = _mm512_permutexvar_epi8(_mm512_load_si512(&kOrder), bits);
    // Byte j of each block: bit j of all 8 bytes, that is the lanes on bank 8o + j.
    const __m512i diagonal = _mm512_set1_epi64(static_cast<int64_t>(0x8040'2010'0804'0201ull));
    return _mm512_popcnt_epi8(_mm512_gf2p8affine_epi64_epi8(diagonal, blocks, 0));
  }
  static uint32_t largest(__m256i bytes) {
    __m128i m = _mm_max_epu8(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
    // The least of eight 16-bit numbers is one instruction: turn bytes over, and fold pairs of bytes into their low
    // one.
    m = _mm_xor_si128(m, _mm_set1_epi8(-1));
    m = _mm_min_epu8(m, _mm_srli_epi16(m, 8));
    return 255 - (static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_minpos_epu16(m))) & 0xff);
  }
#endif
};

}  // namespace coalesce::machine
