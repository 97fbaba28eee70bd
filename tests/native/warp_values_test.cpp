// Values that native code keeps as lane 0's and a step: each rule that makes them, of each builtin, in blocks of every
// shape; their comparisons with numbers; and accesses that are not aligned, at addresses made of them. Expected is what
// C++ computes.
#include <functional>

#include "tests/machine/execute/prologue.h"

namespace coalesce::machine::test {
namespace {

struct Place {
  uint32_t x, y, z, linear;
};
struct Builtin {
  const char* name;
  uint32_t (*of)(const Place&);
};
constexpr Builtin kBuiltins[] = {{"%tid.x", [](const Place& p) { return p.x; }},
                                 {"%tid.y", [](const Place& p) { return p.y; }},
                                 {"%tid.z", [](const Place& p) { return p.z; }},
                                 {"%laneid", [](const Place& p) { return p.linear % 32; }},
                                 {"%warpid", [](const Place& p) { return p.linear / 32; }}};

// %d is made of the builtin %b and the parameter %n.
struct Rule {
  const char* ptx;
  uint32_t (*of)(uint32_t b, uint32_t n);
};
constexpr Rule kRules[] = {
    {"add.u32 %d, %b, %n;", [](uint32_t b, uint32_t n) { return b + n; }},
    {"sub.u32 %d, %n, %b;", [](uint32_t b, uint32_t n) { return n - b; }},
    {"sub.u32 %d, %b, 7;", [](uint32_t b, uint32_t) { return b - 7; }},
    {"neg.s32 %d, %b;", [](uint32_t b, uint32_t) { return 0 - b; }},
    {"shl.b32 %d, %b, 5;", [](uint32_t b, uint32_t) { return b << 5; }},
    {"mul.lo.u32 %d, %b, %n;", [](uint32_t b, uint32_t n) { return b * n; }},
    {"mad.lo.s32 %d, %b, -3, %n;", [](uint32_t b, uint32_t n) { return b * -3u + n; }},
    {"mad.lo.u32 %d, %n, %b, %b;", [](uint32_t b, uint32_t n) { return n * b + b; }},
    {"add.u32 %t, %b, %n;\nadd.u32 %d, %t, %b;", [](uint32_t b, uint32_t n) { return n + 2 * b; }},
    {"sub.u32 %t, %b, %n;\nsub.u32 %d, %t, %b;", [](uint32_t, uint32_t n) { return 0 - n; }},
    {"mul.wide.u32 %e, %b, 1234567;\nshr.u64 %f, %e, 3;\ncvt.u32.u64 %d, %f;",
     [](uint32_t b, uint32_t) { return static_cast<uint32_t>(uint64_t{b} * 1234567 >> 3); }},
    {"sub.s32 %t, %b, %n;\nmul.wide.s32 %e, %t, 12;\nshr.s64 %f, %e, 4;\ncvt.u32.u64 %d, %f;",
     [](uint32_t b, uint32_t n) { return static_cast<uint32_t>(int64_t{static_cast<int32_t>(b - n)} * 12 >> 4); }},
    {"sub.s32 %t, %b, %n;\nmul.wide.u32 %e, %t, 12;\nshr.u64 %f, %e, 4;\ncvt.u32.u64 %d, %f;",
     [](uint32_t b, uint32_t n) { return static_cast<uint32_t>(uint64_t{b - n} * 12 >> 4); }},
    {"sub.u32 %t, %b, 5;\ncvt.u64.u32 %e, %t;\nshr.u64 %f, %e, 8;\ncvt.u32.u64 %d, %f;",
     [](uint32_t b, uint32_t) { return (b - 5) >> 8; }},
    {"sub.u32 %t, %b, 5;\ncvt.s64.s32 %e, %t;\nshr.s64 %f, %e, 36;\ncvt.u32.u64 %d, %f;",
     [](uint32_t b, uint32_t) { return b < 5 ? ~0u : 0u; }},
    {"cvt.u64.u32 %e, %b;\nmad.lo.u64 %f, %e, 4294967297, 9;\nshr.u64 %f, %f, 30;\ncvt.u32.u64 %d, %f;",
     [](uint32_t b, uint32_t) { return static_cast<uint32_t>((b * uint64_t{4294967297} + 9) >> 30); }},
    {"cvt.u16.u32 %s, %b;\nmul.wide.u16 %d, %s, 3;", [](uint32_t b, uint32_t) { return 3 * b; }},
    {"and.b32 %t, %b, 6;\nadd.u32 %d, %t, %n;", [](uint32_t b, uint32_t n) { return (b & 6) + n; }},
    {"shl.b32 %d, %b, %n;", [](uint32_t b, uint32_t n) { return n > 31 ? 0 : b << n; }}};

constexpr std::array<uint32_t, 3> kBlocks[] = {{32, 2, 2}, {32, 1, 3}, {33, 3, 1}};

std::vector<Place> places(const std::array<uint32_t, 3>& block) {
  std::vector<Place> all;
  for (uint32_t z = 0; z < block[2]; ++z)
    for (uint32_t y = 0; y < block[1]; ++y)
      for (uint32_t x = 0; x < block[0]; ++x) all.push_back({x, y, z, static_cast<uint32_t>(all.size())});
  return all;
}

// %r1: the thread's number, %n, %rd1: out of the thread; a barrier, for warps that go together.
std::string prologue(std::size_t words) {
  return ".reg .b32 %n;\nld.param.u32 %n, [n];\nmov.u32 %r2, %tid.z;\nmov.u32 %r3, %ntid.y;\nmov.u32 %r4, %tid.y;\n"
         "mad.lo.u32 %r5, %r2, %r3, %r4;\nmov.u32 %r6, %ntid.x;\nmov.u32 %r7, %tid.x;\nmad.lo.u32 %r1, %r5, %r6, %r7;\n"
         "ld.param.u64 %rd2, [out];\nmad.wide.u32 %rd1, %r1, " +
         std::to_string(4 * words) + ", %rd2;\nbar.sync 0;\n";
}
std::string scope(const char* builtin, const std::string& body) {
  return std::string("{\n.reg .pred %q;\n.reg .b16 %s;\n.reg .b32 %b, %d, %t;\n.reg .b64 %e, %f, %g;\nmov.u32 %b, ") +
         builtin + ";\n" + body + "}\n";
}

// All executors, for each n: `expected` gives word k of a thread.
void check(const std::string& body, std::size_t words, const std::array<uint32_t, 3>& block,
           std::initializer_list<uint32_t> numbers,
           const std::function<uint32_t(const Place&, std::size_t, uint32_t)>& expected) {
  const std::vector<Place> all = places(block);
  Shape shape;
  shape.block = block;
  const std::string ptx = kernel(".param .u64 out, .param .u32 n", prologue(words) + body);
  Bench interpreted(1), plain(1), compiled(1, Shape{}.max_instructions, quick_native_code());
  plain.machine().use_plain(true);
  for (Bench* bench : {&interpreted, &plain, &compiled}) {
    const auto program = bench->machine().load(ptx, "test.ptx");
    for (const uint32_t n : numbers) {
      const Ran r = bench->run(*program, {zeros<uint32_t>(all.size() * words), value(n)}, shape, "k");
      ASSERT_EQ(r.report.fault, Fault::none) << r.message();
      const std::vector<uint32_t> out = r.read();
      for (const Place& p : all)
        for (std::size_t k = 0; k < words; ++k)
          ASSERT_EQ(out[p.linear * words + k], expected(p, k, n))
              << "word " << k << " of thread " << p.linear << ", block " << block[0] << "x" << block[1] << "x"
              << block[2] << ", n " << n << ", executor "
              << (bench == &plain      ? 1
                  : bench == &compiled ? 2
                                       : 0);
    }
  }
}

TEST(WarpValues, OfEachRuleInBlocksOfEveryShape) {
  // Compiling takes the time: in the quick test each rule meets every shape, by another builtin.
  for (std::size_t shape = 0; shape < std::size(kBlocks); ++shape) {
    std::string body;
    std::vector<std::pair<const Builtin*, const Rule*>> made;
    for (std::size_t b = 0; b < std::size(kBuiltins); ++b)
      for (std::size_t r = 0; r < std::size(kRules); ++r) {
        if (few_cases() && (b + r) % std::size(kBlocks) != shape) continue;
        body += scope(kBuiltins[b].name, std::string(kRules[r].ptx) + "\nst.global.u32 [%rd1+" +
                                             std::to_string(4 * made.size()) + "], %d;\n");
        made.emplace_back(&kBuiltins[b], &kRules[r]);
      }
    check(body, made.size(), kBlocks[shape], {3, 0xfffffffb},
          [&](const Place& p, std::size_t k, uint32_t n) { return made[k].second->of(made[k].first->of(p), n); });
  }
}

// A word as a number of the type.
int64_t as(const std::string& type, uint32_t v) { return type == "s32" ? static_cast<int32_t>(v) : int64_t{v}; }
bool compared(const std::string& how, int64_t a, int64_t b) {
  return how == "lt"   ? a < b
         : how == "le" ? a <= b
         : how == "gt" ? a > b
         : how == "ge" ? a >= b
         : how == "eq" ? a == b
                       : a != b;
}

// Comparisons as guards: of a builtin, its multiple and a sum that may be below 0 with n and with numbers of the text.
TEST(WarpValues, ComparedWithNumbers) {
  struct Question {
    uint32_t (*of)(uint32_t);
    std::string how, type;
    bool with_n;
    uint32_t number;
  };
  std::vector<Question> all;
  std::string body;
  const std::pair<const char*, uint32_t (*)(uint32_t)> made[] = {
      {"mov.u32 %d, %b;\n", [](uint32_t b) { return b; }},
      {"shl.b32 %d, %b, 2;\n", [](uint32_t b) { return b << 2; }},
      {"sub.u32 %d, %b, 9;\n", [](uint32_t b) { return b - 9; }}};
  for (const auto& [ptx, of] : made)
    for (const char* how : {"lt", "le", "gt", "ge", "eq", "ne"})
      for (const char* type : {"s32", "u32"})
        for (const int with : {-1, 32, 36, -4}) {
          const bool with_n = with == -1;
          const auto number = static_cast<uint32_t>(with);
          body += scope("%tid.x", std::string(ptx) + "setp." + how + "." + type + " %q, %d, " +
                                      (with_n                       ? "%n"
                                       : type == std::string("u32") ? std::to_string(number)
                                                                    : std::to_string(with)) +
                                      ";\n@%q st.global.u32 [%rd1+" + std::to_string(4 * all.size()) + "], 1;\n");
          all.push_back({of, how, type, with_n, number});
        }
  check(body, all.size(), {96, 1, 1}, {0, 33, 64, 0xfffffffb, 0x80000000, 0x7fffffff},
        [&](const Place& p, std::size_t k, uint32_t n) {
          const Question& q = all[k];
          return uint32_t{compared(q.how, as(q.type, q.of(p.x)), as(q.type, q.with_n ? n : q.number))};
        });
}

// An address that is not a multiple of the access's size is a fault, wherever the lanes' addresses come from.
TEST(WarpValues, AsAddressesThatAreNotAligned) {
  const std::pair<const char*, uint32_t> widths[] = {{"u16 %h1", 2},
                                                     {"u32 %r9", 4},
                                                     {"u64 %rd9", 8},
                                                     {"v2.u32 {%r9, %r10}", 8},
                                                     {"v4.u32 {%r9, %r10, %r11, %r12}", 16}};
  Bench compiled(1, Shape{}.max_instructions, quick_native_code()), interpreted(1);
  for (const auto& [what, bytes] : widths)
    for (const uint32_t step : {0u, bytes, 2 * bytes})
      for (const bool store : {false, true}) {
        if (store && step == 0) continue;
        const std::string text = what, suffix = text.substr(0, text.find(' ')),
                          registers = text.substr(text.find(' ') + 1);
        std::string body =
            "ld.param.u64 %rd1, [out];\nld.param.u32 %r2, [n];\nmov.u32 %r1, %tid.x;\ncvt.u64.u32 %rd2, %r2;\n"
            "add.u64 %rd3, %rd1, %rd2;\nmad.wide.u32 %rd4, %r1, " +
            std::to_string(step) + ", %rd3;\nbar.sync 0;\n";
        if (step == 0) body += "mov.u64 %rd5, %rd3;\n";
        const std::string at = step == 0 ? "[%rd5]" : "[%rd4]";
        body += store ? "st.global." + suffix + " " + at + ", " + registers + ";\n"
                      : "ld.global." + suffix + " " + registers + ", " + at + ";\nst.global." + suffix + " [%rd1], " +
                            registers + ";\n";
        const std::string ptx = kernel(".param .u64 out, .param .u32 n", body);
        for (Bench* bench : {&interpreted, &compiled}) {
          const auto program = bench->machine().load(ptx, "test.ptx");
          for (const uint32_t n : {0u, bytes / 2, bytes - 1}) {
            SCOPED_TRACE(suffix + ", step " + std::to_string(step) + ", n " + std::to_string(n));
            const Ran r = bench->run(*program, {zeros<uint8_t>(4096), value(n)}, {}, "k");
            EXPECT_EQ(r.report.fault, n % bytes ? Fault::misaligned_address : Fault::none) << r.message();
          }
        }
      }
}

}  // namespace
}  // namespace coalesce::machine::test
