// Single and double precision where PTX promises IEEE 754: add sub mul fma mad div sqrt rcp in all rounding modes, and
// abs neg min max copysign testp. The approximate functions are in approx.cpp.
#include "machine/execute/ops/numbers.h"
#include "machine/execute/ops/rows.h"

namespace coalesce::machine {
namespace {

template <Round R>
inline constexpr bool kCommon = R == Round::rn;

template <Round R, bool kFtz, bool kSat>
void single(Rows& row) {
  const Name mode = Name(".") + name_of(R);
  const Name tail = Name(kFtz ? ".ftz" : "") + (kSat ? ".sat" : "") + ".f32";
  const auto put_sum = [&](const Name& name, auto f) {
    row.put<kCommon<R>>(name + mode + tail, f);
    if (R == Round::rn) row.put<kCommon<R>>(name + tail, f);  // the default mode
  };
  put_sum("add", [](float a, float b) { return out<kFtz, kSat>(add<R>(in<kFtz>(a), in<kFtz>(b))); });
  put_sum("sub", [](float a, float b) { return out<kFtz, kSat>(add<R>(in<kFtz>(a), -in<kFtz>(b))); });
  put_sum("mul", [](float a, float b) {
    const float x = in<kFtz>(a), y = in<kFtz>(b);
    return out<kFtz, kSat>(flush_tiny<kFtz>(multiply<R>(x, y), kFtz ? multiply<R>(x * kScale, y) : 0));
  });
  const auto multiply_add = [](float a, float b, float c) {
    const float x = in<kFtz>(a), y = in<kFtz>(b), z = in<kFtz>(c);
    return out<kFtz, kSat>(flush_tiny<kFtz>(fused<R>(x, y, z), kFtz ? fused<R>(x * kScale, y, z * kScale) : 0));
  };
  row.put<kCommon<R>>("fma" + mode + tail, multiply_add);
  put_sum("mad", multiply_add);  // since sm_20 the same as fma
  if constexpr (!kSat) {
    row.put<kCommon<R>>("div" + mode + tail, [](float a, float b) {
      const float x = in<kFtz>(a), y = in<kFtz>(b);
      return out<kFtz, false>(flush_tiny<kFtz>(divide<R>(x, y), kFtz ? divide<R>(x * kScale, y) : 0));
    });
    row.put<kCommon<R>>("rcp" + mode + tail, [](float a) {
      const float x = in<kFtz>(a);
      return out<kFtz, false>(flush_tiny<kFtz>(divide<R>(1.0f, x), kFtz ? divide<R>(kScale, x) : 0));
    });
    row.put<kCommon<R>>("sqrt" + mode + tail, [](float a) { return out<kFtz, false>(square_root<R>(in<kFtz>(a))); });
  }
}

template <Round R>
void double_precision(Rows& row) {
  const Name mode = Name(".") + name_of(R);
  const auto put_sum = [&](const Name& name, auto f) {
    row.put<kCommon<R>>(name + mode + ".f64", f);
    if (R == Round::rn) row.put<kCommon<R>>(name + ".f64", f);
  };
  put_sum("add", [](double a, double b) { return with_nan_of(add<R>(a, b), a, b); });
  put_sum("sub", [](double a, double b) { return with_nan_of(add<R>(a, -b), a, b); });
  put_sum("mul", [](double a, double b) { return with_nan_of(multiply<R>(a, b), a, b); });
  const auto multiply_add = [](double a, double b, double c) {
    return with_nan_of(with_nan_of(fused<R>(a, b, c), a, c), b, b);
  };
  row.put<kCommon<R>>("fma" + mode + ".f64", multiply_add);
  put_sum("mad", multiply_add);
  row.put<kCommon<R>>("div" + mode + ".f64", [](double a, double b) { return divide<R>(a, b); });
  row.put<kCommon<R>>("rcp" + mode + ".f64", [](double a) { return divide<R>(1.0, a); });
  row.put<kCommon<R>>("sqrt" + mode + ".f64", [](double a) { return square_root<R>(a); });
}

template <Round R>
void one_mode(Rows& row) {
  single<R, false, false>(row);
  single<R, false, true>(row);
  single<R, true, false>(row);
  single<R, true, true>(row);
  double_precision<R>(row);
}

template <bool kFtz, bool kNan>
void extremes(Rows& row) {
  const Name tail = Name(kFtz ? ".ftz" : "") + (kNan ? ".NaN" : "");
  row("min" + tail + ".f32", [](float a, float b) { return extreme<false, kNan>(in<kFtz>(a), in<kFtz>(b)); });
  row("max" + tail + ".f32", [](float a, float b) { return extreme<true, kNan>(in<kFtz>(a), in<kFtz>(b)); });
  row("min" + tail + ".xorsign.abs.f32",
      [](float a, float b) { return extreme_xorsign<false, kNan>(in<kFtz>(a), in<kFtz>(b)); });
  row("max" + tail + ".xorsign.abs.f32",
      [](float a, float b) { return extreme_xorsign<true, kNan>(in<kFtz>(a), in<kFtz>(b)); });
}

// abs and neg are arithmetic: NaN results are as those of a sum.
COALESCE_INLINE float signed_as(float a, bool negative) { return is_nan(a) ? canonical(a) : with_sign(a, negative); }
COALESCE_INLINE double signed_as(double a, bool negative) { return is_nan(a) ? quiet(a) : with_sign(a, negative); }

template <class T>
void signs(Rows& row, const Name& t) {
  row("abs." + t, [](T a) { return signed_as(a, false); });
  row("neg." + t, [](T a) { return signed_as(a, !std::signbit(a)); });
  row("copysign." + t, [](T a, T b) { return with_sign(b, std::signbit(a)); });
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  constexpr T kNormal = std::numeric_limits<T>::min();
  row("testp.finite." + t, [](T a) { return with_sign(a, false) < kInfinity; });
  row("testp.infinite." + t, [](T a) { return with_sign(a, false) == kInfinity; });
  row("testp.number." + t, [](T a) { return !is_nan(a); });
  row("testp.notanumber." + t, [](T a) { return is_nan(a); });
  row("testp.normal." + t, [](T a) {
    const T m = with_sign(a, false);
    return m == 0 || (m >= kNormal && m < kInfinity);  // PTX: zeros count as normal
  });
  row("testp.subnormal." + t, [](T a) {
    const T m = with_sign(a, false);
    return m > T{0} && m < kNormal;
  });
}

}  // namespace

void float_rows(Rows& row) {
  one_mode<Round::rn>(row);
  one_mode<Round::rz>(row);
  one_mode<Round::rm>(row);
  one_mode<Round::rp>(row);
  extremes<false, false>(row);
  extremes<false, true>(row);
  extremes<true, false>(row);
  extremes<true, true>(row);
  row("min.f64", [](double a, double b) { return extreme<false, false>(a, b); });
  row("max.f64", [](double a, double b) { return extreme<true, false>(a, b); });
  signs<float>(row, "f32");
  signs<double>(row, "f64");
  row("abs.ftz.f32", [](float a) { return signed_as(flush(a), false); });
  row("neg.ftz.f32", [](float a) { return signed_as(flush(a), !std::signbit(a)); });
}

}  // namespace coalesce::machine
