// The record: what the child's CUDA runtime wrote down while the program ran, one JSON value a line.
//
//   {"record":"coalesce.record/1","device":{"key","name","compute_capability":[9,0]},"program":argv0,"pid":n}
//                                                      with "model":name, where it is not ptx
//   {"kernel":id,"name":mangled}                       when a kernel is first launched
//   {"launch":i,"kernel":id,"grid":[x,y,z],"block":[x,y,z],"dynamic_shared_bytes":n,"seconds":s,"fault":"" or its name,
//    "counters":{every counter:value},"lines":[[file,line,ptx_line,{non-zero counters}],...]}
//                                                      no "lines": the same as the kernel's launch before
//   {"diagnostic":{...}}  {"copies":{"h2d":{"calls":n,"bytes":n},...}}  {"end":true}
// From a GPU (gpu/session.h) the first line has "on":"gpu"; a launch has only the counters that were read, and
// "times":{"cold":[s,...],"warm":[s,...]}; copies have "seconds"; and there are {"note":text} and {"span":seconds}.
//
// A program can die at any byte, so a last line cut short is no error: everything before it counts. A record that could
// not be written to its end, as on a full disk, is left without the right to write to it.
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "machine/observe/counters.h"

namespace coalesce::tool {

struct Line {
  std::string file;       // empty: the program has no line information
  uint32_t line = 0;      // in `file`
  uint32_t ptx_line = 0;  // first line of PTX
  machine::Counters counters;
};
using Lines = std::vector<Line>;

inline constexpr uint64_t kAllCounters = (uint64_t{1} << machine::kCounterCount) - 1;
static_assert(machine::kCounterCount < 64);

struct Launch {
  std::size_t kernel = 0;  // into Record::kernels
  std::array<uint32_t, 3> grid{}, block{};
  uint64_t dynamic_shared_bytes = 0;
  double seconds = 0;        // host time the machine took; says nothing about a GPU
  std::string fault;         // empty: ran to its end
  bool interrupted = false;  // counters are of what had run
  machine::Counters counters;
  std::shared_ptr<const Lines> lines;  // never null; shared by launches that counted the same
  // On a GPU: which of the counters were read (bit i: row i of kCounterRows), and the times of its repetitions in
  // seconds, with a cold L2 cache and with a warm one.
  uint64_t known = kAllCounters;
  std::vector<double> cold, warm;

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

struct Record {
  bool started = false;   // the CUDA runtime came up and wrote its first line
  bool complete = false;  // it also wrote its last one
  bool on_gpu = false;    // measured on a real GPU, not counted by the machine
  DeviceName device;
  std::string program;
  std::vector<std::string> notes;  // what could not be measured, and why
  double span = 0;  // on a GPU: host seconds from the first launch or copy to the last call that waited for the device
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
};

// Never throws for what the text says: reading stops at the first line that is no record line and `damage` says why.
Record read_record(std::istream& in);
// Throws Error (environment) when the file cannot be opened.
Record read_record_file(const std::string& path);

// Demangles; text that is no mangled name comes back as it is.
std::string demangle(const std::string& mangled);
// "void (anonymous namespace)::reduce<512u>(int const*, int)" -> "reduce<512u>".
std::string shorten(const std::string& demangled);
// "reduce<512u>" -> "reduce".
std::string without_template_arguments(const std::string& short_name);

// Keeps only the launches whose kernel's demangled name matches the POSIX extended regular expression.
// Throws Error (usage) when it is none.
void filter(Record& record, const std::string& regular_expression);

}  // namespace coalesce::tool
