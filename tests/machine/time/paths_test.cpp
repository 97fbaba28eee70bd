// Estimates of what takes a path of its own: blocks that differ, chains that overlap, constants, local and host memory.
#include <gtest/gtest.h>

#include "tests/machine/time/estimated.h"

namespace coalesce::machine {
namespace {

constexpr uint32_t kSteps = 1000;
const std::string kStore = "ld.param.u64 %rd1, [p];\nst.global.f32 [%rd1], %f1;\n";

double without_launch(const Ran& r) { return r.time.us - limits().launch_us.value; }

// The block that works is neither the first nor the last one, and all have a multiprocessor of their own.
TEST(Paths, TheBlockThatWorksLongestCounts) {
  const std::string body =
      ".reg .f32 %f<2>; .reg .b32 %r<2>; .reg .b64 %rd<2>; .reg .pred %p<2>;\nmov.u32 %r1, %ctaid.x;\n"
      "mov.f32 %f1, 0f3F800000;\nsetp.ne.u32 %p1, %r1, 57;\n@%p1 bra L;\n" +
      chain("add.f32 %f1, %f1, %f1;\n", kSteps) + kStore + "L:\n";
  const double least = us_of(kSteps * limits().lat_fp32.value);
  const Ran r = run(body, 132, 32, 64);
  EXPECT_GE(without_launch(r), least);
  EXPECT_LE(without_launch(r), least + us_of(2000));
}

// One after the other in the text; ptxas puts them side by side.
TEST(Paths, ChainsThatDoNotNeedEachOtherOverlap) {
  const std::string body = ".reg .f32 %f<3>; .reg .b64 %rd<2>;\nmov.f32 %f1, 0f3F800000;\nmov.f32 %f2, 0f3F800000;\n" +
                           chain("add.f32 %f1, %f1, %f1;\n", kSteps) + chain("add.f32 %f2, %f2, %f2;\n", kSteps) +
                           "add.f32 %f1, %f1, %f2;\n" + kStore;
  const double least = us_of(kSteps * limits().lat_fp32.value);
  const Ran r = run(body, 1, 32, 64);
  EXPECT_GE(without_launch(r), least);
  EXPECT_LE(without_launch(r), 1.2 * least + us_of(1000));
}

// Each step needs what the one before has loaded: zero.
double load_chain(const std::string& load) {
  const std::string body = ".reg .b64 %rd<4>;\nld.param.u64 %rd1, [p];\n" +
                           chain(load + " %rd2, [%rd1];\nadd.s64 %rd1, %rd1, %rd2;\n", kSteps) +
                           "st.global.u64 [%rd1], %rd2;\n";
  return without_launch(run(body, 1, 1, 64));
}

TEST(Paths, LoadsPastL1WaitForL2) {
  const double l1 = load_chain("ld.global.u64"), l2 = load_chain("ld.global.cg.u64");
  EXPECT_NEAR(l2 - l1, us_of(kSteps * (limits().lat_l2.value - limits().lat_l1.value)), us_of(500));
}

// 32 lanes that read different words of constant memory take 32 passes.
double constants(uint32_t apart) {
  const std::string body =
      ".reg .b32 %r<6>; .reg .b64 %rd<4>;\nmov.u32 %r1, %tid.x;\nand.b32 %r1, %r1, " + std::to_string(apart - 1) +
      ";\nmul.wide.u32 %rd1, %r1, 4;\nmov.u64 %rd2, table;\nadd.s64 %rd2, %rd2, %rd1;\nmov.u32 %r3, 0;\n" +
      chain("ld.const.u32 %r2, [%rd2];\nadd.u32 %r3, %r3, %r2;\n", 200) +
      "ld.param.u64 %rd3, [p];\nst.global.u32 [%rd3], %r3;\n";
  return without_launch(run(body, 132, 1024, 64, 2, true, "h100", Origin::heap, ".const .align 4 .b8 table[128];\n"));
}

TEST(Paths, ConstantsWhoseLanesDifferTakeTurns) {
  const double more = us_of(32 * 200 * 31 * limits().constant_cycles.value);
  EXPECT_NEAR(constants(32) - constants(1), more, 0.2 * more);
}

// Every thread reads a word of the host's memory: the link's bandwidth bounds it.
TEST(Paths, MemoryOfTheHostIsReadThroughTheLink) {
  constexpr uint32_t kBlocks = 1024, kThreads = 1024;
  constexpr uint64_t kBytes = uint64_t{kBlocks} * kThreads * 4;
  const std::string body =
      ".reg .b32 %r<6>; .reg .b64 %rd<4>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\n"
      "mov.u32 %r3, %tid.x;\nmad.lo.s32 %r4, %r1, %r2, %r3;\nmul.wide.u32 %rd2, %r4, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
      "ld.global.u32 %r5, [%rd3];\n";
  const Ran far = run(body, kBlocks, kThreads, kBytes, 2, true, "h100", Origin::host);
  const double least = static_cast<double>(kBytes) / limits().host_gbs.value / 1e3;
  EXPECT_GE(without_launch(far), 0.95 * least);
  EXPECT_LE(without_launch(far), 1.2 * least + us_of(2 * limits().lat_host.value));
  EXPECT_EQ(far.time.bound_by, BoundBy::host);
  EXPECT_LT(far.time.dram_read_bytes, 8192u);
  EXPECT_NE(run(body, kBlocks, kThreads, kBytes).time.bound_by, BoundBy::host);
}

// Stores to local memory go through to L2.
TEST(Paths, LocalStoresReachL2) {
  const std::string body =
      ".local .align 4 .b8 own[512];\n.reg .b32 %r<3>; .reg .b64 %rd<4>;\nmov.u64 %rd1, own;\n"
      "mov.u32 %r1, %tid.x;\n" +
      chain("st.local.u32 [%rd1], %r1;\n", 100);
  const Ran r = run(body, 132, 1024, 64);
  // 32 warps, four sectors a store.
  EXPECT_GE(without_launch(r), us_of(32 * 100 * 4 / limits().store_sectors.value));
  EXPECT_EQ(r.time.bound_by, BoundBy::l2);
}

}  // namespace
}  // namespace coalesce::machine
