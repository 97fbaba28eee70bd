// cvt: between integers, between floating-point formats, and between the two, in every rounding mode.
//
// Elements are those of the operation's own types; 8-bit values are carried in 16-bit elements, results extended by
// their sign (s8) or with zeros (u8). Registers wider than the type are the decoder's matter: it truncates sources with
// "narrow" and extends results with "widen" (unsigned) or "widen.s32.s16" and the like (signed).
#include "machine/execute/ops/half.h"
#include "machine/execute/ops/rows.h"

namespace coalesce::machine {
namespace {

// The element that carries an integer type.
template <class T>
using Carrier = std::conditional_t<sizeof(T) == 1, std::conditional_t<std::is_signed_v<T>, int16_t, uint16_t>, T>;

template <class To, class From>
To clamp_to(From a) {
  if (std::cmp_less(a, std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  if (std::cmp_greater(a, std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  return static_cast<To>(a);
}

enum class Whole { nearest, zero, down, up };  // rni rzi rmi rpi
constexpr const char* name_of(Whole mode) {
  return mode == Whole::nearest ? "rni" : mode == Whole::zero ? "rzi" : mode == Whole::down ? "rmi" : "rpi";
}
template <Whole kMode, class T>
T whole(T a) {
#if defined(__clang__)
  if constexpr (kMode == Whole::nearest) return __builtin_elementwise_roundeven(a);
  if constexpr (kMode == Whole::zero) return __builtin_elementwise_trunc(a);
  if constexpr (kMode == Whole::down) return __builtin_elementwise_floor(a);
  if constexpr (kMode == Whole::up) return __builtin_elementwise_ceil(a);
#else
  if constexpr (kMode == Whole::nearest) return std::nearbyint(a);  // the host's mode is always to nearest here
  if constexpr (kMode == Whole::zero) return std::trunc(a);
  if constexpr (kMode == Whole::down) return std::floor(a);
  if constexpr (kMode == Whole::up) return std::ceil(a);
#endif
}

// Out of range: the nearest representable value. NaN: 0, but with an f64 source or a 64-bit result the value with
// only the top bit set (PTX ISA, cvt).
template <class To, bool kNanIsZero, class T>
To to_integer(T a) {
  constexpr To kLeast = std::numeric_limits<To>::min(), kMost = std::numeric_limits<To>::max();
  constexpr To kHalf = kMost / 2 + 1;
  constexpr T kEnd = static_cast<T>(kHalf) * 2;  // kMost + 1: a power of two, exact
  constexpr T kBegin = static_cast<T>(kLeast);
  using Step = std::conditional_t<(sizeof(To) < 4), int32_t, To>;  // a conversion that the host has
  const bool inside = a >= kBegin && a < kEnd;
  const To value = static_cast<To>(static_cast<Step>(inside ? a : T{0}));
  constexpr To kNan = kNanIsZero ? To{0} : static_cast<To>(uint64_t{1} << (8 * sizeof(To) - 1));
  const To outside = a < T{0} ? kLeast : kMost;
  return inside ? value : is_nan(a) ? kNan : outside;
}

// The value of a source in the arithmetic that is used for it.
template <bool kFtz, class T>
auto source(T a) {
  if constexpr (std::is_same_v<T, float>)
    return in<kFtz>(a);
  else if constexpr (std::is_same_v<T, double>)
    return a;
  else
    return to_float(a);
}

template <class To, Round R, class T>
To to_format(T a) {
  if constexpr (std::is_same_v<To, T>)
    return a;
  else if constexpr (std::is_same_v<To, double>)
    return static_cast<double>(a);
  else if constexpr (std::is_same_v<To, float>)
    return narrow<R>(static_cast<double>(a));
  else
    return round_to<To, R>(a);
}

template <bool kFtz, bool kSat, class To>
To finish(To a) {
  if constexpr (std::is_same_v<To, float>)
    return out<kFtz, kSat>(a);
  else if constexpr (!kSat)
    return a;
  else if constexpr (std::is_same_v<To, double>)
    return saturate(a);
  else
    return round_to<To, Round::rn>(saturate(to_float(a)));
}

template <class From, class To>
void integers(Rows& row, const Name& from, const Name& to) {
  const Name tail = "." + to + "." + from;
  row("cvt" + tail, [](Carrier<From> a) { return Carrier<To>{static_cast<To>(static_cast<From>(a))}; });
  row.rare("cvt.sat" + tail, [](Carrier<From> a) { return Carrier<To>{clamp_to<To>(static_cast<From>(a))}; });
}

template <class From, class To, Whole kMode, bool kFtz>
void float_to_integer(Rows& row, const Name& from, const Name& to) {
  constexpr bool kNanIsZero = !std::is_same_v<From, double> && sizeof(To) != 8;
  constexpr bool kCommon = sizeof(From) >= 4 && (sizeof(To) == 4 || (sizeof(To) == 8 && kMode == Whole::zero && !kFtz));
  const Name head = Name("cvt.") + name_of(kMode) + (kFtz ? ".ftz" : "");
  const auto f = [](From a) { return Carrier<To>{to_integer<To, kNanIsZero>(whole<kMode>(source<kFtz>(a)))}; };
  row.put<kCommon>(head + "." + to + "." + from, f);
  row.put<kCommon>(head + ".sat." + to + "." + from, f);  // the conversion saturates anyway
}

// Integers of up to 32 bits are exact in double; 64 bits are rounded to nearest by the host and corrected.
template <class To, Round R, class T>
To from_integer(T a) {
  if constexpr (sizeof(T) <= 4) {
    return to_format<To, R>(static_cast<double>(a));
  } else if constexpr (std::is_same_v<To, double> || std::is_same_v<To, float>) {
    const To nearest = static_cast<To>(a);
    if constexpr (R == Round::rn) return nearest;
    const int128_t back = static_cast<int128_t>(nearest), exact = static_cast<int128_t>(a);
    return std::bit_cast<To>(redirect<R>(bits_of(nearest), back<exact, back> exact, exact < 0));
  } else {
    const double nearest = static_cast<double>(a);
    const int128_t rest = static_cast<int128_t>(a) - static_cast<int128_t>(nearest);
    return round_to<To, R>(to_odd(nearest, rest > 0 ? 1.0 : rest < 0 ? -1.0 : 0.0));
  }
}

template <class From, class To, Round R>
void integer_to_float(Rows& row, const Name& from, const Name& to) {
  const Name head = Name("cvt.") + name_of(R), tail = "." + to + "." + from;
  row.put<R == Round::rn && sizeof(From) >= 4 && sizeof(To) >= 4>(
      head + tail, [](Carrier<From> a) { return from_integer<To, R>(static_cast<From>(a)); });
  row.rare(head + ".sat" + tail,
           [](Carrier<From> a) { return finish<false, true>(from_integer<To, R>(static_cast<From>(a))); });
  if constexpr (std::is_same_v<To, float>) {  // no integer becomes a subnormal: .ftz changes nothing
    row.rare(head + ".ftz" + tail, [](Carrier<From> a) { return from_integer<To, R>(static_cast<From>(a)); });
    row.rare(head + ".ftz.sat" + tail,
             [](Carrier<From> a) { return finish<false, true>(from_integer<To, R>(static_cast<From>(a))); });
  }
}

// NaN between floating-point formats (measured; PTX promises nothing): narrowing f64 keeps what of sign and payload
// fits, made quiet; f32 to f32 and bf16 to f32 without .ftz and .sat move bits; all else gives the canonical NaN.
template <class To>
To nan_of(double a) {
  const uint64_t bits = bits_of(a);
  if constexpr (std::is_same_v<To, float>)
    return float_of(static_cast<uint32_t>(bits >> 32 & 0x80000000u) | 0x7fc00000u |
                    (static_cast<uint32_t>(bits >> 29) & 0x3fffffu));
  else if constexpr (std::is_same_v<To, Half>)
    return To{static_cast<uint16_t>((bits >> 48 & 0x8000u) | 0x7e00u | (bits >> 42 & 0x1ffu))};
  else
    return To{static_cast<uint16_t>((bits >> 48 & 0x8000u) | 0x7fc0u | (bits >> 45 & 0x3fu))};
}
template <class From, class To, Round R, bool kFtz, bool kSat>
To convert(From a) {
  constexpr bool kFlush = kFtz && !std::is_same_v<To, Half>;  // to half, .ftz has no effect (measured)
  if constexpr (std::is_same_v<To, float> && !std::is_same_v<From, double> && !std::is_same_v<From, Half> && !kFtz &&
                !kSat) {
    return source<false>(a);
  } else {
    const To r = finish < kFtz && !std::is_same_v<To, Half>, kSat > (to_format<To, R>(source<kFlush>(a)));
    if constexpr (std::is_same_v<From, double> && !std::is_same_v<To, double> && !kSat)
      return is_nan(a) ? nan_of<To>(a) : r;
    if constexpr (std::is_same_v<From, float> && std::is_same_v<To, double> && kFtz && !kSat)
      return is_nan(a) ? double_of(0x7fffffffe0000000u) : r;
    return r;
  }
}

// `mode` is empty where the conversion is exact: PTX names none then.
template <class From, class To, Round R, bool kFtz, bool kSat>
void between_floats(Rows& row, const Name& from, const Name& to, const Name& mode) {
  row.put<R == Round::rn && !kSat>("cvt" + mode + (kFtz ? ".ftz" : "") + (kSat ? ".sat" : "") + "." + to + "." + from,
                                   [](From a) { return convert<From, To, R, kFtz, kSat>(a); });
}
template <class From, class To, Round R>
void one_mode(Rows& row, const Name& from, const Name& to, const Name& mode) {
  between_floats<From, To, R, false, false>(row, from, to, mode);
  between_floats<From, To, R, false, true>(row, from, to, mode);
  if constexpr (std::is_same_v<From, float> || std::is_same_v<To, float>) {
    between_floats<From, To, R, true, false>(row, from, to, mode);
    between_floats<From, To, R, true, true>(row, from, to, mode);
  }
}
template <class From, class To>
void narrowing(Rows& row, const Name& from, const Name& to) {
  one_mode<From, To, Round::rn>(row, from, to, ".rn");
  one_mode<From, To, Round::rz>(row, from, to, ".rz");
  one_mode<From, To, Round::rm>(row, from, to, ".rm");
  one_mode<From, To, Round::rp>(row, from, to, ".rp");
}
template <class From, class To>
void exact(Rows& row, const Name& from, const Name& to) {
  one_mode<From, To, Round::rn>(row, from, to, "");
}

// To a whole number in the same format: cvt.rni.f32.f32.
template <class T, Whole kMode, bool kFtz, bool kSat>
void to_whole(Rows& row, const Name& t) {
  row.put<!kSat && sizeof(T) >= 4>(
      Name("cvt.") + name_of(kMode) + (kFtz ? ".ftz" : "") + (kSat ? ".sat" : "") + "." + t + "." + t,
      [](T a) { return finish<kFtz, kSat>(to_format<T, Round::rn>(whole<kMode>(source<kFtz>(a)))); });
}
template <class T, Whole kMode>
void one_whole(Rows& row, const Name& t) {
  to_whole<T, kMode, false, false>(row, t);
  to_whole<T, kMode, false, true>(row, t);
  if constexpr (std::is_same_v<T, float>) {
    to_whole<T, kMode, true, false>(row, t);
    to_whole<T, kMode, true, true>(row, t);
  }
}

template <class F>
void for_each_integer(F f) {
  f(uint8_t{}, "u8");
  f(int8_t{}, "s8");
  f(uint16_t{}, "u16");
  f(int16_t{}, "s16");
  f(uint32_t{}, "u32");
  f(int32_t{}, "s32");
  f(uint64_t{}, "u64");
  f(int64_t{}, "s64");
}

template <class T, Whole kMode>
void one_whole_to_integers(Rows& row, const Name& t) {
  one_whole<T, kMode>(row, t);
  for_each_integer([&](auto integer, const Name& name) {
    float_to_integer<T, decltype(integer), kMode, false>(row, t, name);
    if constexpr (std::is_same_v<T, float>) float_to_integer<T, decltype(integer), kMode, true>(row, t, name);
  });
}
template <class T>
void with_integers(Rows& row, const Name& t) {
  one_whole_to_integers<T, Whole::nearest>(row, t);
  one_whole_to_integers<T, Whole::zero>(row, t);
  one_whole_to_integers<T, Whole::down>(row, t);
  one_whole_to_integers<T, Whole::up>(row, t);
  for_each_integer([&](auto integer, const Name& name) {
    using I = decltype(integer);
    integer_to_float<I, T, Round::rn>(row, name, t);
    integer_to_float<I, T, Round::rz>(row, name, t);
    integer_to_float<I, T, Round::rm>(row, name, t);
    integer_to_float<I, T, Round::rp>(row, name, t);
  });
}

}  // namespace

void convert_rows(Rows& row) {
  for_each_integer([&](auto from, const Name& from_name) {
    for_each_integer(
        [&](auto to, const Name& to_name) { integers<decltype(from), decltype(to)>(row, from_name, to_name); });
  });
  row("widen.s32.s16", [](int16_t a) { return int32_t{a}; });
  row("widen.s64.s16", [](int16_t a) { return int64_t{a}; });
  row("widen.s64.s32", [](int32_t a) { return int64_t{a}; });

  with_integers<float>(row, "f32");
  with_integers<double>(row, "f64");
  with_integers<Half>(row, "f16");
  with_integers<Bfloat>(row, "bf16");

  exact<float, float>(row, "f32", "f32");
  exact<double, double>(row, "f64", "f64");
  exact<Half, Half>(row, "f16", "f16");
  exact<Half, float>(row, "f16", "f32");
  exact<Half, double>(row, "f16", "f64");
  exact<Bfloat, float>(row, "bf16", "f32");
  exact<Bfloat, double>(row, "bf16", "f64");
  exact<float, double>(row, "f32", "f64");
  narrowing<double, float>(row, "f64", "f32");
  narrowing<double, Half>(row, "f64", "f16");
  narrowing<double, Bfloat>(row, "f64", "bf16");
  narrowing<float, Half>(row, "f32", "f16");
  narrowing<float, Bfloat>(row, "f32", "bf16");
  narrowing<Half, Bfloat>(row, "f16", "bf16");
  narrowing<Bfloat, Half>(row, "bf16", "f16");
}

}  // namespace coalesce::machine
