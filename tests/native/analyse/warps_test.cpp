// Values from warp to warp, rule by rule; where code is entered again; tiles at the edges of what pays.
#include <algorithm>

#include "native/analyse/warp_affine.h"
#include "tests/native/analyse/decoded.h"

namespace coalesce::native::test {
namespace {

// %r1 is the warp's number, %r2 a parameter, %r3 threadIdx.x; %r9 and %rd9 come from shared memory: of the warp, and of
// no form.
Analysed over_warps(const std::string& text, const char* result) {
  return {
      ".shared .align 8 .b8 c[16];\nmov.u32 %r1, %warpid;\nld.param.u32 %r2, [n];\nmov.u32 %r3, %tid.x;\n"
      "ld.param.u64 %rd1, [out];\nld.shared.u32 %r9, [c];\nld.shared.u64 %rd9, [c+8];\nsetp.lt.u32 %p2, %r2, 7;\n" +
          text + "\nst.global." + (result[2] == 'd' ? "u64" : "u32") + " [%rd1], " + result + ";",
      {128, 1, 1}};
}

TEST(WarpAffine, RuleByRule) {
  struct Row {
    const char* text;
    bool affine;
  };
  const auto check = [](const Row& row, const char* result) {
    const Analysed k = over_warps(row.text, result);
    const uint32_t r = k.store().values[0].reg;
    EXPECT_EQ(find_warp_affine(k.facts().registers)[r], row.affine) << row.text;
  };
  for (const Row& row : {
           Row{"add.u32 %r8, %r3, %r1;", true},
           Row{"add.u32 %r8, %r3, %r9;", false},
           Row{"add.u32 %r8, %r9, %r3;", false},
           Row{"sub.u32 %r8, %r3, %r1;", true},
           Row{"sub.u32 %r8, %r9, %r1;", false},
           Row{"sub.u32 %r8, %r1, %r9;", false},
           Row{"mov.u32 %r8, %r3;", true},
           Row{"mov.u32 %r8, %r9;", false},
           Row{"neg.s32 %r8, %r3;", true},
           Row{"neg.s32 %r8, %r9;", false},
           Row{"cvt.u64.u32 %rd5, %r3;\ncvt.u32.u64 %r8, %rd5;", true},
           Row{"cvt.u32.u64 %r8, %rd9;", false},
           Row{"shl.b32 %r8, %r3, 3;", true},
           Row{"shl.b32 %r8, %r1, 31;", true},
           Row{"shl.b32 %r8, %r1, 32;", false},
           Row{"shl.b32 %r8, %r1, %r2;", false},
           Row{"shl.b32 %r8, %r9, 3;", false},
           Row{"mul.lo.u32 %r8, %r1, %r2;", true},
           Row{"mul.lo.u32 %r8, %r2, %r1;", true},
           Row{"mul.lo.u32 %r8, %r1, %r1;", false},
           Row{"mul.lo.u32 %r8, %r2, %r9;", false},
           Row{"mul.lo.u32 %r8, %r9, %r2;", false},
           Row{"mad.lo.u32 %r8, %r1, %r2, %r3;", true},
           Row{"mad.lo.u32 %r8, %r2, %r1, %r3;", true},
           Row{"mad.lo.u32 %r8, %r1, %r1, %r3;", false},
           Row{"mad.lo.u32 %r8, %r1, %r2, %r9;", false},
           Row{"mad.lo.u32 %r8, %r9, %r2, %r3;", false},
           Row{"mad.lo.u32 %r8, %r2, %r9, %r3;", false},
           Row{"and.b32 %r8, %r1, 1;", false},
           Row{"and.b32 %r8, %r2, 1;", true},
           Row{"mov.u32 %r8, %r1;\n@%p2 mov.u32 %r8, %r1;", false},
           Row{"mov.u32 %r8, %r1;\n@%p2 bra L;\nmov.u32 %r8, %r1;\nL:", true},
           Row{"mov.u32 %r8, %r1;\n@%p2 bra L;\nld.shared.u32 %r8, [c];\nL:", false},
           Row{"bra B;\nA:\nmov.u32 %r8, %r7;\nbra C;\nB:\nand.b32 %r7, %r1, 2;\nbra A;\nC:", false},
           Row{"bra B;\nA:\nmov.u32 %r8, %r7;\nbra C;\nB:\nadd.u32 %r7, %r1, 2;\nbra A;\nC:", true},
       })
    check(row, "%r8");
  for (const Row& row : {
           Row{"cvt.u64.u32 %rd8, %r3;", true},
           Row{"cvt.s64.s32 %rd8, %r3;", true},
           Row{"cvt.u64.u32 %rd8, %r9;", false},
           Row{"mul.wide.u32 %rd8, %r3, 4;", true},
           Row{"mul.wide.u32 %rd8, %r1, 1073741824;", true},
           Row{"mul.wide.u32 %rd8, %r1, 1073741825;", false},
           Row{"mul.wide.s32 %rd8, %r1, -1073741824;", true},
           Row{"mul.wide.s32 %rd8, %r1, -1073741825;", false},
           Row{"mul.wide.u32 %rd8, %r1, 4294967295;", false},
           Row{"mul.wide.u32 %rd8, %r1, %r2;", false},
           Row{"mul.wide.u32 %rd8, %r9, 4;", false},
           Row{"mad.wide.u32 %rd8, %r3, 4, %rd1;", true},
           Row{"mad.wide.u32 %rd8, %r3, 4, %rd9;", false},
           Row{"mad.wide.u32 %rd8, %r1, 1073741825, %rd1;", false},
           Row{"mad.wide.u32 %rd8, %r9, 4, %rd1;", false},
           Row{"cvt.u64.u32 %rd5, %r3;\nadd.u64 %rd8, %rd5, %rd1;", true},
           Row{"cvt.u64.u32 %rd5, %r1;\nshl.b64 %rd8, %rd5, 63;", true},
           Row{"cvt.u64.u32 %rd5, %r1;\nshl.b64 %rd8, %rd5, 64;", false},
       })
    check(row, "%rd8");
}

TEST(WarpAffine, OfOtherBuiltins) {
  const auto step = [](std::array<uint32_t, 3> block, machine::Builtin b) {
    const Analysed k("st.global.u32 [%rd1], %r1;", block);
    const auto found = warp_affine_builtin(k.program(), b);
    if (found) EXPECT_EQ(found->first, 0u);
    return found ? static_cast<int>(found->second) : -1;
  };
  EXPECT_EQ(step({32, 1, 4}, machine::Builtin::tid_z), 1);
  EXPECT_EQ(step({32, 2, 4}, machine::Builtin::tid_z), -1);
  EXPECT_EQ(step({64, 1, 4}, machine::Builtin::tid_z), -1);
  EXPECT_EQ(step({32, 2, 4}, machine::Builtin::tid_x), 0);
  EXPECT_EQ(step({32, 2, 4}, machine::Builtin::warpid), 1);
  EXPECT_EQ(step({16, 2, 4}, machine::Builtin::laneid), 0);
  EXPECT_EQ(step({32, 2, 4}, machine::Builtin::ctaid_x), -1);
}

// A loop may be left to be charged wherever it comes back to, by a uniform branch or where lanes meet.
TEST(Entries, WhereLoopsComeBackTo) {
  const std::string begin =
      "mov.u32 %r1, %tid.x;\nld.param.u32 %r2, [n];\nld.param.u64 %rd1, [out];\nmov.u32 %r3, 0;\n"
      "setp.lt.u32 %p1, %r1, 7;\n";
  const auto entries = [](const Analysed& k) {
    std::vector<bool> found;
    for (const RegionFacts& r : k.facts().regions) found.push_back(r.may_begin);
    return found;
  };
  const Analysed uniform(begin +
                             "HEAD:\nst.global.u32 [%rd1], %r1;\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p2, %r3, %r2;\n"
                             "@%p2 bra HEAD;\nst.global.u32 [%rd1], %r2;",
                         {64, 1, 1});
  EXPECT_EQ(std::ranges::count(entries(uniform), true), 1);
  const Analysed met(begin +
                         "HEAD:\nadd.u32 %r3, %r3, 1;\nsetp.ge.u32 %p2, %r3, %r2;\n@%p2 bra LAST;\n"
                         "st.global.u32 [%rd1], %r1;\n@%p1 bra HEAD;\nst.global.u32 [%rd1+4], %r1;\nbra HEAD;\nLAST:\n"
                         "st.global.u32 [%rd1], %r2;",
                     {64, 1, 1});
  const std::vector<bool> found = entries(met);
  EXPECT_EQ(std::ranges::count(found, true), 1);
  bool after = false;
  for (std::size_t r = 0; r < found.size(); ++r) {
    const machine::Region& region = met.program().regions[r];
    if (!met.program().blocks[region.chain.back()].divergent_branch) continue;
    after = true;
    EXPECT_TRUE(found[met.program().region_of[region.after]]);
  }
  EXPECT_TRUE(after);
}

// Rows of 33 words, of which `rows` warps read a column each.
const Tile* tile_of(const Analysed& k) {
  const RegionFacts* r = k.region([](const RegionFacts& f) { return !f.tiles.empty(); });
  return r ? r->tiles.data() : nullptr;
}
Analysed columns(uint32_t rows, const std::string& more = "") {
  return {
      ".shared .align 4 .b32 s[1056];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r3, s;\n"
      "mad.lo.u32 %r4, %r2, 132, %r3;\nshl.b32 %r5, %r1, 2;\nadd.u32 %r6, %r4, %r5;\nst.shared.u32 [%r6], %r1;\n"
      "bar.sync 0;\nmad.lo.u32 %r7, %r1, 132, %r3;\nshl.b32 %r8, %r2, 2;\nadd.u32 %r9, %r7, %r8;\n"
      "ld.shared.u32 %r10, [%r9];\nld.param.u64 %rd1, [out];\nmad.lo.u32 %r11, %r2, 32, %r1;\n" +
          more + "mul.wide.u32 %rd2, %r11, 4;\nadd.u64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r10;\n",
      {32, rows, 1}};
}

TEST(Tiles, WhereHalfOfTheColumnsAreRead) {
  for (uint32_t rows = 2; rows <= 32; ++rows) {
    const uint32_t wanted = (rows + 15) / 16 * 16;  // columns, 16 at a time
    const Analysed k = columns(rows);
    const Tile* t = tile_of(k);
    ASSERT_EQ(t != nullptr, 2 * rows >= wanted) << rows;
    if (!t) continue;
    EXPECT_EQ(t->columns, wanted) << rows;
    EXPECT_EQ(t->reads, rows);
  }
}

TEST(Tiles, NotBesideWhatLanesDoTogether) {
  EXPECT_NE(tile_of(columns(32, "add.u32 %r12, %r1, 1;\n")), nullptr);
  for (const char* const more :
       {"vote.sync.any.pred %p1, %p2, -1;\n", "red.shared.add.u32 [s], 1;\n", "bar.warp.sync -1;\n",
        "shfl.sync.idx.b32 %r12, %r1, 0, 31, -1;\n", "st.shared.u32 [s], %r1;\n"})
    EXPECT_EQ(tile_of(columns(32, more)), nullptr) << more;
}

}  // namespace
}  // namespace coalesce::native::test
