// The reduction ladder: exact where a GPU has counted it, and right for sizes that divide by nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "tests/end_to_end/command.h"

namespace coalesce::end_to_end {
namespace {

const std::string kLadder = "/lab/reduce/reduce.cu";

class LadderTest : public testing::TestWithParam<std::string> {};

// Counted by an H200 for n = 2^24 in blocks of 512. The last three rungs load every element once, in whole sectors: n *
// 4 bytes / 32 a sector; single_pass loads its partial sums again. What those store depends on how many blocks fit the
// device.
TEST_P(LadderTest, CountsWhatTheHardwareCounts) {
  NEEDS_COMPILER(GetParam());
  struct Figures {
    uint64_t load_sectors, store_sectors;
  };
  const std::map<std::string, Figures> measured = {
      {"neighbored_global", {16744448, 8388608}}, {"neighbored_shared", {2097152, 32768}},
      {"halving_global", {5373952, 2654208}},     {"halving_shared", {2097152, 32768}},
      {"unroll4_global", {3440640, 1187840}},     {"unroll4_shared", {2097152, 8192}},
      {"unroll4_dynamic", {2097152, 8192}},
  };
  const Workplace here;
  const Result result = here.coalesce({"--compiler", GetParam(), kSource + kLadder});
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 11) << result.out;
  std::map<std::string, nlohmann::json> counted;
  const nlohmann::json run = here.json();
  for (const auto& launch : run.at("launches")) {
    // "void coalesce::detail::reduce_whole<...>(...)": the library's has its result, namespaces and types in its name.
    std::string kernel = launch.at("kernel");
    kernel = kernel.substr(0, kernel.find_first_of("(<"));
    kernel = kernel.substr(kernel.find_last_of(" :") + 1);
    EXPECT_TRUE(counted.emplace(kernel, launch.at("counters")).second) << kernel;
  }
  ASSERT_EQ(counted.size(), 11u);
  for (const auto& [rung, figures] : measured) {
    ASSERT_TRUE(counted.contains(rung)) << rung;
    EXPECT_EQ(counted[rung].at("global_load_sectors"), figures.load_sectors) << rung;
    EXPECT_EQ(counted[rung].at("global_store_sectors"), figures.store_sectors) << rung;
  }
  constexpr uint64_t kOnce = (uint64_t{1} << 24) * 4 / 32;
  EXPECT_EQ(counted["warp_shuffle"].at("global_load_sectors"), kOnce);
  EXPECT_EQ(counted["vector_load"].at("global_load_sectors"), kOnce);
  EXPECT_GE(counted["single_pass"].at("global_load_sectors"), kOnce);
  EXPECT_LE(counted["single_pass"].at("global_load_sectors"), kOnce + kOnce / 1000);
  EXPECT_GE(counted["reduce_whole"].at("global_load_sectors"), kOnce);
  EXPECT_LE(counted["reduce_whole"].at("global_load_sectors"), kOnce + kOnce / 1000);
}

// The sizes and the lab's table: by clang in every change, by nvcc every night.
class LadderSizes : public testing::TestWithParam<std::string> {};

TEST_P(LadderSizes, AreRightForEveryBlock) {
  NEEDS_COMPILER(GetParam());
  const Workplace here;
  for (const char* block : {"64", "512", "1024"}) {
    for (const char* n : {"0", "1", "31", "33", "63", "65", "511", "513", "1025", "2047", "4099", "100003"}) {
      const Result result = here.coalesce({"--compiler", GetParam(), kSource + kLadder, "--n", n, "--block", block});
      ASSERT_EQ(result.code, 0) << "n " << n << ", block " << block << '\n' << result.out << result.err;
      std::istringstream lines(result.out);
      int right = 0;
      for (std::string line; std::getline(lines, line);) right += line.ends_with("  ok");
      EXPECT_EQ(right, 11) << "n " << n << ", block " << block << '\n' << result.out;
    }
  }
}

TEST_P(LadderSizes, TheLabPrintsEveryRung) {
  NEEDS_COMPILER(GetParam());
  const Workplace here;
  const Result result =
      here.call({kCommand, "lab", "reduce", "--compiler", GetParam(), "--n", "10007", "--block", "128"});
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* rung : {"neighbored_global", "halving_shared", "unroll4_dynamic", "single_pass"}) {
    EXPECT_NE(result.out.find(rung), std::string::npos) << result.out;
  }
  EXPECT_EQ(result.out.find("wrong"), std::string::npos) << result.out;
}

// ./dev docs put it there.
TEST(Documents, TheReadmeShowsTheRunAsItIs) {
  const Workplace here;
  const Result result =
      here.call({kCommand, "run", "--compiler", "clang", "--color", "never", kSource + "/examples/transpose.cu"});
  ASSERT_EQ(result.code, 0) << result.err;
  const std::string shown = result.out + result.err;  // the program's output, then the table
  EXPECT_NE(shown.find("transpose_padded"), std::string::npos) << shown;
  EXPECT_NE(here.read(kSource + "/README.md").find("\n" + shown + "```\n"), std::string::npos)
      << "./dev docs makes it anew:\n"
      << shown;
}

std::string compiler_as_name(const testing::TestParamInfo<std::string>& test) { return test.param; }
INSTANTIATE_TEST_SUITE_P(Compilers, LadderTest, testing::Values("clang"), compiler_as_name);
INSTANTIATE_TEST_SUITE_P(Nightly, LadderTest, testing::Values("nvcc"), compiler_as_name);
INSTANTIATE_TEST_SUITE_P(Compilers, LadderSizes, testing::Values("clang"), compiler_as_name);
INSTANTIATE_TEST_SUITE_P(Nightly, LadderSizes, testing::Values("nvcc"), compiler_as_name);

}  // namespace
}  // namespace coalesce::end_to_end
