// When there is native code, and where it comes from: thresholds, the background thread, the cache folder.
#include "native/tier/engine.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cache/folder.h"
#include "machine/ptx/parser.h"
#include "native/tier/fingerprint.h"
#include "native/tier/library.h"
#include "tests/machine/execute/harness.h"
#include "tests/no_threads.h"
#include "tests/random/native_code.h"
#include "tests/sanitized.h"

namespace coalesce::native {
namespace {

namespace fs = std::filesystem;
using namespace machine;
using namespace machine::test;

// 64 additions a thread, in a loop: some 200 warp instructions a warp.
const std::string kKernel = kernel(".param .u64 out, .param .u32 n", R"(
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

TEST_F(EngineTest, NativeCompilesBeforeTheFirstBlock) {
  const auto native = engine(machine::Engine::native);
  Bench bench(2, kMost, native);
  EXPECT_EQ(difference(interpreted(3, 5), run(bench, 3, 5)), "");
  EXPECT_EQ(native->statistics().compiled, 1u);
  EXPECT_EQ(native->statistics().found, 0u);
}

TEST_F(EngineTest, TinyLaunchesStayInterpreted) {
  const auto native = engine(machine::Engine::automatic);
  Bench bench(1, kMost, native);
  for (int k = 0; k < 3; ++k) run(bench, 2, 5);
  native->wait();
  EXPECT_EQ(native->statistics().compiled + native->statistics().found, 0u);
  EXPECT_TRUE(objects().empty());
}

TEST_F(EngineTest, ALargeLaunchSwitchesWhileItRuns) {
  const Ran expected = interpreted(8192, 64);  // 17 million warp instructions
  for (unsigned threads : {1u, 2u}) {
    fs::remove_all(folder);
    const auto native = engine(machine::Engine::automatic);
    Bench bench(threads, kMost, native);
    const auto kernel = program(bench);
    EXPECT_EQ(difference(expected, run(bench, *kernel, 8192, 64)), "") << threads;
    native->wait();
    EXPECT_EQ(native->statistics().compiled, threads == 1 ? 1u : native->statistics().compiled);
    EXPECT_EQ(difference(expected, run(bench, *kernel, 8192, 64)), "") << threads;
  }
}

TEST_F(EngineTest, ManySmallLaunchesAreALargeOne) {
  const auto native = engine(machine::Engine::automatic);
  Bench bench(1, kMost, native);
  Machine& machine = bench.machine();
  const auto program = machine.load(kKernel, "test");
  const Allocation* out = machine.memory().allocate(256 * 4 * 64, Origin::device, "out");
  LaunchConfig config{.grid = {64, 1, 1}, .block = {256, 1, 1}, .parameters = std::vector<uint8_t>(12)};
  const uint32_t n = 64;
  std::memcpy(config.parameters.data(), &out->base, 8);
  std::memcpy(config.parameters.data() + 8, &n, 4);
  for (int k = 0; k < 400 && native->statistics().compiled == 0; ++k) {  // 130,000 warp instructions each
    machine.launch(*program, "k", config);
    native->wait();
  }
  EXPECT_EQ(native->statistics().compiled, 1u);
}

TEST_F(EngineTest, WhereNoThreadCanBeStartedKernelsAreInterpreted) {
  const Ran expected = interpreted(8192, 64);
  for (const auto mode : {machine::Engine::automatic, machine::Engine::native}) {
    const NoThreads none;
    std::string warned;
    Settings settings = native_settings();
    settings.engine = mode;
    settings.warn = [&](const std::string& text) { warned += text + '\n'; };
    const auto native = std::make_shared<Engine>(std::move(settings));
    Bench bench(2, kMost, native);
    EXPECT_EQ(difference(expected, run(bench, 8192, 64)), "");
    EXPECT_EQ(native->statistics().compiled, 0u);
    EXPECT_THAT(warned, testing::StartsWith("kernels are interpreted, no thread to compile them can be started: "));
    EXPECT_EQ(std::count(warned.begin(), warned.end(), '\n'), 1);
  }
}

// The compiler ends with nothing left for what it would say, or what it made has no room.
TEST_F(EngineTest, WithoutMemoryKernelsAreInterpreted) {
  const Ran expected = interpreted(3, 5);
  static int asked = 0;
  asked = 0;
  Settings settings = native_settings();
  settings.engine = machine::Engine::native;
  settings.folder = folder;
  settings.compile = [](Request*) {
    ++asked;
    throw std::bad_alloc();
  };
  const auto native = std::make_shared<Engine>(std::move(settings));
  Bench bench(1, kMost, native);
  for (int k = 0; k < 2; ++k) {  // the thread goes on
    const auto kernel = program(bench);
    EXPECT_EQ(difference(expected, run(bench, *kernel, 3, 5)), "");
    EXPECT_EQ(difference(expected, run(bench, *kernel, 3, 5)), "");
  }
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(native->statistics().failed, 2u);
  EXPECT_TRUE(objects().empty());
}

TEST_F(EngineTest, TheCacheSparesCompiling) {
  const Ran expected = interpreted(3, 5);
  {
    Bench bench(1, kMost, engine(machine::Engine::native));
    run(bench, 3, 5);
  }
  ASSERT_EQ(objects().size(), 1u);
  const auto again = engine(machine::Engine::native);
  Bench bench(1, kMost, again);
  EXPECT_EQ(difference(expected, run(bench, 3, 5)), "");
  EXPECT_EQ(again->statistics().found, 1u);
  EXPECT_EQ(again->statistics().compiled, 0u);
  // Another block: another program, as its dimensions are part of it.
  Shape shape;
  shape.block = {64, 1, 1};
  bench.run(kKernel, {zeros<uint32_t>(256), value(5u)}, shape, "k");
  EXPECT_EQ(again->statistics().compiled, 1u);
}

// A process that ends before its kernels are compiled would otherwise be interpreted for ever.
TEST_F(EngineTest, WhatAnEarlierProcessWantedIsCompiledAtOnce) {
  for (const bool wanted : {false, true}) {
    fs::remove_all(folder);
    {
      Bench bench(1, kMost, engine(machine::Engine::native));
      run(bench, 8192, 5);
    }
    ASSERT_EQ(objects().size(), 1u);
    const fs::path object = objects()[0];
    if (wanted)
      fs::rename(object, object.string() + ".wanted");
    else
      fs::remove(object);
    const auto native = engine(machine::Engine::automatic);
    Bench bench(1, kMost, native);
    const auto stays = program(bench);
    run(bench, *stays, 8192, 64);  // 17 million warp instructions: alone no reason for haste
    EXPECT_EQ(native->statistics().foreground, wanted ? 1u : 0u);
    native->wait();
    EXPECT_EQ(objects(), std::vector<fs::path>{object});
  }
}

TEST_F(EngineTest, WhatIsCompiledAtLeisureIsNotedFirst) {
  std::vector<fs::path> noted;
  Settings settings = native_settings();
  settings.engine = machine::Engine::automatic;
  settings.folder = folder;
  settings.library = folder / "none.so";  // the compiling thread says so before it turns to the first kernel
  settings.warn = [&](const std::string&) { noted = objects(); };
  const auto native = std::make_shared<Engine>(std::move(settings));
  Bench bench(1, kMost, native);
  const auto stays = program(bench);
  run(bench, *stays, 8192, 64);
  native->wait();
  ASSERT_EQ(noted.size(), 1u);
  EXPECT_EQ(noted[0].extension(), ".wanted");
}

TEST_F(EngineTest, DamagedObjectsAreCompiledAnew) {
  const Ran expected = interpreted(3, 5);
  const auto fresh = [&] {
    const auto native = engine(machine::Engine::native);
    Bench bench(1, kMost, native);
    EXPECT_EQ(difference(expected, run(bench, 3, 5)), "");
    return native->statistics();
  };
  fresh();
  ASSERT_EQ(objects().size(), 1u);
  const fs::path object = objects()[0];
  const auto size = fs::file_size(object);
  for (const uint64_t shorter : {size - 1, size / 2, uint64_t{63}, uint64_t{0}}) {
    fs::resize_file(object, shorter);
    EXPECT_EQ(fresh().compiled, 1u) << shorter;
    EXPECT_EQ(fs::file_size(object), size);
  }
  for (const uint64_t at : {uint64_t{0}, size / 2, size - 1}) {
    std::fstream file(object, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 1));
    file.close();
    EXPECT_EQ(fresh().compiled, 1u) << at;
  }
  EXPECT_EQ(fresh().found, 1u);
}

TEST_F(EngineTest, ConcurrentRunsShareAFolder) {
  const Ran expected = interpreted(3, 5);
  std::vector<std::thread> runs;
  std::atomic<int> right{0};
  for (int k = 0; k < 4; ++k) {
    runs.emplace_back([&] {
      const auto native = engine(machine::Engine::native);
      Bench bench(1, kMost, native);
      right += difference(expected, run(bench, 3, 5)).empty();
      right += native->statistics().compiled + native->statistics().found == 1;
    });
  }
  for (std::thread& run : runs) run.join();
  EXPECT_EQ(right, 8);
  EXPECT_EQ(objects().size(), 1u);
}

TEST_F(EngineTest, KernelsThatAreGoneAreForgotten) {
  const auto native = engine(machine::Engine::native);
  Bench bench(1, kMost, native);
  for (int k = 0; k < 5; ++k) EXPECT_EQ(difference(interpreted(1, 5), run(bench, 1, 5)), "");
  EXPECT_EQ(native->statistics().compiled, 1u);
  EXPECT_EQ(native->statistics().found, 4u) << "each load is a program of its own";
}

TEST_F(EngineTest, AFolderThatCannotBeWrittenIsNoTrouble) {
  std::ofstream(folder / "file") << "";
  Settings settings = native_settings();
  settings.folder = folder / "file";
  const auto native = std::make_shared<Engine>(settings);
  Bench bench(1, kMost, native);
  EXPECT_EQ(difference(interpreted(3, 5), run(bench, 3, 5)), "");
  EXPECT_EQ(native->statistics().compiled, 1u);
}

TEST_F(EngineTest, WithoutTheLibraryKernelsAreInterpreted) {
  Settings settings = native_settings();
  settings.library = folder / "none.so";
  std::string said;
  settings.warn = [&](const std::string& text) { said = text; };
  const auto native = std::make_shared<Engine>(settings);
  Bench bench(1, kMost, native);
  EXPECT_EQ(difference(interpreted(3, 5), run(bench, 3, 5)), "");
  EXPECT_EQ(native->statistics().failed, 1u);
  EXPECT_THAT(said, testing::HasSubstr("none.so"));
}

// LLVM would end the process: code of 64 bits for a CPU that has none.
TEST_F(EngineTest, WhatLlvmCannotCompileIsInterpreted) {
  if (kAddressSanitizer) GTEST_SKIP() << "what LLVM leaves behind then counts as leaked";
  Settings settings = native_settings();
  settings.cpu = "pentium";
  const auto native = std::make_shared<Engine>(settings);
  Bench bench(1, kMost, native);
  EXPECT_EQ(difference(interpreted(3, 5), run(bench, 3, 5)), "");
  EXPECT_EQ(native->statistics().failed, 1u);
}

// A compiler that does not come back from kernel `endless`, as LLVM 19 did not from some (native/generate/masks.cpp),
// before `let_go`.
std::atomic<bool> let_go = false;
std::atomic<int> entered = 0, came_back = 0;
void endless_for_some(Request* request) {
  if (request->code->program->kernel != "endless") {
    static const CompileFunction compile = load_library(native_settings().library, request->error);
    return compile(request);
  }
  ++entered;
  while (!let_go) {}
  ++came_back;
}
// Other code too: what is kept of a kernel has no name.
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
    entered = came_back = 0;
  }
  // Comes back to an engine that is gone.
  void TearDown() override {
    let_go = true;
    while (came_back != entered) std::this_thread::yield();
    EngineTest::TearDown();
  }
  Settings settings(machine::Engine mode, std::chrono::milliseconds timeout) {
    Settings s = native_settings();
    s.engine = mode;
    s.folder = folder;
    s.timeout = timeout;
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
  // Long enough for what does come back, also under a sanitizer on a busy computer.
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
    const auto native = std::make_shared<Engine>(settings(machine::Engine::automatic, std::chrono::seconds(2)));
    Bench bench(1, kMost, native);
    const Ran expected = endless_interpreted(8192, 64);
    const auto program = endless(bench);
    while (native->statistics().failed == 0)
      EXPECT_EQ(difference(expected, run_endless(bench, *program, 8192, 64)), "");
    EXPECT_THAT(warned, testing::HasSubstr("2 s were not enough to compile kernel endless"));
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

// Decoded as a launch with these blocks decodes it.
std::unique_ptr<Decoded> decoded(const std::string& ptx, std::array<uint32_t, 3> block) {
  struct Nothing : SymbolTable {
    Symbol symbol(const std::string&) const override { return {}; }
    uint64_t function_address(const std::string&) const override { return 0; }
  };
  const ptx::Module module = ptx::parse(ptx, "test");
  return decode(module, module.functions[0], Nothing(), LaunchShape{block, {1, 1, 1}});
}
std::string fingerprint_of(const std::string& ptx, std::array<uint32_t, 3> block) {
  return fingerprint(*decoded(ptx, block));
}

// The compiling thread goes on while the process ends, so nothing that it uses may be destroyed then: here it compiles
// in an exit handler that was registered before LLVM was loaded, and so runs after all that LLVM would have registered.
void compile_at_the_end() {
  static const std::shared_ptr<const Code> code = lower(decoded(kKernel, {256, 1, 1}));
  static CompileFunction compile = nullptr;
  static Request before;
  before.code = code.get();
  std::atexit([] {
    Request after;
    after.code = code.get();
    compile(&after);
    std::_Exit(after.error.empty() && after.object.code == before.object.code ? 0 : 1);
  });
  compile = load_library(native_settings().library, before.error);
  if (compile) compile(&before);
  std::exit(before.error.empty() && !before.object.code.empty() ? 2 : 3);
}

TEST(CompilerTest, NothingOfItIsDestroyedAtExit) {
  if (!fs::exists(native_settings().library)) GTEST_SKIP() << "built without LLVM";
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process in which LLVM has not been loaded
  EXPECT_EXIT(compile_at_the_end(), testing::ExitedWithCode(0), "");
}

TEST(Fingerprint, SaysWhatTheCodeDependsOn) {
  const std::string same = fingerprint_of(kKernel, {256, 1, 1});
  EXPECT_EQ(fingerprint_of(kKernel, {256, 1, 1}), same);
  EXPECT_EQ(fingerprint_of("// a comment\n" + kKernel, {256, 1, 1}), same) << "lines are not code";
  EXPECT_NE(fingerprint_of(kKernel, {128, 2, 1}), same);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = kKernel;
    text.replace(text.find(from), from.size(), to);
    return fingerprint_of(text, {256, 1, 1});
  };
  EXPECT_NE(with("%r4, 3,", "%r4, 5,"), same) << "a constant";
  EXPECT_NE(with("mad.lo.u32 %r4", "mad.lo.s32 %r4"), same) << "an operation";
  EXPECT_NE(with("%r4, %r4, 3, %r3", "%r4, %r5, 3, %r3"), same) << "an operand";
  EXPECT_NE(with("@%p1 bra", "@!%p1 bra"), same) << "a guard";
  EXPECT_NE(with("st.global.u32", "st.volatile.global.u32"), same) << "a way of access";
}

TEST(CacheEntries, TheLeastRecentlyUsedGoFirst) {
  std::string pattern = testing::TempDir() + "coalesce-entries-XXXXXX";
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const fs::path folder = pattern;
  const auto hours = [&](const char* name, int age) {
    fs::last_write_time(folder / name, fs::file_time_type::clock::now() - std::chrono::hours(age));
  };
  const std::string kilobyte(1000, 'x');
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(cache::keep(folder, name, kilobyte));
  hours("a", 3), hours("b", 2), hours("c", 1);
  EXPECT_EQ(cache::find(folder, "a"), kilobyte) << "used now";
  ASSERT_TRUE(cache::keep(folder, "d", kilobyte, 3500));
  EXPECT_TRUE(cache::find(folder, "a"));
  EXPECT_FALSE(cache::find(folder, "b"));
  EXPECT_TRUE(cache::find(folder, "d"));
  // Left by a run that was killed; and one that is being written.
  std::ofstream(folder / "new-000000") << "half";
  std::ofstream(folder / "new-111111") << "half";
  hours("new-000000", 2);
  ASSERT_TRUE(cache::keep(folder, "e", kilobyte));
  EXPECT_FALSE(fs::exists(folder / "new-000000"));
  EXPECT_TRUE(fs::exists(folder / "new-111111"));
  // Empty files are bounded, too.
  std::ofstream{folder / "empty"}.close();
  hours("empty", 4);
  ASSERT_TRUE(cache::keep(folder, "f", kilobyte, 8000));
  EXPECT_FALSE(fs::exists(folder / "empty"));
  fs::remove_all(folder);
}

TEST(CacheEntries, WhatOthersMayWriteIsNotRead) {
  std::string pattern = testing::TempDir() + "coalesce-entries-XXXXXX";
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const fs::path folder = pattern;
  ASSERT_TRUE(cache::keep(folder, "a", "bytes"));
  EXPECT_TRUE(cache::find(folder, "a"));
  fs::permissions(folder / "a", fs::perms::others_write, fs::perm_options::add);
  EXPECT_FALSE(cache::find(folder, "a"));
  fs::create_symlink("a", folder / "b");
  EXPECT_FALSE(cache::find(folder, "b"));
  fs::create_directory(folder / "c");
  EXPECT_FALSE(cache::find(folder, "c"));
  if (geteuid() == 0) {
    fs::permissions(folder / "a", fs::perms::owner_read, fs::perm_options::replace);
    EXPECT_TRUE(cache::find(folder, "a"));
    ASSERT_EQ(chown((folder / "a").c_str(), 1, 1), 0);
    EXPECT_FALSE(cache::find(folder, "a"));
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace coalesce::native
