// Our declarations of CUPTI's structures against CUPTI's own, where its headers are installed.
#include <gtest/gtest.h>

#include "gpu/cupti.h"

#if __has_include(<cupti_range_profiler.h>) && __has_include(<cuda.h>)
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <cstddef>

namespace coalesce::gpu::cupti {
namespace {

template <typename Ours>
size_t own_size() {
  return Ours{}.size;
}

#define SIZE(ours, theirs) EXPECT_EQ(own_size<ours>(), theirs##_STRUCT_SIZE) << #theirs
#define PLACE(ours, field, theirs, name) EXPECT_EQ(offsetof(ours, field), offsetof(theirs, name)) << #theirs "." #name

TEST(CuptiAbi, SizesAsTheHeadersSay) {
  SIZE(Initialize, CUpti_Profiler_Initialize_Params);
  SIZE(ChipName, CUpti_Device_GetChipName_Params);
  SIZE(CounterAvailability, CUpti_Profiler_GetCounterAvailability_Params);
  SIZE(HostInitialize, CUpti_Profiler_Host_Initialize_Params);
  SIZE(AddMetrics, CUpti_Profiler_Host_ConfigAddMetrics_Params);
  SIZE(ConfigImageSize, CUpti_Profiler_Host_GetConfigImageSize_Params);
  SIZE(ConfigImage, CUpti_Profiler_Host_GetConfigImage_Params);
  SIZE(NumberOfPasses, CUpti_Profiler_Host_GetNumOfPasses_Params);
  SIZE(Evaluate, CUpti_Profiler_Host_EvaluateToGpuValues_Params);
  SIZE(RangeEnable, CUpti_RangeProfiler_Enable_Params);
  SIZE(RangeDisable, CUpti_RangeProfiler_Disable_Params);
  SIZE(RangeStart, CUpti_RangeProfiler_Start_Params);
  SIZE(RangeDecode, CUpti_RangeProfiler_DecodeData_Params);
  SIZE(RangeStop, CUpti_RangeProfiler_Stop_Params);
  SIZE(RangeConfig, CUpti_RangeProfiler_SetConfig_Params);
  SIZE(DataSize, CUpti_RangeProfiler_GetCounterDataSize_Params);
  SIZE(DataInitialize, CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
  SIZE(DataInfo, CUpti_RangeProfiler_GetCounterDataInfo_Params);
}

TEST(CuptiAbi, FieldsWhereTheHeadersHaveThem) {
  PLACE(ChipName, device, CUpti_Device_GetChipName_Params, deviceIndex);
  PLACE(ChipName, name, CUpti_Device_GetChipName_Params, pChipName);
  PLACE(CounterAvailability, image_size, CUpti_Profiler_GetCounterAvailability_Params, counterAvailabilityImageSize);
  PLACE(CounterAvailability, image, CUpti_Profiler_GetCounterAvailability_Params, pCounterAvailabilityImage);
  PLACE(HostInitialize, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
  PLACE(HostInitialize, host, CUpti_Profiler_Host_Initialize_Params, pHostObject);
  PLACE(AddMetrics, names, CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames);
  PLACE(Evaluate, range, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
  PLACE(Evaluate, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues);
  PLACE(RangeEnable, object, CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject);
  PLACE(RangeStop, pass, CUpti_RangeProfiler_Stop_Params, passIndex);
  PLACE(RangeConfig, config, CUpti_RangeProfiler_SetConfig_Params, pConfig);
  PLACE(RangeConfig, data, CUpti_RangeProfiler_SetConfig_Params, pCounterDataImage);
  PLACE(RangeConfig, range, CUpti_RangeProfiler_SetConfig_Params, range);
  PLACE(RangeConfig, replay, CUpti_RangeProfiler_SetConfig_Params, replayMode);
  PLACE(RangeConfig, ranges_per_pass, CUpti_RangeProfiler_SetConfig_Params, maxRangesPerPass);
  PLACE(RangeConfig, least_nesting, CUpti_RangeProfiler_SetConfig_Params, minNestingLevel);
  PLACE(RangeConfig, target_nesting, CUpti_RangeProfiler_SetConfig_Params, targetNestingLevel);
  PLACE(DataSize, ranges, CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumOfRanges);
  PLACE(DataSize, data_size, CUpti_RangeProfiler_GetCounterDataSize_Params, counterDataSize);
  PLACE(DataInfo, ranges, CUpti_RangeProfiler_GetCounterDataInfo_Params, numTotalRanges);
}

TEST(CuptiAbi, Values) {
  EXPECT_EQ(static_cast<int>(Range::kernel), CUPTI_AutoRange);
  EXPECT_EQ(static_cast<int>(Replay::kernel), CUPTI_KernelReplay);
  EXPECT_EQ(kInsufficientPrivileges, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
  EXPECT_EQ(kHardwareBusy, CUPTI_ERROR_HARDWARE_BUSY);
  EXPECT_EQ(kVirtualizedInsufficientPrivileges, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
  EXPECT_EQ(HostInitialize{}.profiler, CUPTI_PROFILER_TYPE_RANGE_PROFILER);
}

}  // namespace
}  // namespace coalesce::gpu::cupti
#else
TEST(CuptiAbi, Headers) { GTEST_SKIP() << "CUPTI's headers are not installed"; }
#endif
