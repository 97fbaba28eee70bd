// What is done with each launch and copy of the program, and what is written down about it.
//
// The record is the machine's (cudart/record.h) with "on":"gpu" in its first line. A launch names the counters that
// were read and no others, and has "times":{"cold":[s,...],"warm":[s,...]} where it was repeated; "seconds" is its own
// time on the device. {"note":text} says once what could not be done. Copies have "seconds" too, of the calls that wait
// for them.
//
// From the environment: COALESCE_GPU_RECORD (file; nothing is measured without it), COALESCE_GPU_REPEAT (times a launch
// is repeated for each of cold and warm; 0: never), COALESCE_GPU_COUNTERS (1: read ours), COALESCE_GPU_METRICS (metrics
// by CUPTI's names, with commas, alone or besides), COALESCE_GPU_LAUNCHES (launches of one kernel that are measured;
// later ones only run), COALESCE_GPU_BATCH (launches whose counters are read together), COALESCE_GPU_WAIT (seconds to
// wait while another process has the counters), COALESCE_GPU_PLAIN (1: nothing is waited for or repeated, only copies
// and the whole are timed).
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "cudart/record_file.h"
#include "gpu/counters.h"
#include "gpu/runtime.h"
#include "gpu/timing.h"

namespace coalesce::gpu {

class Session {
 public:
  static Session& get();

  struct Launch {
    const void* function = nullptr;  // what the program names its kernel by
    dim3 grid, block;
    size_t shared = 0;
    cudaStream_t stream = nullptr;
  };
  cudaError_t launch(const Launch& launch, const std::function<cudaError_t()>& run);

  enum Path { h2d, d2h, d2d, h2h };
  // `waits`: the call returns when the copy is done, so that its time is the copy's.
  cudaError_t copy(Path path, size_t bytes, bool waits, const std::function<cudaError_t()>& run);
  // A call that waits for the device: the end of what was measured so far.
  cudaError_t wait(const std::function<cudaError_t()>& run);
  void end();
  // The program resets the device: what waits is read before, and all begins anew after.
  cudaError_t reset(const std::function<cudaError_t()>& run);
  // A graph's launch: its kernels cannot be told apart; a note says that they are missing.
  cudaError_t graph(const std::function<cudaError_t()>& run);

 private:
  using Clock = std::chrono::steady_clock;
  Session();
  bool active() const;
  void begin();
  void note(const std::string& text);  // the same text once
  void no_counters(const std::string& why);
  void write(const std::string& line);
  uint32_t kernel_number(const void* function);
  // Reads the counters of the launches that wait for theirs, and writes all of them down.
  void collect();
  void begin_span();
  void end_span();

  std::mutex mutex_;
  cudart::RecordFile file_;
  bool begun_ = false, plain_ = false, want_counters_ = false;
  int repeat_ = 0;
  uint64_t most_launches_ = 0, launches_ = 0;
  std::unique_ptr<Timer> timer_;
  std::unique_ptr<HardwareCounters> counters_;
  std::map<const void*, uint32_t> kernels_;
  std::map<uint32_t, uint64_t> launched_;
  std::map<std::string, bool> notes_;
  std::vector<std::string> waiting_;  // lines of launches whose counters are still to be read, up to "counters":
  Clock::time_point collected_;
  struct Copies {
    uint64_t calls = 0, bytes = 0;
    double seconds = 0;
  } copies_[4];
  bool spanning_ = false;
  Clock::time_point first_, last_;
};

}  // namespace coalesce::gpu
