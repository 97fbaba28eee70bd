// `coalesce check`: each mistake of tests/end_to_end/hazards.cu is found, as what it is and on the line that says so,
// and the kernels put right are clean. (So is the library: library_test.cpp.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/end_to_end/command.h"

namespace coalesce::end_to_end {
namespace {

// Not a constant: kSource is made in another file, perhaps later.
std::string kernels() { return kSource + "/tests/end_to_end/hazards.cu"; }

using Finding = std::pair<std::string, int>;  // kind, line

// The findings that the source announces by `HERE: hazard ...`, by the kernel's name.
std::map<std::string, std::set<Finding>> announced() {
  std::map<std::string, std::set<Finding>> all;
  std::ifstream in(kernels());
  std::string kernel, line;
  for (int number = 1; std::getline(in, line); ++number) {
    const std::string begin = "__global__ void ", here = "// HERE: ";
    if (line.starts_with(begin)) kernel = line.substr(begin.size(), line.find('(') - begin.size());
    if (const auto at = line.find(here); at != std::string::npos) {
      std::istringstream kinds(line.substr(at + here.size()));
      for (std::string kind; kinds >> kind;) all[kernel].emplace(kind, number);
    }
  }
  return all;
}

class Check {
 public:
  Check(const Workplace& here, std::vector<std::string> words) {
    words.insert(words.begin(), {kCommand, "check", "--json", "found", "-q", "--compiler", "clang"});
    result = here.call(words);
    if (here.exists("found")) report = here.json("found");
    for (const auto& f : report.value("findings", nlohmann::json::array())) {
      findings.emplace(f["kind"].get<std::string>(), f["line"].is_null() ? 0 : f["line"].get<int>());
      text += f.dump(1) + '\n';
    }
  }
  Result result;
  nlohmann::json report;
  std::set<Finding> findings;
  std::string text;
};

TEST(CheckTest, FindsEachMistakeAndNothingElse) {
  const Workplace here;
  const Result list = here.call({kCommand, "run", "-q", "--compiler", "clang", kernels(), "list"});
  ASSERT_EQ(list.code, 0) << list.err;
  const auto expected = announced();
  std::istringstream lines(list.out);
  std::size_t mistakes = 0, cases = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string name = line.substr(0, line.find(' '));
    SCOPED_TRACE(name);
    ++cases;
    if (line != name) continue;  // there is no wrong form
    ++mistakes;
    const Check wrong(here, {kernels(), name, "wrong"});
    EXPECT_EQ(wrong.result.code, 4);
    EXPECT_EQ(wrong.findings, expected.at(name)) << wrong.text;
    EXPECT_EQ(wrong.report["exit_code"], 4);
  }
  EXPECT_EQ(mistakes, expected.size());
  const Check right(here, {kernels(), "right"});
  EXPECT_EQ(right.result.code, 0) << right.result.err;
  EXPECT_EQ(right.findings, std::set<Finding>{}) << right.text;
  EXPECT_EQ(right.report["launches"], cases);

  // Both parties, the memory, and what to do.
  const Check check(here, {kernels(), "missing_barrier", "wrong"});
  ASSERT_EQ(check.report["findings"].size(), 1u) << check.text;
  const auto& f = check.report["findings"][0];
  EXPECT_EQ(f["access"], "read");
  EXPECT_EQ(f["other"]["access"], "write");
  EXPECT_EQ(f["count"], 128);
  EXPECT_THAT(f["memory"].get<std::string>(), testing::HasSubstr("shared memory 'turned'"));
  EXPECT_EQ(f["block"], (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(f["thread"][0].get<int>() + f["other"]["thread"][0].get<int>(), 127);  // who writes, who reads
  const Result text = here.call({kCommand, "check", "--compiler", "clang", kernels(), "missing_barrier", "wrong"});
  EXPECT_EQ(text.code, 4);
  EXPECT_THAT(text.err, testing::HasSubstr("1 hazard in 1 launch of 1 kernel"));
  EXPECT_THAT(text.err, testing::HasSubstr("__syncthreads() has to come between them"));
  // The program's own exit code, and a wrong use of ours.
  EXPECT_EQ(here.call({kCommand, "check", "-q", "--compiler", "clang", kernels(), "no_such_kernel", "right"}).code, 2);
  EXPECT_EQ(here.call({kCommand, "check"}).code, 2);
}

}  // namespace
}  // namespace coalesce::end_to_end
