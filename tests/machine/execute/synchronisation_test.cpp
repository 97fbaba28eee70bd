// Barriers, what lanes of a warp do together, and what can never go on.
#include <bit>

#include "prologue.h"
#include "tests/sanitized.h"

namespace coalesce::machine::test {

namespace {

// Arithmetic makes NaNs before a barrier, and behind it stands a loop in which lanes may wait for each other: what
// native code leaves for the interpreter there are the NaNs of PTX, not the CPU's.
TEST(Barriers, NaNsFromBeforeOne) {
  const Ran r = run(with_prologue("cvt.rn.f32.u32 %f1, %r1;\nmul.f32 %f2, %f1, 0f7F800000;\nsub.f32 %f3, %f2, %f2;\n"
                                  "mov.u32 %r6, 0;\nbar.sync 0;\nL:\nld.volatile.global.u32 %r5, [%rd3];\n"
                                  "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, %r1;\n@%p1 bra L;\n"
                                  "mov.b32 %r10, %f3;\n"),
                    {zeros<uint32_t>(64)}, threads(64));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(r.read()[i], 0x7fffffffu) << i;
}

TEST(Barriers, InAUniformLoop) {
  // Each round every thread takes its right neighbour's value.
  const Ran r = run(with_prologue(".shared .align 4 .b32 S[96];\nmov.u32 %r20, S;\nshl.b32 %r2, %r1, 2;\nadd.u32 %r21, "
                                  "%r20, %r2;\nadd.u32 %r3, %r1, 1;\nrem.u32 %r3, %r3, 96;\nshl.b32 %r3, %r3, 2;\n"
                                  "add.u32 %r22, %r20, %r3;\nmov.u32 %r10, %r1;\nmov.u32 %r4, 0;\nL:\nst.shared.u32 "
                                  "[%r21], %r10;\nbar.sync 0;\nld.shared.u32 %r10, [%r22];\nbar.sync 0;\n"
                                  "add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 10;\n@%p1 bra L;\n"),
                    {zeros<uint32_t>(96)}, threads(96));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 96; ++i) EXPECT_EQ(r.read()[i], (i + 10) % 96);
  EXPECT_EQ(r.counters().barriers, 3 * 20);
  EXPECT_EQ(r.counters().shared_load_requests, 30);
  EXPECT_EQ(r.counters().shared_load_wavefronts,
            30);  // the neighbour of lane 31 of the last warp is word 0: bank 0, as good as 32
  EXPECT_EQ(r.counters().divergent_branches, 0);
}

TEST(Barriers, InDivergentCodeWorkAndWarnOnce) {
  const Ran r = run(with_prologue("mov.u32 %r10, 1;\nsetp.lt.u32 %p1, %r1, 8;\n@%p1 bra A;\nbar.sync 0;\nadd.u32 %r10, "
                                  "%r10, 1;\nbra.uni END;\nA:\nbar.sync 0;\nadd.u32 %r10, %r10, 2;\nEND:\n"),
                    {zeros<uint32_t>(64)}, threads(64));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(r.read()[i], i < 8 ? 3 : 2);
  std::size_t warnings = 0;
  for (const Diagnostic& d : r.report.diagnostics) warnings += d.severity == Severity::warning;
  EXPECT_GE(warnings, 1u);  // one for each place
  EXPECT_LE(warnings, 2u);
}

// Lane 0 of warp 0 polls what warp 1 sets after a long while, so that the lanes waiting for it are let go; they meet
// again at the barrier, which is no divergent one.
TEST(Barriers, AfterALaneThatPolled) {
  const Ran r = run(with_prologue(".shared .align 4 .b32 S[2];\nmov.u32 %r20, S;\nsetp.eq.u32 %p1, %r1, 0;\n"
                                  "setp.ge.u32 %p2, %r1, 32;\n@%p2 bra SETTER;\n@%p1 bra POLL;\nbra.uni MEET;\n"
                                  "POLL:\nld.volatile.shared.u32 %r3, [%r20];\nsetp.eq.u32 %p3, %r3, 0;\n"
                                  "@%p3 bra POLL;\nbra.uni MEET;\nSETTER:\nmov.u32 %r4, 0;\nWAIT:\n"
                                  "ld.volatile.shared.u32 %r5, [%r20+4];\nadd.u32 %r4, %r4, 1;\n"
                                  "setp.lt.u32 %p4, %r4, 100000;\n@%p4 bra WAIT;\nst.volatile.shared.u32 [%r20], 7;\n"
                                  "MEET:\nbar.sync 0;\nld.shared.u32 %r10, [%r20];\nbar.sync 0;\n"
                                  "add.u32 %r10, %r10, %r1;\n"),
                    {zeros<uint32_t>(64)}, threads(64));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(r.read()[i], 7 + i);
  EXPECT_TRUE(r.report.diagnostics.empty()) << r.message();
}

// Undefined in CUDA, and common: a barrier that lanes pass by. An H200 lets those who are there go on once the others
// can do nothing but wait for them.
TEST(Barriers, InALoopThatLanesLeaveAtDifferentTimes) {
  // Lane t goes round t % 3 + 1 times, then adds what it left in shared memory.
  const Ran r = run(with_prologue(".shared .align 4 .b32 S[64];\nmov.u32 %r20, S;\nshl.b32 %r2, %r1, 2;\n"
                                  "add.u32 %r20, %r20, %r2;\nrem.u32 %r3, %r1, 3;\nmov.u32 %r4, 0;\nL:\n"
                                  "st.shared.u32 [%r20], %r4;\nbar.sync 0;\nadd.u32 %r4, %r4, 1;\n"
                                  "setp.le.u32 %p1, %r4, %r3;\n@%p1 bra L;\nld.shared.u32 %r5, [%r20];\n"
                                  "mad.lo.u32 %r10, %r4, 100, %r5;\n"),
                    {zeros<uint32_t>(64)}, threads(64));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(r.read()[i], (i % 3 + 1) * 100 + i % 3);
  ASSERT_EQ(r.report.diagnostics.size(), 1u);
  EXPECT_EQ(r.report.diagnostics[0].severity, Severity::warning);
}

TEST(Barriers, InAnIfThatSomeLanesSkip) {
  for (const char* limit : {"10", "40"}) {
    const Ran r = run(with_prologue("mov.u32 %r10, 1;\nsetp.ge.u32 %p1, %r1, " + std::string(limit) +
                                    ";\n@%p1 bra PAST;\nbar.sync 0;\nadd.u32 %r10, %r10, 1;\nPAST:\nbar.sync 0;\n"),
                      {zeros<uint32_t>(64)}, threads(64));
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(r.read()[i], i < std::stoul(limit) ? 2 : 1);
  }
}

TEST(Barriers, Reductions) {
  const Ran r = run(
      with_prologue(
          "setp.lt.u32 %p1, %r1, 40;\nsetp.lt.u32 %p2, %r1, 100;\nsetp.gt.u32 %p3, %r1, 100;\nbar.red.popc.u32 %r10, "
          "0, %p1;\n"
          "bar.red.and.pred %p4, 0, %p1;\nbar.red.and.pred %p5, 0, %p2;\nbar.red.or.pred %p6, 0, %p1;\nbar.red.or.pred "
          "%p7, 0, %p3;\n"
          "selp.u32 %r2, 1000, 0, %p4;\nselp.u32 %r3, 2000, 0, %p5;\nselp.u32 %r4, 4000, 0, %p6;\nselp.u32 %r5, 8000, "
          "0, %p7;\n"
          "add.u32 %r10, %r10, %r2;\nadd.u32 %r10, %r10, %r3;\nadd.u32 %r10, %r10, %r4;\nadd.u32 %r10, %r10, %r5;\n"),
      {zeros<uint32_t>(50)}, threads(50));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 50; ++i) EXPECT_EQ(r.read()[i], 40 + 2000 + 4000);
  EXPECT_EQ(r.counters().barriers, 2 * 5);
}

// A reduction in both sides of a branch: the predicate of the lanes that wait must outlive what the others run.
TEST(Barriers, ReductionInDivergentCode) {
  const Ran r =
      run(with_prologue("setp.lt.u32 %p1, %r1, 8;\n@%p1 bra A;\nadd.u32 %r2, %r1, 1;\nsetp.lt.u32 %p2, %r2, "
                        "20;\nbar.red.popc.u32 %r10, 0, %p2;\nbra.uni END;\n"
                        "A:\nadd.u32 %r3, %r1, 5;\nsetp.gt.u32 %p3, %r3, 100;\nbar.red.popc.u32 %r10, 0, %p3;\nEND:\n"),
          {zeros<uint32_t>(32)});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.read()[i], 11) << i;  // lanes 8..18
}

TEST(Barriers, NamedWithCounts) {
  // Warps 0 and 1 meet at barrier 1, warps 2 and 3 at barrier 2; warp 0 writes for 1, warp 3 for 2.
  const Ran r = run(
      with_prologue(".shared .align 4 .b32 S[2];\nmov.u32 %r2, S;\nsetp.lt.u32 %p1, %r1, 64;\nmov.u32 %r3, "
                    "%warpid;\n@!%p1 bra B;\nsetp.eq.u32 %p2, %r3, 1;\n@%p2 st.shared.u32 [%r2], 11;\nbar.sync 1, 64;\n"
                    "ld.shared.u32 %r10, [%r2];\nbra.uni END;\nB:\nsetp.eq.u32 %p3, %r3, 3;\n@%p3 st.shared.u32 "
                    "[%r2+4], 22;\nbar.sync 2, 64;\nld.shared.u32 %r10, [%r2+4];\nEND:\n"),
      {zeros<uint32_t>(128)}, threads(128));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(r.read()[i], i < 64 ? 11 : 22);
}

TEST(Barriers, ProducerArrivesConsumerWaits) {
  const Ran r =
      run(with_prologue(".shared .align 4 .b32 S[1];\nmov.u32 %r2, S;\nmov.u32 %r10, 5;\nsetp.lt.u32 %p1, %r1, "
                        "32;\n@%p1 bra CONSUMER;\nst.shared.u32 [%r2], 77;\nbar.arrive 1, 64;\nbra.uni END;\n"
                        "CONSUMER:\nbar.sync 1, 64;\nld.shared.u32 %r10, [%r2];\nEND:\n"),
          {zeros<uint32_t>(64)}, threads(64));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(r.read()[i], i < 32 ? 77 : 5);
}

TEST(Barriers, ExitedThreadsAreNotWaitedFor) {
  const Ran r = run(with_prologue("mov.u32 %r10, 3;\nsetp.ge.u32 %p1, %r1, 40;\n@%p1 exit;\nbar.sync 0;\n"),
                    {zeros<uint32_t>(96)}, threads(96));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 96; ++i) EXPECT_EQ(r.read()[i], i < 40 ? 3 : 0);
  EXPECT_EQ(r.counters().barriers, 2);
  EXPECT_TRUE(r.report.diagnostics.empty()) << r.message();
}

TEST(Deadlock, CountedBarrierThatNobodyCompletes) {
  const Ran r =
      run(with_prologue("setp.lt.u32 %p1, %r1, 32;\n@%p1 bra END;\nbar.sync 3, 64;\nEND:\nmov.u32 %r10, 1;\n"),
          {zeros<uint32_t>(64)}, threads(64));
  EXPECT_EQ(r.report.fault, Fault::deadlock);
  EXPECT_NE(r.message().find("deadlock"), std::string::npos);
  EXPECT_NE(r.report.diagnostics.at(0).ptx_text.find("bar.sync 3"), std::string::npos)
      << r.report.diagnostics.at(0).ptx_text;
  EXPECT_THAT(render(r.report.diagnostics[0], false), testing::HasSubstr(" at barrier 3 of the block"));
  const Ran zero =
      run(with_prologue("setp.lt.u32 %p1, %r1, 32;\n@%p1 bra END;\nbar.sync 0, 64;\nEND:\nmov.u32 %r10, 1;\n"),
          {zeros<uint32_t>(64)}, threads(64));
  EXPECT_THAT(render(zero.report.diagnostics.at(0), false), testing::HasSubstr(" at a barrier of the block"));
}

// An H200 does the same: the lanes that are named and have gone on exit.
TEST(Deadlock, NoneWhereAShuffleNamesLanesThatHaveGoneOn) {
  const Ran r = run(with_prologue("setp.lt.u32 %p1, %r1, 16;\nmov.u32 %r10, 0;\n@%p1 bra A;\nbar.sync 0;\nbra.uni "
                                  "END;\nA:\nshfl.sync.idx.b32 %r10, %r1, 3, 31, -1;\nEND:\n"),
                    {zeros<uint32_t>(32)});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.read()[i], i < 16 ? 3 : 0);
}

TEST(Shuffles, AllModes) {
  const auto text = [](const std::string& rest) {
    return with_prologue("shfl.sync." + rest + ";\nselp.u32 %r3, 100, 0, %p1;\nadd.u32 %r10, %r2, %r3;\n");
  };
  const auto check = [&](const std::string& rest, auto expected) {
    const Ran r = run(text(rest), {zeros<uint32_t>(32)});
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.read()[i], expected(i)) << rest << " lane " << i;
    EXPECT_EQ(r.counters().shuffles, 1u);
  };
  check("down.b32 %r2|%p1, %r1, 5, 31, -1", [](uint32_t i) { return i + 5 < 32 ? i + 105 : i; });
  check("up.b32 %r2|%p1, %r1, 5, 0, -1", [](uint32_t i) { return i >= 5 ? i + 95 : i; });
  check("bfly.b32 %r2|%p1, %r1, 3, 31, -1", [](uint32_t i) { return (i ^ 3) + 100; });
  check("idx.b32 %r2|%p1, %r1, 7, 31, -1", [](uint32_t) { return 107u; });
  // Segments of 8: mask 0x18 in bits 8..12, clamp 31 (down, idx) or 0 (up).
  check("down.b32 %r2|%p1, %r1, 3, 6175, -1", [](uint32_t i) { return i % 8 + 3 < 8 ? i + 103 : i; });
  check("up.b32 %r2|%p1, %r1, 3, 6144, -1", [](uint32_t i) { return i % 8 >= 3 ? i + 97 : i; });
  check("idx.b32 %r2|%p1, %r1, 10, 6175, -1", [](uint32_t i) { return i / 8 * 8 + 2 + 100; });
  check("bfly.b32 %r2|%p1, %r1, 8, 6175, -1", [](uint32_t i) { return (i ^ 8) > (i / 8 * 8 + 7) ? i : (i ^ 8) + 100; });
  check("idx.b32 %r2|%p1, %r1, 20, 15, -1", [](uint32_t i) { return i; });  // past the clamp: its own value
}

// Two splits name each other's lanes at one shuffle; what each computed for the branch behind it must survive.
TEST(Shuffles, SplitsThatMeetAtOneShuffle) {
  const Ran r = run(with_prologue("mov.u32 %r10, 0;\nmov.u32 %r5, 0;\nand.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, %r2, "
                                  "0;\n@%p1 bra S;\nadd.u32 %r5, %r1, 100;\n"
                                  "S:\nshfl.sync.bfly.b32 %r6, %r5, 1, 31, -1;\nsetp.gt.u32 %p2, %r6, 110;\n@%p2 bra "
                                  "BIG;\nadd.u32 %r10, %r6, 1;\nbra.uni END;\nBIG:\nadd.u32 %r10, %r6, 2;\nEND:\n"),
                    {zeros<uint32_t>(32)});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 32; ++i) {
    const uint32_t other = i ^ 1, v = other % 2 ? other + 100 : 0;
    EXPECT_EQ(r.read()[i], v > 110 ? v + 2 : v + 1);
  }
}

TEST(Votes, AllKinds) {
  const Ran r = run(
      with_prologue(
          "setp.lt.u32 %p1, %r1, 5;\nsetp.lt.u32 %p2, %r1, 99;\nvote.sync.ballot.b32 %r10, %p1, "
          "-1;\nvote.sync.all.pred %p3, %p1, -1;\nvote.sync.any.pred %p4, %p1, -1;\nvote.sync.uni.pred %p5, %p1, -1;\n"
          "vote.sync.all.pred %p6, %p2, -1;\nvote.sync.uni.pred %p7, !%p2, -1;\nactivemask.b32 %r11;\nselp.u32 %r2, "
          "256, 0, %p3;\nselp.u32 %r3, 512, 0, %p4;\nselp.u32 %r4, 1024, 0, %p5;\n"
          "selp.u32 %r5, 2048, 0, %p6;\nselp.u32 %r6, 4096, 0, %p7;\nadd.u32 %r10, %r10, %r2;\nadd.u32 %r10, %r10, "
          "%r3;\nadd.u32 %r10, %r10, %r4;\nadd.u32 %r10, %r10, %r5;\nadd.u32 %r10, %r10, %r6;\nxor.b32 %r10, %r10, "
          "%r11;\n"),
      {zeros<uint32_t>(20)}, threads(20));
  for (uint32_t i = 0; i < 20; ++i) EXPECT_EQ(r.read()[i], (31 + 512 + 2048 + 4096) ^ 0xfffffu);
  EXPECT_EQ(r.counters().votes, 7);
}

// All lanes bring the same 64 bits.
TEST(Votes, MatchOfAConstant) {
  const Ran r = run(with_prologue("match.all.sync.b64 %r2|%p1, 5, -1;\nmatch.any.sync.b64 %r3, 4294967296, -1;\n"
                                  "selp.u32 %r4, 1, 0, %p1;\nadd.u32 %r10, %r2, %r3;\nadd.u32 %r10, %r10, %r4;\n"),
                    {zeros<uint32_t>(32)});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  EXPECT_EQ(r.read(), std::vector<uint32_t>(32, 0xffffffffu));  // -1 + -1 + 1
}

TEST(Votes, MatchReduxElect) {
  const Ran r =
      run(with_prologue(
              "and.b32 %r2, %r1, 3;\nmatch.any.sync.b32 %r3, %r2, -1;\nmatch.all.sync.b32 %r4|%p1, %r2, "
              "-1;\nmatch.all.sync.b32 %r5|%p2, 9, -1;\ncvt.u64.u32 %rd5, %r2;\nshl.b64 %rd5, %rd5, 40;\n"
              "match.any.sync.b64 %r6, %rd5, -1;\nredux.sync.add.s32 %r7, %r1, -1;\nredux.sync.max.s32 %r8, %r1, "
              "-1;\nredux.sync.and.b32 %r9, %r1, -1;\nelect.sync %r12|%p3, -1;\nselp.u32 %r13, 1, 0, %p3;\n"
              "selp.u32 %r14, 2, 0, %p1;\nselp.u32 %r15, 4, 0, %p2;\nadd.u32 %r13, %r13, %r14;\nadd.u32 %r13, %r13, "
              "%r15;\nst.global.u32 [%rd3+128], %r4;\nst.global.u32 [%rd3+256], %r5;\nst.global.u32 [%rd3+384], %r6;\n"
              "st.global.u32 [%rd3+512], %r7;\nst.global.u32 [%rd3+640], %r8;\nst.global.u32 [%rd3+768], "
              "%r13;\nmov.u32 %r10, %r3;\n"),
          {zeros<uint32_t>(224)});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  const std::vector<uint32_t> v = r.read();
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(v[i], 0x11111111u << i % 4);
    EXPECT_EQ(v[32 + i], 0u);
    EXPECT_EQ(v[64 + i], ~0u);
    EXPECT_EQ(v[96 + i], 0x11111111u << i % 4);
    EXPECT_EQ(v[128 + i], 31u * 32 / 2);
    EXPECT_EQ(v[160 + i], 31u);
    EXPECT_EQ(v[192 + i], 4u + (i == 0));
  }
}

TEST(Atomics, ReturnedValuesAscendWithLanes) {
  const Ran r = run(with_prologue("atom.global.add.u32 %r10, [%rd1+256], 3;\n"), {zeros<uint32_t>(65)}, threads(64));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(r.read()[i], 3 * i);
  EXPECT_EQ(r.counters().global_atomic_requests, 2);
  EXPECT_EQ(r.counters().global_atomic_sectors, 64);
}

TEST(Atomics, FloatSumsDoNotDependOnThreads) {
  Shape s = threads(96);
  s.grid = {37, 1, 1};
  const Ran r = run(kernel(".param .u64 out",
                           "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r3, "
                           "%r2, 977, %r1;\ncvt.rn.f32.u32 %f1, %r3;\nmul.f32 %f1, %f1, 0f3DCCCCCD;\n"
                           "red.global.add.f32 [%rd1], %f1;\natom.global.add.f32 %f2, [%rd1+4], %f1;\n"),
                    {zeros<uint32_t>(2)}, s);  // run() compares 1, 2 and 8 threads bit for bit
  EXPECT_EQ(r.report.fault, Fault::none);
  EXPECT_EQ(r.counters().global_reduction_sectors, 37 * 96 * 2);  // the atom's old value is never read: a reduction too
}

// The elements of vectors, too: blocks add in their order, each lane after lane.
TEST(Atomics, SumsOfVectorsDoNotDependOnThreads) {
  Shape s = threads(32);
  s.grid = {64, 1, 1};
  const Ran r = run(kernel(".param .u64 out",
                           "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r3, "
                           "%r2, 977, %r1;\ncvt.rn.f32.u32 %f1, %r3;\nmul.f32 %f1, %f1, 0f3DCCCCCD;\n"
                           "mul.f32 %f2, %f1, %f1;\natom.global.v2.f32.add {%f3, %f4}, [%rd1], {%f1, %f2};\n"),
                    {zeros<float>(2)}, s);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  float sums[2] = {0, 0};
  for (uint32_t k = 0; k < 64 * 32; ++k) {
    const uint32_t whole = k / 32 * 977 + k % 32;
    const float x = static_cast<float>(whole) * std::bit_cast<float>(0x3dcccccdu), y = x * x;
    sums[0] += x;
    sums[1] += y;
  }
  EXPECT_EQ(r.read<float>(), (std::vector<float>{sums[0], sums[1]}));
}

TEST(Atomics, SpinLockBetweenLanesAndBlocks) {
  Shape s = threads(kSanitized ? 32 : 64);
  s.grid = {few_cases() ? 2u : 5u, 1, 1};  // who waits does so by instructions
  s.max_instructions = 20'000'000;
  const Ran r = run(kernel(".param .u64 out",
                           "ld.param.u64 %rd1, [out];\nTRY:\natom.global.cas.b32 %r1, [%rd1], 0, 1;\nsetp.ne.u32 %p1, "
                           "%r1, 0;\n@%p1 bra TRY;\nld.volatile.global.u32 %r2, [%rd1+4];\nadd.u32 %r2, %r2, 1;\n"
                           "st.volatile.global.u32 [%rd1+4], %r2;\nmembar.gl;\natom.global.exch.b32 %r3, [%rd1], 0;\n"),
                    {zeros<uint32_t>(2)}, s);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  EXPECT_EQ(r.read()[1], s.grid[0] * s.block[0]);
}

// Warps that compute for longer than a turn, and then wait for the others of the block, wait for turns as short as
// others'.
TEST(Atomics, WhoHasComputedForLongPollsLittle) {
  Shape s = threads(128);
  s.max_instructions = 1'000'000;  // 120,000 of them compute
  const Ran r = run(kernel(".param .u64 out",
                           "ld.param.u64 %rd1, [out];\nmov.u32 %r3, %tid.x;\nadd.u32 %r3, %r3, 10000;\n"
                           "mov.u32 %r1, 0;\nWORK:\nadd.u32 %r1, %r1, 1;\n"
                           "setp.lt.u32 %p1, %r1, %r3;\n@%p1 bra WORK;\nred.global.add.u32 [%rd1], 1;\n"
                           "POLL:\nld.volatile.global.u32 %r2, [%rd1];\nsetp.lt.u32 %p2, %r2, 128;\n@%p2 bra POLL;\n"),
                    {zeros<uint32_t>(1)}, s);
  EXPECT_EQ(r.report.fault, Fault::none) << r.message();
}

// A cooperative grid whose blocks all count themselves and wait until all have. They begin one after the other; who
// waits polls one slice (64 basic blocks, of which one in this loop is a poll) before all have begun, and at most one
// more.
TEST(CooperativeGrid, BlocksThatWaitForAllOthersPollLittle) {
  const std::string ptx = kernel(".param .u64 out",
                                 "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %nctaid.x;\nmov.u32 %r4, %tid.x;\n"
                                 "setp.ne.u32 %p1, %r4, 0;\n@%p1 bra DONE;\nred.global.add.u32 [%rd1], 1;\n"
                                 "WAIT:\nld.volatile.global.u32 %r2, [%rd1];\nsetp.lt.u32 %p2, %r2, %r1;\n"
                                 "@%p2 bra WAIT;\nDONE:\n");
  constexpr uint32_t kBlocks = 64;
  for (const unsigned threads : thread_counts()) {
    Bench bench(threads);
    Machine& m = bench.machine();
    const auto program = m.load(ptx, "test.ptx");
    const Allocation* out = m.memory().allocate(4, Origin::device, "cudaMalloc");
    std::memset(reinterpret_cast<void*>(out->base), 0, 4);
    LaunchConfig config;
    config.grid = {kBlocks, 1, 1};
    config.block = {64, 1, 1};
    config.cooperative = true;
    config.parameters = value(out->base).bytes;
    const LaunchReport report = m.launch(*program, "k", config);
    ASSERT_EQ(report.fault, Fault::none);
    EXPECT_GE(report.counters.global_load_requests, kBlocks);
    // With several threads those that have begun all their blocks wait for the others', as long as that takes.
    if (threads == 1) EXPECT_LE(report.counters.global_load_requests, 2 * 64 * kBlocks);
  }
}

}  // namespace
}  // namespace coalesce::machine::test
