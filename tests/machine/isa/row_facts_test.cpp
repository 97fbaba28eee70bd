// The table's facts about its instructions: the table reads them from the mnemonic, the test has them by hand.
#include <gtest/gtest.h>

#include "machine/isa/row.h"

namespace coalesce::machine {
namespace {

const PureOp& row(const char* mnemonic) {
  const PureOp* found = find_pure(mnemonic);
  EXPECT_NE(found, nullptr) << mnemonic;
  static const PureOp none{};
  return found ? *found : none;
}

TEST(RowFacts, Operations) {
  const isa::Operation mad = row("mad.wide.s32").operation;
  EXPECT_EQ(mad.opcode, isa::Opcode::mad);
  EXPECT_EQ(mad.type, isa::Type::s32);
  EXPECT_EQ(mad.product, isa::Product::wide);
  EXPECT_FALSE(mad.modified);
  const isa::Operation cvt = row("cvt.rn.f32.u64").operation;
  EXPECT_EQ(cvt.to, isa::Type::f32);
  EXPECT_EQ(cvt.type, isa::Type::u64);
  EXPECT_EQ(cvt.rounding, isa::Rounding::rn);
  const isa::Operation setp = row("setp.lo.and.u32|").operation;
  EXPECT_EQ(setp.comparison, isa::Comparison::lo);
  EXPECT_EQ(setp.join, isa::Join::and_);
  EXPECT_TRUE(setp.pair);
  EXPECT_FALSE(setp.is_comparison());
  EXPECT_TRUE(row("setp.lt.f64").operation.is_comparison());
  EXPECT_TRUE(row("mov.b32").operation.is_plain(isa::Opcode::mov, isa::Type::b32));
  const isa::Operation shf = row("shf.r.clamp.b32").operation;
  EXPECT_FALSE(shf.left);
  EXPECT_FALSE(shf.wraps);
  EXPECT_TRUE(row("shf.l.wrap.b32").operation.left);
  EXPECT_TRUE(row("shf.l.wrap.b32").operation.wraps);
}

// A suffix that no field names is never lost.
TEST(RowFacts, Modifiers) {
  for (const char* m : {"add.sat.s32", "min.relu.s32", "add.ftz.f32", "sqrt.approx.f32", "min.NaN.f32"})
    EXPECT_TRUE(row(m).operation.modified) << m;
  for (const char* m : {"add.s32", "add.rn.f32", "mul.hi.u32", "popc.b64"})
    EXPECT_FALSE(row(m).operation.modified) << m;
}

TEST(RowFacts, LinearRules) {
  struct Case {
    const char* mnemonic;
    Rule rule;
    unsigned bits;
    bool is_signed;
  };
  for (const Case& c :
       {Case{"add.s32", Rule::add, 32, true}, Case{"sub.u64", Rule::sub, 64, false},
        Case{"mul.lo.u32", Rule::mul_low, 32, false}, Case{"mul.wide.u32", Rule::mul_wide, 64, false},
        Case{"mad.wide.s32", Rule::mad_wide, 64, true}, Case{"shl.b32", Rule::shift_left, 32, false},
        Case{"cvt.u64.u32", Rule::widen_unsigned, 64, false}, Case{"cvt.s64.s32", Rule::widen_signed, 64, true},
        Case{"cvt.u32.u64", Rule::truncate, 32, false}, Case{"cvt.s32.u32", Rule::move, 32, false},
        Case{"neg.s64", Rule::minus, 64, true}, Case{"mov.b64", Rule::move, 64, false}}) {
    const LinearRule& r = row(c.mnemonic).facts.linear;
    EXPECT_EQ(r.rule, c.rule) << c.mnemonic;
    EXPECT_EQ(r.bits, c.bits) << c.mnemonic;
    EXPECT_EQ(r.is_signed, c.is_signed) << c.mnemonic;
  }
  for (const char* m : {"add.sat.s32", "add.u16", "mul.hi.s32", "mul.wide.u16", "add.f32", "mov.f32", "cvt.rn.f32.s32"})
    EXPECT_EQ(row(m).facts.linear.rule, Rule::other) << m;
}

// Lane classes (program/lanes.cpp) take what is known of the first result for both.
TEST(RowFacts, NothingIsKnownOfTwoResults) {
  int rows = 0;
  for (const auto& table : all_pure())
    for (const PureOp& op : table) {
      if (op.results != 2) continue;
      ++rows;
      EXPECT_EQ(op.facts.linear.rule, Rule::other) << op.mnemonic;
      EXPECT_EQ(op.facts.bound.bound, Bound::none) << op.mnemonic;
    }
  EXPECT_GT(rows, 50);
}

TEST(RowFacts, BoundsMovesAndNans) {
  EXPECT_EQ(row("and.b32").facts.bound.bound, Bound::mask);
  EXPECT_EQ(row("shr.s64").facts.bound.bound, Bound::shift_right);
  EXPECT_TRUE(row("shr.s64").facts.bound.is_signed);
  EXPECT_EQ(row("rem.u32").facts.bound.bound, Bound::remainder);
  EXPECT_EQ(row("and.pred").facts.bound.bound, Bound::none);
  for (const char* m : {"mov.b32", "shl.b32", "prmt.b32", "cvt.rn.f32.s32", "or.b64"})
    EXPECT_TRUE(row(m).facts.moves) << m;
  for (const char* m : {"add.s32", "selp.b32", "xor.b32"}) EXPECT_FALSE(row(m).facts.moves) << m;
  for (const char* m : {"add.f32", "fma.rn.f32", "div.rn.f32", "neg.f32", "max.f32"})
    EXPECT_TRUE(row(m).facts.makes_nan) << m;
  for (const char* m : {"add.rz.f32", "add.ftz.f32", "add.f64", "mov.f32", "div.approx.f32"})
    EXPECT_FALSE(row(m).facts.makes_nan) << m;
}

}  // namespace
}  // namespace coalesce::machine
