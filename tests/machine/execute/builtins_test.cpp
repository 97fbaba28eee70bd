// Functions and registers that the machine provides itself: printf, malloc, assert, trap, clocks and special registers.
#include <algorithm>
#include <chrono>
#include <iterator>

#include "calls.h"
#include "machine/execute/calls.h"

namespace coalesce::machine::test {

namespace {

// ---- printf ------------------------------------------------------------------------------------------------------

std::string literal(const std::string& name, const std::string& content) {
  std::string bytes;
  for (char c : content) bytes += std::to_string(static_cast<unsigned char>(c)) + ", ";
  return ".global .align 1 .b8 " + name + "[" + std::to_string(content.size() + 1) + "] = {" + bytes + "0};\n";
}
// Arguments lie in `own`, 64 bytes of local memory.
std::string print(const std::string& format) {
  return "mov.u64 %rd28, " + format +
         ";\ncvta.global.u64 %rd28, %rd28;\nmov.u64 %rd29, own;\ncvta.local.u64 %rd29, %rd29;\n{\n.param .b64 "
         "f;\n.param "
         ".b64 a;\n.param .b32 v;\nst.param.b64 [f], %rd28;\nst.param.b64 [a], %rd29;\ncall.uni (v), vprintf, (f, "
         "a);\nld.param.b32 %r30, [v];\n}\n";
}
const std::string kVprintf = ".extern .func (.param .b32 result) vprintf(.param .b64 f, .param .b64 a)\n;\n";
std::string printing(const std::string& variables, const std::string& body) {
  return module(kVprintf + variables + ".visible .entry k(.param .u64 out)\n{\n.local .align 8 .b8 own[64];\n" +
                kRegisters + body + "ret;\n}\n");
}

// Numbers of other lengths than int and long long, as the host's printf has them.
TEST(Printf, Lengths) {
  const char* const format = "%hd|%hhd|%hu|%zu|%jd|%td|%ld|%lx\n";
  std::string stores;
  const long long numbers[] = {70000, 300, -1, -1, -5, -6, -7, -8};
  for (std::size_t k = 0; k < std::size(numbers); ++k)
    stores += k < 3 ? "st.local.u32 [own+" + std::to_string(4 * k) + "], " + std::to_string(numbers[k]) + ";\n"
                    : "st.local.u64 [own+" + std::to_string(8 * k - 8) + "], " + std::to_string(numbers[k]) + ";\n";
  const Ran r = run(printing(literal("format", format), stores + print("format")), {zeros<uint32_t>(1)},
                    Shape{.block = {1, 1, 1}});
  EXPECT_EQ(r.output, "4464|44|65535|18446744073709551615|-5|-6|-7|fffffffffffffff8\n");
}

TEST(Printf, Formats) {
  const Ran r =
      run(printing(literal("format", "%d|%5u|%-4x|%08.3f|%c|%s|%lld|%%|%e|%p\n") + literal("word", "word"),
                   "st.local.u32 [own], -7;\nst.local.u32 [own+4], 42;\nst.local.u32 [own+8], 255;\nmov.f64 %fd1, "
                   "0d400921FB54442D18;\nst.local.f64 [own+16], %fd1;\nst.local.u32 [own+24], 65;\nmov.u64 %rd1, "
                   "word;\ncvta.global.u64 %rd1, %rd1;\nst.local.u64 [own+32], %rd1;\nst.local.u64 [own+40], "
                   "-5000000000;\nst.local.f64 [own+48], %fd1;\nst.local.u64 [own+56], 4660;\n" +
                       print("format") + "ld.param.u64 %rd2, [out];\nst.global.u32 [%rd2], %r30;\n"),
          {zeros<uint32_t>(1)}, {{1, 1, 1}, {1, 1, 1}});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  EXPECT_EQ(r.output, "-7|   42|ff  |0003.142|A|word|-5000000000|%|3.141593e+00|0x1234\n");
  EXPECT_EQ(r.read()[0], 9u);  // arguments, as CUDA returns
}

// A text may begin at any byte, of shared and of local memory.
TEST(Printf, TextsOfAllSpaces) {
  for (const char* space : {"shared", "local"}) {
    const std::string text = space[0] == 's' ? "text" : "own";
    std::string body = space[0] == 's' ? ".shared .align 8 .b8 text[64];\n" : "";
    for (const auto& [at, c] : {std::pair{41, 'o'}, {42, 'd'}, {43, 'd'}, {44, '\0'}})
      body +=
          "st." + std::string(space) + ".u8 [" + text + "+" + std::to_string(at) + "], " + std::to_string(c) + ";\n";
    body += "mov.u64 %rd1, " + text + ";\ncvta." + space + ".u64 %rd1, %rd1;\nadd.u64 %rd1, %rd1, 41;\n" +
            "st.local.u64 [own], %rd1;\n" + print("format");
    const Ran r = run(printing(literal("format", "%s\n"), body), {zeros<uint32_t>(1)}, {{1, 1, 1}, {1, 1, 1}});
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    EXPECT_EQ(r.output, "odd\n") << space;
  }
}

// Output comes in the order of blocks, within a block of warps, within a warp of lanes, whatever the threads.
TEST(Printf, OrderOverBlocks) {
  const Ran r = run(printing(literal("format", "%d %d\n"),
                             "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\nst.local.u32 [own], %r1;\nst.local.u32 "
                             "[own+4], %r2;\nrem.u32 %r3, %r2, 21;\nsetp.ne.u32 %p1, %r3, 0;\n@%p1 bra SKIP;\n" +
                                 print("format") + "SKIP:\n"),
                    {zeros<uint32_t>(1)}, {{40, 1, 1}, {64, 1, 1}});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  std::string wanted;
  for (uint32_t b = 0; b < 40; ++b)
    for (uint32_t t = 0; t < 64; t += 21) wanted += std::to_string(b) + " " + std::to_string(t) + "\n";
  EXPECT_EQ(r.output, wanted);
}

TEST(Printf, FormatOutsideMemoryIsAFault) {
  const Ran r = run(printing(literal("format", "%s\n"), "st.local.u64 [own], 99999999;\n" + print("format")),
                    {zeros<uint32_t>(1)}, {{1, 1, 1}, {1, 1, 1}});
  EXPECT_EQ(r.report.fault, Fault::illegal_address);
}

// ---- assert, trap, malloc ----------------------------------------------------------------------------------------

TEST(Builtins, Assert) {
  const Ran r = run(
      module(
          ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 g, .param .b64 c)\n;\n" +
          literal("what", "i < n") + literal("file", "sum.cu") + literal("name", "void sum(int)") +
          ".visible .entry k(.param .u64 out)\n{\n" + kRegisters +
          "mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 40;\n@%p1 bra OK;\nmov.u64 %rd1, what;\ncvta.global.u64 %rd1, "
          "%rd1;\nmov.u64 %rd2, file;\ncvta.global.u64 %rd2, %rd2;\nmov.u64 %rd3, name;\ncvta.global.u64 %rd3, "
          "%rd3;\n{\n.param .b64 m;\n.param .b64 f;\n.param .b32 l;\n.param .b64 g;\n.param .b64 c;\nst.param.b64 "
          "[m], %rd1;\nst.param.b64 [f], %rd2;\nst.param.b32 [l], 123;\nst.param.b64 [g], %rd3;\nst.param.b64 [c], "
          "1;\ncall.uni __assertfail, (m, f, l, g, c);\n}\nOK:\nret;\n}\n"),
      {zeros<uint32_t>(1)}, {{1, 1, 1}, {64, 1, 1}});
  EXPECT_EQ(r.report.fault, Fault::assertion);
  const Diagnostic& d = r.report.diagnostics.at(0);
  EXPECT_THAT(d.message, testing::HasSubstr("i < n"));
  EXPECT_THAT(d.notes,
              testing::Contains(testing::AllOf(testing::HasSubstr("sum.cu:123"), testing::HasSubstr("void sum(int)"))));
  EXPECT_EQ(d.thread[0], 40u);
  EXPECT_EQ(d.warp, 1u);
  EXPECT_EQ(d.lanes, 1u << 8);
}

TEST(Builtins, Trap) {
  const Ran r =
      run(kernel(".param .u64 out",
                 "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nst.global.u32 [%rd1], 1;\nsetp.eq.u32 %p1, "
                 "%r1, 9;\n@%p1 trap;\nst.global.u32 [%rd1], 2;\n"),
          {zeros<uint32_t>(1)});
  EXPECT_EQ(r.report.fault, Fault::trap);
  EXPECT_EQ(r.report.diagnostics.at(0).lanes, 1u << 9);
  EXPECT_EQ(r.report.diagnostics.at(0).ptx_line, 16u);
  EXPECT_EQ(r.read()[0], 1u);
}

const std::string kHeap =
    ".extern .func (.param .b64 result) malloc(.param .b64 n)\n;\n.extern .func free(.param .b64 p)\n;\n";
const std::string kMalloc =
    "{\n.param .b64 n;\n.param .b64 v;\nst.param.b64 [n], %rd10;\ncall.uni (v), malloc, (n);\nld.param.b64 %rd11, "
    "[v];\n}\n";
const std::string kFree = "{\n.param .b64 p;\nst.param.b64 [p], %rd11;\ncall.uni free, (p);\n}\n";

// Every lane has memory of its own: what it writes there is there after all have written.
TEST(Builtins, MallocAndFree) {
  const std::vector<uint32_t> in = numbers(64, 50);
  const Ran r =
      run_map(kHeap,
              "mov.u64 %rd10, 24;\n" + kMalloc +
                  "st.u32 [%rd11+20], %r1;\nst.u32 [%rd11], 77;\nbar.sync 0;\nld.u32 %r3, [%rd11+20];\nld.u32 "
                  "%r4, [%rd11];\nadd.u32 %r2, %r3, %r4;\n" +
                  kFree,
              in);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(r.read()[i], in[i] + 77);
}

// Pieces of every size lie apart from each other, on multiples of 16.
TEST(Builtins, MallocOfManySizes) {
  constexpr uint32_t kPieces = 320;
  const Ran r =
      run(module(kHeap + ".visible .entry k(.param .u64 out)\n{\n" + kRegisters +
                 "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nadd.u32 %r2, %r1, 1;\ncvt.u64.u32 %rd10, %r2;\n" +
                 kMalloc + "mad.wide.u32 %rd2, %r1, 8, %rd1;\nst.global.u64 [%rd2], %rd11;\nret;\n}\n"),
          {zeros<uint64_t>(kPieces)}, Shape{.block = {kPieces, 1, 1}, .in_order = true});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  std::vector<std::pair<uint64_t, uint64_t>> pieces;
  for (uint32_t i = 0; i < kPieces; ++i) pieces.emplace_back(r.read<uint64_t>()[i], i + 1);
  std::sort(pieces.begin(), pieces.end());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_EQ(pieces[i].first % 16, 0u);
    if (i > 0) EXPECT_GE(pieces[i].first, pieces[i - 1].first + pieces[i - 1].second);
  }
}

// Leaks are told by the lines that asked for the memory.
TEST(Builtins, LeaksAreOfTheirLines) {
  Options options;
  options.check = true;
  Machine machine(*find_device("h200"), options);
  const std::string text = map_kernel(".file 1 \"leaks.cu\"\n" + kHeap,
                                      "mov.u64 %rd10, 24;\n" + kMalloc + kFree + ".loc 1 40 1\nmov.u64 %rd10, 40;\n" +
                                          kMalloc + ".loc 1 41 1\nmov.u64 %rd10, 8;\n" + kMalloc + "mov.u32 %r2, 0;\n");
  const auto program = machine.load(text, "test.ptx");
  LaunchConfig config{.block = {3, 1, 1}, .parameters = {}};
  for (int k = 0; k < 2; ++k) {
    const uint64_t at = machine.memory().allocate(12, Origin::device, "cudaMalloc")->base;
    std::memset(reinterpret_cast<void*>(at), 0, 12);
    machine.wrote(at, 12);
    const auto bytes = value(at).bytes;
    config.parameters.insert(config.parameters.end(), bytes.begin(), bytes.end());
  }
  ASSERT_EQ(machine.launch(*program, "k", config).fault, Fault::none);
  ASSERT_EQ(machine.launch(*program, "k", config).fault, Fault::none);
  std::vector<std::pair<uint32_t, std::string>> left;
  std::vector<uint32_t> lines;
  for (const Diagnostic& d : machine.heap_leaks()) {
    left.emplace_back(d.ptx_line, d.kernel + ": " + d.message);
    lines.push_back(d.place.line);
  }
  EXPECT_THAT(lines, testing::UnorderedElementsAre(40, 41));
  std::sort(left.begin(), left.end());
  std::vector<uint32_t> calls;
  uint32_t line = 1;
  for (std::size_t at = 0; at < text.size(); line += text[at++] == '\n')
    if (text.compare(at, 22, "call.uni (v), malloc, ") == 0) calls.push_back(line);
  ASSERT_EQ(calls.size(), 3u);
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0].first, calls[1]);
  EXPECT_EQ(left[1].first, calls[2]);
  EXPECT_THAT(left[0].second, testing::AllOf(testing::StartsWith("k: "), testing::HasSubstr("240 bytes")));
  EXPECT_THAT(left[1].second, testing::HasSubstr("48 bytes"));
}

TEST(Builtins, MallocOfTooMuchIsNull) {
  const Ran r = run_map(
      kHeap, "mov.u64 %rd10, 1099511627776;\n" + kMalloc + "setp.eq.u64 %p1, %rd11, 0;\nselp.u32 %r2, 1, 0, %p1;\n",
      numbers(64, 50));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  EXPECT_THAT(r.read(), testing::Each(1u));
}

TEST(Builtins, MallocOfAllThereIs) {
  Machine machine(*find_device("h200"), Options{});
  DeviceHeap heap(machine.memory(), 4096);
  heap.prepare();
  const uint64_t whole = heap.allocate(4096);
  ASSERT_NE(whole, 0u);
  EXPECT_EQ(heap.allocate(1), 0u);
  EXPECT_TRUE(heap.release(whole));
  const uint64_t half = heap.allocate(2048), other = heap.allocate(2048);
  EXPECT_EQ(half, whole);
  EXPECT_EQ(other, whole + 2048);
}

TEST(Builtins, FreeTwice) {
  const Ran r = run_map(kHeap, "mov.u64 %rd10, 24;\n" + kMalloc + kFree + kFree + "mov.u32 %r2, 0;\n", numbers(64, 50));
  EXPECT_EQ(r.report.fault, Fault::illegal_address);
  EXPECT_THAT(r.message(), testing::HasSubstr("free"));
  const Ran null = run_map(kHeap, "mov.u64 %rd11, 0;\n" + kFree + "mov.u32 %r2, 3;\n", numbers(64, 50));
  EXPECT_EQ(null.report.fault, Fault::none);
  EXPECT_THAT(null.read(), testing::Each(3u));
}

// ---- Special registers -------------------------------------------------------------------------------------------

TEST(SpecialRegisters, OfThreeDimensions) {
  const char* names[] = {"%tid.x",   "%tid.y",   "%tid.z",    "%ntid.x",   "%ntid.y",   "%ntid.z", "%ctaid.x",
                         "%ctaid.y", "%ctaid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z", "%laneid"};
  std::string body =
      "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %ctaid.z;\nmov.u32 %r2, %nctaid.y;\nmov.u32 %r3, %ctaid.y;\nmad.lo.u32 "
      "%r4, %r1, %r2, %r3;\nmov.u32 %r2, %nctaid.x;\nmov.u32 %r3, %ctaid.x;\nmad.lo.u32 %r4, %r4, %r2, %r3;\nmov.u32 "
      "%r5, %tid.z;\nmad.lo.u32 %r4, %r4, 3, %r5;\nmov.u32 %r5, %tid.y;\nmad.lo.u32 %r4, %r4, 2, %r5;\nmov.u32 %r5, "
      "%tid.x;\nmad.lo.u32 %r4, %r4, 5, %r5;\nmad.wide.u32 %rd2, %r4, 64, %rd1;\n";
  for (std::size_t k = 0; k < std::size(names); ++k)
    body += "mov.u32 %r6, " + std::string(names[k]) + ";\nst.global.u32 [%rd2+" + std::to_string(4 * k) + "], %r6;\n";
  const Shape shape{{2, 3, 2}, {5, 2, 3}};
  const Ran r = run(kernel(".param .u64 out", body), {zeros<uint32_t>(16 * 30 * 12)}, shape);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  const auto out = r.read();
  for (uint32_t i = 0; i < 360; ++i) {
    const uint32_t t = i % 30, b = i / 30;
    const uint32_t wanted[] = {t % 5, t / 5 % 2, t / 10, 5, 2, 3, b % 2, b / 2 % 3, b / 6, 2, 3, 2, t};
    for (std::size_t k = 0; k < std::size(names); ++k) EXPECT_EQ(out[16 * i + k], wanted[k]) << names[k] << " of " << i;
  }
}

TEST(SpecialRegisters, LaneMasksAndWarps) {
  const Ran r =
      run(kernel(".param .u64 out",
                 "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %rd2, %r1, 32, %rd1;\nmov.u32 "
                 "%r2, %lanemask_eq;\nmov.u32 %r3, %lanemask_lt;\nmov.u32 %r4, %lanemask_le;\nmov.u32 %r5, "
                 "%lanemask_gt;\nmov.u32 %r6, %lanemask_ge;\nmov.u32 %r7, %warpid;\nst.global.v4.u32 [%rd2], "
                 "{%r2, %r3, %r4, %r5};\nst.global.v2.u32 [%rd2+16], {%r6, %r7};\n"),
          {zeros<uint32_t>(8 * 96)}, {{1, 1, 1}, {96, 1, 1}});
  const auto out = r.read();
  for (uint32_t i = 0; i < 96; ++i) {
    const uint64_t bit = uint64_t{1} << (i % 32);
    EXPECT_EQ(out[8 * i], bit);
    EXPECT_EQ(out[8 * i + 1], bit - 1);
    EXPECT_EQ(out[8 * i + 2], 2 * bit - 1);
    EXPECT_EQ(out[8 * i + 3], static_cast<uint32_t>(~(2 * bit - 1)));
    EXPECT_EQ(out[8 * i + 4], static_cast<uint32_t>(~(bit - 1)));
    EXPECT_EQ(out[8 * i + 5], i / 32);
  }
}

// %clock64 and %clock never go back within a thread.
TEST(SpecialRegisters, ClocksAdvance) {
  const std::string ptx = kernel(
      ".param .u64 out",
      "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %rd2, %r1, 16, %rd1;\nmov.u64 %rd3, "
      "%clock64;\nmov.u64 "
      "%rd5, %globaltimer;\nmov.u32 %r2, 0;\nLOOP:\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 100;\n@%p1 bra "
      "LOOP;\nmov.u64 %rd4, %clock64;\nmov.u64 %rd6, %globaltimer;\nsub.s64 %rd7, %rd4, %rd3;\nsub.s64 %rd8, %rd6, "
      "%rd5;\nst.global.v2.u64 [%rd2], {%rd7, %rd8};\n");
  Bench bench(1);
  const Ran r = bench.run(ptx, {zeros<int64_t>(64)}, {}, "k");
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  const auto out = r.read<int64_t>();
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_GT(out[2 * i], 0);
    EXPECT_GE(out[2 * i + 1], 0);
  }
}

// %globaltimer is the host's clock, in ns; its halves and those of %clock64 are parts of the same numbers.
TEST(SpecialRegisters, TheTimeAndItsHalves) {
  const std::string ptx =
      kernel(".param .u64 out",
             "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %globaltimer_hi;\nmov.u32 %r2, %globaltimer_lo;\nmov.u64 %rd2, "
             "%globaltimer;\nmov.u64 %rd3, %clock64;\nmov.u32 %r3, %clock;\nmov.u32 %r4, %clock_hi;\n"
             "st.global.v2.u32 [%rd1], {%r2, %r1};\nst.global.v2.u64 [%rd1+16], {%rd2, %rd3};\n"
             "st.global.v2.u32 [%rd1+32], {%r3, %r4};\n");
  const auto now = [] {
    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count());
  };
  for (const bool native : {false, true}) {
    if (native && !quick_native_code()) break;
    Bench bench(1, Shape{}.max_instructions, native ? quick_native_code() : nullptr);
    const uint64_t before = now();
    const Ran r = bench.run(ptx, {zeros<uint64_t>(5)}, {}, "k");
    const uint64_t after = now();
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    const auto out = r.read<uint64_t>();
    for (const uint64_t time : {out[0], out[2]}) {
      EXPECT_GE(time, before);
      EXPECT_LE(time, after);
    }
    EXPECT_GE(out[4], out[3]) << "%clock and %clock_hi after %clock64";
    EXPECT_LT(out[4], out[3] + 100000);
  }
}

TEST(SpecialRegisters, SizesOfSharedMemory) {
  const Ran r =
      run(kernel(".param .u64 out",
                 ".shared .align 16 .b8 own[128];\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %total_smem_size;\n"
                 "mov.u32 %r2, %dynamic_smem_size;\nst.shared.u32 [own], %r1;\nst.global.v2.u32 [%rd1], {%r1, %r2};\n"),
          {zeros<uint32_t>(2)}, Shape{.dynamic_shared_bytes = 256});
  EXPECT_EQ(r.read(), (std::vector<uint32_t>{384, 256}));
}

// %envreg1 and 2 hold the address of a cooperative launch's workspace, where grid.sync() counts blocks; without a
// cooperative launch there is none.
TEST(SpecialRegisters, EnvregOfACooperativeLaunch) {
  const std::string ptx = kernel(".param .u64 out",
                                 "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %envreg2;\nmov.u32 %r2, %envreg1;\n"
                                 "mov.u32 %r3, %ctaid.x;\nmul.wide.u32 %rd2, %r3, 8;\nadd.u64 %rd1, %rd1, %rd2;\n"
                                 "st.global.v2.u32 [%rd1], {%r1, %r2};\nmov.b64 %rd3, {%r1, %r2};\n"
                                 "setp.eq.u64 %p1, %rd3, 0;\n@!%p1 ld.global.u32 %r4, [%rd3];\n");
  for (const bool cooperative : {false, true}) {
    Bench bench(2);
    Machine& m = bench.machine();
    const auto program = m.load(ptx, "test.ptx");
    const Allocation* out = m.memory().allocate(4 * 8, Origin::device, "cudaMalloc");
    LaunchConfig config;
    config.grid = {4, 1, 1};
    config.cooperative = cooperative;
    config.parameters = value(out->base).bytes;
    ASSERT_EQ(m.launch(*program, "k", config).fault, Fault::none);
    std::array<uint64_t, 4> workspace{};
    std::memcpy(workspace.data(), reinterpret_cast<const void*>(out->base), sizeof workspace);
    for (const uint64_t w : workspace) {
      EXPECT_EQ(w, workspace[0]);
      EXPECT_EQ(w != 0, cooperative);
      EXPECT_EQ(w % 4, 0u);
    }
  }
}

}  // namespace

}  // namespace coalesce::machine::test
