// Values that are affine over lanes unless they wrap, and over warps; and whose checks that hoists.
#include "native/analyse/warp_affine.h"
#include "tests/native/analyse/decoded.h"

namespace coalesce::native::test {
namespace {

// in[(threadIdx.x + n) STRIDE] to out[threadIdx.x + n], in 32-bit arithmetic: may wrap.
std::string copy(const std::string& index, const std::string& before = "", const std::string& after = "") {
  return R"(
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    add.u32 %r3, %r2, %r1;
    )" + before +
         index + R"(
    mul.wide.u32 %rd3, %r4, 4;
    add.u64 %rd4, %rd1, %rd3;
    ld.global.u32 %r5, [%rd4];
    mul.wide.u32 %rd5, %r3, 4;
    add.u64 %rd6, %rd2, %rd5;
    st.global.u32 [%rd6], %r5;
    )" + after;
}
const std::string kSame = "mov.u32 %r4, %r3;";

TEST(CheckedAffine, AddressesThatMayWrap) {
  const auto stride_of = [](const Analysed& k, const MemoryOp& m, int64_t* stride) {
    return k.facts().checked_affine.stride_of(k.facts().registers, m.address, stride);
  };
  int64_t stride = 0;
  const Analysed same(copy(kSame), {128, 1, 1});
  ASSERT_EQ(same.program().registers[same.load().address.reg].lanes, LaneClass::general)
      << "nothing to check otherwise";
  ASSERT_TRUE(stride_of(same, same.load(), &stride));
  EXPECT_EQ(stride, 4);
  const Analysed third(copy("mul.lo.u32 %r4, %r3, 3;"), {128, 1, 1});
  ASSERT_TRUE(stride_of(third, third.load(), &stride));
  EXPECT_EQ(stride, 12);
  const Analysed squared(copy("mul.lo.u32 %r4, %r3, %r3;"), {128, 1, 1});
  EXPECT_FALSE(stride_of(squared, squared.load(), &stride));
  EXPECT_TRUE(stride_of(squared, squared.store(), &stride));
  // Values computed of an index that may wrap, in 64 bits; %rd7 is the index itself.
  for (const auto& [ptx, wanted] :
       {std::pair{"mov.b64 %rd8, %rd7;", 1}, std::pair{"shl.b64 %rd8, %rd7, 3;", 8},
        std::pair{"add.u64 %rd8, %rd7, %rd5;", 5}, std::pair{"sub.u64 %rd8, %rd7, %rd5;", -3},
        std::pair{"sub.u64 %rd8, %rd2, %rd7;", -1}, std::pair{"mul.lo.u64 %rd8, %rd7, 6;", 6},
        std::pair{"mad.wide.u32 %rd8, %r3, 2, %rd7;", 3}}) {
    const Analysed k(copy(kSame, "", "cvt.u64.u32 %rd7, %r3;\n" + std::string(ptx) + "\nst.global.u32 [%rd8], %r1;"),
                     {128, 1, 1});
    stride = 99;
    ASSERT_TRUE(stride_of(k, k.store(1), &stride)) << ptx;
    EXPECT_EQ(stride, wanted) << ptx;
  }
}

// A vote's result is one for the warp, and another for the next.
TEST(WarpAffine, NoResultOfAVote) {
  const Analysed k(copy("setp.gt.u32 %p1, %r2, 40;\nvote.sync.ballot.b32 %r4, %p1, -1;"), {128, 1, 1});
  const std::vector<bool> affine = find_warp_affine(k.facts().registers);
  const Instruction& vote = *k.all(machine::Kind::vote).at(0);
  ASSERT_TRUE(k.facts().registers.is_scalar(vote.results[0]));
  EXPECT_FALSE(affine[vote.results[0]]);
}

// A register with two definitions of different strides has none.
TEST(CheckedAffine, EveryDefinitionMustAgree) {
  const auto body = [](const char* other) {
    return copy("mov.u32 %r4, %r3;", "", "") + R"(
    setp.eq.u32 %p1, %r1, 5;
    @%p1 bra OTHER;
    mul.wide.u32 %rd7, %r3, 4;
    bra.uni LAST;
  OTHER:
    mul.wide.u32 %rd7, %r3, )" +
           other + R"(;
  LAST:
    add.u64 %rd8, %rd1, %rd7;
    st.global.u32 [%rd8], %r1;)";
  };
  for (const auto& [other, agrees] : {std::pair{"4", true}, std::pair{"8", false}}) {
    const Analysed k(body(other), {128, 1, 1});
    int64_t stride = 0;
    EXPECT_EQ(k.facts().checked_affine.stride_of(k.facts().registers, k.store(1).address, &stride), agrees) << other;
  }
}

TEST(WarpAffine, Builtins) {
  const auto step = [](std::array<uint32_t, 3> block, machine::Builtin b) {
    const Analysed k("st.global.u32 [%rd1], %r1;", block);
    const auto found = warp_affine_builtin(k.program(), b);
    return found ? static_cast<int>(found->second) : -1;
  };
  EXPECT_EQ(step({256, 1, 1}, machine::Builtin::tid_x), 32);
  EXPECT_EQ(step({32, 8, 1}, machine::Builtin::tid_x), 0);
  EXPECT_EQ(step({32, 8, 1}, machine::Builtin::tid_y), 1);
  EXPECT_EQ(step({16, 16, 1}, machine::Builtin::tid_x), -1);
  EXPECT_EQ(step({64, 4, 1}, machine::Builtin::tid_y), -1);
  EXPECT_EQ(step({32, 2, 2}, machine::Builtin::tid_y), -1);
}

// %warpid below 16, or 17: times 2^27 that is below 2^31, or is 2^31, which is no number of 31 bits.
TEST(WarpAffine, WidenedBelow31Bits) {
  for (const auto& [threads, widens] : {std::pair{512u, true}, {544u, false}})
    for (const char* const type : {"s64.s32", "u64.u32"}) {
      const Analysed k("mov.u32 %r1, %warpid;\nmul.lo.u32 %r2, %r1, 134217728;\ncvt." + std::string(type) +
                           " %rd2, %r2;\nld.param.u64 %rd1, [out];\nst.global.u64 [%rd1], %rd2;",
                       {threads, 1, 1});
      const std::vector<bool> affine = find_warp_affine(k.facts().registers);
      EXPECT_EQ(affine[k.store().values[0].reg], widens) << threads << " threads, " << type;
    }
}

TEST(HoistedChecks, OfAStraightCopy) {
  const Analysed k(copy(kSame), {128, 1, 1});
  ASSERT_NE(k.hoisted(), nullptr);
  std::vector<machine::Kind> accesses;
  for (const HoistedChecks::Action& a : k.hoisted()->actions)
    if (a.what == HoistedChecks::Action::What::access) accesses.push_back(k.program().code[a.instruction].kind);
  EXPECT_EQ(accesses, (std::vector{machine::Kind::load, machine::Kind::store}));
  EXPECT_EQ(k.hoisted()->branch, kNone);
}

TEST(HoistedChecks, NotWhereOneWarpIsAllOrLanesAreMissingOrAccessesMayFault) {
  EXPECT_EQ(Analysed(copy(kSame), {32, 1, 1}).hoisted(), nullptr);
  EXPECT_EQ(Analysed(copy(kSame), {100, 1, 1}).hoisted(), nullptr);
  EXPECT_EQ(Analysed(copy("mul.lo.u32 %r4, %r3, 3;"), {128, 1, 1}).hoisted(), nullptr) << "lanes 12 bytes apart";
  EXPECT_EQ(Analysed(copy(kSame, "ld.volatile.global.u32 %r9, [%rd1];"), {128, 1, 1}).hoisted(), nullptr);
}

// Atomics of shared memory that cannot fail, for all lanes.
TEST(HoistedChecks, BesideAnAtomic) {
  const auto with = [](const char* atomic) {
    return copy(kSame, ".shared .align 4 .b32 c[4];\nsetp.lt.u32 %p1, %r2, 7;\n" + std::string(atomic));
  };
  EXPECT_NE(Analysed(with("red.shared.add.u32 [c], 1;"), {128, 1, 1}).hoisted(), nullptr);
  EXPECT_EQ(Analysed(with("@%p1 red.shared.add.u32 [c], 1;"), {128, 1, 1}).hoisted(), nullptr);
  EXPECT_EQ(Analysed(with("red.shared.add.u32 [c+16], 1;"), {128, 1, 1}).hoisted(), nullptr) << "behind the array";
  EXPECT_EQ(Analysed(with("red.global.add.u32 [%rd1], 1;"), {128, 1, 1}).hoisted(), nullptr);
}

TEST(HoistedChecks, UnderABoundThatHoldsAtTheCorners) {
  struct Case {
    const char* test;
    bool is_signed;
    Order order;
  };
  for (const Case& c : {Case{"setp.ge.s32 %p1, %r3, %r1;\n@%p1 bra DONE;", true, Order::greater_equal},
                        Case{"setp.gt.u32 %p1, %r3, 99;\n@%p1 bra DONE;", false, Order::greater},
                        Case{"setp.lt.s32 %p1, %r3, %r1;\n@!%p1 bra DONE;", true, Order::less}}) {
    const Analysed k(copy(kSame, c.test, "DONE:\n"), {128, 1, 1});
    ASSERT_NE(k.hoisted(), nullptr) << c.test;
    ASSERT_NE(k.hoisted()->branch, kNone);
    EXPECT_FALSE(k.hoisted()->branch_taken);
    int tests = 0;
    for (const HoistedChecks::Action& a : k.hoisted()->actions)
      if (a.what == HoistedChecks::Action::What::test) {
        ++tests;
        EXPECT_EQ(a.order, c.order);
        EXPECT_EQ(a.is_signed, c.is_signed);
      }
    EXPECT_EQ(tests, 1);
  }
  // Equality holds for some lanes between the corners, whatever it does there.
  EXPECT_EQ(Analysed(copy(kSame, "setp.eq.s32 %p1, %r3, %r1;\n@%p1 bra DONE;", "DONE:\n"), {128, 1, 1}).hoisted(),
            nullptr);
}

}  // namespace
}  // namespace coalesce::native::test
