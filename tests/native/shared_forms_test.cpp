// Shared memory by native code against the other executors: atomics on its words, the cost of accesses whose addresses
// are computed at run time, and accesses at its edges.
#include <random>
#include <string>
#include <vector>

#include "tests/native/agreement.h"

namespace coalesce::machine::test::shared_forms {
namespace {

constexpr uint32_t kThreads = 70, kRounds = 3;  // two full warps and a part of one
constexpr Shape kPartial{.block = {kThreads, 1, 1}};

// %r1: the thread, %r6: its lane, %r7: its warp, %rd3: its place of `out`, `bytes` for each.
std::string prologue(uint32_t bytes) {
  return "ld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [in];\nld.param.u32 %r3, [n];\nmov.u32 %r1, %tid.x;\n"
         "and.b32 %r6, %r1, 31;\nshr.u32 %r7, %r1, 5;\nmad.wide.u32 %rd3, %r1, " +
         std::to_string(bytes) + ", %rd1;\n";
}
const std::string kParameters = ".param .u64 out, .param .u64 in, .param .u32 n";

// Copies `words` of shared memory from `s` on to [%rd1 + at].
std::string dump(uint32_t words, uint32_t at, uint32_t threads) {
  return "bar.sync 0;\nmov.u32 %r50, %r1;\nDUMP:\nshl.b32 %r51, %r50, 2;\nmov.u32 %r52, s;\nadd.u32 %r52, %r52, %r51;\n"
         "ld.shared.u32 %r53, [%r52];\ncvt.u64.u32 %rd50, %r51;\nadd.u64 %rd51, %rd1, %rd50;\nst.global.u32 [%rd51+" +
         std::to_string(at) + "], %r53;\nadd.u32 %r50, %r50, " + std::to_string(threads) +
         ";\nsetp.lt.u32 %p20, %r50, " + std::to_string(words) + ";\n@%p20 bra DUMP;\n";
}

// Every operation by every kind of operand, with and without its old value, by all lanes and by some. Warps have words
// of their own: between warps no order is promised.
TEST(SharedForms, AtomicsOnWords) {
  if (!native_code()) GTEST_SKIP() << "built without LLVM";
  std::vector<std::string> all;
  const char* values[] = {"7", "%r3", "%r1", "%r2"};
  std::size_t n = 0;
  for (const char* op : {"add.u32", "min.u32", "max.u32", "min.s32", "max.s32", "and.b32", "or.b32", "xor.b32",
                         "exch.b32", "inc.u32", "cas.b32"})
    for (const char* guard : {"", "@%p1 "})
      for (int k = 0; k < 2; ++k) {
        const std::string name = op, more = name == "cas.b32" ? std::string(", ") + values[(n + 1) % 4] : "";
        ++n;
        const std::string operands = "[%r20+16], " + std::string(values[(n + n / 4) % 4]) + more + ";\n";
        if (k == 1 && name != "exch.b32" && name != "cas.b32")
          all.push_back(std::string(guard) + "red.shared." + name + " " + operands);
        else
          all.push_back("mov.u32 %r11, 99;\n" + std::string(guard) + "atom.shared." + name + " %r11, " + operands +
                        "xor.b32 %r10, %r10, %r11;\nmul.lo.u32 %r10, %r10, 16777619;\n");
      }
  std::string body = ".shared .align 16 .b8 s[1024];\n" + prologue(4) +
                     "mov.u32 %r5, s;\nmad.lo.u32 %r5, %r7, 256, %r5;\nmad.lo.u32 %r21, %r6, 8, %r5;\n"
                     "mul.lo.u32 %r22, %r1, 40503;\nst.shared.u32 [%r21], %r22;\nst.shared.u32 [%r21+4], %r1;\n"
                     "bar.sync 0;\nmov.u32 %r10, 1;\nmov.u32 %r30, 0;\nLOOP:\nmad.lo.u32 %r31, %r30, " +
                     std::to_string(kThreads) +
                     ", %r1;\nmad.wide.u32 %rd4, %r31, 4, %rd2;\nld.global.u32 %r2, [%rd4];\n"
                     "shr.u32 %r23, %r2, 20;\nand.b32 %r23, %r23, 124;\nadd.u32 %r20, %r5, %r23;\n"
                     "and.b32 %r24, %r2, 3;\nsetp.ne.u32 %p1, %r24, 0;\n";
  for (const std::string& one : all) body += one;
  body += "add.u32 %r30, %r30, 1;\nsetp.lt.u32 %p2, %r30, " + std::to_string(kRounds) +
          ";\n@%p2 bra LOOP;\nst.global.u32 [%rd3], %r10;\n" + dump(256, 4 * kThreads, kThreads);
  std::mt19937 random(1);
  std::vector<uint32_t> in(kRounds * kThreads);
  for (uint32_t& v : in) v = static_cast<uint32_t>(random());
  Agreement agree;
  const Ran r = agree(kernel(kParameters, body), {zeros<uint32_t>(kThreads + 256), buffer(in), value(1000u)}, kPartial);
  EXPECT_EQ(r.report.fault, Fault::none) << r.message();
}

// Patterns of addresses that repeat, alternate or are new, by all lanes, by runs of lanes and by any. The bank
// conflicts of each pattern are computed once and remembered.
using Pattern = uint32_t (*)(uint32_t lane);
constexpr Pattern kPatterns[] = {[](uint32_t l) { return l * 2654435761u >> 26; },
                                 [](uint32_t) { return 5u; },
                                 [](uint32_t l) { return l; },
                                 [](uint32_t l) { return 2 * l; },
                                 [](uint32_t l) { return 31 - l; },
                                 [](uint32_t l) { return 3 * l & 63; },
                                 [](uint32_t l) { return l / 2; },
                                 [](uint32_t l) { return l ^ 1; },
                                 [](uint32_t l) { return 32 * (l & 1); },
                                 [](uint32_t l) { return l < 16 ? l : 63; },
                                 [](uint32_t l) { return 32 * (l & 1) + l / 16; },
                                 [](uint32_t l) { return 2 * l + 1; },
                                 [](uint32_t l) { return l < 31 ? l : 40; }};
constexpr uint32_t kMasks[] = {~0u,        0x55555555, 0x0ffff000, 0x00000100, 0xfffffffe,
                               0x7fffffff, 0x80000001, 0,          0xff00ff00};

std::string loaded(const char* width, const std::string& registers, const std::string& guard, uint32_t offset) {
  return guard + "ld.shared." + width + " " + registers + ", [%r21+" + std::to_string(offset) + "];\n";
}

TEST(SharedForms, CostsThatAreFoundWhenTheyRun) {
  if (!native_code()) GTEST_SKIP() << "built without LLVM";
  struct Width {
    const char *name, *registers, *sum;
    uint32_t bytes;
  };
  constexpr Width widths[] = {
      {"u8", "%r11", "", 1},
      {"u16", "%r11", "", 2},
      {"u32", "%r11", "", 4},
      {"u64", "%rd11", "cvt.u32.u64 %r11, %rd11;\n", 8},
      {"v2.u32", "{%r11, %r12}", "add.u32 %r11, %r11, %r12;\n", 8},
      {"v4.u32", "{%r11, %r12, %r13, %r14}", "xor.b32 %r11, %r11, %r12;\nmad.lo.u32 %r11, %r13, %r14, %r11;\n", 16}};
  std::mt19937 random(2);
  std::vector<uint32_t> in;
  uint32_t steps = 0;
  for (; steps < 48; ++steps) {  // [%rd2]: for each step 96 indices, then a mask for each warp
    for (uint32_t w = 0; w < 3; ++w) {
      const Pattern p = kPatterns[steps < std::size(kPatterns) ? steps : random() % std::size(kPatterns)];
      for (uint32_t l = 0; l < 32; ++l) in.push_back(p(l));
    }
    for (uint32_t w = 0; w < 3; ++w) in.push_back(kMasks[random() % std::size(kMasks)]);
  }
  Agreement agree;
  for (const Width& w : widths) {
    SCOPED_TRACE(w.name);
    const uint32_t area = 64 * w.bytes + 64, words = 3 * area / 4;
    const std::string sum = std::string(w.sum) + "mad.lo.u32 %r10, %r10, 31, %r11;\n";
    std::string zeros_first;
    for (int k = 11; k < 15; ++k) zeros_first += "mov.u32 %r" + std::to_string(k) + ", 3;\n";
    zeros_first += "mov.u64 %rd11, 5;\n";
    const auto stored = [&](const std::string& guard) {
      return guard + "st.shared." + w.name + " [%r21+64], " + w.registers + ";\n";
    };
    std::string body =
        ".shared .align 16 .b8 s[" + std::to_string(4 * words + 64) + "];\n" + prologue(4) +
        "mov.u32 %r5, s;\nmad.lo.u32 %r5, %r7, " + std::to_string(area) +
        ", %r5;\nmov.u32 %r10, 1;\nmov.u32 %r30, 0;\nLOOP:\nmad.lo.u32 %r31, %r30, 99, %r1;\n"
        "mad.wide.u32 %rd4, %r31, 4, %rd2;\nld.global.u32 %r20, [%rd4];\nmad.lo.u32 %r21, %r20, " +
        std::to_string(w.bytes) +
        ", %r5;\nmad.lo.u32 %r31, %r30, 99, %r7;\nmad.wide.u32 %rd4, %r31, 4, %rd2;\nld.global.u32 %r22, [%rd4+384];\n"
        "shr.u32 %r23, %r22, %r6;\nand.b32 %r23, %r23, 1;\nsetp.ne.u32 %p1, %r23, 0;\n" +
        zeros_first + loaded(w.name, w.registers, "", 64) + sum +
        "add.u32 %r11, %r1, %r30;\ncvt.u64.u32 %rd11, %r11;\n" + stored("") + zeros_first +
        loaded(w.name, w.registers, "@%p1 ", 64) + sum + "xor.b32 %r11, %r10, %r30;\ncvt.u64.u32 %rd11, %r11;\n" +
        stored("@%p1 ") + zeros_first + "@!%p1 bra SKIP;\n" + loaded(w.name, w.registers, "", 64) +
        "add.u32 %r11, %r10, 9;\ncvt.u64.u32 %rd11, %r10;\n" + stored("") + "SKIP:\n" + sum +
        "add.u32 %r30, %r30, 1;\nsetp.lt.u32 %p2, %r30, %r3;\n@%p2 bra LOOP;\n" + "st.global.u32 [%rd3], %r10;\n" +
        dump(words, 384, 96);
    Shape shape;
    shape.block = {96, 1, 1};
    const Ran r = agree(kernel(kParameters, body), {zeros<uint32_t>(96 + words), buffer(in), value(steps)}, shape);
    EXPECT_EQ(r.report.fault, Fault::none) << r.message();
  }
}

// Some lanes store to words that their warp has read, after something else has changed the words or the address.
TEST(SharedForms, StoresAfterLoads) {
  if (!native_code()) GTEST_SKIP() << "built without LLVM";
  const std::string some = "@%p1 st.shared.u32 [%a], %r13;\n", read = "ld.shared.u32 %r11, [%a];\n";
  const std::string between[] = {"",
                                 "st.shared.u32 [%a], %r12;\n",
                                 "@%p2 st.shared.u32 [%a], %r12;\n",
                                 "add.u32 %a, %a, 4;\n",
                                 "ld.shared.u32 %a, [%a];\nmul.lo.u32 %a, %a, 0;\nadd.u32 %a, %a, %r20;\n",
                                 "atom.shared.add.u32 %r14, [%a], 3;\n",
                                 "bar.sync 0;\nst.shared.u32 [%a], %r1;\nbar.sync 0;\n",
                                 "ld.shared.u32 %r15, [%a+4];\nst.shared.u32 [%r20], %r15;\n",
                                 "st.shared.u8 [%r20], %r12;\n"};
  std::string body = ".shared .align 16 .b8 s[2048];\n" + prologue(4) +
                     "mad.lo.u32 %r12, %r1, 77, %r3;\nxor.b32 %r13, %r12, %r6;\nand.b32 %r24, %r12, 1;\n"
                     "setp.ne.u32 %p1, %r24, 0;\nand.b32 %r24, %r12, 2;\nsetp.ne.u32 %p2, %r24, 0;\nmov.u32 %r10, 1;\n"
                     "mov.u32 %r20, s;\n";
  for (const std::string& one : between)
    body += "{\n.reg .b32 %a;\nbar.sync 0;\nmad.lo.u32 %a, %r1, 4, %r20;\n" + read + "add.u32 %r10, %r10, %r11;\n" +
            one + some + "ld.shared.u32 %r16, [%a];\nmad.lo.u32 %r10, %r10, 31, %r16;\n}\n";
  body += "st.global.u32 [%rd3], %r10;\n" + dump(512, 128, 32);
  Agreement agree;
  const Ran r = agree(kernel(kParameters, body), {zeros<uint32_t>(32 + 512), zeros<uint32_t>(1), value(1000u)});
  EXPECT_EQ(r.report.fault, Fault::none) << r.message();
}

// Lanes `step` bytes apart from `at` on, those of `mask`, in a kilobyte: up to the last byte, one further, before the
// first, and round the end of 32 bits.
TEST(SharedForms, AtTheEdges) {
  if (!native_code()) GTEST_SKIP() << "built without LLVM";
  constexpr uint32_t kBytes = 1024;
  struct Access {
    const char *load, *store;
    int32_t bytes;
  };
  constexpr Access accesses[] = {
      {"ld.shared.u8 %r11, [%r20]", "st.shared.u8 [%r20], %r1", 1},
      {"ld.shared.u32 %r11, [%r20]", "st.shared.u32 [%r20], %r1", 4},
      {"ld.shared.v2.u32 {%r11, %r12}, [%r20]", "st.shared.v2.u32 [%r20], {%r1, %r6}", 8},
      {"ld.shared.v4.u32 {%r11, %r12, %r13, %r14}, [%r20]", "st.shared.v4.u32 [%r20], {%r1, %r6, %r1, %r6}", 16}};
  Agreement agree;
  Shape shape;
  shape.dynamic_shared_bytes = kBytes;
  for (const Access& a : accesses)
    for (const int32_t step : {a.bytes, -a.bytes, a.bytes >= 4 ? 2 * a.bytes : 0, a.bytes >= 4 ? -2 * a.bytes : 4}) {
      const std::string body =
          ".reg .b32 %kind, %mask;\n" + prologue(4) +
          "ld.param.u32 %mask, [mask];\nld.param.u32 %kind, [kind];\nmad.lo.s32 %r20, %r1, " + std::to_string(step) +
          ", %r3;\nshr.u32 %r23, %mask, %r6;\nand.b32 %r23, %r23, 1;\nsetp.ne.u32 %p1, %r23, 0;\nmov.u32 %r11, 7;\n"
          "setp.eq.u32 %p2, %kind, 1;\n@%p2 bra STORES;\nsetp.eq.u32 %p3, %mask, -1;\n@%p3 bra ALL;\n@%p1 " +
          a.load + ";\nbra DONE;\nALL:\n" + a.load + ";\nbra DONE;\nSTORES:\nsetp.eq.u32 %p3, %mask, -1;\n" +
          "@%p3 bra STORE;\n@%p1 " + a.store + ";\nbra DONE;\nSTORE:\n" + a.store +
          ";\nDONE:\nst.global.u32 [%rd3], %r11;\n";
      const auto program = agree.load(kernel(kParameters + ", .param .u32 mask, .param .u32 kind", body));
      const int32_t end = static_cast<int32_t>(kBytes), span = 31 * step, low = step < 0 ? -span : 0;
      const int32_t high = end - a.bytes - (step > 0 ? span : 0);
      for (const uint32_t kind : {0u, 1u})
        for (const auto& [at, mask] :
             std::initializer_list<std::pair<int32_t, uint32_t>>{{low, ~0u},
                                                                 {high, ~0u},
                                                                 {high + a.bytes, ~0u},
                                                                 {low - a.bytes, ~0u},
                                                                 {low - a.bytes, step < 0 ? 0x7fffffffu : 0xfffffffeu},
                                                                 {high + a.bytes, step < 0 ? 0xfffffffeu : 0x7fffffffu},
                                                                 {low - 3 * step, step < 0 ? 0x1fffffffu : 0xfffffff8u},
                                                                 {-5 * step, step == 0 ? 0u : 0xffffffe0u},
                                                                 {high, 0x00010100u},
                                                                 {low + a.bytes / 2, 0x00ffff00u}}) {
          SCOPED_TRACE(std::string(kind ? a.store : a.load) + ", step " + std::to_string(step) + ", at " +
                       std::to_string(at) + ", mask " + std::to_string(mask));
          agree(*program, {zeros<uint32_t>(32), zeros<uint32_t>(1), value(at), value(mask), value(kind)}, shape);
          if (testing::Test::HasFailure()) return;
        }
    }
}

}  // namespace
}  // namespace coalesce::machine::test::shared_forms
