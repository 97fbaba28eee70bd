// Instructions that native code carries out itself. Without that every result is right, but an instruction takes a call
// of the interpreter, some ten times as long.
#include <cstring>
#include <sstream>

#include "tests/machine/isa/operations.h"
#include "tests/native/agreement.h"

namespace coalesce::machine::test::forms {
namespace {

// Words in place of $ make instructions of a pattern; `types` in place of ~.
struct Forms {
  const char *words, *types, *pattern;
};

// R, A, B, C: registers 11, 1, 2 and 3 of the type.
constexpr Forms kComputing[] = {
    {"add sub min max", "s16 u16 s32 u32 s64 u64", "$.~ R, A, B"},
    {"mul.lo mul.hi", "s16 u16 s32 u32", "$.~ R, A, B"},
    {"mul.lo", "s64 u64", "$.~ R, A, B"},
    {"mad.lo mad.hi", "s16 u16 s32 u32", "$.~ R, A, B, C"},
    {"mad.lo", "s64 u64", "$.~ R, A, B, C"},
    {"mul.wide", "s32 u32", "$.~ %rd11, A, B"},
    {"mul.wide", "s16 u16", "$.~ %r11, A, B"},
    {"mad.wide", "s32 u32", "$.~ %rd11, A, B, %rd3"},
    {"mad.wide", "s16 u16", "$.~ %r11, A, B, %r3"},
    {"neg abs", "s16 s32 s64", "$.~ R, A"},
    {"not cnot", "b16 b32 b64", "$.~ R, A"},
    {"and or xor", "b16 b32 b64", "$.~ R, A, B"},
    {"shl", "b16 b32 b64", "$.~ R, A, %r2"},
    {"shr", "b16 u16 s16 b32 u32 s32 b64 u64 s64", "$.~ R, A, %r2"},
    {"brev", "b32 b64", "$.~ R, A"},
    {"popc clz", "b32 b64", "$.~ %r11, A"},
    {"div rem", "s32 u32", "$.~ R, A, B"},
    {"div rem", "s32 u32", "$.~ R, A, 8"},
    {"div rem", "s32 u32", "$.~ R, A, 7"},
    {"bfe", "u32 u64", "$.~ R, A, 5, 9"},
    {"bfe", "u32", "$.~ R, A, 261, 265"},
    {"bfe", "u32 u64", "$.~ R, A, 32, 9"},
    {"bfe", "u32 u64", "$.~ R, A, 3, 32"},
    {"bfe", "u64", "$.~ R, A, 64, 70"},
    {"lop3.b32", "", "$ %r11, %r1, %r2, %r3, 0xe8"},
    {"lop3.b32", "", "$ %r11, %r1, %r2, %r3, 0"},
    {"shf.l.wrap shf.l.clamp shf.r.wrap shf.r.clamp", "b32", "$.~ R, A, B, C"},
    {"selp", "b16 b32 b64 u16 s16 u32 s32 u64 s64 f32 f64", "$.~ R, A, B, %p1"},
    {"mov", "b16 b32 b64 u16 s16 u32 s32 u64 s64 f32 f64", "$.~ R, A"},
    {"mov.b32", "", "$ %r11, {%h1, %h2}"},
    {"mov.b64", "", "$ %rd11, {%r1, %r2}"},
    {"mov.b32", "", "$ {%h11, %h12}, %r1"},
    {"mov.b64", "", "$ {%r11, %r12}, %rd1"},
    {"setp.eq setp.ne setp.lt setp.le setp.gt setp.ge", "s16 u16 s32 u32 s64 u64 f32 f64", "$.~ %p11, A, B"},
    {"setp.lo setp.ls setp.hi setp.hs", "u16 u32 u64", "$.~ %p11, A, B"},
    {"setp.equ setp.neu setp.ltu setp.leu setp.gtu setp.geu setp.num setp.nan", "f32 f64", "$.~ %p11, A, B"},
    {"setp.lt.and setp.lt.or setp.lt.xor", "s32 f32", "$.~ %p11|%p12, A, B, %p1"},
    {"and or xor", "pred", "$.~ %p11, %p1, %p2"},
    {"not mov", "pred", "$.~ %p11, %p1"},
    {"cvt.u32 cvt.s32", "u16 s16 u64 s64", "$.~ %r11, A"},
    {"cvt.u64 cvt.s64", "u16 s16 u32 s32", "$.~ %rd11, A"},
    {"cvt.u16 cvt.s16", "u32 s32 u64 s64", "$.~ %h11, A"},
    {"cvt.rn.f32", "s32 u32", "$.~ %f11, A"},
    {"cvt.rn.f64", "s32 u32", "$.~ %fd11, A"},
    {"cvt.rni.s32 cvt.rzi.s32 cvt.rmi.s32 cvt.rpi.s32", "f32", "$.~ %r11, A"},
    {"cvt.rni.u32 cvt.rzi.u32 cvt.rmi.u32 cvt.rpi.u32", "f32", "$.~ %r11, A"},
    {"add sub mul add.rn sub.rn mul.rn", "f32 f64", "$.~ R, A, B"},
    {"fma.rn mad.rn", "f32 f64", "$.~ R, A, B, C"},
    {"div.rn min max", "f32", "$.~ R, A, B"},
    {"rcp.rn sqrt.rn neg abs", "f32", "$.~ R, A"},
};
// Instructions on numbers that the whole block shares: one lane computes them.
constexpr Forms kOfTheBlock[] = {
    {"div rem", "s64 u64", "$.~ R, A, B"},
    {"div rem mul.lo mul.hi add", "s32 u32", "$.~ R, A, B"},
    {"cvt.rn.f32", "s64 u64", "$.~ %f11, A"},
    {"cvt.rn.f64", "s64 u64", "$.~ %fd11, A"},
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::vector<std::string> words_of(const char* list) {
  std::istringstream in(list);
  std::vector<std::string> all;
  for (std::string word; in >> word;) all.push_back(word);
  return all;
}

std::string file_of(const std::string& type) {
  if (type == "f32") return "%f";
  if (type == "f64") return "%fd";
  return type.ends_with("16") ? "%h" : type.ends_with("64") ? "%rd" : "%r";
}

template <std::size_t kCount>
std::vector<std::string> instructions(const Forms (&forms)[kCount]) {
  std::vector<std::string> all;
  for (const Forms& f : forms) {
    std::vector<std::string> types = words_of(f.types);
    if (types.empty()) types.emplace_back();
    for (const std::string& word : words_of(f.words))
      for (const std::string& type : types) {
        std::string one = replaced(replaced(f.pattern, "$", word), "~", type);
        const std::string file = file_of(type);
        for (const auto& [letter, number] : {std::pair{"R", "11"}, {"A", "1"}, {"B", "2"}, {"C", "3"}})
          one = replaced(one, letter, file + number);
        all.push_back(one + ";");
      }
  }
  return all;
}

struct Registers {
  const char *type, *file;
  Element element;
};
constexpr Registers kFiles[] = {{"u16", "%h", Element::b16},
                                {"u32", "%r", Element::b32},
                                {"u64", "%rd", Element::b64},
                                {"f32", "%f", Element::b32},
                                {"f64", "%fd", Element::b64}};
constexpr uint32_t kOperands = 3, kOfFile = 16 * kOperands, kOfThread = 5 * kOfFile;  // bytes

// Loads operands 1 to 3 of every file, from a thread's place.
std::string loads(const std::string& from) {
  std::string text;
  for (uint32_t k = 0; k < kOperands; ++k)
    for (std::size_t f = 0; f < std::size(kFiles); ++f)
      text += "ld.global." + std::string(kFiles[f].type) + " " + kFiles[f].file + std::to_string(k + 1) + ", [" + from +
              "+" + std::to_string(f * kOfFile + 16 * k) + "];\n";
  return text + "setp.gt.s32 %p1, %r1, 5;\nsetp.lt.s32 %p2, %r2, 9;\n";
}

// Those of the instructions whose lines are in the set.
std::string called(const std::string& ptx, const std::vector<std::string>& all, const std::set<uint32_t>& lines) {
  std::string list;
  std::istringstream in(ptx);
  std::string line;
  const std::set<std::string> wanted(all.begin(), all.end());
  for (uint32_t number = 1; std::getline(in, line); ++number)
    if (lines.contains(number) && wanted.contains(line)) list += line + "\n";
  return list;
}

std::string joined(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& one : all) text += one + "\n";
  return text;
}

// %rd31: a place of the thread's own in `in`, lanes' places being no multiple of one step.
const std::string kOwnPlace =
    "ld.param.u64 %rd30, [in];\nmov.u32 %r30, %tid.x;\nxor.b32 %r31, %r30, 1;\nmad.wide.u32 %rd31, %r31, " +
    std::to_string(kOfThread) + ", %rd30;\n";
// %rd31: one place for all threads.
const std::string kOnePlace = "ld.param.u64 %rd30, [in];\nld.param.u32 %r31, [n];\nmad.wide.u32 %rd31, %r31, " +
                              std::to_string(kOfThread) + ", %rd30;\n";

// Threads whose operands are special numbers, in all pairs of those.
constexpr uint32_t kSpecial = 1024;
std::vector<uint8_t> special_operands() {
  std::vector<uint8_t> in(kSpecial * kOfThread);
  for (uint32_t t = 0; t < kSpecial; ++t)
    for (uint32_t k = 0; k < kOperands; ++k)
      for (std::size_t f = 0; f < std::size(kFiles); ++f) {
        const operations::Raw v = operations::operand(kFiles[f].element, k, 2 * t);
        std::memcpy(in.data() + t * kOfThread + f * kOfFile + 16 * k, &v, operations::file_bytes(kFiles[f].element));
      }
  return in;
}

// Registers that an instruction writes: those before the comma that ends its first operand.
std::vector<std::string> results_of(const std::string& instruction) {
  std::string first = instruction.substr(instruction.find(' ') + 1);
  first = first.substr(0, first[0] == '{' ? first.find('}') : first.find(','));
  for (char& c : first)
    if (c == '{' || c == '|' || c == ',') c = ' ';
  return words_of(first.c_str());
}

// Each instruction, and stores of what it leaves: 8 bytes for each result, from %rd29 on.
std::string with_stores(const std::vector<std::string>& all, uint32_t& bytes) {
  std::string text;
  for (const std::string& one : all) {
    text += one + "\n";
    for (std::string r : results_of(one)) {
      std::string file = r.substr(0, r.find_first_of("0123456789"));
      if (file == "%p") {
        text += "selp.u32 %r20, 1, 2, " + r + ";\n";
        file = "%r", r = "%r20";
      }
      const char* type = nullptr;
      for (const Registers& f : kFiles)
        if (file == f.file) type = f.type;
      text += "st.global." + std::string(type) + " [%rd29+" + std::to_string(bytes) + "], " + r + ";\n";
      bytes += 8;
    }
  }
  return text;
}

// A kernel, and how many bytes a thread leaves.
std::pair<std::string, uint32_t> storing(const std::vector<std::string>& all, const std::string& place) {
  uint32_t bytes = 0;
  const std::string text = with_stores(all, bytes);
  return {
      kernel(".param .u64 in, .param .u64 out, .param .u32 n",
             place + loads("%rd31") + "mov.u32 %r29, %tid.x;\nld.param.u64 %rd28, [out];\nmad.wide.u32 %rd29, %r29, " +
                 std::to_string(bytes) + ", %rd28;\n" + text),
      bytes};
}

TEST(Forms, OfLanes) {
  if (!can_emit()) GTEST_SKIP() << "built without LLVM";
  std::vector<std::string> all = instructions(kComputing);
  all.push_back("sin.approx.f32 %f11, %f1;");  // has none
  const std::string ptx = kernel(".param .u64 in", kOwnPlace + loads("%rd31") + joined(all));
  const Emitted e = emitted(ptx, {64, 1, 1}, "x86-64-v3");
  ASSERT_EQ(e.error, "");
  EXPECT_EQ(called(ptx, all, e.rows), all.back() + "\n");
}

TEST(Forms, OfTheBlock) {
  if (!can_emit()) GTEST_SKIP() << "built without LLVM";
  std::vector<std::string> all = instructions(kComputing);
  for (const std::string& one : instructions(kOfTheBlock)) all.push_back(one);
  const std::string ptx =
      kernel(".param .u64 in, .param .u64 out, .param .u32 n", kOnePlace + loads("%rd31") + joined(all));
  const Emitted e = emitted(ptx, {64, 1, 1}, "x86-64-v4");
  ASSERT_EQ(e.error, "");
  EXPECT_EQ(called(ptx, all, e.rows), "");
  for (const char* vector : {"<32 x i16>", "<32 x i32>", "<32 x i64>", "<32 x float>", "<32 x double>"})
    EXPECT_EQ(e.count(vector), 0u) << "is done once, not for each lane";
}

// A CPU without fma calls the row: LLVM would call the C library's function.
TEST(Forms, OfOtherCpus) {
  if (!can_emit()) GTEST_SKIP() << "built without LLVM";
  const std::vector<std::string> all = instructions(kComputing);
  const std::string ptx = kernel(".param .u64 in", kOwnPlace + loads("%rd31") + joined(all));
  const Emitted old = emitted(ptx, {64, 1, 1}, "x86-64"), newest = emitted(ptx, {64, 1, 1}, "x86-64-v4");
  ASSERT_EQ(old.error + newest.error, "");
  EXPECT_EQ(called(ptx, all, newest.rows), "");
  std::string wanted;
  for (const std::string& one : all)
    if (one.starts_with("fma.") || one.starts_with("mad.rn.") || one.starts_with("cvt.rni.") ||
        one.starts_with("cvt.rzi.") || one.starts_with("cvt.rmi.") || one.starts_with("cvt.rpi."))
      wanted += one + "\n";
  EXPECT_EQ(called(ptx, all, old.rows), wanted);
}

TEST(Forms, OfSpecialNumbers) {
  if (!can_emit()) GTEST_SKIP() << "built without LLVM";
  const auto [ptx, bytes] = storing(instructions(kComputing), kOwnPlace);
  Agreement agree;
  Shape shape;
  shape.block = {kSpecial, 1, 1};
  const Ran r =
      agree(ptx, {buffer(special_operands()), zeros<uint8_t>(std::size_t{kSpecial} * bytes), value(0u)}, shape);
  EXPECT_EQ(r.report.fault, Fault::none) << r.message();
}

TEST(Forms, OfSpecialNumbersOfTheBlock) {
  if (!can_emit()) GTEST_SKIP() << "built without LLVM";
  std::vector<std::string> all = instructions(kComputing);
  for (const std::string& one : instructions(kOfTheBlock)) all.push_back(one);
  const auto [ptx, bytes] = storing(all, kOnePlace);
  Agreement agree;
  const auto program = agree.load(ptx);
  for (uint32_t n = 0; n < kSpecial; n += few_cases() ? 13 : 1) {
    const Ran r = agree(*program, {buffer(special_operands()), zeros<uint8_t>(32 * bytes), value(n)});
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    ASSERT_FALSE(testing::Test::HasFailure()) << n;
  }
}

}  // namespace
}  // namespace coalesce::machine::test::forms
