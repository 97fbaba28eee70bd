// Writes a record (format.h), line by line. Not thread-safe: callers hold their own lock.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/file.h"
#include "record/format.h"

namespace coalesce::machine {
struct Diagnostic;
struct LineCounters;
struct TimeEstimate;
}  // namespace coalesce::machine

namespace coalesce::record {

// The device and the program, for the first line.
struct Header {
  std::string_view key, name;  // of the device
  unsigned major = 0, minor = 0;
  bool on_gpu = false;
  uint64_t l2_bytes = 0;  // with on_gpu
  unsigned devices = 1;
  std::string_view model = {};  // empty: requests of the PTX are counted
};

struct LaunchEntry {
  uint32_t kernel = 0;  // an id that name_kernel() was called with
  std::array<uint32_t, 3> grid{}, block{};
  uint64_t dynamic_shared_bytes = 0;
  double seconds = 0;
  unsigned device = 0;      // of several
  uint64_t peer_bytes = 0;  // at least so many of other devices' memory
  std::string fault = {};   // empty: none
  bool interrupted = false;
  machine::Counters counters = {};
  uint64_t known = kAllCounters;                              // the counters that are written
  const std::vector<machine::LineCounters>* lines = nullptr;  // null: none are known
  const machine::TimeEstimate* time = nullptr;                // null: not asked for
  // On a GPU: seconds of each repetition, and values by CUPTI's names.
  std::vector<double> cold = {}, warm = {};
  std::vector<std::pair<std::string, double>> metrics = {};
};

class Writer {
 public:
  void open(const std::string& path) { file_.open(path); }  // as File::open()
  bool active() const { return file_.active(); }

  void header(const Header& header);
  // Writes a kernel's name where `id` is new since the last header.
  void name_kernel(uint32_t id, std::string_view mangled);
  void launch(const LaunchEntry& entry);
  void diagnostic(const machine::Diagnostic& diagnostic);
  void note(std::string_view text);
  // Adds up what end() writes. `seconds`: of a call that waited for the copy; only a GPU's are written.
  void copy(CopyPath path, uint64_t bytes, double seconds = 0);
  uint64_t launches() const { return launches_; }  // written so far
  // The closing lines. `span`: seconds; 0: not known. Later calls of anything write nothing.
  void end(double span = 0);

 private:
  void write(std::string& line);

  File file_;
  bool on_gpu_ = false, several_devices_ = false;
  std::string pid_ = "\"pid\":0";  // ends each line
  uint64_t launches_ = 0;
  struct Before {
    std::string lines, time;
  };
  std::map<uint32_t, Before> before_;  // of each named kernel, as written; empty: none yet
  struct Copies {
    uint64_t calls = 0, bytes = 0;
    double seconds = 0;
  };
  std::array<Copies, kCopyNames.size()> copies_;
};

}  // namespace coalesce::record
