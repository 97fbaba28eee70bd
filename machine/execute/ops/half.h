// Half (f16) and bfloat16: their values in single precision, and rounding to them.
#pragma once

#include "machine/execute/ops/numbers.h"

namespace coalesce::machine {

struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};

COALESCE_INLINE Half flush(Half a) {
  return Half{static_cast<uint16_t>((a.bits & 0x7c00u) == 0 ? a.bits & 0x8000u : a.bits)};
}

COALESCE_INLINE bool is_nan(Half a) { return (a.bits & 0x7fffu) > 0x7c00u; }
COALESCE_INLINE bool is_nan(Bfloat a) { return (a.bits & 0x7fffu) > 0x7f80u; }

// The arithmetic forms, for hosts or compilers without conversion instructions.
COALESCE_INLINE float half_to_float_portable(Half a) {
  // Exponent and fraction moved into place are the value times 2^-112; infinity and NaN get the top exponent after.
  const uint32_t magnitude = static_cast<uint32_t>(a.bits & 0x7fffu) << 13;
  uint32_t bits = bits_of(float_of(magnitude) * 0x1p112f);
  bits = magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : bits;
  return float_of(bits | static_cast<uint32_t>(a.bits & 0x8000u) << 16);
}
COALESCE_INLINE uint16_t float_to_half_portable(float a) {
  const uint32_t bits = bits_of(a);
  const uint32_t magnitude = bits & 0x7fffffffu;
  // Normal results: add half of the last place kept less one, and one more when that place is odd.
  const uint32_t normal = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13;
  // Below 2^-14: adding 0.5 aligns the places so that the addition itself rounds.
  const uint32_t small = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000u;
  uint32_t half = magnitude < 0x38800000u ? small : normal;
  half = magnitude >= 0x47800000u ? 0x7c00u : half;  // 2^16 and more
  half = magnitude > 0x7f800000u ? 0x7fffu : half;
  return static_cast<uint16_t>(half | (bits >> 16 & 0x8000u));
}

// `to_float` is for any use. `to_operand` is for arithmetic only: clang turns comparisons (and tests for NaN) of
// converted halves into comparisons of halves, which hosts without half arithmetic then do lane by lane.
COALESCE_INLINE float to_float(Half a) { return half_to_float_portable(a); }
#if defined(__clang__) && defined(__F16C__)
COALESCE_INLINE float to_operand(Half a) { return static_cast<float>(std::bit_cast<_Float16>(a.bits)); }
COALESCE_INLINE uint16_t nearest_half(float a) { return std::bit_cast<uint16_t>(static_cast<_Float16>(a)); }
#else
COALESCE_INLINE float to_operand(Half a) { return half_to_float_portable(a); }
COALESCE_INLINE uint16_t nearest_half(float a) { return float_to_half_portable(a); }
#endif

COALESCE_INLINE float to_float(Bfloat a) { return float_of(static_cast<uint32_t>(a.bits) << 16); }
COALESCE_INLINE float to_operand(Bfloat a) { return to_float(a); }
COALESCE_INLINE uint16_t nearest_bfloat(float a) {
  const uint32_t bits = bits_of(a);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

template <class T>
COALESCE_INLINE uint16_t nearest(float a) {
  if constexpr (std::is_same_v<T, Half>)
    return nearest_half(a);
  else
    return nearest_bfloat(a);
}

// Rounds single precision once; NaN becomes the canonical 0x7fff.
template <class T, Round R>
COALESCE_INLINE T round_to(float a) {
  uint16_t bits = nearest<T>(a);
  if constexpr (R != Round::rn) {
    const float back = to_float(T{bits});
    bits = redirect<R>(bits, back<a, back> a, a < 0);
  }
  return T{is_nan(a) ? uint16_t{0x7fff} : bits};
}
template <class T, Round R>
COALESCE_INLINE T round_to(double a) {
  return round_to<T, R>(narrow_to_odd(a));
}

}  // namespace coalesce::machine
