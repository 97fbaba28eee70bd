// A kernel, and engines with a cache folder of their own.
#pragma once

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "native/tier/engine.h"
#include "tests/machine/execute/harness.h"
#include "tests/random/native_code.h"

namespace coalesce::native {

namespace fs = std::filesystem;
using namespace machine;        // NOLINT(google-build-using-namespace): for tests of native code only
using namespace machine::test;  // NOLINT(google-build-using-namespace)

// 64 additions a thread, in a loop: some 200 warp instructions a warp.
inline const std::string kKernel = kernel(".param .u64 out, .param .u32 n", R"(
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r9, [n];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mad.lo.u32 %r3, %r2, 256, %r1;
  mul.wide.u32 %rd2, %r3, 4;
  add.u64 %rd3, %rd1, %rd2;
  mov.u32 %r4, 0;
  mov.u32 %r5, 0;
NEXT:
  mad.lo.u32 %r4, %r4, 3, %r3;
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p1, %r5, %r9;
  @%p1 bra NEXT;
  st.global.u32 [%rd3], %r4;
)");

class EngineTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!native_code()) GTEST_SKIP() << "built without LLVM";
    std::string pattern = testing::TempDir() + "coalesce-native-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }

  std::shared_ptr<Engine> engine(machine::Engine mode) const {
    Settings settings = native_settings();
    settings.engine = mode;
    settings.folder = folder;
    return std::make_shared<Engine>(std::move(settings));
  }
  // `blocks` of 256 threads, each with `n` times round the loop.
  static Ran run(Bench& bench, uint32_t blocks, uint32_t n) { return run(bench, *program(bench), blocks, n); }
  // Runs a kernel of a program that outlives the launch: no code is made for programs that are gone.
  static Ran run(Bench& bench, Program& program, uint32_t blocks, uint32_t n, const std::string& name = "k") {
    Shape shape;
    shape.grid = {blocks, 1, 1};
    shape.block = {256, 1, 1};
    return bench.run(program, {zeros<uint32_t>(std::size_t{blocks} * 256), value(n)}, shape, name);
  }
  static std::shared_ptr<Program> program(Bench& bench) { return bench.machine().load(kKernel, "test.ptx"); }
  static Ran interpreted(uint32_t blocks, uint32_t n) {
    Bench bench(1);
    return run(bench, blocks, n);
  }
  std::vector<fs::path> objects() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder)) found.push_back(entry.path());
    return found;
  }
  static constexpr uint64_t kMost = Shape{}.max_instructions;
  fs::path folder;
};

}  // namespace coalesce::native
