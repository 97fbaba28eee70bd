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

}  // namespace
}  // namespace coalesce::ptx
