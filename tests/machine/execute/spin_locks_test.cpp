// Lanes that wait for lanes of their own warp.
#include "prologue.h"

namespace coalesce::machine::test {

namespace {

// Takes the lock at `place`, adds 1 to what follows it, releases it. Without turns for the lanes of a warp it never
// ends: who has the lock waits where all meet that have got it.
std::string locked_increment(const std::string& place) {
  return "TRY:\natom.global.cas.b32 %r60, [" + place + "], 0, 1;\nsetp.ne.u32 %p30, %r60, 0;\n@%p30 bra TRY;\n" +
         "ld.volatile.global.u32 %r61, [" + place + "+4];\nadd.u32 %r61, %r61, 1;\nst.volatile.global.u32 [" + place +
         "+4], %r61;\nmembar.gl;\natom.global.exch.b32 %r62, [" + place + "], 0;\n";
}

// Values computed before the lock survive it: values that the block shares (they move from scalars to vectors), the
// lanes' own ones, predicates; although registers that are needed only later share their vectors.
TEST(SpinLocks, KeepWhatWasComputedBefore) {
  constexpr uint32_t kValues = 6;
  std::string before, after, later, sum;
  for (uint32_t k = 0; k < kValues; ++k) {
    const std::string n = std::to_string(k);
    before += "add.u32 %r2" + n + ", %r2, " + n + "00;\n";                           // the block's
    before += "mad.lo.u32 %r3" + n + ", %r1, %r1, " + n + ";\n";                     // each lane's
    before += "mul.lo.u32 %r4" + n + ", %r1, " + std::to_string(k + 2) + ";\n";      // affine
    before += "setp.lt.u32 %p" + n + ", %r1, " + std::to_string(7 * k + 1) + ";\n";  // of lanes
    after += "add.u32 %r10, %r10, %r2" + n + ";\nadd.u32 %r10, %r10, %r3" + n + ";\nadd.u32 %r10, %r10, %r4" + n +
             ";\n@%p" + n + " add.u32 %r10, %r10, 1000000;\n";
    later += "xor.b32 %r5" + n + ", %r10, " + n + ";\nsetp.ne.u32 %p1" + n + ", %r5" + n + ", %r10;\n";
    sum += "@%p1" + n + " add.u32 %r10, %r10, %r5" + n + ";\n";
  }
  // Two more blocks of code, so that what is needed there is not local to one.
  const std::string body = before + locked_increment("%rd1+256") + "mov.u32 %r10, 0;\n" + after +
                           "setp.eq.u32 %p20, %r1, 99;\n" + later + "@%p20 bra NEVER;\n" + sum + "NEVER:\n";
  const Ran r = run(kernel(".param .u64 out, .param .u32 n",
                           "ld.param.u64 %rd1, [out];\nld.param.u32 %r2, [n];\nmov.u32 %r1, %tid.x;\n"
                           "mad.wide.u32 %rd3, %r1, 4, %rd1;\n" +
                               body + "st.global.u32 [%rd3], %r10;\n"),
                    {zeros<uint32_t>(66), value<uint32_t>(5)}, threads(32));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 32; ++i) {
    uint32_t x = 0;
    for (uint32_t k = 0; k < kValues; ++k) x += 5 + 100 * k + i * i + k + i * (k + 2) + (i < 7 * k + 1 ? 1000000 : 0);
    const uint32_t first = x;
    for (uint32_t k = 1; k < kValues; ++k) x += first ^ k;
    EXPECT_EQ(r.read()[i], x) << i;
  }
  EXPECT_EQ(r.read()[65], 32u);
}

// One warp waits at a barrier with what it votes while the lanes of another take turns.
TEST(SpinLocks, VotesOfWarpsThatWait) {
  const Ran r = run(
      with_prologue("setp.ge.u32 %p1, %r1, 8;\nadd.u32 %r5, %r1, 3;\nand.b32 %r5, %r5, 7;\n"
                    "@%p1 bra VOTE;\n" +
                    locked_increment("%rd1+256") + "VOTE:\nsetp.lt.u32 %p2, %r5, 3;\nbar.red.popc.u32 %r10, 0, %p2;\n"),
      {zeros<uint32_t>(66)}, threads(64));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(r.read()[i], 24u) << i;
  EXPECT_EQ(r.read()[65], 8u);
}

// Some lanes wait for one lock, others for another one behind it, which a lane holds that waits where they meet.
TEST(SpinLocks, OneBehindAnother) {
  const auto section = [](const std::string& retry, const std::string& lock) {
    return "and.b32 %r20, %r1, 3;\nmad.wide.u32 %rd10, %r20, 8, %rd1;\n" + retry +
           ":\natom.global.cas.b32 %r60, [%rd10+" + lock + "], 0, 1;\nsetp.ne.u32 %p30, %r60, 0;\n@%p30 bra " + retry +
           ";\nld.volatile.global.u32 %r61, [%rd10+132];\n"
           "add.u32 %r61, %r61, 1;\nst.volatile.global.u32 [%rd10+132], %r61;\nmembar.gl;\natom.global.exch.b32 %r62, "
           "[%rd10+" +
           lock + "], 0;\n";
  };
  Shape s = threads(32);
  s.max_instructions = 50'000'000;
  const Ran r =
      run(with_prologue("mov.u32 %r10, 0;\nand.b32 %r2, %r1, 6;\nsetp.gt.u32 %p1, %r2, 4;\n@%p1 bra SECOND;\n" +
                        section("FIRST", "128") + "SECOND:\n" + section("AGAIN", "128")),
          {zeros<uint32_t>(40)}, s);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t k = 0; k < 4; ++k) EXPECT_EQ(r.read()[33 + 2 * k], k < 2 ? 16u : 12u) << k;
}

// A branch by table, decided before others of the warp had their turn.
TEST(SpinLocks, SidesThatTakeTurnsKeepTheirTables) {
  const auto side = [](const std::string& name, const std::string& counter, const std::string& limit) {
    return name + ":\nld.volatile.global.u32 %r5, [%rd3];\nadd.u32 " + counter + ", " + counter +
           ", 1;\nsetp.ge.u32 %p2, " + counter + ", " + limit + ";\nselp.u32 %r6, 1, 0, %p2;\nT" + name +
           ": .branchtargets " + name + ", OUT;\nbrx.idx %r6, T" + name + ";\n";
  };
  const Ran r = run(with_prologue("mov.u32 %r10, 0;\nsetp.ge.u32 %p1, %r1, 16;\n@%p1 bra B;\n" +
                                  side("A", "%r10", "9001") + side("B", "%r10", "12001") + "OUT:\n"),
                    {zeros<uint32_t>(32)});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.read()[i], i < 16 ? 9001u : 12001u) << i;
}

}  // namespace

}  // namespace coalesce::machine::test
