// Ctrl-C: a terminal sends SIGINT to the whole group; `kill` sends it to the command alone. Either way the launches
// that finished are in the JSON and the exit code is 130; after SIGTERM it is 143.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "tests/end_to_end/command.h"

namespace coalesce::end_to_end {
namespace {

class InterruptTest : public testing::TestWithParam<std::tuple<bool, int>> {};

TEST_P(InterruptTest, KeepsWhatFinished) {
  const Workplace here;
  here.write("x.cu", R"(#include <cuda_runtime.h>
#include <cstdio>
__global__ void quick(int* out) { out[threadIdx.x] = threadIdx.x; }
__global__ void endless(volatile int* out) { while (out[0] == 0) out[1] = 1; }
int main(int argc, char**) {
  int* out;
  cudaMalloc(&out, 256);
  quick<<<1, 32>>>(out);
  cudaDeviceSynchronize();
  std::fclose(std::fopen("ready", "w"));
  if (argc > 1) return 0;
  endless<<<1, 32>>>(out);
  cudaDeviceSynchronize();
})");
  // Compiled first: the signal is for the run.
  ASSERT_EQ(here.coalesce({"--compiler", "clang", "x.cu", "compile"}).code, 0);
  std::filesystem::remove(here.write("ready", ""));
  const pid_t child = here.start({kCommand, "run", "--json", "json", "--compiler", "clang", "x.cu"});
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!here.exists("ready") && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ASSERT_TRUE(here.exists("ready"));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // well inside the endless launch
  const auto [group, signal] = GetParam();
  ASSERT_EQ(kill(group ? -child : child, signal), 0);
  const auto sent = std::chrono::steady_clock::now();
  const Result result = here.finish(child);
  EXPECT_EQ(result.code, 128 + signal) << result.err;
  // Nobody exceeded a budget, and what an endless loop reads again is no finding.
  EXPECT_THAT(result.err, testing::HasSubstr("endless: interrupted by a signal; its counters are of what ran\n"));
  EXPECT_THAT(result.err, testing::Not(testing::HasSubstr("budget")));
  EXPECT_THAT(result.err, testing::Not(testing::HasSubstr("times the bytes")));
  EXPECT_LT(std::chrono::steady_clock::now() - sent, std::chrono::seconds(10)) << "it must end now, not later";
  const auto json = here.json();
  ASSERT_TRUE(json.contains("launches")) << json;
  ASSERT_GE(json["launches"].size(), 1u);
  EXPECT_EQ(json["launches"][0]["counters"]["global_store_sectors"], 4);  // 32 lanes of 4 bytes
}

// Between launches a signal does what it does without us: it ends the program, or calls the program's handler.
TEST(Interrupts, BetweenLaunches) {
  const Workplace here;
  here.write("x.cu", R"(#include <cuda_runtime.h>
#include <signal.h>
#include <unistd.h>
#include <cstdio>
#include <cstring>
__global__ void quick(int* out) { out[threadIdx.x] = threadIdx.x; }
int main(int argc, char** argv) {
  int* out;
  cudaMalloc(&out, 256);
  quick<<<1, 32>>>(out);
  cudaDeviceSynchronize();
  if (std::strcmp(argv[1], "own") == 0) signal(SIGTERM, [](int) { _exit(7); });
  std::fclose(std::fopen("ready", "w"));
  while (std::strcmp(argv[1], "compile") != 0) pause();
})");
  ASSERT_EQ(here.coalesce({"--compiler", "clang", "x.cu", "compile"}).code, 0);
  for (const auto& [word, code] : {std::pair("default", 128 + SIGTERM), std::pair("own", 7)}) {
    std::filesystem::remove(here.write("ready", ""));
    const pid_t child = here.start({kCommand, "run", "--json", "json", "--compiler", "clang", "x.cu", word});
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!here.exists("ready") && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ASSERT_EQ(kill(-child, SIGTERM), 0);
    EXPECT_EQ(here.finish(child).code, code) << word;
    const auto json = here.json();
    ASSERT_TRUE(json.contains("launches")) << json;
    EXPECT_EQ(json["launches"].size(), 1u);
  }
}

// Nobody can forward SIGKILL: a kernel that never ends must not stay behind.
TEST(Interrupts, KilledCommandLeavesNoProgram) {
  const Workplace here;
  here.write("x.cu", R"(#include <cuda_runtime.h>
#include <unistd.h>
#include <cstdio>
__global__ void endless(volatile int* out) { while (out[0] == 0) out[1] = 1; }
int main(int argc, char**) {
  if (argc > 1) return 0;
  int* out;
  cudaMalloc(&out, 256);
  std::FILE* file = std::fopen("writing", "w");
  std::fprintf(file, "%d", static_cast<int>(getpid()));
  std::fclose(file);
  std::rename("writing", "program");
  endless<<<1, 32>>>(out);
  cudaDeviceSynchronize();
})");
  ASSERT_EQ(here.coalesce({"--compiler", "clang", "x.cu", "compile"}).code, 0);
  for (const char* subcommand : {"run", "check"}) {
    std::filesystem::remove(here.write("program", ""));
    const pid_t command = here.start({kCommand, subcommand, "--compiler", "clang", "x.cu"});
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    const auto wait = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
    while (!here.exists("program") && std::chrono::steady_clock::now() < deadline) wait();
    ASSERT_TRUE(here.exists("program")) << subcommand;
    const auto program = static_cast<pid_t>(std::stol(here.read("program")));
    ASSERT_EQ(kill(program, 0), 0) << subcommand;
    ASSERT_EQ(kill(command, SIGKILL), 0);
    here.finish(command);
    // Gone, or ended and not yet waited for by whoever inherits it.
    const auto lives = [&] {
      std::ifstream stat("/proc/" + std::to_string(program) + "/stat");
      std::string text;
      std::getline(stat, text);
      const auto state = text.rfind(") ");
      return state != std::string::npos && text[state + 2] != 'Z';
    };
    while (lives() && std::chrono::steady_clock::now() < deadline) wait();
    EXPECT_FALSE(lives()) << subcommand;
    if (lives()) kill(program, SIGKILL);
  }
}

INSTANTIATE_TEST_SUITE_P(SignalTo, InterruptTest, testing::Combine(testing::Bool(), testing::Values(SIGINT, SIGTERM)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param) ? "TheGroup" : "TheCommand") +
                                  (std::get<1>(test.param) == SIGINT ? "Interrupt" : "Terminate");
                         });

}  // namespace
}  // namespace coalesce::end_to_end
