// Forms of instructions that are seldom written: the kernel's first registers, the widest vectors, numbers of barriers,
// suffixes that are none.
#include "prologue.h"

namespace coalesce::machine::test {
namespace {

// A kernel whose first register of each kind is the one in question.
Ran with_first(const std::string& registers, const std::string& body) {
  return run(module(".visible .entry k(.param .u64 out, .param .u32 n)\n{\n" + registers +
                    ".reg .b32 %r<9>;\n.reg .b64 %rd<9>;\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n"
                    "mad.wide.u32 %rd2, %r1, 4, %rd1;\n" +
                    body + "st.global.u32 [%rd2], %r2;\nret;\n}\n"),
             {zeros<uint32_t>(32), value(77u)});
}

TEST(Forms, ThePredicateOfAShuffleInTheFirstRegister) {
  const Ran r =
      with_first(".reg .pred %p;\n", "shfl.sync.down.b32 %r3|%p, %r1, 4, 31, -1;\nselp.u32 %r2, %r3, 999, %p;\n");
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.read()[i], i + 4 < 32 ? i + 4 : 999) << i;
}

TEST(Forms, AParametersAddressInTheFirstRegister) {
  const Ran r = with_first(".reg .b64 %a;\n", "mov.b64 %a, n;\nld.param.u32 %r2, [%a];\n");
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  EXPECT_EQ(r.read(), std::vector<uint32_t>(32, 77));
}

// As Triton writes accesses.
TEST(Forms, VectorsOfOneRegister) {
  const Ran r =
      with_first("",
                 "mov.u32 %r3, 5;\nst.global.b32 [ %rd2 + 0 ], { %r3 };\nld.global.b32 { %r2 }, [ %rd2 + 0 ];\n"
                 "add.u32 %r2, %r2, %r1;\n");
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.read()[i], i + 5) << i;
}

// A fence under a guard, and a copy whose source has no bytes in some lanes, count the lanes that their guards switch
// on.
TEST(Forms, LanesOfWhatDoesNothing) {
  const auto lanes = [](const std::string& more) {
    const Ran r =
        run(kernel(".param .u64 out",
                   ".shared .align 16 .b8 s[512];\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, s;\n"
                   "mad.lo.u32 %r3, %r1, 16, %r2;\nsetp.lt.u32 %p1, %r1, 5;\nselp.b32 %r4, 16, 0, %p1;\n" +
                       more),
            {zeros<uint32_t>(128)});
    EXPECT_EQ(r.report.fault, Fault::none) << r.message();
    return r.counters().thread_instructions;
  };
  const auto none = lanes("");
  for (const char* text : {"membar.gl", "fence.proxy.async", "cp.async.commit_group", "cp.async.wait_group 0"}) {
    EXPECT_EQ(lanes("@%p1 " + std::string(text) + ";\n"), none + 5) << text;
    EXPECT_EQ(lanes(std::string(text) + ";\n"), none + 32) << text;
  }
  EXPECT_EQ(lanes("cp.async.cg.shared.global [%r3], [%rd1], 16, %r4;\n"), none + 32);
  EXPECT_EQ(lanes("@!%p1 cp.async.cg.shared.global [%r3], [%rd1], 16, %r4;\n"), none + 27);
}

// 32 bytes a lane, the most that a vector has.
TEST(Forms, TheWidestVectors) {
  std::vector<uint64_t> in(128);
  for (std::size_t k = 0; k < in.size(); ++k) in[k] = k * 0x0123456789abcdefu;
  const Ran r = run(kernel(".param .u64 out, .param .u64 in",
                           "ld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [in];\nmov.u32 %r1, %tid.x;\n"
                           "mad.wide.u32 %rd3, %r1, 32, %rd1;\nmad.wide.u32 %rd4, %r1, 32, %rd2;\n"
                           "ld.global.v4.u64 {%rd5, %rd6, %rd7, %rd8}, [%rd4];\nadd.u64 %rd8, %rd8, 1;\n"
                           "st.global.v4.u64 [%rd3], {%rd8, %rd7, %rd6, %rd5};\n"),
                    {zeros<uint64_t>(128), buffer(in)});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (std::size_t k = 0; k < 128; k += 4) {
    EXPECT_EQ(r.read<uint64_t>()[k], in[k + 3] + 1);
    EXPECT_EQ(r.read<uint64_t>()[k + 3], in[k]);
  }
  EXPECT_EQ(r.counters().global_load_sectors, 32);
}

TEST(Forms, SuffixesThatAreNone) {
  for (const std::string line :
       {"atom.global.add.often.u32 %r2, [%rd3], 1;", "red.global.add.u32.x2 [%rd3], 1;",
        "vadd2.u32.u32.u32 %r2, %r1.h42, %r1.h10, %r1;", "vadd4.u32.u32.u32 %r2, %r1.b3218, %r1.b3210, %r1;"}) {
    const Ran r = run(with_prologue("mov.u32 %r10, 0;\n" + line + "\n"), {zeros<uint32_t>(32)});
    EXPECT_EQ(r.report.fault, Fault::illegal_instruction) << line;
    EXPECT_THAT(r.message(), testing::HasSubstr(line.substr(0, line.find(' ')))) << line;
  }
}

// Types of ld and st (rows) and of registers (columns) that ptxas 13.0 takes together: of both the same.
TEST(Forms, TypesOfMovesAndOfRegisters) {
  constexpr const char* kRegisterTypes[] = {"u16", "s16",   "b16", "f16", "u32", "s32", "b32",
                                            "f32", "f16x2", "u64", "s64", "b64", "f64"};
  constexpr std::pair<const char*, const char*> kMoves[] = {
      {"u8", "yyy-yyy--yyy-"},  {"s8", "yyy-yyy--yyy-"},  {"b8", "yyyyyyyyyyyyy"},  {"u16", "yyy-yyy--yyy-"},
      {"s16", "yyy-yyy--yyy-"}, {"b16", "yyyyyyyyyyyyy"}, {"u32", "    yyy--yyy-"}, {"s32", "    yyy--yyy-"},
      {"b32", "    yyyyyyyyy"}, {"f32", "    --yy---y-"}, {"u64", "         yyy-"}, {"s64", "         yyy-"},
      {"b64", "         yyyy"}, {"f64", "         --yy"}};
  Bench interpreter(1), plain(1);
  plain.machine().use_plain(true);
  for (const auto& [type, row] : kMoves)
    for (std::size_t k = 0; k < std::size(kRegisterTypes); ++k)
      for (const bool store : {false, true}) {
        const std::string of = kRegisterTypes[k];
        const bool real = of == "f32" || of == "f64", part = real && std::string(type).substr(1) != of.substr(1);
        const bool taken = row[k] == 'y' && !(store && part);  // a GPU converts parts of real numbers
        const std::string text =
            kernel(".param .u64 out", "ld.param.u64 %rd1, [out];\n.reg ." + of + " %x;\n" +
                                          (store ? "st.global." + std::string(type) + " [%rd1], %x;\n"
                                                 : "ld.global." + std::string(type) + " %x, [%rd1];\n"));
        for (Bench* const bench : {&interpreter, &plain})
          EXPECT_EQ(bench->run(text, {zeros<uint32_t>(4)}, {}, "k").report.fault,
                    taken ? Fault::none : Fault::illegal_instruction)
              << (store ? "st." : "ld.") << type << " of ." << of << (bench == &plain ? ", plain" : "");
      }
}

// A barrier's number is the instruction's own, 16 of them; its result is of those that wait at that number.
TEST(Forms, ResultsOfNumberedBarriers) {
  for (const char* const number : {"3", "15", "%r9"}) {
    const Ran r = run(with_prologue("mov.u32 %r9, %nctaid.x;\nadd.u32 %r9, %r9, 6;\nsetp.lt.u32 %p1, %r1, 40;\n"
                                    "barrier.red.popc.u32 %r10, " +
                                    std::string(number) + ", %p1;\n"),
                      {zeros<uint32_t>(64)}, threads(64));
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    EXPECT_EQ(r.read(), std::vector<uint32_t>(64, 40)) << number;
  }
}

// PTX ISA, barrier: without .aligned, lanes of a warp need not come together.
TEST(Forms, BarriersThatNeedNotBeAligned) {
  for (const std::string barrier : {"barrier.sync 0;", "barrier.sync.aligned 0;", "bar.sync 0;"}) {
    const Ran r = run(with_prologue("setp.lt.u32 %p1, %r1, 7;\nmov.u32 %r10, 1;\n@%p1 bra A;\n" + barrier +
                                    "\nbra.uni END;\nA:\nmov.u32 %r10, 2;\n" + barrier + "\nEND:\n"),
                      {zeros<uint32_t>(64)}, threads(64));
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    EXPECT_EQ(r.report.diagnostics.empty(), barrier == "barrier.sync 0;") << barrier << r.message();
  }
}

// The block is named where there are several.
TEST(Forms, WhoWaitsInADeadlock) {
  for (const uint32_t blocks : {1u, 3u}) {
    Shape s = threads(64);
    s.grid = {blocks, 1, 1};
    const Ran r = run(with_prologue("mov.u32 %r10, 1;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %nctaid.x;\n"
                                    "sub.u32 %r3, %r3, 1;\nsetp.ne.u32 %p1, %r2, %r3;\n@%p1 exit;\n"
                                    "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra END;\nbar.sync 2, 64;\nEND:\n"),
                      {zeros<uint32_t>(64)}, s);
    ASSERT_EQ(r.report.fault, Fault::deadlock);
    EXPECT_EQ(r.report.diagnostics[0].warp, 1u);
    const std::string text = render(r.report.diagnostics.at(0), false);
    EXPECT_THAT(text, testing::HasSubstr("warp 1, lanes 0xffffffff"));
    EXPECT_EQ(text.find("block (2,0,0), warp 1") != text.npos, blocks == 3) << text;
  }
}

}  // namespace
}  // namespace coalesce::machine::test
