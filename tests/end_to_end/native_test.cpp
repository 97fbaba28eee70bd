// Native code as a user meets it: switched to while a program runs, found in the cache by the next run, and no
// hindrance to a program that ends while its kernel is being compiled.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/end_to_end/command.h"

namespace coalesce::end_to_end {
namespace {

namespace fs = std::filesystem;

// Launches 2^18 elements `times` times round a loop of dependent steps, checks some, and ends.
constexpr const char* kSteps = R"(
#include <cstdio>
#include <cstdlib>
__global__ void steps(unsigned* out, int times) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned x = i;
  for (int k = 0; k < times; ++k) x = x * 1664525u + 1013904223u;
  out[i] = x;
}
int main(int, char** argv) {
  const int times = std::atoi(argv[1]), n = 1 << 18;
  unsigned *out, *host = new unsigned[n];
  cudaMalloc(reinterpret_cast<void**>(&out), n * sizeof(unsigned));
  steps<<<n / 256, 256>>>(out, times);
  cudaMemcpy(host, out, n * sizeof(unsigned), cudaMemcpyDeviceToHost);
  for (unsigned i = 0; i < n; i += 12345) {
    unsigned x = i;
    for (int k = 0; k < times; ++k) x = x * 1664525u + 1013904223u;
    if (host[i] != x) return 1;
  }
  std::puts("right");
  return 0;
}
)";

class NativeTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(COALESCE_BINARY_DIR "/lib/libcoalesce_native.so")) GTEST_SKIP() << "built without LLVM";
    const fs::path source = here.write("steps.cu", kSteps);
    folder = source.parent_path();
    ASSERT_EQ(run(source.string(), "compiled", "interpreter", "1").code, 0);
    for (const auto& entry : fs::directory_iterator(folder / "compiled/coalesce"))
      if (fs::exists(entry.path() / "program")) program = (entry.path() / "program").string();
    ASSERT_FALSE(program.empty());
  }
  // With a cache folder of this name.
  Result run(const std::string& what, const std::string& cache, const std::string& engine, const std::string& times) {
    return here.call({"env", "XDG_CACHE_HOME=" + (folder / cache).string(), kCommand, "run", "-q", "--engine", engine,
                      "--compiler", "clang", "--json", (folder / "json").string(), what, times});
  }
  std::size_t objects(const std::string& cache) const {
    std::size_t count = 0;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder / cache / "coalesce", none))
      count += entry.path().extension() == ".object";
    return count;
  }
  const Workplace here;
  fs::path folder;
  std::string program;
};

class NativeNightlyTest : public NativeTest {};
TEST_F(NativeNightlyTest, ARunLeavesItsCodeToTheNext) {
  ASSERT_EQ(run(program, "a", "interpreter", "100").code, 0);
  const nlohmann::json interpreted = here.json();
  EXPECT_EQ(objects("a"), 0u);
  ASSERT_EQ(run(program, "a", "native", "100").code, 0);
  EXPECT_EQ(here.json()["launches"], interpreted["launches"]);
  EXPECT_EQ(objects("a"), 1u);
  ASSERT_EQ(run(program, "a", "auto", "100").code, 0);
  EXPECT_EQ(here.json()["launches"], interpreted["launches"]);
  EXPECT_EQ(objects("a"), 1u);
}

// Some 10 to 50 million warp instructions: compiling has begun and, in some of the runs, not ended when the program
// does.
TEST_F(NativeTest, AProgramMayEndWhileItsKernelIsCompiled) {
  for (const char* times : {"250", "400", "500", "700", "1000", "1400"}) {
    const Result result = run(program, times, "auto", times);
    EXPECT_EQ(result.code, 0) << times << result.err;
    EXPECT_EQ(result.out, "right\n") << times;
  }
}

// A source that was compiled serves every folder; with flags of the user's, which may name the current one's, only its
// own.
TEST(CompiledProgramsNightly, ServeEveryFolder) {
  const Workplace here;
  const fs::path source = here.write("steps.cu", kSteps), folder = source.parent_path(), cache = folder / "cache";
  const auto programs_after = [&](const char* from, std::vector<std::string> flags) {
    fs::create_directories(folder / from);
    std::vector<std::string> words = {
        "env",        "-C",   (folder / from).string(), "XDG_CACHE_HOME=" + cache.string(), kCommand, "run", "-q",
        "--compiler", "clang"};
    words.insert(words.end(), flags.begin(), flags.end());
    words.insert(words.end(), {source.string(), "1"});
    EXPECT_EQ(here.call(words).code, 0);
    int programs = 0;
    for (const auto& entry : fs::directory_iterator(cache / "coalesce"))
      programs += fs::exists(entry.path() / "program");
    return programs;
  };
  EXPECT_EQ(programs_after("one", {}), 1);
  EXPECT_EQ(programs_after("two", {}), 1);
  EXPECT_EQ(programs_after("one", {"-X", "-Iheaders"}), 2);
  EXPECT_EQ(programs_after("two", {"-X", "-Iheaders"}), 3);
  EXPECT_EQ(programs_after("one", {"-X", "-Wl,-Llib"}), 4);
  EXPECT_EQ(programs_after("two", {"-X", "-Wl,-Llib"}), 5);
  EXPECT_EQ(programs_after("one", {"-X", "-DOTHER"}), 6);
  EXPECT_EQ(programs_after("two", {"-X", "-DOTHER"}), 6);
}

TEST(CompiledPrograms, TakeTheUsersCopyOfTheLibrary) {
  const Workplace here;
  const fs::path source = here.write("uses.cu", R"(
#include <coalesce/reduce.cuh>
int main() { return kWhose; }
)");
  const fs::path headers = source.parent_path() / "headers";
  fs::create_directories(headers / "coalesce");
  std::ofstream(headers / "coalesce/reduce.cuh") << "constexpr int kWhose = 7;\n";
  EXPECT_EQ(here.coalesce({"--compiler", "clang", "-X", "-I" + headers.string(), source.string()}).code, 7);
}

}  // namespace
}  // namespace coalesce::end_to_end
