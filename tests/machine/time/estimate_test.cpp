// Estimates of kernels whose time can be said beforehand from the device's limits.
#include "machine/time/estimate.h"

#include <gtest/gtest.h>

#include "machine/time/caches.h"
#include "tests/machine/time/estimated.h"

namespace coalesce::machine {
namespace {

// A value of the kernel that the result depends on, stored by thread 0.
const std::string kStoreF = "ld.param.u64 %rd1, [p];\nst.global.f32 [%rd1], %f1;\n";

TEST(Estimate, AChainOfAdditionsTakesItsLatency) {
  constexpr uint32_t kSteps = 4000;
  const std::string body = ".reg .f32 %f<2>; .reg .b64 %rd<2>;\nmov.f32 %f1, 0f3F800000;\n" +
                           chain("add.f32 %f1, %f1, %f1;\n", kSteps) + kStoreF;
  const Ran r = run(body, 1, 32, 64);
  ASSERT_EQ(r.time.none, "");
  const double least = us_of(kSteps * limits().lat_fp32.value);
  EXPECT_GE(r.time.us - limits().launch_us.value, least);
  // A store and the start of a block take less than a thousand cycles.
  EXPECT_LE(r.time.us - limits().launch_us.value, least + us_of(1000));
  EXPECT_EQ(r.time.bound_by, BoundBy::latency);
}

TEST(Estimate, RegistersOfPtxasReplaceThoseOfLiveness) {
  Options options;
  options.time = true;
  Machine machine(*find_device("h100"), options);
  const auto estimate = [&](MachineCodes known) {
    const auto program = machine.load(kFirst + kHead + "ret;\n}\n", "test");
    program->know_machine_code(std::move(known));
    LaunchConfig config;
    config.block = {1024, 1, 1};
    config.parameters.resize(8);
    return *machine.launch(*program, "kernel", config).time;
  };
  EXPECT_FALSE(estimate({{"another", {64}}}).registers_known);
  const TimeEstimate e = estimate({{"kernel", {64, 512}}});
  EXPECT_TRUE(e.registers_known);
  EXPECT_EQ(e.registers, 64u);
  EXPECT_EQ(e.resident_blocks, 1u);  // 65,536 registers of a multiprocessor hold one block of 1024 threads
  // The whole code is read, in pieces of 256 bytes.
  const auto read = [&](uint32_t bytes) { return estimate({{"kernel", {64, bytes}}}).dram_read_bytes; };
  EXPECT_EQ(read(10000) - read(512), 10240u - 512u);
}

// ptxas branches around a rare case of an exact root, so that the next does not begin before; an approximate one has
// none.
TEST(Estimate, AWarpWaitsForEachExactRoot) {
  constexpr uint32_t kRoots = 500;
  const auto cycles = [](const std::string& root) {
    const std::string body = ".reg .f32 %f<3>; .reg .b64 %rd<2>;\nmov.f32 %f1, 0f3F800000;\n" +
                             chain(root + " %f2, %f1;\n", kRoots) + kStoreF;
    return (run(body, 1, 32, 64).time.us - limits().launch_us.value) / us_of(kRoots);
  };
  EXPECT_NEAR(cycles("sqrt.rn.f32"), 56, 6);  // gpu/limits: a chain of roots
  EXPECT_LT(cycles("sqrt.approx.f32"), 10);
}

TEST(Estimate, ManyWarpsHideIt) {
  constexpr uint32_t kSteps = 1000;
  const std::string body = ".reg .f32 %f<2>; .reg .b64 %rd<2>;\nmov.f32 %f1, 0f3F800000;\n" +
                           chain("add.f32 %f1, %f1, %f1;\n", kSteps) + kStoreF;
  const Ran r = run(body, 132 * 2, 1024, 64);
  // 64 warps of a multiprocessor, all of them issued by its units for f32.
  const double least = us_of(64 * kSteps / limits().fp32.value);
  EXPECT_GE(r.time.us - limits().launch_us.value, least);
  EXPECT_LE(r.time.us - limits().launch_us.value, 1.3 * least);
  EXPECT_EQ(r.time.bound_by, BoundBy::issue);
}

// Each thread loads 16 bytes: nothing can be faster than DRAM, and enough is in flight to come near it.
TEST(Estimate, AStreamTakesDramsBandwidth) {
  constexpr uint32_t kBlocks = 4096, kThreads = 1024;
  constexpr uint64_t kBytes = uint64_t{kBlocks} * kThreads * 16;
  const std::string body =
      ".reg .b32 %r<9>; .reg .b64 %rd<4>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\n"
      "mov.u32 %r3, %tid.x;\nmad.lo.s32 %r4, %r1, %r2, %r3;\nmul.wide.u32 %rd2, %r4, 16;\nadd.s64 %rd3, %rd1, %rd2;\n"
      "ld.global.v4.u32 {%r5,%r6,%r7,%r8}, [%rd3];\n";
  const Ran r = run(body, kBlocks, kThreads, kBytes);
  const double least = static_cast<double>(kBytes) / limits().dram_read_gbs.value / 1e3;
  EXPECT_GE(r.time.us - limits().launch_us.value,
            0.95 * least);  // the watched blocks are whole waves, the launch is not
  EXPECT_LE(r.time.us - limits().launch_us.value, 1.4 * least);
  EXPECT_EQ(r.time.bound_by, BoundBy::dram);
  EXPECT_NEAR(static_cast<double>(r.time.dram_read_bytes), static_cast<double>(kBytes),
              0.02 * static_cast<double>(kBytes));
  EXPECT_LT(static_cast<double>(r.time.dram_write_bytes), 0.05 * limits().l2_bytes.value);  // what lay there before
  EXPECT_EQ(r.time.l1_hit_sectors, 0u);
}

// Each thread has one load of 4 bytes in flight: an H100 takes 472 ns a turn where a turn of few threads takes 384
// (gpu/limits: bandwidth of 2048 and of 32 threads a multiprocessor). Of many turns, as lines are near or far by
// chance.
TEST(Estimate, ALoadTakesLongerWhereDramIsBusy) {
  constexpr uint32_t kThreads = 256, kSteps = 256;
  const auto a_step = [](uint32_t blocks) {
    const uint64_t stride = uint64_t{blocks} * kThreads * 4;
    const std::string body =
        ".reg .b32 %r<6>; .reg .b64 %rd<5>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\n"
        "mov.u32 %r3, %tid.x;\nmad.lo.s32 %r4, %r1, %r2, %r3;\nmul.wide.u32 %rd2, %r4, 4;\nadd.s64 %rd3, %rd1, "
        "%rd2;\n" +
        chain("ld.global.u32 %r5, [%rd3];\nmad.wide.u32 %rd3, %r5, 4, %rd3;\nadd.s64 %rd3, %rd3, " +
                  std::to_string(stride) + ";\n",
              kSteps);
    return (run(body, blocks, kThreads, stride * kSteps).time.us - limits().launch_us.value) / kSteps * 1e3;
  };
  EXPECT_NEAR(a_step(132 * 8) / a_step(8), 472.0 / 384, 0.08);
}

// A thread walks over lines and loads two sectors of each, one after the other: DRAM gives half a line.
TEST(Estimate, TheOtherSectorOfAHalfIsInL2) {
  constexpr uint32_t kLines = 64;
  const auto cycles = [](uint32_t second) {
    const std::string body =
        ".reg .b32 %r<3>; .reg .b64 %rd<3>;\nld.param.u64 %rd1, [p];\n" +
        chain("ld.global.u32 %r1, [%rd1];\nmad.wide.u32 %rd1, %r1, 4, %rd1;\nld.global.u32 %r1, [%rd1+" +
                  std::to_string(32 * second) + "];\nmad.wide.u32 %rd1, %r1, 4, %rd1;\nadd.s64 %rd1, %rd1, 128;\n",
              kLines);
    return (run(body, 1, 1, kLines * 128).time.us - limits().launch_us.value) / us_of(kLines);
  };
  EXPECT_NEAR(cycles(2) - cycles(1), limits().lat_dram.value - limits().lat_l2.value, 20);
}

TEST(Estimate, WhatIsLoadedAgainHitsInL1) {
  const std::string body =
      ".reg .b32 %r<4>; .reg .b64 %rd<4>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\n"
      "add.s64 %rd3, %rd1, %rd2;\nld.global.u32 %r2, [%rd3];\nld.global.u32 %r3, [%rd3];\n";
  const Ran r = run(body, 1, 32, 4096);
  EXPECT_EQ(r.report.counters.global_load_sectors, 8u);
  EXPECT_EQ(r.time.l1_hit_sectors, 4u);
  // The bytes that an empty kernel reads, some instructions of 16 bytes, and the line.
  EXPECT_GE(r.time.dram_read_bytes, 2560 + 128u);
  EXPECT_LE(r.time.dram_read_bytes, 2560 + 128u + 16 * 8);
}

// The estimate is the same for any number of host threads, and nothing that is counted depends on it.
TEST(Estimate, ChangesNoCounter) {
  const std::string body =
      ".reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .pred %p<2>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %ctaid.x;\n"
      "mov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\nmad.lo.s32 %r4, %r1, %r2, %r3;\nmul.wide.u32 %rd2, %r4, 4;\n"
      "add.s64 %rd3, %rd1, %rd2;\nld.global.u32 %r5, [%rd3];\nsetp.lt.u32 %p1, %r3, 40;\n@%p1 bra L;\n"
      "add.s32 %r5, %r5, 1;\nL:\nbar.sync 0;\nst.global.u32 [%rd3], %r5;\n";
  const Ran one = run(body, 1000, 96, 1000 * 96 * 4, 1), four = run(body, 1000, 96, 1000 * 96 * 4, 4);
  const Ran without = run(body, 1000, 96, 1000 * 96 * 4, 4, false);
  EXPECT_EQ(one.time.us, four.time.us);
  EXPECT_EQ(one.time.l2_hit_sectors, four.time.l2_hit_sectors);
  EXPECT_TRUE(one.report.counters == without.report.counters);
  EXPECT_TRUE(four.report.counters == without.report.counters);
  EXPECT_EQ(one.report.tally, without.report.tally);
  EXPECT_EQ(without.report.time, nullptr);
}

TEST(Estimate, SaysWhyThereIsNone) {
  EXPECT_EQ(run("", 1, 32, 64, 1, true, "t4").time.none, "no limits of Tesla T4 are known");
}

TEST(Limits, HaveASourceAndAValue) {
  for (const Limits* l : known_limits()) {
    ASSERT_NE(find_device(l->device), nullptr) << l->device;
    for (const LimitRow& row : limit_rows()) {
      EXPECT_GT((l->*row.field).value, 0) << l->device << ' ' << row.name;
      EXPECT_NE((l->*row.field).source, "") << l->device << ' ' << row.name;
    }
  }
}

// Against a list that is kept in the order of use, one set.
TEST(SectorCache, ForgetsWhatWasUsedLongestAgo) {
  constexpr uint32_t kWays = 4;
  SectorCache cache(kWays * 128, kWays);
  std::vector<std::pair<uint64_t, uint32_t>> used;  // the last one first
  uint64_t random = 1;
  for (int k = 0; k < 20000; ++k) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const uint64_t line = random >> 60 & 7;
    const auto sectors = static_cast<uint32_t>(random >> 40 & 15);
    uint32_t there = 0;
    auto at = used.begin();
    while (at != used.end() && at->first != line) ++at;
    uint32_t held = sectors;
    if (at != used.end()) {
      there = at->second & sectors;
      held |= at->second;
      used.erase(at);
    }
    used.insert(used.begin(), {line, held});
    if (used.size() > kWays) used.pop_back();
    ASSERT_EQ(cache.access(line, sectors), there) << k;
  }
}

}  // namespace
}  // namespace coalesce::machine
