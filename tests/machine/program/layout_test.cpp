// Where variables lie: local arrays of kernels, functions and their instances, alloca's stack, parameters in memory.
#include <gtest/gtest.h>

#include "machine/memory/memory.h"
#include "tests/machine/program/decoded.h"

namespace coalesce::machine {
namespace {

constexpr uint32_t kOwn = 64;  // bytes of local memory that every test kernel has (decoded.h)

// The first place from `at` on that is aligned so.
uint32_t aligned(uint32_t at, uint32_t alignment) {
  while (at % alignment != 0) ++at;
  return at;
}

std::string array(const std::string& name, uint32_t alignment, uint32_t bytes) {
  return ".local .align " + std::to_string(alignment) + " .b8 " + name + "[" + std::to_string(bytes) + "];\n";
}

TEST(Layout, LocalArraysFollowOneAnother) {
  for (const uint32_t alignment : {1u, 2u, 4u, 8u, 16u, 64u})
    for (const uint32_t bytes : {1u, 3u, 8u, 17u}) {
      const Case c = decoded(array("a", 1, bytes) + array("b", alignment, 5) + ".local .b64 c;\n" +
                             "ld.local.u8 %r1, [own];\nld.local.u8 %r1, [a];\nld.local.u8 %r1, [b+2];\n"
                             "ld.local.u64 %rd1, [c];");
      const uint32_t b = aligned(kOwn + bytes, alignment), last = aligned(b + 5, 8);
      EXPECT_EQ(c.memory(4).offset, 0);
      EXPECT_EQ(c.memory(5).offset, kOwn);
      EXPECT_EQ(c.memory(6).offset, b + 2);
      EXPECT_EQ(c.memory(7).offset, last);
      EXPECT_EQ(c.p->local_bytes, last + 8);
    }
}

// f(x), with a local array of its own, that calls itself or not.
std::string function(const std::string& name, uint32_t bytes, const std::string& body) {
  return ".func (.param .b32 result) " + name + "(.param .b32 x)\n{\n.reg .b32 %r<4>;\n" + array("inner", 1, bytes) +
         "ld.param.b32 %r1, [x];\nst.local.u8 [inner], %r1;\n" + body + "st.param.b32 [result], %r1;\nret;\n}\n";
}
std::string call(const std::string& name) {
  return "{\n.param .b32 a;\nst.param.b32 [a], %r1;\n.param .b32 v;\ncall.uni (v), " + name +
         ", (a);\nld.param.b32 %r1, [v];\n}\n";
}

TEST(Layout, AnInlinedFunctionsArraysFollowTheKernels) {
  for (const uint32_t bytes : {1u, 16u, 33u}) {
    const Case c = decoded(call("f") + call("f"), {}, function("f", bytes, ""));
    std::vector<int64_t> offsets;
    for (const MemoryOp& m : c.p->memory)
      if (m.space == AddressSpace::local) offsets.push_back(m.offset);
    EXPECT_EQ(offsets, (std::vector<int64_t>{kOwn, kOwn + bytes}));
    EXPECT_EQ(c.p->local_bytes, kOwn + 2 * bytes);
  }
}

// Each instance's local memory begins behind its caller's, at a multiple of 16.
TEST(Layout, FramesOfInstances) {
  for (const uint32_t bytes : {1u, 15u, 16u, 17u, 100u}) {
    LaunchShape shape;
    const Case c = decoded(call("f"), shape, function("f", bytes, call("f")));
    std::vector<uint64_t> from_kernel, from_instance;
    for (std::size_t k = 1; k < c.p->code.size(); ++k) {
      if (c.p->code[k].kind != Kind::function_call) continue;
      const Instruction& frame = c.p->code[k - 1];
      ASSERT_TRUE(frame.pure && frame.pure->mnemonic == "add.s64");
      ASSERT_TRUE(frame.sources[1].is_constant());
      EXPECT_EQ(frame.results[0], c.p->code[k].sources.back().reg) << "the callee reads it";
      (frame.sources[0].is_reg() ? from_instance : from_kernel).push_back(frame.sources[1].bits);
      if (frame.sources[0].is_constant()) EXPECT_EQ(frame.sources[0].bits, 0u);
    }
    // The first level is inlined into the kernel, with its array.
    EXPECT_EQ(from_kernel, std::vector<uint64_t>{aligned(kOwn + bytes, 16)});
    EXPECT_EQ(from_instance, std::vector<uint64_t>{aligned(bytes, 16)});
    EXPECT_EQ(c.p->local_bytes, kOwn + bytes + shape.stack_bytes);
  }
}

TEST(Layout, TheStackBeginsBehindLocalMemory) {
  for (const uint32_t bytes : {1u, 15u, 16u, 17u}) {
    LaunchShape shape;
    const Case c = decoded(array("a", 1, bytes) + "alloca.u64 %rd1, 8;\nst.local.u8 [a], %r1;", shape);
    const Instruction& first = c.p->code.front();
    ASSERT_TRUE(first.pure && first.pure->mnemonic == "mov.b64");
    EXPECT_EQ(first.sources[0].bits, aligned(kOwn + bytes, 16));
    EXPECT_EQ(c.p->local_bytes, aligned(kOwn + bytes, 16) + shape.stack_bytes);
  }
}

// A parameter whose address is taken, at a multiple of 16.
TEST(Layout, ParametersInMemory) {
  for (const uint32_t bytes : {1u, 16u, 17u}) {
    const Case c = decoded(array("a", 1, bytes) + "mov.u32 %r1, %tid.x;\n" +
                               "{\n.param .align 4 .b8 s[20];\nst.param.b32 [s+4], %r1;\ncall.uni pick, (s);\n}",
                           {},
                           ".func pick(.param .align 4 .b8 t[20])\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n"
                           "mov.b64 %rd1, t;\nld.param.b32 %r1, [%rd1];\nst.shared.u32 [0], %r1;\nret;\n}\n");
    const MemoryOp* store = nullptr;
    for (const Instruction& i : c.p->code)
      if (i.kind == Kind::store && c.p->memory[i.memory].space == AddressSpace::local) store = &c.p->memory[i.memory];
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(store->offset, aligned(kOwn + bytes, 16) + 4);
    EXPECT_EQ(c.p->local_bytes, aligned(kOwn + bytes, 16) + 20);
  }
}

// Shared variables: the kernel's, the module's, those of functions; then dynamic ones, at the largest of their
// alignments and 16.
TEST(Layout, SharedVariables) {
  for (const uint32_t alignment : {1u, 4u, 16u, 64u}) {
    const std::string by = std::to_string(alignment);
    const Case c =
        decoded("st.shared.u8 [m+1], %r1;\nst.shared.u8 [d], %r1;\nst.shared.u8 [e], %r1;", {},
                ".shared .align 2 .b8 unnamed[999];\n.shared .align " + by +
                    " .b8 m[3];\n.extern .shared .align 4 .b8 d[];\n.extern .shared .align " + by + " .b8 e[];\n");
    const uint32_t m = aligned(1024, alignment), dynamic = aligned(m + 3, std::max(16u, alignment));
    EXPECT_EQ(c.memory(1).offset, m + 1);
    EXPECT_EQ(c.memory(2).offset, dynamic);
    EXPECT_EQ(c.memory(3).offset, dynamic);
    EXPECT_EQ(c.p->static_shared_bytes, dynamic);
    ASSERT_EQ(c.p->shared.size(), 4u);
    EXPECT_EQ(c.p->shared[1].name, "m");
    EXPECT_EQ(c.p->shared[1].offset, m);
    EXPECT_EQ(c.p->shared[1].size, 3u);
  }
  const Case none = decoded("st.shared.u8 [m], %r1;", {}, ".shared .align 1 .b8 m[3];\n");
  EXPECT_EQ(none.p->static_shared_bytes, 1027u);
}

// Branches that the text does not have: counters do not know them (mode 1).
TEST(Decode, BranchesOfOtherInstructionsAreNoneOfTheTexts) {
  const std::string guarded = ".func f()\n{\n.reg .pred %p<2>;\n@%p1 ret;\nbar.warp.sync -1;\nret;\n}\n";
  const std::string again = ".func f()\n{\n.reg .pred %p<2>;\ncall.uni f, ();\n@%p1 ret;\nbar.warp.sync -1;\nret;\n}\n";
  const std::string prototype = "P: .callprototype _ ();\n";
  for (const auto& [body, function] :
       {std::pair<std::string, std::string>{"barrier.cluster.arrive;\nbarrier.cluster.wait;", ""},
        {"call.uni f, ();", guarded},
        {"call.uni f, ();", again},
        {"mov.u64 %rd1, f;\n" + prototype + "call %rd1, (), P;", guarded}}) {
    const Case c = decoded(body, {{32, 1, 1}, {1, 1, 1}}, function);
    uint32_t branches = 0;
    for (const Instruction& i : c.p->code) {
      if (i.kind != Kind::branch) continue;
      ++branches;
      EXPECT_EQ(i.mode, 1) << body;
    }
    EXPECT_GE(branches, 1u) << body;
  }
}

// Windows of generic addresses, in kernels and in functions: these have their parameters in local memory.
TEST(Decode, ConversionsOfAddresses) {
  for (const bool in_function : {false, true})
    for (const bool to : {false, true})
      for (const auto& [space, kernels, functions] : {std::tuple{"shared", kSharedWindow, kSharedWindow},
                                                      {"local", kLocalWindow, kLocalWindow},
                                                      {"param", kParamWindow, kLocalWindow},
                                                      {"global", uint64_t{0}, uint64_t{0}},
                                                      {"const", uint64_t{0}, uint64_t{0}}}) {
        const std::string line = "cvta" + std::string(to ? ".to." : ".") + space + ".u64 %rd1, %rd2;\n";
        const Case c = in_function
                           ? decoded("call.uni f, ();", {}, ".func f()\n{\n.reg .b64 %rd<4>;\n" + line + "ret;\n}\n")
                           : decoded(line);
        const uint64_t window = in_function ? functions : kernels;
        const Instruction* found = nullptr;
        for (const Instruction& i : c.p->code)
          if (i.kind == Kind::pure) found = &i;
        ASSERT_NE(found, nullptr) << line;
        EXPECT_EQ(found->pure->mnemonic, window == 0 ? "mov.b64" : to ? "sub.s64" : "add.s64") << line;
        if (window != 0) EXPECT_EQ(found->sources[1].bits, window) << line;
      }
}

TEST(Decode, OperandsKnowTheVariablesThatTheyName) {
  const Case c = decoded("mov.u32 %r1, buffer;\nmov.u64 %rd1, own;\nadd.u32 %r2, %r1, 4;");
  const auto array = [&](uint32_t line) { return c.line(line).sources[0].array; };
  ASSERT_NE(array(1), kNone);
  ASSERT_NE(array(2), kNone);
  EXPECT_EQ(c.p->arrays[array(1)].name, "buffer");
  EXPECT_EQ(c.p->arrays[array(2)].name, "own");
  EXPECT_EQ(array(3), kNone);
}

}  // namespace
}  // namespace coalesce::machine
