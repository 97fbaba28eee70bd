// Which requests --model ptxas makes of small PTX. What is expected is what ptxas of CUDA 13.0 makes of the same at -O3
// for sm_90, as read in its machine code (LDS, STS, RED and ATOM with their widths).
#include "machine/program/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/ptx/parser.h"

namespace coalesce::machine {
namespace {

using ::testing::ElementsAre;

struct NoSymbols : SymbolTable {
  Symbol symbol(const std::string&) const override { return {}; }
  uint64_t function_address(const std::string&) const override { return 0; }
};

std::unique_ptr<Decoded> merged(const std::string& body) {
  const std::string text =
      ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .u64 out, .param .u32 n)\n{\n.reg .pred %p<8>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<32>;\n"
      ".shared .align 4 .b8 s[4096];\n.shared .align 4 .b8 odd[20];\n.shared .align 4 .b8 late[64];\n"
      "mov.u32 %r1, %tid.x;\nld.param.u32 %r3, [n];\nld.param.u64 %rd1, [out];\n"
      // %r2: a thread's 16 bytes of s
      "shl.b32 %r4, %r1, 4;\nmov.u32 %r5, s;\nadd.s32 %r2, %r5, %r4;\n" +
      body + "\nret;\n}\n";
  const ptx::Module module = ptx::parse(text, "merge.ptx");
  const NoSymbols none;
  std::unique_ptr<Decoded> p = decode(module, module.functions.front(), none, {{128, 1, 1}, {1024, 1, 1}});
  merge_as_ptxas(*p);
  return p;
}

// The requests of one kind of access, in the program's order, as "bytes" or, where it is made of several or of a warp's
// lanes, "bytes!".
std::vector<std::string> requests(const std::string& body, Kind kind) {
  const std::unique_ptr<Decoded> p = merged(body);
  std::vector<std::string> out;
  for (const Instruction& i : p->code) {
    if (i.memory == kNone || p->memory[i.memory].site == kNone) continue;
    const Site& site = p->sites[p->memory[i.memory].site];
    EXPECT_EQ(&p->code[site.instruction], &i) << "a site knows its instruction";
    if (site.kind != kind || site.merged || (kind != Kind::atomic && site.space != AddressSpace::shared)) continue;
    out.push_back(std::to_string(site.bytes) + (i.kind == Kind::request ? "!" : ""));
  }
  return out;
}
std::vector<std::string> loads(const std::string& body) { return requests(body, Kind::load); }
std::vector<std::string> stores(const std::string& body) { return requests(body, Kind::store); }
std::vector<std::string> atomics(const std::string& body) { return requests(body, Kind::atomic); }

std::string load(int offset, const std::string& base = "%r2") {
  static int next = 10;
  next = next == 30 ? 10 : next + 1;
  return "ld.shared.u32 %r" + std::to_string(next) + ", [" + base + "+" + std::to_string(offset) + "];\n";
}
std::string store(int offset, const std::string& base = "%r2") {
  return "st.shared.u32 [" + base + "+" + std::to_string(offset) + "], %r3;\n";
}

// An address is followed through sixteen steps, whatever they are: three are left to %r2, the sum of an array's
// place and a thread's offset. One more, and it is taken for another place.
TEST(Merge, AddressesAreFollowedThroughSixteenSteps) {
  for (const char* const step :
       {"shl.b32 %c0, %r2, 0;", "mul.lo.s32 %c0, %r2, 1;", "mad.lo.s32 %c0, %r2, 1, 0;", "sub.s32 %c0, %r2, 0;",
        "mov.b32 %c0, %r2;", "or.b32 %c0, %r2, 0;", "add.s32 %c0, %r6, %r2;"})
    for (const int sums : {12, 13}) {
      std::string text = ".reg .b32 %c<20>;\nmov.u32 %r6, 0;\n" + std::string(step) + "\n";
      for (int k = 0; k < sums; ++k)
        text += "add.s32 %c" + std::to_string(k + 1) + ", %c" + std::to_string(k) + ", 4;\n";
      text += load(0) + load(4 - 4 * sums, "%c" + std::to_string(sums));
      if (sums == 12)
        EXPECT_THAT(loads(text), ElementsAre("8!")) << step;
      else
        EXPECT_THAT(loads(text), ElementsAre("4", "4")) << step;
    }
}

// ---- Loads ---------------------------------------------------------------------------------------------------------

TEST(Merge, LoadsOfAWindowBecomeOne) {
  EXPECT_THAT(loads(load(0) + load(4) + load(8) + load(12)), ElementsAre("16!"));
  EXPECT_THAT(loads(load(12) + load(8) + load(4) + load(0)), ElementsAre("16!"));
  EXPECT_THAT(loads(load(0) + load(4) + load(8)), ElementsAre("16!")) << "a word that nobody asked for is loaded too";
  EXPECT_THAT(loads(load(0) + load(4) + load(12)), ElementsAre("16!"));
  EXPECT_THAT(loads("ld.shared.u64 %rd2, [%r2];\n" + load(8) + load(12)), ElementsAre("16!"));
}

TEST(Merge, TwoLoadsBecomeOneWhereTheyAreAlignedTo8) {
  EXPECT_THAT(loads(load(0) + load(4)), ElementsAre("8!"));
  EXPECT_THAT(loads(load(8) + load(12)), ElementsAre("8!"));
  EXPECT_THAT(loads(load(4) + load(8)), ElementsAre("4", "4"));
  EXPECT_THAT(loads(load(0) + load(12)), ElementsAre("4", "4"));
  EXPECT_THAT(loads(load(0) + load(8)), ElementsAre("4", "4"));
}

TEST(Merge, AWindowEndsWhereTheNextOneBegins) {
  EXPECT_THAT(loads(load(4) + load(8) + load(12) + load(16)), ElementsAre("16!", "4"));
  EXPECT_THAT(loads(load(0) + load(4) + load(8) + load(12) + load(16) + load(20)), ElementsAre("16!", "8!"));
}

TEST(Merge, NeedsAnAddressThatIsAligned) {
  const std::string words = load(0, "%r6") + load(4, "%r6") + load(8, "%r6") + load(12, "%r6");
  const auto by = [&](const std::string& address) { return loads(address + words); };
  EXPECT_THAT(by("shl.b32 %r7, %r1, 2;\nadd.s32 %r6, %r5, %r7;\n"), ElementsAre("4", "4", "4", "4"));
  EXPECT_THAT(by("shl.b32 %r7, %r1, 3;\nadd.s32 %r6, %r5, %r7;\n"), ElementsAre("8!", "8!"));
  EXPECT_THAT(by("mad.lo.s32 %r6, %r1, 48, %r5;\n"), ElementsAre("16!"));
  EXPECT_THAT(by("mul.lo.s32 %r8, %r1, %r3;\nshl.b32 %r7, %r8, 4;\nadd.s32 %r6, %r5, %r7;\n"), ElementsAre("16!"));
  EXPECT_THAT(by("and.b32 %r7, %r1, -16;\nadd.s32 %r6, %r5, %r7;\n"), ElementsAre("16!"));
  EXPECT_THAT(by("add.s32 %r6, %r5, %r3;\n"), ElementsAre("4", "4", "4", "4"));
  EXPECT_THAT(by("mov.u32 %r6, late;\n"), ElementsAre("16!", "4")) << "it begins at 4116";
}

TEST(Merge, SeesThatAddressesAreOneSum) {
  EXPECT_THAT(loads("add.s32 %r6, %r2, 4;\n" + load(0) + load(0, "%r6")), ElementsAre("8!"));
  EXPECT_THAT(loads("or.b32 %r7, %r4, 4;\nadd.s32 %r6, %r5, %r7;\n" + load(0) + load(0, "%r6")), ElementsAre("8!"));
  EXPECT_THAT(loads("mad.lo.s32 %r6, %r1, 16, %r5;\n" + load(0) + load(4, "%r6")), ElementsAre("8!"));
  EXPECT_THAT(loads("mul.lo.s32 %r7, %r1, 16;\nadd.s32 %r6, %r7, %r5;\n" + load(0) + load(4, "%r6")),
              ElementsAre("8!"));
  EXPECT_THAT(loads("or.b32 %r7, %r4, 16;\nadd.s32 %r6, %r5, %r7;\n" + load(0) + load(0, "%r6") + load(4)),
              ElementsAre("8!", "4"))
      << "an or that may meet a set bit adds nothing known";
}

// Sums that are made in many steps, and products of other registers.
TEST(Merge, FollowsAddressesFarBack) {
  const auto steps = [](const std::string& step) {
    std::string text = "mov.u32 %r6, %r2;\n";
    for (int k = 0; k < 10; ++k) {
      const std::string from = "%r" + std::to_string(6 + k), to = "%r" + std::to_string(7 + k);
      text += step.substr(0, step.find('$')) + to + ", " + from + step.substr(step.find('$') + 1) + "\n";
    }
    return text;
  };
  const auto two = [](const std::string& first, const std::string& second) {
    return "ld.shared.u32 %r20, [" + first + "];\nld.shared.u32 %r21, [" + second + "];\n";
  };
  EXPECT_THAT(loads(steps("add.s32 $, 16;") + two("%r2+160", "%r16+4")), ElementsAre("8!"));
  EXPECT_THAT(loads(steps("sub.s32 $, 16;") + two("%r2+160", "%r16+324")), ElementsAre("8!"));
  EXPECT_THAT(loads(steps("mov.b32 $;") + two("%r2", "%r16+4")), ElementsAre("8!"));
  EXPECT_THAT(loads("mad.lo.s32 %r6, %r1, 16, %r5;\nmad.lo.s32 %r7, %r3, 16, %r5;\n" + two("%r6", "%r7+4")),
              ElementsAre("4", "4"))
      << "of other registers";
}

// An address s + %r6, where %r6 is a multiple of 8 or not, by what it is made of: one load of 8 bytes, or two.
TEST(Merge, AlignmentOfWhatAnAddressIsMadeOf) {
  struct {
    const char* text;
    bool one;
  } const cases[] = {
      {"mul.lo.s32 %r6, %r1, 24;", true},
      {"mul.lo.s32 %r6, %r1, 12;", false},
      {"mul.lo.u32 %r6, %r3, 40;", true},
      {"shl.b32 %r7, %r3, 3;\nmul.lo.s32 %r6, %r7, %r1;", true},
      {"shl.b32 %r7, %r3, 1;\nshl.b32 %r8, %r1, 2;\nmul.lo.s32 %r6, %r7, %r8;", true},
      {"mad.lo.s32 %r6, %r3, 24, %r4;", true},
      {"mad.lo.s32 %r6, %r3, 12, %r4;", false},
      {"shl.b32 %r7, %r3, 3;\nmad.lo.s32 %r6, %r7, %r1, %r4;", true},
      {"mul.wide.u32 %rd3, %r3, 40;\ncvt.u32.u64 %r6, %rd3;", true},
      {"cvt.u64.u32 %rd3, %r3;\nshl.b64 %rd4, %rd3, 3;\ncvt.u32.u64 %r6, %rd4;", true},
      {"mad.wide.u32 %rd3, %r3, 8, %rd1;\ncvt.u32.u64 %r6, %rd3;", false},
      {"and.b32 %r6, %r3, 0xfffffff8;", true},
      {"and.b32 %r6, %r3, 0xfffffffc;", false},
      {"mul.lo.s32 %r7, %r1, 12;\nand.b32 %r6, %r7, 504;", true},
      {"shl.b32 %r7, %r3, 3;\nsub.s32 %r6, 4096, %r7;", true},
      {"shl.b32 %r7, %r3, 3;\nneg.s32 %r6, %r7;", true},
      {"shl.b32 %r7, %r3, 3;\nshl.b32 %r6, %r7, %r1;", true},
      {"shl.b32 %r7, %r3, 3;\nor.b32 %r6, %r7, %r4;", true},
      {"shl.b32 %r7, %r3, 3;\nxor.b32 %r6, %r7, %r4;", true},
      {"shl.b32 %r7, %r3, 6;\nshr.u32 %r6, %r7, 2;", false},
      {"setp.lt.u32 %p1, %r1, %r3;\nselp.b32 %r6, 8, 16, %p1;", true},
      {"shl.b32 %r7, %r3, 3;\nmin.u32 %r6, %r7, 1024;", false},
      {"shl.b32 %r7, %r3, 3;\nmax.s32 %r6, %r7, %r4;", false},
      {"shl.b32 %r7, %r3, 3;\nabs.s32 %r6, %r7;", false},
  };
  for (const auto& c : cases) {
    const auto found = loads(std::string(c.text) + "\nadd.s32 %r6, %r6, %r5;\n" + load(0, "%r6") + load(4, "%r6"));
    if (c.one)
      EXPECT_THAT(found, ElementsAre("8!")) << c.text;
    else
      EXPECT_THAT(found, ElementsAre("4", "4")) << c.text;
  }
}

TEST(Merge, ALoopsAddressIsAlignedIfEveryStepKeepsItSo) {
  const auto loop = [](const std::string& step) {
    return loads("mov.u32 %r6, s;\nLOOP:\n" + load(0, "%r6") + load(4, "%r6") + load(8, "%r6") + load(12, "%r6") +
                 "add.s32 %r6, %r6, " + step + ";\nsetp.lt.u32 %p1, %r6, 1024;\n@%p1 bra LOOP;\n");
  };
  EXPECT_THAT(loop("16"), ElementsAre("16!"));
  EXPECT_THAT(loop("24"), ElementsAre("8!", "8!"));
  EXPECT_THAT(loop("4"), ElementsAre("4", "4", "4", "4"));
}

TEST(Merge, AChangedRegisterIsAnotherAddress) {
  EXPECT_THAT(loads("mov.u32 %r6, s;\n" + load(0, "%r6") + "add.s32 %r6, %r6, 16;\n" + load(4, "%r6")),
              ElementsAre("4", "4"));
}

TEST(Merge, LoadsAreMovedOverWhatCannotChangeThem) {
  EXPECT_THAT(loads(load(0) + "st.global.u32 [%rd1], %r3;\n" + load(4)), ElementsAre("8!"));
  EXPECT_THAT(loads(load(0) + "shfl.sync.down.b32 %r8, %r3, 1, 31, -1;\n" + load(4)), ElementsAre("8!"));
  for (const std::string& between :
       {store(2048), store(8), std::string("bar.sync 0;\n"), std::string("bar.warp.sync -1;\n"),
        std::string("membar.cta;\n"), std::string("atom.shared.add.u32 %r8, [%r5], 1;\n"),
        std::string("st.u32 [%rd1], %r3;\n")})
    EXPECT_THAT(loads(load(0) + between + load(4)), ElementsAre("4", "4")) << between;
  EXPECT_THAT(loads("ld.volatile.shared.u32 %r8, [%r2];\nld.volatile.shared.u32 %r9, [%r2+4];\n"),
              ElementsAre("4", "4"));
}

TEST(Merge, LoadsAreMovedOverBranchesThatMeetAgain) {
  const auto around = [](const std::string& inside) {
    return loads(load(0) + "setp.eq.u32 %p1, %r3, %r1;\n@%p1 bra ON;\n" + inside + "ON:\n" + load(4));
  };
  EXPECT_THAT(around("st.global.u32 [%rd1], %r3;\n"), ElementsAre("8!"));
  EXPECT_THAT(around(store(2048)), ElementsAre("4", "4"));
  EXPECT_THAT(loads(load(0) + "setp.eq.u32 %p1, %r3, %r1;\n@%p1 bra SIDE;\nON:\n" + load(4) +
                    "ret;\nSIDE:\nst.global.u32 [%rd1], %r3;\nbra.uni ON;\nbar.sync 0;\n"),
              ElementsAre("8!"))
      << "a side that stands elsewhere";
  EXPECT_THAT(around("ret;\n"), ElementsAre("4", "4")) << "not by the same lanes";
  EXPECT_THAT(around("mov.u32 %r7, 0;\nAGAIN:\nadd.s32 %r7, %r7, 1;\nsetp.lt.u32 %p2, %r7, %r3;\n@%p2 bra AGAIN;\n"),
              ElementsAre("4", "4"))
      << "over a loop";
  EXPECT_THAT(around("mov.u32 %r7, 0;\nAGAIN:\nadd.s32 %r7, %r7, 1;\nsetp.eq.u32 %p3, %r7, %r1;\n@%p3 bra OUT;\n"
                     "setp.lt.u32 %p2, %r7, %r3;\n@%p2 bra AGAIN;\nOUT:\n"),
              ElementsAre("4", "4"))
      << "over a loop of two blocks";
  EXPECT_THAT(loads(load(0) + "setp.eq.u32 %p1, %r3, %r1;\n@%p1 bra ON;\n" + load(4) + "ON:\n"), ElementsAre("4", "4"))
      << "one side's own";
}

// A kernel that begins with a loop's first block comes there without having run the loop's last.
TEST(Merge, TheKernelsBeginningIsAWayIntoItsFirstBlock) {
  const std::string text =
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .pred %p<2>;\n.reg .b32 %r<9>;\n"
      ".shared .align 16 .b8 s[64];\nFIRST:\nld.shared.u32 %r1, [s];\nsetp.eq.u32 %p1, %r1, 7;\n@%p1 bra OUT;\n"
      "ld.shared.u32 %r2, [s+4];\nbra.uni FIRST;\nOUT:\nret;\n}\n";
  const ptx::Module module = ptx::parse(text, "merge.ptx");
  std::unique_ptr<Decoded> p = decode(module, module.functions.front(), NoSymbols(), {{128, 1, 1}, {1024, 1, 1}});
  merge_as_ptxas(*p);
  ASSERT_EQ(p->sites.size(), 2u);
  EXPECT_FALSE(p->sites[0].merged);
  EXPECT_FALSE(p->sites[1].merged);
}

TEST(Merge, OnlyWhatTheSameLanesDo) {
  const std::string test = "setp.eq.u32 %p1, %r3, %r1;\nsetp.eq.u32 %p2, %r3, 5;\n";
  EXPECT_THAT(loads(test + "@%p1 ld.shared.u32 %r8, [%r2];\n@%p1 ld.shared.u32 %r9, [%r2+4];\n"), ElementsAre("8!"));
  EXPECT_THAT(loads(test + "@%p1 ld.shared.u32 %r8, [%r2];\n@!%p1 ld.shared.u32 %r9, [%r2+4];\n"),
              ElementsAre("4", "4"));
  EXPECT_THAT(loads(test + "@%p1 ld.shared.u32 %r8, [%r2];\n@%p2 ld.shared.u32 %r9, [%r2+4];\n"),
              ElementsAre("4", "4"));
  EXPECT_THAT(
      loads(test + "@%p1 ld.shared.u32 %r8, [%r2];\nsetp.eq.u32 %p1, %r8, 3;\n@%p1 ld.shared.u32 %r9, [%r2+4];\n"),
      ElementsAre("4", "4"));
}

TEST(Merge, NarrowAccessesStayAsTheyAre) {
  EXPECT_THAT(loads("ld.shared.u16 %r8, [%r2];\nld.shared.u16 %r9, [%r2+2];\n"), ElementsAre("2", "2"));
  EXPECT_THAT(loads("ld.shared.u8 %r8, [%r2];\nld.shared.u8 %r9, [%r2+1];\n"), ElementsAre("1", "1"));
}

// ---- Stores --------------------------------------------------------------------------------------------------------

TEST(Merge, StoresLeaveNoGaps) {
  EXPECT_THAT(stores(store(0) + store(4) + store(8) + store(12)), ElementsAre("16!"));
  EXPECT_THAT(stores(store(0) + store(4) + store(8)), ElementsAre("8!", "4"));
  EXPECT_THAT(stores(store(4) + store(0)), ElementsAre("8!"));
  EXPECT_THAT(stores(store(4) + store(8)), ElementsAre("4", "4"));
}

TEST(Merge, StoresStayInOrderWithAllElse) {
  EXPECT_THAT(stores(store(0) + "ld.global.u32 %r8, [%rd1];\n" + store(4)), ElementsAre("8!"));
  EXPECT_THAT(stores(store(0) + load(1024) + store(4)), ElementsAre("4", "4"));
  EXPECT_THAT(stores(store(0) + store(4) + store(8, "%r3") + store(12)), ElementsAre("8!", "4", "4"));
  EXPECT_THAT(
      stores(store(0) + "setp.eq.u32 %p1, %r3, %r1;\n@%p1 bra ON;\nst.global.u32 [%rd1], %r3;\nON:\n" + store(4)),
      ElementsAre("4", "4"));
}

// ---- Atomics -------------------------------------------------------------------------------------------------------

TEST(Merge, AWarpsUpdatesOfOneWordAreGathered) {
  for (const std::string op : {"add.u32", "min.s32", "max.u32", "and.b32", "or.b32", "xor.b32"})
    EXPECT_THAT(atomics("red.global." + op + " [%rd1], %r1;\n"), ElementsAre("4!")) << op;
  EXPECT_THAT(atomics("atom.global.add.u32 %r8, [%rd1], %r1;\n"), ElementsAre("4!")) << "nobody reads the result";
  EXPECT_THAT(atomics("red.global.inc.u32 [%rd1], -1;\n"), ElementsAre("4!"));
  EXPECT_THAT(atomics("red.global.add.u64 [%rd1], 10;\n"), ElementsAre("8!"));
  EXPECT_THAT(atomics("red.shared.add.u32 [s], %r1;\n"), ElementsAre("4!"));
}

TEST(Merge, WhatTheChipCannotGatherIsNot) {
  for (const std::string all :
       {"red.global.inc.u32 [%rd1], 17;", "red.global.dec.u32 [%rd1], 17;", "red.global.add.f32 [%rd1], 0f3F800000;"})
    EXPECT_THAT(atomics(all), ElementsAre("4")) << all;
  EXPECT_THAT(atomics("cvt.u64.u32 %rd3, %r1;\nred.global.add.u64 [%rd1], %rd3;\n"), ElementsAre("8"));
  EXPECT_THAT(atomics("red.global.max.u64 [%rd1], 4;\n"), ElementsAre("8"));
  EXPECT_THAT(atomics("red.shared.add.u32 [s], 1;\n"), ElementsAre("4")) << "lanes are counted by the memory itself";
}

TEST(Merge, AResultIsForeseenWhereEveryLaneAddsTheSame) {
  const std::string read = "st.global.u32 [%rd1+8], %r8;\n";
  EXPECT_THAT(atomics("atom.global.add.u32 %r8, [%rd1], 10;\n" + read), ElementsAre("4!"));
  EXPECT_THAT(atomics("atom.global.add.u32 %r8, [%rd1], %r3;\n" + read), ElementsAre("4!"));
  EXPECT_THAT(atomics("atom.global.add.u32 %r8, [%rd1], %r1;\n" + read), ElementsAre("4"));
  EXPECT_THAT(atomics("atom.global.max.s32 %r8, [%rd1], 10;\n" + read), ElementsAre("4"));
  EXPECT_THAT(atomics("atom.global.exch.b32 %r8, [%rd1], 10;\n" + read), ElementsAre("4"));
}

TEST(Merge, TheAddressMustNotComeFromThreadNumbers) {
  const auto at = [](const std::string& index) {
    return atomics(index + "mul.wide.u32 %rd3, %r8, 4;\nadd.s64 %rd4, %rd1, %rd3;\nred.global.add.u32 [%rd4], %r1;\n");
  };
  EXPECT_THAT(at("mov.u32 %r8, %ctaid.x;\n"), ElementsAre("4!"));
  EXPECT_THAT(at("ld.global.u32 %r8, [%rd1];\n"), ElementsAre("4!"));
  EXPECT_THAT(at("shr.u32 %r8, %r1, 5;\n"), ElementsAre("4")) << "one word a warp, which the assembler cannot know";
  EXPECT_THAT(at("mov.u32 %r8, %tid.y;\n"), ElementsAre("4"));
  EXPECT_THAT(at("mov.u32 %r8, 0;\nsetp.lt.u32 %p1, %r1, 7;\n@%p1 bra ON;\nmov.u32 %r8, 1;\nON:\n"), ElementsAre("4"));
}

TEST(Merge, NothingToMergeChangesNothing) {
  const std::unique_ptr<Decoded> p = merged(load(0) + store(1024));
  for (const Instruction& i : p->code) EXPECT_NE(i.kind, Kind::request);
  for (const Site& s : p->sites) EXPECT_FALSE(s.merged);
}

}  // namespace
}  // namespace coalesce::machine
