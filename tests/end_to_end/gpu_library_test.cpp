// libcoalesce_gpu in front of a CUDA runtime, which here is the machine's: launches are repeated on memory that is put
// back, counters come from a CUPTI that answers 1000 and up (tests/gpu/fake_cupti.cpp), copies and waits are
// seen.
#include <gtest/gtest.h>

#include <sstream>

#include "tests/end_to_end/command.h"

namespace coalesce::end_to_end {
namespace {

using Json = nlohmann::json;

// The program under the library; its record, line by line.
std::vector<Json> measured(const Workplace& here, const std::vector<std::string>& settings,
                           const std::vector<std::string>& program, Result& result) {
  // NOLINTNEXTLINE(bugprone-suspicious-missing-comma): a name and its value, from the build
  std::vector<std::string> words = {"env", "LD_PRELOAD=" GPU_LIBRARY, "COALESCE_GPU_RECORD=record",
                                    "COALESCE_CUPTI=" FAKE_CUPTI, "COALESCE_GPU_BATCH=1"};
  words.insert(words.end(), settings.begin(), settings.end());
  words.insert(words.end(), {kCommand, "run", "-q", "--compiler", "clang"});
  words.insert(words.end(), program.begin(), program.end());
  result = here.call(words);
  std::vector<Json> lines;
  std::istringstream text(here.read("record"));
  for (std::string line; std::getline(text, line);) lines.push_back(Json::parse(line));
  return lines;
}

std::vector<Json> of(const std::vector<Json>& lines, const char* what) {
  std::vector<Json> found;
  for (const Json& line : lines) {
    if (line.contains(what)) found.push_back(line);
  }
  return found;
}

// Six of the eleven rungs work in place or take tickets: without the memory as it was, a second run gives another sum.
TEST(GpuLibrary, RepeatsEveryLaunchOnTheSameMemory) {
  const Workplace here;
  Result result;
  const auto lines = measured(here, {"COALESCE_GPU_REPEAT=3", "COALESCE_GPU_COUNTERS=1"},
                              {kSource + "/lab/reduce/reduce.cu", "--n", "10007"}, result);
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_EQ(result.out.find("wrong"), std::string::npos) << result.out;
  const auto launches = of(lines, "launch");
  ASSERT_EQ(launches.size(), 11u);
  for (const Json& launch : launches) {
    EXPECT_EQ(launch["times"]["cold"].size(), 3u);
    EXPECT_EQ(launch["times"]["warm"].size(), 3u);
    EXPECT_EQ(launch["counters"]["global_load_requests"], 1000);
  }
  EXPECT_TRUE(of(lines, "note").empty());
  EXPECT_EQ(of(lines, "end").size(), 1u);
  EXPECT_EQ(lines[0]["on"], "gpu");
}

TEST(GpuLibrary, WithoutCuptiTimesRemain) {
  const Workplace here;
  Result result;
  const auto lines =
      measured(here, {"COALESCE_GPU_COUNTERS=1", "FAKE_CUPTI_FAIL=cuptiRangeProfilerEnable", "FAKE_CUPTI_RESULT=35"},
               {kSource + "/lab/reduce/reduce.cu", "--n", "1000", "--rung", "warp_shuffle"}, result);
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  const auto notes = of(lines, "note");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0]["note"].get<std::string>().find("NVreg_RestrictProfilingToAdminUsers=0"), std::string::npos);
  const auto launches = of(lines, "launch");
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_GT(launches[0]["seconds"], 0);
  EXPECT_TRUE(launches[0]["counters"].empty());
}

TEST(GpuLibrary, PlainTimesCopiesAndTheWhole) {
  const Workplace here;
  Result result;
  const auto lines = measured(here, {"COALESCE_GPU_PLAIN=1"},
                              {kSource + "/lab/transfer/transfer.cu", "--n", "100000", "--rung", "overlapped"}, result);
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_TRUE(of(lines, "launch").empty());
  const auto copies = of(lines, "copies");
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0]["copies"]["h2d"]["calls"], 8);
  EXPECT_EQ(copies[0]["copies"]["h2d"]["bytes"], 400000);
  const auto span = of(lines, "span");
  ASSERT_EQ(span.size(), 1u);
  EXPECT_GE(span[0]["span"], copies[0]["copies"]["h2d"]["seconds"]);
}

// Pending counters are read before the device is reset, and counting restarts after it.
TEST(GpuLibrary, AResetOfTheDeviceLosesNothing) {
  const Workplace here;
  here.write("reset.cu",
             "__global__ void one(int* p) { p[threadIdx.x] = 1; }\n"
             "int main() {\n"
             "  for (int i = 0; i < 2; ++i) {\n"
             "    int* p;\n"
             "    cudaMalloc(&p, 128);\n"
             "    one<<<1, 32>>>(p);\n"
             "    if (cudaDeviceReset()) return 1;\n"
             "  }\n"
             "}\n");
  Result result;
  const auto lines = measured(here, {"COALESCE_GPU_COUNTERS=1", "COALESCE_GPU_BATCH=32"}, {"reset.cu"}, result);
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  const auto launches = of(lines, "launch");
  ASSERT_EQ(launches.size(), 2u);
  for (const Json& launch : launches) EXPECT_EQ(launch["counters"]["global_load_requests"], 1000);
  EXPECT_EQ(of(lines, "record").size(), 2u);
  EXPECT_EQ(of(lines, "end").size(), 1u);
}

// Every launch is measured only so often; the others run.
TEST(GpuLibrary, LaunchesPastTheLimitOnlyRun) {
  const Workplace here;
  Result result;
  const auto lines = measured(here, {"COALESCE_GPU_COUNTERS=1", "COALESCE_GPU_LAUNCHES=2"},
                              {kSource + "/lab/addressing/addressing.cu", "--n", "4096"}, result);
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  std::map<int, int> launched;
  for (const Json& launch : of(lines, "launch")) ++launched[launch["kernel"]];
  for (const auto& [kernel, times] : launched) EXPECT_LE(times, 2) << kernel;
  ASSERT_EQ(of(lines, "note").size(), 1u);
}

}  // namespace
}  // namespace coalesce::end_to_end
