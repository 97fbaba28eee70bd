// Half and bfloat16 arithmetic, one value or a pair in 32 bits (f16x2, bf16x2): add sub mul fma neg abs min max ex2
// tanh, set of pairs, and cvt to pairs. Comparisons of single values are in compare.cpp, conversions in convert.cpp.
#include "machine/execute/ops/half.h"

#include "machine/execute/ops/approx.h"
#include "machine/execute/ops/rows.h"

namespace coalesce::machine {
namespace {

template <class T>
constexpr const char* kName = std::is_same_v<T, Half> ? "f16" : "bf16";
template <class T>
constexpr bool kIsHalf = std::is_same_v<T, Half>;

enum class End { none, sat, relu };  // what becomes of a result
constexpr const char* name_of(End end) { return end == End::sat ? ".sat" : end == End::relu ? ".relu" : ""; }

template <class T, bool kFtz>
COALESCE_INLINE float start(T a) {
  if constexpr (kFtz && kIsHalf<T>)
    return to_operand(flush(a));
  else
    return to_operand(a);
}
// The same where comparisons follow.
template <class T, bool kFtz>
COALESCE_INLINE float seen(T a) {
  if constexpr (kFtz && kIsHalf<T>)
    return to_float(flush(a));
  else
    return to_float(a);
}
// Value: float, or double where single precision cannot hold it to odd.
template <class T, bool kFtz, End kEnd, class Value>
COALESCE_INLINE T finish(Value exact) {
  T r = round_to<T, Round::rn>(exact);
  // Flushes as flush_tiny() does for single precision: below 2^-14 even after rounding to 11 bits.
  if constexpr (kFtz && kIsHalf<T>) {
    constexpr Value kTiny = static_cast<Value>(0x1p-14 - 0x1p-26);
    r.bits = exact < kTiny && exact > -kTiny ? r.bits & 0x8000u : r.bits;
  }
  const bool negative = (r.bits & 0x8000u) != 0, nan = (r.bits & 0x7fffu) > (kIsHalf<T> ? 0x7c00u : 0x7f80u);
  if constexpr (kEnd == End::relu) r.bits = negative && !nan ? uint16_t{0} : r.bits;
  if constexpr (kEnd == End::sat) {
    constexpr uint16_t kOne = kIsHalf<T> ? 0x3c00 : 0x3f80;
    r.bits =
        negative || nan ? uint16_t{0} : std::min(r.bits, kOne);  // the order of positive values is that of their bits
  }
  return r;
}

COALESCE_INLINE float to_odd(float value, float rest) {
  const uint32_t bits = bits_of(value);
  const bool inexact = rest > 0 || rest < 0;
  if (!inexact || (bits & 1u)) return value;
  return float_of((rest > 0) == (value > 0) ? bits + 1 : bits - 1);
}

// Sums of two values: 24 bits are twice 11 and two more, so rounding twice is harmless (Figueroa). The product of
// halves fits single precision; that of bfloat16 needs double's exponents.
template <class T>
COALESCE_INLINE float plus(float a, float b) {
  return a + b;
}
template <class T>
COALESCE_INLINE auto times(float a, float b) {
  if constexpr (kIsHalf<T>)
    return a * b;
  else
    return static_cast<double>(a) * b;
}
template <class T>
COALESCE_INLINE auto times_plus(float a, float b, float c) {
  if constexpr (kIsHalf<T>) {
    const float p = a * b, sum = p + c, part = sum - p;
    return to_odd(sum, (p - (sum - part)) + (c - part));
  } else {
    return odd_sum(static_cast<double>(a) * b, static_cast<double>(c));
  }
}

template <class T>
COALESCE_INLINE T low_of(uint32_t pair) {
  return T{static_cast<uint16_t>(pair)};
}
template <class T>
COALESCE_INLINE T high_of(uint32_t pair) {
  return T{static_cast<uint16_t>(pair >> 16)};
}
COALESCE_INLINE uint32_t pair_of(uint16_t low, uint16_t high) { return low | static_cast<uint32_t>(high) << 16; }

// A row for single values and one for pairs. What compilers make of ordinary programs has handlers of its own; the rest
// is rare: clamped, flushed, xorsign, a comparison into a number.
template <class T, class F>
void unary(Rows& row, const Name& head, F) {
  row(head + "." + kName<T>, [](T a) { return F{}(a); });
  row(head + "." + kName<T> + "x2",
      [](uint32_t a) { COALESCE_INLINE_CALLS return pair_of(F{}(low_of<T>(a)).bits, F{}(high_of<T>(a)).bits); });
}
template <class T, bool kCommon = true, class F>
void binary(Rows& row, const Name& head, F) {
  row.put<kCommon>(head + "." + kName<T>, [](T a, T b) { return F{}(a, b); });
  row.put<kCommon>(head + "." + kName<T> + "x2", [](uint32_t a, uint32_t b) {
    COALESCE_INLINE_CALLS return pair_of(F{}(low_of<T>(a), low_of<T>(b)).bits, F{}(high_of<T>(a), high_of<T>(b)).bits);
  });
}
template <class T, bool kCommon, class F>
void ternary(Rows& row, const Name& head, F) {
  row.put<kCommon>(head + "." + kName<T>, [](T a, T b, T c) { return F{}(a, b, c); });
  row.put<kCommon>(head + "." + kName<T> + "x2", [](uint32_t a, uint32_t b, uint32_t c) {
    COALESCE_INLINE_CALLS return pair_of(F{}(low_of<T>(a), low_of<T>(b), low_of<T>(c)).bits,
                                         F{}(high_of<T>(a), high_of<T>(b), high_of<T>(c)).bits);
  });
}

template <class T, bool kFtz, End kEnd>
void half_arithmetic(Rows& row) {
  const Name tail = Name(kFtz ? ".ftz" : "") + name_of(kEnd);
  constexpr bool kCommon = !kFtz && kEnd == End::none;
  const auto multiply_add = [](T a, T b, T c) {
    return finish<T, kFtz, kEnd>(times_plus<T>(start<T, kFtz>(a), start<T, kFtz>(b), start<T, kFtz>(c)));
  };
  ternary<T, kCommon>(row, "fma.rn" + tail, multiply_add);
  if constexpr (kEnd != End::relu) {
    for (const char* mode : {"", ".rn"}) {  // the default and only mode
      binary<T, kCommon>(row, Name("add") + mode + tail,
                         [](T a, T b) { return finish<T, kFtz, kEnd>(plus<T>(start<T, kFtz>(a), start<T, kFtz>(b))); });
      binary<T, kCommon>(row, Name("sub") + mode + tail, [](T a, T b) {
        return finish<T, kFtz, kEnd>(plus<T>(start<T, kFtz>(a), -start<T, kFtz>(b)));
      });
      binary<T, kCommon>(row, Name("mul") + mode + tail, [](T a, T b) {
        return finish<T, kFtz, kEnd>(times<T>(start<T, kFtz>(a), start<T, kFtz>(b)));
      });
    }
  }
}

template <class T, bool kFtz, bool kNan>
void half_extremes(Rows& row) {
  const Name tail = Name(kFtz ? ".ftz" : "") + (kNan ? ".NaN" : "");
  binary<T, !kFtz>(row, "min" + tail, [](T a, T b) {
    return round_to<T, Round::rn>(extreme<false, kNan>(seen<T, kFtz>(a), seen<T, kFtz>(b)));
  });
  binary<T, !kFtz>(row, "max" + tail, [](T a, T b) {
    return round_to<T, Round::rn>(extreme<true, kNan>(seen<T, kFtz>(a), seen<T, kFtz>(b)));
  });
  binary<T, false>(row, "min" + tail + ".xorsign.abs", [](T a, T b) {
    return round_to<T, Round::rn>(extreme_xorsign<false, kNan>(seen<T, kFtz>(a), seen<T, kFtz>(b)));
  });
  binary<T, false>(row, "max" + tail + ".xorsign.abs", [](T a, T b) {
    return round_to<T, Round::rn>(extreme_xorsign<true, kNan>(seen<T, kFtz>(a), seen<T, kFtz>(b)));
  });
}

// A value that a tensor copy leaves where there is nothing to copy: a product with one is 0, and the sum with it.
template <class T>
bool out_of_bounds(T a) {
  return (a.bits & 0x7fffu) == 0x7ff7u;
}
template <class T, End kEnd>
void fma_oob(Rows& row) {
  ternary<T, false>(row, Name("fma.rn.oob") + name_of(kEnd), [](T a, T b, T c) {
    if (out_of_bounds(a) || out_of_bounds(b)) return T{0};
    return finish<T, false, kEnd>(times_plus<T>(to_operand(a), to_operand(b), to_operand(c)));
  });
}

template <class T>
void common(Rows& row) {
  fma_oob<T, End::none>(row);
  fma_oob<T, End::relu>(row);
  half_arithmetic<T, false, End::none>(row);
  half_arithmetic<T, false, End::relu>(row);
  half_extremes<T, false, false>(row);
  half_extremes<T, false, true>(row);
  unary<T>(row, "neg", [](T a) { return T{static_cast<uint16_t>(is_nan(a) ? 0x7fffu : a.bits ^ 0x8000u)}; });
  unary<T>(row, "abs", [](T a) { return T{static_cast<uint16_t>(is_nan(a) ? 0x7fffu : a.bits & 0x7fffu)}; });
  unary<T>(row, "tanh.approx", [](T a) { return round_to<T, Round::rn>(tangent_h(to_float(a))); });
  // ex2 of bfloat16 exists only with .ftz, which its results obey: those below 2^-126 are zero
  unary<T>(row, kIsHalf<T> ? "ex2.approx" : "ex2.approx.ftz",
           [](T a) { return round_to<T, Round::rn>(out<!kIsHalf<T>, false>(ex2(in<!kIsHalf<T>>(to_float(a))))); });

  row(Name("cvt.rn.") + kName<T> + "x2.f32",
      [](float a, float b) { return pair_of(round_to<T, Round::rn>(b).bits, round_to<T, Round::rn>(a).bits); });
  row(Name("cvt.rz.") + kName<T> + "x2.f32",
      [](float a, float b) { return pair_of(round_to<T, Round::rz>(b).bits, round_to<T, Round::rz>(a).bits); });
  row(Name("cvt.rn.relu.") + kName<T> + "x2.f32", [](float a, float b) {
    return pair_of(finish<T, false, End::relu>(b).bits, finish<T, false, End::relu>(a).bits);
  });
  row(Name("cvt.rn.relu.") + kName<T> + ".f32", [](float a) { return finish<T, false, End::relu>(a); });
}

// set.lt.f16x2.f16x2 and set.lt.u32.f16x2: one answer for each half.
template <class T, bool kFtz, class F>
void set_pair(Rows& row, const Name& compare, F) {
  constexpr uint16_t kOne = kIsHalf<T> ? 0x3c00 : 0x3f80;
  const Name head = "set." + compare + (kFtz ? ".ftz" : "");
  const Name pair = Name(kName<T>) + "x2";
  row.rare(head + "." + pair + "." + pair, [](uint32_t a, uint32_t b) {
    const bool low = F{}(seen<T, kFtz>(low_of<T>(a)), seen<T, kFtz>(low_of<T>(b)));
    const bool high = F{}(seen<T, kFtz>(high_of<T>(a)), seen<T, kFtz>(high_of<T>(b)));
    return pair_of(low ? kOne : uint16_t{0}, high ? kOne : uint16_t{0});
  });
  row.rare(head + ".u32." + pair, [](uint32_t a, uint32_t b) {
    const bool low = F{}(seen<T, kFtz>(low_of<T>(a)), seen<T, kFtz>(low_of<T>(b)));
    const bool high = F{}(seen<T, kFtz>(high_of<T>(a)), seen<T, kFtz>(high_of<T>(b)));
    return pair_of(low ? uint16_t{0xffff} : uint16_t{0}, high ? uint16_t{0xffff} : uint16_t{0});
  });
  row.put<!kFtz>("setp." + compare + (kFtz ? ".ftz." : ".") + pair + "|", [](uint32_t a, uint32_t b) {
    return Two<bool, bool>{F{}(seen<T, kFtz>(low_of<T>(a)), seen<T, kFtz>(low_of<T>(b))),
                           F{}(seen<T, kFtz>(high_of<T>(a)), seen<T, kFtz>(high_of<T>(b)))};
  });
}
template <class T, bool kFtz>
void set_pairs(Rows& row) {
  set_pair<T, kFtz>(row, "eq", [](float a, float b) { return a == b; });
  set_pair<T, kFtz>(row, "ne", [](float a, float b) { return a < b || a > b; });
  set_pair<T, kFtz>(row, "lt", [](float a, float b) { return a < b; });
  set_pair<T, kFtz>(row, "le", [](float a, float b) { return a <= b; });
  set_pair<T, kFtz>(row, "gt", [](float a, float b) { return a > b; });
  set_pair<T, kFtz>(row, "ge", [](float a, float b) { return a >= b; });
  set_pair<T, kFtz>(row, "equ", [](float a, float b) { return !(a < b || a > b); });
  set_pair<T, kFtz>(row, "neu", [](float a, float b) { return a != b; });
  set_pair<T, kFtz>(row, "ltu", [](float a, float b) { return !(a >= b); });
  set_pair<T, kFtz>(row, "leu", [](float a, float b) { return !(a > b); });
  set_pair<T, kFtz>(row, "gtu", [](float a, float b) { return !(a <= b); });
  set_pair<T, kFtz>(row, "geu", [](float a, float b) { return !(a < b); });
  set_pair<T, kFtz>(row, "num", [](float a, float b) { return !is_nan(a) && !is_nan(b); });
  set_pair<T, kFtz>(row, "nan", [](float a, float b) { return is_nan(a) || is_nan(b); });
}

}  // namespace

void half_rows(Rows& row) {
  common<Half>(row);
  common<Bfloat>(row);
  half_arithmetic<Half, false, End::sat>(row);
  half_arithmetic<Half, true, End::none>(row);
  half_arithmetic<Half, true, End::sat>(row);
  half_arithmetic<Half, true, End::relu>(row);
  half_extremes<Half, true, false>(row);
  half_extremes<Half, true, true>(row);
  unary<Half>(row, "neg.ftz",
              [](Half a) { return Half{static_cast<uint16_t>(is_nan(a) ? 0x7fffu : flush(a).bits ^ 0x8000u)}; });
  unary<Half>(row, "abs.ftz",
              [](Half a) { return Half{static_cast<uint16_t>(is_nan(a) ? 0x7fffu : flush(a).bits & 0x7fffu)}; });
  set_pairs<Half, false>(row);
  set_pairs<Half, true>(row);
  set_pairs<Bfloat, false>(row);
}

}  // namespace coalesce::machine
