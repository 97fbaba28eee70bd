// Instructions that the decoder composes or carries out by other means: set, setp of pairs, lop3 with a boolean
// operation, cp.async, atomics on vectors; and that what is not supported says so, only when it is reached.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <string>

#include "machine/api/machine.h"

namespace coalesce::machine {
namespace {

struct Ran {
  LaunchReport report;
  std::vector<uint32_t> memory;
};

// Runs `body` on one warp. %rd1: memory of 1024 words, word i holds `initial(i)`; %r1: the lane; %rd2: its word's
// address.
Ran run(const std::string& body, const std::vector<uint32_t>& initial, uint32_t threads = 32) {
  const std::string text = R"(
.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
  .shared .align 16 .b8 s[4096];
  .reg .pred %p<10>;
  .reg .b16 %h<10>;
  .reg .b32 %r<40>;
  .reg .b64 %rd<20>;
  .reg .b128 %q<4>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd2, %rd1, %rd2;
)" + body + "  ret;\n}\n";
  Machine machine(*find_device("h200"), {.threads = 1, .progress = {}, .output = {}});
  const auto program = machine.load(text, "test");
  const Allocation* memory = machine.memory().allocate(4096, Origin::device, "memory");
  Ran ran;
  ran.memory = initial;
  ran.memory.resize(1024);
  std::memcpy(reinterpret_cast<void*>(memory->base), ran.memory.data(), 4096);
  LaunchConfig config{.grid = {1, 1, 1}, .block = {threads, 1, 1}, .parameters = std::vector<uint8_t>(8)};
  std::memcpy(config.parameters.data(), &memory->base, 8);
  ran.report = machine.launch(*program, "k", config);
  std::memcpy(ran.memory.data(), reinterpret_cast<const void*>(memory->base), 4096);
  return ran;
}
// Lane i's result of `body`, which leaves it in %r2.
std::vector<uint32_t> results(const std::string& body, const std::vector<uint32_t>& initial = {}) {
  Ran ran = run(body + "  st.global.u32 [%rd2], %r2;\n", initial);
  EXPECT_EQ(ran.report.fault, Fault::none) << (ran.report.diagnostics.empty() ? "" : ran.report.diagnostics[0].message);
  ran.memory.resize(32);
  return ran.memory;
}

TEST(Breadth, SetInEveryForm) {
  const std::string odd = "  and.b32 %r3, %r1, 1;\n  setp.ne.u32 %p1, %r3, 0;\n";
  const struct {
    std::string code;
    uint32_t less, other;  // for lanes below 7, and the others
  } forms[] = {{"set.lt.u32.u32 %r2, %r1, 7;", ~0u, 0},
               {"set.lt.f32.s32 %r2, %r1, 7;", 0x3f800000, 0},
               {"set.lt.u16.u32 %h1, %r1, 7; cvt.u32.u16 %r2, %h1;", 0xffff, 0},
               {"set.lt.f16.u32 %h1, %r1, 7; cvt.u32.u16 %r2, %h1;", 0x3c00, 0},
               {"cvt.rn.f16.u32 %h2, %r1; set.lt.bf16.f16 %h1, %h2, 0x4700; cvt.u32.u16 %r2, %h1;", 0x3f80, 0},
               {"cvt.rn.f16.u32 %h2, %r1; set.lt.s32.f16 %r2, %h2, 0x4700;", ~0u, 0}};
  for (const auto& f : forms) {
    SCOPED_TRACE(f.code);
    const auto got = results("  " + f.code + "\n");
    for (uint32_t i = 0; i < 32; ++i) ASSERT_EQ(got[i], i < 7 ? f.less : f.other) << i;
  }
  const auto joined = results(odd + "  set.lt.xor.u32.s32 %r2, %r1, 7, %p1;\n");
  const auto negated = results(odd + "  set.lt.and.u32.s32 %r2, %r1, 7, !%p1;\n");
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(joined[i], (i < 7) != (i % 2 == 1) ? ~0u : 0u) << i;
    EXPECT_EQ(negated[i], i < 7 && i % 2 == 0 ? ~0u : 0u) << i;
  }
}

TEST(Breadth, PairsCompareHalfByHalf) {
  // low half: the lane as a half, high half: 16 minus it
  const std::string pair = R"(
  cvt.rn.f16.u32 %h1, %r1;
  sub.s32 %r3, 16, %r1;
  cvt.rn.f16.s32 %h2, %r3;
  mov.b32 %r4, {%h1, %h2};
  mov.b32 %r5, 0x47004700;  // 7, 7
  and.b32 %r6, %r1, 1;
  setp.ne.u32 %p3, %r6, 0;
)";
  const auto set = results(pair + "  set.lt.or.f16x2.f16x2 %r2, %r4, %r5, %p3;\n");
  const auto setp = results(pair + R"(
  setp.lt.and.f16x2 %p1|%p2, %r4, %r5, %p3;
  selp.u32 %r7, 1, 0, %p1;
  selp.u32 %r8, 2, 0, %p2;
  or.b32 %r2, %r7, %r8;
)");
  for (uint32_t i = 0; i < 32; ++i) {
    const bool odd = i % 2 == 1, low = i < 7, high = 16 - static_cast<int>(i) < 7;
    EXPECT_EQ(set[i], (low || odd ? 0x3c00u : 0u) | (high || odd ? 0x3c000000u : 0u)) << i;
    EXPECT_EQ(setp[i], (low && odd ? 1u : 0u) | (high && odd ? 2u : 0u)) << i;
  }
}

TEST(Breadth, Lop3WithABooleanOperation) {
  const auto got = results(R"(
  setp.gt.u32 %p2, %r1, 15;
  lop3.or.b32 %r3|%p1, %r1, 3, 0, 0xc0, %p2;  // d = lane & 3
  lop3.and.b32 _|%p3, %r1, 3, 0, 0xc0, !%p2;
  selp.u32 %r4, 0x100, 0, %p1;
  selp.u32 %r5, 0x200, 0, %p3;
  or.b32 %r2, %r3, %r4;
  or.b32 %r2, %r2, %r5;
)");
  for (uint32_t i = 0; i < 32; ++i) {
    const bool some = (i & 3) != 0;
    EXPECT_EQ(got[i], (i & 3) | (some || i > 15 ? 0x100u : 0u) | (some && i <= 15 ? 0x200u : 0u)) << i;
  }
}

std::vector<uint32_t> counting() {
  std::vector<uint32_t> v(1024);
  for (uint32_t i = 0; i < v.size(); ++i) v[i] = 0x01010101u * (i & 0x3f) + 0x80000000u;
  return v;
}

TEST(Breadth, AsyncCopies) {
  const std::string where = R"(
  shl.b32 %r3, %r1, 4;
  mov.u32 %r4, s;
  add.u32 %r4, %r4, %r3;
  mul.wide.u32 %rd3, %r1, 16;
  add.u64 %rd3, %rd1, %rd3;
)";
  const std::string back = R"(
  cp.async.commit_group;
  cp.async.wait_group 0;
  ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r4];
  st.global.v4.b32 [%rd3 + 2048], {%r10, %r11, %r12, %r13};
)";
  const auto in = counting();
  const auto expect = [&](const std::string& copy, auto bytes_of_lane, const char* what) {
    SCOPED_TRACE(what);
    const Ran ran = run(where + copy + back, in);
    ASSERT_EQ(ran.report.fault, Fault::none);
    for (uint32_t lane = 0; lane < 32; ++lane) {
      uint8_t want[16] = {};
      std::memcpy(want, &in[4 * lane], bytes_of_lane(lane));
      EXPECT_EQ(std::memcmp(want, &ran.memory[512 + 4 * lane], 16), 0) << lane;
    }
  };
  expect("  cp.async.cg.shared.global [%r4], [%rd3], 16;\n", [](uint32_t) { return 16u; }, "whole");
  expect("  cp.async.ca.shared.global.L2::128B [%r4], [%rd3], 16, 5;\n", [](uint32_t) { return 5u; }, "five bytes");
  expect(
      "  min.u32 %r5, %r1, 16;\n  cp.async.ca.shared.global [%r4], [%rd3], 16, %r5;\n",
      [](uint32_t lane) { return std::min(lane, 16u); }, "as many as the lane's number");
  expect(
      "  setp.lt.u32 %p1, %r1, 9;\n  cp.async.cg.shared.global [%r4], [%rd3], 16, %p1;\n",
      [](uint32_t lane) { return lane < 9 ? 0u : 16u; }, "ignored source");
  expect(
      "  setp.lt.u32 %p1, %r1, 9;\n  st.shared.v4.b32 [%r4], {0, 0, 0, 0};\n"
      "  @!%p1 cp.async.cg.shared.global.L2::cache_hint [%r4], [%rd3], 16, %rd3;\n",
      [](uint32_t lane) { return lane < 9 ? 0u : 16u; }, "guarded");
  // Counted as a load of global memory and a store to shared memory; what is ignored is not read.
  const Ran whole = run(where + "  cp.async.cg.shared.global [%r4], [%rd3], 16;\n", in);
  EXPECT_EQ(whole.report.counters.global_load_requests, 1u);
  EXPECT_EQ(whole.report.counters.global_load_sectors, 16u);
  EXPECT_EQ(whole.report.counters.shared_store_requests, 1u);
  EXPECT_EQ(whole.report.counters.shared_store_wavefronts, 4u);
  const Ran none = run(where + "  cp.async.cg.shared.global [%r4], [%rd3], 16, 0;\n", in);
  EXPECT_EQ(none.report.counters.global_load_requests, 0u);
  EXPECT_EQ(none.report.counters.global_load_sectors, 0u);
  EXPECT_EQ(none.report.counters.shared_store_requests, 1u);
}

TEST(Breadth, VectorAtomics) {
  std::vector<uint32_t> in(1024, std::bit_cast<uint32_t>(1.0f));
  const std::string where = "  cvt.rn.f32.u32 %r2, %r1;\n  mul.wide.u32 %rd3, %r1, 16;\n  add.u64 %rd3, %rd1, %rd3;\n";
  const Ran apart = run(where + "  red.global.add.v4.f32 [%rd3], {%r2, 0f40000000, %r2, 0f3F800000};\n", in);
  ASSERT_EQ(apart.report.fault, Fault::none);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const float x = static_cast<float>(lane) + 1;
    const float want[4] = {x, 3, x, 2};
    // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): bit by bit is what is meant
    EXPECT_EQ(std::memcmp(want, &apart.memory[4 * lane], 16), 0) << lane;
  }
  EXPECT_EQ(apart.report.counters.global_reduction_requests, 1u);  // as measured: tests/truth/atomics.jsonl
  EXPECT_EQ(apart.report.counters.global_reduction_sectors, 16u);
  // All on one place, old values read: lane order.
  const Ran same =
      run("  atom.global.add.v2.f32 {%r3, %r4}, [%rd1 + 256], {0f3F800000, 0f40000000};\n"
          "  cvt.rzi.u32.f32 %r3, %r3;\n  st.global.u32 [%rd2], %r3;\n",
          in);
  ASSERT_EQ(same.report.fault, Fault::none);
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(same.memory[lane], lane + 1);
  EXPECT_EQ(same.memory[64], std::bit_cast<uint32_t>(33.0f));
  EXPECT_EQ(same.memory[65], std::bit_cast<uint32_t>(65.0f));
  EXPECT_EQ(same.report.counters.global_atomic_requests, 1u);
  EXPECT_EQ(same.report.counters.global_atomic_sectors, 32u);
}

TEST(Breadth, AtomicsOfOtherTypes) {
  const Ran ran = run(R"(
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra END;
  mov.b16 %h1, 0x3c00;
  red.global.add.noftz.f16 [%rd1], %h1;              // a half at byte 0
  atom.global.cas.b16 %h2, [%rd1 + 2], 5, 9;         // holds 5
  atom.global.add.noftz.bf16x2 %r3, [%rd1 + 4], 0x3f803f80;
  mov.b64 %rd5, 7;
  mov.b128 %q0, {%rd5, %rd1};
  atom.global.exch.b128 %q1, [%rd1 + 16], %q0;
  mov.b128 {%rd6, %rd7}, %q1;
  st.global.u64 [%rd1 + 32], %rd6;
  red.global.add.f32 [%rd1 + 40], 0f00000001;        // subnormal: flushed in global memory ...
  st.shared.u32 [s], 0;
  red.shared.add.f32 [s], 0f00000001;                // ... kept in shared memory
  ld.shared.u32 %r4, [s];
  st.global.u32 [%rd1 + 44], %r4;
END:
)",
                      {0x00053c00, 0x40003f80, 0, 0, 11, 12, 13, 14, 0, 0, 0});
  ASSERT_EQ(ran.report.fault, Fault::none) << ran.report.diagnostics[0].message;
  EXPECT_EQ(ran.memory[0], 0x00094000u);
  EXPECT_EQ(ran.memory[1], 0x40404000u);
  EXPECT_EQ(ran.memory[4], 7u);
  EXPECT_EQ(ran.memory[8], 11u);
  EXPECT_EQ(ran.memory[9], 12u);
  EXPECT_EQ(ran.memory[10], 0u);
  EXPECT_EQ(ran.memory[11], 1u);
}

// One of each: decoded, and reached without a fault.
TEST(Breadth, KnownInstructions) {
  for (const char* code : {"ld.global.L1::evict_last.L2::cache_hint.u32 %r2, [%rd2], %rd1;",
                           "ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1];",
                           "ldu.global.u32 %r2, [%rd2];",
                           "st.global.L2::cache_hint.u32 [%rd2], %r1, %rd1;",
                           "ld.relaxed.gpu.global.u32 %r2, [%rd2];",
                           "ld.mmio.relaxed.sys.global.u32 %r2, [%rd2];",
                           "st.release.sys.global.u32 [%rd2], %r1;",
                           "atom.global.add.L2::cache_hint.u32 %r2, [%rd2], %r1, %rd1;",
                           "atom.acq_rel.gpu.global.cas.b64 %rd4, [%rd1], 0, 1;",
                           "createpolicy.fractional.L2::evict_last.b64 %rd4, 1.0;",
                           "prefetch.global.L2::evict_last [%rd1];",
                           "prefetchu.L1 [%rd1];",
                           "applypriority.global.L2::evict_normal [%rd1], 128;",
                           "discard.global.L2 [%rd1 + 512], 128;",
                           "nanosleep.u32 20;",
                           "membar.gl;",
                           "fence.acq_rel.gpu;",
                           "fence.proxy.async;",
                           "pmevent 7;",
                           "elect.sync _|%p1, -1;",
                           "elect.sync %r2|%p1, -1;",
                           "redux.sync.or.b32 %r2, %r1, -1;",
                           "bar.warp.sync -1;",
                           "bar.red.popc.u32 %r2, 0, %p1;",
                           "barrier.cta.red.and.aligned.pred %p2, 0, 32, !%p1;",
                           "barrier.sync 0;",
                           "bar.arrive 1, 64;",
                           "vote.sync.ballot.b32 %r2, %p1, -1;",
                           "vote.ballot.b32 %r2, %p1;",
                           "vote.all.pred %p2, %p1;",
                           "shfl.idx.b32 %r2|%p1, %r1, 3, 31;",
                           "shfl.sync.down.b32 %r2, %r1, 1, 31, -1;",
                           "match.any.sync.b64 %r2, %rd1, -1;",
                           "isspacep.param::entry %p1, %rd1;",
                           "isspacep.shared::cta %p1, %rd1;",
                           "isspacep.shared::cluster %p1, %rd1;",
                           "mov.u32 %r2, %globaltimer_hi;",
                           "mov.u32 %r2, %clock_hi;",
                           "isspacep.global %p1, %rd1;",
                           "mov.u32 %r2, %reserved_smem_offset_begin;",
                           "mov.u32 %r2, %aggr_smem_size;",
                           "mov.u32 %r2, %cluster_ctarank;",
                           "mov.u32 %r2, %clusterid.x;",
                           "mov.u32 %r2, %nwarpid;",
                           "mov.u32 %r2, %envreg3;",
                           "mov.u64 %rd4, %current_graph_exec;",
                           "mov.b32 {%h1, _}, %r1;",
                           "setp.lt.s32 _|%p1, %r1, 3;",
                           "setp.lt.s32 %p1|_, %r1, 3;",
                           "min.f32 %r2, %r1, %r1, %r1;",
                           "cvt.rna.tf32.f32 %r2, %r1;",
                           "cvt.rn.satfinite.e4m3x2.f32 %h1, %r1, %r1;",
                           "cvt.pack.sat.u8.s32.b32 %r2, %r1, %r1, 0;",
                           "vadd4.u32.u32.u32.sat %r2, %r1, %r1, 0;",
                           "cp.async.wait_all;",
                           "setmaxnreg.inc.sync.aligned.u32 64;",
                           "griddepcontrol.wait;"}) {
    SCOPED_TRACE(code);
    const Ran ran = run("  setp.gt.u32 %p1, %r1, 3;\n  " + std::string(code) + "\n", {});
    EXPECT_EQ(ran.report.fault, Fault::none)
        << (ran.report.diagnostics.empty() ? "" : ran.report.diagnostics[0].message);
  }
}

TEST(Breadth, WhatIsNotSupportedSaysSoWhenReached) {
  for (const char* code : {"multimem.st.global.f32 [%rd1], %r1;", "stacksave.u64 %rd4;",
                           "multimem.ld_reduce.global.add.f32 %r2, [%rd1];"}) {
    SCOPED_TRACE(code);
    const Ran reached = run("  " + std::string(code) + "\n", {});
    EXPECT_EQ(reached.report.fault, Fault::illegal_instruction);
    ASSERT_FALSE(reached.report.diagnostics.empty());
    EXPECT_NE(reached.report.diagnostics[0].message.find("not supported by this machine"), std::string::npos)
        << reached.report.diagnostics[0].message;
    const Ran passed = run("  setp.gt.u32 %p1, %r1, 99;\n  @!%p1 bra OVER;\n  " + std::string(code) + "\nOVER:\n", {});
    EXPECT_EQ(passed.report.fault, Fault::none);
  }
}

}  // namespace
}  // namespace coalesce::machine
