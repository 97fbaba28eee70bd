// Operands: numbers, registers, addresses, vectors, symbols.
#include <bit>
#include <string>

#include "tests/machine/ptx/parsed.h"

namespace coalesce::ptx {
namespace {

TEST(PtxParser, IntegerOperands) {
  const std::map<std::string, int64_t> values = {{"0", 0},
                                                 {"42", 42},
                                                 {"-7", -7},
                                                 {"0x1F", 31},
                                                 {"0X1fU", 31},
                                                 {"017", 15},
                                                 {"0b101", 5},
                                                 {"12U", 12},
                                                 {"+3", 3},
                                                 {"- -3", 3},
                                                 {"-0x10", -16},
                                                 {"4*8+2", 34},
                                                 {"0xFFFFFFFFFFFFFFFF", -1},
                                                 {"~0", -1},
                                                 {"WARP_SZ", 32},
                                                 {"WARP_SZ-1", 31},
                                                 {"-858993459", -858993459},
                                                 {"9223372036854775808", INT64_MIN}};
  for (const auto& [text, value] : values) {
    const Operand o = operand_of(text);
    EXPECT_EQ(o.kind, Kind::integer) << text;
    EXPECT_EQ(static_cast<int64_t>(o.bits), value) << text;
  }
}

TEST(PtxParser, RealOperands) {
  for (const std::string text : {"0f3FC00000", "0F3fc00000"}) {
    const Operand o = operand_of(text);
    EXPECT_EQ(o.kind, Kind::real);
    EXPECT_TRUE(o.is_f32);
    EXPECT_EQ(o.bits, 0x3FC00000u);
  }
  const std::map<std::string, double> values = {
      {"0d3FF8000000000000", 1.5}, {"1.5", 1.5}, {"-1.5", -1.5}, {"1e3", 1000}, {"15.0E-1", 1.5}, {"2.5e+1", 25}};
  for (const auto& [text, value] : values) {
    const Operand o = operand_of(text);
    EXPECT_EQ(o.kind, Kind::real) << text;
    EXPECT_FALSE(o.is_f32) << text;
    EXPECT_EQ(o.bits, std::bit_cast<uint64_t>(value)) << text;
  }
  EXPECT_EQ(operand_of("-0f3F800000").bits, 0xBF800000u);
}

TEST(PtxParser, RegisterOperands) {
  const Function f = body_of("setp.lt.s32 %p1|%p2, %r3, !%p3; op _, _|%p1, %p2|_;");
  const auto& o = f.body[0].operands;
  EXPECT_EQ(o[0].kind, Kind::reg);
  EXPECT_EQ(register_name(f, o[0].reg), "%p1");
  EXPECT_EQ(register_name(f, o[0].reg2), "%p2");
  EXPECT_EQ(register_name(f, o[1].reg), "%r3");
  EXPECT_EQ(o[1].reg2, -1);
  EXPECT_TRUE(o[2].negated);
  EXPECT_EQ(register_name(f, o[2].reg), "%p3");
  const auto& s = f.body[1].operands;
  EXPECT_EQ(s[0].kind, Kind::sink);
  EXPECT_EQ(s[1].kind, Kind::reg);
  EXPECT_EQ(s[1].reg, -1);
  EXPECT_EQ(register_name(f, s[1].reg2), "%p1");
  EXPECT_EQ(register_name(f, s[2].reg), "%p2");
  EXPECT_EQ(s[2].reg2, -1);
}

TEST(PtxParser, SpecialRegisters) {
  for (const std::string name : {"%tid.x", "%nctaid.z", "%laneid", "%clock64", "%clock", "%pm0", "%pm7_64", "%envreg31",
                                 "%lanemask_lt", "%globaltimer_lo", "%dynamic_smem_size", "%is_explicit_cluster",
                                 "%cluster_ctaid.y", "%reserved_smem_offset_1", "%a_register_of_the_future"}) {
    const Operand o = operand_of(name);
    EXPECT_EQ(o.kind, Kind::special);
    EXPECT_EQ(o.name, name);
  }
}

TEST(PtxParser, AddressOperands) {
  const Function f = body_of(
      "ld.u32 %r1, [%rd1]; ld.u32 %r1, [%rd2+16]; ld.u32 %r1, [ %rd3 + -4 ]; ld.u32 %r1, [in]; ld.u32 %r1, [in+8];"
      "ld.u32 %r1, [somewhere-12]; ld.u32 %r1, [64]; ld.u32 %r1, [%rd1 + 4*8 + 1]; ld.u32 %r1, [%rd4-4];"
      "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}];");
  const auto address = [&](size_t i) { return f.body.at(i).operands.at(1); };
  const auto expect = [&](size_t i, const std::string& base, int64_t offset) {
    EXPECT_EQ(address(i).kind, Kind::address) << i;
    EXPECT_EQ(address(i).reg >= 0 ? register_name(f, address(i).reg) : address(i).name, base) << i;
    EXPECT_EQ(address(i).offset, offset) << i;
  };
  expect(0, "%rd1", 0);
  expect(1, "%rd2", 16);
  expect(2, "%rd3", -4);
  expect(3, "in", 0);
  expect(4, "in", 8);
  expect(5, "somewhere", -12);
  expect(6, "", 64);
  expect(7, "%rd1", 33);
  expect(8, "%rd4", -4);
  expect(9, "%rd1", 0);
  const Operand coordinates = address(9).elements.at(0);
  EXPECT_EQ(coordinates.kind, Kind::vector);
  EXPECT_EQ(register_name(f, coordinates.elements.at(1).reg), "%f6");
}

TEST(PtxParser, VectorsAndSymbols) {
  const std::vector<Operand> o = operands_of("op {%r1, _, 5}, name, name+8, \"quoted name\", in, {};");
  EXPECT_EQ(o[0].kind, Kind::vector);
  ASSERT_EQ(o[0].elements.size(), 3u);
  EXPECT_EQ(o[0].elements[1].kind, Kind::sink);
  EXPECT_EQ(o[0].elements[2].bits, 5u);
  EXPECT_EQ(o[1].kind, Kind::symbol);
  EXPECT_EQ(o[1].name, "name");
  EXPECT_EQ(o[1].target, 0u);
  EXPECT_EQ(o[2].offset, 8);
  EXPECT_EQ(o[3].name, "quoted name");
  EXPECT_EQ(o[4].kind, Kind::symbol);
  EXPECT_EQ(o[4].name, "in");
  EXPECT_TRUE(o[5].elements.empty());
}

// Undeclared names without a digit at their end may be registers that a later version of PTX brings.
TEST(PtxParser, SpecialRegistersOfAnyName) {
  for (const char* name : {"%x", "%tid.x", "%clock64", "%pm7_64", "%envreg31"})
    EXPECT_NO_THROW(operand_of(name)) << name;
  for (const char* name : {"%x7", "%envregs7"}) EXPECT_ANY_THROW(operand_of(name)) << name;
}

TEST(PtxParser, AsManyRegistersAsAFunctionMayHave) { EXPECT_NO_THROW(body_of(".reg .b32 %q<999966>;")); }

}  // namespace
}  // namespace coalesce::ptx
