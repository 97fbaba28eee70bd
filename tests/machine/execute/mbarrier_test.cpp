// mbarrier objects: phases, what programs wait for, and that a waiting warp lets the others run.
#include "harness.h"

namespace coalesce::machine::test {

namespace mbarriers {

std::string with_object(const std::string& body) {
  return kernel(".param .u64 p",
                ".shared .align 8 .b64 B;\n.shared .align 4 .b32 S[256];\nld.param.u64 %rd1, [p];\nmov.u32 %r1, "
                "%tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd3, %rd1, %rd2;\nmov.u32 %r10, 0;\n" +
                    body + "st.global.u32 [%rd3], %r10;\n");
}
Shape threads(uint32_t n) {
  Shape s;
  s.block = {n, 1, 1};
  return s;
}
const std::string kTest =
    "mbarrier.test_wait.parity.shared::cta.b64 %p1, [B], 0;\nselp.u32 %r2, 1, 0, %p1;\nshl.b32 %r10, %r10, "
    "1;\nor.b32 %r10, %r10, %r2;\n";

// One thread, each step looked at: bits of the result, the first step's highest.
TEST(Mbarrier, PhasesEndWithTheLastArrivalAndTheLastByte) {
  const std::vector<std::pair<std::string, uint32_t>> steps = {
      {"mbarrier.init.shared::cta.b64 [B], 3;\n", 0},
      {"mbarrier.arrive.shared::cta.b64 %rd9, [B];\n", 0},
      {"mbarrier.arrive.release.cta.shared::cta.b64 _, [B], 2;\n", 1},  // phase 0 has ended
      {"mbarrier.arrive.shared.b64 _, [B], 3;\n", 0},                   // phase 1, of parity 1, too
      {"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [B], 64;\n", 0},
      {"mbarrier.arrive.shared.b64 _, [B], 2;\n", 0},
      {"mbarrier.arrive.expect_tx.shared.b64 _, [B], 16;\n", 0},  // arrivals are complete, bytes are not
      {"mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [B], 48;\n", 0},
      {"mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [B], 32;\n", 1},  // phase 2
      {"mbarrier.arrive_drop.shared.b64 _, [B];\nmbarrier.arrive.shared.b64 _, [B], 2;\n",
       0},                                                // phase 3, the next has 2
      {"cp.async.mbarrier.arrive.shared.b64 [B];\n", 0},  // comes and goes
      {"cp.async.mbarrier.arrive.noinc.shared.b64 [B];\n", 0},
      {"mbarrier.arrive.noComplete.shared.b64 %rd8, [B], 1;\n", 1}};  // phase 4
  std::string text;
  uint32_t expected = 0;
  for (const auto& [code, ended] : steps) {
    text += code + kTest;
    expected = expected << 1 | ended;
  }
  const Ran r =
      run(with_object("setp.eq.u32 %p3, %r1, 0;\n@!%p3 bra END;\n" + text +
                      "mbarrier.pending_count.b64 %r5, %rd8;\nshl.b32 %r5, %r5, 16;\nor.b32 %r10, %r10, %r5;\nEND:\n"),
          {zeros<uint32_t>(32)});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  EXPECT_EQ(r.read()[0], expected | 1 << 16) << "one arrival was pending before the last";
  EXPECT_EQ(r.counters().shared_atomic_requests, 0);
}

// Counts in registers are those of constants.
TEST(Mbarrier, CountsInRegisters) {
  for (const bool constant : {true, false}) {
    const std::string three = constant ? "3" : "%r5", two = constant ? "2" : "%r6";
    const Ran r = run(with_object("ld.volatile.shared.u32 %r7, [S];\nadd.u32 %r5, %r7, 3;\nadd.u32 %r6, %r7, 2;\n"
                                  "setp.ne.u32 %p3, %r1, 0;\n@%p3 bra END;\nmbarrier.inval.shared.b64 [B];\n"
                                  "mbarrier.init.shared.b64 [B], " +
                                  three + ";\nmbarrier.arrive.shared.b64 _, [B], " + two +
                                  ";\nmbarrier.arrive.noComplete.shared.b64 %rd8, [B], 1;\n"
                                  "mbarrier.pending_count.b64 %r10, %rd8;\nEND:\n"),
                      {zeros<uint32_t>(32)});
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    EXPECT_EQ(r.read()[0], 1u) << constant;
  }
}

// Warp 0 waits in a loop for what the others store before they arrive.
TEST(Mbarrier, AWaitingWarpLetsOthersRun) {
  const Ran r =
      run(with_object("setp.ne.u32 %p1, %r1, 0;\n@%p1 bra READY;\nmbarrier.init.shared.b64 [B], 96;\nREADY:\nbar.sync "
                      "0;\nshl.b32 %r3, %r1, 2;\nmov.u32 %r4, S;\nadd.u32 %r4, %r4, %r3;\nsetp.lt.u32 %p1, %r1, 32;\n"
                      "@%p1 bra WAIT;\nst.shared.u32 [%r4], %r1;\nmbarrier.arrive.release.cta.shared.b64 _, [B];\n"
                      "bra.uni END;\nWAIT:\nmbarrier.try_wait.parity.acquire.cta.shared.b64 %p2, [B], 0, 1000;\n"
                      "@!%p2 bra WAIT;\nld.shared.u32 %r10, [%r4+384];\nEND:\n"),
          {zeros<uint32_t>(128)}, threads(128));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.read()[i], 96 + i);
}

// As cuda::barrier's arrive_and_wait: a state, then a wait for its phase; several rounds.
TEST(Mbarrier, StatesOfRounds) {
  const Ran r = run(
      with_object("setp.ne.u32 %p1, %r1, 0;\n@%p1 bra READY;\nmbarrier.init.shared.b64 [B], 64;\nREADY:\nbar.sync "
                  "0;\nshl.b32 %r3, %r1, 2;\nmov.u32 %r4, S;\nadd.u32 %r5, %r4, %r3;\nxor.b32 %r6, %r3, 128;\n"
                  "add.u32 %r6, %r4, %r6;\nmov.u32 %r7, 0;\nmov.u32 %r10, %r1;\nROUND:\nst.shared.u32 [%r5], %r10;\n"
                  "mbarrier.arrive.shared.b64 %rd4, [B];\nW1:\nmbarrier.test_wait.shared.b64 %p2, [B], %rd4;\n"
                  "@!%p2 bra W1;\nld.shared.u32 %r8, [%r6];\nadd.u32 %r10, %r8, 1;\n"
                  "mbarrier.arrive.shared.b64 %rd4, [B];\nW2:\nmbarrier.test_wait.shared.b64 %p2, [B], %rd4;\n"
                  "@!%p2 bra W2;\nadd.u32 %r7, %r7, 1;\nsetp.lt.u32 %p1, %r7, 5;\n@%p1 bra ROUND;\n"),
      {zeros<uint32_t>(64)}, threads(64));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(r.read()[i], (i ^ 32) + 5);
}

// Eight warps, twenty phases. The last arrival of a phase comes while the other warps have read the object once; each
// warp then reads it once more. A warp alone at the block's beginning may read it as often as it likes before it first
// hands over: that is what the bound has left, one phase's reads.
TEST(Mbarrier, AWaitThatFailsEndsTheWarpsTurn) {
  constexpr uint32_t kWarps = 8, kPhases = 20, kReads = 3;  // instructions of the loop that reads: wait, add, branch
  const Ran r =
      run(with_object("setp.ne.u32 %p1, %r1, 0;\n@%p1 bra READY;\nmbarrier.init.shared.b64 [B], 256;\nREADY:\n"
                      "bar.sync 0;\nmov.u32 %r7, 0;\nROUND:\nmbarrier.arrive.shared.b64 %rd4, [B];\nW:\n"
                      "mbarrier.test_wait.shared.b64 %p2, [B], %rd4;\nadd.u32 %r8, %r8, 1;\n@!%p2 bra W;\n"
                      "add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p1, %r7, 20;\n@%p1 bra ROUND;\nmov.u32 %r10, %r7;\n"),
          {zeros<uint32_t>(32 * kWarps)}, threads(32 * kWarps));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (const uint32_t rounds : r.read()) EXPECT_EQ(rounds, kPhases);
  const uint64_t around = kWarps * (16 + kPhases * 4);
  EXPECT_LE(r.counters().instructions, around + kReads * kWarps * 2 * (kPhases + 1));
}

// As libcu++'s tests of arrive_tx: thread 0 makes the object anew after its wait. Hardware wakes all that wait.
TEST(Mbarrier, AllThatWaitSeeThePhasesEndBeforeOneGoesOn) {
  Shape s = threads(256);
  s.max_instructions = 100'000;
  s.in_order = true;
  const Ran r =
      run(with_object("setp.ne.u32 %p1, %r1, 0;\n@%p1 bra READY;\nmbarrier.init.shared.b64 [B], 256;\nREADY:\n"
                      "bar.sync 0;\nmbarrier.arrive.expect_tx.shared.b64 %rd4, [B], 1;\n"
                      "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [B], 1;\nW:\n"
                      "mbarrier.try_wait.shared.b64 %p2, [B], %rd4;\n@!%p2 bra W;\n@%p1 bra DONE;\n"
                      "mbarrier.init.shared.b64 [B], 512;\nDONE:\nbar.sync 0;\nmov.u32 %r10, 1;\n"),
          {zeros<uint32_t>(256)}, s);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (const uint32_t done : r.read()) EXPECT_EQ(done, 1u);
}

}  // namespace mbarriers
}  // namespace coalesce::machine::test
