// Orders of blocks and warps in `check` (machine/api/schedules.cpp).
#include "prologue.h"

namespace coalesce::machine::test {
namespace {

// Warp 0 asks what warp 1 says, and then both store to one word: only where warp 1 comes first.
TEST(Schedules, WarpsAreTakenInTheOrderOfTheSchedule) {
  for (const uint32_t schedules : {1u, 2u}) {
    Options options;
    options.check = true;
    options.schedules = schedules;
    options.threads = 1;
    Machine machine(*find_device("h200"), options);
    const auto program =
        machine.load(kernel(".param .u64 out",
                            "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 32;\n@%p1 bra "
                            "SECOND;\natom.global.add.u32 %r2, [%rd1], 0;\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra END;\n"
                            "st.global.u32 [%rd1+4], 5;\nbra END;\nSECOND:\nst.global.u32 [%rd1+4], 6;\n"
                            "atom.global.add.u32 %r2, [%rd1], 1;\nEND:\n"),
                     "test.ptx");
    const uint64_t at = machine.memory().allocate(8, Origin::device, "cudaMalloc")->base;
    std::memset(reinterpret_cast<void*>(at), 0, 8);
    machine.wrote(at, 8);
    LaunchConfig config{.block = {64, 1, 1}, .parameters = value(at).bytes};
    const LaunchReport report = machine.launch(*program, "k", config);
    ASSERT_EQ(report.fault, Fault::none);
    ASSERT_EQ(report.diagnostics.size(), schedules - 1) << schedules;
    if (schedules == 2)
      EXPECT_THAT(render(report.diagnostics[0], false), testing::HasSubstr("in the reverse order of blocks and warps"));
  }
}

// Blocks take a permit each, add to a sum, and give it back. Two permits let two of them in.
TEST(Schedules, WhoHasGotInIsOvertaken) {
  for (const uint32_t permits : {1u, 2u}) {
    Machine machine(*find_device("h200"), {.threads = 1, .progress = {}, .output = {}, .check = true});
    const auto program = machine.load(
        kernel(".param .u64 out",
               "ld.param.u64 %rd1, [out];\nAGAIN:\nld.acquire.gpu.global.u32 %r1, [%rd1];\nsetp.eq.u32 %p1, %r1, 0;\n"
               "@%p1 bra AGAIN;\nsub.u32 %r2, %r1, 1;\natom.acquire.gpu.global.cas.b32 %r3, [%rd1], %r1, %r2;\n"
               "setp.ne.u32 %p2, %r3, %r1;\n@%p2 bra AGAIN;\nld.global.u32 %r4, [%rd1+4];\nadd.u32 %r4, %r4, 1;\n"
               "st.global.u32 [%rd1+4], %r4;\nred.release.gpu.global.add.u32 [%rd1], 1;\n"),
        "test.ptx");
    const uint64_t at = machine.memory().allocate(8, Origin::device, "cudaMalloc")->base;
    const uint32_t begin[2] = {permits, 0};
    std::memcpy(reinterpret_cast<void*>(at), begin, 8);
    machine.wrote(at, 8);
    LaunchConfig config{.grid = {4, 1, 1}, .block = {1, 1, 1}, .parameters = value(at).bytes};
    const LaunchReport report = machine.launch(*program, "k", config);
    ASSERT_EQ(report.fault, Fault::none);
    EXPECT_EQ(report.diagnostics.empty(), permits == 1) << permits;
    if (permits == 2 && !report.diagnostics.empty())
      EXPECT_THAT(render(report.diagnostics[0], false), testing::HasSubstr("overtake"));
  }
}

}  // namespace
}  // namespace coalesce::machine::test
