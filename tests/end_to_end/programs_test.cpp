// Every program of tests/programs, by every compiler: it checks its own results and exits 0; what it counts, per launch
// and per source line, is the same interpreted and as native code, with one thread and with more. Lines `//
// expected-output:` say what it prints.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tests/end_to_end/command.h"

namespace coalesce::end_to_end {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> programs() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kSource + "/tests/programs")) {
    if (entry.path().extension() == ".cu") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The text after every `// expected-output: `, a line each; empty where the program's output is its own affair.
std::string expected_output(const std::string& source) {
  const std::string mark = "// expected-output: ";
  std::istringstream lines(source);
  std::string expected;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(mark)) expected += line.substr(mark.size()) + "\n";
  }
  return expected;
}

class ProgramTest : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(ProgramTest, IsRightAndCountsTheSameHoweverItRuns) {
  const auto& [name, compiler] = GetParam();
  NEEDS_COMPILER(compiler);
  const Workplace here;
  const std::string source = kSource + "/tests/programs/" + name + ".cu";
  const std::string expected = expected_output(here.read(source));
  nlohmann::json first;
  const std::pair<const char*, const char*> ways[] = {
      {"1", "interpreter"}, {"2", "interpreter"}, {"1", "native"}, {"2", "native"}, {"8", "native"}};
  for (const auto& [threads, engine] : ways) {
    if (engine == std::string("native") && !fs::exists(COALESCE_BINARY_DIR "/lib/libcoalesce_native.so")) continue;
    // The largest of them executes under 20 million warp instructions: one that hangs ends here, not at a time-out.
    const Result result = here.coalesce({"--compiler", compiler, "--threads", threads, "--engine", engine,
                                         "--max-instructions", "100000000", "--lines", source});
    ASSERT_EQ(result.code, 0) << engine << ", " << threads << " thread(s)\n" << result.out << result.err;
    if (!expected.empty()) EXPECT_EQ(result.out, expected) << engine << ", " << threads << " thread(s)";
    const nlohmann::json counted = here.json();
    ASSERT_TRUE(counted.contains("launches")) << counted;
    if (first.is_null()) {
      first = counted;
    } else {
      EXPECT_EQ(counted["launches"], first["launches"])
          << engine << ", " << threads << " thread(s)" << nlohmann::json::diff(first, counted);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, ProgramTest,
                         testing::Combine(testing::ValuesIn(programs()), testing::Values("clang", "nvcc")),
                         [](const auto& test) { return std::get<0>(test.param) + "_" + std::get<1>(test.param); });

}  // namespace
}  // namespace coalesce::end_to_end
