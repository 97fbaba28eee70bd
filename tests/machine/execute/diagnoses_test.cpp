// Diagnostics of faults and waits: of whom, where; what runs beside them; what `check` learns from barriers and fences.
#include "prologue.h"

namespace coalesce::machine::test {
namespace diagnoses {
namespace {

TEST(Diagnoses, AFaultInALaterBlockIsThatBlocks) {
  Shape s;
  s.grid = {3, 2, 2};
  // One thread, as all blocks store to the same words.
  const Ran r =
      Bench(1).run(with_prologue("mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ctaid.y;\nmov.u32 %r4, %ctaid.z;\n"
                                 "mad.lo.u32 %r2, %r3, 10, %r2;\nmad.lo.u32 %r2, %r4, 100, %r2;\n"
                                 "setp.eq.u32 %p1, %r2, 112;\nselp.u64 %rd5, 64, %rd3, %p1;\nmov.u32 %r10, 0;\n"
                                 "st.global.u32 [%rd5], %r10;\n"),
                   {zeros<uint32_t>(32)}, s, "k");
  EXPECT_EQ(r.report.fault, Fault::illegal_address);
  ASSERT_EQ(r.report.diagnostics.size(), 1u);
  EXPECT_EQ(r.report.diagnostics[0].block, (std::array<uint32_t, 3>{2, 1, 1}));
}

// One thread takes no more blocks once one has faulted.
TEST(Diagnoses, AFaultEndsTheLaunch) {
  constexpr uint32_t kBlocks = 20'000;
  Shape s = threads(1);
  s.grid = {kBlocks, 1, 1};
  const Ran r =
      Bench(1).run(with_prologue("mov.u32 %r2, %ctaid.x;\nmad.wide.u32 %rd3, %r2, 4, %rd1;\n"
                                 "setp.eq.u32 %p1, %r2, 1;\nselp.u64 %rd3, 64, %rd3, %p1;\nmov.u32 %r10, 1;\n"),
                   {zeros<uint32_t>(kBlocks)}, s, "k");
  EXPECT_EQ(r.report.fault, Fault::illegal_address);
  EXPECT_EQ(r.read().front(), 1u);
  EXPECT_EQ(r.read().back(), 0u);
}

// Two warps wait at barriers of their own: the first is named.
TEST(Diagnoses, ADeadlockIsOfTheFirstThatWaits) {
  for (const unsigned schedule_threads : {1u, 2u}) {
    Machine m(*find_device("h200"), {.threads = schedule_threads, .progress = {}, .output = {}, .check = true});
    const uint64_t out = m.memory().allocate(512, Origin::device, "cudaMalloc")->base;
    const LaunchReport r = m.launch(
        *m.load(with_prologue("mov.u32 %r10, 0;\nsetp.lt.u32 %p1, %r1, 32;\n@%p1 exit;\nsetp.lt.u32 %p2, %r1, 64;\n"
                              "@%p2 bra SECOND;\nbar.sync 2, 64;\nexit;\nSECOND:\nbar.sync 1, 64;\n"),
                "test.ptx"),
        "k", {{1, 1, 1}, {96, 1, 1}, 0, false, value(out).bytes});
    ASSERT_EQ(r.fault, Fault::deadlock);
    const Diagnostic& d = r.diagnostics.at(0);
    EXPECT_EQ(d.warp, 1u);
    EXPECT_EQ(d.lanes, ~0u);
    EXPECT_EQ(d.thread, (std::array<uint32_t, 3>{32, 0, 0}));
    EXPECT_EQ(d.block, (std::array<uint32_t, 3>{0, 0, 0}));
  }
}

// Blocks of malloc's, of 16 bytes each and in a row: who writes behind the end of one's own is named.
TEST(Diagnoses, ABlockOfMallocsEndsWhereItEnds) {
  for (const uint32_t at : {0u, 12u, 16u, 20u}) {
    std::string text = with_prologue(
        "{\n.param .b64 n;\n.param .b64 v;\nst.param.b64 [n], 16;\ncall.uni (v), malloc, (n);\nld.param.b64 %rd5, "
        "[v];\n}\n"
        "st.u32 [%rd5+" +
        std::to_string(at) + "], %r1;\nmov.u32 %r10, 1;\n");
    text.insert(text.find(".visible .entry"), ".extern .func (.param .b64 v) malloc(.param .b64 n);\n");
    Machine m(*find_device("h200"), {.threads = 1, .progress = {}, .output = {}, .check = true});
    const uint64_t out = m.memory().allocate(128, Origin::device, "cudaMalloc")->base;
    const LaunchReport r =
        m.launch(*m.load(text, "test.ptx"), "k", {{1, 1, 1}, {32, 1, 1}, 0, false, value(out).bytes});
    const bool inside = at < 16;
    EXPECT_EQ(r.diagnostics.empty(), inside)
        << at << (inside ? r.diagnostics.empty() ? "" : r.diagnostics[0].message : "");
    if (!inside && !r.diagnostics.empty())
      EXPECT_EQ(r.diagnostics[0].hazard, Hazard::out_of_array) << r.diagnostics[0].message;
  }
}

// A fault in a header's line: where that was inlined to is what the line table says, or, for `check`, the kernel's own
// file's line before it.
TEST(Diagnoses, LinesOfOtherFilesAreInlined) {
  for (const bool checks : {false, true})
    for (const bool named : {false, true}) {
      std::string text = with_prologue(".loc 1 30 1\nmov.u32 %r10, 1;\n.loc 1 31 1\nmov.u32 %r11, 1;\n.loc 2 7 1" +
                                       std::string(named ? ", function_name $S, inlined_at 1 30 1" : "") +
                                       "\nst.global.u32 [%rd1+4096], %r10;\n.loc 1 33 1\n");
      text += ".file 1 \"a.cu\"\n.file 2 \"lib.h\"\n.section .debug_str {\n$S:\n.b8 102\n.b8 0\n}\n";
      Machine m(*find_device("h200"), {.threads = 1, .progress = {}, .output = {}, .check = checks});
      const uint64_t out = m.memory().allocate(128, Origin::device, "cudaMalloc")->base;
      const LaunchReport r =
          m.launch(*m.load(text, "test.ptx"), "k", {{1, 1, 1}, {32, 1, 1}, 0, false, value(out).bytes});
      ASSERT_EQ(r.fault, Fault::illegal_address);
      const Diagnostic& d = r.diagnostics.at(0);
      EXPECT_EQ(d.place.line, 7u);
      ASSERT_EQ(d.inlined_at.size(), checks || named ? 1u : 0u) << checks << named;
      if (checks || named) EXPECT_EQ(d.inlined_at[0].line, named ? 30u : 31u) << checks;
    }
}

// Leaks are named by the instruction that asked malloc: blocks, and bytes as asked for.
TEST(Diagnoses, BlocksThatNobodyFrees) {
  const auto call = [](const std::string& bytes) {
    return "{\n.param .b64 n;\n.param .b64 v;\nst.param.b64 [n], " + bytes +
           ";\ncall.uni (v), malloc, (n);\nld.param.b64 %rd5, [v];\n}\n";
  };
  const std::string free = "{\n.param .b64 p;\nst.param.b64 [p], %rd5;\ncall.uni free, (p);\n}\n";
  std::string text = with_prologue(".loc 1 5 1\n" + call("20") + ".loc 1 6 1\n" + call("7") +
                                   "setp.eq.u32 %p1, %r1, 1;\n@%p1 bra KEEP;\n" + free + "KEEP:\n.loc 1 7 1\n" +
                                   call("33") + free + "mov.u32 %r10, 1;\n");
  text.insert(text.find(".visible .entry"),
              ".extern .func (.param .b64 v) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);\n");
  text += ".file 1 \"a.cu\"\n";
  Machine m(*find_device("h200"), {.threads = 1, .progress = {}, .output = {}, .check = true});
  const auto program = m.load(text, "test.ptx");
  const uint64_t out = m.memory().allocate(128, Origin::device, "cudaMalloc")->base;
  for (uint64_t launch = 1; launch < 3; ++launch) {
    ASSERT_EQ(m.launch(*program, "k", {{1, 1, 1}, {3, 1, 1}, 0, false, value(out).bytes}).fault, Fault::none);
    const std::vector<Diagnostic> leaks = m.heap_leaks();
    ASSERT_EQ(leaks.size(), 2u);
    for (std::size_t k = 0; k < 2; ++k) {
      const uint64_t blocks = (k == 0 ? 3 : 1) * launch, bytes = blocks * (k == 0 ? 20 : 7);
      EXPECT_EQ(leaks[k].count, blocks);
      EXPECT_EQ(leaks[k].message, std::to_string(bytes) + " bytes of malloc in kernels were not freed: " +
                                      std::to_string(blocks) + (blocks == 1 ? " block" : " blocks"));
      EXPECT_EQ(leaks[k].hazard, Hazard::leak);
      EXPECT_EQ(leaks[k].severity, Severity::warning);
      EXPECT_EQ(leaks[k].kernel, "k");
      EXPECT_EQ(leaks[k].place.line, 5 + k);
      EXPECT_GT(leaks[k].ptx_line, 0u);
      EXPECT_TRUE(leaks[k].inlined_at.empty());
    }
  }
}

// Ten warps wait for an eleventh: eight are named.
TEST(Diagnoses, ADeadlockOfManyWarpsNamesEight) {
  const Ran r = run(with_prologue("mov.u32 %r10, 0;\nbar.sync 1, 352;\n"), {zeros<uint32_t>(320)}, threads(320));
  ASSERT_EQ(r.report.fault, Fault::deadlock);
  const std::vector<std::string>& notes = r.report.diagnostics.at(0).notes;
  ASSERT_EQ(notes.size(), 9u);
  for (uint32_t w = 0; w < 8; ++w)
    EXPECT_THAT(notes[w], testing::StartsWith("warp " + std::to_string(w) + ", lanes 0xffffffff wait at PTX line "));
  EXPECT_EQ(notes[8], "and more");
}

// A barrier that lanes of a warp come to apart, in each round of a loop: which they are, said once of each side.
TEST(Diagnoses, LanesThatComeToABarrierApart) {
  Machine m(*find_device("h200"), {.threads = 1, .progress = {}, .output = {}, .check = true});
  const uint64_t out = m.memory().allocate(512, Origin::device, "cudaMalloc")->base;
  const LaunchReport r = m.launch(
      *m.load(with_prologue("mov.u32 %r10, 0;\nL:\nsetp.lt.u32 %p1, %r1, 10;\n@%p1 bra FEW;\nbar.sync 0;\nbra END;\n"
                            "FEW:\nbar.sync 0;\nEND:\nadd.u32 %r10, %r10, 1;\nsetp.lt.u32 %p2, %r10, 3;\n"
                            "@%p2 bra L;\n"),
              "test.ptx"),
      "k", {{1, 1, 1}, {32, 1, 1}, 0, false, value(out).bytes});
  std::vector<uint32_t> lanes;
  std::vector<std::string> notes;
  for (const Diagnostic& d : r.diagnostics) {
    EXPECT_EQ(d.hazard, Hazard::divergent_barrier) << d.message;
    lanes.push_back(d.lanes);
    notes.insert(notes.end(), d.notes.begin(), d.notes.end());
  }
  EXPECT_THAT(lanes, testing::UnorderedElementsAre(0x3ffu, ~0x3ffu));
  EXPECT_THAT(notes, testing::UnorderedElementsAre("thread (0, 0, 0) and 9 more of the warp are not there",
                                                   "thread (10, 0, 0) and 21 more of the warp are not there"));
}

// Values handed over in shared memory by a barrier of the block, and in global memory by a flag between fences.
TEST(Diagnoses, WhatOrdersAccesses) {
  struct {
    std::string body;
    uint32_t blocks;
    bool ordered;
  } const kCases[] = {
      {"st.shared.u32 [%r3], %r1;\nbar.sync 0;\nld.shared.u32 %r10, [%r4];\n", 1, true},
      {"st.shared.u32 [%r3], %r1;\nld.shared.u32 %r10, [%r4];\n", 1, false},
      {"st.shared.u32 [%r3], %r1;\nbar.red.popc.u32 %r6, 0, %p1;\nld.shared.u32 %r10, [%r4];\n", 1, true},
      {"setp.ne.u32 %p2, %r5, 0;\n@%p2 bra LAST;\n@!%p1 bra END;\nst.global.u32 [%rd1+512], 7;\nmembar.gl;\n"
       "st.volatile.global.u32 [%rd1+768], 1;\nbra END;\nLAST:\n@!%p1 bra END;\nWAIT:\n"
       "ld.volatile.global.u32 %r6, [%rd1+768];\nsetp.eq.u32 %p3, %r6, 0;\n@%p3 bra WAIT;\nmembar.gl;\n"
       "ld.global.u32 %r7, [%rd1+512];\nEND:\n",
       2, true},
      {"setp.ne.u32 %p2, %r5, 0;\n@%p2 bra LAST;\n@!%p1 bra END;\nst.global.u32 [%rd1+512], 7;\n"
       "st.volatile.global.u32 [%rd1+768], 1;\nbra END;\nLAST:\n@!%p1 bra END;\nWAIT:\n"
       "ld.volatile.global.u32 %r6, [%rd1+768];\nsetp.eq.u32 %p3, %r6, 0;\n@%p3 bra WAIT;\n"
       "ld.global.u32 %r7, [%rd1+512];\nEND:\n",
       2, false},
  };
  for (const auto& c : kCases) {
    const std::string text =
        kernel(".param .u64 out", ".shared .align 4 .b32 S[64];\n" + kPrologue +
                                      "mov.u32 %r2, S;\nmad.lo.u32 %r3, %r1, 4, %r2;\nxor.b32 %r4, %r1, 32;\n"
                                      "mad.lo.u32 %r4, %r4, 4, %r2;\nmov.u32 %r5, %ctaid.x;\nmov.u32 %r10, 0;\n"
                                      "setp.eq.u32 %p1, %r1, 0;\n" +
                                      c.body + "mad.wide.u32 %rd4, %r5, 256, %rd3;\nst.global.u32 [%rd4], %r10;\n");
    Machine m(*find_device("h200"), {.threads = 1, .progress = {}, .output = {}, .check = true});
    const uint64_t out = m.memory().allocate(1024, Origin::device, "cudaMalloc")->base;
    std::memset(reinterpret_cast<void*>(out), 0, 1024);
    m.wrote(out, 1024);
    const LaunchReport r =
        m.launch(*m.load(text, "test.ptx"), "k", {{c.blocks, 1, 1}, {64, 1, 1}, 0, false, value(out).bytes});
    EXPECT_EQ(r.fault, Fault::none);
    EXPECT_EQ(r.diagnostics.empty(), c.ordered) << c.body << (r.diagnostics.empty() ? "" : r.diagnostics[0].message);
  }
}

// cudaMalloc in a kernel: 2 is cudaErrorMemoryAllocation, and the pointer stays as it was.
TEST(Diagnoses, MemoryThatTheDeviceDoesNotHave) {
  for (const auto& [bytes, expected] : {std::pair{"64", 0u}, {"1099511627776", 2u}}) {
    std::string text = with_prologue(
        "add.u64 %rd5, %rd1, 8;\n{\n.param .b64 a;\nst.param.b64 [a], %rd5;\n.param .b64 b;\nst.param.b64 [b], " +
        std::string(bytes) +
        ";\n.param .b32 r;\ncall.uni (r), __cudaCDP2Malloc, (a, b);\nld.param.b32 %r10, [r];\n}\n");
    text.insert(text.find(".visible .entry"),
                ".extern .func (.param .b32 r) __cudaCDP2Malloc(.param .b64 a, .param .b64 b);\n");
    const Ran r = Bench(1).run(text, {zeros<uint32_t>(4)}, threads(1), "k");
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    EXPECT_EQ(r.read()[0], expected);
    EXPECT_EQ(r.read<uint64_t>()[1] != 0, expected == 0);
  }
}

}  // namespace
}  // namespace diagnoses
}  // namespace coalesce::machine::test
