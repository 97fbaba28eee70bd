// Values on their way between registers of different widths: parts of words, sign extension, 128-bit parameters, the
// flags that a lane has of its own; and spellings that are none.
#include "harness.h"

namespace coalesce::machine::test {
namespace values {

Ran of_lanes(const std::string& body, const std::string& more = "", std::vector<Argument> arguments = {}) {
  std::vector<Argument> all{zeros<uint32_t>(32 * 8)};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run(kernel(".param .u64 out" + more,
                    "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %rd2, %r1, 32, %rd1;\n" + body),
             all);
}

TEST(Values, FourPartsOfAWord) {
  const Ran r = of_lanes(
      "mul.wide.u32 %rd3, %r1, 65537;\nadd.s64 %rd3, %rd3, 0x1234567890abcdef;\n"
      "mov.b64 {%h1, %h2, %h3, %h4}, %rd3;\ncvt.u32.u16 %r2, %h1;\ncvt.u32.u16 %r3, %h2;\ncvt.u32.u16 %r4, %h3;\n"
      "cvt.u32.u16 %r5, %h4;\nst.global.v4.u32 [%rd2], {%r2, %r3, %r4, %r5};\n"
      "mov.b64 %rd4, {%h4, %h3, %h2, %h1};\nst.global.u64 [%rd2+16], %rd4;\n"
      ".reg .b128 %q;\nmov.b128 %q, {%rd3, %rd4};\nmov.b128 {%rd5, %rd6}, %q;\nadd.s64 %rd5, %rd5, %rd6;\n"
      "st.global.u64 [%rd2+24], %rd5;\n");
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 32; ++i) {
    const uint64_t whole = uint64_t{i} * 65537 + 0x1234567890abcdef;
    uint64_t turned = 0;
    for (int k = 0; k < 4; ++k) {
      const uint64_t part = whole >> (16 * k) & 0xffff;
      EXPECT_EQ(r.read()[8 * i + static_cast<uint32_t>(k)], part) << i << ", part " << k;
      turned |= part << (16 * (3 - k));
    }
    EXPECT_EQ(r.read<uint64_t>()[4 * i + 2], turned) << i;
    EXPECT_EQ(r.read<uint64_t>()[4 * i + 3], whole + turned) << i;
  }
}

// PTX manual, cvt: a result narrower than its register is extended by its own type's sign.
TEST(Values, NarrowResultsAreExtendedByTheirType) {
  const Ran r = of_lanes(
      "sub.s32 %r2, %r1, 200;\ncvt.s8.s32 %r3, %r2;\ncvt.u8.s32 %r4, %r2;\ncvt.s16.s32 %r5, %r2;\n"
      "cvt.u16.s32 %r6, %r2;\nst.global.v4.u32 [%rd2], {%r3, %r4, %r5, %r6};\n"
      "cvt.rn.f32.s32 %f1, %r2;\ncvt.rzi.s16.f32 %r7, %f1;\ncvt.rzi.s8.f32 %r8, %f1;\ncvt.s32.s64 %rd3, %rd1;\n"
      "st.global.v2.u32 [%rd2+16], {%r7, %r8};\n");
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (int i = 0; i < 32; ++i) {
    const int v = i - 200;
    const auto out = r.read();
    const std::vector<uint32_t> got(out.begin() + 8 * i, out.begin() + 8 * i + 6);
    EXPECT_EQ(got[0], static_cast<uint32_t>(static_cast<int8_t>(v))) << i;
    EXPECT_EQ(got[1], static_cast<uint8_t>(v)) << i;
    EXPECT_EQ(got[2], static_cast<uint32_t>(static_cast<int16_t>(v))) << i;
    EXPECT_EQ(got[3], static_cast<uint16_t>(v)) << i;
    EXPECT_EQ(got[4], static_cast<uint32_t>(v)) << i;
    EXPECT_EQ(got[5], static_cast<uint32_t>(std::max(v, -128))) << i;
  }
}

TEST(Values, AParameterOf128Bits) {
  const std::vector<uint64_t> halves{0x0123456789abcdef, 0xfedcba9876543210};
  Argument wide{false, std::vector<uint8_t>(16), 16};
  std::memcpy(wide.bytes.data(), halves.data(), 16);
  // Odd lanes take it, even lanes keep their own.
  const Ran r = of_lanes(
      ".reg .b128 %q<3>;\nld.param.b128 %q1, [wide];\ncvt.u64.u32 %rd3, %r1;\nmov.b128 %q2, {%rd3, %rd3};\n"
      "and.b32 %r2, %r1, 1;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 mov.b128 %q2, %q1;\nmov.b128 {%rd4, %rd5}, %q2;\n"
      "st.global.v2.u64 [%rd2], {%rd4, %rd5};\n",
      ", .param .align 16 .b128 wide", {wide});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 32; ++i)
    for (uint32_t k = 0; k < 2; ++k) EXPECT_EQ(r.read<uint64_t>()[4 * i + k], i % 2 ? halves[k] : i) << i;
}

// One number of the lanes of a mask, by each operation; the others keep theirs.
TEST(Values, ReductionsOfSomeLanes) {
  for (const std::string op : {"add.u32", "min.u32", "max.u32", "min.s32", "max.s32", "and.b32", "or.b32", "xor.b32"}) {
    const Ran r = of_lanes(
        "mul.lo.u32 %r2, %r1, 0x9e3779b1;\nor.b32 %r2, %r2, 0x40;\nmov.u32 %r3, 7;\nsetp.ge.u32 %p1, %r1, 5;\n"
        "@%p1 redux.sync." +
        op + " %r3, %r2, 0xffffffe0;\nst.global.u32 [%rd2], %r3;\n");
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    const auto of = [](uint32_t lane) { return lane * 0x9e3779b1u | 0x40u; };
    uint32_t wanted = of(5);
    for (uint32_t l = 6; l < 32; ++l) {
      const auto s = static_cast<int32_t>(of(l)), w = static_cast<int32_t>(wanted);
      if (op == "add.u32") wanted += of(l);
      if (op == "min.u32") wanted = std::min(wanted, of(l));
      if (op == "max.u32") wanted = std::max(wanted, of(l));
      if (op == "min.s32") wanted = static_cast<uint32_t>(std::min(s, w));
      if (op == "max.s32") wanted = static_cast<uint32_t>(std::max(s, w));
      if (op == "and.b32") wanted &= of(l);
      if (op == "or.b32") wanted |= of(l);
      if (op == "xor.b32") wanted ^= of(l);
    }
    for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.read()[8 * i], i < 5 ? 7 : wanted) << op << " " << i;
  }
}

// Three words of shared memory, and remainders of 4: the fourth lies behind them.
TEST(Values, TheLargestRemainder) {
  const auto at = [](const std::string& remainder) {
    return of_lanes(".shared .align 4 .b8 S[12];\nmov.u32 %r5, S;\n" + remainder +
                    "mad.lo.u32 %r3, %r2, 4, %r5;\nst.shared.u32 [%r3], %r1;\n")
        .report.fault;
  };
  EXPECT_EQ(at("rem.u32 %r2, %r1, 3;\n"), Fault::none);
  EXPECT_EQ(at("rem.u32 %r2, %r1, 4;\n"), Fault::illegal_address);
  EXPECT_EQ(at("rem.s32 %r2, %r1, 4;\n"), Fault::illegal_address);
  EXPECT_EQ(at("and.b32 %r2, %r1, 3;\n"), Fault::illegal_address);
  EXPECT_EQ(at("shr.u32 %r2, %r1, 3;\n"), Fault::illegal_address);
  EXPECT_EQ(at("shr.u32 %r2, %r1, 4;\n"), Fault::none);
  // One for all lanes: of 7.
  const auto of_all = [](const std::string& by) {
    return of_lanes(".shared .align 4 .b8 S[12];\nld.param.u32 %r9, [n];\nmov.u32 %r5, S;\nrem.u32 %r2, %r9, " + by +
                        ";\nmad.lo.u32 %r3, %r2, 4, %r5;\nst.shared.u32 [%r3], %r1;\n",
                    ", .param .u32 n", {value(7u)})
        .report.fault;
  };
  EXPECT_EQ(of_all("3"), Fault::none);
  EXPECT_EQ(of_all("4"), Fault::illegal_address);
}

// Lanes that name different companions vote among these.
TEST(Values, VotesOfGroups) {
  const Ran r = of_lanes(
      "shr.u32 %r2, %r1, 3;\nshl.b32 %r3, %r2, 3;\nmov.u32 %r4, 255;\nshl.b32 %r5, %r4, %r3;\nand.b32 %r6, %r1, 5;\n"
      "setp.eq.u32 %p1, %r6, 4;\nsetp.gt.u32 %p3, %r1, 15;\nvote.sync.ballot.b32 %r7, %p1, %r5;\n"
      "vote.sync.all.pred %p2, %p3, %r5;\nselp.u32 %r8, 1, 0, %p2;\nvote.sync.uni.pred %p2, %p1, %r5;\n"
      "selp.u32 %r9, 1, 0, %p2;\nst.global.v4.u32 [%rd2], {%r7, %r8, %r9, %r5};\n");
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 32; ++i) {
    const uint32_t mask = 0xffu << (i / 8 * 8);
    uint32_t ballot = 0;
    for (uint32_t l = 0; l < 32; ++l)
      if ((mask >> l & 1) && (l & 5) == 4) ballot |= 1u << l;
    EXPECT_EQ(r.read()[8 * i + 3], mask);
    EXPECT_EQ(r.read()[8 * i], ballot) << i;
    EXPECT_EQ(r.read()[8 * i + 1], i / 8 > 1) << i;
    EXPECT_EQ(r.read()[8 * i + 2], 0u) << i;
  }
}

// Each distance of each shuffle, with a flag whether the lane had a source; half of the lanes later exchange alone.
TEST(Values, ShufflesByEveryDistance) {
  for (const std::string mode : {"up", "down", "bfly", "idx"})
    for (const uint32_t b : {0u, 1u, 5u, 16u, 31u}) {
      const uint32_t bound = mode == "up" ? 0 : 31;
      const Ran r =
          of_lanes("mul.lo.u32 %r2, %r1, 3;\nshfl.sync." + mode + ".b32 %r3|%p1, %r2, " + std::to_string(b) + ", " +
                   std::to_string(bound) + ", -1;\nselp.u32 %r4, 1, 0, %p1;\nst.global.v2.u32 [%rd2], {%r3, %r4};\n");
      ASSERT_EQ(r.report.fault, Fault::none) << r.message();
      for (uint32_t i = 0; i < 32; ++i) {
        const uint32_t from = mode == "up" ? i - b : mode == "down" ? i + b : mode == "bfly" ? i ^ b : b;
        EXPECT_EQ(r.read()[8 * i], 3 * (from < 32 ? from : i)) << mode << b << " " << i;
        EXPECT_EQ(r.read()[8 * i + 1], from < 32) << mode << b << " " << i;
      }
    }
}

// A divisor that is one value for all: powers of two, other numbers and 0, of numbers that differ.
TEST(Values, DivisionByOneNumber) {
  const std::string text = kernel(
      ".param .u64 out, .param .u32 by",
      "ld.param.u64 %rd1, [out];\nld.param.u32 %r9, [by];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %rd2, %r1, 32, %rd1;\n"
      "mul.lo.u32 %r2, %r1, 123456789;\ndiv.u32 %r3, %r2, %r9;\nrem.u32 %r4, %r2, %r9;\nmul.lo.u32 %r2, %r1, 77;\n"
      "div.s32 %r5, %r2, %r9;\nrem.s32 %r6, %r2, %r9;\nst.global.v4.u32 [%rd2], {%r3, %r4, %r5, %r6};\n"
      "sub.s32 %r2, 1000, %r2;\ndiv.s32 %r3, %r2, %r9;\nrem.s32 %r4, %r2, %r9;\n"
      "st.global.v2.u32 [%rd2+16], {%r3, %r4};\n");
  for (const uint32_t by : {1u, 2u, 3u, 7u, 16u, 100u, 0x40000000u, 0x80000000u, 0xffffffffu, 0xfffffff0u}) {
    const Ran r = run(text, {zeros<uint32_t>(32 * 8), value(by)});
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    const auto out = r.read();
    for (uint32_t i = 0; i < 32; ++i) {
      const uint32_t n = i * 123456789;
      const int64_t s = 77 * int64_t{i}, t = 1000 - s, d = static_cast<int32_t>(by);
      EXPECT_EQ(out[8 * i], n / by) << by << " " << i;
      EXPECT_EQ(out[8 * i + 1], n % by) << by << " " << i;
      EXPECT_EQ(out[8 * i + 2], static_cast<uint32_t>(s / d)) << by << " " << i;
      EXPECT_EQ(out[8 * i + 3], static_cast<uint32_t>(s % d)) << by << " " << i;
      EXPECT_EQ(out[8 * i + 4], static_cast<uint32_t>(t / d)) << by << " " << i;
      EXPECT_EQ(out[8 * i + 5], static_cast<uint32_t>(t % d)) << by << " " << i;
    }
  }
}

// An address of shared memory that is a number: whole accesses, and one that is off by two bytes.
TEST(Values, SharedMemoryByNumber) {
  const auto at = [](const std::string& address) {
    return of_lanes(".shared .align 8 .b8 S[64];\n{\n.reg .b32 %a;\nst.shared.u32 [" + address +
                    "], 7;\nld.shared.u32 %r2, [" + address + "];\nst.global.u32 [%rd2], %r2;\n}\n");
  };
  for (const std::string address : {"S", "S+4", "S+60"}) {
    const Ran r = at(address);
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    EXPECT_EQ(r.read()[8], 7u);
  }
  EXPECT_EQ(at("S+2").report.fault, Fault::misaligned_address);
  EXPECT_EQ(at("S+57").report.fault, Fault::misaligned_address);
  EXPECT_EQ(at("S+64").report.fault, Fault::illegal_address);
  EXPECT_EQ(at("S-4").report.fault, Fault::illegal_address);
}

// Lanes far apart, the highest behind its array: the fault names that lane.
TEST(Values, OneLaneBehindTheArray) {
  std::vector<uint32_t> in(4096);
  for (uint32_t i = 0; i < in.size(); ++i) in[i] = i;
  std::vector<uint32_t> where(32);
  for (uint32_t i = 0; i < 32; ++i) where[i] = 4 * (i * i * 3 % 4096);
  const auto gather = [&](const std::vector<uint32_t>& places) {
    return of_lanes(
        "ld.param.u64 %rd3, [in];\nld.param.u64 %rd4, [where];\nmad.wide.u32 %rd5, %r1, 4, %rd4;\n"
        "ld.global.u32 %r2, [%rd5];\ncvt.u64.u32 %rd6, %r2;\nadd.s64 %rd6, %rd6, %rd3;\nld.global.u32 %r3, [%rd6];\n"
        "st.global.u32 [%rd2], %r3;\n",
        ", .param .u64 in, .param .u64 where", {buffer(in), buffer(places)});
  };
  const Ran right = gather(where);
  ASSERT_EQ(right.report.fault, Fault::none) << right.message();
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(right.read()[8 * i], where[i] / 4);
  for (const uint32_t lane : {0u, 17u, 31u}) {
    auto wrong = where;
    wrong[lane] = 4 * 4096;
    const Ran r = gather(wrong);
    EXPECT_EQ(r.report.fault, Fault::illegal_address) << lane;
    ASSERT_FALSE(r.report.diagnostics.empty());
    EXPECT_EQ(r.report.diagnostics[0].lanes, 1u << lane);
  }
}

// Literals of one precision where the other is wanted are converted; ptxas does the same.
TEST(Values, LiteralsOfTheOtherPrecision) {
  const Ran r = of_lanes(
      "mov.f64 %fd1, 0d0000000000000000;\nadd.f64 %fd1, %fd1, 0f3FC00000;\nst.global.f64 [%rd2], %fd1;\n"
      "mov.f32 %f1, 0f00000000;\nadd.f32 %f1, %f1, 0d3FF8000000000000;\nst.global.f32 [%rd2+8], %f1;\n"
      "mov.f64 %fd2, 0fC0000000;\nst.global.f64 [%rd2+16], %fd2;\n");
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  EXPECT_EQ(r.read<double>()[0], 1.5);
  EXPECT_EQ(r.read<float>()[2], 1.5f);
  EXPECT_EQ(r.read<double>()[2], -2.0);
}

// A register of 8 bits: a value for all lanes, and one for each.
TEST(Values, RegistersOfEightBits) {
  const Ran r = of_lanes(
      ".reg .b8 %b<5>;\nst.global.u32 [%rd2], %r1;\nld.global.u8 %b1, [%rd1];\nld.global.b8 %b2, [%rd2];\n"
      "st.global.b8 [%rd2+4], %b1;\nst.global.b8 [%rd2+5], %b2;\ncvt.u32.u8 %r2, %b2;\nst.global.u32 [%rd2+8], %r2;\n"
      "bar.warp.sync -1;\nld.global.v2.b8 {%b2, %b3}, [%rd1+36];\nst.global.b8 [%rd2+12], %b3;\n"
      "st.global.b8 [%rd2+13], %b2;\n");
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(r.read()[8 * i + 1], i << 8) << i;
    EXPECT_EQ(r.read()[8 * i + 2], i);
    EXPECT_EQ(r.read()[8 * i + 3], 1u) << "what lane 1 has stored";
  }
}

// Registers that nothing has written hold zeros: where a branch leaves one out, and in every block anew.
TEST(Values, RegistersThatNothingHasWritten) {
  Shape s;
  s.grid = {5, 1, 1};
  for (const uint32_t n : {0u, 1u}) {
    const Ran r = run(kernel(".param .u64 out, .param .u32 n",
                             "ld.param.u64 %rd1, [out];\nld.param.u32 %r9, [n];\nmov.u32 %r1, %tid.x;\n"
                             "mov.u32 %r8, %ctaid.x;\nmad.lo.u32 %r7, %r8, 32, %r1;\nmad.wide.u32 %rd2, %r7, 8, %rd1;\n"
                             "setp.eq.u32 %p1, %r9, 0;\n@%p1 bra SKIP;\nmov.u32 %r2, 7;\nSKIP:\n"
                             "add.u32 %r3, %r3, %r8;\nadd.u32 %r3, %r3, 1;\nadd.u32 %r3, %r3, %r20;\nst.global.v2.u32 "
                             "[%rd2], {%r2, %r3};\n"),
                      {zeros<uint32_t>(5 * 64), value(n)}, s);
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    for (uint32_t i = 0; i < 5 * 32; ++i) {
      EXPECT_EQ(r.read()[2 * i], 7 * n) << i;
      EXPECT_EQ(r.read()[2 * i + 1], i / 32 + 1) << i;
    }
  }
}

// ptxas takes st.b8 and st.b16 of a real number's register, and converts; PTX has no such store.
TEST(Values, NoPartsOfRealNumbersAreStored) {
  for (const std::string line :
       {"st.global.b16 [%rd2], %f1;", "st.global.u8 [%rd2], %f1;", "st.global.s16 [%rd2+2], %f1;",
        "st.global.b32 [%rd2], %fd1;", "st.global.v2.b16 [%rd2], {%h1, %f1};", "st.shared.b8 [%r2], %f1;"}) {
    const Ran r = of_lanes(line + "\n");
    EXPECT_EQ(r.report.fault, Fault::illegal_instruction) << line;
    EXPECT_THAT(r.message(), testing::HasSubstr("cannot store a part of a register of real numbers")) << line;
  }
  EXPECT_EQ(of_lanes("mov.f32 %f1, 0f3FC00000;\nst.global.b32 [%rd2], %f1;\n").read()[8], 0x3fc00000u);
}

// A texture's handle in the kernel's first register: no texture, but the instruction is one.
TEST(Values, AHandleInTheFirstRegister) {
  const Ran r = run(module(".visible .entry k()\n{\n.reg .b64 %t;\n.reg .f32 %f<6>;\nmov.u64 %t, 0;\n"
                           "tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%t, {%f5}];\nret;\n}\n"),
                    {});
  EXPECT_EQ(r.report.fault, Fault::illegal_address) << r.message();
  const Ran table = of_lanes("brx.idx %r1, NOWHERE;\n");
  EXPECT_EQ(table.report.fault, Fault::illegal_instruction);
  EXPECT_THAT(table.message(), testing::HasSubstr("NOWHERE"));
}

TEST(Values, SpellingsThatAreNone) {
  for (const std::string line : {"atom.global.and.f32 %f1, [%rd2], %f2;",
                                 "atom.global.xor.f64 %fd1, [%rd2], %fd2;",
                                 "atom.global.cas.f32 %f1, [%rd2], %f2, %f3;",
                                 "atom.global.min.f64 %fd1, [%rd2], %fd2;",
                                 "atom.global.add.u16 %h1, [%rd2], %h2;",
                                 "atom.global.add.b16 %h1, [%rd2], %h2;",
                                 "atom.local.add.u32 %r2, [%rd2], %r3;",
                                 "mov.b64 {%r2, %r3, %r4}, %rd2;",
                                 "mov.b32 {%h1, %h2, %h3, %h4}, %r2;",
                                 "mbarrier.no_wait.shared.b64 %p1, [%r2], %rd3;",
                                 "mbarrier.test_wait.shared.b64 %p1, [%r2], %rd3, 5;",
                                 "mbarrier.try_wait.shared.b64 %p1, [%r2], %rd3, 5, 6;",
                                 "shfl.sync.left.b32 %r2, %r3, 1, 31, -1;",
                                 "vadd2.u32.u32.u32.max %r2, %r3, %r4, %r5;",
                                 "suld.b.2d.b32.never {%r2}, [%rd2, {%r3, %r4}];",
                                 "tex.9d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd2, {%f5}];",
                                 "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd2+4, {%f5, %f6}];",
                                 "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd2, {%f5}];",
                                 "suld.b.2d.b32.trap {%r2}, [%rd2, {%r3}];",
                                 "sust.p.2d.b32.trap [%rd2, {%r3, %r4}], {%r2};",
                                 "suld.b.cube.b32.trap {%r2}, [%rd2, {%r3, %r4}];",
                                 "suld.b.2d.v2.b32.trap {%r2}, [%rd2, {%r3, %r4}];",
                                 "ld.global.v4.u32 {%r2, %r3}, [%rd2];",
                                 "st.global.v2.u32 [%rd2], {%r2, %r3, %r4, %r5};"}) {
    const Ran r = of_lanes(line + "\n");
    EXPECT_EQ(r.report.fault, Fault::illegal_instruction) << line << r.message();
  }
}

}  // namespace values
}  // namespace coalesce::machine::test
