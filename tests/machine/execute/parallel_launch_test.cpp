// Blocks of one launch on many threads: what they share is shared safely (ThreadSanitizer runs this too), and neither
// memory nor counters nor lines depend on the number of threads.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "machine/api/machine.h"
#include "machine/execute/native.h"

namespace coalesce::machine {
namespace {

// Every thread: a sector of its own, one count in a common word, a float into a common sum (whose order of addition
// decides its last bits), a histogram in shared memory; odd threads loop, even ones do not.
constexpr const char* kEverything = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry everything(.param .u64 p_out, .param .u64 p_common)
{
  .shared .align 4 .b32 bins[32];
  .reg .pred %p<4>;
  .reg .b32 %r<20>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<12>;
  ld.param.u64 %rd1, [p_out];
  ld.param.u64 %rd2, [p_common];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r4, %r2, %r3, %r1;
  and.b32 %r5, %r1, 31;
  shl.b32 %r6, %r5, 2;
  mov.u32 %r7, bins;
  add.u32 %r8, %r7, %r6;
  setp.ge.u32 %p1, %r1, 32;
  @%p1 bra CLEARED;
  st.shared.u32 [%r8], 0;
CLEARED:
  bar.sync 0;
  red.shared.add.u32 [%r8], %r4;
  mov.u32 %r9, 0;
  and.b32 %r10, %r1, 1;
  setp.eq.u32 %p2, %r10, 0;
  @%p2 bra SUMMED;
LOOP:
  add.u32 %r9, %r9, %r1;
  add.u32 %r10, %r10, 1;
  setp.lt.u32 %p3, %r10, 9;
  @%p3 bra LOOP;
SUMMED:
  bar.sync 0;
  ld.shared.u32 %r11, [%r8];
  add.u32 %r12, %r11, %r9;
  mul.wide.u32 %rd3, %r4, 4;
  add.u64 %rd4, %rd1, %rd3;
  st.global.u32 [%rd4], %r12;
  red.global.add.u32 [%rd2], 1;
  cvt.rn.f32.u32 %f1, %r4;
  add.f32 %f2, %f1, 0f3DCCCCCD;
  atom.global.add.f32 %f3, [%rd2+4], %f2;
  ret;
}
)";

struct Outcome {
  LaunchReport report;
  std::vector<uint32_t> memory;
};

Outcome run(unsigned threads, uint32_t blocks, uint32_t block) {
  Machine machine(*find_device("h200"), {.threads = threads, .progress = {}, .output = {}});
  const auto program = machine.load(kEverything, "test");
  const size_t n = size_t{blocks} * block;
  const Allocation* out = machine.memory().allocate(4 * n, Origin::device, "out");
  const Allocation* common = machine.memory().allocate(8, Origin::device, "common");
  LaunchConfig config{.grid = {blocks, 1, 1}, .block = {block, 1, 1}, .parameters = std::vector<uint8_t>(16)};
  std::memcpy(config.parameters.data(), &out->base, 8);
  std::memcpy(config.parameters.data() + 8, &common->base, 8);
  Outcome result;
  for (int again = 0; again < 3; ++again) result.report = machine.launch(*program, "everything", config);
  result.memory.resize(n + 2);
  std::memcpy(result.memory.data(), reinterpret_cast<const void*>(out->base), 4 * n);
  std::memcpy(result.memory.data() + n, reinterpret_cast<const void*>(common->base), 8);
  return result;
}

TEST(ParallelLaunch, DoesNotDependOnTheNumberOfThreads) {
  constexpr uint32_t kBlocks = 200, kBlock = 96, kLaunches = 3;
  const Outcome one = run(1, kBlocks, kBlock);
  ASSERT_EQ(one.report.fault, Fault::none);
  EXPECT_EQ(one.memory[size_t{kBlocks} * kBlock], kLaunches * kBlocks * kBlock) << "the common count";
  EXPECT_EQ(one.report.counters.global_store_sectors, kBlocks * kBlock / 8);
  EXPECT_EQ(one.report.counters.barriers, kBlocks * (kBlock / 32) * 2);
  for (const unsigned threads : {2u, 8u}) {
    const Outcome many = run(threads, kBlocks, kBlock);
    EXPECT_EQ(many.report.fault, Fault::none);
    EXPECT_EQ(many.memory, one.memory) << threads;
    EXPECT_TRUE(many.report.counters == one.report.counters) << threads;
    ASSERT_EQ(many.report.lines.size(), one.report.lines.size());
    for (size_t i = 0; i < one.report.lines.size(); ++i) {
      EXPECT_TRUE(many.report.lines[i].counters == one.report.lines[i].counters) << threads << ' ' << i;
    }
  }
}

// Throws when a thread asks for the `which`-th time, and never again.
class Throwing final : public NativeProvider {
 public:
  explicit Throwing(int which) : which_(which) {}
  std::shared_ptr<const NativeKernel> find(const Launch&) override {
    if (++asked_ == which_) throw std::bad_alloc();
    return nullptr;
  }

 private:
  const int which_;
  std::atomic<int> asked_{0};
};

// A thread that has no memory left runs no more blocks; those of others that wait for its blocks' turn must not wait
// for ever.
TEST(ParallelLaunch, WhatAThreadThrowsEndsTheLaunch) {
  constexpr uint32_t kBlocks = 200, kBlock = 96;
  for (const int which : {1, 2, 3, 9}) {
    Machine machine(*find_device("h200"),
                    {.threads = 2, .progress = {}, .output = {}, .native = std::make_shared<Throwing>(which)});
    const auto program = machine.load(kEverything, "test");
    const Allocation* out = machine.memory().allocate(4 * kBlocks * kBlock, Origin::device, "out");
    const Allocation* common = machine.memory().allocate(8, Origin::device, "common");
    LaunchConfig config{.grid = {kBlocks, 1, 1}, .block = {kBlock, 1, 1}, .parameters = std::vector<uint8_t>(16)};
    std::memcpy(config.parameters.data(), &out->base, 8);
    std::memcpy(config.parameters.data() + 8, &common->base, 8);
    EXPECT_THROW(machine.launch(*program, "everything", config), std::bad_alloc) << which;
    std::memset(reinterpret_cast<void*>(common->base), 0, 8);
    const LaunchReport after = machine.launch(*program, "everything", config);
    EXPECT_EQ(after.fault, Fault::none);
    EXPECT_EQ(*reinterpret_cast<const uint32_t*>(common->base), kBlocks * kBlock) << which;
  }
}

// Block 0 ends at once. The others poll for what never comes, and then store; a thread that has no memory left ends
// them.
TEST(ParallelLaunch, WhatAThreadThrowsEndsBlocksThatPoll) {
  Machine machine(*find_device("h200"),
                  {.threads = 2, .progress = {}, .output = {}, .native = std::make_shared<Throwing>(1)});
  const auto program = machine.load(
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg .pred %p<3>;\n"
      ".reg .b32 %r<5>;\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %ctaid.x;\n"
      "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra END;\nmov.u32 %r2, 0;\nL:\nld.volatile.global.u32 %r3, [%rd1];\n"
      "setp.ne.u32 %p2, %r3, 0;\n@%p2 bra END;\n"
      "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, 200000000;\n@%p2 bra L;\nst.global.u32 [%rd1+4], "
      "%r2;\nEND:\nret;\n}\n",
      "test");
  const Allocation* flag = machine.memory().allocate(8, Origin::device, "flag");
  std::memset(reinterpret_cast<void*>(flag->base), 0, 8);
  LaunchConfig config{.grid = {64, 1, 1}, .block = {32, 1, 1}, .parameters = std::vector<uint8_t>(8)};
  std::memcpy(config.parameters.data(), &flag->base, 8);
  EXPECT_THROW(machine.launch(*program, "k", config), std::bad_alloc);
  EXPECT_EQ(reinterpret_cast<const uint32_t*>(flag->base)[1], 0u);
}

}  // namespace
}  // namespace coalesce::machine
