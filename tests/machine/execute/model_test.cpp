// --model ptxas: the same results, other requests; interpreted, as native code, and with several threads.
#include "harness.h"

namespace coalesce::machine::test {
namespace {

// Warps of 32, 32 and 8 threads write and read 16 bytes each in shared memory, threads below 40 under a guard; all add
// to one word.
const std::string kKernel = kernel(
    ".param .u64 out, .param .u64 sum",
    ".shared .align 16 .b8 s[2048];\nld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [sum];\nmov.u32 %r1, %tid.x;\n"
    "mov.u32 %r2, s;\nshl.b32 %r3, %r1, 4;\nadd.s32 %r4, %r2, %r3;\nsetp.lt.u32 %p1, %r1, 40;\n"
    "st.shared.u32 [%r4], %r1;\nst.shared.u32 [%r4+4], %r3;\nst.shared.u32 [%r4+8], %r1;\nst.shared.u32 [%r4+12], "
    "%r3;\n"
    "bar.sync 0;\nld.shared.u32 %r5, [%r4];\nld.shared.u32 %r6, [%r4+4];\nmov.u32 %r7, 0;\nmov.u32 %r8, 0;\n"
    "bar.sync 0;\n@%p1 ld.shared.u32 %r7, [%r4+8];\n@%p1 ld.shared.u32 %r8, [%r4+12];\n"
    "add.s32 %r9, %r5, %r6;\nadd.s32 %r9, %r9, %r7;\nadd.s32 %r9, %r9, %r8;\nmov.u32 %r10, %ctaid.x;\n"
    "mad.lo.u32 %r10, %r10, 72, %r1;\nmul.wide.u32 %rd3, %r10, 4;\n"
    "add.s64 %rd4, %rd1, %rd3;\nst.global.u32 [%rd4], %r9;\nred.global.add.u32 [%rd2], %r9;\n");

Ran run_with(Model model, unsigned threads, std::shared_ptr<NativeProvider> native) {
  Shape shape;
  shape.grid = {3, 1, 1};
  shape.block = {72, 1, 1};
  Bench bench(threads, shape.max_instructions, std::move(native), model);
  return bench.run(kKernel, {zeros<uint32_t>(3 * 72), zeros<uint32_t>(1)}, shape, "k");
}

TEST(Model, PtxasOtherRequestsAndTheSameResults) {
  const Ran ptx = run_with(Model::ptx, 1, nullptr), merged = run_with(Model::ptxas, 1, nullptr);
  EXPECT_EQ(ptx.buffers, merged.buffers);
  const Counters &a = ptx.counters(), &b = merged.counters();
  // Per block: three warps, the guard on in two of them.
  EXPECT_EQ(a.shared_store_requests, 3u * 3 * 4);
  EXPECT_EQ(b.shared_store_requests, 3u * 3);
  EXPECT_EQ(a.shared_load_requests, 3u * (3 * 2 + 2 * 2));
  EXPECT_EQ(b.shared_load_requests, 3u * (3 + 2));
  // A stride of 16 bytes: four lanes of eight, or two of the last eight, use one bank. 16 bytes a lane use none
  // twice.
  EXPECT_EQ(a.shared_store_wavefronts, 3u * 4 * (4 + 4 + 1));
  EXPECT_EQ(b.shared_store_wavefronts, 3u * (4 + 4 + 1));
  // 8 bytes a lane, 16 apart, by half-warps: two lanes on each bank; under the guard 32 lanes and 8.
  EXPECT_EQ(b.shared_load_wavefronts, 3u * ((4 + 4 + 1) + (4 + 1)));
  EXPECT_EQ(a.global_reduction_requests, 9u);
  EXPECT_EQ(b.global_reduction_requests, 9u);
  EXPECT_EQ(a.global_reduction_sectors, 3u * 72);
  EXPECT_EQ(b.global_reduction_sectors, 9u);
  EXPECT_EQ(b.global_reduction_lines, 9u);
  EXPECT_EQ(a.instructions, b.instructions);
  EXPECT_EQ(a.thread_instructions, b.thread_instructions);
  EXPECT_EQ(a.global_store_sectors, b.global_store_sectors);
  EXPECT_EQ(a.compulsory_bytes, b.compulsory_bytes);
}

// Warps of 32 and 8 threads; a thread moves 8 bytes of four words, side by side, `stride` bytes from the next thread's.
// What a merged access costs is what one of 8 bytes costs.
TEST(Model, MergedAccessesCostWhatWideOnesCost) {
  for (const uint32_t stride : {0u, 8u, 16u, 24u, 128u, 136u}) {
    const auto text = [&](bool wide) {
      return kernel(".param .u64 out",
                    ".shared .align 16 .b8 s[8192];\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, s;\n"
                    "mad.lo.s32 %r4, %r1, " +
                        std::to_string(stride) + ", %r2;\n" +
                        (wide ? "st.shared.v2.u32 [%r4], {%r1, %r1};\n"
                              : "st.shared.u32 [%r4], %r1;\nst.shared.u32 [%r4+4], %r1;\n") +
                        "bar.sync 0;\n" +
                        (wide ? "ld.shared.v2.u32 {%r5, %r6}, [%r4];\n"
                              : "ld.shared.u32 %r5, [%r4];\nld.shared.u32 %r6, [%r4+4];\n") +
                        "add.s32 %r7, %r5, %r6;\nmad.wide.u32 %rd2, %r1, 4, %rd1;\nst.global.u32 [%rd2], %r7;\n");
    };
    Shape shape;
    shape.block = {40, 1, 1};
    Bench merging(1, shape.max_instructions, nullptr, Model::ptxas), plain(1);
    const Counters a = merging.run(text(false), {zeros<uint32_t>(40)}, shape, "k").counters();
    const Counters b = plain.run(text(true), {zeros<uint32_t>(40)}, shape, "k").counters();
    EXPECT_EQ(a.shared_load_requests, 2u) << stride;
    EXPECT_EQ(a.shared_load_wavefronts, b.shared_load_wavefronts) << stride;
    EXPECT_EQ(a.shared_load_wavefronts_ideal, b.shared_load_wavefronts_ideal) << stride;
    EXPECT_EQ(a.shared_store_requests, 2u) << stride;
    EXPECT_EQ(a.shared_store_wavefronts, b.shared_store_wavefronts) << stride;
    EXPECT_EQ(a.shared_store_wavefronts_ideal, b.shared_store_wavefronts_ideal) << stride;
  }
}

TEST(Model, PtxasWithAnyExecutor) {
  const Ran expected = run_with(Model::ptxas, 1, nullptr);
  for (const unsigned threads : thread_counts()) {
    EXPECT_EQ(difference(expected, run_with(Model::ptxas, threads, nullptr)), "") << threads;
    if (const auto native = native_code()) EXPECT_EQ(difference(expected, run_with(Model::ptxas, threads, native)), "");
  }
}

}  // namespace
}  // namespace coalesce::machine::test
