// Budgets: their language, the figures that they limit, and the budget that a run writes, which only that run keeps.
#include "tool/figures/budget.h"

#include <gmock/gmock.h>

#include <sstream>

#include "tests/tool/fixture.h"
#include "tool/figures/error.h"
#include "tool/present/budget.h"

namespace coalesce::tool {
namespace {

using testing::HasSubstr;

const Values kValues = {{"global_load_requests", 10},          {"global_load_sectors", 80},
                        {"global_load_bytes_requested", 1280}, {"compulsory_bytes", 2560},
                        {"shared_load_requests", 3},           {"shared_load_wavefronts", 12},
                        {"shared_load_wavefronts_ideal", 3}};

Record two_kernels(const std::string& more = "") {
  return read_text(
      kHeader + kernel_text(0, "_Z3sumPi") + kernel_text(1, "_Z4copyPi") +
      launch_text(0, kValues, ",\"lines\":[[\"/x/a.cu\",41,7," + counters_text(kValues, false) + "]]" + more) +
      launch_text(1, {{"global_load_sectors", 4}}) + kEnd);
}

bool keeps(const std::string& text, const Record& record) {
  const auto judged = judge_budget(parse_requirements(text, "--require"), record);
  return std::all_of(judged.begin(), judged.end(), [](const Judgement& j) { return j.holds; });
}

TEST(Budget, ComparesFiguresOfTheKernelsThatMatch) {
  const Record record = two_kernels();
  EXPECT_TRUE(keeps("sum: global_load_sectors == 80; compulsory == 80", record));
  EXPECT_FALSE(keeps("sum: global_load_sectors < 80", record));
  EXPECT_TRUE(keeps("^copy: global_load_sectors <= 1.01 * 4", record));
  EXPECT_FALSE(keeps("global_load_sectors <= 79", record)) << "without a name every kernel is meant";
  EXPECT_TRUE(keeps("load_excess <= 2", record));
  EXPECT_TRUE(keeps("sum: shared_excess == 4; bank_conflicts == 9; wasted_sectors == 40", record));
  EXPECT_TRUE(keeps("copy: shared_excess == 1", record)) << "no shared memory, no excess";
  EXPECT_TRUE(keeps("a.cu:41: global_load_sectors == 80", record));
  EXPECT_TRUE(keeps("/x/a.cu:41: global_load_sectors == 80", record));
  EXPECT_FALSE(keeps("a.cu:41: global_load_sectors != 80", record));
}

TEST(Budget, OfNothingIsViolated) {
  const auto judged = judge_budget(parse_requirements("summ: shuffles == 0", "--require"), two_kernels());
  ASSERT_EQ(judged.size(), 1u);
  EXPECT_FALSE(judged[0].holds);
  EXPECT_FALSE(keeps("a.cu:42: shuffles == 0", two_kernels()));
  EXPECT_FALSE(keeps("sum: shuffles == 0", two_kernels(",\"interrupted\":true"))) << "it did not end";
}

TEST(Budget, WhatIsNoRequirementIsAUsageError) {
  for (const char* text :
       {"", "sum:", "sum: ", "sum: global_load_sectors", "sum: global_load_sector <= 1", "(: shuffles == 0",
        "shuffles = 0", "0 <= shuffles <= 3", "shuffles <= ", "shuffles <= 1 +", "a.b <= 1"}) {
    try {
      parse_requirements(text, "--require");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code, Exit::usage);
      EXPECT_THAT(error.what(), HasSubstr("--require: ")) << text;
    }
  }
  try {
    parse_budget("# comment\n\nsum: shuffles == 0\nsum: shufles == 0\n", "budget.txt");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("budget.txt:4: "));
    EXPECT_THAT(error.hint, HasSubstr("shuffles"));
  }
  EXPECT_THROW(parse_budget("# nothing\n", "budget.txt"), Error);
}

TEST(Budget, ADivisionByZeroIsNoPass) { EXPECT_FALSE(keeps("1 / shuffles <= 3", two_kernels())); }

// Written by a run, kept by the same run, and by none that costs one more of anything.
TEST(Budget, OfARunIsKeptByJustThatRun) {
  const Record record = two_kernels();
  const auto budget = parse_budget(budget_of(record), "written");
  for (const Judgement& j : judge_budget(budget, record)) EXPECT_TRUE(j.holds) << violation_text(j);
  Values more = kValues;
  ++more["shared_load_wavefronts"];
  Record worse = read_text(kHeader + kernel_text(0, "_Z3sumPi") + kernel_text(1, "_Z4copyPi") + launch_text(0, more) +
                           launch_text(1, {{"global_load_sectors", 4}}) + kEnd);
  std::size_t violated = 0;
  for (const Judgement& j : judge_budget(budget, worse)) violated += !j.holds;
  EXPECT_EQ(violated, 2u) << "wavefronts, and with them conflicts";
}

TEST(Budget, TheTableSaysWhatExceededWhat) {
  std::ostringstream out;
  print_budget(
      out,
      judge_budget(parse_requirements("sum: global_load_sectors <= 79; shuffles == 0", "--require"), two_kernels()),
      {});
  EXPECT_THAT(out.str(), HasSubstr("sum     global_load_sectors <= 79       80     79\n"));
  EXPECT_THAT(out.str(), HasSubstr("budget exceeded: 1 of 2 requirements\n"));
}

}  // namespace
}  // namespace coalesce::tool
