// Lane classes, with their proofs: stride, range and alignment of what small PTX computes. Nothing is executed here.
#include <gtest/gtest.h>

#include "tests/machine/program/decoded.h"

namespace coalesce::machine {
namespace {

TEST(Decode, TidXByShapeOfTheBlock) {
  const std::string body = "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r3, %tid.z;";
  struct Row {
    std::array<uint32_t, 3> block;
    LaneClass x, y;
    uint32_t alignment;
  };
  for (const Row& row : {Row{{96, 1, 1}, LaneClass::affine, LaneClass::constant, 32},
                         Row{{50, 1, 1}, LaneClass::affine, LaneClass::constant, 1},
                         Row{{32, 4, 1}, LaneClass::affine, LaneClass::warp_uniform, 32},
                         Row{{16, 4, 1}, LaneClass::general, LaneClass::general, 1}}) {
    SCOPED_TRACE(std::to_string(row.block[0]) + " x " + std::to_string(row.block[1]));
    const Case c = decoded(body, {row.block, {8, 1, 1}});
    expect_class(c, 1, row.x, row.x == LaneClass::affine);
    expect_class(c, 2, row.y);
    expect_class(c, 3, LaneClass::constant);
    EXPECT_EQ(c.result(1).alignment % row.alignment, 0u);
    EXPECT_EQ(c.result(1).range, (Range{0, row.block[0] - 1}));
    EXPECT_EQ(c.result(2).range, (Range{0, row.block[1] - 1}));
    EXPECT_EQ(c.result(3).range, (Range{0, 0}));
  }
}

TEST(Decode, ClassesOfBuiltins) {
  const Case c = decoded(
      "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %nctaid.x;\nmov.u32 %r3, %laneid;\nmov.u32 %r4, %warpid;\n"
      "mov.u32 %r5, %lanemask_lt;\nld.param.u32 %r6, [n];");
  expect_class(c, 1, LaneClass::block_uniform);
  EXPECT_EQ(c.result(1).range, (Range{0, 1023}));
  expect_class(c, 2, LaneClass::constant);
  EXPECT_EQ(c.result(2).range, (Range{1, 1024}));
  expect_class(c, 3, LaneClass::affine, 1);
  expect_class(c, 4, LaneClass::warp_uniform);
  expect_class(c, 5, LaneClass::general);
  expect_class(c, 6, LaneClass::constant);
}

// out[blockIdx.x * blockDim.x + threadIdx.x]: the address is affine, since the index cannot wrap with so few blocks.
TEST(Decode, IndexOfAOneDimensionalGrid) {
  const std::string body =
      "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\n"
      "mad.lo.s32 %r4, %r1, %r2, %r3;\nmul.wide.s32 %rd2, %r4, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
      "st.global.u32 [%rd3], %r4;";
  const Case c = decoded(body);
  expect_class(c, 5, LaneClass::affine, 1);
  EXPECT_EQ(c.result(5).range, (Range{0, 1024 * 128 - 1}));
  EXPECT_EQ(c.result(5).alignment, 32u);
  expect_class(c, 6, LaneClass::affine, 4);
  EXPECT_EQ(c.result(6).range, (Range{0, 4 * (1024 * 128 - 1)}));
  EXPECT_EQ(c.result(6).alignment, 128u);
  expect_class(c, 7, LaneClass::affine, 4);
  // 2^25 blocks of 128: the index may pass 2^31, and a wrapped index is not affine once widened.
  const Case many = decoded(body, {{128, 1, 1}, {uint64_t{1} << 25, 1, 1}});
  expect_class(many, 5, LaneClass::affine, 1);  // modulo 2^32 it always is
  expect_class(many, 6, LaneClass::general);
}

TEST(Decode, UnsignedDifferencesMayWrap) {
  const Case c = decoded(
      "mov.u32 %r1, %tid.x;\nsub.u32 %r2, %r1, 1;\nadd.u32 %r3, %r1, -1;\nadd.u32 %r4, %r1, 5;\n"
      "mul.wide.u32 %rd1, %r2, 4;\nmul.wide.u32 %rd2, %r3, 4;\nmul.wide.u32 %rd3, %r4, 4;\nmul.wide.s32 %rd4, %r2, 4;\n"
      "cvt.u64.u32 %rd5, %r2;\ncvt.u64.u32 %rd6, %r4;\ncvt.s64.s32 %rd7, %r2;");
  expect_class(c, 2, LaneClass::affine, 1);
  EXPECT_EQ(c.result(2).range, (Range{-1, 126}));
  expect_class(c, 5, LaneClass::general);  // lane 0 of warp 0: 4 * (2^32 - 1)
  expect_class(c, 6, LaneClass::general);
  expect_class(c, 7, LaneClass::affine, 4);
  expect_class(c, 8, LaneClass::affine, 4);
  EXPECT_EQ(c.result(8).range, (Range{-4, 4 * 126}));
  expect_class(c, 9, LaneClass::general);
  expect_class(c, 10, LaneClass::affine, 1);
  expect_class(c, 11, LaneClass::affine, 1);
}

// The factor is 2^31 or more: positive for .u32, negative for .s32.
TEST(Decode, WideProductByALargeConstant) {
  const Case c = decoded(
      "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd1, %r1, 2147483648;\nmul.wide.s32 %rd2, %r1, -2147483648;\n"
      "mul.wide.u32 %rd3, %r1, 4294967295;");
  const int64_t half = int64_t{1} << 31;
  expect_class(c, 2, LaneClass::affine, half);
  EXPECT_EQ(c.result(2).range, (Range{0, 127 * half}));
  expect_class(c, 3, LaneClass::affine, -half);
  EXPECT_EQ(c.result(3).range, (Range{-127 * half, 0}));
  expect_class(c, 4, LaneClass::affine, 2 * half - 1);
  EXPECT_EQ(c.result(4).range, (Range{0, 127 * (2 * half - 1)}));
}

TEST(Decode, ArithmeticOfAffineValues) {
  const Case c = decoded(
      "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 3;\nneg.s32 %r3, %r1;\nsub.s32 %r4, %r2, %r1;\nsub.s32 %r5, %r1, %r1;\n"
      "mul.lo.s32 %r6, %r1, %r1;\nand.b32 %r7, %r1, 31;\nld.param.u32 %r8, [n];\nmul.lo.s32 %r9, %r1, %r8;\n"
      "add.s32 %r10, %r1, %r8;\nshl.b32 %r11, %r1, %r8;\nmad.lo.s32 %r12, %r8, %r8, %r1;\nmul.wide.s32 %rd1, %r10, 4;\n"
      "cvt.u32.u64 %r13, %rd1;");
  expect_class(c, 2, LaneClass::affine, 8);
  EXPECT_EQ(c.result(2).alignment, 256u);
  expect_class(c, 3, LaneClass::affine, -1);
  expect_class(c, 4, LaneClass::affine, 7);
  expect_class(c, 5, LaneClass::warp_uniform);
  expect_class(c, 6, LaneClass::general);
  expect_class(c, 7, LaneClass::general);
  expect_class(c, 9, LaneClass::general);  // a stride nobody knows
  expect_class(c, 10, LaneClass::affine, 1);
  expect_class(c, 11, LaneClass::general);
  expect_class(c, 12, LaneClass::affine, 1);
  expect_class(c, 13, LaneClass::general);  // n may be 2^31 - 1
}

// Strides beyond 2^40 are given up, so that no sum or difference of them leaves 64 bits.
TEST(Decode, StridesThatDoubleForEver) {
  std::string body = ".reg .b64 %x<80>, %y<80>;\nmov.u32 %r1, %tid.x;\ncvt.u64.u32 %x0, %r1;\nneg.s64 %y0, %x0;";
  for (int k = 1; k < 80; ++k) {
    const std::string at = std::to_string(k), before = std::to_string(k - 1);
    body += "\nmad.lo.s64 %x" + at + ", %x" + before + ", 1, %x" + before + ";\nsub.s64 %y" + at + ", %y" + before +
            ", %x" + before + ";";
  }
  const Case c = decoded(body);
  for (uint32_t k = 1; k < 80; ++k) {
    SCOPED_TRACE(k);
    expect_class(c, 3 + 2 * k, k <= 40 ? LaneClass::affine : LaneClass::general, k <= 40 ? int64_t{1} << k : 0);
    expect_class(c, 4 + 2 * k, k <= 40 ? LaneClass::affine : LaneClass::general, k <= 40 ? -(int64_t{1} << k) : 0);
  }
}

TEST(Decode, JoinsAndGuardsAndLoads) {
  const Case c = decoded(
      "mov.u32 %r1, %tid.x;\nld.param.u32 %r2, [n];\nsetp.lt.u32 %p1, %r2, 5;\nmov.u32 %r3, %r1;\n@%p1 bra A;\n"
      "shl.b32 %r3, %r1, 1;\nA:\nadd.u32 %r4, %r3, 1;\n@%p1 mov.u32 %r5, %r2;\nld.shared.u32 %r6, [buffer];\n"
      "ld.shared.u32 %r7, [%r1];\nld.local.u32 %r8, [own];\nadd.u32 %r9, %r30, 1;");
  expect_class(c, 8, LaneClass::general);  // stride 1 or 2
  expect_class(c, 9, LaneClass::general);
  expect_class(c, 10, LaneClass::warp_uniform);  // one address; each warp loads when it comes there
  expect_class(c, 11, LaneClass::general);
  expect_class(c, 12, LaneClass::general);  // one address, but each lane has its own there
  expect_class(c, 13, LaneClass::general);  // read, never written
}

// A value that a divergent block defines differs between the lanes that were there and the others.
TEST(Decode, DefinitionsInDivergentBlocks) {
  const Case c = decoded(
      "mov.u32 %r1, %tid.x;\nmov.u32 %r2, 1;\nsetp.lt.u32 %p1, %r1, 7;\n@%p1 bra A;\nmov.u32 %r2, 2;\nmov.u32 %r3, 3;\n"
      "add.u32 %r4, %r3, %r1;\nst.shared.u32 [buffer], %r4;\nA:\nst.shared.u32 [buffer], %r2;");
  EXPECT_EQ(c.result(5).lanes, LaneClass::general);
  EXPECT_TRUE(c.result(6).block_local);
  EXPECT_EQ(c.result(6).lanes, LaneClass::warp_uniform);
  EXPECT_EQ(c.result(7).lanes, LaneClass::affine);
  EXPECT_FALSE(c.result(5).block_local);
}

// Registers that are read before they are written hold 0 in every lane there: no affine value, and no value of the
// launch.
TEST(Decode, RegistersThatAreReadBeforeTheyAreWritten) {
  const Case c = decoded(
      "mov.u32 %r1, %tid.x;\nadd.u32 %r2, %r3, 1;\nmov.u32 %r3, %r1;\nadd.u32 %r4, %r5, 1;\nmov.u32 %r5, 7;\n"
      "st.shared.u32 [buffer], %r2;\nst.shared.u32 [buffer], %r4;");
  expect_class(c, 3, LaneClass::general);
  expect_class(c, 5, LaneClass::warp_uniform);
  EXPECT_EQ(c.result(3).range, (Range{0, 127}));
  EXPECT_EQ(c.result(4).range, (Range{1, 8}));
  EXPECT_EQ(c.result(5).range, (Range{0, 7}));
}

// Several definitions: the range holds them all, whichever comes first; one that is unknown leaves nothing known. The
// fourth time that it widens it is given up, as a loop would widen it without end.
TEST(Decode, RangesOfSeveralDefinitions) {
  const auto range = [](const std::vector<std::string>& definitions) {
    std::string text = "ld.param.u32 %r1, [n];\nld.param.u32 %r2, [m];\nsetp.lt.u32 %p1, %r1, 5;\n";
    for (const std::string& d : definitions) text += "mov.u32 %r3, " + d + ";\n@%p1 bra L;\n";
    const Case c = decoded(text + "L:\nst.shared.u32 [buffer], %r3;");
    return c.result(4).range;
  };
  EXPECT_EQ(range({"5", "9"}), (Range{5, 9}));
  EXPECT_EQ(range({"9", "5"}), (Range{5, 9}));
  EXPECT_EQ(range({"5", "-1", "9"}), (Range{-1, 9}));
  EXPECT_EQ(range({"5", "5"}), (Range{5, 5}));
  EXPECT_FALSE(range({"5", "%r2"}).known());
  EXPECT_FALSE(range({"%r2", "5"}).known());
  EXPECT_EQ(range({"0", "1", "2", "3"}), (Range{0, 3}));
  EXPECT_FALSE(range({"0", "1", "2", "3", "4"}).known());
}

// A use that stands before its definition in the text is looked at again.
TEST(Decode, ClassesOfCodeInAnyOrder) {
  const Case c = decoded(
      "bra B;\nA:\nadd.u32 %r3, %r2, 1;\nst.shared.u32 [buffer], %r3;\nbra C;\nB:\nmov.u32 %r2, %tid.x;\nbra A;\nC:");
  expect_class(c, 3, LaneClass::affine, 1);
  EXPECT_EQ(c.result(3).range, (Range{1, 128}));
  for (const auto& [address, lanes] :
       {std::pair{"16", LaneClass::warp_uniform}, std::pair{"%tid.x", LaneClass::general}})
    for (const char* const use : {"ld.shared.u32 %r3, [%r2];", "vote.sync.ballot.b32 %r3, %p1, %r2;"}) {
      const Case d = decoded(std::string("bra B;\nA:\n") + use +
                             "\nst.shared.u32 [buffer], %r3;\nbra C;\nB:\nmov.u32 %r2, " + address + ";\nbra A;\nC:");
      expect_class(d, 3, lanes);
    }
}

// A predicate that nothing sets is known last of all: what it guards is looked at once more.
TEST(Decode, BranchesByWhatNothingSets) {
  const Case c = decoded("@%p5 bra L;\nmov.u32 %r2, 1;\nL:\nst.shared.u32 [buffer], %r2;");
  EXPECT_TRUE(c.block(2).divergent);
  expect_class(c, 2, LaneClass::general);
}

// Numbers of the text have the operand's width: 64 bits, or 32 that the type reads.
TEST(Decode, NumbersOfEveryWidth) {
  const Case c = decoded(
      "mov.u32 %r1, %tid.x;\ncvt.u64.u32 %rd1, %r1;\nadd.u64 %rd2, %rd1, 4294967296;\nsub.u64 %rd3, %rd1, 4294967295;\n"
      "mul.lo.u64 %rd4, %rd1, 8589934592;\nmad.lo.u64 %rd5, %rd1, 4294967296, 4294967296;\n"
      "mul.wide.s32 %rd6, %r1, 4294967292;\nmul.wide.u32 %rd7, %r1, 4294967292;\ncvt.s64.s32 %rd8, 4294967295;\n"
      "mov.b64 %rd9, 4294967296;\nshl.b64 %rd10, %rd1, 33;\nadd.u32 %r2, %r1, 4294967292;\nmul.lo.u32 %r3, %r1, "
      "4294967292;");
  const int64_t bit32 = int64_t{1} << 32;
  const auto expect = [&](uint32_t line, int64_t stride, Range range) {
    expect_class(c, line, stride ? LaneClass::affine : LaneClass::constant, stride);
    EXPECT_EQ(c.result(line).range, range) << "line " << line;
  };
  expect(3, 1, {bit32, bit32 + 127});
  expect(4, 1, {1 - bit32, 128 - bit32});
  expect(5, 2 * bit32, {0, 127 * 2 * bit32});
  expect(6, bit32, {bit32, 128 * bit32});
  expect(7, -4, {-4 * 127, 0});
  expect(8, bit32 - 4, {0, 127 * (bit32 - 4)});
  expect(9, 0, {-1, -1});
  expect(10, 0, {bit32, bit32});
  expect(12, 1, {-4, 123});
  expect(13, -4, {-4 * 127, 0});
}

// Alignment is lane 0's where values are affine, and every lane's where they are general.
TEST(Decode, AlignmentOfWhatIsNoLongerAffine) {
  const Case c = decoded(
      "mov.u32 %r1, %tid.x;\nld.param.u32 %r2, [n];\nmul.lo.u32 %r3, %r1, %r2;\nshl.b32 %r4, %r1, 4;\n"
      "mul.lo.u32 %r5, %r4, %r2;\nmul.lo.u32 %r6, %r1, 3;\n@%p1 mov.u32 %r7, %r1;\nadd.u32 %r8, %r5, %r1;");
  EXPECT_EQ(c.result(3).alignment, 1u);
  EXPECT_EQ(c.result(5).alignment, 16u);
  expect_class(c, 6, LaneClass::affine, 3);
  EXPECT_EQ(c.result(6).alignment, 32u);
  EXPECT_EQ(c.result(7).alignment, 1u);
  EXPECT_EQ(c.result(8).alignment, 1u);
}

// x % n is below n. x & n is at most n; where n is negative, at most x. No bound is lost, and none is made up.
TEST(Decode, RangesOfMasks) {
  const Case c = decoded(
      "mov.u32 %r1, %tid.x;\ncvt.u64.u32 %rd1, %r1;\nsub.s32 %r2, %r1, 5;\ncvt.s64.s32 %rd2, %r2;\n"
      "and.b32 %r3, %r1, 7;\nand.b64 %rd3, %rd1, 7;\nand.b64 %rd4, %rd1, 1000;\nand.b64 %rd5, %rd2, 7;\n"
      "and.b64 %rd6, %rd1, -16;\nand.b64 %rd7, %rd2, -16;\nrem.u32 %r8, %r1, 10;\nrem.s32 %r9, %r2, 10;\nrem.u32 %r10, "
      "%r1, 0;");
  EXPECT_EQ(c.result(5).range, (Range{0, 7}));
  EXPECT_EQ(c.result(6).range, (Range{0, 7}));
  EXPECT_EQ(c.result(7).range, (Range{0, 127}));
  EXPECT_EQ(c.result(8).range, (Range{0, 7}));
  EXPECT_EQ(c.result(9).range, (Range{0, 127}));
  EXPECT_FALSE(c.result(10).range.known()) << "lane 0 has -16";
  EXPECT_EQ(c.result(11).range, (Range{0, 9}));
  EXPECT_FALSE(c.result(12).range.known()) << "lane 0 has -5";
  EXPECT_FALSE(c.result(13).range.known()) << "of no number";
}

// An addend of a wide product has all its 64 bits.
TEST(Decode, AddendsOfWideProducts) {
  const Case c = decoded(
      "mov.u32 %r1, %tid.x;\nmad.wide.u32 %rd1, %r1, 4, 4294967312;\nmad.wide.s32 %rd2, %r1, -4, -4294967312;\n"
      "mad.wide.u32 %rd3, %r1, 4, %rd1;");
  expect_class(c, 2, LaneClass::affine, 4);
  EXPECT_EQ(c.result(2).range, (Range{4294967312, 4294967312 + 4 * 127}));
  expect_class(c, 3, LaneClass::affine, -4);
  EXPECT_EQ(c.result(3).range, (Range{-4294967312 - 4 * 127, -4294967312}));
  expect_class(c, 4, LaneClass::affine, 8);
  EXPECT_EQ(c.result(4).range, (Range{4294967312, 4294967312 + 8 * 127}));
}

// Answers for a whole block, for a warp and for single lanes; with a guard, each lane may keep what it had.
TEST(Decode, ClassesOfWhatLanesTellEachOther) {
  struct Row {
    const char* text;
    LaneClass lanes, guarded;
  };
  for (const Row& row : {
           Row{"bar.red.popc.u32 %r2, 0, %p1;", LaneClass::block_uniform, LaneClass::general},
           Row{"vote.sync.ballot.b32 %r2, %p1, -1;", LaneClass::warp_uniform, LaneClass::general},
           Row{"vote.sync.ballot.b32 %r2, %p1, %r1;", LaneClass::general, LaneClass::general},
           Row{"activemask.b32 %r2;", LaneClass::warp_uniform, LaneClass::general},
           Row{"redux.sync.add.u32 %r2, %r1, -1;", LaneClass::warp_uniform, LaneClass::general},
           Row{"mov.u32 %r2, %clock;", LaneClass::warp_uniform, LaneClass::general},
           Row{"shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;", LaneClass::general, LaneClass::general},
           Row{"match.any.sync.b32 %r2, %r1, -1;", LaneClass::general, LaneClass::general},
       }) {
    for (const bool guarded : {false, true}) {
      if (guarded && std::string(row.text).starts_with("bar")) continue;
      SCOPED_TRACE(std::string(guarded ? "@%p2 " : "") + row.text);
      const Case c = decoded(std::string("mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 7;\nsetp.lt.u32 %p2, %r1, 9;\n") +
                             (guarded ? "@%p2 " : "") + row.text);
      expect_class(c, 4, guarded ? row.guarded : row.lanes);
    }
  }
}

}  // namespace
}  // namespace coalesce::machine
