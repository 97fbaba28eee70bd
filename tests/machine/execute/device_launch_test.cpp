// Kernels that give the device work: what is asked for, in which order, and what is refused.
#include "harness.h"
#include "tests/device_launches.h"

namespace coalesce::machine::test {
namespace device_launches {

using coalesce::test::device_launch;
using coalesce::test::kDeviceRuntimeDeclarations;
using coalesce::test::kGetLastError;

std::string with_child(const std::string& body) {
  std::string text = kernel(".param .u64 p",
                            "ld.param.u64 %rd1, [p];\nmov.u32 %r10, %tid.x;\nmov.u32 %r11, %ctaid.x;\n"
                            "mov.u32 %r12, %ntid.x;\nmad.lo.u32 %r1, %r11, %r12, %r10;\nmov.u32 %r2, 7;\n" +
                                body);
  const std::string child =
      kDeviceRuntimeDeclarations + ".visible .entry child(.param .u64 a, .param .u32 b, .param .u32 c)\n{\nret;\n}\n";
  return text.insert(text.find(".visible .entry k("), child);
}

TEST(DeviceLaunches, AreAskedForInTheOrderOfBlocks) {
  Shape shape;
  shape.grid = {5, 1, 1};
  shape.block = {64, 1, 1};
  const Ran r = run(with_child("rem.u32 %r13, %r10, 20;\nsetp.ne.u32 %p1, %r13, 0;\n@%p1 bra END;\nadd.u32 %r14, %r10, "
                               "1;\n" +
                               device_launch("child", "%r14", "32", "0", "48") +
                               "shl.b32 %r15, %r1, 2;\ncvt.u64.u32 %rd5, "
                               "%r15;\nadd.u64 %rd5, %rd5, %rd1;\nst.global.u32 [%rd5], %r62;\nEND:\n"),
                    {buffer(std::vector<uint32_t>(320, 9))}, shape);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  ASSERT_EQ(r.report.work.size(), 20u);
  for (uint32_t k = 0; k < 20; ++k) {
    const DeviceWork& w = r.report.work[k];
    const uint32_t thread = k % 4 * 20, index = k / 4 * 64 + thread;
    EXPECT_EQ(w.kernel, "child");
    EXPECT_EQ(w.grid, (std::array<uint32_t, 3>{thread + 1, 1, 1}));
    EXPECT_EQ(w.block, (std::array<uint32_t, 3>{32, 1, 1}));
    EXPECT_EQ(w.dynamic_shared_bytes, 48u);
    EXPECT_EQ(w.depth, 1u);
    EXPECT_FALSE(w.tail);
    ASSERT_EQ(w.parameters.size(), 16u);
    uint32_t words[4];
    std::memcpy(words, w.parameters.data(), sizeof words);
    EXPECT_EQ(uint64_t{words[0]} | uint64_t{words[1]} << 32, r.addresses[0]);
    EXPECT_EQ(words[2], index);
    EXPECT_EQ(words[3], 7u);
    EXPECT_EQ(r.read()[index], 0u) << "cudaSuccess";
  }
}

TEST(DeviceLaunches, OfImpossibleShapesAreRefused) {
  const std::pair<std::string, uint32_t> wrong[] = {
      {device_launch("child", "0", "32", "0"), 9},            // no blocks
      {device_launch("child", "1", "1025", "0"), 9},          // too many threads
      {device_launch("child", "1", "32", "0", "200000"), 9},  // too much shared memory
      {device_launch("k", "1", "32", "0"), 0},
      {device_launch("4096", "1", "32", "0"), 98},  // no kernel
  };
  std::string body;
  for (std::size_t k = 0; k < std::size(wrong); ++k)
    body += wrong[k].first + kGetLastError + "st.global.u32 [%rd1+" + std::to_string(8 * k) + "], %r61;\n" +
            kGetLastError + "st.global.u32 [%rd1+" + std::to_string(8 * k + 4) + "], %r61;\n";
  Shape one;
  one.block = {1, 1, 1};
  const Ran r = run(with_child(body), {buffer(std::vector<uint32_t>(10, 77))}, one);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (std::size_t k = 0; k < std::size(wrong); ++k) {
    EXPECT_EQ(r.read()[2 * k], wrong[k].second) << k;
    EXPECT_EQ(r.read()[2 * k + 1], 0u) << k << ": cudaGetLastError forgets it";
  }
  EXPECT_EQ(r.report.work.size(), 1u);
}

// The largest grid and block in each direction (CUDA's programming guide, compute capabilities), and one more.
TEST(DeviceLaunches, OfTheLargestShapes) {
  constexpr std::array<uint32_t, 6> kMost = {0x7fffffff, 65535, 65535, 1024, 1024, 64};
  std::string body;
  for (std::size_t k = 0; k < 12; ++k) {
    body +=
        "{\nmov.u64 %rd63, child;\n.param .b64 a;\nst.param.b64 [a], %rd63;\n.param .align 4 .b8 b[12];\n"
        ".param .align 4 .b8 c[12];\n.param .b32 d;\nst.param.b32 [d], 0;\n.param .b64 r;\n";
    for (std::size_t d = 0; d < 6; ++d)
      body += "st.param.b32 [" + std::string(d < 3 ? "b" : "c") + "+" + std::to_string(d % 3 * 4) + "], " +
              std::to_string(d == k % 6 ? kMost[d] + static_cast<uint32_t>(k / 6) : 1) + ";\n";
    body +=
        "call.uni (r), __cudaCDP2GetParameterBufferV2, (a, b, c, d);\nld.param.b64 %rd62, [r];\n}\n"
        "setp.ne.s64 %p1, %rd62, 0;\nselp.u32 %r61, 1, 0, %p1;\nst.global.u32 [%rd1+" +
        std::to_string(4 * k) + "], %r61;\n";
  }
  Shape one;
  one.block = {1, 1, 1};
  const Ran r = run(with_child(body), {buffer(std::vector<uint32_t>(12, 77))}, one);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  EXPECT_THAT(r.read(), testing::ElementsAre(1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0));
}

// cudaDevAttrMaxThreadsPerBlock, cudaDevAttrWarpSize; one that kernels cannot ask for; and filling what is not there.
TEST(DeviceLaunches, AttributesAndMemory) {
  const auto with = [](const std::string& body) {
    std::string text = with_child(body);
    return text.insert(
        text.find(".visible .entry"),
        ".extern .func (.param .b32 r) __cudaCDP2DeviceGetAttribute(.param .b64 a, .param .b32 b, .param "
        ".b32 c);\n.extern .func (.param .b32 r) __cudaCDP2MemsetAsync(.param .b64 a, .param .b32 b, "
        ".param .b64 c, .param .b64 d);\n"
        ".extern .func (.param .b32 r) __cudaCDP2Memset2DAsync(.param .b64 a, .param .b64 b, .param .b32 "
        "c, .param .b64 d, .param .b64 e, .param .b64 f);\n");
  };
  const auto attribute = [](int number) {
    return "{\n.param .b64 a;\nst.param.b64 [a], %rd1;\n.param .b32 b;\nst.param.b32 [b], " + std::to_string(number) +
           ";\n.param .b32 c;\nst.param.b32 [c], 0;\n.param .b32 g;\ncall.uni (g), __cudaCDP2DeviceGetAttribute, "
           "(a, b, c);\n}\n";
  };
  Shape one;
  one.block = {1, 1, 1};
  EXPECT_EQ(run(with(attribute(1)), {zeros<uint32_t>(4)}, one).read()[0], 1024u);
  EXPECT_EQ(run(with(attribute(10)), {zeros<uint32_t>(4)}, one).read()[0], 32u);
  const Ran unknown = run(with(attribute(12345)), {zeros<uint32_t>(4)}, one);
  EXPECT_NE(unknown.report.fault, Fault::none);
  EXPECT_THAT(unknown.message(), testing::HasSubstr("attribute 12345"));
  const auto fill = [](const std::string& to) {
    return "add.u64 %rd2, %rd1, " + to +
           ";\n{\n.param .b64 a;\nst.param.b64 [a], %rd2;\n.param .b32 b;\nst.param.b32 [b], 1;\n.param .b64 c;\n"
           "st.param.b64 [c], 8;\n.param .b64 d;\nst.param.b64 [d], 0;\n.param .b32 g;\n"
           "call.uni (g), __cudaCDP2MemsetAsync, (a, b, c, d);\n}\n";
  };
  const Ran inside = run(with(fill("8")), {zeros<uint32_t>(4)}, one),
            outside = run(with(fill("12")), {zeros<uint32_t>(4)}, one);
  EXPECT_EQ(inside.report.fault, Fault::none) << inside.message();
  EXPECT_EQ(inside.report.work.size(), 1u);
  EXPECT_EQ(outside.report.fault, Fault::illegal_address);
  // Rows of 4 bytes, 8 apart: two, and one too many.
  const auto rows = [](uint32_t count) {
    return "{\n.param .b64 a;\nst.param.b64 [a], %rd1;\n.param .b64 b;\nst.param.b64 [b], 8;\n.param .b32 c;\n"
           "st.param.b32 [c], 1;\n.param .b64 d;\nst.param.b64 [d], 4;\n.param .b64 e;\nst.param.b64 [e], " +
           std::to_string(count) +
           ";\n.param .b64 f;\nst.param.b64 [f], 0;\n.param .b32 g;\n"
           "call.uni (g), __cudaCDP2Memset2DAsync, (a, b, c, d, e, f);\n}\n";
  };
  EXPECT_EQ(run(with(rows(2)), {zeros<uint32_t>(4)}, one).report.fault, Fault::none);
  EXPECT_EQ(run(with(rows(3)), {zeros<uint32_t>(4)}, one).report.fault, Fault::illegal_address);
}

// Streams of a kernel must not wait for the host's default stream (cudaStreamNonBlocking, 1). Copies are work; what
// they read and write must be there.
TEST(DeviceLaunches, StreamsAndCopies) {
  const auto with = [](const std::string& body) {
    std::string text = with_child(body);
    return text.insert(text.find(".visible .entry"),
                       ".extern .func (.param .b32 r) __cudaCDP2StreamCreateWithFlags(.param .b64 a, .param .b32 b);\n"
                       ".extern .func (.param .b32 r) __cudaCDP2MemcpyAsync(.param .b64 a, .param .b64 b, "
                       ".param .b64 c, .param .b32 d, .param .b64 e);\n");
  };
  const auto stream = [](int flags) {
    return "{\n.param .b64 a;\nst.param.b64 [a], %rd1;\n.param .b32 b;\nst.param.b32 [b], " + std::to_string(flags) +
           ";\n.param .b32 g;\ncall.uni (g), __cudaCDP2StreamCreateWithFlags, (a, b);\nld.param.b32 %r62, [g];\n}\n"
           "st.global.u32 [%rd1+12], %r62;\n";
  };
  Shape one;
  one.block = {1, 1, 1};
  for (const int flags : {0, 1, 2}) {
    const Ran r = run(with(stream(flags)), {zeros<uint32_t>(4)}, one);
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    EXPECT_EQ(r.read()[3], flags == 2 ? 1u : 0u) << flags << ": cudaErrorInvalidValue, cudaSuccess";
  }
  const auto copy = [](const std::string& from, const std::string& to) {
    return "add.u64 %rd2, %rd1, " + from + ";\nadd.u64 %rd3, %rd1, " + to +
           ";\n{\n.param .b64 a;\nst.param.b64 [a], %rd3;\n.param .b64 b;\nst.param.b64 [b], %rd2;\n.param .b64 c;\n"
           "st.param.b64 [c], 8;\n.param .b32 d;\nst.param.b32 [d], 3;\n.param .b64 e;\nst.param.b64 [e], 0;\n"
           ".param .b32 g;\ncall.uni (g), __cudaCDP2MemcpyAsync, (a, b, c, d, e);\n}\n";
  };
  const Ran good = run(with(copy("8", "0")), {zeros<uint32_t>(4)}, one);
  ASSERT_EQ(good.report.fault, Fault::none) << good.message();
  ASSERT_EQ(good.report.work.size(), 1u);
  EXPECT_EQ(good.report.work[0].kind, DeviceWork::Kind::copy);
  EXPECT_EQ(good.report.work[0].from, good.addresses[0] + 8);
  EXPECT_EQ(good.report.work[0].to, good.addresses[0]);
  EXPECT_EQ(run(with(copy("12", "0")), {zeros<uint32_t>(4)}, one).report.fault, Fault::illegal_address);
  EXPECT_EQ(run(with(copy("0", "12")), {zeros<uint32_t>(4)}, one).report.fault, Fault::illegal_address);
}

// A buffer of an earlier launch is none.
TEST(DeviceLaunches, BuffersEndWithTheirLaunch) {
  const std::string buffer = device_launch("child", "1", "32", "0");
  const std::size_t launch = buffer.find("{\n.param .b64 e;");
  const std::string keep = buffer.substr(0, launch) + "st.global.u64 [%rd1], %rd62;\nNONE:\n}\n";
  const std::string use =
      "ld.global.u64 %rd62, [%rd1];\n{\n.param .b64 e;\nst.param.b64 [e], %rd62;\n.param .b64 f;\n"
      "st.param.b64 [f], 0;\n.param .b32 g;\ncall.uni (g), __cudaCDP2LaunchDeviceV2, (e, f);\n"
      "ld.param.b32 %r62, [g];\n}\nst.global.u32 [%rd1+8], %r62;\n";
  Shape one;
  one.block = {1, 1, 1};
  const auto both = run(with_child(keep + use), {zeros<uint32_t>(4)}, one);
  EXPECT_EQ(both.read()[2], 0u) << "cudaSuccess in the same launch";
  EXPECT_EQ(both.report.work.size(), 1u);
  const auto twice = run(with_child(keep + use + use), {zeros<uint32_t>(4)}, one);
  EXPECT_EQ(twice.read()[2], 1u) << "cudaErrorInvalidValue: it is another launch's";
  EXPECT_EQ(twice.report.work.size(), 1u);
  Bench bench(1);
  const auto first = bench.machine().load(with_child(keep), "first.ptx"),
             second = bench.machine().load(with_child(use), "second.ptx");
  const Ran kept = bench.run(*first, {zeros<uint32_t>(4)}, one, "k", true);
  const Ran later = bench.run(*second, {Argument{true, kept.buffers[0], 0}}, one, "k", false, &kept);
  ASSERT_EQ(later.report.fault, Fault::none) << later.message();
  EXPECT_NE(later.read<uint64_t>()[0], 0u);
  EXPECT_EQ(later.read()[2], 1u) << "cudaErrorInvalidValue";
  EXPECT_TRUE(later.report.work.empty());
}

// More than one part of memory, in one launch after the other.
TEST(DeviceLaunches, BuffersOfManyLaunches) {
  constexpr uint32_t kThreads = 512;
  Bench bench(1);
  const auto program = bench.machine().load(with_child(device_launch("child", "1", "32", "0")), "many.ptx");
  Shape shape;
  shape.block = {kThreads, 1, 1};
  for (int k = 0; k < 3; ++k) {
    const Ran r = bench.run(*program, {zeros<uint32_t>(4)}, shape, "k");
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    EXPECT_EQ(r.report.work.size(), kThreads);
  }
}

// cudaLaunchDevice takes the kernel's parameters from any memory: as many bytes as they have. All of them are there, or
// nothing is launched. A kernel without parameters needs no memory.
TEST(DeviceLaunches, ParametersFromAnyMemory) {
  struct {
    const char *kernel, *buffer;
    bool runs;
  } const kCases[] = {{"child", "8", true},   {"child", "16", true}, {"child", "17", false}, {"child", "32", false},
                      {"child", "-1", false}, {"none", "31", true},  {"none", "4096", true}};
  for (const auto& c : kCases) {
    std::string text =
        with_child("add.s64 %rd2, %rd1, " + std::string(c.buffer) + ";\n{\nmov.u64 %rd63, " + c.kernel +
                   ";\n.param .b64 a;\nst.param.b64 [a], %rd63;\n.param .b64 b;\nst.param.b64 [b], %rd2;\n"
                   ".param .align 4 .b8 c[12];\nst.param.b32 [c], 3;\nst.param.b32 [c+4], 1;\nst.param.b32 [c+8], 2;\n"
                   ".param .align 4 .b8 d[12];\nst.param.b32 [d], 4;\nst.param.b32 [d+4], 5;\nst.param.b32 [d+8], 6;\n"
                   ".param .b32 e;\nst.param.b32 [e], 48;\n.param .b64 f;\nst.param.b64 [f], 0;\n.param .b32 g;\n"
                   "call.uni (g), __cudaCDP2LaunchDevice, (a, b, c, d, e, f);\nld.param.b32 %r62, [g];\n}\n"
                   "st.global.u32 [%rd1], %r62;\n");
    text.insert(
        text.find(".visible .entry"),
        ".extern .func (.param .b32 r) __cudaCDP2LaunchDevice(.param .b64 a, .param .b64 b, .param .align 4 .b8 "
        "c[12], .param .align 4 .b8 d[12], .param .b32 e, .param .b64 f);\n.visible .entry none()\n{\nret;\n}\n");
    std::vector<uint8_t> bytes(32);
    for (std::size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<uint8_t>(k + 1);
    const Ran r = run(text, {buffer(bytes)}, {.block = {1, 1, 1}});
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    EXPECT_EQ(r.read()[0], c.runs ? 0u : 1u) << c.kernel << c.buffer << ": cudaSuccess, cudaErrorInvalidValue";
    ASSERT_EQ(r.report.work.size(), c.runs ? 1u : 0u) << c.kernel << c.buffer;
    if (!c.runs) continue;
    const DeviceWork& w = r.report.work[0];
    EXPECT_EQ(w.kernel, c.kernel);
    EXPECT_EQ(w.grid, (std::array<uint32_t, 3>{3, 1, 2}));
    EXPECT_EQ(w.block, (std::array<uint32_t, 3>{4, 5, 6}));
    EXPECT_EQ(w.dynamic_shared_bytes, 48u);
    const std::size_t size = std::string(c.kernel) == "child" ? 16 : 0,
                      at = static_cast<std::size_t>(std::atoi(c.buffer));
    EXPECT_EQ(w.parameters,
              size ? std::vector<uint8_t>(bytes.begin() + at, bytes.begin() + at + size) : std::vector<uint8_t>{});
  }
}

TEST(DeviceLaunches, AnUnknownFunctionOfTheRuntimeIsNamed) {
  std::string text = with_child("{\n.param .b32 g;\ncall.uni (g), __cudaCDP2Sing, ();\nld.param.b32 %r61, [g];\n}\n");
  text.insert(text.find(".visible .entry"), ".extern .func (.param .b32 r) __cudaCDP2Sing();\n");
  const Ran r = run(text, {zeros<uint32_t>(4)});
  EXPECT_EQ(r.report.fault, Fault::illegal_instruction);
  EXPECT_THAT(r.message(), testing::HasSubstr("__cudaCDP2Sing"));
}

TEST(DeviceLaunches, OfALaunchThatFailsDoNotHappen) {
  const Ran r = run(with_child(device_launch("child", "1", "32", "0") + "st.global.u32 [%rd1+4096], %r1;\n"),
                    {zeros<uint32_t>(4)});
  EXPECT_EQ(r.report.fault, Fault::illegal_address);
  EXPECT_TRUE(r.report.work.empty());
}

}  // namespace device_launches
}  // namespace coalesce::machine::test
