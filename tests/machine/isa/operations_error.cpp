// The bounds are those of the PTX ISA (8.7 to 9.0), the section of each instruction:
//   ex2 f32 2^-22 relative, f16 2^-9.9, bf16 2^-7; lg2 2^-22 absolute in (0.5, 2), else relative; sin and cos 2^-20.5
//   absolute within 2 pi, 2^-14.7 within 100 pi, none beyond; tanh f32 2^-11 relative, f16 2^-10.987 absolute, bf16
//   2^-8 absolute; rcp 1 ulp; rsqrt 2^-22.9 relative; sqrt 2^-23 relative; div.approx 2 ulp while 2^-126 <= |b| <=
//   2^126; div.full 2 ulp. For the double precision forms it gives none: 2^-20 is asked of the gross .ftz forms (only
//   the upper word of their results is kept) and 2^-50 of rsqrt.approx.f64.
#include "tests/machine/isa/operations_error.h"

#include <cmath>
#include <cstring>

#include "machine/execute/ops/half.h"

namespace coalesce::machine::operations {
namespace {

using Real = long double;

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

struct Format {
  Real least_normal, step;  // smallest normal, distance of subnormals
  int precision;
  Real end;  // the first power of two beyond
};
constexpr Format kSingle{0x1p-126L, 0x1p-149L, 24, 0x1p128L}, kDouble{0x1p-1022L, 0x1p-1074L, 53, 0x1p1024L},
    kHalf{0x1p-14L, 0x1p-24L, 11, 0x1p16L}, kBfloat{0x1p-126L, 0x1p-133L, 8, 0x1p128L};

struct Kind {
  Format format;
  Real (*read)(Raw);
  bool is_pair;
};
Kind kind_of(std::string_view name) {
  const bool pair = name.ends_with("x2");
  if (has(name, ".bf16"))
    return {kBfloat, [](Raw b) -> Real { return to_float(Bfloat{static_cast<uint16_t>(b)}); }, pair};
  if (has(name, ".f16")) return {kHalf, [](Raw b) -> Real { return to_float(Half{static_cast<uint16_t>(b)}); }, pair};
  if (name.ends_with(".f64"))
    return {kDouble, [](Raw b) -> Real { return double_of(static_cast<uint64_t>(b)); }, false};
  return {kSingle, [](Raw b) -> Real { return float_of(static_cast<uint32_t>(b)); }, false};
}

struct Truth {
  Real value;
  Real relative = 0, absolute = 0, ulp = 0;  // the bound; all zero: none is documented
};
Truth truth_of(std::string_view name, const Format& f, Real a, Real b) {
  if (name.starts_with("ex2"))
    return {std::exp2(a), f.precision == 24 ? 0x1p-22L : f.precision == 11 ? std::exp2(-9.9L) : 0x1p-7L};
  if (name.starts_with("lg2")) {
    const Real v = std::log2(a);
    if (a > 0.5L && a < 2) return {v, 0, 0x1p-22L};
    return {v, 0x1p-22L};
  }
  if (name.starts_with("sin") || name.starts_with("cos")) {
    const Real v = name.starts_with("sin") ? std::sin(a) : std::cos(a), m = std::fabs(a);
    constexpr Real kPi = 3.14159265358979323846L;
    return {v, 0, m <= 2 * kPi ? std::exp2(-20.5L) : m <= 100 * kPi ? std::exp2(-14.7L) : Real{0}};
  }
  if (name.starts_with("tanh")) {
    if (f.precision == 24) return {std::tanh(a), 0x1p-11L};
    return {std::tanh(a), 0, f.precision == 11 ? std::exp2(-10.987L) : 0x1p-8L};
  }
  if (name.starts_with("rcp")) return f.precision == 53 ? Truth{1 / a, 0x1p-20L} : Truth{1 / a, 0, 0, 1};
  if (name.starts_with("rsqrt")) {
    if (f.precision == 53) return {1 / std::sqrt(a), has(name, ".ftz") ? 0x1p-20L : 0x1p-50L};
    return {1 / std::sqrt(a), std::exp2(-22.9L)};
  }
  if (name.starts_with("sqrt")) return {std::sqrt(a), 0x1p-23L};
  if (name.starts_with("div")) {
    const bool inside = std::fabs(b) >= 0x1p-126L && std::fabs(b) <= 0x1p126L;
    return {a / b, 0, 0, has(name, ".full") || inside ? Real{2} : Real{0}};
  }
  return {0};
}

Real flushed(Real a, const Format& f) { return std::fabs(a) < f.least_normal ? std::copysign(Real{0}, a) : a; }

// Error of `got` in parts of the bound; negative: none applies, equal bits are asked for.
double parts(std::string_view name, const Kind& kind, Real a, Real b, Real got) {
  const Format& f = kind.format;
  const bool ftz = has(name, ".ftz");
  if (ftz) a = flushed(a, f), b = flushed(b, f);
  const Truth t = truth_of(name, f, a, b);
  if (t.relative == 0 && t.absolute == 0 && t.ulp == 0) return -1;
  if (!std::isfinite(t.value) || t.value == 0 || !std::isfinite(got)) return -1;
  int exponent;
  std::frexp(std::max(std::fabs(t.value), f.least_normal), &exponent);
  const Real ulp = std::ldexp(Real{1}, exponent - f.precision);
  if (std::fabs(t.value) >= f.end) return -1;
  Real bound = t.relative * std::fabs(t.value) + t.absolute + t.ulp * ulp;
  // A result is a number of the format: half a step of rounding cannot be avoided where the bound is smaller than that.
  bound = std::max(bound, f.precision < 24 || std::fabs(t.value) < f.least_normal ? ulp / 2 * (1 + 0x1p-20L) : Real{0});
  if (ftz && std::fabs(t.value) < f.least_normal * (1 + 0x1p-20L) && got == 0) return 0;
  return static_cast<double>(std::fabs(got - t.value) / bound);
}

// True if PTX leaves the result open: sin and cos beyond 100 pi, division by subnormal or huge divisors, fns from a bit
// beyond the operand.
bool undefined(std::string_view name, const Raw* in) {
  const auto single = [&](int k) -> Real { return float_of(static_cast<uint32_t>(in[k])); };
  constexpr Real kHundredTurns = 314.159265358979323846L;
  if (name.starts_with("sin.") || name.starts_with("cos.")) return std::fabs(single(0)) > kHundredTurns;
  if (name.starts_with("fns.")) return in[1] > 31 || in[2] == 0x80000000u;  // and the offset without a magnitude
  if (name.starts_with("div.approx")) return !(std::fabs(single(1)) >= 0x1p-126L && std::fabs(single(1)) <= 0x1p126L);
  return false;
}

}  // namespace

std::string family_of(const PureOp& op) {
  const std::string_view name = op.mnemonic;
  const std::string opcode(name.substr(0, name.find('.')));
  const bool half = has(name, "f16");
  if (opcode == "cvt")
    return half                                     ? "cvt, to or from half, bfloat16"
           : has(name, ".f32") || has(name, ".f64") ? "cvt, f32 and f64"
                                                    : "cvt, integers";
  if (opcode == "setp" || opcode == "set" || opcode == "selp" || opcode == "slct")
    return half ? opcode + ", half and bfloat16" : opcode;
  if (opcode == "mov") return "mov";
  if (has(name, ".approx") || has(name, ".full")) return opcode + (half ? " (approximate, half)" : " (approximate)");
  if (half) return "half and bfloat16 arithmetic";
  if (name.ends_with(".f32")) return "f32 arithmetic";
  if (name.ends_with(".f64")) return "f64 arithmetic";
  if (has(name, ".cc") || opcode == "addc" || opcode == "subc" || opcode == "madc") return "carry chains";
  if (opcode == "dp4a" || opcode == "dp2a" || has(name, "16x2")) return "packed integers";
  if (opcode[0] == 'v') return "video instructions";
  static constexpr std::string_view bits[] = {"and",  "or",  "xor",  "not",  "cnot", "lop3",  "shl",
                                              "shr",  "shf", "prmt", "popc", "clz",  "bfind", "fns",
                                              "brev", "bfe", "bfi",  "bmsk", "szext"};
  for (std::string_view b : bits)
    if (opcode == b) return "bits and shifts";
  return "integer arithmetic";
}

Judgement judge(const PureOp& op, const Raw* in, Raw ours, Raw theirs) {
  const Kind kind = kind_of(op.mnemonic);
  Judgement j;
  if (!has(op.mnemonic, ".approx") && !has(op.mnemonic, ".full")) {
    j.undefined = undefined(op.mnemonic, in);
    return j;
  }
  j.within = true;
  for (unsigned shift = 0; shift < (kind.is_pair ? 32u : 1u); shift += 16) {
    const auto part = [&](Raw v) { return kind.is_pair ? v >> shift & 0xffff : v; };
    if (part(ours) == part(theirs)) continue;
    const Real a = kind.read(part(in[0])), b = op.sources > 1 ? kind.read(part(in[1])) : 0;
    const double mine = parts(op.mnemonic, kind, a, b, kind.read(part(ours)));
    const double card = parts(op.mnemonic, kind, a, b, kind.read(part(theirs)));
    j.machine_error = std::max(j.machine_error, mine);
    j.card_error = std::max(j.card_error, card);
    if (mine < 0 || mine > 1) j.within = false;
  }
  j.undefined = !j.within && undefined(op.mnemonic, in);
  return j;
}

}  // namespace coalesce::machine::operations
