// The plain executor beside the others: a shadowed launch says nothing when all agree, and who stored what when not.
#include "harness.h"
#include "machine/execute/native.h"

namespace coalesce::machine::test {
namespace {

const std::string kStores = kernel(".param .u64 out",
                                   "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\n"
                                   "add.s64 %rd3, %rd1, %rd2;\nadd.u32 %r2, %r1, 100;\nst.global.u32 [%rd3], %r2;\n");

// Native code that does nothing at all.
class Idle final : public NativeProvider, public NativeKernel {
 public:
  std::shared_ptr<const NativeKernel> find(const Launch&) override { return {std::shared_ptr<void>(), this}; }
  bool enters(uint32_t region) const override { return region == 0; }
  std::unique_ptr<NativeRunner> runner(BlockRun&) const override { return std::make_unique<Runner>(); }

 private:
  struct Runner final : NativeRunner {
    NativeStop run(uint64_t, uint64_t end, uint32_t) override { return {end - 1, kNone}; }
  };
};

LaunchReport shadowed(std::shared_ptr<NativeProvider> native, std::vector<uint32_t>* left,
                      const std::string& text = kStores) {
  Machine machine(*find_device("h200"),
                  {.threads = 1, .progress = {}, .output = {}, .native = std::move(native), .shadow = true});
  const uint64_t out = machine.memory().allocate(256, Origin::device, "cudaMalloc")->base;
  LaunchConfig config{{1, 1, 1}, {64, 1, 1}, 0, false, value(out).bytes};
  const LaunchReport report = machine.launch(*machine.load(text, "test.ptx"), "k", config);
  left->resize(64);
  std::memcpy(left->data(), reinterpret_cast<const void*>(out), 256);
  return report;
}

TEST(Shadow, SaysNothingWhenExecutorsAgree) {
  std::vector<uint32_t> left;
  const LaunchReport r = shadowed(nullptr, &left);
  EXPECT_TRUE(r.diagnostics.empty()) << r.diagnostics[0].message;
  EXPECT_EQ(left[63], 163u);
}

// Some lanes of the second warp add 1000.
TEST(Shadow, SaysNothingOfBranches) {
  std::string text = kStores;
  text.insert(text.find("st.global"), "setp.lt.u32 %p1, %r1, 40;\n@%p1 bra ON;\nadd.u32 %r2, %r2, 1000;\nON:\n");
  std::vector<uint32_t> left;
  const LaunchReport r = shadowed(nullptr, &left, text);
  EXPECT_TRUE(r.diagnostics.empty()) << r.diagnostics[0].message;
  EXPECT_EQ(left[39], 139u);
  EXPECT_EQ(left[40], 1140u);
}

TEST(Shadow, NamesTheStoreThatDiffers) {
  std::vector<uint32_t> left;
  const LaunchReport r = shadowed(std::make_shared<Idle>(), &left);
  EXPECT_EQ(r.fault, Fault::none);
  EXPECT_EQ(left, std::vector<uint32_t>(64)) << "memory is as the executor left it that was asked for";
  ASSERT_EQ(r.diagnostics.size(), 1u);
  const Diagnostic& d = r.diagnostics[0];
  EXPECT_EQ(d.severity, Severity::warning);
  EXPECT_THAT(d.message, testing::HasSubstr("byte 0 of allocation #"));
  EXPECT_THAT(d.message, testing::HasSubstr("are 0x6500000064 by the plain executor, 0x0 by this one"));
  EXPECT_THAT(d.ptx_text, testing::HasSubstr("st.global.u32 [%rd3], %r2"));
  EXPECT_EQ(d.warp, 0u);
  EXPECT_EQ(d.lanes, 1u);
  EXPECT_THAT(d.notes, testing::Contains(testing::HasSubstr("add.u32: %r2 = 0x64")));
  EXPECT_THAT(d.notes, testing::Contains(testing::HasSubstr("global_store_requests: 2 by the plain executor, 0 by")));
}

std::string note_on_registers(const LaunchReport& r) {
  for (const Diagnostic& d : r.diagnostics)
    for (const std::string& note : d.notes)
      if (note.find("register") != std::string::npos) return note;
  return "none";
}

TEST(Shadow, NamesTheFirstRegisterThatDiffers) {
  std::vector<uint32_t> left;
  const std::string by_idle = note_on_registers(shadowed(std::make_shared<Idle>(), &left));
  EXPECT_THAT(by_idle, testing::HasSubstr("the first register that differs in lane 0: %rd1, 0x"));
  EXPECT_THAT(by_idle, testing::HasSubstr(", 0x0 by this one, "));
  // No two runs read the same time: %rd4 is the first that differs, under a guard and in a loop's last turn.
  std::string late = kernel(
      ".param .u64 out",
      "mov.u64 %rd5, there;\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 "
      "%rd3, %rd1, %rd2;\n"
      "mov.u32 %r3, 0;\nsetp.lt.u32 %p1, %r1, 40;\nLOOP:\nadd.u32 %r3, %r3, 3;\n@%p1 mov.u64 %rd4, %globaltimer;\n"
      "@%p1 cvt.u32.u64 %r4, %rd4;\n@!%p1 mov.u32 %r4, 7;\nadd.u32 %r2, %r4, %r3;\nsetp.lt.u32 %p2, %r3, 12;\n"
      "@%p2 bra LOOP;\nst.global.u32 [%rd3], %r2;\n");
  late.insert(late.find(".visible"), ".global .u32 there;\n");
  const std::string by_interpreter = note_on_registers(shadowed(nullptr, &left, late));
  EXPECT_THAT(by_interpreter, testing::HasSubstr("the first register that differs in lane 0: %rd4, 0x"));
  EXPECT_THAT(by_interpreter, testing::HasSubstr("mov.u64"));
}

}  // namespace
}  // namespace coalesce::machine::test
