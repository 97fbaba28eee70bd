// Compilations that do not end: who waits goes on interpreted, and the compiler is abandoned.
#include <time.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "native/tier/library.h"
#include "tests/native/engine_fixture.h"
#include "tests/sanitized.h"

namespace coalesce::native {
namespace {

// A compiler that compiles kernel `endless` until `let_go`. LLVM 19 has no end for some kernels
// (native/emit/mask_logic.cpp). It works for `busy`, by which an engine for which nobody waits knows it, and then
// sleeps.
std::atomic<bool> let_go = false;
std::atomic<int> entered = 0, returned = 0;
std::atomic<std::chrono::milliseconds> busy{};

std::chrono::nanoseconds spent_by_this_thread() {
  timespec spent{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return std::chrono::seconds(spent.tv_sec) + std::chrono::nanoseconds(spent.tv_nsec);
}

void endless_for_some(Request* request) {
  if (request->code->program->kernel != "endless") {
    static const CompileFunction compile = load_library(native_settings().library, request->error);
    return compile(request);
  }
  ++entered;
  const auto until = spent_by_this_thread() + busy.load();
  while (!let_go)
    if (spent_by_this_thread() > until) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ++returned;
}
// The kernel has other code as well: the cache knows kernels by their code.
const std::string kEndless = [] {
  std::string text = kKernel;
  text.replace(text.find(".entry k("), 9, ".entry endless(");
  return text.replace(text.find("%r4, 3, %r3"), 11, "%r4, 5, %r3");
}();

class EndlessTest : public EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    let_go = false;
    entered = returned = 0;
  }
  // The compiler returns to an engine that is gone.
  void TearDown() override {
    let_go = true;
    while (returned != entered) std::this_thread::yield();
    EngineTest::TearDown();
  }
  Settings settings(machine::Engine mode, std::chrono::milliseconds timeout) {
    Settings s = native_settings();
    s.engine = mode;
    s.folder = folder;
    s.timeout = timeout;
    busy = mode == machine::Engine::automatic ? timeout : std::chrono::milliseconds(0);
    s.compile = endless_for_some;
    s.warn = [this](const std::string& text) { warned += text; };
    return s;
  }
  static Ran run_endless(Bench& bench, Program& program, uint32_t blocks, uint32_t n) {
    return run(bench, program, blocks, n, "endless");
  }
  static Ran endless_interpreted(uint32_t blocks, uint32_t n) {
    Bench bench(1);
    return run_endless(bench, *endless(bench), blocks, n);
  }
  static std::shared_ptr<Program> endless(Bench& bench) { return bench.machine().load(kEndless, "test.ptx"); }
  std::string warned;
};

TEST_F(EndlessTest, WhoWaitsIsInterpretedAndOthersAreCompiled) {
  // Long enough for compilations that end, also under a sanitizer on a busy computer.
  const auto native =
      std::make_shared<Engine>(settings(machine::Engine::native, std::chrono::seconds(kSanitized ? 8 : 3)));
  Bench bench(1, kMost, native);
  EXPECT_EQ(difference(endless_interpreted(3, 5), run_endless(bench, *endless(bench), 3, 5)), "");
  EXPECT_EQ(native->statistics().failed, 1u);
  EXPECT_THAT(warned, testing::HasSubstr("were not enough to compile kernel endless"));
  EXPECT_EQ(difference(interpreted(3, 5), run(bench, 3, 5)), "");
  EXPECT_EQ(native->statistics().compiled, 1u);
  EXPECT_EQ(native->statistics().failed, 1u);
}

TEST_F(EndlessTest, NobodyWaitsAndOthersAreCompiled) {
  {
    const auto native = std::make_shared<Engine>(settings(machine::Engine::automatic, std::chrono::seconds(1)));
    Bench bench(1, kMost, native);
    const Ran expected = endless_interpreted(8192, 64);
    const auto program = endless(bench);
    while (native->statistics().failed == 0)
      EXPECT_EQ(difference(expected, run_endless(bench, *program, 8192, 64)), "");
    EXPECT_THAT(warned, testing::HasSubstr("1 s were not enough to compile kernel endless"));
    const auto other = EngineTest::program(bench);
    EXPECT_EQ(difference(interpreted(16384, 64), run(bench, *other, 16384, 64)), "");
    native->wait();
    EXPECT_EQ(native->statistics().compiled, 1u);
  }
  for (const auto& file : std::filesystem::directory_iterator(folder)) EXPECT_NE(file.path().extension(), ".wanted");
  const int before = entered;
  const auto later = std::make_shared<Engine>(settings(machine::Engine::native, std::chrono::seconds(60)));
  Bench bench(1, kMost, later);
  EXPECT_EQ(difference(endless_interpreted(8192, 5), run_endless(bench, *endless(bench), 8192, 5)), "");
  EXPECT_EQ(later->statistics().found, 1u);  // that there is none
  EXPECT_EQ(entered, before);
}

}  // namespace
}  // namespace coalesce::native
