// Facts about values (lane_facts.h): what every rule says holds for all lanes, by random values that are computed here;
// and what rules must know, as tables.
#include <gtest/gtest.h>

#include <random>

#include "machine/program/lane_facts.h"

namespace coalesce::machine {
namespace {

__extension__ using Wide = __int128;
constexpr Range kUnknown{};
constexpr LaneClass kAffine = LaneClass::affine, kUniform = LaneClass::warp_uniform, kGeneral = LaneClass::general;
constexpr uint32_t kMost = 1u << 30;  // alignment of 0

// v modulo 2^bits, as a signed number.
int64_t wrapped(Wide v, unsigned bits) {
  const auto low = static_cast<uint64_t>(v);
  return bits == 64 ? static_cast<int64_t>(low) : static_cast<int32_t>(low);
}

struct Source {
  Fact fact;
  std::array<int64_t, kLanes> values{};
};

class Random {
 public:
  Source source(unsigned bits) {
    Source s;
    const bool affine = below(2);
    const int64_t stride = affine ? static_cast<int64_t>(below(33)) - 16 : 0, base = number(bits);
    for (uint32_t l = 0; l < kLanes; ++l) s.values[l] = wrapped(Wide{base} + Wide{stride} * l, bits);
    s.fact.lanes = affine ? kAffine : below(2) ? kUniform : LaneClass::constant;
    s.fact.stride = stride;
    if (below(4)) {
      const Wide least = -(Wide{1} << (bits - 1)), low = *std::min_element(s.values.begin(), s.values.end()),
                 high = *std::max_element(s.values.begin(), s.values.end());
      s.fact.range = {static_cast<int64_t>(std::max(least, low - below(3))),
                      static_cast<int64_t>(std::min(-least - 1, high + below(3)))};
      if (s.fact.lanes == LaneClass::constant) s.fact.range = {base, base};
    }
    while (s.fact.alignment < kMost && base % (int64_t{2} * s.fact.alignment) == 0 && below(8)) s.fact.alignment *= 2;
    return s;
  }
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

 private:
  int64_t number(unsigned bits) {
    switch (below(4)) {
      case 0:
        return static_cast<int64_t>(below(9)) - 4;
      case 1:
        return wrapped(Wide{1} << below(bits), bits);
      case 2:
        return static_cast<int64_t>(below(1u << 20));
      default:
        return wrapped(static_cast<Wide>(random_()), bits);
    }
  }
  std::mt19937_64 random_{25};
};

void expect_holds(const Fact& f, const std::array<int64_t, kLanes>& values, unsigned bits, const std::string& what) {
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (f.range.known()) EXPECT_TRUE(f.range.low <= values[l] && values[l] <= f.range.high) << what << ", lane " << l;
    if (f.lanes == kAffine) EXPECT_EQ(values[l], wrapped(Wide{values[0]} + Wide{f.stride} * l, bits)) << what;
    if (f.lanes < kAffine) EXPECT_EQ(values[l], values[0]) << what;
    if (l == 0 || f.lanes == kGeneral)
      EXPECT_EQ(values[l] % static_cast<int64_t>(f.alignment), 0) << what << ", lane " << l;
  }
}

bool widens(Rule r) {
  return r == Rule::mul_wide || r == Rule::mad_wide || r == Rule::widen_signed || r == Rule::widen_unsigned;
}

// The result of one lane.
int64_t result_of(const LinearRule& r, int64_t a, int64_t b, int64_t c) {
  const auto read = [&](int64_t v) { return r.is_signed ? Wide{v} : Wide{static_cast<uint32_t>(v)}; };
  switch (r.rule) {
    case Rule::add:
      return wrapped(Wide{a} + b, r.bits);
    case Rule::sub:
      return wrapped(Wide{a} - b, r.bits);
    case Rule::mul_low:
      return wrapped(Wide{a} * b, r.bits);
    case Rule::mad_low:
      return wrapped(Wide{a} * b + c, r.bits);
    case Rule::mul_wide:
      return wrapped(read(a) * read(b), r.bits);
    case Rule::mad_wide:
      return wrapped(read(a) * read(b) + c, r.bits);
    case Rule::shift_left: {
      const auto by = static_cast<uint32_t>(b);
      return by >= r.bits ? 0 : wrapped(Wide{a} << by, r.bits);
    }
    case Rule::minus:
      return wrapped(-Wide{a}, r.bits);
    case Rule::widen_signed:
      return a;
    case Rule::widen_unsigned:
      return static_cast<uint32_t>(a);
    default:  // move, truncate
      return wrapped(a, r.bits);
  }
}

TEST(Facts, OfResultsHold) {
  Random random;
  for (const Rule rule :
       {Rule::add, Rule::sub, Rule::mul_low, Rule::mul_wide, Rule::mad_low, Rule::mad_wide, Rule::shift_left,
        Rule::move, Rule::widen_unsigned, Rule::widen_signed, Rule::truncate, Rule::minus})
    for (const bool is_signed : {false, true})
      for (const unsigned bits : {32u, 64u}) {
        if (widens(rule) && bits == 32) continue;
        if (rule == Rule::truncate && bits == 64) continue;
        const LinearRule r{rule, bits, is_signed};
        for (int n = 0; n < 1000 && !testing::Test::HasFailure(); ++n) {
          Source s[3];
          Fact facts[4];
          LaneClass top = LaneClass::constant;
          const int sources = rule == Rule::mad_low || rule == Rule::mad_wide                       ? 3
                              : widens(rule) && rule != Rule::mul_wide                              ? 1
                              : rule == Rule::move || rule == Rule::truncate || rule == Rule::minus ? 1
                                                                                                    : 2;
          for (int k = 0; k < sources; ++k) {
            const unsigned wide = rule == Rule::truncate ? 64 : widens(rule) && k < 2 ? bits / 2 : bits;
            s[k] = random.source(rule == Rule::shift_left && k == 1 ? 32 : wide);
            if (rule == Rule::shift_left && k == 1 && random.below(4)) s[k] = {{}, {}};
            if (rule == Rule::shift_left && k == 1 && !s[k].fact.range.known()) {
              const int64_t by = random.below(40);
              s[k].values.fill(by),
                  s[k].fact = {LaneClass::constant, 0, {by, by}, alignment_of(static_cast<uint64_t>(by))};
            }
            facts[k] = s[k].fact;
            top = std::max(top, facts[k].lanes);
          }
          std::array<int64_t, kLanes> values{};
          for (uint32_t l = 0; l < kLanes; ++l)
            values[l] = result_of(r, s[0].values[l], s[1].values[l], s[2].values[l]);
          expect_holds(
              fact_of_result(r, facts, top), values, bits,
              "rule " + std::to_string(static_cast<int>(rule)) + (is_signed ? " s" : " u") + std::to_string(bits));
        }
      }
}

Fact affine(int64_t stride, Range range, uint32_t alignment) { return {kAffine, stride, range, alignment}; }
Fact constant(int64_t v) { return {LaneClass::constant, 0, {v, v}, alignment_of(static_cast<uint64_t>(v))}; }

TEST(Facts, ThatResultsMustHave) {
  constexpr int64_t kTop = (int64_t{1} << 31) - 1;
  const Fact index = affine(1, {0, 127}, 32), unknown = affine(1, kUnknown, 4), some = {kUniform, 0, kUnknown, 8};
  const Fact below = affine(-3, {-93, 0}, 1);
  struct Row {
    LinearRule rule;
    Fact a, b, c;
    Fact wanted;
  };
  const Row rows[] = {
      {{Rule::add, 32}, index, constant(5), {}, affine(1, {5, 132}, 1)},
      {{Rule::add, 32}, index, index, {}, affine(2, {0, 254}, 32)},
      {{Rule::add, 32}, index, constant(kTop - 127), {}, affine(1, {kTop - 127, kTop}, 32)},
      {{Rule::add, 32}, index, constant(kTop - 126), {}, affine(1, kUnknown, 1)},
      {{Rule::add, 64}, index, constant(kTop - 126), {}, affine(1, {kTop - 126, kTop + 1}, 1)},
      {{Rule::add, 32}, index, some, {}, affine(1, kUnknown, 8)},
      {{Rule::sub, 32}, index, constant(5), {}, affine(1, {-5, 122}, 1)},
      {{Rule::sub, 32}, index, below, {}, affine(4, {0, 220}, 1)},
      {{Rule::sub, 32}, constant(64), index, {}, affine(-1, {-63, 64}, 32)},
      {{Rule::sub, 32}, constant(-kTop - 1), constant(0), {}, constant(-kTop - 1)},
      {{Rule::sub, 32}, constant(-kTop - 1), constant(1), {}, {LaneClass::constant, 0, kUnknown, 1}},
      {{Rule::mul_low, 32}, index, constant(12), {}, affine(12, {0, 1524}, 128)},
      {{Rule::mul_low, 32}, constant(-12), index, {}, affine(-12, {-1524, 0}, 128)},
      {{Rule::mul_low, 32}, unknown, constant(12), {}, affine(12, kUnknown, 16)},
      {{Rule::mul_low, 32}, index, some, {}, {kGeneral, 0, kUnknown, 8}},
      {{Rule::mul_low, 32}, index, index, {}, {kGeneral, 0, {0, 16129}, 1}},
      {{Rule::mul_low, 64},
       affine(1 << 20, {0, 127 << 20}, 4),
       constant(1 << 20),
       {},
       affine(1ll << 40, {0, 127ll << 40}, 1 << 22)},
      {{Rule::mul_low, 64},
       affine(-(1 << 20), {-(127 << 20), 0}, 4),
       constant(1 << 20),
       {},
       affine(-(1ll << 40), {-(127ll << 40), 0}, 1 << 22)},
      {{Rule::mul_wide, 64, false}, index, constant(4), {}, affine(4, {0, 508}, 128)},
      {{Rule::mul_wide, 64, true}, below, constant(4), {}, affine(-12, {-372, 0}, 4)},
      {{Rule::mul_wide, 64, false}, below, constant(4), {}, {kGeneral, 0, kUnknown, 4}},
      {{Rule::mul_wide, 64, true}, unknown, constant(4), {}, {kGeneral, 0, kUnknown, 4}},
      {{Rule::mul_wide, 64, false}, some, constant(4), {}, {kUniform, 0, kUnknown, 32}},
      {{Rule::mul_wide, 64, false}, constant(kTop), constant(kTop), {}, constant(kTop * kTop)},
      {{Rule::mad_low, 32}, index, constant(4), constant(8), affine(4, {8, 516}, 8)},
      {{Rule::mad_low, 32}, constant(3), constant(4), index, affine(1, {12, 139}, 4)},
      {{Rule::mad_low, 32}, index, constant(4), index, affine(5, {0, 635}, 32)},
      {{Rule::mad_low, 32}, index, constant(4), some, affine(4, kUnknown, 8)},
      {{Rule::mad_low, 32}, some, constant(4), constant(8), {kUniform, 0, kUnknown, 8}},
      {{Rule::mad_low, 32}, constant(1 << 16), constant(1 << 15), constant(-1), {LaneClass::constant, 0, kUnknown, 1}},
      {{Rule::mad_wide, 64, false}, index, constant(4), some, affine(4, kUnknown, 8)},
      {{Rule::mad_wide, 64, true}, below, constant(4), index, affine(-11, {-372, 127}, 4)},
      {{Rule::shift_left, 32}, index, constant(2), {}, affine(4, {0, 508}, 128)},
      {{Rule::shift_left, 32}, below, constant(31), {}, affine(-3ll << 31, kUnknown, 1u << 30)},
      {{Rule::shift_left, 32}, index, constant(32), {}, {kGeneral, 0, kUnknown, 1}},
      {{Rule::shift_left, 32}, index, constant(-1), {}, {kGeneral, 0, kUnknown, 1}},
      {{Rule::shift_left, 32}, some, constant(1), {}, {kUniform, 0, kUnknown, 16}},
      {{Rule::shift_left, 32}, {kGeneral, 0, kUnknown, 4}, constant(3), {}, {kGeneral, 0, kUnknown, 32}},
      {{Rule::shift_left, 64}, affine(1 << 20, kUnknown, 4), constant(20), {}, affine(1ll << 40, kUnknown, 1 << 22)},
      {{Rule::shift_left, 64}, affine(1 << 20, kUnknown, 4), constant(21), {}, {kGeneral, 0, kUnknown, 1 << 23}},
      {{Rule::shift_left, 64}, affine(-1 << 20, kUnknown, 4), constant(20), {}, affine(-1ll << 40, kUnknown, 1 << 22)},
      {{Rule::shift_left, 64}, affine(-1 << 20, kUnknown, 4), constant(21), {}, {kGeneral, 0, kUnknown, 1 << 23}},
      {{Rule::minus, 32}, index, {}, {}, affine(-1, {-127, 0}, 32)},
      {{Rule::minus, 32}, constant(-kTop - 1), {}, {}, {LaneClass::constant, 0, kUnknown, kMost}},
      {{Rule::move, 32}, below, {}, {}, below},
      {{Rule::widen_signed, 64}, below, {}, {}, below},
      {{Rule::widen_unsigned, 64}, index, {}, {}, index},
      {{Rule::widen_unsigned, 64}, below, {}, {}, {kGeneral, 0, kUnknown, 1}},
      {{Rule::widen_signed, 64}, unknown, {}, {}, {kGeneral, 0, kUnknown, 1}},
      {{Rule::widen_signed, 64}, some, {}, {}, some},
      {{Rule::truncate, 32}, index, {}, {}, index},
      {{Rule::truncate, 32}, affine(1, {0, kTop + 1}, 4), {}, {}, affine(1, kUnknown, 4)},
      {{Rule::other, 32}, index, index, {}, {kGeneral, 0, kUnknown, 1}},
      {{Rule::other, 32}, some, some, {}, {kUniform, 0, kUnknown, 1}},
  };
  int number = 0;
  for (const Row& row : rows) {
    SCOPED_TRACE("row " + std::to_string(number++));
    const Fact sources[4] = {row.a, row.b, row.c, {}};
    const Fact f = fact_of_result(row.rule, sources, std::max({row.a.lanes, row.b.lanes, row.c.lanes}));
    EXPECT_EQ(f.lanes, row.wanted.lanes);
    if (f.lanes == kAffine) EXPECT_EQ(f.stride, row.wanted.stride);
    EXPECT_EQ(f.range, row.wanted.range);
    EXPECT_EQ(f.alignment, row.wanted.alignment);
  }
}

TEST(Facts, OfBoundsHoldAndAreKnown) {
  struct Row {
    BoundRule rule;
    Fact x, by;
    Range range;
    uint32_t alignment = 0;  // 0: any
  };
  const Fact positive = affine(4, {8, 1000}, 8), negative = affine(1, {-8, 1000}, 8), none = affine(1, kUnknown, 8);
  const Row rows[] = {
      {{Bound::mask, 32}, positive, constant(255), {0, 255}, 4},
      {{Bound::mask, 32}, positive, constant(4095), {0, 1000}, 4},
      {{Bound::mask, 32}, constant(255), positive, {0, 255}, 4},
      {{Bound::mask, 32}, negative, constant(255), {0, 255}, 1},
      {{Bound::mask, 32}, none, constant(0xf0), {0, 0xf0}, 16},
      {{Bound::mask, 32}, positive, constant(-16), {0, 1000}, 16},
      {{Bound::mask, 32}, negative, constant(-16), kUnknown, 16},
      {{Bound::mask, 32}, none, none, kUnknown},
      {{Bound::mask, 32}, positive, {kUniform, 0, {1, 2}, 1}, kUnknown},
      {{Bound::shift_right, 32, false}, positive, constant(3), {1, 125}},
      {{Bound::shift_right, 32, true}, negative, constant(3), {-1, 125}},
      {{Bound::shift_right, 32, false}, negative, constant(3), {0, (1 << 29) - 1}},
      {{Bound::shift_right, 32, true}, none, constant(3), kUnknown},
      {{Bound::shift_right, 32, false}, none, constant(1), {0, (int64_t{1} << 31) - 1}},
      {{Bound::shift_right, 64, false}, none, constant(1), {0, std::numeric_limits<int64_t>::max()}},
      {{Bound::shift_right, 32, false}, none, constant(31), {0, 1}},
      {{Bound::shift_right, 32, false}, none, constant(32), kUnknown},
      {{Bound::shift_right, 64, false}, none, constant(32), {0, 0xffffffff}},
      {{Bound::shift_right, 32, false}, none, constant(0), kUnknown},
      {{Bound::remainder, 32, false}, negative, constant(10), {0, 9}},
      {{Bound::remainder, 32, true}, negative, constant(10), kUnknown},
      {{Bound::remainder, 32, true}, positive, constant(10), {0, 9}},
      {{Bound::remainder, 32, true}, positive, constant(1), {0, 0}},
      {{Bound::remainder, 32, true}, positive, constant(0), kUnknown},
      {{Bound::remainder, 32, false}, positive, constant(-1), kUnknown},
  };
  int number = 0;
  for (const Row& row : rows) {
    SCOPED_TRACE("row " + std::to_string(number++));
    Fact out;
    out.lanes = kGeneral;
    apply_bound(row.rule, row.x, row.by, &out);
    EXPECT_EQ(out.range, row.range);
    if (row.alignment) EXPECT_EQ(out.alignment, row.alignment);
  }
}

TEST(Facts, OfBuiltins) {
  struct Row {
    Builtin builtin;
    std::array<uint32_t, 3> block;
    Fact wanted;
  };
  const auto uniform = [](LaneClass lanes, Range range, uint32_t alignment = 1) {
    return Fact{lanes, 0, range, alignment};
  };
  const Row rows[] = {
      {Builtin::tid_x, {96, 1, 1}, affine(1, {0, 95}, 32)},
      {Builtin::tid_x, {50, 1, 1}, affine(1, {0, 49}, 1)},
      {Builtin::tid_x, {64, 2, 1}, affine(1, {0, 63}, 32)},
      {Builtin::tid_x, {16, 2, 1}, uniform(kGeneral, {0, 15})},
      {Builtin::tid_x, {16, 1, 2}, uniform(kGeneral, {0, 15})},
      {Builtin::tid_y, {16, 1, 2}, constant(0)},
      {Builtin::tid_y, {16, 4, 2}, uniform(kGeneral, {0, 3})},
      {Builtin::tid_y, {32, 4, 2}, uniform(kUniform, {0, 3})},
      {Builtin::tid_z, {32, 4, 1}, constant(0)},
      {Builtin::tid_z, {32, 4, 2}, uniform(kUniform, {0, 1})},
      {Builtin::tid_z, {8, 4, 2}, uniform(kGeneral, {0, 1})},
      {Builtin::ntid_x, {96, 4, 2}, constant(96)},
      {Builtin::ntid_y, {96, 4, 2}, constant(4)},
      {Builtin::ntid_z, {96, 4, 2}, constant(2)},
      {Builtin::ctaid_x, {32, 1, 1}, uniform(LaneClass::block_uniform, {0, 15})},
      {Builtin::ctaid_y, {32, 1, 1}, uniform(LaneClass::block_uniform, {0, 7})},
      {Builtin::ctaid_z, {32, 1, 1}, uniform(LaneClass::block_uniform, {0, 3})},
      {Builtin::nctaid_x, {32, 1, 1}, uniform(LaneClass::constant, {1, 16})},
      {Builtin::nctaid_y, {32, 1, 1}, uniform(LaneClass::constant, {1, 8})},
      {Builtin::nctaid_z, {32, 1, 1}, uniform(LaneClass::constant, {1, 4})},
      {Builtin::laneid, {32, 1, 1}, affine(1, {0, 31}, kMost)},
      {Builtin::warpid, {96, 1, 1}, uniform(kUniform, {0, 2})},
      {Builtin::warpid, {97, 1, 1}, uniform(kUniform, {0, 3})},
      {Builtin::warpid, {8, 4, 2}, uniform(kUniform, {0, 1})},
      {Builtin::smid, {32, 1, 1}, uniform(LaneClass::block_uniform, {0, 65535})},
      {Builtin::lanemask_eq, {32, 1, 1}, uniform(kGeneral, kUnknown)},
      {Builtin::lanemask_le, {32, 1, 1}, uniform(kGeneral, kUnknown)},
      {Builtin::lanemask_lt, {32, 1, 1}, uniform(kGeneral, kUnknown)},
      {Builtin::lanemask_ge, {32, 1, 1}, uniform(kGeneral, kUnknown)},
      {Builtin::lanemask_gt, {32, 1, 1}, uniform(kGeneral, kUnknown)},
      {Builtin::gridid, {32, 1, 1}, uniform(LaneClass::constant, kUnknown)},
  };
  int number = 0;
  for (const Row& row : rows) {
    SCOPED_TRACE("row " + std::to_string(number++));
    Register r;
    r.builtin = row.builtin;
    LaunchShape shape;
    shape.block = row.block;
    shape.grid_below = {16, 8, 4};
    const Fact f = fact_of_builtin(r, shape);
    EXPECT_EQ(f.lanes, row.wanted.lanes);
    EXPECT_EQ(f.stride, row.wanted.stride);
    EXPECT_EQ(f.range, row.wanted.range);
    EXPECT_EQ(f.alignment, row.wanted.alignment);
  }
}

}  // namespace
}  // namespace coalesce::machine
