// Matrix instructions take for granted: the distance of rows that a fragment's load leaves out, what rows of
// ldmatrix cost, and which shapes there are.
#include "harness.h"

namespace coalesce::machine::test {
namespace {

std::string list(uint32_t first, uint32_t count) {
  std::string text = "{";
  for (uint32_t k = 0; k < count; ++k) text += (k ? ", %r" : "%r") + std::to_string(first + k);
  return text + "}";
}

// PTX ISA, wmma.load: without a stride, rows (or columns) follow each other, as long as the fragment is wide.
TEST(Fragments, WithoutAStride) {
  struct {
    const char *name, *layout, *shape, *type;
    uint32_t registers, stride;
  } constexpr kFragments[] = {{"a", "row", "m32n8k16", "f16", 8, 16}, {"a", "col", "m32n8k16", "f16", 8, 32},
                              {"b", "row", "m32n8k16", "f16", 8, 8},  {"b", "col", "m32n8k16", "f16", 8, 16},
                              {"c", "row", "m32n8k16", "f32", 8, 8},  {"c", "col", "m32n8k16", "f32", 8, 32},
                              {"a", "row", "m8n32k16", "f16", 8, 16}, {"a", "col", "m8n32k16", "f16", 8, 8},
                              {"b", "row", "m8n32k16", "f16", 8, 32}, {"b", "col", "m8n32k16", "f16", 8, 16},
                              {"c", "row", "m8n32k16", "f32", 8, 32}, {"c", "col", "m8n32k16", "f32", 8, 8}};
  for (const auto& f : kFragments) {
    const std::string load =
        std::string("wmma.load.") + f.name + ".sync.aligned." + f.layout + "." + f.shape + ".shared." + f.type + " ";
    std::string text =
        ".shared .align 128 .b8 S[2048];\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, S;\n"
        "mad.lo.u32 %r3, %r1, 4, %r2;\nmad.lo.u32 %r4, %r1, 131074, 65536;\n";
    for (uint32_t k = 0; k < 16; ++k)  // half h holds h
      text += "st.shared.u32 [%r3+" + std::to_string(128 * k) + "], %r4;\nadd.u32 %r4, %r4, 4194368;\n";
    text += "bar.warp.sync -1;\n" + load + list(10, f.registers) + ", [%r2];\n" + load + list(20, f.registers) +
            ", [%r2], " + std::to_string(f.stride) + ";\nmov.u32 %r5, 0;\nmov.u32 %r6, 0;\n";
    for (uint32_t k = 0; k < f.registers; ++k) {
      const std::string mine = std::to_string(10 + k), other = std::to_string(20 + k);
      text +=
          "xor.b32 %r7, %r" + mine + ", %r" + other + ";\nor.b32 %r5, %r5, %r7;\nor.b32 %r6, %r6, %r" + mine + ";\n";
    }
    text += "mad.wide.u32 %rd2, %r1, 8, %rd1;\nst.global.v2.u32 [%rd2], {%r5, %r6};\n";
    const Ran r = run(kernel(".param .u64 p", text), {zeros<uint32_t>(64)});
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    for (uint32_t i = 0; i < 32; ++i) {
      EXPECT_EQ(r.read()[2 * i], 0u) << load << i;
      EXPECT_NE(r.read()[2 * i + 1], 0u) << load << i;
    }
  }
}

// A stride in a register is the same as in the text, for elements of every width.
TEST(Fragments, StridesInRegisters) {
  struct {
    const char *name, *shape, *type;
    uint32_t registers;
  } constexpr kFragments[] = {
      {"a.sync.aligned.row", "m16n16k16", "s8", 2},  {"b.sync.aligned.col", "m16n16k16", "u8", 2},
      {"a.sync.aligned.row", "m8n8k32", "s4", 1},    {"b.sync.aligned.col", "m8n8k32", "u4", 1},
      {"a.sync.aligned.row", "m8n8k128", "b1", 1},   {"a.sync.aligned.row", "m16n16k16", "f16", 8},
      {"c.sync.aligned.row", "m16n16k16", "f32", 8}, {"c.sync.aligned.row", "m16n16k16", "s32", 8}};
  std::string text =
      "ld.param.u64 %rd1, [p];\nld.param.u64 %rd2, [in];\nld.param.u32 %r2, [n];\nmov.u32 %r1, %tid.x;\n"
      "mov.u32 %r5, 0;\nmov.u32 %r6, 0;\n";
  for (const auto& f : kFragments) {
    const std::string load = std::string("wmma.load.") + f.name + "." + f.shape + ".global." + f.type + " ";
    text += load + list(10, f.registers) + ", [%rd2], 256;\n" + load + list(20, f.registers) + ", [%rd2], %r2;\n";
    for (uint32_t k = 0; k < f.registers; ++k)
      text += "xor.b32 %r7, %r" + std::to_string(10 + k) + ", %r" + std::to_string(20 + k) +
              ";\nor.b32 %r5, %r5, %r7;\nor.b32 %r6, %r6, %r" + std::to_string(10 + k) + ";\n";
  }
  text += "mad.wide.u32 %rd3, %r1, 8, %rd1;\nst.global.v2.u32 [%rd3], {%r5, %r6};\n";
  std::vector<uint32_t> in(4096);
  for (uint32_t k = 0; k < in.size(); ++k) in[k] = (k + 1) * 2654435761u;
  const Ran r =
      run(kernel(".param .u64 p, .param .u64 in, .param .u32 n", text), {zeros<uint32_t>(64), buffer(in), value(256u)});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(r.read()[2 * i], 0u) << i;
    EXPECT_NE(r.read()[2 * i + 1], 0u) << i;
  }
}

// Rows of ldmatrix cost what stores of 16 bytes at these places cost (docs/counters.md): rows at one place, too.
TEST(Fragments, RowsCostWhatStoresCost) {
  for (const uint32_t count : {1u, 2u, 4u})
    for (const auto& [and_, times] : {std::pair{0u, 16u}, std::pair{1u, 16u}, std::pair{3u, 32u}, std::pair{3u, 128u},
                                      std::pair{31u, 16u}, std::pair{31u, 32u}, std::pair{31u, 144u}}) {
      const auto cost = [&](bool matrix) {
        const std::string place =
            ".shared .align 128 .b8 S[8192];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, S;\nand.b32 %r3, "
            "%r1, " +
            std::to_string(and_) + ";\nmad.lo.u32 %r3, %r3, " + std::to_string(times) +
            ", %r2;\nsetp.lt.u32 %p1, %r1, " + std::to_string(8 * count) + ";\n";
        const Ran r =
            run(kernel(".param .u64 p", place + (matrix ? "ldmatrix.sync.aligned.m8n8.x" + std::to_string(count) +
                                                              ".shared.b16 " + list(10, count) + ", [%r3];\n"
                                                        : "@%p1 st.shared.v4.b32 [%r3], {%r1, %r1, %r1, %r1};\n")),
                {zeros<uint32_t>(1)});
        EXPECT_EQ(r.report.fault, Fault::none) << r.message();
        const Counters& c = r.counters();
        return matrix ? std::pair{c.shared_load_wavefronts, c.shared_load_wavefronts_ideal}
                      : std::pair{c.shared_store_wavefronts, c.shared_store_wavefronts_ideal};
      };
      EXPECT_EQ(cost(true), cost(false)) << count << " matrices, rows " << and_ << ", " << times << " bytes apart";
    }
}

// Sums are of halves, floats, doubles or 32-bit integers; factors of what the shape has.
TEST(Fragments, TypesThatNoSumHas) {
  const auto message = [](const std::string& type, const std::string& registers) {
    return run(kernel(".param .u64 p", "ld.param.u64 %rd1, [p];\nwmma.load.c.sync.aligned.row.m16n16k16.global." +
                                           type + " {" + registers + "}, [%rd1];\n"),
               {zeros<uint32_t>(256)})
        .message();
  };
  const std::string eight = "%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8";
  EXPECT_EQ(message("s32", eight), "");
  for (const char* const type : {"u8", "s8", "bf16", "u4", "b1"})
    for (const std::string& registers : {eight, std::string("%r1, %r2, %r3, %r4"), std::string("%r1, %r2")})
      EXPECT_THAT(message(type, registers), testing::HasSubstr("wmma.load.c")) << type;
}

// A guard in the kernel's first register that is off for all: nothing is read, wherever it would be.
TEST(Fragments, UnderAGuardThatIsOff) {
  for (const bool on : {false, true}) {
    const Ran r =
        run(module(".visible .entry k(.param .u64 out)\n{\n.reg .pred %p;\n.reg .b32 %r<9>;\n.reg .b64 %rd<4>;\n"
                   ".shared .align 16 .b8 S[512];\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n"
                   "mov.u32 %r2, 7;\nsetp.eq.u32 %p, %r2, " +
                   std::string(on ? "7" : "8") +
                   ";\nmov.u32 %r3, 0x100000;\n@%p ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r3];\n"
                   "mad.wide.u32 %rd2, %r1, 4, %rd1;\nst.global.u32 [%rd2], %r2;\nret;\n}\n"),
            {zeros<uint32_t>(32)});
    EXPECT_EQ(r.report.fault, on ? Fault::illegal_address : Fault::none) << r.message();
    if (!on) EXPECT_EQ(r.read(), std::vector<uint32_t>(32, 7));
  }
}

// Columns of integers: multiples of 8 up to 32, then of 16. ptxas refuses the others. All factors are 1.
TEST(Fragments, ColumnsOfAGroupsIntegers) {
  for (const uint32_t n : {8u, 24u, 32u, 40u, 48u, 56u}) {
    const Ran r = run(
        kernel(
            ".param .u64 p",
            ".shared .align 1024 .b8 S[4096];\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, S;\n"
            "mad.lo.u32 %r3, %r1, 32, %r2;\nmov.u32 %r4, 0x01010101;\nst.shared.v4.b32 [%r3], {%r4, %r4, %r4, %r4};\n"
            "st.shared.v4.b32 [%r3+16], {%r4, %r4, %r4, %r4};\nbar.sync 0;\nshr.u32 %r5, %r2, 4;\n"
            "cvt.u64.u32 %rd2, %r5;\nsetp.ne.u32 %p1, %r1, %r1;\nwgmma.fence.sync.aligned;\n"
            "wgmma.mma_async.sync.aligned.m64n" +
                std::to_string(n) + "k32.s32.s8.s8 " + list(10, n / 2) +
                ", %rd2, %rd2, %p1;\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
                "mad.wide.u32 %rd3, %r1, 4, %rd1;\nst.global.u32 [%rd3], %r" +
                std::to_string(10 + n / 2 - 1) + ";\n"),
        {zeros<uint32_t>(128)}, {.block = {128, 1, 1}});
    if (n == 40 || n == 56) {
      EXPECT_EQ(r.report.fault, Fault::illegal_instruction) << n;
      continue;
    }
    ASSERT_EQ(r.report.fault, Fault::none) << n << r.message();
    EXPECT_EQ(r.read(), std::vector<uint32_t>(128, 32)) << n;
  }
}

}  // namespace
}  // namespace coalesce::machine::test
