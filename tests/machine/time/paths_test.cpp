// Estimates of what takes a path of its own: blocks that differ, chains that overlap, constants, local and host memory.
#include <gtest/gtest.h>

#include <functional>

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

// Four words that a thread reads from one window of 16 bytes of shared memory are one load of 16 bytes to ptxas,
// whether the program says so or not; words that lie further apart stay four loads.
double from_shared(const std::function<std::string(uint32_t)>& loads) {
  std::string body =
      ".reg .b32 %r<9>; .reg .b64 %rd<4>; .shared .align 16 .b8 table[8192];\nmov.u32 %r1, table;\nmov.u32 %r3, 0;\n";
  for (uint32_t n = 0; n < 100; ++n) body += loads(64 * n) + "xor.b32 %r3, %r3, %r4;\nxor.b32 %r3, %r3, %r5;\n";
  return without_launch(run(body + "ld.param.u64 %rd3, [p];\nst.global.u32 [%rd3], %r3;\n", 264, 1024, 64));
}

TEST(Paths, NeighbouringLoadsOfSharedMemoryAreOne) {
  const auto apart = [](uint32_t bytes) {
    return from_shared([&](uint32_t at) {
      std::string text;
      for (uint32_t n = 0; n < 4; ++n)
        text += "ld.shared.u32 %r" + std::to_string(4 + n) + ", [%r1+" + std::to_string(at + n * bytes) + "];\n";
      return text;
    });
  };
  const double one = from_shared(
      [](uint32_t at) { return "ld.shared.v4.u32 {%r4,%r5,%r6,%r7}, [%r1+" + std::to_string(at) + "];\n"; });
  EXPECT_NEAR(apart(4), one, 0.02 * one);
  EXPECT_GT(apart(16), 1.2 * one);
}

// Whatever reads them, DRAM gives each line of 64 bytes once. An H100 reads 4096 bytes more than for an empty kernel
// where the lab's `latency` walks a table of as many.
TEST(Paths, ConstantsAreReadFromMemoryOnce) {
  const auto read = [](uint32_t lines) {
    const std::string body =
        ".reg .b32 %r<6>; .reg .b64 %rd<4>;\nmov.u32 %r1, %tid.x;\nand.b32 %r1, %r1, " + std::to_string(lines - 1) +
        ";\nmul.wide.u32 %rd1, %r1, 64;\nmov.u64 %rd2, table;\nadd.s64 %rd2, %rd2, %rd1;\nld.const.u32 %r2, [%rd2];\n"
        "ld.param.u64 %rd3, [p];\nst.global.u32 [%rd3], %r2;\n";
    return run(body, 300, 64, 64, 2, true, "h100", Origin::heap, ".const .align 64 .b8 table[4096];\n")
        .time.dram_read_bytes;
  };
  EXPECT_EQ(read(64) - read(1), 63u * 64);
}

// Each step waits for a line that nobody has read before; other warps walk over the same lines. A line that is on its
// way is not there yet: who asks for it as the second waits with the first, and nobody gets ahead.
std::string walk(const std::string& load, uint32_t lines, uint32_t bytes) {
  std::string body = ".reg .b32 %r<6>; .reg .b64 %rd<4>;\nld.param.u64 %rd3, [p];\nmov.u64 %rd2, table;\n";
  for (uint32_t k = 0; k < lines; ++k)
    body += load + "+" + std::to_string(k * bytes) + "];\nmul.wide.u32 %rd1, %r2, 4;\nadd.s64 %rd2, %rd2, %rd1;\n" +
            "add.s64 %rd3, %rd3, %rd1;\n";
  return body + "st.global.u32 [%rd3], %r2;\n";
}

TEST(Paths, WarpsThatWalkOverTheSameConstantsWaitTogether) {
  const auto walked = [](uint32_t threads) {
    return without_launch(run(walk("ld.const.u32 %r2, [%rd2", 256, 64), 1, threads, 64, 2, true, "h100", Origin::heap,
                              ".const .align 64 .b8 table[16384];\n"));
  };
  const double alone = walked(1), step = alone / 256;
  for (const uint32_t threads : {33u, 1000u}) EXPECT_NEAR(walked(threads), alone, 8 * step) << threads;
  // An H100 takes 47 us for the 16 KiB, launch included.
  EXPECT_NEAR(alone + limits().launch_us.value, 47, 0.2 * 47);
}

TEST(Paths, WarpsThatWalkOverTheSameLinesWaitTogether) {
  const auto walked = [](uint32_t threads) {
    return without_launch(run(walk("ld.global.u32 %r2, [%rd3", 256, 128), 1, threads, 256 * 128, 2, true, "h100",
                              Origin::heap, ".const .align 64 .b8 table[64];\n"));
  };
  const double alone = walked(1), step = alone / 256;
  for (const uint32_t threads : {33u, 256u}) EXPECT_NEAR(walked(threads), alone, 4 * step) << threads;
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

// The last block, whose multiprocessor would stand for all, does next to nothing.
TEST(Paths, ABlockThatDoesLittleStandsForNoOther) {
  const std::string body =
      ".reg .f32 %f<2>; .reg .b32 %r<2>; .reg .b64 %rd<2>; .reg .pred %p<2>;\nmov.u32 %r1, %ctaid.x;\n"
      "mov.f32 %f1, 0f3F800000;\nsetp.eq.u32 %p1, %r1, 131;\n@%p1 bra L;\n" +
      chain("add.f32 %f1, %f1, %f1;\n", 4000) + kStore + "L:\n";
  const double least = us_of(4000 * limits().lat_fp32.value);
  const Ran r = run(body, 132, 32, 64);
  EXPECT_GE(without_launch(r), least);
  EXPECT_LE(without_launch(r), least + us_of(2000));
}

// ptxas puts predicates in place of short branches, so that their loads are under way together.
TEST(Paths, LoadsBehindShortBranchesOverlap) {
  constexpr int kLoads = 8;
  std::string body =
      ".reg .b32 %r<20>; .reg .b64 %rd<3>; .reg .pred %p<10>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmov.u32 "
      "%r2, 0;\n";
  for (int k = 0; k < kLoads; ++k) {
    const std::string n = std::to_string(k), value = "%r" + std::to_string(3 + k);
    body += "mov.u32 " + value + ", 0;\nsetp.gt.u32 %p" + n + ", %r1, " + std::to_string(40 + k) + ";\n@%p" + n +
            " bra L" + n + ";\nld.global.u32 " + value + ", [%rd1+" + std::to_string(128 * k) + "];\nL" + n + ":\n";
  }
  for (int k = 0; k < kLoads; ++k) body += "add.u32 %r2, %r2, %r" + std::to_string(3 + k) + ";\n";
  body += "st.global.u32 [%rd1], %r2;\n";
  const Ran r = run(body, 1, 32, 4096);
  EXPECT_GE(without_launch(r), us_of(limits().lat_dram.value));
  EXPECT_LE(without_launch(r), us_of(2 * limits().lat_dram.value));
}

// Straight code longer than what comes with the launch is waited for, line by line.
TEST(Paths, LongCodeIsWaitedFor) {
  constexpr uint32_t kLong = 12000;
  const std::string body = ".reg .f32 %f<2>; .reg .b64 %rd<2>;\nmov.f32 %f1, 0f3F800000;\n" +
                           chain("add.f32 %f1, %f1, %f1;\n", kLong) + kStore;
  const double ahead = limits().code_ahead_bytes.value / 16;  // instructions
  const double cycles = ahead * limits().lat_fp32.value + (kLong - ahead) / 8 * limits().code_far_cycles.value;
  EXPECT_NEAR(without_launch(run(body, 1, 32, 64)), us_of(cycles), 0.1 * us_of(cycles));
}

// L1 joins stores to the same sectors that follow one on the other: three words of a structure cost what one does.
TEST(Paths, StoresThatFollowOneOnTheOtherAreJoined) {
  const auto l2 = [](const std::string& stores) {
    const Ran r = run(
        ".reg .b32 %r<6>; .reg .b64 %rd<4>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\n"
        "mov.u32 %r3, %tid.x;\nmad.lo.s32 %r4, %r1, %r2, %r3;\nmul.wide.u32 %rd2, %r4, 12;\nadd.s64 %rd3, %rd1, "
        "%rd2;\n" +
            stores,
        1056, 256, 1056 * 256 * 12);
    return r.time.part_us[static_cast<std::size_t>(BoundBy::l2)];
  };
  const std::string first = "st.global.u32 [%rd3], %r1;\n";
  const double one = l2(first);
  EXPECT_GT(one, 0);
  EXPECT_NEAR(l2(first + "st.global.u32 [%rd3+4], %r1;\nst.global.u32 [%rd3+8], %r1;\n"), one, 0.05 * one);
}

// Sums of real numbers in shared memory are loops: lanes on one word take turns.
TEST(Paths, SumsOfRealNumbersInSharedMemoryTakeTurns) {
  constexpr int kTimes = 50;
  const auto sums = [](const char* apart, const char* sum = "atom.shared.add.f32 %f1, [%r3], %f1;\n") {
    return without_launch(run(std::string(".shared .align 4 .b8 own[128];\n.reg .b32 %r<4>; .reg .f32 %f<3>;\n") +
                                  "mov.u32 %r1, %tid.x;\nmov.u32 %r2, own;\nmad.lo.u32 %r3, %r1, " + apart +
                                  ", %r2;\nmov.f32 %f1, 0f3F800000;\n" + chain(sum, kTimes),
                              1, 32, 64));
  };
  const double turn = us_of(kTimes * limits().loop_shared.value);
  EXPECT_NEAR(sums("0"), 32 * turn, 0.1 * 32 * turn);
  EXPECT_NEAR(sums("4"), turn, 0.2 * turn + us_of(300));
}

// Lines that warps touch when their traces have no room left count among the bytes of DRAM.
TEST(Paths, StoresBehindLongLoopsAreNotTakenForLoads) {
  constexpr uint32_t kBlocks = 264, kThreads = 512;
  const Ran r =
      run(".reg .b32 %r<8>; .reg .b64 %rd<6>; .reg .pred %p<2>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %ctaid.x;\n"
          "mov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\nmad.lo.s32 %r4, %r1, %r2, %r3;\nmul.wide.u32 %rd2, %r4, 4;\n"
          "add.s64 %rd3, %rd1, %rd2;\nmov.u32 %r5, 0;\nL:\nld.volatile.global.u32 %r6, [%rd1];\nadd.u32 %r5, %r5, 1;\n"
          "setp.lt.u32 %p1, %r5, 4000;\n@%p1 bra L;\nst.global.u32 [%rd3+128], %r6;\n",
          kBlocks, kThreads, kBlocks * kThreads * 4 + 128);
  EXPECT_LT(r.time.dram_read_bytes, 8192u);
}

// A loop of one step, without accesses: its counter and branch cost once in four turns.
TEST(Paths, LoopsThatOnlyComputeAreUnrolled) {
  constexpr uint32_t kTurns = 4000;
  const auto loop = [&](const std::string& step, const std::string& pragma = "") {
    const std::string body =
        ".reg .f32 %f<2>; .reg .b32 %r<3>; .reg .b64 %rd<2>; .reg .pred %p<2>;\nmov.f32 %f1, 0f3F800000;\nmov.u32 %r1, "
        "0;\n"
        "mov.u32 %r2, %nctaid.x;\nL:\n" +
        pragma + "add.f32 %f1, %f1, %f1;\nadd.u32 %r1, %r1, " + step + ";\nsetp.ne.u32 %p1, %r1, " +
        std::to_string(kTurns) + ";\n@%p1 bra L;\n" + kStore;
    return without_launch(run(body, 1, 32, 64));
  };
  const double chain = us_of(kTurns * limits().lat_fp32.value), turn = us_of(kTurns * limits().branch_cycles.value);
  EXPECT_LE(loop("1"), chain + turn / 2);
  EXPECT_GE(loop("%r2"), chain + 0.9 * turn);  // a step that the compiler does not know
  EXPECT_GE(loop("1", ".pragma \"nounroll\";\n"), chain + 0.9 * turn);
  EXPECT_LE(loop("1", ".pragma \"other\";\n.pragma;\n"), chain + turn / 2);
}

// How often a compare-and-swap is tried depends on who comes between: nothing is said then.
TEST(Paths, ContendedSwapsHaveNoEstimate) {
  const auto adds = [](const char* place) {
    const std::string body =
        std::string(
            ".reg .b32 %r<5>; .reg .b64 %rd<4>; .reg .pred %p<2>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\n") +
        "mul.wide.u32 %rd2, %r1, " + place +
        ";\nadd.s64 %rd1, %rd1, %rd2;\nld.global.u32 %r2, [%rd1];\nL:\n"
        "mov.u32 %r4, %r2;\nadd.u32 %r3, %r4, 1;\natom.global.cas.b32 %r2, [%rd1], %r4, %r3;\n"
        "setp.ne.u32 %p1, %r2, %r4;\n@%p1 bra L;\n";
    return run(body, 4, 64, 4096).time.none;
  };
  EXPECT_EQ(adds("0"), "its blocks repeat a compare-and-swap of one word until it succeeds");
  EXPECT_EQ(adds("4"), "");
}

// A minimum of which the machine, thread by thread, sees only the first ones swap: on a GPU all threads try at once.
TEST(Paths, SwapsThatHardlyHappenOnTheMachineHaveNoEstimate) {
  const auto least = [](const char* place) {
    return run(std::string(".reg .b32 %r<6>; .reg .b64 %rd<4>; .reg .pred %p<3>;\nld.param.u64 %rd1, [p];\n") +
                   "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, " + place +
                   ";\nadd.s64 %rd3, %rd1, %rd2;\nld.u32 %r2, [%rd3];\ncvta.to.global.u64 %rd1, %rd3;\nL:\nsetp.ge.u32 "
                   "%p1, %r1, %r2;\n@%p1 bra "
                   "E;\nmov.u32 %r4, %r2;\natom.global.cas.b32 %r2, [%rd1], %r4, %r1;\nsetp.ne.u32 %p2, %r2, %r4;\n"
                   "@%p2 bra L;\nE:\n",
               4, 64, 4096)
        .time.none;
  };
  EXPECT_EQ(least("0"), "its blocks repeat a compare-and-swap of one word until it succeeds");
  EXPECT_EQ(least("4"), "");
}

// ptxas makes one of a warp's sums of integers at one address; sums of real numbers go one by one, and slower.
TEST(Paths, SumsOfRealNumbersAtOneAddressTakeTurns) {
  constexpr uint32_t kBlocks = 1056, kThreads = 256;
  const auto adds = [](const char* sum) {
    return without_launch(
        run(std::string(".reg .b32 %r<2>; .reg .f32 %f<2>; .reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\n") +
                "mov.u32 %r1, 1;\nmov.f32 %f1, 0f3F800000;\n" + sum,
            kBlocks, kThreads, 64));
  };
  const double all = kBlocks * kThreads, real = us_of(all / limits().atom_same_real.value),
               whole = us_of(all / 32 / limits().atom_same.value);
  EXPECT_NEAR(adds("red.global.add.f32 [%rd1], %f1;\n"), real, 0.1 * real);
  EXPECT_NEAR(adds("red.global.add.u32 [%rd1], %r1;\n"), whole, 0.1 * whole + us_of(1000));
}

}  // namespace
}  // namespace coalesce::machine
