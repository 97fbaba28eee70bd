// When there is native code, and where it comes from: thresholds, the background thread, the cache folder.
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "cache/folder.h"
#include "tests/native/engine_fixture.h"
#include "tests/no_threads.h"
#include "tests/sanitized.h"

namespace coalesce::native {
namespace {

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

}  // namespace
}  // namespace coalesce::native
