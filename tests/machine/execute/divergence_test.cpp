// Divergence: results and exact counters, derived by hand from docs/counters.md and the rule that lanes which part meet
// again at the immediate post-dominator.
#include "prologue.h"
#include "tests/sanitized.h"

namespace coalesce::machine::test {

namespace {

// The prologue has 4 instructions; the store and ret are 2 more.

TEST(Divergence, IfElse) {
  const Ran r =
      run(with_prologue("setp.lt.u32 %p1, %r1, 10;\n"
                        "@%p1 bra A;\nmov.u32 %r10, 1;\nmov.u32 %r11, 1;\nbra.uni B;\nA:\nmov.u32 %r10, 2;\nB:\n"),
          {zeros<uint32_t>(32)});
  ASSERT_EQ(r.report.fault, Fault::none);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.read()[i], i < 10 ? 2 : 1);
  // 4 + setp + bra | 3 by 22 lanes | 1 by 10 lanes | st + ret
  EXPECT_EQ(r.counters().instructions, 6 + 3 + 1 + 2);
  EXPECT_EQ(r.counters().thread_instructions, 6 * 32 + 3 * 22 + 10 + 2 * 32);
  EXPECT_EQ(r.counters().branches, 2);
  EXPECT_EQ(r.counters().divergent_branches, 1);
  EXPECT_EQ(r.counters().global_store_requests, 1);
  EXPECT_EQ(r.counters().global_store_sectors, 4);
  EXPECT_EQ(r.counters().global_store_lines, 1);
  EXPECT_EQ(r.counters().global_store_bytes_requested, 128);
  EXPECT_EQ(r.counters().compulsory_bytes, 128);
}

// Lanes or warps that skip a load, and what comes behind it stores to the same place, in a warp of 8 lanes, too; at an
// address that is known to be in the array, and at one that is not.
TEST(Divergence, StoresWhereAnOtherSideHasLoaded) {
  Shape s;
  s.block = {72, 1, 1};
  for (const std::string which : {"%r1", "32", "0"})
    for (const bool known : {true, false}) {
      const std::string load =
          "ld.shared.u32 %r2, [%r7];\nadd.u32 %r2, %r2, 9;\n" + std::string(known ? "" : "st.shared.u32 [%r7], %r2;\n");
      const Ran r = run(kernel(".param .u64 out, .param .u32 n, .param .u32 first",
                               ".shared .align 4 .b32 x[128];\nld.param.u64 %rd1, [out];\nld.param.u32 %r9, [n];\n"
                               "ld.param.u32 %r6, [first];\nmov.u32 %r1, %tid.x;\nmov.u32 %r8, x;\n" +
                                   std::string(known ? "" : "mad.lo.u32 %r8, %r6, 4, %r8;\n") +
                                   "mad.lo.u32 %r7, %r1, 4, %r8;\nmov.u32 %r2, 5;\nst.shared.u32 [%r7], %r1;\n"
                                   "setp.ge.u32 %p1, " +
                                   which + ", %r9;\n@%p1 bra SKIP;\n" + load +
                                   "SKIP:\nst.shared.u32 [%r7], %r2;\nbar.sync 0;\nld.shared.u32 %r3, [%r7];\n"
                                   "mad.wide.u32 %rd2, %r1, 4, %rd1;\nst.global.u32 [%rd2], %r3;\n"),
                        {zeros<uint32_t>(72), value(40u), value(3u)}, s);
      ASSERT_EQ(r.report.fault, Fault::none) << r.message();
      for (uint32_t i = 0; i < 72; ++i) EXPECT_EQ(r.read()[i], i < 40 || which != "%r1" ? i + 9 : 5) << i << which;
    }
}

// Words that are stored and loaded again ahead of a barrier, by whole warps and by some lanes of one: what lies between
// the lanes stays.
TEST(Divergence, StoresOfSomeLanesAheadOfLoads) {
  for (const uint32_t threads : {33u, 64u, 72u}) {
    Shape s;
    s.block = {threads, 1, 1};
    const Ran r = run(kernel(".param .u64 out",
                             ".shared .align 4 .b32 x[128];\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n"
                             "mov.u32 %r8, x;\nmad.lo.u32 %r7, %r1, 4, %r8;\nadd.u32 %r2, %r1, 7;\n"
                             "bar.sync 0;\nst.shared.u32 [%r7], %r2;\nld.shared.u32 %r4, [%r7];\nbar.sync 0;\n"
                             "ld.shared.u32 %r5, [x+508];\nmad.lo.u32 %r4, %r5, 1000, %r4;\n"
                             "mad.wide.u32 %rd2, %r1, 4, %rd1;\nst.global.u32 [%rd2], %r4;\n"),
                      {zeros<uint32_t>(threads)}, s);
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    for (uint32_t i = 0; i < threads; ++i) EXPECT_EQ(r.read()[i], i + 7) << i;
  }
}

// A side that ends in a branch of its own, whose other target is where the sides meet.
TEST(Divergence, ASideThatBranchesToWhereTheSidesMeet) {
  Shape s;
  s.block = {128, 1, 1};
  for (const char* const order : {"SIDE", "LAST"}) {
    const bool last = order[0] == 'L';
    const std::string side = "add.u32 %r10, %r10, 10;\nsetp.lt.u32 %p2, %r3, 2;\n", more = "add.u32 %r10, %r10, 100;\n",
                      store = "st.global.u32 [%rd2], %r10;\n";
    const std::string body =
        last ? "@!%p1 bra ON;\n" + side + "@%p2 bra MORE;\nON:\n" + store + "ret;\nMORE:\n" + more + "bra ON;\n"
             : "@!%p1 bra ON;\n" + side + "@!%p2 bra ON;\n" + more + "ON:\n" + store;
    const Ran r = run(kernel(".param .u64 out",
                             "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %rd2, %r1, 4, %rd1;\n"
                             "and.b32 %r3, %r1, 7;\nmov.u32 %r10, %r1;\nsetp.lt.u32 %p1, %r3, 5;\n" +
                                 body),
                      {zeros<uint32_t>(128)}, s);
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    for (uint32_t i = 0; i < 128; ++i)
      EXPECT_EQ(r.read()[i], i + (i % 8 < 5 ? 10 : 0) + (i % 8 < 2 ? 100 : 0)) << order << i;
  }
}

// One of four warps runs the side, another has gone: values for a warp, which its lanes share.
TEST(Divergence, OneWarpOfThoseThatAreLeft) {
  Shape s;
  s.block = {128, 1, 1};
  const Ran r = run(kernel(".param .u64 out",
                           "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 96;\n@%p1 bra END;\n"
                           "mad.wide.u32 %rd2, %r1, 4, %rd1;\nshr.u32 %r3, %r1, 5;\nsetp.eq.u32 %p2, %r3, 1;\n"
                           "vote.sync.ballot.b32 %r4, %p2, -1;\npopc.b32 %r5, %r4;\nbar.sync 0;\n"
                           "setp.eq.u32 %p3, %r5, 0;\n@%p3 bra ON;\nadd.u32 %r5, %r5, 100;\nmul.lo.u32 %r5, %r5, 3;\n"
                           "ON:\nadd.u32 %r6, %r5, %r1;\nst.global.u32 [%rd2], %r6;\nEND:\n"),
                    {zeros<uint32_t>(128)}, s);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(r.read()[i], i >= 96 ? 0 : (i / 32 == 1 ? 396 : 0) + i) << i;
}

TEST(Divergence, NestedIfs) {
  const Ran r = run(with_prologue("mov.u32 %r10, 0;\nsetp.ge.u32 %p1, %r1, 16;\n@%p1 bra END;\n"
                                  "add.u32 %r10, %r10, 1;\nsetp.ge.u32 %p2, %r1, 8;\n@%p2 bra INNER;\nadd.u32 %r10, "
                                  "%r10, 2;\nINNER:\nadd.u32 %r10, %r10, 4;\nEND:\n"),
                    {zeros<uint32_t>(32)});
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.read()[i], i < 8 ? 7 : i < 16 ? 5 : 0);
  EXPECT_EQ(r.counters().instructions, 4 + 3 + 3 + 1 + 1 + 2);
  EXPECT_EQ(r.counters().thread_instructions, 7 * 32 + 3 * 16 + 8 + 16 + 2 * 32);
  EXPECT_EQ(r.counters().divergent_branches, 2);
}

// A branch to what follows anyway parts no lanes: those that do not take it go on, too.
TEST(Divergence, BranchToTheNextInstruction) {
  const Ran r =
      run(with_prologue("setp.lt.u32 %p1, %r1, 10;\n@%p1 bra A;\nA:\nmov.u32 %r10, 3;\n"), {zeros<uint32_t>(32)});
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.read()[i], 3);
  EXPECT_EQ(r.counters().instructions, 6 + 3);
  EXPECT_EQ(r.counters().thread_instructions, 9 * 32);
  EXPECT_EQ(r.counters().branches, 1);
  EXPECT_EQ(r.counters().divergent_branches, 0);
}

// One of two results is the same for the block, the other for each warp only: neither may be computed before its turn
// in the loop, nor after what was. The loop once never ended: its condition was computed once for the block, then
// overwritten for each warp.
TEST(Divergence, OneResultForTheBlockAndOneForEachWarp) {
  const Ran r = run(with_prologue("mov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %warpid;\nsetp.lt.u32 %p2, %r4, 26;\n"
                                  "mov.u32 %r10, 0;\nL:\nsetp.eq.u32 %p1|%p2, %r3, 0;\nadd.u32 %r10, %r10, 1;\n"
                                  "setp.lt.u32 %p1, %r10, 3;\n@%p1 bra L;\n"),
                    {zeros<uint32_t>(32)});
  ASSERT_EQ(r.report.fault, Fault::none);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.read()[i], 3);
  EXPECT_EQ(r.counters().instructions, 4 + 4 + 3 * 4 + 2);
}

// One half of a value that all lanes share stays on the lanes' side of a branch (a scalar), the other half leaves it (a
// vector). Each half needs a place of its own.
TEST(Divergence, HalvesOfAUniformValue) {
  const Ran r =
      run(with_prologue("mov.u32 %r10, 1;\nsetp.lt.u32 %p1, %r1, 10;\n@%p1 bra B;\n"
                        "mov.b64 {%r5, %r10}, %rd1;\nadd.u32 %r6, %r5, 1;\nsub.u32 %r10, %r6, %r5;\n"
                        "mov.b64 {%r5, %r10}, 0x700000005;\nxor.b32 %r7, %r5, 2;\nadd.u32 %r10, %r10, %r7;\nB:\n"),
          {zeros<uint32_t>(32)});
  ASSERT_EQ(r.report.fault, Fault::none);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.read()[i], i < 10 ? 1 : 14);
}

// Two values a lane apart in a block of less than a warp: where the second begins cannot be read off the range of both,
// 0 to 31. The second one begins elsewhere.
TEST(Divergence, ValuesALaneApartInASmallBlock) {
  const Ran r = run(with_prologue("mov.u32 %r10, %laneid;\nadd.u32 %r10, %r1, 2;\n"), {zeros<uint32_t>(3)},
                    Shape{.block = {3, 1, 1}});
  ASSERT_EQ(r.report.fault, Fault::none);
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(r.read()[i], i + 2);
}

// Lane l goes round l % 4 + 1 times.
TEST(Divergence, LoopWithDivergentTripCount) {
  const Ran r = run(with_prologue("and.b32 %r2, %r1, 3;\nmov.u32 %r10, 0;\nLOOP:\nadd.u32 %r10, %r10, 1;\nsetp.le.u32 "
                                  "%p1, %r10, %r2;\n@%p1 bra LOOP;\n"),
                    {zeros<uint32_t>(32)});
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.read()[i], i % 4 + 1);
  EXPECT_EQ(r.counters().instructions, 6 + 4 * 3 + 2);
  EXPECT_EQ(r.counters().thread_instructions, 6 * 32 + 3 * (32 + 24 + 16 + 8) + 2 * 32);
  EXPECT_EQ(r.counters().branches, 4);
  EXPECT_EQ(r.counters().divergent_branches, 3);  // the last time all that are left leave
}

TEST(Divergence, BreakAndContinue) {
  // for (i = 0; i < 8; ++i) { if (i == lane % 8) break; if (i & 1) continue; sum += i; }
  const Ran r = run(
      with_prologue(
          "and.b32 %r2, %r1, 7;\nmov.u32 %r10, 0;\nmov.u32 %r3, 0;\nHEAD:\nsetp.eq.u32 %p1, %r3, %r2;\n@%p1 bra END;\n"
          "and.b32 %r4, %r3, 1;\nsetp.ne.u32 %p2, %r4, 0;\n@%p2 bra NEXT;\nadd.u32 %r10, %r10, %r3;\nNEXT:\nadd.u32 "
          "%r3, %r3, 1;\n"
          "setp.lt.u32 %p3, %r3, 8;\n@%p3 bra HEAD;\nEND:\n"),
      {zeros<uint32_t>(32)});
  for (uint32_t i = 0; i < 32; ++i) {
    uint32_t sum = 0;
    for (uint32_t k = 0; k < i % 8; ++k) sum += k & 1 ? 0 : k;
    EXPECT_EQ(r.read()[i], sum);
  }
  // Round i has 32 - 4 i lanes when it begins and 28 - 4 i after the break; in round 7 the last lanes break.
  EXPECT_EQ(r.counters().divergent_branches, 7);
  EXPECT_EQ(r.counters().instructions, 7 + 8 * 2 + 7 * 3 + 4 + 7 * 3 + 2);
}

TEST(Divergence, EarlyExitOfSomeLanes) {
  const Ran r = run(with_prologue("mov.u32 %r10, 9;\nsetp.ge.u32 %p1, %r1, 20;\n@%p1 ret;\n"), {zeros<uint32_t>(32)});
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.read()[i], i < 20 ? 9 : 0);
  EXPECT_EQ(r.counters().instructions, 9);
  EXPECT_EQ(r.counters().thread_instructions, 7 * 32 + 2 * 20);
  EXPECT_EQ(r.counters().branches, 0);
  EXPECT_EQ(r.counters().divergent_branches, 0);
  EXPECT_EQ(r.counters().global_store_sectors, 3);  // 80 bytes
}

// An exit inside an if must not keep the others apart after it.
TEST(Divergence, ExitInsideAnIfThenBarrier) {
  const Ran r = run(with_prologue("mov.u32 %r10, 1;\nsetp.ge.u32 %p1, %r1, 16;\n@%p1 bra JOIN;\nsetp.eq.u32 %p2, %r1, "
                                  "3;\n@%p2 exit;\nadd.u32 %r10, %r10, 1;\nJOIN:\nbar.sync 0;\n"),
                    {zeros<uint32_t>(32)});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  EXPECT_TRUE(r.report.diagnostics.empty()) << r.message();
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.read()[i], i == 3 ? 0 : i < 16 ? 2 : 1);
  EXPECT_EQ(r.counters().instructions, 7 + 3 + 3);
  EXPECT_EQ(r.counters().thread_instructions, 7 * 32 + 2 * 16 + 15 + 3 * 31);
  EXPECT_EQ(r.counters().barriers, 1);
}

TEST(Divergence, ExitInEitherSide) {
  const Ran r = run(with_prologue("and.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, %r2, 0;\nmov.u32 %r10, 5;\n@%p1 bra "
                                  "EVEN;\nsetp.gt.u32 %p2, %r1, 16;\n@%p2 exit;\nbra.uni END;\n"
                                  "EVEN:\nsetp.lt.u32 %p3, %r1, 16;\n@%p3 exit;\nEND:\n"),
                    {zeros<uint32_t>(32)});
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.read()[i], (i % 2 ? i > 16 : i < 16) ? 0 : 5);
  // odd: 1..15 stay (8); even: 16..30 stay (8). They meet for the store.
  EXPECT_EQ(r.counters().global_store_requests, 1);
  EXPECT_EQ(r.counters().thread_instructions, 8 * 32 + 2 * 16 + 8 + 2 * 16 + 2 * 16);
}

TEST(Divergence, ExitInALoop) {
  const Ran r =
      run(with_prologue("mov.u32 %r10, 0;\nLOOP:\nadd.u32 %r10, %r10, 1;\nst.global.u32 [%rd3], %r10;\nsetp.eq.u32 "
                        "%p1, %r10, %r1;\n@%p1 exit;\nsetp.lt.u32 %p2, %r10, 5;\n@%p2 bra LOOP;\n"),
          {zeros<uint32_t>(32)});
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.read()[i], i >= 1 && i <= 5 ? i : 5);
  EXPECT_EQ(r.counters().global_store_requests, 6);
  EXPECT_EQ(r.counters().divergent_branches, 0);
}

TEST(Divergence, BranchTableUniformAndDivergent) {
  const auto text = [](const std::string& index) {
    return with_prologue(index +
                         "T: .branchtargets A, B, C;\nbrx.idx %r2, T;\nA:\nmov.u32 %r10, 10;\nbra.uni "
                         "END;\nB:\nmov.u32 %r10, 20;\nbra.uni END;\nC:\nmov.u32 %r10, 30;\nEND:\n");
  };
  for (uint32_t k = 0; k < 3; ++k) {
    const Ran uniform = run(text("mov.u32 %r2, " + std::to_string(k) + ";\n"), {zeros<uint32_t>(32)});
    EXPECT_EQ(uniform.read(), std::vector<uint32_t>(32, 10 * (k + 1)));
    EXPECT_EQ(uniform.counters().divergent_branches, 0);
    EXPECT_EQ(uniform.counters().instructions, 4 + 2 + (k < 2 ? 2 : 1) + 2);
  }
  const Ran parted = run(text("rem.u32 %r2, %r1, 3;\n"), {zeros<uint32_t>(32)});
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(parted.read()[i], 10 * (i % 3 + 1));
  EXPECT_EQ(parted.counters().divergent_branches, 1);
  EXPECT_EQ(parted.counters().branches, 3);  // the table's, and of A and B
  EXPECT_EQ(parted.counters().instructions, 4 + 2 + 2 + 2 + 1 + 2);
  EXPECT_EQ(parted.counters().thread_instructions, 6 * 32 + 2 * 11 + 2 * 11 + 10 + 2 * 32);
  EXPECT_EQ(parted.counters().global_store_requests, 1);
}

// Two ways into a loop: no structured code looks like this, but it must run.
TEST(Divergence, TwoEntriesIntoALoop) {
  const Ran r = run(with_prologue("and.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, %r2, 0;\nmov.u32 %r10, 0;\n@%p1 bra "
                                  "MIDDLE;\nHEAD:\nadd.u32 %r10, %r10, 1;\nMIDDLE:\nadd.u32 %r10, %r10, 16;\n"
                                  "setp.lt.u32 %p2, %r10, 48;\n@%p2 bra HEAD;\n"),
                    {zeros<uint32_t>(32)});
  // even: 16, 33, 50; odd: 17, 34, 51
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.read()[i], i % 2 ? 51 : 50);
}

TEST(Divergence, EndlessLoopIsStoppedAndNamed) {
  Shape setup;
  setup.max_instructions = 100'000;
  for (const char* body : {"mov.u32 %r2, 0;\nHERE:\nadd.u32 %r2, %r2, 1;\nbra.uni HERE;\n",
                           "setp.lt.u32 %p1, %r1, 7;\nHERE:\nadd.u32 %r2, %r1, 1;\n@%p1 bra HERE;\n"}) {
    const Ran r = run(with_prologue(body), {zeros<uint32_t>(32)}, setup);
    EXPECT_EQ(r.report.fault, Fault::budget);
    ASSERT_FALSE(r.report.diagnostics.empty());
    EXPECT_NE(r.message().find("100000"), std::string::npos) << r.message();
    const std::string& at = r.report.diagnostics[0].ptx_text;
    EXPECT_TRUE(at.find("add.u32 %r2") != std::string::npos || at.find("bra") != std::string::npos) << at;
  }
}

// The same where one round of a block is more instructions than are added up at a time.
TEST(Divergence, AnEndlessLoopOfManyInstructionsIsStopped) {
  std::string text = "mov.u32 %r2, 0;\nLOOP:\n";
  for (int k = 0; k < 2200; ++k) text += "add.u32 %r2, %r2, %r1;\n";
  Shape s = threads(1024);
  s.max_instructions = 300'000;
  const Ran r = Bench(1, s.max_instructions).run(with_prologue(text + "bra LOOP;\n"), {zeros<uint32_t>(1024)}, s, "k");
  EXPECT_EQ(r.report.fault, Fault::budget) << r.message();
}

TEST(Divergence, PredicatedInstructions) {
  Shape setup;
  setup.block = {64, 1, 1};
  // Warp 0: lanes 4..31 on; warp 1: none, and no request.
  const Ran r =
      run(kernel(".param .u64 out", kPrologue + "mov.u32 %r10, 7;\nsetp.lt.u32 %p1, %r1, 32;\nsetp.ge.and.u32 %p2, "
                                                "%r1, 4, %p1;\n@%p2 add.u32 %r10, %r10, 1;\n"
                                                "@%p2 st.global.u32 [%rd3], %r10;\n@!%p1 ld.global.u32 %r11, "
                                                "[%rd3];\n@%p2 red.global.add.u32 [%rd1+256], 1;\n"),
          {zeros<uint32_t>(65)}, setup);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(r.read()[i], i >= 4 && i < 32 ? 8 : 0);
  EXPECT_EQ(r.read()[64], 28);
  EXPECT_EQ(r.counters().instructions, 2 * 12);
  EXPECT_EQ(r.counters().thread_instructions, 2 * 8 * 32 + 28 + 28 + 32 + 28);
  EXPECT_EQ(r.counters().global_store_requests, 1);
  EXPECT_EQ(r.counters().global_store_sectors, 4);
  EXPECT_EQ(r.counters().global_store_bytes_requested, 112);
  EXPECT_EQ(r.counters().global_load_requests, 1);
  EXPECT_EQ(r.counters().global_reduction_requests, 1);
  EXPECT_EQ(r.counters().global_reduction_sectors, 28);  // lanes on one address go one after the other
}

// More blocks of code than a warp may run before others get their turn: what a split computed just before it had to
// pause must still be there when it goes on.
TEST(Divergence, LongDivergentLoopsKeepTheirState) {
  if (kSanitized) GTEST_SKIP() << "nine million steps, to see what they compute";
  Shape setup;
  setup.max_instructions = 400'000'000;
  const Ran r =
      run(with_prologue("mov.u32 %r10, 0;\nsetp.lt.u32 %p5, %r1, 16;\n@%p5 bra B;\n"
                        "A:\nadd.u32 %r10, %r10, 1;\nsetp.lt.u32 %p1, %r10, 4300000;\n@%p1 bra A;\nbra.uni END;\n"
                        "B:\nadd.u32 %r10, %r10, 1;\nsetp.lt.u32 %p2, %r10, 4400000;\n@%p2 bra B;\nEND:\n"),
          {zeros<uint32_t>(32)}, setup);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.read()[i], i < 16 ? 4400000 : 4300000);
}

// Nobody knows before that all lanes take the same target: then the warp is whole where they meet, in a region of its
// own.
TEST(Divergence, ATableWithOneTargetForAllLanes) {
  const std::string ptx = kernel(
      ".param .u64 out, .param .u32 n",
      "ld.param.u64 %rd1, [out];\nld.param.u32 %r9, [n];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\n"
      "add.s64 %rd1, %rd1, %rd2;\nshr.u32 %r2, %r1, 8;\nmov.u32 %r5, 11;\nsetp.eq.u32 %p1, %r9, 0;\n@%p1 bra MEET;\n"
      "TABLE: .branchtargets MEET, OTHER;\nbrx.idx %r2, TABLE;\nOTHER:\nadd.u32 %r1, %r1, 1;\nMEET:\n"
      "mov.u32 %r5, 7;\nadd.u32 %r6, %r1, %r5;\nst.global.u32 [%rd1], %r6;\n");
  for (const uint32_t n : {0u, 1u}) {
    const Ran r = run(ptx, {zeros<uint32_t>(64), value(n)}, Shape{.block = {64, 1, 1}});
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(r.read()[i], i + 7) << "n " << n;
  }
}

}  // namespace

}  // namespace coalesce::machine::test
