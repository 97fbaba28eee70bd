// A CUPTI that counts nothing: each of the functions we use answers as CUPTI does for a launch whose every metric is
// 1000 plus its place in the list. FAKE_CUPTI_FAIL names a function that fails, FAKE_CUPTI_RESULT says how (default
// 999) and FAKE_CUPTI_TIMES how often before it succeeds (default: always fails); FAKE_CUPTI_RANGES is how many
// launches were seen (default 1).
#include <cstdlib>
#include <cstring>
#include <string>

#include "gpu/cupti.h"

namespace {

using namespace coalesce::gpu::cupti;

Result result_of(const char* function) {
  const char* failing = std::getenv("FAKE_CUPTI_FAIL");
  if (!failing || std::strcmp(failing, function) != 0) return kSuccess;
  if (const char* times = std::getenv("FAKE_CUPTI_TIMES")) {
    const int left = std::atoi(times);
    if (left == 0) return kSuccess;
    setenv("FAKE_CUPTI_TIMES", std::to_string(left - 1).c_str(), 1);
  }
  const char* result = std::getenv("FAKE_CUPTI_RESULT");
  return result ? std::atoi(result) : 999;
}

void fill(Initialize*) {}
void fill(ChipName* p) { p->name = "GH100"; }
void fill(CounterAvailability* p) { p->image_size = 16; }
void fill(HostInitialize* p) { p->host = reinterpret_cast<HostObject*>(8); }
void fill(AddMetrics*) {}
void fill(ConfigImageSize* p) { p->image_size = 32; }
void fill(ConfigImage* p) { std::memset(p->image, 1, p->image_size); }
void fill(NumberOfPasses* p) { p->passes = 8; }
void fill(Evaluate* p) {
  for (size_t i = 0; i < p->count; ++i) p->values[i] = 1000 + static_cast<double>(i);
}
void fill(RangeEnable* p) { p->object = reinterpret_cast<RangeObject*>(8); }
void fill(RangeDisable*) {}
void fill(RangeConfig*) {}
void fill(RangeStop* p) { p->all_passes = 1; }
void fill(RangeDecode*) {}
void fill(DataSize* p) { p->data_size = 64; }
void fill(DataInitialize* p) { std::memset(p->data, 0, p->data_size); }
void fill(DataInfo* p) {
  const char* ranges = std::getenv("FAKE_CUPTI_RANGES");
  p->ranges = ranges ? std::strtoull(ranges, nullptr, 10) : 1;
}

}  // namespace

#define FAKE(name, symbol, block)                                                      \
  extern "C" __attribute__((visibility("default"))) Result symbol(block* parameters) { \
    if (const Result result = result_of(#symbol); result != kSuccess) return result;   \
    fill(parameters);                                                                  \
    return kSuccess;                                                                   \
  }
COALESCE_CUPTI(FAKE)

extern "C" __attribute__((visibility("default"))) Result cuptiGetErrorMessage(Result, const char** text) {
  *text = "it would not";
  return kSuccess;
}
