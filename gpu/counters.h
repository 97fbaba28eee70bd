// Hardware counters of single launches, by CUPTI's range profiler in this process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "machine/observe/counters.h"

namespace coalesce::gpu {

// The hardware's metric of a counter. Shared requests have none: of the two candidates, one also counts instructions
// whose lanes are all predicated off, the other counts instructions that the arbiter returns twice. All names are valid
// from compute capability 7.0 on.
struct CounterSource {
  uint64_t machine::Counters::* field;
  std::string metric;
};
const std::vector<CounterSource>& counter_sources();

// One launch's counters: those that were read; the others are absent, not zero.
struct Reading {
  machine::Counters counters;
  std::vector<bool> read;  // per row of kCounterRows
  std::vector<std::pair<std::string, double>> extra;
};

// The metrics to read. Each needs its share of the passes over a launch, some 10 ms each on an H200.
struct Wanted {
  bool ours = true;                // all of counter_sources()
  std::vector<std::string> extra;  // more, by CUPTI's names
  size_t most = 32;                // launches that are collected at a time
};

class HardwareCounters {
 public:
  // Null, and `why` says what is missing and how to get it, where counters cannot be read. `context`: the CUcontext the
  // launches go to; `device` its index.
  static std::unique_ptr<HardwareCounters> open(void* context, int device, const Wanted& wanted, std::string& why);
  virtual ~HardwareCounters() = default;

  // Calls `run`, which launches one kernel. It runs several times on the device (memory is restored between), once for
  // the caller. False and `why`: it was not called.
  virtual bool launch(const std::function<void()>& run, std::string& why) = 0;
  // True if `most` launches wait to be collected.
  virtual bool full() const = 0;
  // Reads the counters of the launches since the last call, in order. It also counts kernels that are launched around
  // launch() in between, except the driver's own. False and `why` if nothing could be read.
  virtual bool collect(std::vector<Reading>& readings, std::string& why) = 0;
  virtual int passes() const = 0;
};

}  // namespace coalesce::gpu
