// Strides of what may wrap, at the edges of what is followed; and what takes a stride, or a NaN's bits, away again.
#include "native/analyse/nan.h"
#include "native/analyse/warp_affine.h"
#include "tests/native/analyse/decoded.h"

namespace coalesce::native::test {
namespace {

constexpr int64_t kNoStride = INT64_MIN;

// %r3 = threadIdx.x + n, which may wrap; %rd7 is %r3, widened, and %rd9 its double.
Analysed with(const std::string& text) {
  return {
      "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\n"
      "add.u32 %r3, %r2, %r1;\nsetp.lt.u32 %p1, %r2, 7;\nsetp.lt.u32 %p2, %r1, 7;\ncvt.u64.u32 %rd7, %r3;\n"
      "add.u64 %rd9, %rd7, %rd7;\nmul.lo.u32 %r9, %r3, %r3;\n" +
          text + "\nst.global.u32 [%rd8], %r1;",
      {128, 1, 1}};
}

int64_t stride(const std::string& text) {
  const Analysed k = with(text);
  int64_t found = 0;
  const bool is = k.facts().checked_affine.stride_of(k.facts().registers, k.store().address, &found);
  return is ? found : kNoStride;
}

TEST(CheckedAffine, FollowsFactorsAndStridesUpTo2To30) {
  constexpr int64_t kMost = int64_t{1} << 30;
  struct Row {
    const char* text;
    int64_t stride;
  };
  for (const Row& row : {
           Row{"mul.wide.u32 %rd8, %r3, 1073741824;", kMost},
           Row{"mul.wide.u32 %rd8, %r3, 1073741825;", kNoStride},
           Row{"mul.wide.s32 %rd8, %r3, 1073741824;", kMost},
           Row{"mul.wide.s32 %rd8, %r3, -1073741824;", -kMost},
           Row{"mul.wide.s32 %rd8, %r3, -1073741825;", kNoStride},
           Row{"mul.wide.s32 %rd8, %r3, 4294967295;", -1},
           Row{"mul.wide.u32 %rd8, %r3, 4294967295;", kNoStride},
           Row{"mul.wide.u32 %rd8, %r9, 4;", kNoStride},
           Row{"mul.wide.u32 %rd8, %r3, %r1;", kNoStride},
           Row{"mul.wide.u32 %rd8, %r3, 0;", 0},
           Row{"mad.wide.u32 %rd8, %r3, 4, %rd7;", 5},
           Row{"mad.wide.s32 %rd8, %r3, -4, %rd7;", -3},
           Row{"mad.wide.u32 %rd8, %r3, 1073741824, %rd2;", kMost},
           Row{"mad.wide.u32 %rd8, %r3, 1073741824, %rd7;", kNoStride},
           Row{"mad.wide.s32 %rd8, %r3, -1073741824, %rd7;", -kMost + 1},
           Row{"cvt.u64.u32 %rd10, %r9;\nmad.wide.u32 %rd8, %r3, 4, %rd10;", kNoStride},
           Row{"mul.lo.u32 %r4, %r3, 1073741824;\nmul.wide.u32 %rd8, %r4, 1;", kMost},
           Row{"mul.lo.u32 %r4, %r3, 1073741825;\nmul.wide.u32 %rd8, %r4, 0;", kNoStride},
           Row{"mul.lo.u32 %r4, %r3, -1073741824;\nmul.wide.u32 %rd8, %r4, 1;", -kMost},
           Row{"mul.lo.u32 %r4, %r3, -1073741825;\nmul.wide.u32 %rd8, %r4, 0;", kNoStride},
           Row{"cvt.u64.u32 %rd8, %r9;", kNoStride},
           Row{"cvt.s64.s32 %rd8, %r3;", 1},
           Row{"shl.b64 %rd8, %rd7, 30;", kMost},
           Row{"shl.b64 %rd8, %rd7, 31;", kNoStride},
           Row{"shl.b64 %rd8, %rd9, 29;", kMost},
           Row{"shl.b64 %rd8, %rd9, 30;", kNoStride},
           Row{"neg.s64 %rd8, %rd7;", kNoStride},
           Row{"sub.u64 %rd10, %rd2, %rd7;\nshl.b64 %rd8, %rd10, 30;", -kMost},
           Row{"sub.u64 %rd10, %rd2, %rd9;\nshl.b64 %rd8, %rd10, 30;", kNoStride},
           Row{"shl.b64 %rd8, %rd7, %r1;", kNoStride},
           Row{"shl.b64 %rd10, %rd7, 30;\nshl.b64 %rd8, %rd10, 0;", kMost},
           Row{"mul.lo.u64 %rd8, %rd7, 1073741824;", kMost},
           Row{"mul.lo.u64 %rd8, %rd7, 1073741825;", kNoStride},
           Row{"mul.lo.u64 %rd8, %rd7, -1;", kNoStride},
           Row{"mul.lo.u64 %rd8, %rd7, %rd2;", kNoStride},
           Row{"mul.lo.u64 %rd8, %rd7, %rd7;", kNoStride},
           Row{"shl.b64 %rd10, %rd7, 30;\nmul.lo.u64 %rd8, %rd10, 1;", kMost},
           Row{"shl.b64 %rd10, %rd7, 30;\nadd.u64 %rd8, %rd10, %rd2;", kMost},
           Row{"shl.b64 %rd10, %rd7, 30;\nadd.u64 %rd8, %rd10, %rd7;", kNoStride},
           Row{"shl.b64 %rd10, %rd7, 30;\nsub.u64 %rd8, %rd2, %rd10;", -kMost},
           Row{"shl.b64 %rd10, %rd7, 30;\nsub.u64 %rd11, %rd2, %rd10;\nsub.u64 %rd8, %rd11, %rd7;", kNoStride},
           Row{"mov.b64 %rd8, %rd9;", 2},
           Row{"and.b64 %rd8, %rd7, -16;", kNoStride},
           Row{"cvt.u64.u32 %rd10, %r9;\nadd.u64 %rd8, %rd7, %rd10;", kNoStride},
           Row{"cvt.u64.u32 %rd10, %r9;\nsub.u64 %rd8, %rd10, %rd7;", kNoStride},
           Row{"cvt.u64.u32 %rd10, %r9;\nmov.b64 %rd8, %rd10;", kNoStride},
       })
    EXPECT_EQ(stride(row.text), row.stride) << row.text;
}

// Whatever else writes the register takes its stride away, and that of all that is computed of it.
TEST(CheckedAffine, AnotherDefinitionTakesTheStrideAway) {
  struct Row {
    const char* text;
    int64_t stride;
  };
  for (const Row& row : {
           Row{"mov.b64 %rd8, %rd7;\n@%p2 bra L;\nmov.b64 %rd8, %rd7;\nL:", 1},
           Row{"mov.b64 %rd8, %rd7;\n@%p2 bra L;\nmov.b64 %rd8, %rd9;\nL:", kNoStride},
           Row{"mov.b64 %rd8, %rd7;\n@%p2 mov.b64 %rd8, %rd7;", kNoStride},
           Row{"mov.b64 %rd8, %rd7;\n@%p1 bra L;\nmov.b64 %rd8, %rd7;\nL:", kNoStride},
           Row{"@%p1 bra L;\nmov.b64 %rd10, %rd7;\nst.global.u32 [%rd10], %r2;\nL:", 1},
           Row{"mov.b64 %rd8, %rd7;\n@%p2 bra L;\nld.global.u64 %rd8, [%rd1];\nL:", kNoStride},
           Row{"mov.b64 %rd8, %rd7;\n@%p2 bra L;\natom.global.add.u64 %rd8, [%rd1], 1;\nL:", kNoStride},
           Row{"mov.b64 %rd10, %rd7;\n@%p2 bra L;\nld.global.u64 %rd10, [%rd1];\nL:\nadd.u64 %rd8, %rd10, %rd2;",
               kNoStride},
           Row{"mov.b64 %rd8, %rd7;\n@%p2 bra L;\nand.b64 %rd8, %rd7, 12;\nL:", kNoStride},
       })
    EXPECT_EQ(stride(row.text), row.stride) << row.text;
}

// Results of arithmetic that makes NaNs, copies of them, and numbers that are none.
TEST(AnyNan, WhateverElseWritesTheRegisterTakesItAway) {
  struct Row {
    const char* text;
    bool any;
  };
  for (const Row& row : {
           Row{"add.f32 %f8, %f2, %f2;", true},
           Row{"mov.f32 %f8, %f2;", true},
           Row{"mov.b32 %f8, %f2;", true},
           Row{"mov.f32 %f8, %f1;", false},
           Row{"mov.f32 %f8, 0f7f800000;", true},
           Row{"mov.f32 %f8, 0fff800000;", true},
           Row{"mov.f32 %f8, 0f7f800001;", false},
           Row{"mov.f32 %f8, 0fff800001;", false},
           Row{"mov.f32 %f8, 0f00000000;", true},
           Row{"mov.f32 %f8, %f2;\n@%p2 bra L;\nmov.f32 %f8, %f2;\nL:", true},
           Row{"mov.f32 %f8, %f2;\n@%p2 bra L;\nmov.f32 %f8, %f1;\nL:", false},
           Row{"mov.f32 %f8, %f2;\n@%p2 bra L;\nld.global.f32 %f8, [%rd1];\nL:", false},
           Row{"mov.f32 %f8, %f2;\n@%p2 bra L;\natom.global.add.f32 %f8, [%rd1], %f2;\nL:", false},
           Row{"mov.f32 %f7, %f2;\n@%p2 bra L;\nld.global.f32 %f7, [%rd1];\nL:\nmov.f32 %f8, %f7;", false},
           Row{"mov.f32 %f8, %f2;\n@%p2 bra L;\nshfl.sync.idx.b32 %f8, %f2, 0, 31, -1;\nL:", false},
           Row{"neg.f32 %f8, %f2;", true},
           Row{"add.rz.f32 %f8, %f2, %f2;", false},
           Row{"bra B;\nA:\nmov.f32 %f8, %f7;\nbra C;\nB:\nld.global.f32 %f7, [%rd1];\nbra A;\nC:", false},
           Row{"bra B;\nA:\nmov.f32 %f8, %f7;\nbra C;\nB:\nadd.f32 %f7, %f2, %f2;\nbra A;\nC:", true},
       }) {
    const Analysed k = with("ld.global.f32 %f1, [%rd1];\nadd.f32 %f2, %f1, %f1;\nmov.b64 %rd8, %rd1;\n" +
                            std::string(row.text) + "\nst.global.f32 [%rd2], %f8;");
    EXPECT_EQ(k.facts().any_nan[k.store().values[0].reg], row.any) << row.text;
  }
}

}  // namespace
}  // namespace coalesce::native::test
