// Accesses that native code looks at once for all warps of a block (native/emit/ahead.cpp): rows a step apart, one
// after the other, all lanes on, or `if (i < n)` around them. Each is carried out by three blocks and more, and again
// and again: the first time native code goes the slow way, where it learns which allocation it is.
#include <string>
#include <vector>

#include "tests/machine/execute/harness.h"
#include "tests/sanitized.h"

namespace coalesce::machine::test {
namespace {

using Numbers = std::vector<uint32_t>;

Numbers numbers(std::size_t n) {
  Numbers v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<uint32_t>(i * 2654435761u);
  return v;
}

// Four warps, warp w reads row w of those that are `first`, `first` + step ... bytes apart: step = 0, `pitch`, 2
// `pitch`
// ..., `rounds` of them, and all that twice. What is known of an access with one step says nothing of the next one's,
// though they begin at the same place.
constexpr uint32_t kTileRounds = 5;
std::string rows(const std::string& type, uint32_t bytes) {
  return kernel(
      ".param .u64 out, .param .u64 in, .param .u32 pitch, .param .u32 first",
      "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nld.param.u32 %r30, [pitch];\nld.param.u32 %r31, [first];\n"
      "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r3, %ctaid.x;\nmul.lo.u32 %r14, %r1, " +
          std::to_string(bytes) +
          ";\nmul.wide.u32 %rd4, %r3, 16384;\n"
          "add.s64 %rd1, %rd1, %rd4;\ncvt.u64.u32 %rd8, %r31;\nadd.s64 %rd1, %rd1, %rd8;\nmov.u32 %r10, 0;\n"
          "mov.u32 %r20, 0;\nAGAIN:\nmov.u32 %r11, 0;\nLOOP:\nmul.lo.u32 %r12, %r11, %r30;\n"
          "mad.lo.u32 %r15, %r2, %r12, %r14;\ncvt.u64.u32 %rd5, %r15;\nadd.s64 %rd6, %rd1, %rd5;\nld.global." +
          type +
          " %r13, [%rd6];\nmad.lo.u32 %r20, %r20, 3, %r13;\nbar.sync 0;\nadd.u32 %r11, %r11, 1;\n"
          "setp.lt.u32 %p1, %r11, " +
          std::to_string(kTileRounds) +
          ";\n@%p1 bra LOOP;\nadd.u32 %r10, %r10, 1;\n"
          "setp.lt.u32 %p2, %r10, 2;\n@%p2 bra AGAIN;\nmad.lo.u32 %r21, %r3, 4, %r2;\nmad.lo.u32 %r21, %r21, 32, %r1;\n"
          "mul.wide.u32 %rd7, %r21, 4;\nadd.s64 %rd2, %rd2, %rd7;\nst.global.u32 [%rd2], %r20;\n");
}

TEST(Ahead, RowsOfManySteps) {
  const Numbers in = numbers(1 << 18);  // more than is ever touched: it is never touched as a whole
  Shape s;
  s.grid = {3, 1, 1};
  s.block = {32, 4, 1};
  for (const uint32_t pitch : few_cases() ? Numbers{128} : Numbers{4, 32, 96, 128, 132, 1024})
    for (const uint32_t first : few_cases() ? Numbers{0, 32} : Numbers{0, 4, 32, 128}) {
      SCOPED_TRACE("rows " + std::to_string(pitch) + " bytes apart, from " + std::to_string(first));
      const Ran r = run(rows("u32", 4), {zeros<uint32_t>(3 * 128), buffer(in), value(pitch), value(first)}, s);
      ASSERT_EQ(r.report.fault, Fault::none) << r.message();
      const auto out = r.read();
      for (uint32_t t = 0; t < 3 * 128; ++t) {
        uint32_t sum = 0;
        for (uint32_t k = 0; k < 2 * kTileRounds; ++k)
          sum = 3 * sum + in[(t / 128 * 16384 + first + t / 32 % 4 * (k % kTileRounds) * pitch) / 4 + t % 32];
        ASSERT_EQ(out[t], sum) << t;
      }
    }
}

TEST(Ahead, RowsOfOtherWidths) {
  const Numbers in = numbers(1 << 18);
  Shape s;
  s.grid = {3, 1, 1};
  s.block = {32, 4, 1};
  for (const uint32_t pitch : few_cases() ? Numbers{64} : Numbers{32, 64, 128, 160})
    for (const auto& [type, bytes] : {std::pair{"u8", 1u}, std::pair{"u16", 2u}}) {
      SCOPED_TRACE(type + (" rows " + std::to_string(pitch) + " bytes apart"));
      const Ran r = run(rows(type, bytes), {zeros<uint32_t>(3 * 128), buffer(in), value(pitch), value(0u)}, s);
      EXPECT_EQ(r.report.fault, Fault::none);
    }
}

// out[i] = in[i] + 1 if i < n, by one of these questions.
struct GuardCase {
  std::string ptx, branch;  // sets %p1 from %r4, i, and %r5, n; goes to DONE where that is not so
};
const GuardCase kGuardCases[] = {{"setp.ge.s32 %p1, %r4, %r5;\n", "@%p1 bra DONE;\n"},
                                 {"setp.ge.u32 %p1, %r4, %r5;\n", "@%p1 bra DONE;\n"},
                                 {"setp.lt.s32 %p1, %r4, %r5;\n", "@!%p1 bra DONE;\n"},
                                 {"setp.lt.u32 %p1, %r4, %r5;\n", "@!%p1 bra DONE;\n"},
                                 {"sub.u32 %r6, %r5, 1;\nsetp.gt.s32 %p1, %r4, %r6;\n", "@%p1 bra DONE;\n"},
                                 {"sub.u32 %r6, %r5, 1;\nsetp.le.s32 %p1, %r4, %r6;\n", "@!%p1 bra DONE;\n"}};

std::string guarded(const GuardCase& q, uint32_t from, const std::string& wide) {
  return kernel(".param .u64 out, .param .u64 in, .param .u32 n",
                "ld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [in];\nld.param.u32 %r5, [n];\nmov.u32 %r1, %tid.x;\n"
                "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmad.lo.u32 %r4, %r2, %r3, %r1;\n"
                "add.u32 %r4, %r4, " +
                    std::to_string(from) + ";\n" + q.ptx + q.branch + wide +
                    " %rd3, %r4, 4;\n"
                    "add.s64 %rd4, %rd2, %rd3;\nadd.s64 %rd5, %rd1, %rd3;\nld.global.u32 %r10, [%rd4];\n"
                    "add.u32 %r10, %r10, 1;\nst.global.u32 [%rd5], %r10;\nDONE:\n");
}

TEST(Ahead, IfIBelowN) {
  constexpr uint32_t kAll = 6 * 128;
  const Numbers in = numbers(kAll);
  Shape s;
  s.grid = {6, 1, 1};
  s.block = {128, 1, 1};
  for (const GuardCase& q : kGuardCases)
    // The last block's first and last warps' first and last lanes, and what is beside them.
    for (const uint32_t n :
         kSanitized    ? Numbers{500, 544, 641}
         : few_cases() ? Numbers{1, 511, 512, 513, 545, 639, 640, kAll}
                       : Numbers{1, 32, 500, 511, 512, 513, 543, 544, 545, 607, 608, 609, 639, 640, 641, kAll}) {
      SCOPED_TRACE(q.ptx + std::to_string(n));
      const Ran r = run(guarded(q, 0, "mul.wide.u32"), {zeros<uint32_t>(kAll), buffer(in), value(n)}, s);
      ASSERT_EQ(r.report.fault, Fault::none) << r.message();
      const auto out = r.read();
      for (uint32_t i = 0; i < kAll; ++i) ASSERT_EQ(out[i], i < n ? in[i] + 1 : 0) << i;
    }
}

// The same with addresses that were computed before a barrier, and the index behind it.
TEST(Ahead, IfIBelowNWithAddressesFromBefore) {
  constexpr uint32_t kAll = 6 * 128;
  const Numbers in = numbers(kAll);
  Shape s;
  s.grid = {6, 1, 1};
  s.block = {128, 1, 1};
  for (const uint32_t n : {1u, 512u, 544u, 600u, kAll}) {
    const std::string text = kernel(
        ".param .u64 out, .param .u64 in, .param .u32 n",
        "ld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [in];\nld.param.u32 %r5, [n];\nmov.u32 %r1, %tid.x;\n"
        "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmad.lo.u32 %r4, %r2, %r3, %r1;\nmul.wide.u32 %rd3, %r4, 4;\n"
        "add.s64 %rd4, %rd2, %rd3;\nadd.s64 %rd5, %rd1, %rd3;\nbar.sync 0;\nmad.lo.u32 %r6, %r2, %r3, %r1;\n"
        "setp.ge.u32 %p1, %r6, %r5;\n@%p1 bra DONE;\nld.global.u32 %r10, [%rd4];\nadd.u32 %r10, %r10, 1;\n"
        "st.global.u32 [%rd5], %r10;\nDONE:\n");
    const Ran r = run(text, {zeros<uint32_t>(kAll), buffer(in), value(n)}, s);
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    for (uint32_t i = 0; i < kAll; ++i) ASSERT_EQ(r.read()[i], i < n ? in[i] + 1 : 0) << i << " of " << n;
  }
}

// mad.wide adds to an address that wraps, in the third of three rounds: lanes from 16 on are far away.
TEST(Ahead, AnAddressThatWrapsAsAnAddend) {
  const Ran r = run(kernel(".param .u64 in, .param .u32 zero",
                           "ld.param.u64 %rd1, [in];\nld.param.u32 %r9, [zero];\nmov.u32 %r1, %tid.x;\n"
                           "mov.u32 %r7, 0xffffff00;\nmul.wide.u32 %rd5, %r7, 4;\nsub.s64 %rd1, %rd1, %rd5;\n"
                           "mov.u32 %r20, 0;\nLOOP:\nadd.u32 %r8, %r1, %r7;\nmul.wide.u32 %rd2, %r8, 4;\n"
                           "mad.wide.u32 %rd3, %r9, 4, %rd2;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.u32 %r10, [%rd4];\n"
                           "add.u32 %r20, %r20, %r10;\nadd.u32 %r7, %r7, 0x78;\nsetp.ge.u32 %p1, %r7, 0xffffff00;\n"
                           "@%p1 bra LOOP;\n"),
                    {buffer(numbers(512)), value(0u)});
  EXPECT_EQ(r.report.fault, Fault::illegal_address);
  ASSERT_FALSE(r.report.diagnostics.empty());
  EXPECT_EQ(r.report.diagnostics[0].lanes, 1u << 16);
}

// A lane of any warp that reads behind the array: the same fault, and what blocks before it wrote.
TEST(Ahead, BehindTheArray) {
  constexpr uint32_t kAll = 6 * 128;
  Shape s;
  s.grid = {6, 1, 1};
  s.block = {128, 1, 1};
  for (const uint32_t there : {511u, 513u, 543u, 544u, 576u, 639u, 640u, 641u, 767u}) {
    SCOPED_TRACE(there);
    const Ran r = run(guarded(kGuardCases[0], 0, "mul.wide.u32"),
                      {zeros<uint32_t>(kAll), buffer(numbers(there)), value(kAll)}, s);
    EXPECT_NE(r.report.fault, Fault::none);
  }
}

// Indices of 32 bits that wrap between two warps, or between two lanes: there is nothing at the addresses behind that.
TEST(Ahead, IndicesThatWrap) {
  Shape s;
  s.grid = {6, 1, 1};
  s.block = {128, 1, 1};
  const Numbers in = numbers(6 * 128);
  for (const uint32_t before : {3 * 128u, 3 * 128u + 32, 3 * 128u + 40, 4 * 128u - 1})
    for (const bool is_signed : {false, true}) {
      SCOPED_TRACE(std::to_string(before) + (is_signed ? " signed" : ""));
      const uint32_t from = (is_signed ? 1u << 31 : 0) - before;
      // The arrays begin where index `from` is.
      const std::string wide = is_signed ? "mul.wide.s32" : "mul.wide.u32";
      std::string ptx = guarded({"setp.eq.u32 %p1, %r3, 0;\n", "@%p1 bra DONE;\n"}, from, wide);
      const std::string begin = "mov.u32 %r1, %tid.x;\n";
      ptx.insert(ptx.find(begin), "mov.u32 %r7, " + std::to_string(from) + ";\n" + wide +
                                      " %rd9, %r7, 4;\nsub.s64 %rd1, %rd1, %rd9;\nsub.s64 %rd2, %rd2, %rd9;\n");
      EXPECT_NE(run(ptx, {zeros<uint32_t>(6 * 128), buffer(in), value(6 * 128)}, s).report.fault, Fault::none);
    }
}

}  // namespace
}  // namespace coalesce::machine::test
