// PTX text where it ends, breaks off or is escaped: strings, comments, signs, and what is missing.
#include <bit>
#include <cstdint>
#include <cstring>

#include "parsed.h"

namespace coalesce::ptx {
namespace {

std::string path_of(const std::string& literal) {
  const Module m = module_of(".file 7 \"" + literal + "\"\n");
  EXPECT_EQ(m.files.size(), 1u);
  return m.files.at(0).second;
}

TEST(PtxText, StringsHaveTwoEscapes) {
  EXPECT_EQ(path_of("a.cu"), "a.cu");
  EXPECT_EQ(path_of(R"(a\"b.cu)"), "a\"b.cu");
  EXPECT_EQ(path_of(R"(C:\\dir\\a.cu)"), "C:\\dir\\a.cu");
  EXPECT_EQ(path_of(R"(C:\\dir\\)"), "C:\\dir\\") << "at the end, too";
  EXPECT_EQ(path_of(R"(\")"), "\"");
  EXPECT_EQ(path_of(R"(C:\dir)"), "C:\\dir") << "any other stays";
}

TEST(PtxText, StringsEndOnTheirLine) {
  EXPECT_THAT(error_of(head + ".file 1 \"a.cu\n").message, HasSubstr("does not end on its line"));
  EXPECT_THAT(error_of(head + ".file 1 \"a.cu\\\n\"").message, HasSubstr("does not end on its line"));
  EXPECT_THAT(error_of(head + ".file 1 \"a.cu\\\"").message, HasSubstr("does not end on its line"));
  EXPECT_THAT(error_of(head + ".file 1 \"a.cu").message, HasSubstr("does not end on its line"));
}

TEST(PtxText, CommentsEnd) {
  EXPECT_THAT(error_of(head + "/*").message, HasSubstr("this comment does not end"));
  EXPECT_THAT(error_of(head + "/* *").message, HasSubstr("this comment does not end"));
  EXPECT_THAT(error_of(head + "/*/").message, HasSubstr("this comment does not end"));
  EXPECT_EQ(module_of("/**/ .global .u32 x; // end").variables.size(), 1u);
  EXPECT_EQ(module_of(".global .u32 x; //").variables.size(), 1u);
  EXPECT_THAT(error_of(head + "/").message, HasSubstr("found '/'"));
}

TEST(PtxText, SignsOfReals) {
  EXPECT_EQ(operand_of("-0d3FF0000000000000").bits, 0xBFF0000000000000u);
  EXPECT_EQ(operand_of("- -0d3FF0000000000000").bits, 0x3FF0000000000000u);
  EXPECT_EQ(operand_of("-0.0").bits, 0x8000000000000000u);
  EXPECT_EQ(operand_of("-0f00000000").bits, 0x80000000u);
  const Module m = module_of(".global .f64 x[3] = {-2.5, 0d8000000000000000, -1e3};");
  std::vector<uint64_t> words(3);
  ASSERT_EQ(m.variables.at(0).initial.size(), 24u);
  std::memcpy(words.data(), m.variables[0].initial.data(), 24);
  EXPECT_THAT(words, ElementsAre(std::bit_cast<uint64_t>(-2.5), uint64_t{1} << 63, std::bit_cast<uint64_t>(-1e3)));
}

TEST(PtxText, WhatIsMissingIsNamed) {
  EXPECT_THAT(body_error("P: .callprototype (.param .b32 _) _ (.param .b64 _)"),
              HasSubstr("expected ';' after the prototype"));
  EXPECT_THAT(body_error("P: .callprototype _ ()"), HasSubstr("expected ';' after the prototype"));
  EXPECT_EQ(body_of("P: .callprototype _ (.param .b64 _) .noreturn; ret;").prototypes.size(), 1u);
  EXPECT_THAT(error_of(head + ".global .f16x3 .u32 x;").message,
              HasSubstr("expected a state space, an alignment, a type or a name"));
  EXPECT_THAT(error_of(head + ".global .reg .u32 x;").message,
              HasSubstr("expected a state space, an alignment, a type or a name"))
      << "but for parameters";
  EXPECT_THAT(error_of(head + ".global .u32 5;").message, HasSubstr("expected a name for the variable, found '5'"));
  EXPECT_THAT(error_of(head + ".global .u32 ;").message, HasSubstr("expected a name for the variable, found ';'"));
  EXPECT_THAT(error_of(head + ".section 5 { }").message, HasSubstr("a section's name"));
  EXPECT_THAT(body_error("T: .branchtargets 7;"), HasSubstr("expected a label, found '7'"));
  EXPECT_THAT(body_error("T: .calltargets ,;"), HasSubstr("expected a function, found ','"));
}

TEST(PtxText, BracesInStringsEndNoSection) {
  EXPECT_EQ(module_of(".section .x\n{\n.b8 1 \"}\" .b8 2\n}\n.global .u32 x;").variables.size(), 1u);
}

// Attributes stand before what a function returns, or behind its parameters.
TEST(PtxText, AttributesOfFunctions) {
  for (const char* text : {".func .attribute(.unified(19, 95)) f() { ret; }", ".func .noreturn f() { ret; }",
                           ".func .noreturn .attribute(.unified(1, 2)) (.param .b32 r) f(.param .b32 x) { ret; }",
                           ".func (.param .b32 r) f() .attribute(.unified(1, 2)) { ret; }"}) {
    const Module m = module_of(text);
    ASSERT_EQ(m.functions.size(), 1u) << text;
    EXPECT_EQ(m.functions[0].name, "f") << text;
    EXPECT_EQ(m.functions[0].body.size(), 1u) << text;
  }
}

// An unknown directive ends at its ';', or where a line begins what the parser knows.
TEST(PtxText, UnknownDirectivesEndWhereALineBegins) {
  const Function f = body_of("  .unknown 1, 2\n  \tmov.u32 %r1, 3;\n.other a,\n b;\n  mov.u32 %r2, 4;");
  ASSERT_EQ(f.body.size(), 2u);
  EXPECT_EQ(f.body[0].operands[1].bits, 3u);
  EXPECT_EQ(f.body[1].operands[1].bits, 4u);
  EXPECT_EQ(body_of("  .unknown one two\n  mov.u32 %r1, 3;").body.size(), 1u) << "words of its own line are its own";
  for (const char* more : {", b", "+ 1", "- 1", "(b)", "5", "\"b\"", ":b"})
    EXPECT_EQ(body_of(std::string("  .unknown a\n  ") + more + ";\n  mov.u32 %r1, 3;").body.size(), 1u) << more;
  EXPECT_EQ(body_of("  .unknown a\n  @%p1 mov.u32 %r1, 3;").body.size(), 1u);
  EXPECT_EQ(module_of(".unknown 5\n  .global .u32 x;\n").variables.size(), 1u);
}

// Braces begin at a row of the array, also behind values without.
TEST(PtxText, BracesOfInitialValuesBeginAtARow) {
  EXPECT_THAT(module_of(".global .u8 x[2][4] = {1, {5, 6}};").variables[0].initial,
              ElementsAre(1, 0, 0, 0, 5, 6, 0, 0));
}

// Refusals: what has to follow, and what cannot stand there, each with its words.
TEST(PtxText, RefusalsAreNamed) {
  const std::pair<const char*, const char*> of_module[] = {
      {".alias a, b .global .u32 x;", "expected ';' after the alias"},
      {".alias a b;", "expected ',' after the alias"},
      {".address_size 16", "the address size must be 32 or 64"},
      {".address_size 1.5", "an integer; found a real number"},
      {".entry f() 5", "expected '{' or ';' after the head of 'f'"},
      {".global .u8 x[2] = {0xFF0(g), 0};", "expected a mask that picks one byte"},
      {".global .u8 x[2] = {0x1FF(g), 0};", "expected a mask that picks one byte"},
      {".global .u16 x[2] = {0xFF(g), 0};", "expected a mask that picks one byte"},
      {".global .u8 x[2] = {0xFF(g, 0};", "expected ')' after the masked symbol"},
      {".global .u32 x[300000000] = {1};", "take more than 256 MiB"},
      {".global .u32 x[-1];", "cannot be negative"},
      {".global .u32 x[2;", "expected ']' after the array length"},
      {".global .u32 x = {1;", "expected '}' after the initial values"},
      {".global .u32 .u32 x;", "expected a name after the type"},
      {".global .attribute .u32 x;", "expected '(' after '.attribute'"},
      {".global .attribute(.managed .u32 x;", "expected ')' after the attributes"},
      {".global .pred p = 1;", "cannot have initial values"},
      {".func f(.param .b32 x;", "expected ')' after the parameters"},
      {".entry f() .pragma \"nounroll\" { ret; }", "expected ';' after the pragma"},
      {".entry f() .maxnreg -1 { ret; }", "must lie between 0 and 4294967295"},
      {".entry f() .maxntid 1, 2, 3, 4 { ret; }", "expected '{' or ';' after the head of 'f'"},
      {".file \"a\"", "expected an integer"},
      {".file 1 a", "expected a file's path in quotes"},
  };
  for (const auto& [text, message] : of_module)
    EXPECT_THAT(error_of(head + text + "\n").message, HasSubstr(message)) << text;
  const std::pair<const char*, const char*> of_body[] = {
      {".reg .b32 a\nret;", "expected ';' after the registers"},
      {".reg .b32 %a<2;", "expected '>' after the number of registers"},
      {".reg .b32 %a<1.5>;", "an integer; found a real number"},
      {".reg .v2 .b32 a;", "vector registers are not supported"},
      {"A: ret; T: .branchtargets A .reg .b32 a;", "expected ';' after the targets"},
      {".loc 1 2 3, other 5\nret;", "expected 'function_name' or 'inlined_at', found 'other'"},
      {".local .u32 a; .local .u64 a;", "'a' is declared twice in this scope"},
      {".reg .b32 a; .local .u64 a;", "'a' is declared twice in this scope"},
      {"op 4*1.5;", "expected an integer"},
      {"op 4*;", "expected an integer, found ';'"},
      {"op 0x;", "is no number of PTX"},
      {"op 1", "expected ';' after the instruction"},
      {"op {1, 2;", "expected '}' after the vector"},
      {"op (1, 2;", "expected ')' after the list"},
      {"op [1, 2;", "expected ']' after the address"},
      {"op !5;", "expected a declared predicate register after '!'"},
      {"@5 ret;", "expected a declared predicate register after '@'"},
      {".reg .pred p; @p 5;", "expected an instruction after the guard"},
      {"5;", "expected an instruction, a label or a directive"},
  };
  for (const auto& [text, message] : of_body) EXPECT_THAT(body_error(text), HasSubstr(message)) << text;
}

// Lines of debug information, empty statements and nested braces of a section stand beside what the parser keeps.
TEST(PtxText, WhatIsPassedOver) {
  const Module m = module_of(
      ".loc 1 2 3\n;;\nlabel:\n.global .u32 x;\n.func f() {\n.loc 1 7 1, function_name $s\nop; ; }\n"
      ".section .debug_str {\n$s:\n.b8 65 { .b8 66 }\n.b32 256\n.b8 67, 0\n}\n.global .u32 y;");
  ASSERT_EQ(m.variables.size(), 2u);
  EXPECT_EQ(m.functions.at(0).locations.at(0).function, "AC");
}

// Names that are taken: by the module's functions and variables before, and by the function's own parameters.
TEST(PtxText, NamesThatAreTaken) {
  const Module m = module_of(
      ".func g() { ret; }\n.func f(.param .b64 in) { .shared .u32 g; .local .b8 in[8]; .shared .u32 free; st.u32 [in], "
      "1; }\n"
      ".func h(.reg .b32 r) { ret; }\n.func k() { op r; }");
  const Function& f = m.functions.at(1);
  EXPECT_NE(f.variables.at(0).name, "g");
  EXPECT_NE(f.variables.at(1).name, "in");
  EXPECT_EQ(f.variables.at(2).name, "free");
  EXPECT_EQ(f.body.at(0).operands.at(0).name, f.variables[1].name);
  EXPECT_EQ(m.functions.at(3).body.at(0).operands.at(0).kind, Kind::symbol) << "another function's parameter";
}

TEST(PtxText, LoopsThatAreNotUnrolled) {
  const Function f =
      body_of("op; .pragma \"nounroll\"; op; op; .pragma \"other\"; op; .pragma \"nounroll\"; .pragma \"other\"; op;");
  std::vector<bool> keeps;
  for (const Instruction& i : f.body) keeps.push_back(i.keeps_loop);
  EXPECT_THAT(keeps, ElementsAre(false, true, false, false, true));
}

TEST(PtxText, OperandsOfSeveralParts) {
  EXPECT_EQ(operand_of("0x1e-5").bits, 25u);
  EXPECT_EQ(operand_of("0xe+1").bits, 15u);
  EXPECT_EQ(static_cast<int64_t>(operand_of("4*-2").bits), -8);
  EXPECT_EQ(operand_of("4*- -2").bits, 8u);
  const Function f = body_of("op %r1.b0, -%r2.h1, !%p1; L: op {L, END}, {1}; END:");
  const auto& o = f.body.at(0).operands;
  EXPECT_EQ(o[0].kind, Kind::part);
  EXPECT_EQ(o[0].name, "b0");
  EXPECT_FALSE(o[0].negated);
  EXPECT_EQ(register_name(f, o[0].reg), "%r1");
  EXPECT_EQ(o[1].kind, Kind::part);
  EXPECT_EQ(o[1].name, "h1");
  EXPECT_TRUE(o[1].negated);
  EXPECT_EQ(register_name(f, o[1].reg), "%r2");
  EXPECT_EQ(o[2].kind, Kind::reg);
  EXPECT_TRUE(o[2].negated);
  const auto& labels = f.body.at(1).operands.at(0).elements;
  EXPECT_EQ(labels.at(0).kind, Kind::label);
  EXPECT_EQ(labels.at(0).target, 1u);
  EXPECT_EQ(labels.at(1).kind, Kind::label);
  EXPECT_EQ(labels.at(1).target, 2u);
}

}  // namespace
}  // namespace coalesce::ptx
