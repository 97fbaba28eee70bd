// Estimates of what loads take in L1, of loops that ptxas unrolls, and of the units of L2 that do atomics. What an H100
// took for kernels of ours: gpu/limits/atomics.cu, and loads of a warp by the stride of its lanes.
#include <gtest/gtest.h>

#include "tests/machine/time/estimated.h"

namespace coalesce::machine {
namespace {

double working_us(const Ran& r) { return r.time.us - limits().launch_us.value; }

const std::string kOfUnits =
    ".reg .b32 %r<9>; .reg .f32 %f<9>; .reg .f64 %fd<2>; .reg .b64 %rd<9>; .reg .pred %p<2>;\n"
    "ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, 1;\nmov.f32 %f1, 0f3F800000;\n"
    "mov.f64 %fd1, 0d3FF0000000000000;\n";

// All lanes of all blocks add to a word of their own of a line that they share, or of `words` words.
double sums_us(const char* type, uint32_t width, uint32_t words, const char* value) {
  constexpr uint32_t kBlocks = 1056;
  return working_us(run(kOfUnits + "mad.lo.u32 %r4, %r2, 256, %r1;\nand.b32 %r4, %r4, " + std::to_string(words - 1) +
                            ";\nmul.wide.u32 %rd2, %r4, " + std::to_string(width) +
                            ";\nadd.s64 %rd3, %rd1, %rd2;\nred.global.add." + type + " [%rd3], " + value + ";\n",
                        kBlocks, 256, 1 << 16));
}

// Measured of 8,192 warps, beside the launch: 18.8, 18.8, 76, 9.1 and 2.2 us.
TEST(Units, SumsAtPlacesOfALineGoSideBySide) {
  const double warps = 1056 * 8 / 8192.0;
  const auto within = [&](double said, double measured) { EXPECT_NEAR(said / warps, measured, 0.1 * measured); };
  within(sums_us("u32", 4, 32, "%r3"), 18.8);
  within(sums_us("f32", 4, 32, "%f1"), 18.8);
  within(sums_us("f64", 8, 32, "%fd1"), 76);
  within(sums_us("f32", 4, 128, "%f1"), 9.1);
  EXPECT_LE(sums_us("f32", 4, 1024, "%f1"), 2.6 * warps);
}

// The first lane of each warp asks for all.
TEST(Units, TicketsAreDrawnOncePerWarp) {
  const Ran r = run(kOfUnits +
                        "atom.global.add.u32 %r4, [%rd1], 1;\nmad.lo.u32 %r5, %r2, 256, %r1;\nmul.wide.u32 "
                        "%rd2, %r5, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3+128], %r4;\n",
                    1056, 256, 1 << 21);
  const double all = us_of(1056 * 8 / limits().atom_same.value);
  EXPECT_GE(working_us(r), 0.9 * all);
  EXPECT_LE(working_us(r), 1.3 * all + 2);
}

// Cycles of a warp's load that hits, by the bytes between lanes. Measured: 4.0, 8.0, 32.0, 8.0.
TEST(Units, LoadsThatHitTakeTheBanksTime) {
  const auto load = [](uint32_t stride) {
    constexpr uint32_t kLoads = 200, kWarps = 32;
    const double us = working_us(run(kOfUnits + "and.b32 %r4, %r1, 31;\nmul.wide.u32 %rd2, %r4, " +
                                         std::to_string(stride) + ";\nadd.s64 %rd3, %rd1, %rd2;\n" +
                                         chain("ld.global.u32 %r5, [%rd3];\nadd.u32 %r6, %r6, %r5;\n", kLoads) +
                                         "st.global.u32 [%rd1], %r6;\n",
                                     1, 32 * kWarps, 1 << 14));
    return us / us_of(kLoads * kWarps);
  };
  EXPECT_NEAR(load(16), 4, 0.5);
  EXPECT_NEAR(load(32), 8, 0.8);
  EXPECT_NEAR(load(128), 32, 1.6);
  EXPECT_NEAR(load(132), 8, 0.8);
}

// ptxas puts the loads of four turns side by side: of short loops that count by a constant.
TEST(Units, ShortLoopsThatLoadAreUnrolled) {
  constexpr uint32_t kTurns = 400;
  const auto loop = [](const std::string& step, const std::string& more) {
    return working_us(run(kOfUnits +
                              "mov.u32 %r4, 0;\nmov.u32 %r6, 0;\nmov.u32 %r7, %nctaid.x;\nmul.wide.u32 %rd2, %r1, 4;\n"
                              "add.s64 %rd3, %rd1, %rd2;\nmov.u64 %rd4, %rd3;\nL:\nld.global.u32 %r5, [%rd3];\n"
                              "add.s32 %r6, %r6, %r5;\nadd.s64 %rd3, %rd3, 128;\n" +
                              more + "add.s32 %r4, %r4, " + step + ";\nsetp.lt.s32 %p1, %r4, " +
                              std::to_string(kTurns) + ";\n@%p1 bra L;\nst.global.u32 [%rd4], %r6;\n",
                          1, 32, 1 << 16));
  };
  const double once = us_of(kTurns * limits().lat_dram.value);
  EXPECT_LE(loop("1", ""), once / 3);
  EXPECT_LE(loop("1", "bra.uni M;\nM:\n"), once / 3);  // two basic blocks, one of which always follows the other
  EXPECT_GE(loop("%r7", ""), 0.9 * once);
  EXPECT_GE(loop("1", chain("fma.rn.f32 %f1, %f1, %f1, %f1;\n", 44)), 0.9 * once);
}

}  // namespace
}  // namespace coalesce::machine
