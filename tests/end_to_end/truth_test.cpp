// The kernels that a GPU has counted (tests/truth/kernels.json: an H200, Nsight Compute), compiled and run here. Every
// counter of that file, for every kernel, exactly.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/end_to_end/command.h"

namespace coalesce::end_to_end {
namespace {

class TruthTest : public testing::TestWithParam<std::string> {};

TEST_P(TruthTest, EveryCounterOfEveryKernel) {
  const std::string compiler = GetParam();
  NEEDS_COMPILER(compiler);
  const Workplace here;
  const Result result = here.coalesce({"--compiler", compiler, kSource + "/tests/end_to_end/counters.cu"});
  ASSERT_EQ(result.code, 0) << result.err;

  // The program's output names what each launch was: `kernel<TAB>what`, in launch order.
  std::vector<std::string> what;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) {
    if (const auto tab = line.find('\t'); tab != std::string::npos) what.push_back(line.substr(tab + 1));
  }
  const auto truth = nlohmann::json::parse(std::ifstream(kSource + "/tests/truth/kernels.json"));
  const auto launches = here.json().at("launches");
  ASSERT_EQ(launches.size(), truth.size());
  ASSERT_EQ(what.size(), truth.size());
  for (size_t i = 0; i < truth.size(); ++i) {
    ASSERT_EQ(what[i], truth[i].at("what").get<std::string>());
    EXPECT_FALSE(truth[i].at("counters").empty());
    for (const auto& [name, measured] : truth[i].at("counters").items()) {
      const auto& counters = launches[i].at("counters");
      ASSERT_TRUE(counters.contains(name)) << name;
      EXPECT_EQ(counters.at(name), measured) << what[i] << ": " << name;
    }
  }
}

// The second compiler runs every night.
INSTANTIATE_TEST_SUITE_P(Compilers, TruthTest, testing::Values("clang"), [](const auto& test) { return test.param; });
INSTANTIATE_TEST_SUITE_P(Nightly, TruthTest, testing::Values("nvcc"), [](const auto& test) { return test.param; });

}  // namespace
}  // namespace coalesce::end_to_end
