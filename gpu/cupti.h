// The part of CUPTI (CUDA's profiling library, 12.6 and later) that reads hardware counters: our own declarations of
// its structures, as far as they are used, so that nothing is needed to build and libcupti is looked for at run time.
// tests/gpu/cupti_abi_test.cpp checks sizes and offsets against the real headers where they are installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coalesce::gpu::cupti {

using Result = int;  // 0: success
inline constexpr Result kSuccess = 0;
// The results that mean "this user may not": on bare metal, and in a virtual machine.
inline constexpr Result kInsufficientPrivileges = 35, kVirtualizedInsufficientPrivileges = 40;
// Another process has the counters.
inline constexpr Result kHardwareBusy = 26;

using Context = void*;  // CUcontext
struct HostObject;
struct RangeObject;

struct Initialize {
  size_t size = sizeof(Initialize);
  void* reserved = nullptr;
};
struct ChipName {
  size_t size = sizeof(ChipName);
  void* reserved = nullptr;
  size_t device = 0;
  const char* name = nullptr;  // out
};
struct CounterAvailability {
  size_t size = sizeof(CounterAvailability);
  void* reserved = nullptr;
  Context context = nullptr;
  size_t image_size = 0;  // in and out
  uint8_t* image = nullptr;
};

struct HostInitialize {
  size_t size = sizeof(HostInitialize);
  void* reserved = nullptr;
  int profiler = 0;  // 0: ranges
  const char* chip = nullptr;
  const uint8_t* availability = nullptr;
  HostObject* host = nullptr;  // out
};
struct AddMetrics {
  size_t size = sizeof(AddMetrics);
  void* reserved = nullptr;
  HostObject* host = nullptr;
  const char** names = nullptr;
  size_t count = 0;
};
struct ConfigImageSize {
  size_t size = sizeof(ConfigImageSize);
  void* reserved = nullptr;
  HostObject* host = nullptr;
  size_t image_size = 0;  // out
};
struct ConfigImage {
  size_t size = sizeof(ConfigImage);
  void* reserved = nullptr;
  HostObject* host = nullptr;
  size_t image_size = 0;
  uint8_t* image = nullptr;
};
struct NumberOfPasses {
  size_t size = sizeof(NumberOfPasses);
  void* reserved = nullptr;
  size_t image_size = 0;
  uint8_t* image = nullptr;
  size_t passes = 0;  // out
};
struct Evaluate {
  size_t size = sizeof(Evaluate);
  void* reserved = nullptr;
  HostObject* host = nullptr;
  const uint8_t* data = nullptr;
  size_t data_size = 0;
  size_t range = 0;
  const char** names = nullptr;
  size_t count = 0;
  double* values = nullptr;  // out
};

struct RangeEnable {
  size_t size = sizeof(RangeEnable);
  void* reserved = nullptr;
  Context context = nullptr;
  RangeObject* object = nullptr;  // out
};
// Disable, start and decode take the object and nothing else that is used here.
struct RangeDisable {
  size_t size = sizeof(RangeDisable);
  void* reserved = nullptr;
  RangeObject* object = nullptr;
};
using RangeStart = RangeDisable;
struct RangeDecode {
  size_t size = sizeof(RangeDecode);
  void* reserved = nullptr;
  RangeObject* object = nullptr;
  size_t dropped = 0;  // out
};
struct RangeStop {
  size_t size = 41;  // up to and with the last field
  void* reserved = nullptr;
  RangeObject* object = nullptr;
  size_t pass = 0, nesting = 0;  // out
  uint8_t all_passes = 0;        // out
};
enum class Range : int { kernel = 1 };   // one for each launch
enum class Replay : int { kernel = 2 };  // CUPTI runs the kernel once a pass and restores memory between
struct RangeConfig {
  size_t size = 90;  // up to and with the last field
  void* reserved = nullptr;
  RangeObject* object = nullptr;
  size_t config_size = 0;
  const uint8_t* config = nullptr;
  size_t data_size = 0;
  uint8_t* data = nullptr;
  Range range = Range::kernel;
  Replay replay = Replay::kernel;
  size_t ranges_per_pass = 1;
  uint16_t nesting_levels = 1, least_nesting = 1;
  size_t pass = 0;
  uint16_t target_nesting = 0;
};
struct DataSize {
  size_t size = sizeof(DataSize);
  void* reserved = nullptr;
  RangeObject* object = nullptr;
  const char** names = nullptr;
  size_t count = 0;
  size_t ranges = 1;
  uint32_t tree_nodes = 1;
  size_t data_size = 0;  // out
};
struct DataInitialize {
  size_t size = sizeof(DataInitialize);
  void* reserved = nullptr;
  RangeObject* object = nullptr;
  size_t data_size = 0;
  uint8_t* data = nullptr;
};
struct DataInfo {
  size_t size = sizeof(DataInfo);
  void* reserved = nullptr;
  const uint8_t* data = nullptr;
  size_t data_size = 0;
  size_t ranges = 0;  // out
};

// The functions of libcupti: our name, CUPTI's, the parameter block.
#define COALESCE_CUPTI(X)                                                          \
  X(initialize, cuptiProfilerInitialize, Initialize)                               \
  X(chip_name, cuptiDeviceGetChipName, ChipName)                                   \
  X(availability, cuptiProfilerGetCounterAvailability, CounterAvailability)        \
  X(host_initialize, cuptiProfilerHostInitialize, HostInitialize)                  \
  X(add_metrics, cuptiProfilerHostConfigAddMetrics, AddMetrics)                    \
  X(config_image_size, cuptiProfilerHostGetConfigImageSize, ConfigImageSize)       \
  X(config_image, cuptiProfilerHostGetConfigImage, ConfigImage)                    \
  X(passes, cuptiProfilerHostGetNumOfPasses, NumberOfPasses)                       \
  X(evaluate, cuptiProfilerHostEvaluateToGpuValues, Evaluate)                      \
  X(enable, cuptiRangeProfilerEnable, RangeEnable)                                 \
  X(disable, cuptiRangeProfilerDisable, RangeDisable)                              \
  X(configure, cuptiRangeProfilerSetConfig, RangeConfig)                           \
  X(start, cuptiRangeProfilerStart, RangeStart)                                    \
  X(stop, cuptiRangeProfilerStop, RangeStop)                                       \
  X(decode, cuptiRangeProfilerDecodeData, RangeDecode)                             \
  X(data_size, cuptiRangeProfilerGetCounterDataSize, DataSize)                     \
  X(data_initialize, cuptiRangeProfilerCounterDataImageInitialize, DataInitialize) \
  X(data_info, cuptiRangeProfilerGetCounterDataInfo, DataInfo)

struct Functions {
#define COALESCE_FUNCTION(name, symbol, block) Result (*name)(block*) = nullptr;
  COALESCE_CUPTI(COALESCE_FUNCTION)
#undef COALESCE_FUNCTION
  Result (*text)(Result, const char**) = nullptr;  // cuptiGetErrorMessage
};

}  // namespace coalesce::gpu::cupti
