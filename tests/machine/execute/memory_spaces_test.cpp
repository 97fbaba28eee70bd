// Local and constant memory, parameters, generic addresses: values and exact counts.
#include "harness.h"

namespace coalesce::machine::test {

namespace {

// ---- Local memory, constants, parameters -------------------------------------------------------------------------

// int own[8]; own[k] = 10 * k + lane; then own[index(lane)]. Local memory is interleaved by lane, 4 bytes at a time:
// eight lanes of one offset share a sector.
Ran local_array(const std::string& index) {
  std::string fill;
  for (int k = 0; k < 8; ++k)
    fill += "add.u32 %r3, %r1, " + std::to_string(10 * static_cast<uint64_t>(k)) + ";\nst.local.u32 [own+" +
            std::to_string(4 * static_cast<uint64_t>(k)) + "], %r3;\n";
  return run(kernel(".param .u64 out",
                    ".local .align 4 .b8 own[32];\nld.param.u64 %rd1, [out];\nmov.u32 %r1, "
                    "%tid.x;\nmad.wide.u32 %rd2, %r1, 4, %rd1;\n" +
                        fill + index +
                        "shl.b32 %r5, %r4, 2;\ncvt.u64.u32 %rd3, %r5;\nmov.u64 %rd4, own;\nadd.s64 "
                        "%rd5, %rd4, %rd3;\nld.local.u32 %r6, [%rd5];\nst.global.u32 [%rd2], %r6;\n"),
             {zeros<uint32_t>(64)}, {{1, 1, 1}, {64, 1, 1}});
}

// The layout of shared variables by ptxas (CUDA 13.0, sm_90): those of the kernel, of the module, of functions, each in
// the order of the text. An H200's counts depend on it: sectors of cp.async past L1 that are written into one sector of
// shared memory.
TEST(MemorySpaces, SharedLayout) {
  const Ran r = run(module(".shared .align 1 .b8 of_module[3];\n"
                           ".func f(.param .b64 p)\n{\n.reg .b32 %r1;\n.reg .b64 %rd1;\n"
                           ".shared .align 4 .b8 of_function[20];\nld.param.u64 %rd1, [p];\n"
                           "mov.u32 %r1, of_function;\nst.global.u32 [%rd1+12], %r1;\nret;\n}\n"
                           ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd1;\n"
                           ".shared .align 1 .b8 first[1];\n.shared .align 16 .b8 second[4096];\n"
                           "ld.param.u64 %rd1, [out];\nmov.u32 %r1, first;\nst.global.u32 [%rd1], %r1;\n"
                           "mov.u32 %r1, second;\nst.global.u32 [%rd1+4], %r1;\n"
                           "mov.u32 %r1, of_module;\nst.global.u32 [%rd1+8], %r1;\n"
                           "{\n.param .b64 q;\nst.param.b64 [q], %rd1;\ncall.uni f, (q);\n}\nret;\n}\n"),
                    {zeros<uint32_t>(4)});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  const auto at = r.read();
  EXPECT_EQ(at[1] - at[0], 16u);
  EXPECT_EQ(at[2] - at[0], 16u + 4096);
  EXPECT_EQ(at[3] - at[0], 16u + 4096 + 4);
}

TEST(MemorySpaces, LocalArrayByLane) {
  const Ran modulo = local_array("and.b32 %r4, %r1, 7;\n");
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(modulo.read()[i], 10 * (i % 8) + i);
  EXPECT_EQ(modulo.counters().local_store_requests, 2 * 8);
  EXPECT_EQ(modulo.counters().local_store_sectors, 2 * 8 * 4);
  EXPECT_EQ(modulo.counters().local_load_requests, 2);
  EXPECT_EQ(modulo.counters().local_load_sectors, 2 * 32);  // each offset by lanes of four groups of eight
  const Ran by_eight = local_array("shr.u32 %r4, %r1, 3;\nand.b32 %r4, %r4, 7;\n");
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(by_eight.read()[i], 10 * (i / 8) + i);
  EXPECT_EQ(by_eight.counters().local_load_sectors, 2 * 4);
  EXPECT_EQ(by_eight.counters().global_load_requests, 0);
}

TEST(MemorySpaces, LocalOutOfBounds) {
  const Ran r = local_array("mov.u32 %r4, %r1;\n");
  EXPECT_EQ(r.report.fault, Fault::illegal_address);
  EXPECT_THAT(r.message(), testing::HasSubstr("outside the thread's 32 bytes of local memory"));
  EXPECT_EQ(r.report.diagnostics.at(0).thread, (std::array<uint32_t, 3>{8, 0, 0}));
}

TEST(MemorySpaces, ConstantMemory) {
  const std::string ptx = module(
      ".const .align 4 .u32 table[8] = {7, 17, 27, 37, 47, 57, 67, 77};\n.visible .entry k(.param .u64 out)\n{\n.reg "
      ".b32 %r<8>;\n.reg .b64 %rd<8>;\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %rd2, %r1, 4, "
      "%rd1;\nand.b32 %r2, %r1, 7;\nmov.u64 %rd3, table;\nmad.wide.u32 %rd4, %r2, 4, %rd3;\nld.const.u32 %r3, "
      "[%rd4];\nld.const.u32 %r4, [table+12];\ncvta.const.u64 %rd5, %rd4;\nld.u32 %r6, [%rd5];\nadd.u32 %r5, %r3, "
      "%r4;\nadd.u32 %r5, %r5, %r6;\nst.global.u32 [%rd2], %r5;\nret;\n}\n");
  const Ran r = run(ptx, {zeros<uint32_t>(32)});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.read()[i], 2 * (10 * (i % 8) + 7) + 37);
  EXPECT_EQ(r.counters().global_store_requests, 1);
}

// struct { int a[6]; } by value, read by an index that differs by lane.
TEST(MemorySpaces, ParametersByAddress) {
  std::vector<uint32_t> values{3, 1, 4, 1, 5, 9, 2, 6};
  Argument block{false, {}};
  block.bytes.resize(32);
  std::memcpy(block.bytes.data(), values.data(), 32);
  const Ran r =
      run(kernel(".param .u64 out, .param .u64 filler, .param .u64 filler2, .param .u64 filler3, .param .align "
                 "4 .b8 values[32]",
                 "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %rd2, %r1, 4, %rd1;\nmov.b64 "
                 "%rd3, values;\nand.b32 %r2, %r1, 7;\nmul.wide.u32 %rd4, %r2, 4;\nadd.s64 %rd5, %rd3, "
                 "%rd4;\nld.param.u32 %r3, [%rd5];\nst.global.u32 [%rd2], %r3;\n"),
          {zeros<uint32_t>(32), value<uint64_t>(0), value<uint64_t>(0), value<uint64_t>(0), block});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.read()[i], values[i % 8]);
  EXPECT_EQ(r.counters().global_load_requests, 0);
}

// One generic load and store whose lanes are in three spaces.
TEST(MemorySpaces, GenericPointersOfOneWarpInSeveralSpaces) {
  const Ran r = run(
      kernel(".param .u64 out, .param .u64 in",
             ".shared .align 4 .b8 s[128];\n.local .align 4 .b8 own[8];\nld.param.u64 %rd1, [out];\nld.param.u64 %rd2, "
             "[in];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, "
             "%rd3;\nmov.u64 %rd6, s;\nadd.s64 %rd6, %rd6, %rd3;\ncvta.shared.u64 %rd7, %rd6;\nmov.u64 %rd8, "
             "own;\ncvta.local.u64 %rd9, %rd8;\nadd.u32 %r2, %r1, 200;\nst.shared.u32 [%rd6], %r2;\nadd.u32 %r3, %r1, "
             "300;\nst.local.u32 [own+4], %r3;\nrem.u32 %r4, %r1, 3;\nsetp.eq.u32 %p1, %r4, 1;\nsetp.eq.u32 %p2, %r4, "
             "2;\nselp.b64 %rd10, %rd7, %rd5, %p1;\nadd.s64 %rd11, %rd9, 4;\nselp.b64 %rd10, %rd11, %rd10, "
             "%p2;\nld.u32 %r5, [%rd10];\nadd.u32 %r6, %r5, 1000;\nst.u32 [%rd10], %r6;\nld.volatile.u32 %r7, "
             "[%rd10];\nst.global.u32 [%rd4], %r7;\n"),
      {zeros<uint32_t>(32), buffer(std::vector<uint32_t>(32, 100))});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(r.read()[i], i % 3 == 0 ? 1100 : i % 3 == 1 ? 1200 + i : 1300 + i);
    EXPECT_EQ(r.read(1)[i], i % 3 == 0 ? 1100u : 100u);
  }
  // Each space has its own requests: two loads and one store, besides the stores before and after.
  const Counters& c = r.counters();
  EXPECT_EQ(c.global_load_requests, 2);
  EXPECT_EQ(c.global_load_sectors, 2 * 4);
  EXPECT_EQ(c.global_load_bytes_requested, 2 * 44);
  EXPECT_EQ(c.global_store_requests, 2);
  EXPECT_EQ(c.shared_load_requests, 2);
  EXPECT_EQ(c.shared_load_wavefronts, 2);
  EXPECT_EQ(c.shared_store_requests, 2);
  EXPECT_EQ(c.local_load_requests, 2);
  EXPECT_EQ(c.local_store_requests, 2);
  EXPECT_EQ(c.local_load_sectors, 2 * 4);
}

// alloca: each lane has its own, aligned to 8 bytes or to what is asked for, and none lies in another.
TEST(MemorySpaces, Alloca) {
  const auto with = [](const std::string& alignment) {
    return run(kernel(".param .u64 out",
                      "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %rd2, %r1, 16, %rd1;\n"
                      "mad.lo.u32 %r2, %r1, 3, 1;\nmul.wide.u32 %rd3, %r2, 4;\nalloca.u64 %rd4, %rd3;\n"
                      "alloca.u64 %rd5, 8" +
                          alignment +
                          ";\nst.local.u32 [%rd5], %r2;\nst.local.u32 [%rd5+4], %r2;\nst.local.u32 [%rd4], %r1;\n"
                          "add.u64 %rd6, %rd4, %rd3;\nst.local.u32 [%rd6-4], %r1;\nld.local.u32 %r3, [%rd5];\n"
                          "ld.local.u32 %r4, [%rd5+4];\nadd.u32 %r3, %r3, %r4;\nld.local.u32 %r4, [%rd4];\n"
                          "cvt.u32.u64 %r5, %rd5;\nand.b32 %r5, %r5, 127;\ncvt.u32.u64 %r6, %rd4;\n"
                          "and.b32 %r6, %r6, 7;\nst.global.v4.u32 [%rd2], {%r3, %r4, %r5, %r6};\n"),
               {zeros<uint32_t>(4 * 32)});
  };
  for (const auto& [alignment, bytes] :
       {std::pair{"", 8u}, std::pair{", 4", 8u}, std::pair{", 32", 32u}, std::pair{", 128", 128u}}) {
    const Ran r = with(alignment);
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    for (uint32_t i = 0; i < 32; ++i) {
      EXPECT_EQ(r.read()[4 * i], 2 * (3 * i + 1)) << i << alignment;
      EXPECT_EQ(r.read()[4 * i + 1], i) << alignment;
      EXPECT_EQ(r.read()[4 * i + 2] % bytes, 0u) << i << alignment;
      EXPECT_EQ(r.read()[4 * i + 3], 0u) << i << alignment;
    }
  }
  EXPECT_EQ(with(", 24").report.fault, Fault::illegal_instruction) << "no power of two";
}

// 17 bytes, and behind them what the launch adds, at the next multiple of its alignment.
TEST(MemorySpaces, DynamicSharedMemoryBehindTheStatic) {
  std::string text =
      kernel(".param .u64 out",
             ".shared .align 1 .b8 own[17];\nld.param.u64 %rd1, [out];\nmov.u32 %r1, own;\nmov.u32 %r2, more;\n"
             "st.shared.u8 [%r1+16], 7;\nst.shared.v4.u32 [%r2], {%r1, %r2, %r1, %r2};\n"
             "ld.shared.u8 %r3, [%r1+16];\nsub.u32 %r4, %r2, %r1;\nst.global.v2.u32 [%rd1], {%r3, %r4};\n");
  text.insert(text.find(".visible"), ".extern .shared .align 16 .b8 more[];\n");
  const Ran r = run(text, {zeros<uint32_t>(2)}, {.block = {1, 1, 1}, .dynamic_shared_bytes = 16});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  EXPECT_THAT(r.read(), testing::ElementsAre(7, 32));
}

// Bytes and halves some bytes apart: a wavefront takes what lies in one word of each of 32 banks.
TEST(MemorySpaces, NarrowLanesApartInSharedMemory) {
  for (const auto& [type, bytes] : {std::pair{"u8", 1u}, std::pair{"u16", 2u}, std::pair{"u32", 4u}})
    for (const uint32_t stride : {1u, 2u, 3u, 6u, 10u, 12u, 66u, 130u, 132u}) {
      const Ran r = run(kernel(".param .u64 out",
                               ".shared .align 16 .b8 s[4224];\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n"
                               "mov.u32 %r2, s;\nmad.lo.u32 %r3, %r1, " +
                                   std::to_string(stride) + ", %r2;\nadd.u32 %r4, %r1, 1;\nst.shared." + type +
                                   " [%r3], %r4;\nld.shared." + type +
                                   " %r5, [%r3];\nmad.wide.u32 %rd2, %r1, 4, %rd1;\nst.global.u32 [%rd2], %r5;\n"),
                        {zeros<uint32_t>(32)});
      if (stride % bytes != 0) {
        EXPECT_EQ(r.report.fault, Fault::misaligned_address) << type << stride;
        continue;
      }
      ASSERT_EQ(r.report.fault, Fault::none) << r.message();
      std::map<uint32_t, std::set<uint32_t>> words;
      for (uint32_t i = 0; i < 32; ++i) words[i * stride / 4 % 32].insert(i * stride / 4);
      std::size_t most = 0;
      for (const auto& [bank, in] : words) most = std::max(most, in.size());
      EXPECT_EQ(r.counters().shared_load_wavefronts, most) << type << stride;
      if (stride >= bytes)
        for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.read()[i], i + 1) << type << stride;
    }
}

// cp.async of 4 to 16 bytes to places twice as far apart: had there been no conflict, 128 bytes would go at once.
TEST(MemorySpaces, AsyncCopiesWithoutConflicts) {
  for (const uint32_t bytes : {4u, 8u, 16u}) {
    const std::string n = std::to_string(bytes);
    const Ran r = run(kernel(".param .u64 out, .param .u64 in",
                             ".shared .align 16 .b8 s[1024];\nld.param.u64 %rd1, [in];\nmov.u32 %r1, %tid.x;\n"
                             "mov.u32 %r2, s;\nmad.lo.u32 %r3, %r1, " +
                                 std::to_string(2 * bytes) + ", %r2;\nmad.wide.u32 %rd2, %r1, " + n +
                                 ", %rd1;\ncp.async.ca.shared.global [%r3], [%rd2], " + n + ";\ncp.async.wait_all;\n"),
                      {zeros<uint32_t>(32), zeros<uint32_t>(128)});
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    EXPECT_EQ(r.counters().shared_store_wavefronts_ideal, bytes * 32 / 128) << bytes;
    EXPECT_EQ(r.counters().shared_store_wavefronts, 2 * bytes * 32 / 128) << bytes;
  }
}

TEST(MemorySpaces, WhichSpaceAGenericAddressIsIn) {
  const Ran r = run(
      kernel(
          ".param .u64 out",
          ".shared .align 4 .b8 s[128];\n.local .align 4 .b8 own[8];\nld.param.u64 %rd1, [out];\ncvta.to.global.u64 "
          "%rd2, %rd1;\nmov.u64 %rd6, s;\ncvta.shared.u64 %rd7, %rd6;\nmov.u64 %rd8, own;\ncvta.local.u64 %rd9, "
          "%rd8;\nisspacep.shared %p1, %rd7;\nisspacep.local %p2, %rd9;\nisspacep.global %p3, %rd1;\nisspacep.global "
          "%p4, %rd7;\nisspacep.shared %p5, %rd9;\nselp.u32 %r1, 1, 0, %p1;\nselp.u32 %r2, 2, 0, %p2;\nselp.u32 %r3, "
          "4, 0, %p3;\nselp.u32 %r4, 8, 0, %p4;\nselp.u32 %r5, 16, 0, %p5;\nor.b32 %r6, %r1, %r2;\nor.b32 %r6, %r6, "
          "%r3;\nor.b32 %r6, %r6, %r4;\nor.b32 %r6, %r6, %r5;\nst.global.u32 [%rd2], %r6;\ncvta.to.shared.u64 %rd10, "
          "%rd7;\nsub.s64 %rd11, %rd10, %rd6;\nst.global.u64 [%rd2+8], %rd11;\n"),
      {zeros<uint64_t>(2)}, {{1, 1, 1}, {1, 1, 1}});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  EXPECT_EQ(r.read<uint64_t>()[0], 7u);
  EXPECT_EQ(r.read<uint64_t>()[1], 0u);
}

}  // namespace

}  // namespace coalesce::machine::test
