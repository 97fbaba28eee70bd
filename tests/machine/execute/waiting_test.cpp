// Kernels that wait: for the host, and for their grid by the device library's functions. What launches kernels is
// named.
#include <atomic>
#include <chrono>
#include <mutex>

#include "harness.h"

namespace coalesce::machine::test {
namespace {

using testing::HasSubstr;

constexpr char kRegisters[] = ".reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n";

std::string waiting(const std::string& body) {
  return module(".visible .entry k(.param .u64 flag)\n{\n" + std::string(kRegisters) +
                "ld.param.u64 %rd1, [flag];\nmov.u32 %r3, %tid.x;\n" + body + "ret;\n}\n");
}

struct Case {
  const char* name;
  std::string body;
  const char* polled;
};

// The host sets the flag when it is told: a launch that nobody says anything about would not end.
TEST(KernelsThatOnlyPoll, AreNamedOnceWithTheInstructionThatReads) {
  const Case cases[] = {
      {"all lanes read", "L:\nld.volatile.global.u32 %r1, [%rd1];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;\n",
       "ld.volatile.global.u32 %r1, [%rd1];"},
      {"one thread reads, others wait at a barrier",
       "setp.ne.u32 %p2, %r3, 0;\n@%p2 bra B;\nL:\nld.acquire.gpu.global.u32 %r1, [%rd1];\n"
       "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;\nB:\nbar.sync 0;\n",
       "ld.acquire.gpu.global.u32 %r1, [%rd1];"},
      {"one thread of the second warp reads",
       "setp.ne.u32 %p2, %r3, 40;\n@%p2 bra B;\nL:\nld.volatile.global.u32 %r1, [%rd1];\n"
       "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;\nB:\nbar.sync 0;\n",
       "ld.volatile.global.u32 %r1, [%rd1];"},
      {"an atomic that changes nothing",
       "L:\natom.global.cas.b32 %r1, [%rd1], 1, 1;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;\n",
       "atom.global.cas.b32 %r1, [%rd1], 1, 1;"},
  };
  for (const Case& c : cases) {
    for (const unsigned threads : {1u, 2u}) {
      SCOPED_TRACE(std::string(c.name) + ", threads: " + std::to_string(threads));
      uint32_t* flag = nullptr;
      std::mutex mutex;
      std::vector<Diagnostic> said;
      Options options;
      options.threads = threads;
      options.polling = std::chrono::milliseconds(50);
      options.notice = [&](const Diagnostic& d) {
        const std::lock_guard lock(mutex);
        said.push_back(d);
        __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
      };
      Machine m(*find_device("h200"), options);
      const auto program = m.load(waiting(c.body), "test.ptx");
      flag = reinterpret_cast<uint32_t*>(m.memory().allocate(4, Origin::managed, "cudaMallocManaged")->base);
      *flag = 0;
      LaunchConfig config;
      config.grid = {3, 1, 1};
      config.block = {64, 1, 1};
      config.parameters = value(reinterpret_cast<uint64_t>(flag)).bytes;
      ASSERT_EQ(m.launch(*program, "k", config).fault, Fault::none);
      ASSERT_EQ(said.size(), 1u);
      EXPECT_EQ(said[0].severity, Severity::warning);
      EXPECT_EQ(said[0].kernel, "k");
      EXPECT_EQ(said[0].ptx_text, c.polled);
      EXPECT_EQ(said[0].thread[0] / 32, said[0].warp);
      ASSERT_FALSE(said[0].notes.empty());
      EXPECT_THAT(said[0].notes.back(), HasSubstr("the host's next call of CUDA, other streams' kernels"));
    }
  }
}

// A loop that reads what others may write, and stores: it works.
TEST(KernelsThatOnlyPoll, AreNotThoseThatWork) {
  Options options;
  options.threads = 1;
  options.polling = std::chrono::milliseconds(5);
  unsigned said = 0;
  options.notice = [&](const Diagnostic&) { ++said; };
  Machine m(*find_device("h200"), options);
  const auto program =
      m.load(waiting("mov.u32 %r4, 0;\nL:\nld.volatile.global.u32 %r1, [%rd1];\nst.global.u32 [%rd1+4], %r1;\n"
                     "add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 1000000;\n@%p1 bra L;\n"),
             "test.ptx");
  const Allocation* a = m.memory().allocate(8, Origin::device, "cudaMalloc");
  LaunchConfig config;
  config.parameters = value(a->base).bytes;
  const LaunchReport report = m.launch(*program, "k", config);
  ASSERT_EQ(report.fault, Fault::none);
  ASSERT_GT(report.seconds, 0.05) << "too short to tell";
  EXPECT_EQ(said, 0u);
}

// Two blocks, each with a thread of its own. What the other one does while block 1 polls: it has ended, so that nobody
// is left who works; or it works, and sets the flag in the end.
TEST(KernelsThatOnlyPoll, AreThoseInWhichNobodyWorks) {
  const std::string poll = "L:\nld.volatile.global.u32 %r1, [%rd1];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;\nret;\n";
  const std::string work =
      "mov.u32 %r4, 0;\nW:\nst.global.u32 [%rd1+4], %r4;\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 1000000;\n"
      "@%p1 bra W;\nst.volatile.global.u32 [%rd1], 1;\n";
  for (const bool works : {false, true}) {
    uint32_t* flag = nullptr;
    std::atomic<unsigned> said = 0;
    Options options;
    options.threads = 2;
    options.polling = std::chrono::milliseconds(5);
    options.notice = [&](const Diagnostic&) {
      ++said;
      __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
    };
    Machine m(*find_device("h200"), options);
    const auto program = m.load(waiting("mov.u32 %r5, %ctaid.x;\nsetp.eq.u32 %p2, %r5, 0;\n@%p2 bra FIRST;\n" + poll +
                                        "FIRST:\n" + (works ? work : "")),
                                "test.ptx");
    flag = reinterpret_cast<uint32_t*>(m.memory().allocate(8, Origin::managed, "cudaMallocManaged")->base);
    *flag = 0;
    LaunchConfig config;
    config.grid = {2, 1, 1};
    config.parameters = value(reinterpret_cast<uint64_t>(flag)).bytes;
    const LaunchReport report = m.launch(*program, "k", config);
    ASSERT_EQ(report.fault, Fault::none);
    EXPECT_EQ(said, works ? 0u : 1u);
    if (works) ASSERT_GT(report.seconds, 0.05) << "too short to tell";
  }
}

// Lanes on two sides of a branch meet at barriers of their warp that are different instructions, and go on apart.
TEST(WarpBarriers, OfTwoSidesAreOne) {
  const auto side = [](const std::string& from) {
    return "st.shared.u32 [%r4], %r3;\nbar.warp.sync -1;\nld.shared.u32 %r5, [%r4" + from + "];\n";
  };
  const Ran r = run(waiting(".shared .align 4 .b8 s[128];\nmov.u32 %r6, s;\nmad.lo.u32 %r4, %r3, 4, %r6;\n"
                            "mul.wide.u32 %rd2, %r3, 4;\nadd.u64 %rd1, %rd1, %rd2;\nsetp.ge.u32 %p1, %r3, 16;\n"
                            "@%p1 bra B;\n" +
                            side("+64") + "bra.uni END;\nB:\n" + side("-64") + "END:\nst.global.u32 [%rd1], %r5;\n"),
                    {zeros<uint32_t>(32)});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.read()[i], i ^ 16) << i;
}

// All blocks wait for something that never comes. With more blocks than begin together, the others wait, too.
TEST(Deadlocks, OfBlocksThatHaveNotBegun) {
  for (const uint32_t blocks : {1u, 3u, 500u}) {
    Options options;
    options.threads = 1;
    options.check = true;
    Machine m(*find_device("h200"), options);
    const auto program =
        m.load(waiting("L:\nld.volatile.global.u32 %r1, [%rd1];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;\n"), "test.ptx");
    const Allocation* flag = m.memory().allocate(4, Origin::device, "cudaMalloc");
    std::memset(reinterpret_cast<void*>(flag->base), 0, 4);
    m.wrote(flag->base, 4);
    LaunchConfig config;
    config.grid = {blocks, 1, 1};
    config.parameters = value(flag->base).bytes;
    const LaunchReport report = m.launch(*program, "k", config);
    ASSERT_EQ(report.fault, Fault::deadlock) << blocks;
    const std::string text = render(report.diagnostics.at(0), false);
    EXPECT_EQ(text.find("blocks that have not begun") != text.npos, blocks == 500) << text;
  }
}

// Lanes 0 and 1 wait for their warp at a barrier in a branch; the others have gone to where all meet, and exit. A
// reduction in a warp's first lanes, as Numba writes it.
TEST(WarpBarriers, LanesThatHaveGoneOnExit) {
  const Ran r = run(waiting("setp.ge.u32 %p1, %r3, 2;\n@%p1 bra END;\nbar.warp.sync -1;\n"
                            "mul.wide.u32 %rd2, %r3, 4;\nadd.u64 %rd1, %rd1, %rd2;\nst.global.u32 [%rd1], 7;\n"
                            "END:\n"),
                    {zeros<uint32_t>(3)}, {.block = {64, 1, 1}});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  EXPECT_THAT(r.read(), testing::ElementsAre(7, 7, 0));
}

constexpr char kDeclarations[] =
    ".extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 scope)\n;\n"
    ".extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 handle, .param .b32 flags)\n;\n";
constexpr char kGridSync[] =
    "{\n.param .b32 s;\n.param .b64 h;\nst.param.b32 [s], 1;\ncall.uni (h), cudaCGGetIntrinsicHandle, (s);\n"
    "ld.param.b64 %rd2, [h];\n}\n"
    "{\n.param .b64 h;\n.param .b32 f;\n.param .b32 e;\nst.param.b64 [h], %rd2;\nst.param.b32 [f], 0;\n"
    "call.uni (e), cudaCGSynchronize, (h, f);\nld.param.b32 %r4, [e];\n}\n";

// Each thread adds 1; after the grid's barrier it reads the sum, and stores it with what cudaCGSynchronize returned.
// Twice, so that the barrier is used in both directions.
TEST(DeviceLibrary, CooperativeGridsMeet) {
  const std::string add_and_read =
      "red.global.add.u32 [%rd1], 1;\n" + std::string(kGridSync) + "ld.volatile.global.u32 %r1, [%rd1];\n";
  const std::string ptx =
      module(kDeclarations + (".visible .entry k(.param .u64 out)\n{\n" + std::string(kRegisters)) +
             "ld.param.u64 %rd1, [out];\nmov.u32 %r5, %ctaid.x;\nmov.u32 %r6, %ntid.x;\nmov.u32 %r7, %tid.x;\n"
             "mad.lo.u32 %r5, %r5, %r6, %r7;\nmad.wide.u32 %rd3, %r5, 12, %rd1;\n" +
             add_and_read + "st.global.u32 [%rd3+4], %r1;\nst.global.u32 [%rd3+12], %r4;\n" + kGridSync + add_and_read +
             "st.global.u32 [%rd3+8], %r1;\nret;\n}\n");
  constexpr uint32_t kBlocks = 5, kThreads = 40, kAll = kBlocks * kThreads;
  for (const bool cooperative : {true, false}) {
    Bench bench(2);
    Machine& m = bench.machine();
    const auto program = m.load(ptx, "test.ptx");
    const Allocation* out = m.memory().allocate(4 + 12 * kAll, Origin::device, "cudaMalloc");
    std::memset(reinterpret_cast<void*>(out->base), 0, out->size);
    LaunchConfig config;
    config.grid = {kBlocks, 1, 1};
    config.block = {kThreads, 1, 1};
    config.cooperative = cooperative;
    config.parameters = value(out->base).bytes;
    ASSERT_EQ(m.launch(*program, "k", config).fault, Fault::none);
    std::vector<uint32_t> words(1 + 3 * kAll);
    std::memcpy(words.data(), reinterpret_cast<const void*>(out->base), 4 * words.size());
    for (uint32_t t = 0; t < kAll; ++t) {
      if (cooperative) {
        EXPECT_EQ(words[3 * t + 1], kAll);
        EXPECT_EQ(words[3 * t + 2], 2 * kAll);
      }
      EXPECT_EQ(words[3 * t + 3], cooperative ? 0u : 1u);  // cudaErrorInvalidValue: there is no grid to wait for
    }
  }
}

TEST(DeviceLibrary, FunctionsOfOtherParametersAreNamed) {
  const std::string ptx = module(
      ".extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 f)\n;\n"
      ".visible .entry k()\n{\n" +
      std::string(kRegisters) +
      "mov.u64 %rd1, 0;\n{\n.param .b64 f;\n.param .b64 r;\nst.param.b64 [f], %rd1;\n"
      "call.uni (r), __cudaCDP2GetParameterBufferV2, (f);\nld.param.b64 %rd2, [r];\n}\nret;\n}\n");
  const Ran r = run(ptx, {}, {});
  EXPECT_EQ(r.report.fault, Fault::illegal_instruction);
  EXPECT_THAT(r.message(), HasSubstr("the device's runtime has no"));
  EXPECT_THAT(r.message(), HasSubstr("__cudaCDP2GetParameterBufferV2"));
}

}  // namespace
}  // namespace coalesce::machine::test
