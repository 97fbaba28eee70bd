// tests/hazards: `coalesce check` finds each kernel's mistake, as what it is and on the line that says so, and nothing
// in the kernels put right.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/end_to_end/command.h"
#include "tests/sanitized.h"

namespace coalesce::end_to_end {
namespace {

// Those of each change have each kind of finding and each means of order once, the others more forms of the same:
// compiling them takes the time.
#define EACH_CHANGE \
  "scopes", "locks", "barriers", "uninitialised", "groups", "deadlocks", "pointers", "proxies", "clusters", "polls"
#define EACH_NIGHT                                                                                              \
  "flags", "shared", "copies", "memory", "everyday", "orders", "mixed", "stranger", "async", "reads", "copied", \
      "tickets", "far_proxies", "specialised", "unset", "forum"

using Found = std::map<std::string, std::set<std::string>>;  // by kernel: "LINE kind"

// libcu++'s own headers need nvcc.
std::string compiler_of(const std::string& family) { return family.starts_with("libcu_") ? "nvcc" : "clang"; }

std::string family_file(const std::string& family) { return kSource + "/tests/hazards/" + family + ".cu"; }

// The hazards that the source announces by `HERE: hazard`, and all its kernels.
Found announced_in(const std::string& family) {
  Found all;
  std::ifstream in(family_file(family));
  std::string kernel, line;
  for (int number = 1; std::getline(in, line); ++number) {
    const std::string here = "// HERE: ";
    for (const std::string begin : {"KERNEL(", "__global__ void "})
      if (line.starts_with(begin))
        kernel = line.substr(begin.size(), line.find_first_of("()", begin.size()) - begin.size());
    if (const auto at = line.find(here); at != std::string::npos)
      all[kernel].insert(std::to_string(number) + " " + line.substr(at + here.size()));
  }
  return all;
}

// The name of `void name<false>(int const*, ...)`.
std::string plain_name(std::string kernel) {
  kernel.erase(std::min(kernel.find('<'), kernel.size()));
  return kernel.substr(kernel.rfind(' ') + 1);
}

struct Checked {
  Checked(const Workplace& here, const std::string& family, std::vector<std::string> arguments) {
    std::vector<std::string> words{
        kCommand,           "check", "--json", "found", "--leaks", "error", "-q", "--compiler", compiler_of(family),
        family_file(family)};
    words.insert(words.end(), arguments.begin(), arguments.end());
    result = here.call(words);
    const auto report = here.json("found");
    for (const auto& f : report["findings"]) {
      if (f["kind"] == "leak" && f["line"].is_null()) continue;  // of the host, where a launch has ended early
      found[plain_name(f.value("kernel", ""))].insert(std::to_string(f["line"].is_null() ? 0 : f["line"].get<int>()) +
                                                      " " + f["kind"].get<std::string>());
    }
    text = report.dump(1);
  }
  Result result;
  Found found;
  std::string text;
};

class HazardsTest : public testing::TestWithParam<const char*> {};

TEST_P(HazardsTest, FindsEachMistakeAndNothingElse) {
  const std::string family = GetParam();
  const std::string compiler = compiler_of(family);
  if (compiler == "nvcc") NEEDS_COMPILER("nvcc");
  const Workplace here;
  const Result list = here.call({kCommand, "run", "-q", "--compiler", compiler, family_file(family), "list"});
  ASSERT_EQ(list.code, 0) << list.err;
  const Checked right(here, family, {"right"});
  EXPECT_EQ(right.result.code, 0) << right.result.err;
  EXPECT_EQ(right.found, Found{}) << right.text;
  Found found = Checked(here, family, {"wrong"}).found;
  std::istringstream lines(list.out);
  const Found expected = announced_in(family);
  // One by one, those that an earlier one's fault has kept from running, and every night all.
  for (std::string name; std::getline(lines, name);) {
    if (few_cases() && found.contains(name)) continue;
    found.merge(Checked(here, family, {name, "wrong"}).found);
  }
  for (const auto& [kernel, places] : expected) EXPECT_EQ(found[kernel], places) << kernel;
  for (const auto& [kernel, places] : found) EXPECT_TRUE(expected.contains(kernel)) << kernel;
}

// Findings are the same for any number of threads: their lanes and addresses, too.
void expect_same_for_threads(const std::string& family) {
  const Workplace here;
  const auto found = [&](const std::string& form, int threads) {
    here.call({"env", "COALESCE_THREADS=" + std::to_string(threads), kCommand, "check", "--json", "found", "--leaks",
               "error", "-q", "--compiler", "clang", family_file(family), form});
    const auto report = here.json("found");
    EXPECT_TRUE(report.contains("findings"));
    // Addresses of the host's memory are others in each process.
    return std::regex_replace(report.dump(1), std::regex("none near 0x[0-9a-f]+"), "none near");
  };
  for (const std::string form : {"wrong", "right"}) {
    const auto one = found(form, 1);
    for (const int threads : {2, 4}) EXPECT_EQ(found(form, threads), one) << family << ' ' << form << ' ' << threads;
  }
}
TEST(HazardsThreads, AnyNumberOfThreadsFindsTheSame) { expect_same_for_threads("locks"); }

class NightlyHazardsTest : public testing::TestWithParam<const char*> {};
TEST_P(NightlyHazardsTest, AnyNumberOfThreadsFindsTheSame) { expect_same_for_threads(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Families, NightlyHazardsTest,
                         testing::Values(EACH_CHANGE, EACH_NIGHT, "host_calls", "host_order", "host_graphs",
                                         "host_overlap"),
                         [](const auto& family) { return std::string(family.param); });

INSTANTIATE_TEST_SUITE_P(Families, HazardsTest, testing::Values(EACH_CHANGE),
                         [](const auto& family) { return std::string(family.param); });
INSTANTIATE_TEST_SUITE_P(Nightly, HazardsTest, testing::Values(EACH_NIGHT, "libcu_barriers", "libcu_pipelines"),
                         [](const auto& family) { return std::string(family.param); });

}  // namespace
}  // namespace coalesce::end_to_end
