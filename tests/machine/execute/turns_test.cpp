// Warps and blocks that wait while others go on: where each stands when the block's mode changes, whose instructions
// the clock counts, and who is told of progress.
#include <chrono>

#include "prologue.h"

namespace coalesce::machine::test {
namespace turns {
namespace {

constexpr uint32_t kWarps = 5, kRounds = 3;

struct End {
  const char *name, *text;
  uint32_t odd, even;  // what it adds
};
constexpr End kEnds[] = {
    {"none", "", 0, 0},
    {"a barrier", "bar.sync 0;\n", 0, 0},
    {"a vote of the block", "setp.lt.u32 %p5, %r1, 70;\nbar.red.popc.u32 %r11, 0, %p5;\nadd.u32 %r10, %r10, %r11;\n",
     70, 70},
    {"lanes that part",
     "and.b32 %r11, %r1, 1;\nsetp.eq.u32 %p5, %r11, 0;\n@%p5 bra EVEN;\nadd.u32 %r10, %r10, 5;\nEVEN:\n", 5, 0},
};

// In each round warp `waits` waits for what warp `tells` writes: the warps before it have done their round by then,
// others have begun it or have not, and values of the block have been computed for all of them. With many registers,
// two warps run the steps of a region together, not all.
TEST(Turns, WarpsBeforeAndBehindOneThatWaits) {
  Shape s = threads(32 * kWarps);
  s.in_order = true;  // how often it reads is nobody's promise
  uint32_t number = 0;
  for (const auto& [waits, tells] : {std::pair{0u, 1u}, {0u, 4u}, {1u, 2u}, {1u, 0u}, {2u, 4u}, {3u, 4u}, {4u, 1u}})
    for (const End& end : kEnds) {
      const uint32_t n = number++, registers = (n + n / 4) % 2 ? 72 : 0;
      std::string make, use;
      for (uint32_t k = 0; k < registers; ++k) {
        make += "xor.b32 %x" + std::to_string(k) + ", %r1, " + std::to_string(k) + ";\n";
        use += "add.u32 %r10, %r10, %x" + std::to_string(k) + ";\n";
      }
      SCOPED_TRACE(std::string(end.name) + ", warp " + std::to_string(waits) + " waits for " + std::to_string(tells));
      const Ran r =
          run(with_prologue(
                  ".reg .b32 %x<72>;\n.shared .align 4 .b32 S;\nmov.u32 %r5, %nctaid.x;\nmov.u32 %r6, 0;\n" + make +
                  "mov.u32 %r10, 0;\nshr.u32 %r8, %r1, 5;\nLOOP:\nxor.b32 %r12, %r1, %r5;\nadd.u32 %r5, %r5, "
                  "3;\nmad.lo.u32 "
                  "%r7, %r1, %r1, %r5;\n"
                  "setp.ne.u32 %p1, %r8, " +
                  std::to_string(waits) +
                  ";\n@%p1 bra ON;\nWAIT:\nld.volatile.shared.u32 %r2, [S];\nsetp.le.u32 %p2, %r2, %r6;\n"
                  "@%p2 bra WAIT;\nON:\nadd.u32 %r5, %r5, 10;\nmad.lo.u32 %r10, %r10, 3, %r5;\n"
                  "add.u32 %r10, %r10, %r7;\nadd.u32 %r10, %r10, %r12;\nsetp.ne.u32 %p3, %r8, " +
                  std::to_string(tells) +
                  ";\n@%p3 bra NEXT;\nadd.u32 %r9, %r6, 1;\nst.volatile.shared.u32 [S], %r9;\nNEXT:\n" + end.text +
                  "add.u32 %r5, %r5, 100;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p4, %r6, 3;\n@%p4 bra LOOP;\n" + use),
              {zeros<uint32_t>(32 * kWarps)}, s);
      ASSERT_EQ(r.report.fault, Fault::none) << r.message();
      for (uint32_t i = 0; i < 32 * kWarps; ++i) {
        uint32_t of_block = 1, wanted = 0;
        for (uint32_t k = 0; k < kRounds; ++k, of_block += 100) {
          const uint32_t before = i ^ of_block, own = i * i + (of_block += 3) + before;
          wanted = wanted * 3 + (of_block += 10) + own + (i % 2 ? end.odd : end.even);
        }
        for (uint32_t k = 0; k < registers; ++k) wanted += i ^ k;
        ASSERT_EQ(r.read()[i], wanted) << i;
      }
    }
}

// Half of one warp waits, in each round, for its other half, which waits where they meet and is let go. With so many
// registers two warps run their steps together: pairs before it have ended the round, pairs behind have not begun it.
TEST(Turns, PairsOfWarpsBesideOneWhoseHalvesWait) {
  constexpr uint32_t kThreads = 256;
  std::string make, use;
  for (uint32_t k = 0; k < 72; ++k) {
    make += "xor.b32 %x" + std::to_string(k) + ", %r1, " + std::to_string(k) + ";\n";
    use += "add.u32 %r10, %r10, %x" + std::to_string(k) + ";\n";
  }
  for (const uint32_t one : {0u, 2u, 5u})
    for (const bool apart : {false, true}) {
      const Ran r = run(
          with_prologue(".reg .b32 %x<72>;\nmov.u32 %r5, %nctaid.x;\nmov.u32 %r6, 0;\n" + make +
                        "mov.u32 %r10, 0;\nshr.u32 %r8, %r1, 5;\nsetp.eq.u32 %p1, %r8, " + std::to_string(one) +
                        ";\nand.b32 %r7, %r1, 16;\nsetp.eq.u32 %p2, %r7, 0;\nand.pred %p1, %p1, %p2;\nLOOP:\nxor.b32 "
                        "%r12, %r1, %r5;\nadd.u32 %r5, %r5, 3;\n@!%p1 bra ON;\n"
                        "bar.warp.sync 0xffffffff;\nadd.u32 %r10, %r10, 1000;\nON:\nmad.lo.u32 %r10, %r10, 3, %r5;\n"
                        "add.u32 %r10, %r10, %r12;\n" +
                        std::string(apart ? "and.b32 %r11, %r1, 1;\nsetp.eq.u32 %p3, %r11, 0;\n@%p3 bra EVEN;\n"
                                            "add.u32 %r10, %r10, 5;\nEVEN:\n"
                                          : "bar.sync 0;\n") +
                        "add.u32 %r5, %r5, 100;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p4, %r6, 3;\n@%p4 bra LOOP;\n" +
                        use),
          {zeros<uint32_t>(kThreads)}, threads(kThreads));
      ASSERT_EQ(r.report.fault, Fault::none) << r.message();
      for (uint32_t i = 0; i < kThreads; ++i) {
        uint32_t of_block = 1, wanted = 0;
        for (uint32_t round = 0; round < 3; ++round, of_block += 100) {
          const uint32_t before = i ^ of_block;
          of_block += 3;
          if (i / 32 == one && i % 32 < 16) wanted += 1000;
          wanted = wanted * 3 + of_block + before + (apart && i % 2 ? 5 : 0);
        }
        for (uint32_t k = 0; k < 72; ++k) wanted += i ^ k;
        ASSERT_EQ(r.read()[i], wanted) << i << ", warp " << one;
      }
    }
}

// A warp that reads a word again and again, by loads that tell nobody so, gets it in the end.
TEST(Turns, AWarpThatPollsByOrdinaryLoads) {
  Shape s = threads(64);
  s.in_order = true;
  const Ran r = Bench(1).run(
      with_prologue("mov.u32 %r5, %nctaid.x;\nsetp.ge.u32 %p1, %r1, 32;\n@%p1 bra SET;\nP:\n"
                    "ld.global.u32 %r10, [%rd1+256];\nsetp.lt.u32 %p2, %r10, %r5;\n@%p2 bra P;\nbra END;\nSET:\n"
                    "mov.u32 %r10, 7;\nst.volatile.global.u32 [%rd1+256], %r10;\nEND:\n"),
      {zeros<uint32_t>(65)}, s, "k");
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  EXPECT_EQ(r.read(), std::vector<uint32_t>(65, 7));
}

// Half of a warp is released from a barrier of so many threads while the other half polls for what it writes then.
TEST(Turns, LanesThatPollWhileOthersOfTheirWarpLeaveABarrier) {
  Shape s = threads(64);
  s.in_order = true;
  const Ran r = run(
      with_prologue(".shared .align 4 .b32 S;\nsetp.ge.u32 %p1, %r1, 32;\n@%p1 bra OTHER;\nsetp.ge.u32 %p2, %r1, 16;\n"
                    "@%p2 bra POLL;\nbarrier.sync 1, 64;\nst.volatile.shared.u32 [S], 7;\nmov.u32 %r10, 2;\nbra END;\n"
                    "OTHER:\nmov.u32 %r2, 0;\nL:\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p4, %r2, 9000;\n@%p4 bra L;\n"
                    "barrier.sync 1, 64;\nmov.u32 %r10, 1;\nbra END;\nPOLL:\nld.volatile.shared.u32 %r10, [S];\n"
                    "setp.eq.u32 %p3, %r10, 0;\n@%p3 bra POLL;\nEND:\n"),
      {zeros<uint32_t>(64)}, s);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(r.read()[i], i >= 32 ? 1u : i >= 16 ? 7u : 2u) << i;
}

// Block 0 reads the clock in a loop until block 1 has counted and said so: one thread runs them by turns. Each round of
// the loop has as many instructions.
TEST(Turns, TheClockCountsTheBlocksOwnInstructions) {
  Shape two = threads(1);
  two.grid = {2, 1, 1};
  const std::string text = kernel(
      ".param .u64 out",
      "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %ctaid.x;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra OTHER;\nmov.u32 %r2, -1;\n"
      "mov.u32 %r3, 0;\nmov.u32 %r8, 0;\nL:\nmov.u32 %r5, %clock;\nsub.u32 %r6, %r5, %r4;\nmov.u32 %r4, %r5;\n"
      "setp.gt.u32 %p3, %r8, 0;\n@%p3 min.u32 %r2, %r2, %r6;\n@%p3 max.u32 %r3, %r3, %r6;\nmov.u32 %r8, 1;\n"
      "ld.volatile.global.u32 %r7, [%rd1+8];\nsetp.eq.u32 %p2, %r7, 0;\n@%p2 bra L;\nst.global.u32 [%rd1], %r2;\n"
      "st.global.u32 [%rd1+4], %r3;\nret;\nOTHER:\nadd.u32 %r8, %r8, 1;\nsetp.lt.u32 %p4, %r8, 5000;\n@%p4 bra OTHER;\n"
      "st.volatile.global.u32 [%rd1+8], 1;\n");
  const Ran r = Bench(1).run(text, {zeros<uint32_t>(3)}, two, "k");
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  EXPECT_GT(r.read()[0], 0u);
  EXPECT_EQ(r.read()[0], r.read()[1]);
}

// Block 0 waits for block 1, which one thread runs after it, once its own warps have waited for each other, at a
// barrier or for lanes that have left.
TEST(Turns, ABlockThatWaitsForALaterOne) {
  const std::string wait = "P:\nld.volatile.shared.u32 %r2, [S];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra P;\n";
  for (const std::string& before : {std::string(),
                                    "setp.ge.u32 %p1, %r1, 32;\n@%p1 bra SET;\n" + wait +
                                        "bra MEET;\nSET:\nst.volatile.shared.u32 [S], 1;\nMEET:\nbar.sync 0;\n",
                                    "setp.ge.u32 %p1, %r1, 32;\n@%p1 bra SET;\n" + wait +
                                        "bra MEET;\nSET:\nst.volatile.shared.u32 [S], 1;\n"
                                        "exit;\nMEET:\n"}) {
    Shape two = threads(64);
    two.grid = {2, 1, 1};
    const Ran r = Bench(1).run(
        with_prologue(".shared .align 4 .b32 S;\nmov.u32 %r10, 1;\nmov.u32 %r5, %ctaid.x;\nsetp.ne.u32 %p5, %r5, 0;\n"
                      "@%p5 bra TELL;\n" +
                      before +
                      "L:\nld.volatile.global.u32 %r10, [%rd1+256];\nsetp.eq.u32 %p3, %r10, 0;\n@%p3 bra L;\nbra END;\n"
                      "TELL:\nst.volatile.global.u32 [%rd1+256], 7;\nexit;\nEND:\n"),
        {zeros<uint32_t>(65)}, two, "k");
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    EXPECT_EQ(r.read()[0], 7u);
  }
}

// The last block polls until the host has been told so, after a second, and lets a little more time pass: the host is
// told how far the launch has come, too.
TEST(Turns, ALongLaunchTellsOfItsProgress) {
  std::vector<std::string> told;
  std::vector<Diagnostic> said;
  uint32_t* flag = nullptr;
  Options options;
  options.threads = 1;
  options.polling = std::chrono::milliseconds(1000);
  options.notice = [&](const Diagnostic& d) {
    said.push_back(d);
    __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
  };
  options.progress = [&](std::string_view kernel, uint64_t done, uint64_t total) {
    told.push_back(std::string(kernel) + " " + std::to_string(done) + " of " + std::to_string(total));
  };
  Machine m(*find_device("h200"), options);
  flag = reinterpret_cast<uint32_t*>(m.memory().allocate(4, Origin::managed, "cudaMallocManaged")->base);
  *flag = 0;
  const LaunchReport r = m.launch(
      *m.load(kernel(".param .u64 flag",
                     "ld.param.u64 %rd4, [flag];\nmov.u32 %r1, %ctaid.x;\nsetp.ne.u32 %p2, %r1, 2;\n@%p2 exit;\n"
                     "mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p2, %r1, 37;\n@%p2 exit;\nP:\n"
                     "ld.volatile.global.u32 %r2, [%rd4];\nsetp.eq.u32 %p3, %r2, 0;\n@%p3 bra P;\n"
                     "mov.u64 %rd1, %globaltimer;\nL:\nmov.u64 %rd2, %globaltimer;\nsub.u64 %rd3, %rd2, %rd1;\n"
                     "setp.lt.u64 %p1, %rd3, 50000000;\n@%p1 bra L;\n"),
              "test.ptx"),
      "k", {{3, 1, 1}, {64, 1, 1}, 0, false, value(reinterpret_cast<uint64_t>(flag)).bytes});
  ASSERT_EQ(r.fault, Fault::none);
  EXPECT_FALSE(told.empty());
  EXPECT_THAT(told, testing::Each(testing::AnyOf("k 2 of 3", "k 3 of 3")));
  ASSERT_EQ(said.size(), 1u);
  EXPECT_THAT(said[0].message, testing::HasSubstr("stored nothing for 1 seconds"));
  EXPECT_EQ(said[0].severity, Severity::warning);
  EXPECT_EQ(said[0].block, (std::array<uint32_t, 3>{2, 0, 0}));
  EXPECT_EQ(said[0].warp, 1u);
  EXPECT_EQ(said[0].lanes, 1u << 5);
  EXPECT_EQ(said[0].thread, (std::array<uint32_t, 3>{37, 0, 0}));
}

}  // namespace
}  // namespace turns
}  // namespace coalesce::machine::test
