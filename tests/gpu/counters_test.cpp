// Reading hardware counters: with a CUPTI of ours (fake_cupti.cpp), what is said when a step of it fails.
#include "gpu/counters.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "gpu/cupti.h"

namespace coalesce::gpu {
namespace {

using testing::HasSubstr;

class Counters : public testing::Test {
 protected:
  void SetUp() override { setenv("COALESCE_CUPTI", FAKE_CUPTI, 1); }
  void TearDown() override {
    for (const char* name : {"COALESCE_CUPTI", "COALESCE_GPU_WAIT", "FAKE_CUPTI_FAIL", "FAKE_CUPTI_RESULT",
                             "FAKE_CUPTI_TIMES", "FAKE_CUPTI_RANGES"})
      unsetenv(name);
  }
  // Opens and counts launches; what went wrong, or nothing.
  std::string attempt(int launches = 1, const std::vector<std::string>& extra = {}) {
    std::string why;
    const auto counters = HardwareCounters::open(nullptr, 0, {.extra = extra, .most = 4}, why);
    if (!counters) return why;
    passes_ = counters->passes();
    launched_ = 0;
    for (int i = 0; i < launches; ++i) {
      EXPECT_FALSE(counters->full());
      if (!counters->launch([&] { ++launched_; }, why)) return why;
    }
    EXPECT_EQ(counters->full(), launches == 4);
    return counters->collect(readings_, why) ? "" : why;
  }
  std::vector<Reading> readings_;
  int launched_ = 0, passes_ = 0;
};

TEST_F(Counters, EachFromItsOwnMetric) {
  EXPECT_EQ(attempt(1, {"dram__bytes_read.sum"}), "");
  EXPECT_EQ(launched_, 1);
  ASSERT_EQ(readings_.size(), 1u);
  const Reading& reading = readings_[0];
  EXPECT_EQ(passes_, 8);
  uint64_t next = 1000;  // the fake's values: 1000 and up in the order of the metrics
  machine::Counters expected;
  for (const CounterSource& source : counter_sources()) expected.*source.field += next++;
  EXPECT_EQ(reading.counters, expected);
  EXPECT_GT(expected.shared_store_wavefronts, 2000u);  // copies have a metric of their own
  ASSERT_EQ(reading.extra.size(), 1u);
  EXPECT_EQ(reading.extra[0].first, "dram__bytes_read.sum");
  EXPECT_EQ(reading.extra[0].second, static_cast<double>(next));
  for (size_t row = 0; row < machine::kCounterCount; ++row) {
    const uint64_t value = reading.counters.*machine::kCounterRows[row].field;
    EXPECT_EQ(reading.read[row], value != 0) << machine::kCounterRows[row].name;
  }
}

TEST_F(Counters, OnlyWhatIsAskedFor) {
  std::string why;
  const auto counters =
      HardwareCounters::open(nullptr, 0, {.ours = false, .extra = {"dram__bytes_read.sum"}, .most = 1}, why);
  ASSERT_TRUE(counters) << why;
  ASSERT_TRUE(counters->launch([] {}, why) && counters->collect(readings_, why)) << why;
  EXPECT_EQ(readings_[0].counters, machine::Counters{});
  EXPECT_EQ(readings_[0].extra, (std::vector<std::pair<std::string, double>>{{"dram__bytes_read.sum", 1000}}));
}

TEST_F(Counters, NamesAreThoseOfTheTable) {
  std::size_t own = 0;
  for (const CounterSource& source : counter_sources()) {
    for (const auto& row : machine::kCounterRows) own += row.field == source.field && source.metric == row.nsight;
  }
  EXPECT_EQ(own + std::size(machine::kFurtherMetrics), counter_sources().size());
}

TEST_F(Counters, MissingLibrary) {
  setenv("COALESCE_CUPTI", "/nowhere/libcupti.so", 1);
  const std::string why = attempt();
  EXPECT_THAT(why, HasSubstr("/nowhere/libcupti.so"));
  EXPECT_THAT(why, HasSubstr("comes with the CUDA toolkit"));
}

TEST_F(Counters, OlderLibrary) {
  setenv("COALESCE_CUPTI", "libc.so.6", 1);
  EXPECT_THAT(attempt(), HasSubstr("libcupti has no cuptiGetErrorMessage; a CUDA toolkit of 12.6"));
}

TEST_F(Counters, ForbiddenSaysHowToGetPermission) {
  setenv("FAKE_CUPTI_RESULT", "35", 1);
  for (const char* function :
       {"cuptiRangeProfilerEnable", "cuptiProfilerGetCounterAvailability", "cuptiRangeProfilerStart"}) {
    setenv("FAKE_CUPTI_FAIL", function, 1);
    EXPECT_THAT(attempt(), HasSubstr("NVreg_RestrictProfilingToAdminUsers=0")) << function;
  }
}

TEST_F(Counters, WaitForAnotherProcess) {
  setenv("FAKE_CUPTI_RESULT", "26", 1);
  for (const char* function :
       {"cuptiProfilerGetCounterAvailability", "cuptiRangeProfilerEnable", "cuptiRangeProfilerStart"}) {
    setenv("FAKE_CUPTI_FAIL", function, 1);
    setenv("FAKE_CUPTI_TIMES", "3", 1);
    EXPECT_EQ(attempt(), "") << function;
    EXPECT_STREQ(std::getenv("FAKE_CUPTI_TIMES"), "0") << function;
    unsetenv("FAKE_CUPTI_TIMES");
    setenv("COALESCE_GPU_WAIT", "0.02", 1);
    EXPECT_THAT(attempt(), HasSubstr("another process is reading the GPU's counters")) << function;
    unsetenv("COALESCE_GPU_WAIT");
  }
}

TEST_F(Counters, EveryCallsFailureIsSaid) {
#define COALESCE_NAME(name, symbol, block) #symbol,
  for (const std::string function : {COALESCE_CUPTI(COALESCE_NAME)}) {
#undef COALESCE_NAME
    // The profiler lives as long as the process.
    if (function == "cuptiRangeProfilerDisable") continue;
    setenv("FAKE_CUPTI_FAIL", function.c_str(), 1);
    EXPECT_EQ(attempt(), function + ": it would not (999)");
  }
}

TEST_F(Counters, SeveralLaunchesAtATime) {
  setenv("FAKE_CUPTI_RANGES", "4", 1);
  EXPECT_EQ(attempt(4), "");
  EXPECT_EQ(readings_.size(), 4u);
}

TEST_F(Counters, AnotherNumberOfLaunches) {
  setenv("FAKE_CUPTI_RANGES", "3", 1);
  EXPECT_EQ(attempt(2), "CUPTI saw 3 launches where there were 2");
}

TEST_F(Counters, NothingLaunchedNothingRead) {
  EXPECT_EQ(attempt(0), "");
  EXPECT_TRUE(readings_.empty());
}

}  // namespace
}  // namespace coalesce::gpu
