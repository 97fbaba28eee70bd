// Hardware counters of single launches, by CUPTI's range profiler in this process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "machine/observe/counters.h"

namespace coalesce::gpu {

// What hardware calls a counter. Shared requests are not among them: of the two counters there are, one also counts
// instructions whose lanes are all predicated off, the other again what the arbiter sends back. All of these names are
// valid on chips of compute capability 7.0 and later.
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

// What to read. Each metric takes its share of the passes that a launch is run over, some 10 ms each on an H200.
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
  // Whether `most` launches wait to be collected.
  virtual bool full() const = 0;
  // What the launches since the last call counted, in order. Kernels that go past launch() in between, other than the
  // driver's own, would be counted too. False and `why`: nothing could be read.
  virtual bool collect(std::vector<Reading>& readings, std::string& why) = 0;
  virtual int passes() const = 0;
};

}  // namespace coalesce::gpu
