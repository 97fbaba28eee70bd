// Estimates of time as the command and the report show them, alone and beside what a GPU took.
#include "tool/present/times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/tool/fixture.h"
#include "tool/figures/launches.h"
#include "tool/present/compare.h"
#include "tool/present/export.h"
#include "tool/present/report.h"

namespace coalesce::tool {
namespace {

// Two launches of sum, of which one has an estimate.
Record estimated(bool both) {
  Record r =
      read_text(std::string(kHeader) + kernel_text(0, "_Z3sumPiS_m") + launch_text(0, {}) + launch_text(0, {}) + kEnd);
  machine::TimeEstimate e;
  e.us = 12.5, e.low_us = 5, e.high_us = 40;
  e.bound_by = machine::BoundBy::l2;
  for (Launch& launch : r.launches) launch.time = std::make_shared<machine::TimeEstimate>(e);
  e = {};
  e.none = "it <prints>";
  if (!both) r.launches.at(1).time = std::make_shared<machine::TimeEstimate>(e);
  return r;
}

Record measured() {
  Record r = estimated(true);
  r.device.name = "NVIDIA H100";
  for (Launch& launch : r.launches) launch.time = nullptr, launch.cold = {3e-6, 4e-6, 2e-6};
  return r;
}

std::string printed(const Record& record, const Record* beside = nullptr) {
  std::ostringstream out;
  print_times(out, record, {}, beside);
  return out.str();
}

TEST(Times, StandBesideWhatAGpuTook) {
  const Record gpu = measured();
  const std::string text = printed(estimated(true), &gpu);
  for (const char* wanted : {"Estimated, NVIDIA H200, cold L2; measured on NVIDIA H100", "25 us", "measured", "6 us"})
    EXPECT_NE(text.find(wanted), std::string::npos) << wanted << " in " << text;
}

// The sum of two estimates beside one measured launch would say nothing.
TEST(Times, MeasuredIsBlankWhereNotAllLaunchesWereTimed) {
  Record gpu = measured();
  gpu.launches.at(1).cold.clear();
  EXPECT_EQ(printed(estimated(true), &gpu).find("3 us"), std::string::npos);
  EXPECT_EQ(printed(estimated(true)).find("measured\n"), std::string::npos);
}

// No A100 was there to measure.
TEST(Times, SayWhereTheLimitsAreADocuments) {
  Record of_documents = estimated(true);
  of_documents.device.key = "a100";
  const std::string text = printed(of_documents), measured = printed(estimated(true));
  EXPECT_NE(text.find(" as documents describe it, cold L2"), std::string::npos) << text;
  EXPECT_EQ(measured.find("documents"), std::string::npos) << measured;
  const machine::TimeEstimate& e = *of_documents.launches.at(0).time;
  EXPECT_EQ(estimate_json(e, "a100")["limits"], "documents");
  EXPECT_EQ(estimate_json(e, "h200")["limits"], "measured");
}

TEST(Times, AreInTheJsonOfBoth) {
  const Record counted = estimated(false), gpu = measured();
  const auto json =
      nlohmann::json::parse(both_json(compare_launches(launches_of(counted), launches_of(gpu)), counted, gpu));
  EXPECT_EQ(json["schema"], "coalesce.compare/1");
  EXPECT_EQ(json["device"]["key"], "h200");
  EXPECT_EQ(json["measured_on"], "NVIDIA H100");
  ASSERT_EQ(json["times"].size(), 2u);
  EXPECT_EQ(json["times"][0]["launch"], 0);
  EXPECT_EQ(json["times"][0]["estimated"]["us"], 12.5);
  EXPECT_EQ(json["times"][0]["measured"]["cold"]["median"], 3e-6);
  EXPECT_EQ(json["times"][1]["estimated"]["none"], "it <prints>");
  Record untimed = estimated(true), beside = measured();
  for (Launch& launch : untimed.launches) launch.time = nullptr;
  for (Launch& launch : beside.launches) launch.cold.clear();
  EXPECT_FALSE(nlohmann::json::parse(both_json({}, untimed, beside)).contains("times"));
}

// Columns of one line of CSV without quotes.
std::vector<std::string> columns_of(const std::string& line) {
  std::vector<std::string> columns;
  std::istringstream text(line);
  for (std::string column; std::getline(text, column, ',');) columns.push_back(column);
  return columns;
}

TEST(Times, AndCountersOfAGpuHaveColumnsOfTheirOwn) {
  Record counted = estimated(true), gpu = measured();
  for (Record* record : {&counted, &gpu}) record->kernels[0].full = "sum";
  gpu.launches.pop_back();
  gpu.launches[0].known = 2;
  gpu.launches[0].counters.*machine::kCounterRows[1].field = 77;
  std::ostringstream out;
  write_csv(out, counted, &gpu);
  std::istringstream lines(out.str());
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> titles = columns_of(line);
  const auto place = [&](const std::string& title) {
    return static_cast<std::size_t>(std::find(titles.begin(), titles.end(), title) - titles.begin());
  };
  const std::size_t us = place("measured_us"),
                    counter = place("measured_" + std::string(machine::kCounterRows[1].name));
  ASSERT_LT(counter, titles.size());
  EXPECT_EQ(counter + 1, titles.size()) << "a counter that the GPU did not read has no column";
  std::getline(lines, line);
  const std::vector<std::string> first = columns_of(line);
  EXPECT_EQ(first.at(place("estimated_us")), "12.5");
  EXPECT_EQ(first.at(us), "3");
  EXPECT_EQ(first.at(counter), "77");
  std::getline(lines, line);
  EXPECT_EQ(line.substr(line.size() - 2), ",,") << "nothing measured";
}

TEST(Times, AreInTheReport) {
  const auto page = [](const Record& record) {
    std::ostringstream out;
    write_report(out, record, {});
    return out.str();
  };
  const std::string text = page(estimated(false));
  for (const char* wanted : {"Times of kernels", "estimated", "12.5 us", "40 us", "because it &lt;prints&gt;"})
    EXPECT_NE(text.find(wanted), std::string::npos) << wanted;
  Record none = estimated(true);
  for (Launch& launch : none.launches) launch.time = nullptr;
  EXPECT_EQ(page(none).find("Times of kernels"), std::string::npos);
}

}  // namespace
}  // namespace coalesce::tool
