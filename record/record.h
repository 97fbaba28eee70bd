// A record, as it is read (format.h says how it is written).
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "machine/diagnostic.h"
#include "machine/observe/counters.h"
#include "machine/time/estimate.h"
#include "record/format.h"

namespace coalesce::record {

struct Line {
  std::string file;       // empty: the program has no line information
  uint32_t line = 0;      // in `file`
  uint32_t ptx_line = 0;  // first line of PTX
  machine::Counters counters;
};
using Lines = std::vector<Line>;

struct Launch {
  std::size_t kernel = 0;   // into Record::kernels
  std::size_t process = 0;  // into Record::processes
  std::array<uint32_t, 3> grid{}, block{};
  uint64_t dynamic_shared_bytes = 0;
  double seconds = 0;        // host time the machine took; says nothing about a GPU
  std::string fault;         // empty: ran to its end
  unsigned device = 0;       // of Record::devices
  uint64_t peer_bytes = 0;   // 32 x the distinct sectors of other devices' memory that it touched
  bool interrupted = false;  // counters are of what had run
  machine::Counters counters;
  std::shared_ptr<const Lines> lines;  // never null; shared by launches that counted the same
  // On a GPU: which of the counters were read (bit i: row i of kCounterRows), and the times of its repetitions in
  // seconds, with a cold L2 cache and with a warm one.
  uint64_t known = kAllCounters;
  std::vector<double> cold, warm;
  std::shared_ptr<const machine::TimeEstimate> time;  // null: not asked for

  uint64_t threads() const;
  uint64_t warps() const;  // warps launched: blocks x ceil(threads of a block / 32)
};

struct Kernel {
  std::string mangled;
  std::string full;        // demangled, with its parameters
  std::string short_name;  // without return type, parameters and namespaces
};

inline constexpr const char* kGpuKey = "gpu";  // DeviceName::key in a GPU's record

struct DeviceName {
  std::string key, name;
  std::array<uint32_t, 2> compute_capability{};
  std::string model = {};  // whose requests were counted (machine/model.h); empty: those of the PTX

  std::string counted() const { return model.empty() ? "counted" : "counted as --model " + model; }
};

// One that wrote to the record.
struct Process {
  uint64_t pid = 0;
  std::string command;  // the words that started it
  std::size_t launches = 0;
  bool ended = false;                 // it wrote its last line
  std::optional<unsigned> rank = {};  // in its parallel job
};

struct Record {
  bool started = false;   // the CUDA runtime came up and wrote its first line
  bool complete = false;  // it also wrote its last one
  bool on_gpu = false;    // measured on a real GPU, not counted by the machine
  DeviceName device;
  std::string program;
  std::vector<std::string> notes;  // what could not be measured, and why
  double span = 0;  // on a GPU: host seconds from the first launch or copy to the last call that waited for the device
  std::vector<Process> processes;  // ranks in order, then in the order of their first lines
  unsigned devices = 1;            // that the machine stood for
  unsigned ranks = 0;              // of the parallel job that the processes are ranks of; 0: of none
  std::vector<Kernel> kernels;
  std::vector<Launch> launches;
  std::string none = "No kernel was launched.";     // what to say where there are no launches
  std::vector<nlohmann::ordered_json> diagnostics;  // as written
  nlohmann::ordered_json copies;                    // as written; null: none
  std::string damage;                               // why reading stopped before the end of the file; empty: it did not

  bool unused() const { return !started && damage.empty(); }  // the CUDA runtime never came up
  bool interrupted() const;
  // The first launch that ended with a fault; null: none did.
  const Launch* faulted() const;
  // Adds what another record of the same job has: its processes, launches and copies.
  void append(Record&& other);
};

// Never throws for what the text says: reading stops at the first line that is no record line and `damage` says why.
Record read_record(std::istream& in);
// Empty, with the reason in errno, where the file cannot be opened. A record that was cut is damaged.
std::optional<Record> read_record_file(const std::string& path);

// One of Record::diagnostics. Throws nlohmann's exceptions for what no writer has written.
// The other: of a launch. Throws what nlohmann throws, or std::runtime_error.
machine::TimeEstimate estimate_of(const nlohmann::ordered_json& value);
machine::Diagnostic diagnostic_of(const nlohmann::ordered_json& value);

}  // namespace coalesce::record
