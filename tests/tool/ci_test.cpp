// SARIF, JUnit and annotations: their grammar, and that no name can leave its place.
#include "tool/present/ci.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/tool/fixture.h"

namespace coalesce::tool {
namespace {

using testing::HasSubstr;
using testing::Not;

// Every lane of the stores has a sector of its own.
Record wasteful(const std::string& file = "/x/a.cu") {
  const Values bad = {
      {"global_store_requests", 2}, {"global_store_sectors", 64}, {"global_store_bytes_requested", 256}};
  return read_text(kHeader + kernel_text(0, "_Z4sumsPi") + kernel_text(1, "_Z4fineb") +
                   launch_text(0, bad, ",\"lines\":[[\"" + file + "\",41,7," + counters_text(bad, false) + "]]") +
                   launch_text(1, {}) + kEnd);
}

std::vector<Judgement> judged(const Record& record) {
  return judge_budget(parse_requirements("sums: store_excess == 1; shuffles == 0", "--require"), record);
}

TEST(Sarif, HasWhatTheStandardAsksFor) {
  const Record record = wasteful();
  const auto log = nlohmann::json::parse(sarif(notices_of(record, judged(record)), "1.2.3"));
  EXPECT_EQ(log["version"], "2.1.0");
  ASSERT_EQ(log["runs"].size(), 1u);
  const auto& driver = log["runs"][0]["tool"]["driver"];
  EXPECT_EQ(driver["name"], "coalesce");
  EXPECT_EQ(driver["version"], "1.2.3");
  const auto& results = log["runs"][0]["results"];
  ASSERT_EQ(results.size(), 2u);
  for (const auto& result : results) {
    EXPECT_EQ(driver["rules"][result["ruleIndex"].get<std::size_t>()]["id"], result["ruleId"]);
    EXPECT_FALSE(result["message"]["text"].get<std::string>().empty());
  }
  EXPECT_EQ(results[0]["level"], "warning");
  EXPECT_EQ(results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "file:///x/a.cu");
  EXPECT_EQ(results[0]["locations"][0]["physicalLocation"]["region"]["startLine"], 41);
  EXPECT_EQ(results[1]["level"], "error");
  EXPECT_FALSE(results[1].contains("locations")) << "a requirement has no line";
}

TEST(Sarif, FilesBelowTheFolderAreRelativeAndEscaped) {
  const std::string here = std::filesystem::current_path().string();
  const std::string text = sarif(notices_of(wasteful(here + "/a folder/%.cu"), {}), "1");
  EXPECT_THAT(text, HasSubstr("\"a%20folder/%25.cu\""));
}

TEST(Github, OneLineForEachNotice) {
  const Record record = wasteful("/x/a,b:c.cu");
  const std::string text = github_annotations(notices_of(record, judged(record)));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_THAT(text, HasSubstr("::warning file=/x/a%2Cb%3Ac.cu,line=41,title=Stores move more"));
  EXPECT_THAT(text, HasSubstr("::error title=A requirement is violated::sums: store_excess == 1 is violated: 8 == 1"));
}

TEST(Github, ANewlineInAMessageStaysInIt) {
  const std::string text = github_annotations({{Notice::Level::error, "budget", "", 0, "k", "a\n::error::b"}});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST(Gcc, OneLineForEachNotice) {
  const Record record = wasteful();
  std::string text = gcc_lines(notices_of(record, judged(record)));
  EXPECT_THAT(text, testing::StartsWith("/x/a.cu:41: warning: sums: Stores move"));
  EXPECT_THAT(text, HasSubstr("\ncoalesce: error: sums: store_excess == 1 is violated"));
  text = gcc_lines({{Notice::Level::error, "budget", "a.cu", 0, "k", "a\nb.cu:1: error: c"}});
  EXPECT_EQ(text, "a.cu: error: k: a b.cu:1: error: c\n");
}

TEST(Junit, CasesAndFailures) {
  const Record record = wasteful();
  const auto judgements = judged(record);
  const std::string text = junit(record, notices_of(record, judgements), judgements, 4);
  EXPECT_THAT(text, HasSubstr("<testsuite name=\"app\" tests=\"5\" failures=\"1\">"));
  EXPECT_THAT(text, HasSubstr("<testcase classname=\"coalesce.program\" name=\"app\"/>")) << "4 is explained";
  EXPECT_THAT(text, HasSubstr("<testcase classname=\"coalesce.kernel\" name=\"sums\"/>")) << "waste is no failure";
  EXPECT_THAT(text, HasSubstr("name=\"sums: shuffles == 0\"/>"));
  EXPECT_THAT(text, HasSubstr("<failure message=\"store_excess == 1 is violated"));
  EXPECT_THAT(junit(record, {}, {}, 7), HasSubstr("<failure message=\"ended with 7\">"));
}

TEST(Junit, HazardsFailTheirKernel) {
  machine::Diagnostic race;
  race.hazard = machine::Hazard::race_shared;
  race.message = "a < b & \"c\"";
  race.kernel = "_Z4sumsPi";
  race.place = {"/x/a.cu", 9, 1};
  const auto notices = notices_of(hazards_of({race}, {}));
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].rule, "race_shared");
  const std::string text = junit(wasteful(), notices, {}, 4);
  EXPECT_THAT(text, HasSubstr("/x/a.cu:9: a &lt; b &amp; &quot;c&quot;"));
  EXPECT_THAT(text, HasSubstr("failures=\"1\""));
}

}  // namespace
}  // namespace coalesce::tool
