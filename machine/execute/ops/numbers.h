// Floating-point arithmetic as PTX has it: rounding modes, .ftz, .sat, NaN results.
//
// Rounding to nearest is the host's own. The directed modes of single precision (and everything of half and bfloat16)
// are computed in double, rounded to odd (inexact results get an odd last bit), then rounded once more: two roundings
// give the one correct rounding when the first is to odd and has two bits more (Boldo and Melquiond, 2008).
//
// NaN: single precision results are the canonical 0x7fffffff. Double precision keeps the payload of one operand
// that is NaN, made quiet, with its sign: the second before the third before the first (measured:
// docs/results/agreement.md); invalid operations on numbers give 0xfff8000000000000, as on the host.
#pragma once

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

// A call left in the loop over lanes would keep it from becoming vector code.
#define COALESCE_INLINE inline __attribute__((always_inline))
#if defined(__clang__)  // the calls in one statement
#define COALESCE_INLINE_CALLS [[clang::always_inline]]
#else
#define COALESCE_INLINE_CALLS
#endif

namespace coalesce::machine {

enum class Round { rn, rz, rm, rp };
constexpr const char* name_of(Round mode) {
  return mode == Round::rn ? "rn" : mode == Round::rz ? "rz" : mode == Round::rm ? "rm" : "rp";
}

COALESCE_INLINE uint32_t bits_of(float a) { return std::bit_cast<uint32_t>(a); }
COALESCE_INLINE uint64_t bits_of(double a) { return std::bit_cast<uint64_t>(a); }
COALESCE_INLINE float float_of(uint32_t bits) { return std::bit_cast<float>(bits); }
COALESCE_INLINE double double_of(uint64_t bits) { return std::bit_cast<double>(bits); }
template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;

template <class T>
COALESCE_INLINE bool is_nan(T a) {
  return a != a;
}
COALESCE_INLINE float canonical(float a) { return is_nan(a) ? float_of(0x7fffffffu) : a; }
COALESCE_INLINE double canonical(double a) { return a; }
COALESCE_INLINE double quiet(double a) { return double_of(bits_of(a) | 0x0008000000000000u); }
// The result of an operation on `a` and then `b`: NaN operands come first. (Hosts differ in which of two they keep, and
// compilers swap operands.)
COALESCE_INLINE double with_nan_of(double result, double a, double b) {
  const double r = is_nan(a) ? quiet(a) : result;
  return is_nan(b) ? quiet(b) : r;
}

// Subnormals to zero, sign kept.
COALESCE_INLINE float flush(float a) {
  const uint32_t bits = bits_of(a);
  return float_of((bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
}
template <bool kFtz>
COALESCE_INLINE float in(float a) {
  if constexpr (kFtz) return flush(a);
  return a;
}
// To [+0, 1]; NaN becomes +0.
template <class T>
COALESCE_INLINE T saturate(T a) {
  const T low = a > T{0} ? a : T{0};
  return low < T{1} ? low : T{1};
}
// .ftz looks at the result rounded as if exponents had no lower end: what rounds up to 2^-126 only because subnormals
// have fewer bits is flushed, too (measured). `scaled` is the same operation with the result 2^24 times as large.
inline constexpr float kScale = 0x1p24f;
template <bool kFtz>
COALESCE_INLINE float flush_tiny(float result, float scaled) {
  if constexpr (!kFtz) return result;
  return scaled < 0x1p-102f && scaled > -0x1p-102f ? float_of(bits_of(result) & 0x80000000u) : result;
}
template <bool kFtz, bool kSat>
COALESCE_INLINE float out(float a) {
  const float kept = kFtz ? flush(a) : a;
  return kSat ? saturate(kept) : canonical(kept);
}

#if defined(__clang__)  // std::sqrt may set errno, which keeps the loop over lanes from vectorising
COALESCE_INLINE float root(float a) { return __builtin_elementwise_sqrt(a); }
COALESCE_INLINE double root(double a) { return __builtin_elementwise_sqrt(a); }
#else
COALESCE_INLINE float root(float a) { return std::sqrt(a); }
COALESCE_INLINE double root(double a) { return std::sqrt(a); }
#endif

// `nearest` is a value's bits rounded to nearest, `back` what they mean, `exact` the value: rounds it in mode R
// instead.
template <Round R, class Bits>
COALESCE_INLINE Bits redirect(Bits nearest, bool back_is_less, bool back_is_more, bool exact_is_negative) {
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  bool up = false, down = false;
  if constexpr (R == Round::rp) up = back_is_less;
  if constexpr (R == Round::rm) down = back_is_more;
  if constexpr (R == Round::rz) {
    up = back_is_less && exact_is_negative;
    down = back_is_more && !exact_is_negative;
  }
  const bool negative = (nearest & kSign) != 0;
  if (up || down) return static_cast<Bits>(up != negative ? nearest + 1 : nearest - 1);
  return nearest;
}

template <Round R>
COALESCE_INLINE float narrow(double exact) {
  const float nearest = static_cast<float>(exact);
  if constexpr (R == Round::rn) return nearest;
  const double back = nearest;
  return float_of(redirect<R>(bits_of(nearest), back<exact, back> exact, exact < 0));
}

// `value` is the true result rounded to nearest, `rest` has the sign of what is missing (NaN or 0: nothing).
COALESCE_INLINE double to_odd(double value, double rest) {
  const uint64_t bits = bits_of(value);
  const bool inexact = rest > 0 || rest < 0;
  if (!inexact || (bits & 1)) return value;
  return double_of((rest > 0) == (value > 0) ? bits + 1 : bits - 1);
}
COALESCE_INLINE double odd_sum(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  return to_odd(sum, (a - (sum - part)) + (b - part));  // the error of a sum, exactly (Knuth)
}
COALESCE_INLINE float narrow_to_odd(double exact) {
  const float nearest = static_cast<float>(exact);
  const double back = nearest;
  const uint32_t bits = bits_of(nearest);
  const bool inexact = back < exact || back > exact;
  if (!inexact || (bits & 1u)) return nearest;
  return float_of((back < exact) == (exact > 0) ? bits + 1 : bits - 1);
}

// a + b for operands that double holds exactly; rounding down makes -0 of an exact zero unless both are +0.
template <Round R>
COALESCE_INLINE float narrow_sum(double a, double b) {
  const double sum = odd_sum(a, b);
  if (R == Round::rm && sum == 0) return std::signbit(a) || std::signbit(b) ? -0.0f : 0.0f;
  return narrow<R>(sum);
}

template <Round R>
float add(float a, float b) {
  if constexpr (R == Round::rn) return a + b;
  return narrow_sum<R>(a, b);
}
template <Round R>
float multiply(float a, float b) {
  if constexpr (R == Round::rn) return a * b;
  return narrow<R>(static_cast<double>(a) * b);
}
template <Round R>
float fused(float a, float b, float c) {
  if constexpr (R == Round::rn) return std::fma(a, b, c);
  return narrow_sum<R>(static_cast<double>(a) * b, c);
}
template <Round R>
float divide(float a, float b) {
  if constexpr (R == Round::rn) return a / b;
  const double q = static_cast<double>(a) / b;
  const double rest = std::fma(-q, static_cast<double>(b), static_cast<double>(a));
  return narrow<R>(to_odd(q, b < 0 ? -rest : rest));
}
template <Round R>
float square_root(float a) {
  if constexpr (R == Round::rn) return root(a);
  const double s = root(static_cast<double>(a));
  return narrow<R>(to_odd(s, std::fma(-s, s, static_cast<double>(a))));
}

// Double precision in directed modes: the host's rounding mode, switched for one operation. `opaque` values keep the
// compiler from moving or folding the operation.
#if defined(__x86_64__)
// fesetround also sets the mode of the x87 unit, ten times the cost of an addition's; only a std::fma without an FMA
// instruction looks at that.
class RoundingMode {
 public:
  explicit RoundingMode(Round mode) : before_(_mm_getcsr()) {
    const uint32_t bits = mode == Round::rz ? _MM_ROUND_TOWARD_ZERO : mode == Round::rm ? _MM_ROUND_DOWN : _MM_ROUND_UP;
    if (!fused()) std::fesetround(mode == Round::rz ? FE_TOWARDZERO : mode == Round::rm ? FE_DOWNWARD : FE_UPWARD);
    _mm_setcsr((before_ & ~uint32_t{_MM_ROUND_MASK}) | bits);
  }
  ~RoundingMode() {
    if (!fused()) std::fesetround(FE_TONEAREST);
    _mm_setcsr(before_);
  }
  RoundingMode(const RoundingMode&) = delete;
  RoundingMode& operator=(const RoundingMode&) = delete;

 private:
  static bool fused() {
    static const bool has = __builtin_cpu_supports("fma") != 0;
    return has;
  }
  uint32_t before_;
};
#else
class RoundingMode {
 public:
  explicit RoundingMode(Round mode) : before_(std::fegetround()) {
    std::fesetround(mode == Round::rz ? FE_TOWARDZERO : mode == Round::rm ? FE_DOWNWARD : FE_UPWARD);
  }
  ~RoundingMode() { std::fesetround(before_); }
  RoundingMode(const RoundingMode&) = delete;
  RoundingMode& operator=(const RoundingMode&) = delete;

 private:
  int before_;
};
#endif
template <class T>
T opaque(T a) {
  __asm__ volatile("" : "+m"(a));
  return a;
}
template <Round R, class F>
double rounded(F f, double a, double b = 0, double c = 0) {
  if constexpr (R == Round::rn) {
    return f(a, b, c);
  } else {
    const RoundingMode scope(R);
    return opaque(f(opaque(a), opaque(b), opaque(c)));
  }
}
template <Round R>
double add(double a, double b) {
  return rounded<R>([](double x, double y, double) { return x + y; }, a, b);
}
template <Round R>
double multiply(double a, double b) {
  return rounded<R>([](double x, double y, double) { return x * y; }, a, b);
}
template <Round R>
double fused(double a, double b, double c) {
  return rounded<R>([](double x, double y, double z) { return std::fma(x, y, z); }, a, b, c);
}
template <Round R>
double divide(double a, double b) {
  return rounded<R>([](double x, double y, double) { return x / y; }, a, b);
}
template <Round R>
double square_root(double a) {
  return rounded<R>([](double x, double, double) { return root(x); }, a);
}

template <class T>
COALESCE_INLINE T with_sign(T magnitude, bool negative) {
  constexpr BitsOf<T> kSign = BitsOf<T>{1} << (8 * sizeof(T) - 1);
  return std::bit_cast<T>(static_cast<BitsOf<T>>((bits_of(magnitude) & ~kSign) | (negative ? kSign : 0)));
}

// min and max: -0 is less than +0; a NaN loses against a number; of two NaN the result is NaN.
template <bool kLarger, bool kNan, class T>
COALESCE_INLINE T extreme(T a, T b) {
  const bool a_first = a < b || (a == b && std::signbit(a));
  T r = a_first != kLarger ? a : b;
  if constexpr (kNan) {
    if (is_nan(a)) r = a;
    if (is_nan(b)) r = b;
  } else {
    if (is_nan(b)) r = a;
    if (is_nan(a)) r = b;
  }
  if constexpr (sizeof(T) == 8) return is_nan(r) ? quiet(r) : r;
  return canonical(r);
}
// .xorsign.abs: of the magnitudes, with the sign of a times b.
template <bool kLarger, bool kNan, class T>
COALESCE_INLINE T extreme_xorsign(T a, T b) {
  const T r = extreme<kLarger, kNan>(with_sign(a, false), with_sign(b, false));
  return is_nan(r) ? r : with_sign(r, std::signbit(a) != std::signbit(b));
}

}  // namespace coalesce::machine
