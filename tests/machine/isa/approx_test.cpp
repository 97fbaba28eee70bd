// The approximate functions against long double and PTX's documented errors, and the coverage of the whole table.
#include <cmath>
#include <cstdio>
#include <set>

#include "tests/machine/isa/harness.h"

namespace coalesce::machine::ops_test {
namespace {

using Real = long double;

struct Function {
  const char* name;
  Real (*exact)(Real, Real);
  double from, to;  // operands tested
  double relative;  // error allowed: the larger of this relative ...
  double absolute;  // ... and this absolute one
};
// Bounds from the PTX ISA (sections of each instruction). Where it names units in the last place, 1 ulp <= 2^-23
// relative. The absolute 2^-149 allows for a subnormal result's last place.
const Function kFunctions[] = {
    {"ex2.approx.f32", [](Real a, Real) { return std::exp2(a); }, -140, 128, 0x1p-22, 0x1p-149},
    {"ex2.approx.ftz.f32", [](Real a, Real) { return std::exp2(a); }, -125.9, 128, 0x1p-22, 0},
    {"lg2.approx.f32", [](Real a, Real) { return std::log2(a); }, 0x1p-149, 0x1p127, 0x1p-22, 0x1p-22},
    {"lg2.approx.ftz.f32", [](Real a, Real) { return std::log2(a); }, 0x1p-126, 0x1p127, 0x1p-22, 0x1p-22},
    {"sin.approx.f32", [](Real a, Real) { return std::sin(a); }, -6.2831, 6.2831, 0, 0x1p-20},
    {"sin.approx.ftz.f32", [](Real a, Real) { return std::sin(a); }, -6.2831, 6.2831, 0, 0x1p-20},
    {"cos.approx.f32", [](Real a, Real) { return std::cos(a); }, -6.2831, 6.2831, 0, 0x1p-20},
    {"cos.approx.ftz.f32", [](Real a, Real) { return std::cos(a); }, -6.2831, 6.2831, 0, 0x1p-20},
    {"tanh.approx.f32", [](Real a, Real) { return std::tanh(a); }, -30, 30, 0x1p-11, 0x1p-149},
    {"rcp.approx.f32", [](Real a, Real) { return 1 / a; }, -1e30, 1e30, 0x1p-23, 0x1p-149},
    {"rcp.approx.ftz.f32", [](Real a, Real) { return 1 / a; }, -1e30, 1e30, 0x1p-23, 0},
    {"sqrt.approx.f32", [](Real a, Real) { return std::sqrt(a); }, 0, 0x1p127, 0x1p-23, 0},
    {"sqrt.approx.ftz.f32", [](Real a, Real) { return std::sqrt(a); }, 0x1p-126, 0x1p127, 0x1p-23, 0},
    {"rsqrt.approx.f32", [](Real a, Real) { return 1 / std::sqrt(a); }, 0x1p-149, 0x1p127, 0x1.12p-23, 0},
    {"rsqrt.approx.ftz.f32", [](Real a, Real) { return 1 / std::sqrt(a); }, 0x1p-126, 0x1p127, 0x1.12p-23, 0},
    {"div.approx.f32", [](Real a, Real b) { return a / b; }, -1e18, 1e18, 0x1p-22, 0x1p-149},
    {"div.approx.ftz.f32", [](Real a, Real b) { return a / b; }, -1e18, 1e18, 0x1p-22, 0},
    {"div.full.f32", [](Real a, Real b) { return a / b; }, -1e18, 1e18, 0x1p-22, 0x1p-149},
    {"div.full.ftz.f32", [](Real a, Real b) { return a / b; }, -1e18, 1e18, 0x1p-22, 0},
    {"rcp.approx.ftz.f64", [](Real a, Real) { return 1 / a; }, -1e30, 1e30, 0x1p-20, 0},
    {"rsqrt.approx.ftz.f64", [](Real a, Real) { return 1 / std::sqrt(a); }, 1e-30, 1e30, 0x1p-20, 0},
    {"rsqrt.approx.f64", [](Real a, Real) { return 1 / std::sqrt(a); }, 1e-30, 1e30, 0x1p-51, 0},
};

// A value between the bounds, spread over exponents.
double spread(std::mt19937_64& random, double from, double to) {
  std::uniform_real_distribution<double> unit(0, 1);
  if (random() % 2) return from + (to - from) * unit(random);
  for (;;) {
    const double v =
        std::ldexp(unit(random) * (from < 0 && random() % 2 ? -1 : 1), static_cast<int>(random() % 280) - 150);
    if (v >= from && v <= to && v != 0) return v;
  }
}
double real_of(Element e, Raw bits) {
  if (e == Element::b64) {
    double d;
    std::memcpy(&d, &bits, sizeof(d));
    return d;
  }
  float f;
  std::memcpy(&f, &bits, sizeof(f));
  return f;
}
Raw bits_of(Element e, double value) {
  Raw bits = 0;
  const float f = static_cast<float>(value);
  if (e == Element::b64)
    std::memcpy(&bits, &value, sizeof(value));
  else
    std::memcpy(&bits, &f, sizeof(f));
  return bits;
}

// Halves: the exact value by long double, rounded; PTX allows 2^-10.987 (tanh.f16), 2^-8 (tanh.bf16), 2^-9.9 (ex2.f16)
// and 2^-7 (ex2.bf16) relative; a half's own last place is 2^-11 of the value, 2^-25 where it is subnormal.
double half_value(bool bfloat, uint16_t bits) {
  const int precision = bfloat ? 8 : 11, least = bfloat ? -126 : -14;
  const int m = bits & 0x7fff, exponent = m >> (precision - 1), fraction = m & ((1 << (precision - 1)) - 1);
  const double v = std::ldexp(exponent == 0 ? fraction : fraction + (1 << (precision - 1)),
                              least - precision + std::max(exponent, 1));
  return (bits & 0x8000) ? -v : v;
}

}  // namespace

bool is_approximate(const Words& words) { return has(words, "approx") || has(words, "full"); }

TEST(OpsApprox, WithinDocumentedErrors) {
  std::mt19937_64 random(5);
  for (const Function& f : kFunctions) {
    SCOPED_TRACE(f.name);
    const PureOp* op = find_pure(f.name);
    ASSERT_NE(op, nullptr);
    const Element e = op->source[0];
    double worst = 0;
    for (int warp = 0; warp < 2000; ++warp) {
      Bench bench(*op), masked(*op);
      Raw in[kLanes][2];
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        for (uint32_t k = 0; k < 2; ++k) {
          in[lane][k] = bits_of(e, spread(random, f.from, f.to));
          bench.put(k, lane, e, in[lane][k]);
          masked.put(k, lane, e, in[lane][k]);
        }
        masked.put(4, lane, e, 0x5a5a5a5a);
      }
      op->full(bench.step, bench.context);
      masked.context.active = static_cast<uint32_t>(random());
      op->masked(masked.step, masked.context);
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const Raw got = bench.get(4, lane, e);
        const bool on = masked.context.active >> lane & 1;
        ASSERT_TRUE(masked.get(4, lane, e) == (on ? got : Raw{0x5a5a5a5a}));
        Bench scalar(*op);
        for (uint32_t k = 0; k < 2; ++k) scalar.put(k, 0, e, in[lane][k]);
        op->scalar(scalar.step, scalar.context);
        ASSERT_TRUE(scalar.get(4, 0, e) == got);
        const Real x = real_of(e, in[lane][0]), y = real_of(e, in[lane][1]);
        const Real exact = f.exact(x, y);
        const bool ftz = std::string_view(f.name).find("ftz") != std::string_view::npos;
        if (e == Element::b32 &&
            (!(std::fabs(exact) <= 0x1.fffffep127L) ||
             (ftz && (std::fabs(exact) < 0x1p-125L || std::fabs(x) < 0x1p-126L || std::fabs(y) < 0x1p-126L))))
          continue;
        const Real error = std::fabs(real_of(e, got) - exact);
        ASSERT_LE(error, std::max<Real>(std::fabs(exact) * f.relative, f.absolute))
            << static_cast<double>(x) << " " << static_cast<double>(y);
        const bool relative = error > f.absolute;  // what the bound was about
        worst = std::max(worst, static_cast<double>(relative && exact != 0 ? error / std::fabs(exact)
                                                    : f.relative > 0       ? 0
                                                                           : error));
      }
    }
    std::printf("%-24s worst %s error 2^%.2f\n", f.name, f.relative > 0 ? "relative" : "absolute", std::log2(worst));
  }
}

TEST(OpsApprox, SpecialValues) {
  const auto one = [](const char* name, double a, double b = 0) {
    const PureOp& op = *find_pure(name);
    Bench bench(op);
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      bench.put(0, lane, op.source[0], bits_of(op.source[0], a));
      bench.put(1, lane, op.source[0], bits_of(op.source[0], b));
    }
    op.full(bench.step, bench.context);
    return real_of(op.result[0], bench.get(4, 17, op.result[0]));
  };
  const double inf = HUGE_VAL, nan = std::nan("");
  for (const std::string ftz : {"", ".ftz"}) {
    const auto f = [&](const char* head, double a, double b = 0) { return one((head + ftz + ".f32").c_str(), a, b); };
    EXPECT_EQ(f("ex2.approx", inf), inf);
    EXPECT_EQ(f("ex2.approx", -inf), 0);
    EXPECT_EQ(f("ex2.approx", 0), 1);
    EXPECT_EQ(f("ex2.approx", 0x1p-140), 1);
    EXPECT_TRUE(std::isnan(f("ex2.approx", nan)));
    EXPECT_EQ(f("lg2.approx", inf), inf);
    EXPECT_EQ(f("lg2.approx", 0), -inf);
    EXPECT_EQ(f("lg2.approx", -0.0), -inf);
    EXPECT_TRUE(std::isnan(f("lg2.approx", -1)));
    EXPECT_EQ(f("lg2.approx", 0x1p-140), ftz.empty() ? -140 : -inf);
    EXPECT_EQ(f("sin.approx", 0), 0);
    EXPECT_TRUE(std::signbit(f("sin.approx", -0.0)));
    EXPECT_TRUE(std::isnan(f("sin.approx", inf)));
    EXPECT_TRUE(std::isnan(f("cos.approx", -inf)));
    EXPECT_EQ(f("cos.approx", 0), 1);
    EXPECT_LE(std::fabs(f("sin.approx", 3e38)), 1);
    EXPECT_EQ(f("rcp.approx", -0.0), -inf);
    EXPECT_EQ(f("rsqrt.approx", 0), inf);
    EXPECT_TRUE(std::isnan(f("rsqrt.approx", -1)));
    EXPECT_TRUE(std::isnan(f("sqrt.approx", -1)));
    EXPECT_EQ(f("div.approx", 1, 0x1p127), 0);
    EXPECT_TRUE(std::isnan(f("div.approx", inf, 0x1p127)));
    EXPECT_EQ(f("div.approx", 1, 0x1p126), 0x1p-126);
    EXPECT_EQ(f("div.full", 6, 3), 2);
  }
  EXPECT_EQ(one("tanh.approx.f32", inf), 1);
  EXPECT_EQ(one("tanh.approx.f32", -inf), -1);
  EXPECT_TRUE(std::isnan(one("tanh.approx.f32", nan)));
  EXPECT_EQ(one("rcp.approx.ftz.f64", 0), inf);
  EXPECT_EQ(one("rcp.approx.ftz.f64", 0x1p-1050), inf);
}

// All 2^16 operands of the half functions, single and in pairs.
TEST(OpsApprox, EveryHalf) {
  for (const bool bfloat : {false, true}) {
    for (const bool tangent : {false, true}) {
      const std::string name = std::string(tangent  ? "tanh.approx"
                                           : bfloat ? "ex2.approx.ftz"
                                                    : "ex2.approx") +
                               (bfloat ? ".bf16" : ".f16");
      SCOPED_TRACE(name);
      const PureOp *single = find_pure(name), *pair = find_pure(name + "x2");
      ASSERT_TRUE(single != nullptr && pair != nullptr);
      const double bound = tangent ? (bfloat ? 0x1p-8 : 0x1.04p-11) : (bfloat ? 0x1p-7 : 0x1.12p-10);
      const uint16_t infinity = bfloat ? 0x7f80 : 0x7c00;
      for (uint32_t base = 0; base < 0x10000; base += kLanes) {
        Bench one(*single), two(*pair), off(*single);
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
          one.put(0, lane, Element::b16, base + lane);
          off.put(0, lane, Element::b16, base + lane);
          off.put(4, lane, Element::b16, 0x5a5a);
          two.put(0, lane, Element::b32, (base + lane) << 16 | (0xffff - base - lane));
        }
        off.context.active = 0x0f0ff0f1;
        single->full(one.step, one.context);
        single->masked(off.step, off.context);
        pair->full(two.step, two.context);
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
          const uint16_t in = static_cast<uint16_t>(base + lane),
                         got = static_cast<uint16_t>(one.get(4, lane, Element::b16));
          ASSERT_EQ(static_cast<uint16_t>(two.get(4, lane, Element::b32) >> 16), got);
          ASSERT_EQ(static_cast<uint16_t>(off.get(4, lane, Element::b16)),
                    (off.context.active >> lane & 1) ? got : 0x5a5a);
          const uint16_t m = in & 0x7fff;
          if (m > infinity) {
            ASSERT_EQ(got, 0x7fff);
            continue;
          }
          const double x = m == infinity ? (in & 0x8000 ? -HUGE_VAL : HUGE_VAL) : half_value(bfloat, in);
          const double exact = tangent ? std::tanh(x) : std::exp2(x);
          if (exact > (bfloat ? 0x1.ffp127 : 65520.0)) {
            ASSERT_EQ(got, infinity);
            continue;
          }
          if (bfloat && std::fabs(exact) < 0x1p-126) continue;
          ASSERT_LE(std::fabs(half_value(bfloat, got) - exact), std::fabs(exact) * bound + (bfloat ? 0 : 0x1p-25))
              << in;
        }
      }
    }
  }
}

// Every row is claimed by a test: by a reference, or by name above. Mnemonics are unique, unknown ones are unknown, and
// the order of suffixes is free where types keep theirs.
TEST(OpsTable, EveryRowHasATest) {
  std::set<std::string> approximate = {"ex2.approx.f16",        "ex2.approx.f16x2",  "ex2.approx.ftz.bf16",
                                       "ex2.approx.ftz.bf16x2", "tanh.approx.f16",   "tanh.approx.f16x2",
                                       "tanh.approx.bf16",      "tanh.approx.bf16x2"};
  for (const Function& f : kFunctions) approximate.insert(f.name);
  const Reference references[] = {integer_reference, bit_reference,     move_reference,
                                  carry_reference,   float_reference,   half_reference,
                                  compare_reference, convert_reference, small_reference};
  std::set<std::string> seen;
  for (const auto& family : all_pure()) {
    for (const PureOp& op : family) {
      const std::string name(op.mnemonic);
      EXPECT_TRUE(seen.insert(name).second) << name << " twice";
      EXPECT_EQ(find_pure(name), &op);
      const Words words = split(name);
      if (name == "video") continue;  // tests/machine/execute/spellings_test.cpp
      if (is_approximate(words)) {
        EXPECT_TRUE(approximate.count(name)) << name << " is not tested";
        continue;
      }
      const Raw in[4] = {};
      Raw out[2] = {};
      int claimed = 0;
      for (const Reference reference : references) claimed += reference(words, in, out);
      EXPECT_GE(claimed, 1) << name << " is not tested";
    }
  }
  std::printf("%zu rows\n", seen.size());
}

TEST(OpsTable, UnknownSuffixesAreUnknown) {
  for (const char* name :
       {"", "add", "add.s33", "add.s32.x", "add.ftz.s32", ".add.s32", "add..s32", "add.s32.", "ADD.S32", "add.rn.s32",
        "fma.f32", "cvt.rni.f32", "cvt.f32.s32", "cvt.u32.f32", "setp.lt.b32", "setp.lt.s32||", "shl.u32"}) {
    EXPECT_EQ(find_pure(name), nullptr) << name;
  }
}

TEST(OpsTable, TheOrderOfSuffixesIsFree) {
  const std::pair<const char*, const char*> same[] = {{"add.f32.rn", "add.rn.f32"},
                                                      {"max.s16x2.relu", "max.relu.s16x2"},
                                                      {"cvt.u32.f32.rni", "cvt.rni.u32.f32"},
                                                      {"max.NaN.f16.xorsign.abs", "max.NaN.xorsign.abs.f16"}};
  for (const auto& [name, row] : same) {
    ASSERT_NE(find_pure(row), nullptr) << row;
    EXPECT_EQ(find_pure(name), find_pure(row)) << name;
  }
  EXPECT_NE(find_pure("cvt.rni.u32.f32"), find_pure("cvt.f32.rni.u32"));
}

}  // namespace coalesce::machine::ops_test
