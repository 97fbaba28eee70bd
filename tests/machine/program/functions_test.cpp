// Calls as decoding sees them: aliases, wrong ones, the device's runtime, the stack; clusters of one block; what arrays
// and joined accesses are told; blocks of matrix instructions.
#include <gtest/gtest.h>

#include "machine/program/merge.h"
#include "tests/machine/program/decoded.h"

namespace coalesce::machine {
namespace {

uint32_t count_of(const Case& c, Kind kind) {
  return static_cast<uint32_t>(
      std::count_if(c.p->code.begin(), c.p->code.end(), [&](const Instruction& i) { return i.kind == kind; }));
}
std::string unknown_of(const Case& c) {
  for (const Instruction& i : c.p->code)
    if (i.kind == Kind::unknown) return i.text;
  return "";
}

TEST(Functions, AnAliasIsTheFunctionThatItNames) {
  const Case c =
      decoded("call.uni g, ();", {},
              ".func f()\n{\nbar.warp.sync -1;\nret;\n}\n.func h()\n{\ntrap;\nret;\n}\n.func g();\n.alias g, f;\n");
  EXPECT_EQ(unknown_of(c), "");
  EXPECT_EQ(count_of(c, Kind::warp_barrier), 1u);
  EXPECT_EQ(count_of(c, Kind::trap), 0u);
}

TEST(Functions, WrongCallsAreNamed) {
  const std::string one = ".func f(.param .b32 x)\n{\nret;\n}\n";
  try {
    decoded("call.uni f, ();", {}, one);
    FAIL() << "a call without its argument";
  } catch (const Error& e) {
    EXPECT_NE(e.diagnostic.message.find("wrong number of arguments"), std::string::npos) << e.diagnostic.message;
    EXPECT_EQ(e.diagnostic.kernel, "k");
    EXPECT_EQ(e.diagnostic.ptx_line, kBefore + 1);
  }
  for (const auto& [name, runtime] : {std::pair{"__cudaCDP2GetLastSomething", true},
                                      {"cudaLaunchDeviceSomehow", true},
                                      {"cudaGetParameterBufferSomehow", true},
                                      {"somebody", false}}) {
    const std::string said = unknown_of(
        decoded("call.uni " + std::string(name) + ", ();", {}, ".extern .func " + std::string(name) + "();\n"));
    EXPECT_EQ(said.find("the device's runtime has no") == 0, runtime) << said;
    EXPECT_EQ(said.find("which the program does not define") != std::string::npos, !runtime) << said;
    EXPECT_NE(said.find(name), std::string::npos) << said;
  }
}

// The register of the stack is there only where alloca is.
TEST(Functions, TheStackIsSavedAndRestored) {
  for (const auto& [type, to] : {std::pair{"u64", "%rd2"}, {"u32", "%r2"}}) {
    const std::string body = "stacksave." + std::string(type) + " " + to + ";\nstackrestore." + type + " " + to + ";";
    const Case c = decoded("alloca." + std::string(type) + " " + (to[2] == 'd' ? "%rd1" : "%r1") + ", 8;\n" + body);
    EXPECT_EQ(unknown_of(c), "") << type;
    const uint32_t pointer = c.p->code.front().results[0];
    uint32_t read = 0, written = 0;
    for (std::size_t k = 1; k < c.p->code.size(); ++k) {
      const Instruction& i = c.p->code[k];
      if (i.ptx_line < kBefore + 2 || !i.pure) continue;
      read += i.sources[0].is_reg() && i.sources[0].reg == pointer;
      written += i.results[0] == pointer;
    }
    EXPECT_EQ(read, 1u) << type;
    EXPECT_EQ(written, 1u) << type;
    EXPECT_NE(unknown_of(decoded(body)), "") << "nothing takes memory from the stack";
    EXPECT_NE(unknown_of(decoded("alloca.u64 %rd1, 8;\n@%p1 stackrestore.u64 %rd2;")), "");
  }
}

TEST(Functions, ClustersSayWhetherTheyAre) {
  for (const uint32_t blocks : {1u, 2u})
    for (const std::size_t axis : {0u, 1u, 2u}) {
      LaunchShape shape{{32, 1, 1}, {8, 8, 8}};
      shape.cluster[axis] = blocks;
      const Case c = decoded("mov.pred %p1, %is_explicit_cluster;", shape);
      EXPECT_EQ(c.line(1).sources[0].bits != 0, blocks > 1);
    }
}

TEST(Functions, ArraysKnowWhereTheyLie) {
  const Case c =
      decoded(".local .align 4 .b8 second[20];\nmov.u32 %r1, buffer;\nmov.u64 %rd1, own;\nmov.u64 %rd2, second;");
  struct Row {
    uint32_t line;
    AddressSpace space;
    uint32_t offset;
    uint64_t size;
  };
  for (const Row& row : {Row{2, AddressSpace::shared, 0, 1024}, Row{3, AddressSpace::local, 0, 64},
                         Row{4, AddressSpace::local, 64, 20}}) {
    const ArrayVariable& a = c.p->arrays.at(c.line(row.line).sources[0].array);
    EXPECT_EQ(a.space, row.space) << row.line;
    EXPECT_EQ(a.offset, row.offset) << row.line;
    EXPECT_EQ(a.size, row.size) << row.line;
  }
}

// The first of the accesses stands for all; the window may begin before it.
TEST(Functions, JoinedAccessesKnowTheirWindow) {
  for (const int first : {0, 4, 8, 12}) {
    std::string text =
        "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 4;\nld.shared.u32 %r3, [%r2+" + std::to_string(first) + "];\n";
    for (int at = 0; at < 16; at += 4)
      if (at != first)
        text += "ld.shared.u32 %r" + std::to_string(4 + at / 4) + ", [%r2+" + std::to_string(at) + "];\n";
    const Case c = decoded(text);
    const std::vector<JoinedAccess> joined = joined_accesses(*c.p);
    ASSERT_EQ(joined.size(), 1u);
    EXPECT_EQ(joined[0].moved, -first);
    EXPECT_EQ(joined[0].bytes, 16u);
    EXPECT_EQ(joined[0].members.size(), 4u);
    EXPECT_EQ(&c.p->code[joined[0].members[0]], &c.line(3));
  }
}

// A request stands before the first of its accesses, under that one's guard, and asks for the window.
TEST(Functions, RequestsAreThoseOfTheirFirstAccess) {
  for (const std::string guard : {"", "@%p1 ", "@!%p1 "}) {
    const Case c = decoded("mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 4;\nsetp.lt.u32 %p1, %r1, 7;\n" + guard +
                           "ld.shared.u32 %r3, [%r2+4];\n" + guard + "ld.shared.u32 %r4, [%r2];\n");
    merge_as_ptxas(*c.p);
    const Instruction* found = nullptr;
    for (const Instruction& i : c.p->code)
      if (i.kind == Kind::request) found = &i;
    ASSERT_NE(found, nullptr) << guard;
    EXPECT_EQ(found + 1, &c.line(4)) << guard;
    EXPECT_EQ(found->guard, c.line(4).guard) << guard;
    EXPECT_EQ(found->guard_negated, guard == "@!%p1 ") << guard;
    EXPECT_EQ(found->ptx_line, kBefore + 4) << guard;
    const MemoryOp& m = c.p->memory[found->memory];
    EXPECT_EQ(m.space, AddressSpace::shared);
    EXPECT_EQ(m.offset, 0);
    EXPECT_EQ(m.bytes(), 8u);
    EXPECT_EQ(m.address.reg, c.memory(4).address.reg);
    EXPECT_TRUE(c.p->sites[m.site].dynamic_requests);
    for (const uint32_t line : {4u, 5u}) EXPECT_TRUE(c.p->sites[c.memory(line).site].merged);
    for (std::size_t s = 0; s < c.p->sites.size(); ++s)
      EXPECT_EQ(c.p->memory[c.p->code[c.p->sites[s].instruction].memory].site, s);
  }
}

// Lanes that have met are together until the block ends, so matrix instructions that follow one another share one.
TEST(Functions, MatrixInstructionsThatFollowOneAnotherAreOneBlock) {
  const std::string row = "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;\n";
  const auto blocks = [](const std::string& text) {
    const Case c = decoded(text);
    std::vector<std::size_t> meetings;
    for (const BasicBlock& b : c.p->blocks) {
      std::size_t n = 0;
      for (uint32_t k = b.first; k < b.last; ++k) n += c.p->code[k].kind == Kind::collective;
      if (n) {
        meetings.push_back(n);
        EXPECT_EQ(c.p->code[b.first].kind, Kind::collective);
        EXPECT_TRUE(b.waits);
      }
    }
    return meetings;
  };
  using Numbers = std::vector<std::size_t>;
  EXPECT_EQ(blocks(row), (Numbers{1}));
  EXPECT_EQ(blocks("add.u32 %r2, %r3, 1;\n" + row + row + row), (Numbers{3}));
  EXPECT_EQ(blocks(row + "add.u32 %r2, %r1, 1;\n" + row), (Numbers{2}));
  EXPECT_EQ(blocks(row + "bar.sync 0;\n" + row), (Numbers{1, 1}));
  EXPECT_EQ(blocks(row + "shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;\n" + row), (Numbers{1, 1}));
  EXPECT_EQ(blocks(row + "setp.lt.u32 %p1, %r1, 5;\n@%p1 bra L;\nL:\n" + row + row), (Numbers{1, 2}));
  EXPECT_EQ(blocks("@%p1 " + row + "@%p1 " + row), (Numbers{1, 1})) << "only some lanes come";
}

}  // namespace
}  // namespace coalesce::machine
