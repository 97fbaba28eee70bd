// Decoding of small PTX: blocks and where lanes meet again, regions, liveness, sites, calls. Lane classes:
// lanes_test.cpp. Nothing is executed here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "machine/execute/launch.h"
#include "tests/machine/program/decoded.h"

namespace coalesce::machine {
namespace {

// ---- Graph -------------------------------------------------------------------------------------------------------

TEST(Decode, IfElseMeetsAfterBothSides) {
  const Case c = decoded(
      "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 7;\n@%p1 bra A;\nmov.u32 %r2, 1;\nbra.uni B;\nA:\n"
      "mov.u32 %r2, 2;\nB:\nst.shared.u32 [buffer], %r2;");
  EXPECT_EQ(c.block(1).first, 0u);
  EXPECT_EQ(c.block_index(1), c.block_index(3));
  EXPECT_EQ(c.block(3).next, c.block_index(4));
  EXPECT_EQ(c.block(3).taken, c.block_index(7));
  EXPECT_EQ(c.block(3).reconverge, c.block_index(9));
  EXPECT_TRUE(c.block(3).divergent_branch);
  EXPECT_FALSE(c.block(3).divergent);
  EXPECT_TRUE(c.block(4).divergent);
  EXPECT_TRUE(c.block(7).divergent);
  EXPECT_FALSE(c.block(9).divergent);
  EXPECT_EQ(c.block(4).next, c.block_index(9));
  EXPECT_EQ(c.block(3).instructions, 3u);
  EXPECT_EQ(c.block(4).instructions, 2u);
  EXPECT_EQ(c.block(7).instructions, 1u);
  EXPECT_EQ(c.block(9).instructions, 2u);  // and ret
}

TEST(Decode, BranchOnWhatAllThreadsOfABlockAgreeOnDividesNobody) {
  const Case c = decoded(
      "ld.param.u32 %r1, [n];\nmov.u32 %r2, %ctaid.x;\nsetp.lt.u32 %p1, %r2, %r1;\n@%p1 bra A;\nmov.u32 %r3, 1;\nA:\n"
      "st.shared.u32 [buffer], %r2;");
  EXPECT_FALSE(c.block(4).divergent_branch);
  EXPECT_FALSE(c.block(5).divergent);
  EXPECT_EQ(c.block(4).reconverge, c.block_index(7));
}

TEST(Decode, LoopMeetsAtItsExit) {
  const Case c = decoded(
      "mov.u32 %r1, %tid.x;\nLOOP:\nadd.u32 %r1, %r1, 8;\nsetp.lt.u32 %p1, %r1, 100;\n@%p1 bra LOOP;\n"
      "st.shared.u32 [buffer], %r1;");
  EXPECT_EQ(c.block(5).taken, c.block_index(3));
  EXPECT_EQ(c.block(5).reconverge, c.block_index(6));
  EXPECT_TRUE(c.block(5).divergent_branch);
  EXPECT_TRUE(c.block(5).divergent);  // lanes that have left are elsewhere
  EXPECT_FALSE(c.block(6).divergent);
}

// `if (i >= n) return;`: those who stay are all there are, and stay in lockstep.
TEST(Decode, EarlyReturnKeepsTheRestTogether) {
  const Case c = decoded(
      "ld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\nsetp.ge.u32 %p1, %r2, %r1;\n@%p1 bra END;\nbar.sync 0;\n"
      "st.shared.u32 [buffer], %r2;\nEND:");
  EXPECT_TRUE(c.block(4).divergent_branch);
  EXPECT_FALSE(c.block(5).divergent);
  EXPECT_FALSE(c.block(6).divergent);
}

// `if (i >= n) { ...; return; }`: the same.
TEST(Decode, ASideThatLeavesKeepsTheRestTogether) {
  const Case c = decoded(
      "ld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\nsetp.ge.u32 %p1, %r2, %r1;\n@%p1 bra OUT;\nbar.sync 0;\n"
      "st.shared.u32 [buffer], %r2;\nret;\nOUT:\nst.shared.u32 [buffer+4], %r2;");
  EXPECT_TRUE(c.block(4).divergent_branch);
  EXPECT_FALSE(c.block(5).divergent);
  EXPECT_FALSE(c.block(6).divergent);
  EXPECT_TRUE(c.block(9).divergent);
}

TEST(Decode, BranchTableHasAllItsTargets) {
  const Case c = decoded(
      "mov.u32 %r1, %tid.x;\nand.b32 %r2, %r1, 1;\nT: .branchtargets A, B;\nbrx.idx %r2, T;\nA:\nmov.u32 %r3, 1;\n"
      "bra.uni E;\nB:\nmov.u32 %r3, 2;\nE:\nst.shared.u32 [buffer], %r3;");
  const std::vector<uint32_t> wanted{c.block_index(6), c.block_index(9)};
  EXPECT_EQ(c.block(4).table, wanted);
  EXPECT_EQ(c.block(4).reconverge, c.block_index(11));
  EXPECT_TRUE(c.block(4).divergent_branch);
}

TEST(Decode, BarriersAndWaitingInstructionsBoundBlocks) {
  const Case c = decoded(
      "mov.u32 %r1, %tid.x;\nbar.sync 0;\nmov.u32 %r2, %laneid;\nshfl.sync.bfly.b32 %r3, %r2, 1, 31, -1;\n"
      "st.shared.u32 [buffer], %r3;");
  EXPECT_EQ(c.block_index(1), c.block_index(2));
  EXPECT_NE(c.block_index(2), c.block_index(3));
  EXPECT_NE(c.block_index(3), c.block_index(4));
  EXPECT_TRUE(c.block(4).waits);
  EXPECT_FALSE(c.block(3).waits);
}

// ---- Liveness, hoisting, regions ---------------------------------------------------------------------------------

TEST(Decode, Liveness) {
  const Case c = decoded(
      "ld.param.u32 %r1, [n];\nadd.u32 %r2, %r1, 1;\nadd.u32 %r3, %r2, 1;\nmov.u64 %rd1, 5;\nbar.sync 0;\n"
      "add.u32 %r4, %r3, 7;\nst.shared.u32 [buffer], %r4;\nst.shared.u64 [buffer], %rd1;");
  const auto index = [&](uint32_t n) { return c.line(n).results[0]; };
  std::vector<uint32_t> wanted{index(3), index(4)};
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(c.block(6).live_in, wanted);
  EXPECT_TRUE(c.result(2).block_local);
  EXPECT_FALSE(c.result(3).block_local);
  EXPECT_TRUE(c.result(6).block_local);
  EXPECT_EQ(c.result(2).definitions, 1u);
  EXPECT_EQ(c.p->live_registers, 3u);  // 32 and 64 bits
}

// A guarded definition leaves the other lanes' value: it is needed before.
TEST(Decode, GuardedDefinitionKeepsTheOldValueAlive) {
  const Case c = decoded(
      "ld.param.u32 %r1, [n];\nmov.u32 %r2, %r1;\nsetp.lt.u32 %p1, %r1, 4;\nbar.sync 0;\n@%p1 mov.u32 %r2, 9;\n"
      "st.shared.u32 [buffer], %r2;");
  const auto& live = c.block(5).live_in;
  EXPECT_TRUE(std::binary_search(live.begin(), live.end(), c.line(2).results[0]));
  EXPECT_TRUE(std::binary_search(live.begin(), live.end(), c.line(3).results[0]));
}

TEST(Decode, Hoistable) {
  const Case c = decoded(
      "ld.param.u32 %r1, [n];\nmov.u32 %r2, %ctaid.x;\nadd.u32 %r3, %r1, %r2;\nmov.u32 %r4, %tid.x;\n"
      "add.u32 %r5, %r4, 1;\nmov.u32 %r6, %warpid;\nadd.u32 %r7, %r6, 1;\nsetp.lt.u32 %p1, %r1, %r2;\n"
      "@%p1 add.u32 %r8, %r1, 1;\nld.shared.u32 %r9, [buffer];");
  EXPECT_TRUE(hoistable(*c.p, c.line(3)));
  EXPECT_FALSE(hoistable(*c.p, c.line(5)));
  EXPECT_FALSE(hoistable(*c.p, c.line(7)));
  EXPECT_TRUE(hoistable(*c.p, c.line(8)));
  EXPECT_FALSE(hoistable(*c.p, c.line(9)));
  EXPECT_FALSE(hoistable(*c.p, c.line(10)));
}

// `for (s = n; ...; s >>= 1) { use(s); }` in one block: hoisting the new s would overwrite what warps still read.
TEST(Decode, RegionIsCutBetweenUseAndIncrease) {
  const Case c = decoded(
      "ld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\nLOOP:\nadd.u32 %r3, %r2, %r1;\nst.shared.u32 [buffer], %r3;\n"
      "shr.u32 %r1, %r1, 1;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra LOOP;");
  EXPECT_LE(c.result(6).lanes, LaneClass::block_uniform);
  ASSERT_TRUE(hoistable(*c.p, c.line(6)));
  EXPECT_NE(c.block_index(5), c.block_index(6));
  EXPECT_NE(c.p->region_of[c.block_index(6)], kNone);  // a region begins there
  EXPECT_EQ(c.block(4).instructions + c.block(6).instructions, 5u);
  EXPECT_EQ(c.block(4).next, c.block_index(6));
}

TEST(Decode, NoCutWhereNothingIsOverwritten) {
  const Case c = decoded(
      "ld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\nadd.u32 %r3, %r2, %r1;\nadd.u32 %r4, %r1, 1;\n"
      "add.u32 %r5, %r3, %r4;\nst.shared.u32 [buffer], %r5;");
  EXPECT_EQ(c.block_index(1), c.block_index(6));
  EXPECT_EQ(c.p->regions.size(), 1u);
}

TEST(Decode, RegionsEndAtBarriersAndHoldDivergentBlocks) {
  const Case c = decoded(
      "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 7;\n@%p1 bra A;\nst.shared.u32 [buffer], %r1;\nA:\n"
      "st.shared.u32 [buffer+4], %r1;\nbar.sync 0;\nst.shared.u32 [buffer+8], %r1;");
  EXPECT_EQ(c.p->region_of[0], 0u);
  const std::vector<uint32_t> chain{c.block_index(1), c.block_index(6)};
  EXPECT_EQ(c.p->regions[0].chain, chain);
  EXPECT_EQ(c.p->region_of[c.block_index(4)], kNone);
  ASSERT_NE(c.p->region_of[c.block_index(8)], kNone);
  EXPECT_EQ(c.p->regions[c.p->region_of[c.block_index(8)]].chain, std::vector<uint32_t>{c.block_index(8)});
  EXPECT_FALSE(c.p->needs_general_mode);
}

// ---- Memory and sites --------------------------------------------------------------------------------------------

TEST(Decode, SitesAndDescriptors) {
  const Case c = decoded(
      "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 3;\nld.global.v4.u32 {%r2, %r3, %r4, "
      "%r5}, [%rd1+16];\n"
      "@%p1 st.shared.u16 [buffer+2], %r1;\nld.u32 %r6, [%rd1];\nld.volatile.global.s8 %r7, [%rd1];\n"
      "st.local.u64 [own], %rd1;");
  ASSERT_EQ(c.p->sites.size(), 1u + 1 + 3 + 1 + 1);
  const MemoryOp& vector = c.memory(4);
  EXPECT_EQ(vector.space, AddressSpace::global);
  EXPECT_EQ(vector.width, 4);
  EXPECT_EQ(vector.count, 4);
  EXPECT_EQ(vector.bytes(), 16u);
  EXPECT_EQ(vector.offset, 16);
  EXPECT_EQ(c.p->sites[vector.site].bytes, 16);
  EXPECT_FALSE(c.p->sites[vector.site].dynamic_requests);
  const MemoryOp& guarded = c.memory(5);
  EXPECT_EQ(guarded.space, AddressSpace::shared);
  EXPECT_EQ(guarded.width, 2);
  EXPECT_TRUE(c.p->sites[guarded.site].dynamic_requests);
  EXPECT_EQ(c.p->sites[guarded.site].kind, Kind::store);
  const MemoryOp& generic = c.memory(6);
  EXPECT_EQ(generic.space, AddressSpace::generic);
  const AddressSpace three[] = {AddressSpace::global, AddressSpace::shared, AddressSpace::local};
  for (uint32_t k = 0; k < 3; ++k) {
    EXPECT_EQ(c.p->sites[generic.site + k].space, three[k]);
    EXPECT_TRUE(c.p->sites[generic.site + k].dynamic_requests);
  }
  const MemoryOp& narrow = c.memory(7);
  EXPECT_TRUE(narrow.sign_extend);
  EXPECT_TRUE(narrow.is_volatile);
  EXPECT_EQ(narrow.width, 1);
  EXPECT_EQ(c.memory(8).space, AddressSpace::local);
  EXPECT_EQ(c.p->local_bytes, 64u);
  EXPECT_EQ(c.p->static_shared_bytes, 1024u);
}

// Each array is listed once, however often it is used.
TEST(Decode, ArraysAreListedOnce) {
  const Case c = decoded(
      ".shared .align 4 .b8 other[64];\nmov.u32 %r1, %tid.x;\nst.shared.u32 [buffer], %r1;\n"
      "st.shared.u32 [other+4], %r1;\nst.local.u32 [own], %r1;\nst.shared.u32 [buffer+8], %r1;\n"
      "st.local.u32 [own+4], %r1;\nst.shared.u32 [other], %r1;\n");
  std::vector<std::string> names;
  for (const ArrayVariable& a : c.p->arrays) names.push_back(a.name);
  EXPECT_THAT(names, testing::ElementsAre("buffer", "other", "own"));
}

// A line of another file than the kernel's first is taken for inlined where that file's code was left.
TEST(Decode, LinesOfOtherFilesAreInlined) {
  const Case c = decoded(
      ".loc 1 5 1\nmov.u32 %r1, %tid.x;\n.loc 2 7 1\nadd.u32 %r2, %r1, 1;\n.loc 1 6 1\nst.shared.u32 [buffer], %r2;\n",
      {{128, 1, 1}, {1024, 1, 1}}, ".file 1 \"a.cu\"\n.file 2 \"b.h\"\n");
  const auto at = [&](uint32_t line) {
    return inlined_to(*c.p, static_cast<uint32_t>(&c.line(line) - c.p->code.data()));
  };
  EXPECT_TRUE(at(2).empty());
  ASSERT_EQ(at(4).size(), 1u);
  EXPECT_EQ(at(4)[0].file, "a.cu");
  EXPECT_EQ(at(4)[0].line, 5u);
  EXPECT_TRUE(at(6).empty());
}

TEST(Decode, AtomicsWhoseResultNobodyReadsAreReductions) {
  const Case c = decoded(
      ".reg .b16 %h<3>; ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\natom.global.add.u32 %r2, [%rd1], 1;\n"
      "atom.global.add.u32 %r3, [%rd1], 1;\natom.global.exch.b32 %r4, [%rd1], 1;\natom.global.cas.b32 %r5, [%rd1], 1, "
      "2;\n"
      "red.global.add.u32 [%rd1], 1;\natom.global.add.f32 %f1, [%rd1], 0f3F800000;\nst.shared.u32 [buffer], %r3;\n"
      "atom.global.add.noftz.f16 %h1, [%rd1], %h2;\natom.global.inc.u32 %r6, [%rd1], 3;");
  const auto returns = [&](uint32_t n) {
    EXPECT_EQ(c.p->sites[c.memory(n).site].returns, c.memory(n).returns) << "line " << n;
    return c.memory(n).returns;
  };
  EXPECT_FALSE(returns(3));
  EXPECT_TRUE(returns(4));
  EXPECT_TRUE(returns(5));
  EXPECT_TRUE(returns(6));
  EXPECT_FALSE(returns(7));
  EXPECT_FALSE(returns(8));
  EXPECT_TRUE(c.memory(8).ordered);  // rounding depends on the order of blocks
  EXPECT_TRUE(c.memory(10).ordered && c.memory(11).ordered);
  EXPECT_FALSE(c.memory(3).ordered);
  EXPECT_TRUE(c.memory(4).ordered);  // so do old values that are read
  EXPECT_TRUE(c.p->ordered_atomics);
}

TEST(Decode, UnknownInstructionsAreNoErrorHere) {
  const Case c = decoded("mov.u32 %r1, %tid.x;\nfrobnicate.u32 %r2, %r1;");
  EXPECT_EQ(c.line(2).kind, Kind::unknown);
}

// ---- Calls -------------------------------------------------------------------------------------------------------

const std::string kCall =
    "{\n.param .b32 a;\nst.param.b32 [a], %r1;\n.param .b32 v;\ncall.uni (v), twice, (a);\nld.param.b32 %r2, [v];\n}\n"
    "st.shared.u32 [buffer], %r2;";

// Forward declarations are what a call before its function needs in PTX; ours come first only for the parser's sake.
std::string function_twice(const std::string& body) {
  return ".func (.param .b32 result) twice(.param .b32 x)\n{\n.reg .b32 %r<8>;\n.reg .pred %p<4>;\nld.param.b32 %r1, "
         "[x];\n" +
         body + "st.param.b32 [result], %r2;\nret;\n}\n";
}

uint32_t count(const Case& c, Kind kind) {
  return static_cast<uint32_t>(
      std::count_if(c.p->code.begin(), c.p->code.end(), [&](const Instruction& i) { return i.kind == kind; }));
}

TEST(Decode, CallsAreInlined) {
  const Case c =
      decoded("mov.u32 %r1, %tid.x;\n" + kCall, {{128, 1, 1}, {1, 1, 1}}, function_twice("add.u32 %r2, %r1, %r1;\n"));
  EXPECT_FALSE(c.p->has_calls);
  EXPECT_EQ(count(c, Kind::function_call), 0u);
  EXPECT_EQ(count(c, Kind::unknown), 0u);
  // The function's values keep their class across the call.
  bool found = false;
  for (const Instruction& i : c.p->code)
    if (i.pure && i.pure->mnemonic.starts_with("add") && c.p->registers[i.results[0]].stride == 2) found = true;
  EXPECT_TRUE(found);
}

TEST(Decode, RecursiveCallsAreInstances) {
  const std::string itself =
      "mov.u32 %r2, 1;\nsetp.le.u32 %p1, %r1, 1;\n@%p1 bra DONE;\nsub.u32 %r3, %r1, 1;\n{\n.param .b32 a;\n"
      "st.param.b32 [a], %r3;\n.param .b32 v;\ncall.uni (v), twice, (a);\nld.param.b32 %r2, [v];\n}\nDONE:\n";
  const Case c = decoded("mov.u32 %r1, %tid.x;\n" + kCall, {{128, 1, 1}, {1, 1, 1}}, function_twice(itself));
  EXPECT_TRUE(c.p->has_calls);
  EXPECT_TRUE(c.p->needs_general_mode);
  // The first level is inlined, its call goes to the instance, and the instance calls itself.
  EXPECT_EQ(count(c, Kind::function_call), 2u);
  uint32_t target = kNone;
  for (const Instruction& i : c.p->code)
    if (i.kind == Kind::function_call) {
      EXPECT_TRUE(target == kNone || target == i.target);
      target = i.target;
      EXPECT_FALSE(i.targets.empty());  // the register of the result
    }
  ASSERT_LT(target, c.p->blocks.size());
  EXPECT_GE(count(c, Kind::function_return), 1u);
  for (const Instruction& i : c.p->code)
    if (i.kind == Kind::function_return) EXPECT_EQ(i.sources.size(), 1u) << "the result, which the caller reads";
  for (const BasicBlock& b : c.p->blocks) EXPECT_TRUE(b.divergent || !b.reachable);
}

// A call through a pointer considers the functions whose address is taken and whose parameters fit, no others.
TEST(Decode, PointerCallsHaveTheirCandidates) {
  const auto function = [](const std::string& name, const std::string& type, const std::string& constant) {
    return ".func (.param .b32 result) " + name + "(.param ." + type + " x)\n{\n.reg .b32 %r<4>;\nmov.u32 %r1, " +
           constant + ";\nst.param.b32 [result], %r1;\nret;\n}\n";
  };
  const Case c = decoded(
      "mov.u32 %r1, %tid.x;\nmov.u64 %rd1, one;\nmov.u64 %rd2, two;\nmov.u64 %rd3, wide;\nsetp.lt.u32 %p1, %r1, 5;\n"
      "selp.b64 %rd4, %rd1, %rd2, %p1;\n{\n.param .b32 a;\nst.param.b32 [a], %r1;\n.param .b32 v;\n"
      "P: .callprototype (.param .b32 _) _ (.param .b32 _);\ncall (v), %rd4, (a), P;\nld.param.b32 %r2, [v];\n}\n"
      "st.shared.u32 [buffer], %r2;",
      {{32, 1, 1}, {1, 1, 1}},
      function("one", "b32", "101") + function("two", "b32", "102") + function("wide", "b64", "103") +
          function("never_taken", "b32", "104"));
  const auto holds = [&](uint64_t constant) {
    return std::any_of(c.p->code.begin(), c.p->code.end(), [&](const Instruction& i) {
      return !i.sources.empty() && i.sources[0].is_constant() && i.sources[0].bits == constant;
    });
  };
  EXPECT_TRUE(holds(101));
  EXPECT_TRUE(holds(102));
  EXPECT_FALSE(holds(103));
  EXPECT_FALSE(holds(104));
  EXPECT_EQ(count(c, Kind::unknown), 1u);  // reached when the pointer is none of them
}

TEST(Decode, ParameterOffsetsAreNaturallyAligned) {
  const ptx::Module module = ptx::parse(
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u8 a, .param .u64 b, .param .u16 c, "
      ".param .align 16 .b8 d[20], .param .u32 e)\n{\nret;\n}\n",
      "parameters.ptx");
  uint32_t total = 0;
  const std::vector<uint32_t> wanted{0, 8, 16, 32, 52};
  EXPECT_EQ(parameter_offsets(module.functions[0], &total), wanted);
  EXPECT_EQ(total, 56u);
}

}  // namespace
}  // namespace coalesce::machine
