// Facts about the shape of a region's code: idle warps, warps side by side, entries, tiles, accesses without checks.
#include "native/analyse/shared_access.h"
#include "tests/native/analyse/decoded.h"

namespace coalesce::native::test {
namespace {

using Form = IdleWarps::Form;

// A tree's step: lanes for which %p1 holds skip an addition in shared memory.
std::string tree(const std::string& question) {
  return R"(
    .shared .align 4 .b32 s[256];
    mov.u32 %r1, %tid.x;
    ld.param.u32 %r2, [n];
    shl.b32 %r3, %r1, 2;
    mov.u32 %r4, s;
    add.u32 %r5, %r4, %r3;
    st.shared.u32 [%r5], %r1;
    bar.sync 0;
    )" + question +
         R"(
    @%p1 bra NEXT;
    mov.u32 %r11, %tid.x;
    shl.b32 %r12, %r11, 2;
    add.u32 %r13, %r4, %r12;
    ld.shared.u32 %r6, [%r13];
    add.u32 %r6, %r6, 1;
    st.shared.u32 [%r13], %r6;
  NEXT:
    bar.sync 0;)";
}
Form idle(const std::string& question, std::array<uint32_t, 3> block = {256, 1, 1}) {
  return Analysed(tree(question), block).idle();
}

TEST(IdleWarps, FollowFromTheQuestion) {
  EXPECT_EQ(idle("setp.ge.u32 %p1, %r1, %r2;"), Form::below);
  EXPECT_EQ(idle("setp.gt.s32 %p1, %r1, 5;"), Form::below);
  EXPECT_EQ(idle("mul.lo.u32 %r9, %r1, %r2;\nsetp.ge.u32 %p1, %r9, 256;"), Form::product_below);
  EXPECT_EQ(idle("rem.u32 %r9, %r1, %r2;\nsetp.ne.u32 %p1, %r9, 0;"), Form::periodic);
  EXPECT_EQ(idle("and.b32 %r9, %r1, %r2;\nsetp.ne.s32 %p1, %r9, 0;"), Form::masked);
  EXPECT_EQ(idle("and.b32 %r9, %r1, %r2;\nsetp.ne.b32 %p1, %r9, 0;"), Form::masked);
}

TEST(IdleWarps, NotOtherwise) {
  EXPECT_EQ(idle("setp.lt.u32 %p1, %r1, %r2;"), Form::none) << "the last warps work";
  EXPECT_EQ(idle("setp.ge.f32 %p1, %r1, 0f00000005;"), Form::none) << "bits of a real number";
  EXPECT_EQ(idle("rem.u32 %r9, %r1, %r2;\nsetp.ne.u32 %p1, %r9, 1;"), Form::none) << "a remainder of 1";
  EXPECT_EQ(idle("add.u32 %r9, %r1, %r2;\nsetp.ge.u32 %p1, %r9, 100;"), Form::none) << "may wrap";
  EXPECT_EQ(idle("setp.ge.u32 %p1, %r1, %r2;", {16, 16, 1}), Form::none) << "threadIdx.x alone is no thread's number";
  EXPECT_EQ(idle("st.shared.u32 [%r5], %r2;\nsetp.ge.u32 %p1, %r1, %r2;"), Form::none) << "every warp stores";
}

TEST(IdleWarps, NotWhereOthersReadWhatTheQuestionComputes) {
  std::string text = tree("and.b32 %r9, %r1, %r2;\nsetp.ne.s32 %p1, %r9, 0;");
  const std::string one = "add.u32 %r6, %r6, 1;";
  for (const std::string reads : {"add.u32 %r6, %r6, %r9;", "st.shared.u32 [%r5], %r9;", "@%p1 add.u32 %r6, %r6, 1;"}) {
    std::string other = text;
    other.replace(other.find(one), one.size(), reads);
    EXPECT_EQ(Analysed(other, {256, 1, 1}).idle(), Form::none) << reads;
  }
}

// Both sides of a branch, one such branch after another, one within another: all are one region's native code.
TEST(Plans, OfBranchesWithTwoSides) {
  const auto branch = [](const std::string& n, const std::string& inner = "") {
    return "setp.lt.u32 %p" + n + ", %r1, " + n + ";\n@%p" + n + " bra A" + n + ";\nadd.u32 %r2, %r2, %r1;\n" + inner +
           "bra B" + n + ";\nA" + n + ":\nmul.lo.u32 %r2, %r1, %r1;\nB" + n + ":\nadd.u32 %r2, %r2, 1;\n";
  };
  for (const std::string& body : {branch("1"), branch("1") + branch("2"), branch("1", branch("2")),
                                  branch("1", branch("2") + branch("3")) + branch("4")}) {
    const Analysed k("ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\n" + body +
                         "mul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r2;",
                     {256, 1, 1});
    ASSERT_EQ(k.facts().regions.size(), 1u) << body;
    EXPECT_TRUE(k.facts().regions[0].plan.native) << body;
  }
}

// The interpreter's handler fetches texels and writes surfaces; what is around it is native code, in loops as well.
TEST(Plans, OfTextureFetches) {
  const Analysed k(R"(
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, 0;
    mov.f32 %f7, 0f00000000;
  LOOP:
    cvt.rn.f32.u32 %f5, %r1;
    cvt.rn.f32.u32 %f6, %r2;
    tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}];
    suld.b.2d.b32.trap %r4, [%rd1, {%r1, %r2}];
    fma.rn.f32 %f7, %f1, %f7, %f2;
    sust.b.2d.b32.trap [%rd1, {%r1, %r2}], %r4;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, %r1;
    @%p1 bra LOOP;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.f32 [%rd3], %f7;)",
                   {256, 1, 1});
  ASSERT_EQ(k.facts().regions.size(), 1u);
  EXPECT_TRUE(k.facts().regions[0].plan.native);
}

// A sum over shared memory, which warps may do in any order.
std::string sum(const std::string& more) {
  return R"(
    .shared .align 4 .b32 s[1024];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, s;
    add.u32 %r4, %r3, %r2;
    st.shared.f32 [%r4], %f1;
    mov.u32 %r7, 0;
    bar.sync 0;
  LOOP:
    ld.shared.f32 %f2, [%r4];
    fma.rn.f32 %f1, %f2, %f2, %f1;
    )" + more +
         R"(
    add.u32 %r7, %r7, 1;
    setp.lt.u32 %p1, %r7, 100;
    @%p1 bra LOOP;
    ld.param.u64 %rd1, [out];
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.f32 [%rd3], %f1;)";
}
uint32_t at_once(const Analysed& k) {
  uint32_t most = 0;
  for (const RegionFacts& r : k.facts().regions) most = std::max(most, r.warps_at_once);
  return most;
}

TEST(WarpsAtOnce, AsManyAsRegistersHold) {
  EXPECT_EQ(at_once(Analysed(sum(""), {256, 1, 1})), 4u);
  EXPECT_EQ(at_once(Analysed(sum(""), {64, 1, 1})), 2u) << "no more warps";
  EXPECT_EQ(at_once(Analysed(sum(""), {256, 1, 1}, 4096)), 2u) << "32 lanes of 4 bytes in half of the registers";
  EXPECT_EQ(at_once(Analysed(sum(""), {256, 1, 1}, 2048)), 0u);
}

TEST(WarpsAtOnce, NotWhereTheirOrderShows) {
  EXPECT_EQ(at_once(Analysed(sum("st.shared.f32 [%r4], %f1;"), {256, 1, 1})), 0u);
  EXPECT_EQ(at_once(Analysed(sum("ld.volatile.shared.f32 %f3, [%r4];"), {256, 1, 1})), 0u);
}

// A barrier with a result is the interpreter's: code begins again behind it.
TEST(Entries, BehindWhatIsInterpreted) {
  const Analysed k(R"(
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 5;
    barrier.red.popc.u32 %r2, 0, %p1;
    ld.param.u64 %rd1, [out];
    st.global.u32 [%rd1], %r2;)",
                   {64, 1, 1});
  ASSERT_EQ(k.facts().regions.size(), 2u);
  EXPECT_FALSE(k.facts().regions[0].plan.native);
  EXPECT_FALSE(k.facts().regions[0].may_begin);
  EXPECT_TRUE(k.facts().regions[1].plan.native);
  EXPECT_TRUE(k.facts().regions[1].may_begin);
}

// Read by columns, `words` apart, by as many warps as the block has.
std::string transpose(uint32_t words, const std::string& more = "") {
  const std::string row = std::to_string(4 * words);
  return ".shared .align 4 .b32 s[" + std::to_string(32 * words) +
         "];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r3, s;\nmad.lo.u32 %r4, %r2, " + row +
         ", %r3;\nshl.b32 %r5, %r1, 2;\nadd.u32 %r6, %r4, %r5;\nst.shared.u32 [%r6], %r1;\nbar.sync 0;\n" + more +
         "mad.lo.u32 %r7, %r1, " + row +
         ", %r3;\nshl.b32 %r8, %r2, 2;\nadd.u32 %r9, %r7, %r8;\nld.shared.u32 %r10, [%r9];\n"
         "ld.param.u64 %rd1, [out];\nmad.lo.u32 %r11, %r2, 32, %r1;\nmul.wide.u32 %rd2, %r11, 4;\n"
         "add.u64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r10;\n";
}
const Tile* tile(const Analysed& k) {
  const RegionFacts* r = k.region([](const RegionFacts& f) { return !f.tiles.empty(); });
  return r ? r->tiles.data() : nullptr;
}

TEST(Tiles, ReadByColumns) {
  const Analysed k(transpose(33), {32, 32, 1});
  ASSERT_NE(tile(k), nullptr);
  EXPECT_EQ(tile(k)->reads, 32u);
  EXPECT_EQ(tile(k)->columns, 32u);
  EXPECT_EQ(tile(k)->last - tile(k)->first, 124);
  EXPECT_EQ(tile(Analysed(transpose(8), {32, 8, 1})), nullptr) << "rows of less than 16 words";
  EXPECT_EQ(tile(Analysed(transpose(33, "st.shared.u32 [%r6], %r2;\n"), {32, 32, 1})), nullptr) << "written meanwhile";
}

// Columns read behind a barrier are no tile of the region before it.
TEST(Tiles, OfTheirOwnRegion) {
  std::string text = transpose(33, "add.u32 %r20, %r1, 1;\n");
  const std::string read = "ld.shared.u32 %r10, [%r9];\n";
  text.insert(text.find(read), "bar.sync 0;\n");
  const Analysed k(text, {32, 32, 1});
  ASSERT_NE(tile(k), nullptr);
  EXPECT_EQ(tile(k)->reads, 32u);
  EXPECT_FALSE(k.facts().regions.back().tiles.empty());
}

TEST(SharedAccess, BoundsThatTheBlockProves) {
  const auto proven = [](uint32_t threads, const std::string& offset) {
    const Analysed k(
        ".shared .align 4 .b32 s[128];\nmov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\nmov.u32 %r3, s;\n"
        "add.u32 %r4, %r3, %r2;\nst.shared.u32 [%r4" +
            offset + "], %r1;",
        {threads, 1, 1});
    return in_bounds(k.program(), k.store());
  };
  EXPECT_TRUE(proven(128, ""));
  EXPECT_TRUE(proven(127, "+4"));
  EXPECT_FALSE(proven(128, "+4"));
  EXPECT_FALSE(proven(128, "-4"));
  EXPECT_FALSE(proven(64, "+2")) << "not aligned";
}

// 24 KB of memos of 192 bytes: 8 ways of 16 warps fill them at one address, 4 ways at two.
TEST(SharedAccess, WaysOfMemos) {
  const auto ways = [](uint32_t threads, const std::string& more) {
    const Analysed k(
        ".shared .align 4 .b32 s[1024];\nld.param.u64 %rd1, [in];\nmov.u32 %r1, %tid.x;\n"
        "mul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd3, %rd1, %rd2;\nld.global.u32 %r2, [%rd3];\n"
        "st.shared.u32 [%r2], %r1;\n" +
            more,
        {threads, 1, 1});
    return k.facts().memo_ways;
  };
  EXPECT_EQ(ways(512, ""), 8u);
  EXPECT_EQ(ways(512, "st.shared.u32 [%r2+4], %r1;"), 4u);
  EXPECT_EQ(ways(1024, ""), 4u);
}

}  // namespace
}  // namespace coalesce::native::test
