// Measures each launch and copy of the program and writes the record. Results are the driver's or the runtime's, whose
// 0 is success.
//
// The form of the record: record/format.h. "seconds" of a launch is its own time on the device, of copies that of the
// calls that wait for them.
//
// Environment:
//   COALESCE_GPU_RECORD     file; nothing is measured without it
//   COALESCE_GPU_REPEAT     repetitions of a launch for each of cold and warm; 0: none
//   COALESCE_GPU_COUNTERS   1: read our counters
//   COALESCE_GPU_METRICS    further metrics by CUPTI's names, separated by commas
//   COALESCE_GPU_LAUNCHES   launches of one kernel that are measured; later ones only run
//   COALESCE_GPU_BATCH      launches whose counters are read together
//   COALESCE_GPU_WAIT       seconds to wait while another process has the counters
//   COALESCE_GPU_PLAIN      1: wait for nothing and repeat nothing; time only copies and the whole
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "gpu/counters.h"
#include "gpu/runtime.h"
#include "gpu/timing.h"
#include "record/writer.h"

namespace coalesce::gpu {

class Session {
 public:
  static Session& get();

  struct Launch {
    const void* function = nullptr;  // what the program names its kernel by
    bool by_runtime = false;         // the runtime's name for it, not the driver's
    dim3 grid, block;
    size_t shared = 0;
    cudaStream_t stream = nullptr;
  };
  int launch(const Launch& launch, const std::function<int()>& run);

  // `waits`: the call returns when the copy is done, so that its time is the copy's.
  int copy(record::CopyPath path, size_t bytes, bool waits, const std::function<int()>& run);
  // A call that waits for the device: the end of what was measured so far.
  int wait(const std::function<int()>& run);
  void end();
  // The program ends `context`, or may do so: what waits is read before. If `gone()` then says that the context has
  // ended, all begins anew.
  int leave(void* context, const std::function<int()>& run, const std::function<bool()>& gone);
  // A graph's launch: its kernels cannot be told apart; a note says that they are missing.
  int graph(const std::function<int()>& run);

  bool repeats() const { return active() && repeat_ > 0; }
  void say(const std::string& text);  // a note; in a context

 private:
  using Clock = std::chrono::steady_clock;
  Session();
  bool active() const;
  void begin();
  void note(const std::string& text);  // the same text once
  void no_counters(const std::string& why);
  uint32_t kernel_number(const Launch& launch);
  // Reads the counters of the launches that wait for theirs, and writes all of them down.
  void collect();
  void begin_span();
  void end_span();

  std::mutex mutex_;
  record::Writer record_;
  void* context_ = nullptr;  // the one that is measured
  bool begun_ = false, plain_ = false, want_counters_ = false;
  int repeat_ = 0;
  uint64_t most_launches_ = 0;
  std::unique_ptr<Timer> timer_;
  std::unique_ptr<HardwareCounters> counters_;
  std::map<const void*, uint32_t> kernels_;
  std::map<uint32_t, uint64_t> launched_;
  std::set<std::string> notes_;
  std::vector<record::LaunchEntry> waiting_;  // launches whose counters are still to be read
  Clock::time_point collected_;
  bool spanning_ = false;
  Clock::time_point first_, last_;
};

}  // namespace coalesce::gpu
