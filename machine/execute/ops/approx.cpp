// The approximate functions: ex2 lg2 sin cos tanh rcp rsqrt sqrt div, .approx and .full.
#include "machine/execute/ops/approx.h"

#include "machine/execute/ops/rows.h"

namespace coalesce::machine {
namespace {

// PTX: where 2^126 < |b| < 2^128, a/b is 0 (NaN for infinite a), because 1/b would be subnormal.
inline float divide_approx(float a, float b) {
  const float magnitude = float_of(bits_of(b) & 0x7fffffffu);
  const bool tiny = magnitude > 0x1p126f && magnitude < std::numeric_limits<float>::infinity();
  return tiny ? a * float_of(bits_of(b) & 0x80000000u) : a / b;
}

// The upper word only: PTX leaves the lower 32 bits of these results zero. Rounded to nearest, so within 2^-21.
inline double upper_word(double a) {
  const uint64_t bits = bits_of(a);
  const bool finite = (bits & 0x7ff0000000000000u) != 0x7ff0000000000000u;
  return double_of(finite ? (bits + 0x80000000u) & ~uint64_t{0xffffffffu} : bits);
}
inline double flush_double(double a) {
  const uint64_t bits = bits_of(a);
  return double_of((bits & 0x7ff0000000000000u) == 0 ? bits & 0x8000000000000000u : bits);
}
// Only the upper word of the operand takes part, too.
inline double upper_operand(double a) { return flush_double(double_of(bits_of(a) & ~uint64_t{0xffffffffu})); }
inline double gross(double a) { return is_nan(a) ? double_of(0x7fffffff00000000u) : upper_word(flush_double(a)); }

inline double gross_down(double a) {  // cut off, which is nearer to the reciprocal of all 64 bits
  return is_nan(a) ? double_of(0x7fffffff00000000u) : double_of(bits_of(flush_double(a)) & ~uint64_t{0xffffffffu});
}

template <bool kFtz>
void functions(Rows& row) {
  const Name tail = Name(".approx") + (kFtz ? ".ftz" : "") + ".f32";
  row("ex2" + tail, [](float a) { return out<kFtz, false>(ex2(in<kFtz>(a))); });
  row("lg2" + tail, [](float a) { return out<kFtz, false>(lg2(in<kFtz>(a))); });
  row("sin" + tail, [](float a) {
    const float x = in<kFtz>(a);
    return out<kFtz, false>(x == 0 ? x : static_cast<float>(sine<0>(x)));
  });
  row("cos" + tail, [](float a) { return out<kFtz, false>(static_cast<float>(sine<1>(in<kFtz>(a)))); });
  row("rcp" + tail, [](float a) { return out<kFtz, false>(1.0f / in<kFtz>(a)); });
  row("sqrt" + tail, [](float a) { return out<kFtz, false>(root(in<kFtz>(a))); });
  row("rsqrt" + tail,
      [](float a) { return out<kFtz, false>(static_cast<float>(1 / root(static_cast<double>(in<kFtz>(a))))); });
  row("div" + tail, [](float a, float b) { return out<kFtz, false>(divide_approx(in<kFtz>(a), in<kFtz>(b))); });
  row(Name("div.full") + (kFtz ? ".ftz" : "") + ".f32",
      [](float a, float b) { return out<kFtz, false>(in<kFtz>(a) / in<kFtz>(b)); });
}

}  // namespace

void approx_rows(Rows& row) {
  functions<false>(row);
  functions<true>(row);
  row("tanh.approx.f32", [](float a) { return canonical(tangent_h(a)); });
  row("rcp.approx.ftz.f64", [](double a) { return gross_down(1 / upper_operand(a)); });
  row("rsqrt.approx.ftz.f64", [](double a) { return gross(1 / root(upper_operand(a))); });
  row("rsqrt.approx.f64", [](double a) { return 1 / root(a); });
}

}  // namespace coalesce::machine
