// Native code's short paths for warps that begin at multiples of their width: comparisons of such addresses and thread
// numbers with constants, whole lines of global memory, words of shared memory read and then replaced.
#include <functional>
#include <map>
#include <string>

#include "tests/machine/execute/harness.h"

namespace coalesce::machine::test {
namespace {

constexpr uint32_t kAligned = 96;
const Shape kAlignedShape{.grid = {2, 1, 1}, .block = {kAligned, 1, 1}};

// Constants on both sides of a warp's end, and in the middle, in units of a lane's distance and between two.
TEST(AlignedWarps, ComparisonsWithConstants) {
  const std::map<std::string, std::function<bool(uint32_t, uint32_t)>> hows{
      {"lt.u32", std::less<>()},          {"le.s32", std::less_equal<>()},   {"gt.u32", std::greater<>()},
      {"ge.s32", std::greater_equal<>()}, {"eq.u32", std::equal_to<>()},     {"ne.s32", std::not_equal_to<>()},
      {"lo.u32", std::less<>()},          {"hs.u32", std::greater_equal<>()}};
  for (const uint32_t stride : {1u, 4u}) {
    const uint32_t constants[] = {0, 31 * stride, 32 * stride - 1, 32 * stride, 40 * stride + 1, 64 * stride};
    for (const auto& [how, compare] : hows) {
      std::string body = "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmul.lo.u32 %r2, %r1, " +
                         std::to_string(stride) + ";\nmov.u32 %r3, 0;\n";
      for (uint32_t k = 0; k < std::size(constants); ++k)
        body += "setp." + how + " %p1, %r2, " + std::to_string(constants[k]) + ";\nselp.u32 %r4, " +
                std::to_string(1u << k) + ", 0, %p1;\nor.b32 %r3, %r3, %r4;\n";
      body +=
          "mov.u32 %r5, %ctaid.x;\nmad.lo.u32 %r5, %r5, 96, %r1;\nmul.wide.u32 %rd2, %r5, 4;\n"
          "add.s64 %rd1, %rd1, %rd2;\nst.global.u32 [%rd1], %r3;\n";
      const Ran r = run(kernel(".param .u64 out", body), {zeros<uint32_t>(2 * kAligned)}, kAlignedShape);
      const std::vector<uint32_t> results = r.read();
      for (uint32_t i = 0; i < 2 * kAligned; ++i) {
        uint32_t expected = 0;
        for (uint32_t k = 0; k < std::size(constants); ++k)
          expected |= static_cast<uint32_t>(compare(i % kAligned * stride, constants[k])) << k;
        ASSERT_EQ(results[i], expected) << how << ", thread " << i << ", stride " << stride;
      }
    }
  }
}

TEST(AlignedWarps, LinesFromAnyWordOn) {
  const std::string ptx = kernel(".param .u64 out, .param .u64 in, .param .u32 offset",
                                 "ld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [in];\nld.param.u32 %r1, [offset];\n"
                                 "mov.u32 %r2, %tid.x;\nmov.u32 %r3, %ctaid.x;\nmad.lo.u32 %r2, %r3, 96, %r2;\n"
                                 "mul.wide.u32 %rd3, %r2, 4;\ncvt.u64.u32 %rd4, %r1;\nadd.s64 %rd3, %rd3, %rd4;\n"
                                 "add.s64 %rd1, %rd1, %rd3;\nadd.s64 %rd2, %rd2, %rd3;\n"
                                 "ld.global.u32 %r4, [%rd2];\nadd.u32 %r4, %r4, 1;\nst.global.u32 [%rd1], %r4;\n");
  constexpr uint32_t kAlignedWords = 2 * kAligned + 64;
  std::vector<uint32_t> in(kAlignedWords);
  for (uint32_t i = 0; i < kAlignedWords; ++i) in[i] = 3 * i;
  for (const uint32_t offset : {0u, 4u, 32u, 60u, 124u, 128u}) {
    const Ran r = run(ptx, {zeros<uint32_t>(kAlignedWords), buffer(in), value(offset)}, kAlignedShape);
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    for (uint32_t i = 0; i < kAlignedWords; ++i) {
      const bool written = i >= offset / 4 && i < offset / 4 + 2 * kAligned;
      ASSERT_EQ(r.read()[i], written ? 3 * i + 1 : 0) << "offset " << offset << ", word " << i;
    }
    EXPECT_EQ(r.counters().global_load_sectors, 6u * (offset % 32 ? 5 : 4)) << offset;
    EXPECT_EQ(r.counters().global_store_sectors, 6u * (offset % 32 ? 5 : 4)) << offset;
  }
  // Not a word's beginning.
  EXPECT_NE(run(ptx, {zeros<uint32_t>(kAlignedWords), buffer(in), value(2u)}, kAlignedShape).report.fault, Fault::none);
}

// if (tid & 1) x[tid] = x[tid] + x[tid + 1] > 50 ? round : that sum, by two stores of some lanes each: the second keeps
// what the first has stored.
TEST(AlignedWarps, WordsReadAndReplaced) {
  const Ran r = run(
      kernel(".param .u64 out",
             ".shared .align 4 .b32 x[128];\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, "
             "4;\nadd.s64 %rd1, %rd1, %rd2;\nshl.b32 %r2, %r1, 2;\nmov.u32 %r10, x;\nadd.u32 %r3, %r10, %r2;\n"
             "st.shared.u32 [%r3], %r1;\nbar.sync 0;\nmov.u32 %r9, 0;\nand.b32 %r4, %r1, 1;\n"
             "setp.eq.u32 %p1, %r4, 0;\nLOOP:\n@%p1 bra OFF;\n"
             "ld.shared.u32 %r5, [%r3];\nld.shared.u32 %r6, [%r3+4];\nadd.u32 %r5, %r5, %r6;\n"
             "setp.gt.u32 %p2, %r5, 50;\n@%p2 st.shared.u32 [%r3], %r9;\n"
             "@!%p2 st.shared.u32 [%r3], %r5;\nOFF:\nbar.sync 0;\n"
             "add.u32 %r9, %r9, 1;\nsetp.lt.u32 %p3, %r9, 5;\n@%p3 bra LOOP;\n"
             "ld.shared.u32 %r8, [%r3];\nst.global.u32 [%rd1], %r8;\n"),
      {zeros<uint32_t>(kAligned)}, Shape{.block = {kAligned, 1, 1}});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < kAligned; ++i) {
    uint32_t x = i;
    const uint32_t next = i + 1 < kAligned ? i + 1 : 0;  // behind the last thread's: zero
    for (uint32_t round = 0; round < 5 && i % 2; ++round) x = x + next > 50 ? round : x + next;
    EXPECT_EQ(r.read()[i], x) << i;
  }
}

}  // namespace
}  // namespace coalesce::machine::test
