// Optimisations of native code that change no result: its text shows whether they are there.
#include "tests/native/emitted.h"

#include <regex>
#include <string>

namespace coalesce::machine::test::emitted_text {
namespace {

const std::string kNewest = "x86-64-v4", kOlder = "x86-64-v3";  // with registers for masks, without

Emitted text_of(const std::string& body, const std::string& cpu = kNewest, std::array<uint32_t, 3> block = {96, 1, 1}) {
  const Emitted e = emitted(
      kernel(".param .u64 out, .param .u64 in, .param .u32 n",
             "ld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [in];\nld.param.u32 %r3, [n];\nmov.u32 %r1, %tid.x;\n"
             "mad.wide.u32 %rd3, %r1, 4, %rd1;\nmad.wide.u32 %rd4, %r1, 4, %rd2;\nmad.wide.u32 %rd5, %r1, 16, %rd2;\n" +
                 body),
      block, cpu);
  EXPECT_EQ(e.error, "");
  return e;
}

std::size_t matches(const Emitted& e, const char* pattern) {
  const std::regex wanted(pattern);
  return static_cast<std::size_t>(
      std::distance(std::sregex_iterator(e.ir.begin(), e.ir.end(), wanted), std::sregex_iterator()));
}

#define NEEDS_LLVM \
  if (!can_emit()) GTEST_SKIP() << "built without LLVM"

TEST(EmittedText, SaysForWhichCpuItIs) {
  NEEDS_LLVM;
  const Emitted e = text_of("st.global.u32 [%rd3], %r1;\n");
  for (const char* part : {"target datalayout = \"e-", "target triple = \"", "\"min-legal-vector-width\"=\"512\"",
                           "\"prefer-vector-width\"=\"512\"", "\"target-cpu\"=\"x86-64-v4\"", "\"target-features\""})
    EXPECT_EQ(e.count(part), 1u) << part;
}

// Comparisons of threadIdx.x ask lane 0 alone; those with a multiple of the warp's width have one answer for all lanes.
TEST(EmittedText, ComparesLaneZero) {
  NEEDS_LLVM;
  for (const char* type : {"s32", "u32"})
    for (const char* how : {"lt", "le", "gt", "ge", "eq", "ne"})
      for (const char* with : {"%r3", "50", "64"}) {
        const std::string is = std::string("setp.") + how + "." + type + " %p1, %r1, " + with + ";\n";
        const Emitted e = text_of(is + "selp.u32 %r10, 1, 2, %p1;\nst.global.u32 [%rd3], %r10;\n");
        EXPECT_EQ(matches(e, "icmp \\w+ <32 x i32>"), 0u) << is;
      }
  EXPECT_EQ(text_of("setp.lt.u32 %p1, %r1, 64;\n@%p1 st.global.u32 [%rd3], %r1;\n").count("llvm.smax"), 0u);
  EXPECT_GT(text_of("setp.lt.u32 %p1, %r1, 50;\n@%p1 st.global.u32 [%rd3], %r1;\n").count("llvm.smax"), 0u);
}

// Division by a power of two shifts, where nothing is below 0; by a number of the block it asks whether that is one.
TEST(EmittedText, DividesByPowersOfTwo) {
  NEEDS_LLVM;
  for (const char* op : {"div", "rem"}) {
    const std::string name = op;
    EXPECT_EQ(text_of(name + ".u32 %r10, %r1, 8;\nst.global.u32 [%rd3], %r10;\n").count(" fdiv "), 0u);
    EXPECT_EQ(text_of(name + ".s32 %r10, %r1, 8;\nst.global.u32 [%rd3], %r10;\n").count(" fdiv "), 0u);
    EXPECT_GT(text_of("ld.global.s32 %r2, [%rd4];\n" + name + ".s32 %r10, %r2, 8;\nst.global.u32 [%rd3], %r10;\n")
                  .count(" fdiv "),
              0u)
        << "numbers below 0";
    const std::string by_n =
        "ld.global.u32 %r2, [%rd4];\n" + name + ".u32 %r10, %r2, %r3;\nst.global.u32 [%rd3], %r10;\n";
    EXPECT_GT(text_of(by_n).count("label %other"), 0u);
    EXPECT_GT(text_of(by_n).count(" fdiv "), 0u);
  }
}

// A product of a number that grows by lanes and one of the block: lane 0's product, and steps that all warps share.
TEST(EmittedText, MultipliesLaneZero) {
  NEEDS_LLVM;
  EXPECT_GT(matches(text_of("ld.global.u32 %r2, [%rd2];\nmul.lo.u32 %r10, %r1, %r2;\nst.global.u32 [%rd3], %r10;\n"),
                    " mul i32 "),
            0u);
}

// NaNs are made canonical where their bits can be seen, not where numbers are moved.
TEST(EmittedText, NaNsAreMovedAsTheyAre) {
  NEEDS_LLVM;
  const std::string sum = "ld.global.f32 %f1, [%rd4];\nadd.f32 %f2, %f1, %f1;\n",
                    moves = "mov.f32 %f3, %f2;\nmov.f32 %f4, %f3;\n";
  const auto asks = [&](const std::string& body) { return text_of(body).count("fcmp uno"); };
  const std::size_t once = asks(sum + "add.f32 %f5, %f2, %f2;\nst.global.f32 [%rd3], %f5;\n");
  EXPECT_GT(once, 0u);
  EXPECT_EQ(asks(sum + moves + "add.f32 %f5, %f4, %f4;\nst.global.f32 [%rd3], %f5;\n"), once);
}

// Four elements of a load that are computed with alike are one vector, which is stored as it is.
TEST(EmittedText, ElementsAreComputedWithTogether) {
  NEEDS_LLVM;
  std::string body = "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd5];\n";
  for (const char* k : {"1", "2", "3", "4"})
    body += std::string("mul.f32 %f1") + k + ", %f" + k + ", 0f40400000;\nadd.f32 %f2" + k + ", %f1" + k + ", %f" + k +
            ";\n";
  const Emitted e =
      text_of(body + "mad.wide.u32 %rd6, %r1, 16, %rd1;\nst.global.v4.f32 [%rd6], {%f21, %f22, %f23, %f24};\n");
  // In the loop for all warps and for one warp with all lanes on.
  EXPECT_EQ(e.count(" fmul <128 x float>"), 2u);
  EXPECT_EQ(e.count(" fadd <128 x float>"), 2u);
  const Emitted mixed =
      text_of(body + "mad.wide.u32 %rd6, %r1, 16, %rd1;\nst.global.v4.f32 [%rd6], {%f22, %f21, %f23, %f24};\n");
  EXPECT_GT(matches(mixed, "shufflevector <64 x i32> .*<64 x i32>"),
            matches(e, "shufflevector <64 x i32> .*<64 x i32>"));
}

// Words that a warp has read from shared memory are known until something is stored; volatile ones are read again.
TEST(EmittedText, SharedMemoryIsReadOnce) {
  NEEDS_LLVM;
  const std::string begin = ".shared .align 16 .b8 s[1024];\nmov.u32 %r20, s;\nmad.lo.u32 %r21, %r1, 4, %r20;\n",
                    end = "st.global.u32 [%rd3], %r10;\n";
  // An update under a guard writes back what it has just read.
  const Emitted update = text_of(begin +
                                 "setp.lt.u32 %p1, %r1, %r3;\nld.shared.u32 %r10, [%r21];\nadd.u32 %r11, %r10, 1;\n"
                                 "@%p1 st.shared.u32 [%r21], %r11;\n" +
                                 end);
  const Emitted other = text_of(begin +
                                "setp.lt.u32 %p1, %r1, %r3;\nld.shared.u32 %r10, [%r21];\nadd.u32 %r11, %r10, 1;\n"
                                "@%p1 st.shared.u32 [%r21+64], %r11;\n" +
                                end);
  EXPECT_LT(matches(update, "load <32 x i32>"), matches(other, "load <32 x i32>"));
  EXPECT_EQ(matches(update, "load volatile"), 0u);
  for (const char* at :
       {"shared.u32 %r10, [%r21]", "shared.u32 %r10, [%r20]", "global.u32 %r10, [%rd2]", "global.u32 %r10, [%rd4]"})
    EXPECT_GT(matches(text_of(begin + "ld.volatile." + at + ";\n" + end), "load volatile"), 0u) << at;
  for (const char* at : {"shared.u32 [%r21], %r1", "shared.u32 [%r20], %r1", "global.u32 [%rd1], %r1"})
    EXPECT_GT(matches(text_of(begin + "st.volatile." + at + ";\n"), "store volatile"), 0u) << at;
}

// Lanes that are off read nothing of global memory: it may end there.
TEST(EmittedText, LanesThatAreOffReadNothing) {
  NEEDS_LLVM;
  const Emitted e = text_of(
      "ld.global.u32 %r2, [%rd4];\nsetp.lt.u32 %p1, %r2, %r3;\n@%p1 ld.global.u32 %r10, [%rd4+64];\n"
      "@%p1 st.global.u32 [%rd3], %r10;\n");
  EXPECT_GT(e.count("call <32 x i32> @llvm.masked.load"), 0u);
  EXPECT_GT(e.count("call void @llvm.masked.store"), 0u);
  // Words of shared memory are read whole, which has room behind it, and blended.
  const Emitted shared = text_of(
      ".shared .align 16 .b8 s[1024];\nmov.u32 %r20, s;\nmad.lo.u32 %r21, %r1, 4, %r20;\nld.global.u32 %r2, [%rd4];\n"
      "setp.lt.u32 %p1, %r2, %r3;\n@%p1 ld.shared.u32 %r10, [%r21];\n@%p1 st.shared.u32 [%r21+64], %r2;\n"
      "add.u32 %r10, %r10, 1;\n@%p1 st.global.u32 [%rd3], %r10;\n");
  EXPECT_EQ(shared.count("call <32 x i32> @llvm.masked.load"), 1u) << "the one of global memory";
}

const std::string kRow =
    "bar.sync 0;\nmov.u32 %r2, %tid.y;\nmad.lo.u32 %r4, %r2, 32, %r1;\nmad.wide.u32 %rd6, %r4, 4, ";

// Accesses of all warps are looked at once, counted and prefetched: loads to read, stores to write.
TEST(EmittedText, RowsAreLookedAtOnce) {
  NEEDS_LLVM;
  const Emitted loads = text_of(kRow + "%rd2;\nld.global.u32 %r10, [%rd6];\nbar.sync 0;\nst.shared.u32 [%r3], %r10;\n",
                                kNewest, {32, 4, 1});
  EXPECT_GT(loads.count("\nquick_warp"), 0u);
  EXPECT_GT(loads.count("\nextend"), 0u);
  EXPECT_GT(matches(loads, "llvm.prefetch.p0\\(ptr %\\d+, i32 0, i32 3, i32 1\\)"), 1u);
  EXPECT_EQ(matches(loads, "llvm.prefetch.p0\\(ptr %\\d+, i32 1, i32 3, i32 1\\)"), 0u);
  const Emitted stores = text_of(kRow + "%rd1;\nst.global.u32 [%rd6], %r4;\nbar.sync 0;\n", kNewest, {32, 4, 1});
  EXPECT_GT(stores.count("\nquick_warp"), 0u);
  EXPECT_GT(matches(stores, "llvm.prefetch.p0\\(ptr %\\d+, i32 1, i32 3, i32 1\\)"), 1u);
  EXPECT_EQ(matches(stores, "llvm.prefetch.p0\\(ptr %\\d+, i32 0, i32 3, i32 1\\)"), 0u);
}

// A warp's sum that may wrap is followed by lane 0 and a flag.
TEST(EmittedText, SumsThatMayWrapAreFollowed) {
  NEEDS_LLVM;
  const Emitted e = text_of(
      "add.s32 %r2, %r1, %r3;\nmul.wide.s32 %rd6, %r2, 4;\nadd.s64 %rd7, %rd2, %rd6;\nld.global.u32 %r10, [%rd7];\n"
      "st.global.u32 [%rd3], %r10;\n");
  EXPECT_GT(e.count("%unwrapped"), 1u);
}

// Warps with nothing to do are skipped.
TEST(EmittedText, IdleWarpsAreSkipped) {
  NEEDS_LLVM;
  const std::string begin = ".shared .align 16 .b8 s[1024];\nmov.u32 %r20, s;\nmad.lo.u32 %r21, %r1, 4, %r20;\n",
                    work =
                        "@%p1 bra OVER;\nst.shared.u32 [%r21], %r3;\nOVER:\nbar.sync 0;\n"
                        "ld.shared.u32 %r10, [%r21];\nst.global.u32 [%rd3], %r10;\n";
  EXPECT_GT(text_of(begin + "bar.sync 0;\nsetp.ge.u32 %p1, %r1, %r3;\n" + work).count("\nanother"), 0u);
  EXPECT_GT(
      text_of(begin + "bar.sync 0;\nmul.lo.u32 %r4, %r1, %r3;\nsetp.ge.u32 %p1, %r4, 96;\n" + work).count("\nanother"),
      0u);
  EXPECT_GT(
      text_of(begin + "bar.sync 0;\nrem.u32 %r4, %r1, %r3;\nsetp.ne.u32 %p1, %r4, 0;\n" + work).count("\nstraight"),
      0u);
  EXPECT_GT(
      text_of(begin + "bar.sync 0;\nand.b32 %r4, %r1, %r3;\nsetp.ne.u32 %p1, %r4, 0;\n" + work).count("\nstraight"),
      0u);
}

// Knowledge of shared memory and of elements ends with the block: the next one's code is not behind it on every way.
TEST(EmittedText, KnowledgeEndsWithItsRegion) {
  NEEDS_LLVM;
  text_of(
      ".shared .align 16 .b8 s[1024];\nmov.u32 %r20, s;\nmad.lo.u32 %r21, %r1, 4, %r20;\nld.shared.u32 %r10, [%r21];\n"
      "setp.lt.u32 %p1, %r10, %r3;\nbar.sync 0;\nld.global.u32 %r2, [%rd4];\n@%p1 st.shared.u32 [%r21], %r2;\n"
      "bar.sync 0;\nst.global.u32 [%rd3], %r10;\n");
  std::string add, multiply;
  for (const char* k : {"0", "1", "2", "3"}) {
    add += std::string("add.u32 %r2") + k + ", %r1" + k + ", 1;\n";
    multiply += std::string("mul.lo.u32 %r3") + k + ", %r1" + k + ", 3;\n";
  }
  text_of("ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd5];\nsetp.lt.u32 %p1, %r10, %r3;\n" + add +
          "@%p1 bra OVER;\nst.global.u32 [%rd3], %r20;\nOVER:\n" + multiply +
          "mad.wide.u32 %rd6, %r1, 16, %rd1;\nst.global.v4.u32 [%rd6], {%r30, %r31, %r32, %r33};\n");
}

// Instructions that change nothing make no code, nor do those that only the block's flow is made of.
TEST(EmittedText, NothingIsDoneForHints) {
  NEEDS_LLVM;
  const Emitted e = text_of(
      "prefetch.global.L2 [%rd4];\nmembar.gl;\nfence.acq_rel.cta;\nbar.warp.sync -1;\n"
      "st.global.u32 [%rd3], %r1;\n");
  EXPECT_TRUE(e.interpreted.empty());
}

// Columns of a tile that warps read one after the other are transposed before.
TEST(EmittedText, TilesAreTransposed) {
  NEEDS_LLVM;
  const Emitted e = text_of(
      ".shared .align 16 .b8 s[4224];\nmov.u32 %r20, s;\nmov.u32 %r2, %tid.y;\nmad.lo.u32 %r21, %r2, 132, %r20;\n"
      "mad.lo.u32 %r21, %r1, 4, %r21;\nst.shared.u32 [%r21], %r1;\nbar.sync 0;\nmad.lo.u32 %r22, %r1, 132, %r20;\n"
      "mad.lo.u32 %r23, %r2, 4, %r22;\nld.shared.u32 %r10, [%r23];\nst.global.u32 [%rd3], %r10;\n",
      kNewest, {32, 32, 1});
  EXPECT_GT(e.count("\ntransposed"), 0u);
}

}  // namespace
}  // namespace coalesce::machine::test::emitted_text
