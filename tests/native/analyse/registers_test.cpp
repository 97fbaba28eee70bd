// Facts about registers: values, NaNs, what a region leaves behind.
#include "native/analyse/nan.h"
#include "tests/native/analyse/decoded.h"

namespace coalesce::native::test {
namespace {

TEST(Registers, KnowValuesThatTheBlockFixes) {
  // tid.x of blocks of 32 x 8 threads: lane 0's is 0 in every warp; ntid.y is 8.
  const std::string body = R"(
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ntid.y;
    add.u32 %r3, %r1, %r2;
    mul.wide.u32 %rd1, %r3, 4;
    ld.param.u64 %rd2, [out];
    add.u64 %rd3, %rd2, %rd1;
    st.global.u32 [%rd3], %r2;)";
  const Analysed rows(body, {32, 8, 1});
  const Registers& r = rows.facts().registers;
  uint64_t bits = 0;
  ASSERT_TRUE(r.known(rows.store().values[0], &bits));
  EXPECT_EQ(bits, 8u);
  const Instruction* sum = nullptr;
  for (const Instruction* i : rows.all(machine::Kind::pure))
    if (i->pure->mnemonic == "add.u32") sum = i;
  ASSERT_NE(sum, nullptr);
  EXPECT_FALSE(r.known(sum->sources[0], &bits)) << "lanes differ";
  ASSERT_TRUE(r.known_base(sum->sources[0].reg, &bits));
  EXPECT_EQ(bits, 0u);
  EXPECT_EQ(r.computed_by(machine::Value::of(sum->results[0])), sum);
  // In a row of 64 threads a warp may begin with 0 or 32.
  const Analysed wide(body, {64, 1, 1});
  for (const Instruction* i : wide.all(machine::Kind::pure))
    if (i->pure->mnemonic == "add.u32") {
      EXPECT_FALSE(wide.facts().registers.known_base(i->sources[0].reg, &bits));
      EXPECT_TRUE(wide.facts().registers.is_thread_index(i->sources[0]));
    }
}

TEST(Registers, ReadBeforeTheyAreWritten) {
  const Analysed k(R"(
    ld.param.u32 %r1, [n];
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra SKIP;
    mov.u32 %r2, 7;
  SKIP:
    ld.param.u64 %rd1, [out];
    st.global.u32 [%rd1], %r2;)",
                   {32, 1, 1});
  const machine::Value& v = k.store().values[0];
  uint64_t bits = 0;
  EXPECT_TRUE(k.facts().registers.may_be_unset(v.reg));
  EXPECT_FALSE(k.facts().registers.known(v, &bits)) << "it is 7, or 0 where nothing has written it";
}

// A value of the warp, where lanes have parted.
TEST(Registers, KnowWhatOneBlockSetsForItself) {
  const Analysed k(R"(
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd1, [out];
    setp.lt.u32 %p1, %r1, 7;
    @%p1 bra SKIP;
    mov.u32 %r2, 7;
    st.global.u32 [%rd1], %r2;
  SKIP:
    st.global.u32 [%rd1+4], %r1;)",
                   {32, 1, 1});
  const machine::Value& v = k.store().values[0];
  ASSERT_EQ(k.program().registers[v.reg].lanes, LaneClass::warp_uniform);
  uint64_t bits = 0;
  ASSERT_TRUE(k.facts().registers.known(v, &bits));
  EXPECT_EQ(bits, 7u);
}

// The sum goes to arithmetic as it is and to memory as PTX's NaN; what is masked as bits is no result of arithmetic.
TEST(AnyNan, OnlyResultsOfSingleArithmetic) {
  const Analysed k(R"(
    ld.param.u64 %rd1, [in];
    ld.global.f32 %f1, [%rd1];
    add.f32 %f2, %f1, %f1;
    mul.f32 %f3, %f2, %f2;
    mov.b32 %r1, %f3;
    and.b32 %r2, %r1, 15;
    ld.param.u64 %rd2, [out];
    st.global.f32 [%rd2], %f2;
    st.global.u32 [%rd2+4], %r2;)",
                   {32, 1, 1});
  const std::vector<bool>& any = k.facts().any_nan;
  EXPECT_FALSE(any[k.load().values[0].reg]) << "memory may hold any bits";
  EXPECT_TRUE(any[k.store(0).values[0].reg]);
  EXPECT_FALSE(any[k.store(1).values[0].reg]);
}

TEST(RegionRegisters, LeaveWhatALaterRegionReads) {
  const Analysed k(R"(
    .shared .align 4 .b32 s[64];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, s;
    add.u32 %r4, %r3, %r2;
    st.shared.u32 [%r4], %r1;
    bar.sync 0;
    ld.shared.u32 %r5, [%r4];
    ld.param.u64 %rd1, [out];
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r5;)",
                   {64, 1, 1});
  ASSERT_EQ(k.facts().regions.size(), 2u);
  const uint32_t address = k.store(0).address.reg, loaded = k.load().values[0].reg;
  const RegionRegisters &first = k.facts().regions[0].registers, &second = k.facts().regions[1].registers;
  EXPECT_TRUE(first.written[address]);
  EXPECT_TRUE(first.left[address]);
  EXPECT_FALSE(first.written[loaded]);
  EXPECT_TRUE(second.read[address]);
  EXPECT_TRUE(second.written[loaded]);
  EXPECT_FALSE(second.left[loaded]);
}

// Lanes that part in a region's last block meet in the region behind it.
TEST(RegionRegisters, LeaveWhatLanesThatPartedReadWhereTheyMeet) {
  const Analysed k(R"(
    mov.u32 %r1, %tid.x;
    ld.param.u32 %r2, [n];
    mov.u32 %r3, 0;
    mov.u32 %r6, %r1;
    mov.u32 %r7, %r1;
    setp.lt.u32 %p1, %r1, 7;
    @%p1 bra LOOP;
    add.u32 %r6, %r6, %r1;
  LOOP:
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p2, %r3, %r2;
    @%p2 bra LOOP;
    ld.param.u64 %rd1, [out];
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r6;)",
                   {64, 1, 1});
  const RegionFacts& first = k.facts().regions.at(0);
  ASSERT_EQ(k.program().regions[0].after, k.program().regions[1].chain.front());
  EXPECT_TRUE(first.registers.left[k.store().values[0].reg]);
  for (const Instruction* i : k.all(machine::Kind::pure))
    if (i->pure->mnemonic == "mov.b32" && i->ptx_line == 12) EXPECT_FALSE(first.registers.left[i->results[0]]);
}

}  // namespace
}  // namespace coalesce::native::test
