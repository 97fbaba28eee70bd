// Thread blocks at their beginning, lanes that part, and registers that several elements share: native code against
// the other executors.
#include <random>
#include <string>
#include <vector>

#include "tests/native/agreement.h"

namespace coalesce::machine::test::block_forms {
namespace {

const std::string kTwo = ".param .u64 out, .param .u64 in, .param .u32 n";

// %r1: the thread, %r2: the block's number, %r4: the number among all threads, %rd3: its place of `out`.
std::string begin(uint32_t bytes) {
  return "ld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [in];\nld.param.u32 %r3, [n];\nmov.u32 %r1, %tid.x;\n"
         "mov.u32 %r40, %ctaid.z;\nmov.u32 %r41, %nctaid.y;\nmov.u32 %r42, %ctaid.y;\nmad.lo.u32 %r40, %r40, %r41, "
         "%r42;\n"
         "mov.u32 %r41, %nctaid.x;\nmov.u32 %r42, %ctaid.x;\nmad.lo.u32 %r2, %r40, %r41, %r42;\nmov.u32 %r43, "
         "%ntid.x;\n"
         "mad.lo.u32 %r4, %r2, %r43, %r1;\nmad.wide.u32 %rd3, %r4, " +
         std::to_string(bytes) + ", %rd1;\n";
}

// Each block sums up what it finds, and leaves ones.
TEST(BlockForms, SharedMemoryBeginsWithZeros) {
  if (!native_code()) GTEST_SKIP() << "built without LLVM";
  constexpr uint32_t kWords = 300, kBlocks = 5, kThreads = 40;
  const std::string loop = "mad.lo.u32 %r21, %r20, 4, %r22;\n",
                    next = "add.u32 %r20, %r20, " + std::to_string(kThreads) + ";\nsetp.lt.u32 %p1, %r20, " +
                           std::to_string(kWords) + ";\n";
  const std::string body = ".shared .align 4 .b8 s[" + std::to_string(4 * kWords) + "];\n" + begin(4) +
                           "mov.u32 %r22, s;\nmov.u32 %r20, %r1;\nmov.u32 %r10, 0;\nREAD:\n" + loop +
                           "ld.shared.u32 %r11, [%r21];\nadd.u32 %r10, %r10, %r11;\n" + next +
                           "@%p1 bra READ;\nbar.sync 0;\nmov.u32 %r20, %r1;\nWRITE:\n" + loop +
                           "st.shared.u32 [%r21], -1;\n" + next + "@%p1 bra WRITE;\nst.global.u32 [%rd3], %r10;\n";
  Shape shape;
  shape.grid = {kBlocks, 1, 1};
  shape.block = {kThreads, 1, 1};
  Agreement agree;
  const Ran r = agree(kernel(kTwo, body), {zeros<uint32_t>(kBlocks * kThreads), zeros<uint32_t>(1), value(0u)}, shape);
  EXPECT_EQ(r.read(), std::vector<uint32_t>(kBlocks * kThreads));
}

// Registers that are read before they are written: the block's and the lanes', in every block anew.
TEST(BlockForms, RegistersBeginWithZeros) {
  if (!native_code()) GTEST_SKIP() << "built without LLVM";
  const std::string body = begin(16) +
                           "add.u32 %r20, %r20, %r3;\nadd.u32 %r21, %r21, %r1;\nmov.u32 %r30, 0;\nLOOP:\n"
                           "add.u32 %r22, %r22, %r30;\nadd.u32 %r23, %r23, %r21;\nbar.sync 0;\nadd.u32 %r30, %r30, 1;\n"
                           "setp.lt.u32 %p1, %r30, %r3;\n@%p1 bra LOOP;\n"
                           "st.global.v4.u32 [%rd3], {%r20, %r21, %r22, %r23};\n";
  Shape shape;
  shape.grid = {7, 1, 1};
  shape.block = {48, 1, 1};
  Agreement agree;
  const Ran r = agree(kernel(kTwo, body), {zeros<uint32_t>(7 * 48 * 4), zeros<uint32_t>(1), value(5u)}, shape);
  const auto out = r.read();
  for (uint32_t t = 0; t < 7 * 48; ++t) {
    EXPECT_EQ(out[4 * t], 5u);
    EXPECT_EQ(out[4 * t + 1], t % 48);
    EXPECT_EQ(out[4 * t + 2], 10u);
    EXPECT_EQ(out[4 * t + 3], 5 * (t % 48));
  }
}

// Native code goes on behind a stretch that has none: a loop that lanes leave two ways, with work behind each.
TEST(BlockForms, GoesOnBehindWhatIsInterpreted) {
  if (!native_code()) GTEST_SKIP() << "built without LLVM";
  const std::string body =
      begin(32) +
      "mul.lo.u32 %r30, %r3, 77;\nmul.lo.u32 %r31, %r1, 5;\nbar.sync 0;\nmov.u32 %r20, 0;\nLOOP:\nadd.u32 %r20, %r20, "
      "1;\n"
      "setp.gt.u32 %p1, %r20, %r1;\n@%p1 bra ONE;\nadd.u32 %r31, %r31, %r20;\nsetp.gt.u32 %p2, %r31, 40;\n"
      "@%p2 bra OTHER;\nbra LOOP;\nONE:\nadd.u32 %r31, %r31, 1000;\nbra MEET;\nOTHER:\nmul.lo.u32 %r31, %r31, "
      "3;\nMEET:\n"
      "add.u32 %r31, %r31, %r30;\nbar.sync 0;\nmov.u32 %r32, %ctaid.x;\nmov.u32 %r33, %ctaid.y;\nmov.u32 %r34, "
      "%ctaid.z;\n"
      "mov.u32 %r35, %smid;\nadd.u32 %r36, %r30, %r31;\nmov.u32 %r37, %warpid;\nmov.u32 %r38, %laneid;\n"
      "st.global.v4.u32 [%rd3], {%r32, %r33, %r34, %r35};\nst.global.v4.u32 [%rd3+16], {%r30, %r36, %r37, %r38};\n";
  for (const auto& grid : {std::array<uint32_t, 3>{200, 1, 1}, {3, 4, 5}}) {
    Shape shape;
    shape.grid = grid;
    shape.block = {40, 1, 1};
    const uint32_t blocks = grid[0] * grid[1] * grid[2];
    Agreement agree;
    const Ran r = agree(kernel(kTwo, body), {zeros<uint32_t>(blocks * 40 * 8), zeros<uint32_t>(1), value(9u)}, shape);
    const auto out = r.read();
    for (uint32_t b = 0; b < blocks; ++b) {
      EXPECT_EQ(out[b * 320], b % grid[0]);
      EXPECT_EQ(out[b * 320 + 1], b / grid[0] % grid[1]);
      EXPECT_EQ(out[b * 320 + 2], b / grid[0] / grid[1]);
    }
  }
}

// %r10, %r11 and %r12 say by which ways lanes (%r5) went.
const std::pair<const char*, std::string> kParts[] = {
    {"branches within a loop",
     "rem.u32 %r6, %r5, 5;\nmov.u32 %r20, 0;\nOUTER:\nadd.u32 %r21, %r5, %r20;\nand.b32 %r22, %r21, 1;\n"
     "setp.eq.u32 %p1, %r22, 0;\n@%p1 bra EVEN;\nmad.lo.u32 %r10, %r10, 31, 1;\nand.b32 %r23, %r10, 4;\n"
     "setp.eq.u32 %p2, %r23, 0;\n@%p2 bra LOW;\nadd.u32 %r11, %r11, %r20;\nactivemask.b32 %r24;\n"
     "xor.b32 %r12, %r12, %r24;\nbra JOIN;\nLOW:\nxor.b32 %r11, %r11, %r10;\nJOIN:\nmul.lo.u32 %r12, %r12, 3;\n"
     "bra BOTH;\nEVEN:\nadd.u32 %r10, %r10, 7;\nBOTH:\nadd.u32 %r20, %r20, 1;\nsetp.le.u32 %p7, %r20, %r6;\n"
     "@%p7 bra OUTER;\n"},
    {"loops within a loop",
     "rem.u32 %r6, %r5, 5;\nmov.u32 %r20, 0;\nOUTER:\nadd.u32 %r10, %r10, %r20;\nand.b32 %r25, %r5, 3;\n"
     "mov.u32 %r26, 0;\nINNER:\nsetp.ge.u32 %p3, %r26, %r25;\n@%p3 bra LEFT;\nsetp.eq.u32 %p4, %r26, 2;\n"
     "and.b32 %r27, %r5, 8;\nsetp.ne.u32 %p5, %r27, 0;\nand.pred %p6, %p4, %p5;\n@%p6 bra LEFT;\n"
     "mad.lo.u32 %r12, %r26, %r10, %r12;\nadd.u32 %r26, %r26, 1;\nbra INNER;\nLEFT:\nactivemask.b32 %r24;\n"
     "add.u32 %r11, %r11, %r24;\nadd.u32 %r20, %r20, 1;\nsetp.le.u32 %p7, %r20, %r6;\n@%p7 bra OUTER;\n"},
    {"votes of some",
     "setp.lt.u32 %p8, %r5, 16;\n@!%p8 bra HIGH;\nsetp.gt.u32 %p9, %r5, %r3;\nvote.any.pred %p10, %p9;\n"
     "vote.all.pred %p11, %p9;\nvote.uni.pred %p12, %p9;\n"
     "vote.ballot.b32 %r28, %p9;\nselp.u32 %r29, 1, 0, %p10;\nselp.u32 %r30, 2, 0, %p11;\n"
     "selp.u32 %r31, 4, 0, %p12;\nadd.u32 %r11, %r11, %r29;\nadd.u32 %r11, %r11, %r30;\nadd.u32 %r11, %r11, %r31;\n"
     "xor.b32 %r12, %r12, %r28;\nHIGH:\nadd.u32 %r11, %r11, %r12;\n"},
    {"some leave",
     "setp.lt.u32 %p13, %r5, 9;\n@!%p13 bra STAYS;\nst.global.u32 [%rd3], %r5;\nret;\nSTAYS:\n"
     "add.u32 %r12, %r12, %r5;\nsetp.gt.u32 %p14, %r5, 20;\n@%p14 bra MORE;\nadd.u32 %r10, %r10, 5;\nMORE:\n"
     "add.u32 %r11, %r11, %r10;\n"},
    {"some exit",
     "setp.lt.u32 %p13, %r5, 9;\n@!%p13 bra STAYS;\nst.global.u32 [%rd3], %r5;\nexit;\nSTAYS:\n"
     "add.u32 %r12, %r12, %r5;\nsetp.gt.u32 %p14, %r5, 20;\n@%p14 bra MORE;\nadd.u32 %r10, %r10, 5;\nMORE:\n"
     "add.u32 %r11, %r11, %r10;\n"},
    {"masks of lanes",
     "mov.u32 %r20, %lanemask_lt;\nmov.u32 %r21, %lanemask_le;\nmov.u32 %r22, %lanemask_eq;\n"
     "mov.u32 %r23, %lanemask_ge;\nmov.u32 %r24, %lanemask_gt;\nxor.b32 %r10, %r20, %r23;\nmul.lo.u32 %r11, %r21, 3;\n"
     "add.u32 %r11, %r11, %r22;\nmad.lo.u32 %r12, %r24, 5, %r23;\n"},
    {"all exit, by two ways",
     "setp.lt.u32 %p13, %r5, 9;\n@%p13 bra OTHERS;\nst.global.u32 [%rd3], %r5;\nexit;\nOTHERS:\n"
     "st.global.u32 [%rd3+4], %r4;\nexit;\n"},
    {"all leave, by two ways",
     "setp.lt.u32 %p13, %r5, 9;\n@%p13 bra OTHERS;\nst.global.u32 [%rd3], %r5;\nret;\nOTHERS:\n"
     "st.global.u32 [%rd3+4], %r4;\nret;\n"}};

TEST(BlockForms, LanesPartAndMeet) {
  if (!native_code()) GTEST_SKIP() << "built without LLVM";
  Agreement agree;
  for (const auto& [name, part] : kParts) {
    SCOPED_TRACE(name);
    std::string ptx =
        kernel(kTwo, begin(16) + "and.b32 %r5, %r1, 31;\nmov.u32 %r10, %r1;\nmov.u32 %r11, 7;\nmov.u32 %r12, 0;\n" +
                         part + "st.global.v4.u32 [%rd3], {%r10, %r11, %r12, %r20};\n");
    if (part.find("vote.any") != part.npos) ptx.replace(0, ptx.find(".address_size"), ".version 6.0\n.target sm_60\n");
    const auto program = agree.load(ptx);
    for (const uint32_t threads : {1u, 31u, 32u, 33u, 96u, 1024u}) {
      Shape shape;
      shape.grid = {2, 1, 1};
      shape.block = {threads, 1, 1};
      for (const uint32_t n : {9u, 40u}) {
        const Ran r = agree(*program, {zeros<uint32_t>(2 * threads * 4), zeros<uint32_t>(1), value(n)}, shape);
        EXPECT_EQ(r.report.fault, Fault::none) << r.message();
      }
    }
  }
}

// Native code lets arithmetic leave any NaN and makes it the canonical one where its bits can be seen.
TEST(BlockForms, BitsOfNaNs) {
  if (!native_code()) GTEST_SKIP() << "built without LLVM";
  const std::string body =
      begin(64) +
      ".shared .align 16 .b8 s[1024];\nmad.wide.u32 %rd4, %r1, 16, %rd2;\nld.global.v4.f32 {%f1, %f2, %f3, %f4}, "
      "[%rd4];\n"
      "add.f32 %f10, %f1, %f2;\nmul.f32 %f11, %f3, %f4;\nsub.f32 %f12, %f1, %f1;\nfma.rn.f32 %f13, %f1, %f3, %f2;\n"
      "mov.b32 %r10, %f10;\nand.b32 %r11, %r10, 0x803fffff;\nst.global.u32 [%rd3], %r11;\nmov.f32 %f14, %f11;\n"
      "mov.b32 %r12, %f14;\nxor.b32 %r12, %r12, %r11;\nst.global.u32 [%rd3+4], %r12;\n"
      "st.global.v4.f32 [%rd3+16], {%f10, %f11, %f12, %f13};\nbar.sync 0;\nadd.f32 %f15, %f10, %f11;\n"
      "setp.gt.f32 %p1, %f1, %f2;\n@%p1 mul.f32 %f15, %f15, %f13;\nneg.f32 %f16, %f15;\nabs.f32 %f17, %f13;\n"
      "min.f32 %f18, %f15, %f12;\nselp.f32 %f19, %f15, %f10, %p1;\nst.global.v4.f32 [%rd3+32], {%f16, %f17, %f18, "
      "%f19};\n"
      "mov.u32 %r21, s;\nmad.lo.u32 %r20, %r1, 4, %r21;\nst.shared.f32 [%r20], %f13;\n"
      "ld.shared.u32 %r22, [%r20];\nmov.b32 %r23, %f13;\nshfl.sync.bfly.b32 %r24, %r23, 1, 31, -1;\n"
      "mov.b32 %r25, %f15;\nshl.b32 %r25, %r25, 1;\nst.global.v4.u32 [%rd3+48], {%r22, %r24, %r25, %r23};\n"
      "st.global.f32 [%rd3+8], %f15;\nst.global.f32 [%rd3+12], %f12;\n";
  std::mt19937 random(3);
  constexpr uint32_t special[] = {0x7fc00001, 0xffc12345, 0x7f800000, 0xff800000, 0x7f812345, 0xffffffff,
                                  0,          0x80000000, 0x3f800000, 0xbf800001, 0x00000001, 0x7f7fffff};
  std::vector<uint32_t> in(64 * 4);
  for (uint32_t& v : in) v = special[random() % std::size(special)];
  Shape shape;
  shape.block = {64, 1, 1};
  Agreement agree;
  agree(kernel(kTwo, body), {zeros<uint32_t>(64 * 16), buffer(in), value(0u)}, shape);
}

// Elements that one load brings are kept side by side, computed with together and stored again: in order, with one of
// them changed, in another order, of two loads, with NaNs.
TEST(BlockForms, ElementsSideBySide) {
  if (!native_code()) GTEST_SKIP() << "built without LLVM";
  const std::string body =
      begin(16) +
      "mad.wide.u32 %rd30, %r4, 8, %rd1;\nmad.wide.u32 %rd4, %r1, 16, %rd2;\nld.global.v4.u32 {%r10, %r11, %r12, "
      "%r13}, [%rd4];\n"
      "ld.global.v4.u32 {%r14, %r15, %r16, %r17}, [%rd4+2048];\nld.global.v4.f32 {%f10, %f11, %f12, %f13}, [%rd4];\n"
      "ld.global.v2.u64 {%rd10, %rd11}, [%rd4];\n"
      // Computed with a number, with the block's, with others, with the same again.
      "mul.lo.u32 %r20, %r10, 3;\nmul.lo.u32 %r21, %r11, 3;\nmul.lo.u32 %r22, %r12, 3;\nmul.lo.u32 %r23, %r13, 3;\n"
      "st.global.v4.u32 [%rd3], {%r20, %r21, %r22, %r23};\n"
      "add.u32 %r24, %r10, %r14;\nadd.u32 %r25, %r11, %r15;\nadd.u32 %r26, %r12, %r16;\nadd.u32 %r27, %r13, %r17;\n"
      "mad.lo.u32 %r24, %r24, %r3, %r10;\nmad.lo.u32 %r25, %r25, %r3, %r11;\nmad.lo.u32 %r26, %r26, %r3, %r12;\n"
      "mad.lo.u32 %r27, %r27, %r3, %r13;\nst.global.v4.u32 [%rd3+3072], {%r24, %r25, %r26, %r27};\n"
      // In another order, of two, one changed, one of another operation, one by other operands.
      "st.global.v4.u32 [%rd3+6144], {%r11, %r10, %r12, %r13};\nst.global.v4.u32 [%rd3+9216], {%r10, %r15, %r12, "
      "%r17};\n"
      "mul.lo.u32 %r28, %r11, 4;\nst.global.v4.u32 [%rd3+12288], {%r20, %r28, %r22, %r23};\n"
      "add.u32 %r29, %r12, 3;\nst.global.v4.u32 [%rd3+15360], {%r20, %r21, %r29, %r23};\n"
      "add.u32 %r30, %r10, %r15;\nadd.u32 %r31, %r11, %r14;\nst.global.v4.u32 [%rd3+18432], {%r30, %r31, %r26, %r27};\n"
      "st.global.v2.u32 [%rd30+21504], {%r10, %r11};\nst.global.v2.u32 [%rd30+23040], {%r12, %r13};\n"
      "rem.u32 %r32, %r10, 7;\nrem.u32 %r33, %r11, 7;\nrem.u32 %r34, %r12, 7;\nrem.u32 %r35, %r13, 7;\n"
      "st.global.v4.u32 [%rd3+24576], {%r32, %r33, %r34, %r35};\n"
      // Lanes' numbers, and a register that is written again.
      "add.u32 %r36, %r10, %r1;\nadd.u32 %r37, %r11, %r1;\nadd.u32 %r38, %r12, %r1;\nadd.u32 %r39, %r13, %r1;\n"
      "st.global.v4.u32 [%rd3+27648], {%r36, %r37, %r38, %r39};\nmov.u32 %r12, 5;\n"
      "st.global.v4.u32 [%rd3+30720], {%r10, %r11, %r12, %r13};\nadd.u32 %r36, %r12, %r3;\n"
      "st.global.v4.u32 [%rd3+33792], {%r36, %r37, %r38, %r39};\n"
      // NaNs in some or all, 64 bits, under a guard.
      "add.f32 %f14, %f10, %f10;\nadd.f32 %f15, %f11, %f11;\nadd.f32 %f16, %f12, %f12;\nadd.f32 %f17, %f13, %f13;\n"
      "st.global.v4.f32 [%rd3+36864], {%f14, %f15, %f16, %f17};\nmov.b32 %r50, %f15;\nxor.b32 %r51, %r50, 1;\n"
      "st.global.v4.f32 [%rd3+39936], {%f14, %f11, %f16, %f13};\nadd.u64 %rd12, %rd10, %rd10;\n"
      "add.u64 %rd13, %rd11, %rd11;\nst.global.v2.u64 [%rd3+43008], {%rd12, %rd13};\nsetp.gt.u32 %p1, %r10, %r14;\n"
      "mov.u64 %rd14, 3;\nmov.u64 %rd15, 4;\n@%p1 add.u64 %rd14, %rd10, %rd12;\n@%p1 add.u64 %rd15, %rd11, %rd13;\n"
      "st.global.v2.u64 [%rd3+46080], {%rd14, %rd15};\nst.global.u32 [%rd3+46080], %r51;\n";
  std::mt19937 random(4);
  std::vector<uint32_t> in(1024);
  for (std::size_t k = 0; k < in.size(); ++k)
    in[k] = k % 5 == 0 ? 0x7fc00000u + static_cast<uint32_t>(random() % 9) : static_cast<uint32_t>(random());
  Agreement agree;
  const auto program = agree.load(kernel(kTwo, body));
  for (const uint32_t threads : {64u, 40u}) {
    Shape shape;
    shape.grid = {3, 1, 1};
    shape.block = {threads, 1, 1};
    const Ran r = agree(*program, {zeros<uint32_t>(12288), buffer(in), value(11u)}, shape);
    EXPECT_EQ(r.report.fault, Fault::none) << r.message();
  }
}

}  // namespace
}  // namespace coalesce::machine::test::block_forms
