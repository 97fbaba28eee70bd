// Small kernels at the edges of what executors decide: which values threads share, what a region's hoisted code may
// overwrite, who goes on after a wait, where variables lie. Expected values follow from PTX ISA.
#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <tuple>

#include "calls.h"
#include "prologue.h"

namespace coalesce::machine::test {
namespace edges {
namespace {

// Every shape of a block whose warps lie across its rows in another way.
TEST(Edges, NumbersOfThreadsInBlocksOfEveryShape) {
  using Block = std::array<uint32_t, 3>;
  for (const Block& b :
       {Block{64, 2, 1}, Block{64, 1, 2}, Block{32, 2, 2}, Block{16, 4, 2}, Block{40, 1, 1}, Block{8, 3, 2}}) {
    const uint32_t threads = b[0] * b[1] * b[2], blocks = 2 * 1 * 2;
    Shape s;
    s.grid = {2, 1, 2};
    s.block = b;
    const Ran r =
        run(kernel(".param .u64 out",
                   "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r3, %tid.z;\n"
                   "mov.u32 %r4, %ctaid.x;\nmov.u32 %r5, %ctaid.z;\nmad.lo.u32 %r6, %r3, " +
                       std::to_string(b[1]) + ", %r2;\nmad.lo.u32 %r6, %r6, " + std::to_string(b[0]) +
                       ", %r1;\nmad.lo.u32 %r7, %r5, 2, %r4;\nmad.lo.u32 %r8, %r7, " + std::to_string(threads) +
                       ", %r6;\nmul.wide.u32 %rd2, %r8, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
                       "mad.lo.u32 %r9, %r2, 256, %r1;\nmad.lo.u32 %r9, %r3, 65536, %r9;\n"
                       "mad.lo.u32 %r9, %r7, 16777216, %r9;\nst.global.u32 [%rd3], %r9;\n"),
            {zeros<uint32_t>(threads * blocks)}, s);
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    std::size_t k = 0;
    for (uint32_t block = 0; block < blocks; ++block)
      for (uint32_t z = 0; z < b[2]; ++z)
        for (uint32_t y = 0; y < b[1]; ++y)
          for (uint32_t x = 0; x < b[0]; ++x, ++k)
            ASSERT_EQ(r.read()[k], block << 24 | z << 16 | y << 8 | x) << b[0] << "x" << b[1] << "x" << b[2];
  }
}

TEST(Edges, NumbersOfTheDevice) {
  const Device& device = *find_device("h200");
  const std::pair<const char*, uint32_t> kNumbers[] = {
      {"%nsmid", device.multiprocessors}, {"%nwarpid", device.threads_per_multiprocessor / 32}, {"WARP_SZ", 32}};
  for (const auto& [name, value] : kNumbers)
    EXPECT_EQ(run(with_prologue("mov.u32 %r10, " + std::string(name) + ";\n"), {zeros<uint32_t>(32)}).read(),
              std::vector<uint32_t>(32, value))
        << name;
}

// A read whose last byte is the first behind an allocation, after one that has found the allocation.
TEST(Edges, AnAllocationOfSevenBytesEndsBehindTheSeventh) {
  const auto fault = [](const std::string& second) {
    return run(kernel(".param .u64 in",
                      "ld.param.u64 %rd1, [in];\nld.global.u8 %r1, [%rd1];\n" + second + " %r2, [%rd1+4];\n"),
               {zeros<uint8_t>(7)})
        .report.fault;
  };
  EXPECT_EQ(fault("ld.global.u16"), Fault::none);
  EXPECT_EQ(fault("ld.global.u32"), Fault::illegal_address);
}

// The same of an access that has been within before: in its second round it ends one byte behind.
TEST(Edges, TheSecondRoundEndsBehindTheAllocation) {
  for (const auto& [type, bytes, size] : {std::tuple{"u8", 1u, 7u}, {"u16", 2u, 7u}, {"u32", 4u, 7u}, {"b64", 8u, 15u}})
    for (const bool inside : {true, false}) {
      const uint32_t last = (size + 1) / bytes * bytes - bytes;
      const std::string wide = bytes == 8 ? "%rd4" : "%r4";
      const Ran r = run(kernel(".param .u64 in, .param .u32 at",
                               "ld.param.u64 %rd1, [in];\nld.param.u32 %r1, [at];\nmov.u32 %r2, 0;\nL:\n"
                               "mul.lo.u32 %r3, %r1, %r2;\ncvt.u64.u32 %rd2, %r3;\nadd.u64 %rd3, %rd1, %rd2;\n"
                               "ld.global." +
                                   std::string(type) + " " + wide +
                                   ", [%rd3];\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 2;\n@%p1 bra L;\n"),
                        {zeros<uint8_t>(size), value(inside ? last - bytes : last)});
      EXPECT_EQ(r.report.fault, inside ? Fault::none : Fault::illegal_address) << type << " " << inside;
    }
}

// To read a clock is one instruction, as to read any register is.
TEST(Edges, AClockIsOneInstruction) {
  const auto instructions = [](const std::string& line) {
    return Bench(1).run(with_prologue(line), {zeros<uint32_t>(32)}, {}, "k").counters().instructions;
  };
  const uint64_t usual = instructions("mov.u32 %r10, %laneid;\n");
  for (const char* line : {"mov.u32 %r10, %clock;\n", "mov.u32 %r10, %clock_hi;\n", "mov.u64 %rd9, %clock64;\n",
                           "mov.u64 %rd9, %globaltimer;\n"})
    EXPECT_EQ(instructions(line), usual) << line;
}

// Values that all threads of a block share are computed once, or by each warp from what was there before; never by one
// warp from what another has left.
TEST(Edges, SharedValuesAreComputedOnce) {
  const auto out = [](const std::string& body) {
    const Ran r = run(with_prologue("mov.u32 %r2, %ctaid.x;\nadd.u32 %r2, %r2, 7;\n" + body), {zeros<uint32_t>(128)},
                      threads(128));
    EXPECT_EQ(r.report.fault, Fault::none) << r.message();
    return r.read();
  };
  EXPECT_EQ(out("add.cc.u32 %r2, %r2, 1;\naddc.u32 %r3, 0, 0;\nmad.lo.u32 %r10, %r3, 100, %r2;\n"),
            std::vector<uint32_t>(128, 8))
      << "a sum with a carry";
  std::vector<uint32_t> carries(128, 8);
  for (uint32_t i = 5; i < 128; ++i) carries[i] += 1000;
  EXPECT_EQ(out("add.cc.u32 %r5, %r1, -5;\naddc.u32 %r6, 0, 0;\nadd.cc.u32 %r2, %r2, 1;\naddc.u32 %r3, 0, 0;\n"
                "mad.lo.u32 %r10, %r3, 100, %r2;\nmad.lo.u32 %r10, %r6, 1000, %r10;\n"),
            carries)
      << "beside a carry of each thread";
  // The second predicate is written again after each warp has read it, the first is not read.
  std::vector<uint32_t> expected(128);
  for (uint32_t i = 0; i < 128; ++i) expected[i] = i + (i << 10);
  EXPECT_EQ(out("setp.eq.u32 %p1|%p2, %r2, 8;\nselp.u32 %r5, %r1, 5, %p2;\nsetp.eq.u32 %p3|%p2, %r2, 7;\n"
                "selp.u32 %r6, 5, %r1, %p2;\nmad.lo.u32 %r10, %r6, 1024, %r5;\n"),
            expected)
      << "of two results the second is read";
  EXPECT_EQ(out("setp.ne.u32 %p2|%p1, %r2, 8;\nselp.u32 %r5, %r1, 5, %p2;\nsetp.eq.u32 %p3|%p1, %r2, 7;\n"
                "setp.ne.u32 %p2|%p1, %r2, 7;\nselp.u32 %r6, 5, %r1, %p2;\nmad.lo.u32 %r10, %r6, 1024, %r5;\n"),
            expected)
      << "of two results the first is read";
}

// One of two results is the block's, the other differs from lane to lane elsewhere.
TEST(Edges, TwoResultsOfOtherLaneClasses) {
  for (const bool first : {true, false}) {
    const Ran r = run(with_prologue("mov.u32 %r2, %ctaid.x;\nsetp.lt.u32 %p2, %r1, 20;\nselp.u32 %r5, 1, 0, %p2;\n"
                                    "setp.eq.u32 " +
                                    std::string(first ? "%p1|%p2" : "%p2|%p1") +
                                    ", %r2, 0;\nbar.sync 0;\nselp.u32 %r6, 2, 0, %p1;\nselp.u32 %r7, 4, 0, %p2;\n"
                                    "add.u32 %r5, %r5, %r6;\nadd.u32 %r10, %r5, %r7;\n"),
                      {zeros<uint32_t>(64)}, threads(64));
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(r.read()[i], (i < 20 ? 1u : 0u) + (first ? 2 : 4)) << i;
  }
}

// Variables of a thread lie at multiples of their alignment, and what is taken from the stack behind them.
TEST(Edges, VariablesOfAThreadLieApart) {
  const Ran r = run(with_prologue(".local .align 1 .b8 a[3];\n.local .align 16 .b8 b[16];\n.local .align 1 .b8 c[1];\n"
                                  ".local .align 8 .b8 d[8];\nmov.u64 %rd5, b;\ncvta.local.u64 %rd6, %rd5;\n"
                                  "mov.u64 %rd7, d;\nand.b64 %rd8, %rd6, 15;\nand.b64 %rd9, %rd7, 7;\n"
                                  "or.b64 %rd8, %rd8, %rd9;\ncvt.u32.u64 %r10, %rd8;\n"
                                  "st.local.v4.u32 [%rd5], {%r1, %r1, %r1, %r1};\nst.local.u8 [a+2], 7;\n"
                                  "st.local.u8 [c], 7;\nst.local.u64 [%rd7], -1;\nld.local.u32 %r4, [%rd5+12];\n"
                                  "sub.u32 %r4, %r4, %r1;\nor.b32 %r10, %r10, %r4;\n"),
                    {zeros<uint32_t>(32)});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  EXPECT_EQ(r.read(), std::vector<uint32_t>(32, 0));
  const Ran stack = run(with_prologue(".local .align 8 .b8 own[64];\nst.local.u32 [own], 1;\nst.local.u32 [own+8], 2;\n"
                                      "alloca.u64 %rd5, 64;\nst.local.u32 [%rd5], %r1;\nst.local.u32 [%rd5+8], %r1;\n"
                                      "ld.local.u32 %r4, [own];\nld.local.u32 %r5, [own+8];\n"
                                      "mad.lo.u32 %r10, %r4, 16, %r5;\n"),
                        {zeros<uint32_t>(32)});
  ASSERT_EQ(stack.report.fault, Fault::none) << stack.message();
  EXPECT_EQ(stack.read(), std::vector<uint32_t>(32, 18));
}

TEST(Edges, AddressesOfParameters) {
  const Ran r = run(kernel(".param .u64 out, .param .u32 n",
                           kPrologue + "mov.b64 %rd5, n;\ncvta.param.u64 %rd6, %rd5;\nld.u32 %r10, [%rd6];\n" + kStore),
                    {zeros<uint32_t>(32), value(77u)});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  EXPECT_EQ(r.read(), std::vector<uint32_t>(32, 77));
  // A function's own parameter.
  const Ran f = run_map(".func (.param .b32 result) f(.param .b32 x)\n{\n" + kRegisters +
                            "mov.b64 %rd1, x;\ncvta.param.u64 %rd2, %rd1;\nld.u32 %r1, [%rd2];\nadd.u32 %r2, %r1, 5;\n"
                            "st.param.b32 [result], %r2;\nret;\n}\n",
                        call("f", "%r2", "%r1"), numbers(64, 50));
  ASSERT_EQ(f.report.fault, Fault::none) << f.message();
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(f.read()[i], numbers(64, 50)[i] + 5);
}

// Parameters narrower than the register that they are loaded to: their sign goes on, or zeros do.
TEST(Edges, ParametersWiderInRegisters) {
  for (const auto& [bits, registers] : {std::pair{8u, 3u}, {16u, 3u}, {32u, 2u}})
    for (uint32_t k = 3 - registers; k < 3; ++k)
      for (const bool is_signed : {false, true})
        for (const int64_t n : {-5, 5}) {
          const std::string type = (is_signed ? ".s" : ".u") + std::to_string(bits);
          constexpr const char *kRegister[] = {"%h1", "%r9", "%rd9"}, *kStored[] = {"u16", "u32", "u64"};
          const Ran r = run(kernel(".param .u64 out, .param " + type + " n",
                                   "ld.param.u64 %rd1, [out];\nld.param" + type + " " + kRegister[k] +
                                       ", [n];\nst.global." + kStored[k] + " [%rd1], " + kRegister[k] + ";\n"),
                            {zeros<uint64_t>(1), bits == 8    ? value(static_cast<int8_t>(n))
                                                 : bits == 16 ? value(static_cast<int16_t>(n))
                                                              : value(static_cast<int32_t>(n))},
                            threads(1));
          ASSERT_EQ(r.report.fault, Fault::none) << r.message();
          const uint32_t unused = k == 0 ? 48 : k == 1 ? 32 : 0;
          const uint64_t wanted =
              is_signed ? static_cast<uint64_t>(n) : static_cast<uint64_t>(n) << (64 - bits) >> (64 - bits);
          EXPECT_EQ(r.read<uint64_t>()[0], wanted << unused >> unused) << type << " in " << kRegister[k] << ": " << n;
        }
}

// A predicate lives on across calls of a recursive function: in lanes that call it to other depths, and in those that
// have returned on the other side of a branch.
TEST(Edges, PredicatesSurviveRecursion) {
  const std::string f = declaration("f") + function("f",
                                                    "setp.eq.u32 %p1, %r1, 0;\nmov.u32 %r2, 1;\n@%p1 bra END;\n"
                                                    "and.b32 %r3, %r1, 1;\nsetp.ne.u32 %p2, %r3, 0;\n"
                                                    "sub.u32 %r4, %r1, 1;\n" +
                                                        call("f", "%r5", "%r4") +
                                                        "selp.u32 %r6, 3, 5, %p2;\nmul.lo.u32 %r2, %r5, %r6;\nEND:\n");
  const std::vector<uint32_t> in = numbers(64, 9);
  const Ran r = run_map(f,
                        "and.b32 %r3, %r1, 2;\nsetp.ne.u32 %p2, %r3, 0;\nsetp.gt.u32 %p1, %r1, 4;\n@%p1 bra MORE;\n" +
                            call("f", "%r2", "%r1") + "bra END;\nMORE:\n" + call("f", "%r2", "%r1") +
                            "END:\nselp.u32 %r4, 7, 11, %p2;\nmul.lo.u32 %r2, %r2, %r4;\n",
                        in);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 64; ++i) {
    uint32_t x = in[i] & 2 ? 7 : 11;
    for (uint32_t k = 1; k <= in[i]; ++k) x *= k % 2 ? 3 : 5;
    EXPECT_EQ(r.read()[i], x) << i;
  }
}

// Values of one vector, stored as another: narrower elements, other lanes of it, with a carry between.
TEST(Edges, VectorsStoredAsOthers) {
  constexpr uint32_t kBlocks = 4, kAll = 32 * kBlocks;  // the first block learns where memory is
  std::vector<uint32_t> in(2 * kAll);
  for (uint32_t k = 0; k < in.size(); ++k) in[k] = k * 0x9e3779b9u ^ 0x80000000u;
  Shape s;
  s.grid = {kBlocks, 1, 1};
  const auto out = [&](const std::string& body) {
    const Ran r = run(kernel(".param .u64 out, .param .u64 in",
                             "ld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [in];\nmov.u32 %r1, %tid.x;\n"
                             "mov.u32 %r8, %ctaid.x;\nmad.lo.u32 %r1, %r8, 32, %r1;\n"
                             "mad.wide.u32 %rd3, %r1, 8, %rd1;\nmad.wide.u32 %rd5, %r1, 4, %rd1;\n"
                             "mad.wide.u32 %rd4, %r1, 8, %rd2;\nld.global.v2.u32 {%r2, %r3}, [%rd4];\n" +
                                 body),
                      {zeros<uint32_t>(2 * kAll), buffer(in)}, s);
    EXPECT_EQ(r.report.fault, Fault::none) << r.message();
    return r.read();
  };
  const auto narrow = out("st.global.v2.u16 [%rd5], {%r2, %r3};\n");
  for (uint32_t i = 0; i < kAll; ++i) EXPECT_EQ(narrow[i], (in[2 * i] & 0xffff) | in[2 * i + 1] << 16) << i;
  for (uint32_t i = kAll; i < 2 * kAll; ++i) EXPECT_EQ(narrow[i], 0u) << i;
  const auto upper =
      out("and.b32 %r9, %r1, 63;\nmad.wide.u32 %rd6, %r9, 16, %rd2;\nld.global.v2.u64 {%rd7, %rd8}, [%rd6];\n"
          "mov.b64 {%r4, %r5}, %rd7;\nmov.b64 {%r6, %r7}, %rd8;\nst.global.v2.u32 [%rd3], {%r5, %r7};\n");
  for (uint32_t i = 0; i < 2 * kAll; ++i) EXPECT_EQ(upper[i], in[2 * (i % 128) + 1]) << i;
  // Twice a number is carried out, into the number itself.
  const auto carried =
      out("add.cc.u32 %r4, %r2, %r2;\naddc.cc.u32 %r5, %r2, %r2;\naddc.u32 %r6, %r2, %r2;\nadd.u32 %r7, %r3, 1;\n"
          "add.u32 %r5, %r5, %r6;\nst.global.v2.u32 [%rd3], {%r7, %r5};\n");
  for (uint32_t i = 0; i < kAll; ++i) {
    const uint64_t second = uint64_t{in[2 * i]} * 2 + (in[2 * i] >> 31);
    EXPECT_EQ(carried[2 * i], in[2 * i + 1] + 1) << i;
    EXPECT_EQ(carried[2 * i + 1], static_cast<uint32_t>(second) + 2 * in[2 * i] + static_cast<uint32_t>(second >> 32));
  }
}

// The last warp has eight lanes. What lies where the others' words would be stays, though its content was looked at
// through a register that has moved on.
TEST(Edges, StoresOfSomeLanesBesideWhatWasLoaded) {
  const Ran r = run(with_prologue(".shared .align 4 .b32 s[512];\nmov.u32 %r2, s;\nmad.lo.u32 %r3, %r1, 4, %r2;\n"
                                  "add.u32 %r4, %r1, 1000;\nadd.u32 %r5, %r1, 5000;\nst.shared.u32 [%r3], %r4;\n"
                                  "st.shared.u32 [%r3+400], %r5;\nbar.sync 0;\nld.shared.u32 %r6, [%r3];\n"
                                  "add.u32 %r3, %r3, 256;\nst.shared.u32 [%r3], %r6;\nbar.sync 0;\n"
                                  "ld.shared.u32 %r7, [%r3];\nld.shared.u32 %r8, [%r3+160];\n"
                                  "mad.lo.u32 %r10, %r7, 65536, %r8;\n"),
                    {zeros<uint32_t>(40)}, threads(40));
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  // Word 100 + i is 5000 + i, but for words 64 to 103, which are 1000 and more.
  for (uint32_t i = 0; i < 40; ++i) EXPECT_EQ(r.read()[i], (i + 1000) << 16 | (i + 104 < 140 ? i + 5004 : 0)) << i;
}

// The bits of thread numbers are small real numbers; a comparison with what is no number holds for none.
TEST(Edges, BitsOfThreadNumbersAsRealNumbers) {
  for (const auto& [bits, expected] : {std::pair{0x7fc00000u, 0u}, {0x80000001u, 0u}, {5u, 5u}, {0x3f800000u, 64u}}) {
    const Ran r = run(kernel(".param .u64 out, .param .u32 n",
                             kPrologue +
                                 "ld.param.f32 %f2, [n];\nmov.b32 %f1, %r1;\nsetp.lt.f32 %p1, %f1, %f2;\n"
                                 "selp.u32 %r10, 1, 0, %p1;\n" +
                                 kStore),
                      {zeros<uint32_t>(64), value(bits)}, threads(64));
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    const auto out = r.read();
    EXPECT_EQ(std::accumulate(out.begin(), out.end(), 0u), expected) << bits;
  }
}

// Threads whose words in shared memory are as many bytes apart as it says, all or some of them, at addresses that no
// analysis knows: a wavefront for each word of the fullest bank.
TEST(Edges, WordsAnyNumberOfBytesApart) {
  std::vector<uint32_t> at;
  for (uint32_t step = 4; step <= 1024; step *= 2)
    for (uint32_t i = 0; i < 32; ++i) at.push_back(i * step);
  for (const uint32_t lanes : {32u, 20u}) {
    const Ran r = run(kernel(".param .u64 out, .param .u64 in, .param .u32 n",
                             ".shared .align 4 .b8 s[32768];\n" + kPrologue +
                                 "ld.param.u64 %rd5, [in];\nld.param.u32 %r9, [n];\nadd.s64 %rd6, %rd5, %rd2;\n"
                                 "mov.u32 %r4, s;\nmov.u32 %r5, 0;\nmov.u32 %r10, 0;\nsetp.ge.u32 %p1, %r1, %r9;\n"
                                 "NEXT:\nld.global.u32 %r2, [%rd6];\nadd.u32 %r3, %r4, %r2;\n@%p1 bra END;\n"
                                 "ld.shared.u32 %r10, [%r3];\nEND:\nadd.s64 %rd6, %rd6, 128;\nadd.u32 %r5, %r5, 1;\n"
                                 "setp.lt.u32 %p2, %r5, 9;\n@%p2 bra NEXT;\n" +
                                 kStore),
                      {zeros<uint32_t>(32), buffer(at), value(lanes)});
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    uint32_t wavefronts = 0;
    for (std::size_t first = 0; first < at.size(); first += 32) {
      std::map<uint32_t, uint32_t> banks;
      uint32_t most = 0;
      for (uint32_t i = 0; i < lanes; ++i) most = std::max(most, ++banks[at[first + i] / 4 % 32]);
      wavefronts += most;
    }
    EXPECT_EQ(r.counters().shared_load_wavefronts, wavefronts) << lanes << " lanes";
  }
}

// A lock that waits within a warp makes lanes take turns; blocks behind it begin as if nothing had been.
TEST(Edges, BlocksBehindALock) {
  Shape s;
  s.grid = {6, 1, 1};
  s.block = {16, 4, 1};
  s.in_order = true;
  const Ran r =
      run(kernel(".param .u64 out",
                 "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r3, %ctaid.x;\n"
                 "mad.lo.u32 %r4, %r3, 4, %r2;\nmad.lo.u32 %r4, %r4, 16, %r1;\n"
                 "mad.wide.u32 %rd3, %r4, 4, %rd1;\nshr.u32 %r9, %r4, 5;\nmad.wide.u32 %rd4, %r9, 8, %rd1;\n"
                 "add.u64 %rd4, %rd4, 1536;\n"
                 "mad.lo.u32 %r8, %r2, 256, %r1;\nst.global.u32 [%rd3], %r8;\nbar.sync 0;\n"
                 "TRY:\natom.global.cas.b32 %r5, [%rd4], 0, 1;\nsetp.ne.u32 %p1, %r5, 0;\n@%p1 bra TRY;\n"
                 "ld.volatile.global.u32 %r6, [%rd4+4];\nadd.u32 %r6, %r6, 1;\n"
                 "st.volatile.global.u32 [%rd4+4], %r6;\nmembar.gl;\natom.global.exch.b32 %r7, [%rd4], 0;\n"
                 "bar.sync 0;\n"),
          {zeros<uint32_t>(408)}, s);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 384; ++i) EXPECT_EQ(r.read()[i], i / 16 % 4 * 256 + i % 16) << i;
  for (uint32_t w = 0; w < 12; ++w) EXPECT_EQ(r.read()[385 + 2 * w], 32u) << w;
}

}  // namespace
}  // namespace edges
}  // namespace coalesce::machine::test
