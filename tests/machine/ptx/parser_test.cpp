// Every form of PTX that compilers write, with checks on the values that come out. Operands: operand_test.cpp.
#include <map>
#include <set>
#include <string>

#include "tests/machine/ptx/parsed.h"

namespace coalesce::ptx {
namespace {

TEST(PtxParser, Header) {
  const Module m =
      module_of(".file 1 \"a/b.cu\"\n.file 2 \"C:\\\\x.cu\", 1700000000, 4711\n.file 3 \"d\" \"e.h\"\n.alias a, b;");
  EXPECT_EQ(m.version_major, 8u);
  EXPECT_EQ(m.version_minor, 5u);
  EXPECT_EQ(m.target, "sm_90a");
  EXPECT_EQ(m.address_size, 64u);
  using File = std::pair<uint32_t, std::string>;
  EXPECT_THAT(m.files, ElementsAre(File{1, "a/b.cu"}, File{2, "C:\\x.cu"}, File{3, "d/e.h"}));
  EXPECT_THAT(m.aliases, ElementsAre(std::pair<std::string, std::string>{"a", "b"}));
  EXPECT_EQ(parse(".version 7.10", "").version_minor, 10u);
  EXPECT_EQ(parse(std::string(".version 7.1\0\0", 14), "").version_minor, 1u);  // as embedded: zeros at the end
}

// An H100's driver (580.159.04) loads the first five and refuses sm_999 with CUDA_ERROR_INVALID_PTX.
TEST(PtxParser, TargetsAreArchitectures) {
  for (const std::string name :
       {"sm_12", "sm_20", "sm_35", "sm_90", "sm_90a", "compute_90", "sm_100f", "sm_120a", "sm_121"})
    EXPECT_EQ(parse(".version 8.8\n.target " + name + ", debug\n.address_size 64\n", "").target, name);
  for (const std::string name : {"sm_999", "sm_9", "sm_90b", "sm_35a", "sm_90f", "sm_", "gfx90", "sm_sm_90"})
    EXPECT_THAT(error_of(".version 8.8\n.target " + name + "\n.address_size 64\n").message,
                HasSubstr("no architecture is called '" + name + "'"));
}

TEST(PtxParser, TypesHaveNamesAndSizes) {
  const std::map<std::string, unsigned> sizes = {{"pred", 0}, {"b8", 1},  {"u8", 1},  {"s8", 1},    {"b16", 2},
                                                 {"u16", 2},  {"s16", 2}, {"f16", 2}, {"bf16", 2},  {"b32", 4},
                                                 {"u32", 4},  {"s32", 4}, {"f32", 4}, {"f16x2", 4}, {"bf16x2", 4},
                                                 {"b64", 8},  {"u64", 8}, {"s64", 8}, {"f64", 8},   {"b128", 16}};
  for (const auto& [name, size] : sizes) {
    EXPECT_EQ(name_of(type_from(name)), name);
    EXPECT_EQ(size_of(type_from(name)), size) << name;
  }
  EXPECT_EQ(type_from("e4m3x2"), Type::other);
  EXPECT_EQ(type_from("tf32"), Type::other);
  EXPECT_EQ(type_from("other"), Type::none);
  EXPECT_EQ(type_from(""), Type::none);
  EXPECT_EQ(type_from("global"), Type::none);
}

TEST(PtxParser, ModuleVariables) {
  const Module m = module_of(
      ".visible .global .align 16 .b8 a[3][5];\n.extern .shared .align 8 .b8 dynamic[];\n.const .f64 c;\n"
      ".global .attribute(.managed) .align 4 .u32 managed = 7;\n.global .attribute(.unified(19, 95)) .b32 u;\n"
      ".global .v4 .f32 v;\n.weak .global .u16 w, x[2];\n.common .global .u32 k;\n.global .texref t;");
  ASSERT_EQ(m.variables.size(), 10u);
  const Variable& a = m.variables[0];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.space, Space::global);
  EXPECT_EQ(a.type, Type::b8);
  EXPECT_EQ(a.alignment, 16u);
  EXPECT_EQ(a.size, 15u);
  EXPECT_TRUE(a.initial.empty());
  EXPECT_FALSE(a.is_extern);
  const Variable& dynamic = m.variables[1];
  EXPECT_EQ(dynamic.space, Space::shared);
  EXPECT_EQ(dynamic.size, 0u);
  EXPECT_TRUE(dynamic.is_extern);
  EXPECT_EQ(m.variables[2].space, Space::constant);
  EXPECT_EQ(m.variables[2].size, 8u);
  EXPECT_EQ(m.variables[2].alignment, 0u);
  EXPECT_TRUE(m.variables[3].managed);
  EXPECT_THAT(m.variables[3].initial, ElementsAre(7, 0, 0, 0));
  EXPECT_FALSE(m.variables[4].managed);
  EXPECT_EQ(m.variables[5].size, 16u);
  EXPECT_EQ(m.variables[5].alignment, 16u);
  EXPECT_EQ(m.variables[6].name, "w");
  EXPECT_EQ(m.variables[7].name, "x");
  EXPECT_EQ(m.variables[7].size, 4u);
  EXPECT_EQ(m.variables[9].type, Type::other);
  EXPECT_EQ(m.variables[9].size, 8u);
}

TEST(PtxParser, InitialValues) {
  const Module m = module_of(
      ".global .u16 a[2][3] = {{1, 2}, {-3}};\n.global .u8 flat[2][2] = {1, 2, 3};\n.const .f32 f[] = {0f3F800000, "
      "-1.5, 2};\n"
      ".global .f64 d = 0d400A000000000000;\n.global .b8 tail[4] = {0xAB};\n.global .b64 big = 0xFFFFFFFFFFFFFFFF;\n"
      ".global .b32 bits = 0f40000000;\n.global .v2 .u8 v[2] = {{1, 2}, {3, 4}};");
  EXPECT_THAT(m.variables[0].initial, ElementsAre(1, 0, 2, 0, 0, 0, 0xFD, 0xFF, 0, 0, 0, 0));
  EXPECT_THAT(m.variables[1].initial, ElementsAre(1, 2, 3, 0));
  EXPECT_EQ(m.variables[2].size, 12u);
  EXPECT_THAT(m.variables[2].initial, ElementsAre(0, 0, 0x80, 0x3F, 0, 0, 0xC0, 0xBF, 0, 0, 0, 0x40));
  EXPECT_THAT(m.variables[3].initial, ElementsAre(0, 0, 0, 0, 0, 0, 0x0A, 0x40));
  EXPECT_THAT(m.variables[4].initial, ElementsAre(0xAB, 0, 0, 0));
  EXPECT_THAT(m.variables[5].initial, testing::Each(0xFF));
  EXPECT_THAT(m.variables[6].initial, ElementsAre(0, 0, 0, 0x40));
  EXPECT_THAT(m.variables[7].initial, ElementsAre(1, 2, 3, 4));
}

TEST(PtxParser, InitialValuesOfSamplers) {
  const Module m =
      module_of(".global .samplerref s = {addr_mode_0 = wrap, filter_mode = nearest};\n.global .u32 next;");
  ASSERT_EQ(m.variables.size(), 2u);
  EXPECT_EQ(m.variables[1].name, "next");
  EXPECT_THROW(module_of(".global .samplerref s = 5;"), std::runtime_error);
}

TEST(PtxParser, AddressesFitIntoWholeWordsOnly) {
  for (const char* type : {"b16", "u8", "f16"})
    EXPECT_THAT(error_of(head + ".global .u32 y;\n.global ." + type + " x[2] = {y, y};").message,
                HasSubstr("an address does not fit into a '." + std::string(type) + "'"));
  EXPECT_EQ(module_of(".global .u32 y;\n.global .b32 x[2] = {y, y};").variables[1].relocations.size(), 2u);
}

TEST(PtxParser, RelocationsInInitialValues) {
  const Module m = module_of(
      ".global .u64 p[5] = {f, generic(g), generic(g)+24, g-4, 0};\n.global .u64 one = generic(g)+-8;\n"
      ".global .u8 bytes[4] = {9, 0xFF(g), 0xFF00(generic(g)+36), 0xFF00000000000000(g+1)};\n.global .u32 half = g;");
  const auto& r = m.variables[0].relocations;
  ASSERT_EQ(r.size(), 4u);
  const auto expect = [](const Relocation& at, uint64_t offset, const char* symbol, int64_t addend, bool generic,
                         unsigned size, unsigned shift) {
    EXPECT_EQ(at.at, offset);
    EXPECT_EQ(at.symbol, symbol);
    EXPECT_EQ(at.addend, addend);
    EXPECT_EQ(at.generic, generic);
    EXPECT_EQ(at.size, size);
    EXPECT_EQ(at.shift, shift);
  };
  expect(r[0], 0, "f", 0, false, 8, 0);
  expect(r[1], 8, "g", 0, true, 8, 0);
  expect(r[2], 16, "g", 24, true, 8, 0);
  expect(r[3], 24, "g", -4, false, 8, 0);
  EXPECT_EQ(m.variables[0].initial.size(), 40u);
  expect(m.variables[1].relocations.at(0), 0, "g", -8, true, 8, 0);
  const auto& bytes = m.variables[2].relocations;
  ASSERT_EQ(bytes.size(), 3u);
  expect(bytes[0], 1, "g", 0, false, 1, 0);
  expect(bytes[1], 2, "g", 36, true, 1, 8);
  expect(bytes[2], 3, "g", 1, false, 1, 56);
  EXPECT_THAT(m.variables[2].initial, ElementsAre(9, 0, 0, 0));
  expect(m.variables[3].relocations.at(0), 0, "g", 0, false, 4, 0);
}

TEST(PtxParser, Functions) {
  const Module m = module_of(
      ".extern .func (.param .b32 r) vprintf\n(\n.param .b64 a,\n.param .b64 b\n)\n;\n"
      ".extern .func __assertfail (.param .b64 a) .noreturn;\n.func bare { ret; }\n"
      ".visible .entry k(.param .align 8 .b8 s[16], .param .u64 .ptr .global .align 16 p, .param .b32 n)\n"
      ".maxntid 128, 2\n.minnctapersm 4\n.maxnreg 32\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n.pragma "
      "\"nounroll\";\n{ ret; }\n"
      ".entry q() .reqntid 64 { }\n.func (.param .align 16 .b8 out[16]) noinline() .attribute(.unified(1, 2)) { ret; "
      "}");
  ASSERT_EQ(m.functions.size(), 6u);
  const Function& vprintf = m.functions[0];
  EXPECT_TRUE(vprintf.is_declaration);
  EXPECT_FALSE(vprintf.is_entry);
  EXPECT_EQ(vprintf.returns.at(0).name, "r");
  EXPECT_EQ(vprintf.returns[0].space, Space::param);
  EXPECT_EQ(vprintf.params.size(), 2u);
  EXPECT_TRUE(m.functions[1].is_declaration);
  EXPECT_EQ(m.functions[2].body.size(), 1u);
  const Function& k = m.functions[3];
  EXPECT_TRUE(k.is_entry);
  EXPECT_FALSE(k.is_declaration);
  EXPECT_EQ(k.line, 12u);
  ASSERT_EQ(k.params.size(), 3u);
  EXPECT_EQ(k.params[0].size, 16u);
  EXPECT_EQ(k.params[0].alignment, 8u);
  EXPECT_EQ(k.params[1].name, "p");
  EXPECT_EQ(k.params[1].type, Type::u64);
  EXPECT_EQ(k.params[1].space, Space::param);
  EXPECT_EQ(k.params[1].alignment, 0u) << ".ptr's alignment is that of what it points to";
  EXPECT_THAT(k.max_threads, ElementsAre(128, 2, 1));
  EXPECT_THAT(k.required_threads, ElementsAre(0, 0, 0));
  EXPECT_THAT(m.functions[4].required_threads, ElementsAre(64, 1, 1));
  EXPECT_TRUE(m.functions[4].body.empty());
  EXPECT_EQ(m.functions[5].returns.at(0).size, 16u);
}

TEST(PtxParser, InstructionsKeepTheirMnemonicLineAndGuard) {
  const Function f = body_of(
      "ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%r1,%r2,%r3,%r4}, [%rd1];\n@%p1 bar.sync 0; @!%p2 exit;\n"
      "/* a { comment\n*/ @ ! %p3 ret; // and }\n cvt .rn .f32.u32 %f1, %r1;");
  ASSERT_EQ(f.body.size(), 5u);
  EXPECT_EQ(f.body[0].mnemonic, "ld.global.nc.L1::no_allocate.L2::128B.v4.u32");
  EXPECT_EQ(f.body[0].guard, -1);
  EXPECT_EQ(f.body[0].line, 5u);
  EXPECT_EQ(register_name(f, f.body[1].guard), "%p1");
  EXPECT_FALSE(f.body[1].guard_negated);
  EXPECT_TRUE(f.body[2].guard_negated);
  EXPECT_EQ(f.body[2].mnemonic, "exit");
  EXPECT_EQ(f.body[2].line, 6u);
  EXPECT_EQ(register_name(f, f.body[3].guard), "%p3");
  EXPECT_EQ(f.body[3].line, 8u);
  EXPECT_EQ(f.body[4].mnemonic, "cvt.rn.f32.u32");
}

TEST(PtxParser, LabelsResolveForwardsBackwardsAndOutwards) {
  const Function f =
      body_of("$L0: bra END; { $L0: @%p1 bra $L0; bra.uni OUT; { bra $L0; } }\nOUT: bra $L0; bar.sync 0;\nEND:");
  ASSERT_EQ(f.body.size(), 6u);
  const auto target = [&](size_t i) {
    EXPECT_EQ(f.body[i].operands.at(0).kind, Kind::label);
    return f.body[i].operands[0].target;
  };
  EXPECT_EQ(target(0), 6u) << "may be the body's end";
  EXPECT_EQ(target(1), 1u) << "the inner $L0";
  EXPECT_EQ(target(2), 4u);
  EXPECT_EQ(target(3), 1u);
  EXPECT_EQ(target(4), 0u) << "the outer $L0";
}

TEST(PtxParser, ScopesShadowRegisters) {
  const Function f = body_of(
      "{ .reg .pred p; .reg .u32 %r1; mov.u32 %r1, 1; mov.u32 %r2, 2; { .reg .f32 p; op p; } op p; } mov.u32 %r1, 3;\n"
      "{ .reg .pred p, q; op p, q; }");
  const auto type = [&](size_t i, size_t k) {
    return f.registers.at(static_cast<size_t>(f.body.at(i).operands.at(k).reg)).type;
  };
  EXPECT_EQ(type(0, 0), Type::u32) << "the inner %r1";
  EXPECT_EQ(type(1, 0), Type::b32);
  EXPECT_EQ(type(2, 0), Type::f32);
  EXPECT_EQ(type(3, 0), Type::pred);
  EXPECT_EQ(type(4, 0), Type::b32);
  EXPECT_EQ(type(5, 1), Type::pred);
  EXPECT_NE(f.body[3].operands[0].reg, f.body[5].operands[0].reg) << "two scopes, two registers";
}

TEST(PtxParser, VariablesInScopesGetUniqueNames) {
  const Module m = module_of(
      ".global .u32 taken;\n.func f() { .shared .align 4 .f32 s[32]; .local .b8 depot[8]; .shared .u32 taken;\n"
      "{ .param .b32 a; st.param.b32 [a+0], 1; { .param .b64 a; st.param.b64 [a], 2; } call f, (a); }\n"
      "{ .param .b32 a; st.param.b32 [a+4], 3; }\nmov.u64 s, taken; }");
  const Function& f = m.functions.at(0);
  std::vector<std::string> names;
  for (const Variable& v : f.variables) names.push_back(v.name);
  ASSERT_EQ(names.size(), 6u);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 6u);
  EXPECT_EQ(names[0], "s");
  EXPECT_NE(names[2], "taken") << "the module has one";
  EXPECT_EQ(f.variables[0].size, 128u);
  EXPECT_EQ(f.variables[1].space, Space::local);
  EXPECT_EQ(f.body[0].operands[0].name, names[3]);
  EXPECT_EQ(f.body[1].operands[0].name, names[4]);
  EXPECT_EQ(f.variables[4].size, 8u);
  EXPECT_EQ(f.body[2].operands[1].elements.at(0).name, names[3]);
  EXPECT_EQ(f.body[3].operands[0].name, names[5]);
  EXPECT_EQ(f.body[3].operands[0].offset, 4);
  EXPECT_EQ(f.body[4].operands[1].name, names[2]);
}

TEST(PtxParser, Calls) {
  const Function f = body_of(
      "{ .param .b32 param0; .param .b32 param1; .param .b32 retval0;\ncall.uni "
      "(retval0),\nfoo,\n(\nparam0,\nparam1\n);\n"
      "proto_0 : .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 8 .b8 _[16]) .noreturn;\n"
      "call (retval0), %rd1, (param0), proto_0; call.uni bar, (); call bar; }\n"
      "list: .calltargets foo, bar;\ncall %rd1, (in), list;");
  ASSERT_EQ(f.body.size(), 5u);
  const auto& o = f.body[0].operands;
  ASSERT_EQ(o.size(), 3u);
  EXPECT_EQ(o[0].kind, Kind::list);
  EXPECT_EQ(o[0].elements.at(0).name, "retval0");
  EXPECT_EQ(o[1].kind, Kind::symbol);
  EXPECT_EQ(o[1].name, "foo");
  EXPECT_EQ(o[2].elements.size(), 2u);
  ASSERT_EQ(f.prototypes.size(), 1u);
  EXPECT_EQ(f.prototypes[0].name, "proto_0");
  EXPECT_EQ(f.prototypes[0].returns.size(), 1u);
  EXPECT_EQ(f.prototypes[0].params.at(1).size, 16u);
  EXPECT_EQ(f.body[1].operands.at(3).name, "proto_0");
  EXPECT_TRUE(f.body[2].operands.at(1).elements.empty());
  ASSERT_EQ(f.branch_tables.size(), 1u);
  EXPECT_THAT(f.branch_tables[0].entries, ElementsAre("foo", "bar"));
  EXPECT_TRUE(f.branch_tables[0].targets.empty());
}

TEST(PtxParser, BranchTables) {
  const Function f = body_of("A: op; T: .branchtargets A, B, C;\nbrx.idx.uni %r1, T; B: op; C: ret;");
  ASSERT_EQ(f.branch_tables.size(), 1u);
  EXPECT_EQ(f.branch_tables[0].name, "T");
  EXPECT_THAT(f.branch_tables[0].entries, ElementsAre("A", "B", "C"));
  EXPECT_THAT(f.branch_tables[0].targets, ElementsAre(0, 2, 3));
  EXPECT_EQ(f.body[1].operands.at(1).kind, Kind::symbol);
  EXPECT_EQ(f.body[1].operands[1].name, "T");
}

TEST(PtxParser, Locations) {
  const Module m = module_of(
      ".func f() { op; .loc 1 10 5\nop; op; .loc 2 7 1, function_name $s0, inlined_at 1 10 5\nop;\n"
      ".loc 3 8 2, function_name $s0+2, inlined_at 2 7 1\nop;\n.loc 1 10 5\nop;\n"
      ".loc 4 1 1, function_name unknown, inlined_at 9 9 9\nop; .loc 4 2 2, function_name .debug_str+1, inlined_at 9 9 "
      "9\nop; .loc 4 3 3, function_name $s0+4, inlined_at 9 9 9\nop; }\n"
      ".section .debug_info { .b8 1 } \n.section .debug_str {\n.b8 1\n$s0:\n.b8 95\n.b8 90\n.b8 65,0\n}");
  const Function& f = m.functions.at(0);
  const auto at = [&](size_t i) { return f.locations.at(static_cast<size_t>(f.body.at(i).location)); };
  EXPECT_EQ(f.body[0].location, -1);
  EXPECT_EQ(at(1).file, 1u);
  EXPECT_EQ(at(1).line, 10u);
  EXPECT_EQ(at(1).column, 5u);
  EXPECT_EQ(at(1).inlined_at, -1);
  EXPECT_EQ(f.body[1].location, f.body[2].location);
  EXPECT_EQ(at(3).file, 2u);
  EXPECT_EQ(at(3).function, "_ZA");
  EXPECT_EQ(at(3).inlined_at, f.body[1].location);
  EXPECT_EQ(at(4).function, "A");
  EXPECT_EQ(at(4).inlined_at, f.body[3].location) << "inlined into something inlined";
  EXPECT_EQ(f.body[5].location, f.body[1].location) << "the same place is kept once";
  EXPECT_EQ(at(6).function + at(8).function, "unknown$s0+4") << "no such string, and none behind the last: the labels";
  EXPECT_EQ(f.locations.at(static_cast<size_t>(at(6).inlined_at)).line, 9u);
  EXPECT_EQ(at(7).function, "_ZA");
}

TEST(PtxParser, SkipsWhatItDoesNotKnow) {
  const Module m = module_of(
      ".section .debug_abbrev\n{\n.b8 1 // not the end: }\n.b8 2 /* } */\n}\n.something new \"with } text\" 1, 2;\n"
      ".block_of { .a { b } c }\n.metadata 5\n.global .u32 x;\nend_of_f:\n"
      ".func f() { .pragma \"nounroll\"; .new_thing { .reg .u32 } op; .other 1, 2; op; }");
  EXPECT_EQ(m.variables.at(0).name, "x");
  EXPECT_EQ(m.functions.at(0).body.size(), 2u);
  const Function f =
      body_of("op1;\n.no_semicolon 1 2\nop2;\n.over_lines a,\nb;\nop3;\n.again x\n@%p1 op4; .last 1\nL: op5;");
  ASSERT_EQ(f.body.size(), 5u) << "no instruction is swallowed";
  EXPECT_EQ(f.body[3].mnemonic, "op4");
}

TEST(PtxParser, ParametersInRegisters) {
  const Module m = module_of(".func (.reg .b32 out) f(.reg .b64 in) { mov.u32 out, 1; op in; }");
  const Function& f = m.functions.at(0);
  EXPECT_EQ(f.params.at(0).space, Space::none);
  EXPECT_EQ(register_name(f, f.body.at(0).operands.at(0).reg), "out");
  EXPECT_EQ(f.registers.at(static_cast<size_t>(f.body[1].operands.at(0).reg)).type, Type::b64);
}

TEST(PtxParser, ErrorsSayWhereAndWhat) {
  const machine::Diagnostic d = error_of(head + ".func f() {\n  .reg .b32 %r<2>;\n  add.s32 %r0, %r1 7;\n}");
  EXPECT_EQ(d.message, "expected ';' after the instruction, found '7'");
  EXPECT_EQ(d.place.file, "test.ptx");
  EXPECT_EQ(d.place.line, 6u);
  EXPECT_EQ(d.place.column, 20u);
  EXPECT_EQ(d.ptx_line, 6u);
  EXPECT_EQ(d.ptx_text, "  add.s32 %r0, %r1 7;");
  EXPECT_THAT(render(d, false), HasSubstr("test.ptx:6:20: error: expected ';' after the instruction, found '7'\n"));
  EXPECT_THAT(render(d, false), HasSubstr("    6 |   add.s32 %r0, %r1 7;\n      |                    ^\n"));
}

TEST(PtxParser, RefusesWhatMakesNoSense) {
  EXPECT_THAT(body_error("mov.u32 %r5, 1;"), HasSubstr("register '%r5' is not declared"));
  EXPECT_THAT(body_error(".reg .b32 %r<3>; mov.u32 %r3, 1;"), HasSubstr("'%r3' is not declared"));
  EXPECT_THAT(body_error(".reg .b32 %r<3>; mov.u32 %r01, 1;"), HasSubstr("'%r01' is not declared"));
  EXPECT_THAT(body_error("{ .reg .b32 x; } @x ret;"), HasSubstr("declared predicate"));
  EXPECT_THAT(body_error("bra nowhere;"), HasSubstr("label 'nowhere' is not defined"));
  EXPECT_THAT(body_error("bra in; { in: }"), HasSubstr("label 'in' is not defined"));
  EXPECT_THAT(body_error("T: .branchtargets nowhere;"), HasSubstr("label 'nowhere' is not defined"));
  EXPECT_THAT(body_error("A: op; A: op;"), HasSubstr("label 'A' is defined twice"));
  EXPECT_THAT(body_error(".reg .b32 a; .reg .b64 a;"), HasSubstr("'a' is declared twice"));
  EXPECT_THAT(body_error(".reg .b32 %r<1000001>;"), HasSubstr("too many registers"));
  EXPECT_THAT(body_error(".reg .b32 %r<-1>;"), HasSubstr("too many registers"));
  EXPECT_THAT(body_error(".reg .b32 %r<999999>, %q<2>;"), HasSubstr("too many registers"));
  EXPECT_THAT(body_error(".reg %r;"), HasSubstr("register type"));
  EXPECT_THAT(body_error("mov.u32 x, 99999999999999999999;"), HasSubstr("does not fit"));
  EXPECT_THAT(body_error("mov.f32 x, 0f123;"), HasSubstr("no number"));
  EXPECT_THAT(body_error("ld.u32 x, [y;"), HasSubstr("expected ']'"));
  EXPECT_THAT(body_error("ld.u32 x, [%tid.x];"), HasSubstr("base of an address"));
  const std::string z(60, 'z');
  EXPECT_THAT(body_error("ld.u32 x, [y " + z), HasSubstr("found '" + z + "'"));
  EXPECT_THAT(body_error("op }"), HasSubstr("expected an operand, found '}'"));
  EXPECT_THAT(body_error("/* no end"), HasSubstr("comment does not end"));
  EXPECT_THAT(body_error(".loc 1 2"), HasSubstr("expected an integer"));
  EXPECT_THAT(error_of(head + ".func f() { ret;").message, HasSubstr("'}' at the end of the function, found the end"));
  EXPECT_THAT(error_of(head + ".global .u32 x").message, HasSubstr("expected ';'"));
  EXPECT_THAT(error_of(head + ".global .u32 x[2][];").message, HasSubstr("only the first dimension"));
  EXPECT_THAT(error_of(head + ".global x;").message, HasSubstr("expected a type"));
  EXPECT_THAT(error_of(head + ".global .u32 x[2] = {1, 2, 3};").message, HasSubstr("more initial values"));
  EXPECT_THAT(error_of(head + ".global .u32 x[2][0] = 1;").message, HasSubstr("more initial values"));
  EXPECT_THAT(error_of(head + ".global .u32 x[2] = {{1}};").message, HasSubstr("nested braces"));
  EXPECT_THAT(error_of(head + ".global .u32 x = 1.5e300;").message, HasSubstr("real number"));
  EXPECT_THAT(error_of(head + ".global .align 3 .u32 x;").message, HasSubstr("power of two"));
  EXPECT_THAT(error_of(head + ".global .u64 x[4294967296][4294967296];").message, HasSubstr("larger than any memory"));
  EXPECT_THAT(error_of(head + ".global .u8 x[4294967296] = {1};").message, HasSubstr("MiB"));
  EXPECT_THAT(error_of(head + ".section .debug_info { ").message, HasSubstr("no matching '}'"));
  EXPECT_THAT(error_of("").message, HasSubstr("no PTX"));
  EXPECT_THAT(error_of("\177ELF\2\1").message, HasSubstr("not PTX text: found the byte 0x7f"));
  EXPECT_THAT(error_of("hello").message, HasSubstr("expected a directive"));
}

TEST(PtxParser, DeepNestingIsRefusedAndLongTextIsLinear) {
  EXPECT_THAT(body_error(std::string(100000, '{')), HasSubstr("nested more than"));
  EXPECT_THAT(body_error("op " + std::string(100000, '(') + ";"), HasSubstr("nested too deep"));
  EXPECT_THAT(error_of(head + ".global .u32 x[1] = " + std::string(100000, '{')).message, HasSubstr("nested braces"));
  // A wrong text of this size ends in the test's own time limit if a step were quadratic.
  std::string body;
  for (int i = 0; i < 100000; i++) body += "L" + std::to_string(i) + ": { .param .b32 a; bra END; }\n";
  EXPECT_EQ(body_of(body + "END: ret;").body.size(), 100001u);
}

}  // namespace
}  // namespace coalesce::ptx
