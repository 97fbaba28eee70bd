// Corners to which random kernels seldom come: blocks that free what others may still get, buffers of the device
// runtime, what orders accesses, faults beside who waits.
#include "calls.h"
#include "prologue.h"
#include "tests/device_launches.h"

namespace coalesce::machine::test {
namespace {

// Block 0 asks for memory late, the last one gives memory back at once: as blocks take turns, block 0 cannot get that.
TEST(Corners, MemoryIsFreedInTheOrderOfBlocks) {
  const std::string heap =
      ".extern .func (.param .b64 v) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);\n"
      ".visible .entry first(.param .u64 out)\n{\n.reg .b64 %rd<4>;\nld.param.u64 %rd1, [out];\n"
      "{\n.param .b64 n;\n.param .b64 v;\nst.param.b64 [n], 64;\ncall.uni (v), malloc, (n);\nld.param.b64 %rd2, [v];\n"
      "}\nst.global.u64 [%rd1], %rd2;\nret;\n}\n";
  const std::string body =
      "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %ctaid.x;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra LATE;\n"
      "setp.ne.u32 %p3, %r1, 255;\n@%p3 exit;\n"
      "ld.global.u64 %rd2, [%rd1];\n{\n.param .b64 p;\nst.param.b64 [p], %rd2;\ncall.uni free, (p);\n}\nret;\n"
      "LATE:\nmov.u32 %r2, 0;\nAGAIN:\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, 60000;\n@%p2 bra AGAIN;\n"
      "{\n.param .b64 n;\n.param .b64 v;\nst.param.b64 [n], 64;\ncall.uni (v), malloc, (n);\nld.param.b64 %rd3, [v];\n"
      "}\nst.global.u64 [%rd1+8], %rd3;\n";
  std::string text = kernel(".param .u64 out", body);
  text.insert(text.find(".visible .entry"), heap);
  for (const unsigned n : thread_counts()) {
    Bench bench(n);
    const auto program = bench.machine().load(text, "heap.ptx");
    Shape one = threads(1), two = threads(1);
    two.grid = {256, 1, 1};
    const Ran kept = bench.run(*program, {zeros<uint64_t>(2)}, one, "first", true);
    const Ran r = bench.run(*program, {Argument{true, kept.buffers[0], 0}}, two, "k", false, &kept);
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    EXPECT_NE(r.read<uint64_t>()[1], 0u);
    EXPECT_NE(r.read<uint64_t>()[0], r.read<uint64_t>()[1]) << n << " threads";
  }
}

// The last byte of each buffer is there; as many as the runtime keeps in one piece of memory.
TEST(Corners, BuffersOfTheDeviceRuntimeAreAsLargeAsAskedFor) {
  for (const uint32_t size : {225u, 240u, 241u}) {
    const std::string last = std::to_string(size - 1);
    std::string text = kernel(".param .u64 out",
                              "mov.u32 %r2, 0;\nNEXT:\n{\n.param .b64 a;\nst.param.b64 [a], 16;\n.param .b64 b;\n"
                              "st.param.b64 [b], " +
                                  std::to_string(size) +
                                  ";\n.param .b64 r;\ncall.uni (r), __cudaCDP2GetParameterBuffer, (a, b);\n"
                                  "ld.param.b64 %rd2, [r];\n}\nst.u8 [%rd2], 1;\nst.u8 [%rd2+" +
                                  last + "], 2;\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 300;\n@%p1 bra NEXT;\n");
    text.insert(text.find(".visible .entry"),
                ".extern .func (.param .b64 r) __cudaCDP2GetParameterBuffer(.param .b64 a, .param .b64 b);\n");
    const Ran r = Bench(1).run(text, {zeros<uint64_t>(1)}, threads(1), "k");
    EXPECT_EQ(r.report.fault, Fault::none) << size << ": " << r.message();
  }
}

// Waiting for a phase orders what was written before the arrivals; to arrive alone does not.
TEST(Corners, ObjectsOrderAccesses) {
  for (const bool waits : {true, false}) {
    const std::string text = with_prologue(
        ".shared .align 8 .b64 B;\n.shared .align 4 .b32 S[64];\nmov.u32 %r2, S;\nmad.lo.u32 %r3, %r1, 4, %r2;\n"
        "xor.b32 %r4, %r1, 32;\nmad.lo.u32 %r4, %r4, 4, %r2;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra READY;\n"
        "mbarrier.init.shared.b64 [B], 64;\nREADY:\nbar.sync 0;\nst.shared.u32 [%r3], %r1;\n"
        "mbarrier.arrive.shared.b64 %rd9, [B];\n" +
        std::string(waits ? "WAIT:\nmbarrier.test_wait.shared.b64 %p2, [B], %rd9;\n@!%p2 bra WAIT;\n" : "") +
        "ld.shared.u32 %r10, [%r4];\n");
    Machine m(*find_device("h200"), {.threads = 1, .progress = {}, .output = {}, .check = true});
    const uint64_t out = m.memory().allocate(256, Origin::device, "cudaMalloc")->base;
    const LaunchReport r =
        m.launch(*m.load(text, "test.ptx"), "k", {{1, 1, 1}, {64, 1, 1}, 0, false, value(out).bytes});
    EXPECT_EQ(r.fault, Fault::none);
    EXPECT_EQ(r.diagnostics.empty(), waits) << (r.diagnostics.empty() ? "" : r.diagnostics[0].message);
    const auto* got = reinterpret_cast<const uint32_t*>(out);
    for (uint32_t i = 0; waits && i < 64; ++i) EXPECT_EQ(got[i], i ^ 32);
  }
}

// The barrier of a cluster orders what its blocks wrote before they came; to arrive alone does not.
TEST(Corners, BarriersOfClustersOrderAccesses) {
  for (const bool waits : {true, false}) {
    const std::string wait = "barrier.cluster.wait.acquire.aligned;\n", load = "ld.global.u32 %r10, [%rd5];\n";
    const std::string text =
        kernel(".param .u64 out",
               "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n"
               "mad.lo.u32 %r3, %r2, 64, %r1;\nmul.wide.u32 %rd2, %r3, 4;\nadd.u64 %rd3, %rd1, %rd2;\n"
               "xor.b32 %r4, %r3, 64;\nmul.wide.u32 %rd4, %r4, 4;\nadd.u64 %rd5, %rd1, %rd4;\n"
               "add.u32 %r5, %r3, 7;\nst.global.u32 [%rd3], %r5;\nbarrier.cluster.arrive.release.aligned;\n" +
                   (waits ? wait + load : load + wait) + "st.global.u32 [%rd3+512], %r10;\n");
    Machine m(*find_device("h200"), {.threads = 1, .progress = {}, .output = {}, .check = true});
    const uint64_t out = m.memory().allocate(1024, Origin::device, "cudaMalloc")->base;
    LaunchConfig config{{2, 1, 1}, {64, 1, 1}, 0, false, value(out).bytes};
    config.cluster = {2, 1, 1};
    const LaunchReport r = m.launch(*m.load(text, "test.ptx"), "k", config);
    EXPECT_EQ(r.fault, Fault::none);
    EXPECT_EQ(r.diagnostics.empty(), waits) << (r.diagnostics.empty() ? "" : r.diagnostics[0].message);
    const auto* got = reinterpret_cast<const uint32_t*>(out);
    for (uint32_t i = 0; waits && i < 128; ++i) EXPECT_EQ(got[128 + i], (i ^ 64) + 7);
  }
}

// Warp 1's store faults while warp 0 waits for what warp 1 would write after it: the fault is told, at once.
TEST(Corners, AFaultBesideAWarpThatWaitsForTheFaultingOne) {
  Shape s = threads(64);
  s.max_instructions = 20'000'000;
  s.in_order = true;
  const Ran r = run(with_prologue("setp.lt.u32 %p1, %r1, 32;\nselp.u64 %rd5, %rd3, 64, %p1;\nst.global.u32 [%rd5], 1;\n"
                                  "mov.u32 %r10, 7;\n@!%p1 st.volatile.global.u32 [%rd1+256], 5;\n"
                                  "setp.ne.u32 %p2, %r1, 0;\n@%p2 bra END;\nWAIT:\nld.volatile.global.u32 %r2, "
                                  "[%rd1+256];\nsetp.eq.u32 %p3, %r2, 0;\n@%p3 bra WAIT;\nEND:\n"),
                    {zeros<uint32_t>(65)}, s);
  EXPECT_EQ(r.report.fault, Fault::illegal_address) << r.message();
  ASSERT_EQ(r.report.diagnostics.size(), 1u);
  EXPECT_EQ(r.report.diagnostics[0].warp, 1u);
}

// All warps are in the second loop when the instructions are used up.
TEST(Corners, TheLoopThatUsesUpTheInstructionsIsNamed) {
  Shape s = threads(128);
  s.max_instructions = 200'000;
  const Ran r = run(with_prologue("mov.u32 %r2, 0;\nmov.u32 %r3, %nctaid.x;\nFIRST:\nadd.u32 %r2, %r2, 1;\n"
                                  "setp.lt.u32 %p1, %r2, 10;\n@%p1 bra FIRST;\nSECOND:\nadd.u32 %r4, %r1, %r2;\n"
                                  "st.global.u32 [%rd3], %r4;\nsetp.ne.u32 %p2, %r3, 9;\n@%p2 bra SECOND;\n"),
                    {zeros<uint32_t>(128)}, s);
  EXPECT_EQ(r.report.fault, Fault::budget);
  ASSERT_EQ(r.report.diagnostics.size(), 1u);
  EXPECT_THAT(r.report.diagnostics[0].ptx_text, testing::HasSubstr("%r4"));
}

// A counter of the block, raised before, in between and after: warp 0 waits in between for warp 1, which comes later.
TEST(Corners, UniformValuesOfWarpsThatWait) {
  const Ran r = run(with_prologue("mov.u32 %r5, %nctaid.x;\nmov.u32 %r6, 0;\nmov.u32 %r10, 0;\nLOOP:\n"
                                  "add.u32 %r5, %r5, 1;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra ON;\nWAIT:\n"
                                  "ld.volatile.global.u32 %r2, [%rd1+256];\nsetp.le.u32 %p2, %r2, %r6;\n"
                                  "@%p2 bra WAIT;\nON:\nadd.u32 %r5, %r5, 10;\nmad.lo.u32 %r10, %r10, 3, %r5;\n"
                                  "setp.ne.u32 %p3, %r1, 33;\n@%p3 bra NEXT;\nadd.u32 %r7, %r6, 1;\n"
                                  "st.volatile.global.u32 [%rd1+256], %r7;\nNEXT:\nadd.u32 %r5, %r5, 100;\n"
                                  "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p4, %r6, 3;\n@%p4 bra LOOP;\n"),
                    {zeros<uint32_t>(65)}, threads(64));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  uint32_t counter = 1, wanted = 0;
  for (int k = 0; k < 3; ++k) wanted = 3 * wanted + (counter += 11), counter += 100;
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(r.read()[i], wanted) << i;
}

// The remainder by 0, whatever it is (PTX says nothing), is no small number: sums with it wrap.
TEST(Corners, SumsWithARemainderByZero) {
  const Ran r = run(kernel(".param .u64 out, .param .u32 n",
                           "ld.param.u64 %rd1, [out];\nld.param.u32 %r2, [n];\nmov.u32 %r1, %tid.x;\n"
                           "rem.u32 %r3, %r2, 0;\nst.global.u32 [%rd1+512], %r3;\nadd.u32 %r4, %r1, %r3;\n"
                           "mul.wide.u32 %rd2, %r4, 4;\nadd.s64 %rd3, %rd1, %rd2;\nadd.u32 %r5, %r1, 1;\n"
                           "setp.gt.u32 %p1, %r1, 15;\n@%p1 st.global.u32 [%rd3], %r5;\n"),
                    {zeros<uint32_t>(129), value(0xfffffff0u)}, threads(64));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  const uint32_t rest = r.read()[128];
  ASSERT_GE(rest, 0xfffffff0u);
  for (uint32_t i = 16; i < 64; ++i) EXPECT_EQ(r.read()[i + rest], i + 1);
}

// The true predicate as all lanes' value and as some lanes'.
TEST(Corners, TheSamePredicateForSomeLanesAndForAll) {
  const Ran r =
      run(with_prologue(
              "setp.lt.u32 %p1, %r1, 5;\nsetp.gt.u32 %p7, %r1, 40;\nand.pred %p2, %p7, -1;\n@%p1 mov.pred %p2, -1;\n"
              "mov.u32 %r3, %nctaid.x;\nsetp.ne.u32 %p6, %r3, 9;\nand.pred %p3, %p6, -1;\nmov.pred %p4, 0;\n"
              "@%p1 mov.pred %p4, -1;\n"
              "vote.sync.all.pred %p5, -1, -1;\nselp.u32 %r10, 1, 0, %p2;\n"
              "selp.u32 %r2, 2, 0, %p3;\nor.b32 %r10, %r10, %r2;\nselp.u32 %r2, 4, 0, %p4;\n"
              "or.b32 %r10, %r10, %r2;\nselp.u32 %r2, 8, 0, %p5;\nor.b32 %r10, %r10, %r2;\n"
              "barrier.red.popc.u32 %r2, 0, -1;\nmad.lo.u32 %r10, %r2, 16, %r10;\n"),
          {zeros<uint32_t>(64)}, threads(64));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(r.read()[i], (i < 5 || i > 40 ? 1u : 0) | 2 | (i < 5 ? 4u : 0) | 8 | 64 * 16) << i;
}

TEST(Corners, ACallOfNothing) {
  for (const char* const line : {"call;", "call (%r1);", "call.uni ();"}) {
    std::string said;
    try {
      said = run(with_prologue("mov.u32 %r10, 0;\n" + std::string(line) + "\n"), {zeros<uint32_t>(32)}).message();
    } catch (const std::exception& e) {
      said = e.what();
    }
    EXPECT_THAT(said, testing::HasSubstr("call")) << line;
  }
}

// A thread's stack begins behind its variables, however many bytes these have.
TEST(Corners, TheStackBeginsBehindLargeVariables) {
  for (const uint32_t bytes : {8u, 1000u}) {
    const std::string last = std::to_string(bytes - 8);
    const Ran r =
        run(with_prologue(".local .align 8 .b8 own[" + std::to_string(bytes) + "];\nst.local.u32 [own+" + last +
                          "], 3;\nalloca.u64 %rd5, 1024;\nadd.u64 %rd6, %rd5, 1024;\nCLEAR:\n"
                          "st.local.u64 [%rd5], -1;\nadd.u64 %rd5, %rd5, 8;\nsetp.lt.u64 %p1, %rd5, %rd6;\n"
                          "@%p1 bra CLEAR;\nld.local.u32 %r10, [own+" +
                          last + "];\n"),
            {zeros<uint32_t>(32)});
    ASSERT_EQ(r.report.fault, Fault::none) << bytes << ": " << r.message();
    EXPECT_EQ(r.read(), std::vector<uint32_t>(32, 3)) << bytes;
  }
}

// A pointer to functions of which some call themselves: these leave their result elsewhere than the others.
TEST(Corners, PointersToFunctionsThatCallThemselves) {
  const auto sum = [](const std::string& name, const std::string& with) {
    return declaration(name) + function(name,
                                        "mov.u32 %r2, 0;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra DONE;\n"
                                        "sub.u32 %r3, %r1, 1;\n" +
                                            call(name, "%r2", "%r3") + with + "DONE:\n");
  };
  const std::string through =
      "{\n.param .b32 a;\n.param .b32 v;\nst.param.b32 [a], %r1;\nP: .callprototype (.param .b32 _) _ (.param .b32 "
      "_);\ncall (v), %rd20, (a), P;\nld.param.b32 %r2, [v];\n}\n";
  const std::vector<uint32_t> in = numbers(64, 9);
  const Ran r = run_map(sum("numbers", "add.u32 %r2, %r2, %r1;\n") + sum("threes", "add.u32 %r2, %r2, 3;\n") +
                            function("inc", "add.u32 %r2, %r1, 1;\n") +
                            ".global .align 8 .u64 table[3] = {numbers, threes, inc};\n",
                        "mov.u32 %r2, 77;\nrem.u32 %r10, %r22, 3;\nmov.u64 %rd10, table;\n"
                        "mad.wide.u32 %rd11, %r10, 8, %rd10;\nld.global.u64 %rd20, [%rd11];\n" +
                            through,
                        in);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < in.size(); ++i) {
    const uint32_t n = in[i], which = i % 32 % 3;
    EXPECT_EQ(r.read()[i], which == 0 ? n * (n + 1) / 2 : which == 1 ? 3 * n : n + 1) << i;
  }
}

// Lanes that leave by a table, whose ways come together nowhere, are no lanes to wait for where the others meet.
TEST(Corners, LanesThatLeaveByATableAreNotWaitedFor) {
  const Ran r =
      run(with_prologue("setp.ge.u32 %p1, %r1, 24;\n@%p1 bra MEET;\nsetp.ge.u32 %p2, %r1, 16;\n@%p2 bra MEET;\n"
                        "TABLE: .branchtargets X, Y;\nand.b32 %r2, %r1, 1;\nbrx.idx %r2, TABLE;\n"
                        "X:\nst.global.u32 [%rd3], 10;\nexit;\nY:\nst.global.u32 [%rd3], 20;\nexit;\n"
                        "MEET:\nmov.u32 %r10, 30;\nsetp.lt.u32 %p3, %r1, 0;\n@%p3 bra A;\nadd.u32 %r10, %r10, 1;\n"
                        "A:\n@%p3 bra B;\nadd.u32 %r10, %r10, 1;\nB:\n@%p3 bra C;\nadd.u32 %r10, %r10, 1;\nC:\n"),
          {zeros<uint32_t>(32)});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.read()[i], i >= 16 ? 33u : i % 2 ? 20u : 10u) << i;
  EXPECT_EQ(r.counters().global_store_requests, 3) << "one of each way, and one of all lanes that stay";
}

// Lanes that named companions who then leave go on once, whoever comes first.
TEST(Corners, LanesWhoseCompanionsLeaveGoOnOnce) {
  for (const char* leaves : {"lt", "ge"}) {
    const Ran r =
        run(with_prologue("setp." + std::string(leaves) +
                          ".u32 %p1, %r1, 16;\n@%p1 bra GONE;\nbar.warp.sync 0xffffffff;\n"
                          "red.global.add.u32 [%rd3], 5;\nexit;\nGONE:\nred.global.add.u32 [%rd3], 7;\nexit;\n"),
            {zeros<uint32_t>(32)});
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    const bool low = std::string(leaves) == "lt";
    for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.read()[i], (i < 16) == low ? 7u : 5u) << leaves << ", thread " << i;
  }
}

// The same where the sides may meet, though nobody comes there, and other lanes of the warp wait for the block.
TEST(Corners, LanesWhoseCompanionsLeaveGoOnOnceBesideOthers) {
  for (const char* leaves : {"lt", "ge"}) {
    Shape s = threads(64);
    s.max_instructions = 100'000;
    const Ran r =
        run(with_prologue("and.b32 %r2, %r1, 31;\nld.global.u32 %r3, [%rd1+256];\nsetp.eq.u32 %p3, %r3, 0;\n"
                          "setp.ge.u32 %p2, %r2, 16;\n@%p2 bra STAY;\nsetp." +
                          std::string(leaves) +
                          ".u32 %p1, %r2, 8;\n@%p1 bra GONE;\nbar.warp.sync 0xffff;\n"
                          "red.global.add.u32 [%rd3], 5;\n@%p3 exit;\nbra STAY;\nGONE:\n"
                          "red.global.add.u32 [%rd3], 7;\n@%p3 exit;\nSTAY:\nbar.sync 0;\nmov.u32 %r10, 9;\n"),
            {zeros<uint32_t>(65)}, s);
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    const bool low = std::string(leaves) == "lt";
    for (uint32_t i = 0; i < 64; ++i)
      EXPECT_EQ(r.read()[i], i % 32 >= 16 ? 9u : (i % 32 < 8) == low ? 7u : 5u) << leaves << ", thread " << i;
  }
}

// A register is the address of a load, then another one that a store under a mask has: the other lanes' words stay.
TEST(Corners, AStoreBehindALoadByAnotherValueOfTheRegister) {
  for (const char* half : {"lt", "ge"}) {
    const Ran r = run(
        with_prologue(".shared .align 16 .b32 S[256];\nmov.u32 %r2, S;\nmad.lo.u32 %r3, %r1, 4, %r2;\n"
                      "add.u32 %r7, %r3, 512;\nst.shared.u32 [%r3], %r1;\nadd.u32 %r4, %r1, 100;\n"
                      "st.shared.u32 [%r7], %r4;\nsetp." +
                      std::string(half) +
                      ".u32 %p1, %r1, 20;\nbar.sync 0;\nld.shared.u32 %r5, [%r3];\nmov.b32 %r3, %r7;\n"
                      "@%p1 st.shared.u32 [%r3], 7;\nld.shared.u32 %r6, [%r7];\nmad.lo.u32 %r10, %r5, 1000, %r6;\n"),
        {zeros<uint32_t>(64)}, threads(64));
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    const bool low = std::string(half) == "lt";
    for (uint32_t i = 0; i < 64; ++i)
      EXPECT_EQ(r.read()[i], i * 1000 + ((i < 20) == low ? 7 : i + 100)) << half << ", thread " << i;
  }
}

}  // namespace
}  // namespace coalesce::machine::test
