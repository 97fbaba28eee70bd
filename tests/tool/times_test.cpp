// Estimates of time as the command and the report show them, alone and beside what a GPU took.
#include "tool/present/times.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/tool/fixture.h"
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
