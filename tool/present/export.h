// Counters for other programs: JSON ("coalesce.run/1") and CSV, every figure exact.
#pragma once

#include <exception>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tool/figures/record.h"

namespace coalesce::tool {

// {"schema":"coalesce.run/1","device":{...},"program":...,"exit_code":n,"complete":bool,
//  "launches":[{"kernel":demangled,"grid","block","dynamic_shared_bytes","counters":{...}}...],"copies":...,"diagnostics":[...]}
// A launch that did not end well also has "fault" or "interrupted"; `lines` adds "lines":[{"file","line","ptx_line",
// "counters":{non-zero}}]. "complete" is false when the program died before its runtime could close the record.
void write_json(std::ostream& out, const Record& record, std::optional<int> exit_code, bool lines);
// Such a file until the run of `program` has ended: "complete" is false, "exit_code" null.
std::string unfinished_run_json(const std::string& program);

// A GPU's export also has "on":"gpu"; launches have only the counters that were read, "seconds", and "times":{"cold":
// {"median","spread","repetitions":[s,...]},"warm":{...}} if they were repeated; "notes" say what was not measured.

// "key", "name", "compute_capability", and "model" where it is not ptx.
nlohmann::ordered_json device_json(const DeviceName& device);
// All counters by name, with or without those that are 0; those whose bits are set (Launch::known).
nlohmann::ordered_json counters_json(const machine::Counters& counters, bool zeros);
nlohmann::ordered_json known_counters_json(const machine::Counters& counters, uint64_t known);

// "device" and the fields of an estimate, or "none" and why there is none; "cold" and "warm" of a launch on a GPU.
nlohmann::ordered_json estimate_json(const machine::TimeEstimate& estimate, const std::string& device);
nlohmann::ordered_json times_json(const Launch& launch);

// One record per launch, every counter a column. `measured`: the same program on a GPU, whose median time with a cold
// cache and counters follow in columns of their own.
void write_csv(std::ostream& out, const Record& record, const Record* measured = nullptr);
// One record per source line of each kernel, its launches added up.
void write_lines_csv(std::ostream& out, const Record& record);

// A file to export to, opened before the program runs so that an hour's counting is not lost to a wrong path.
// What the file held stays until `write`, which replaces it. "-" is standard output.
class Export {
 public:
  // Throws Error (usage) naming `option` when it cannot be written.
  Export(std::string option, std::string path);
  ~Export();
  Export(const Export&) = delete;
  Export& operator=(const Export&) = delete;
  bool standard_output() const { return path_ == "-"; }
  // Gives a file its content until write(), should the command be killed; no other destination gets it.
  void begin(const std::string& text);
  // The same, where the file holds nothing yet.
  void begin_empty(const std::string& text);
  // Throws Error (environment) when the disk is full or so.
  void write(const std::string& text);

 private:
  bool is_file() const;

  std::string option_, path_;
  int descriptor_ = -1;
};

// Several exports: one that fails does not keep the others from being written.
class Exporting {
 public:
  template <class Write>
  void attempt(Write write) {
    try {
      write();
    } catch (...) {
      if (!first_) first_ = std::current_exception();
    }
  }
  // Throws what the first that failed has thrown.
  void finish() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::exception_ptr first_;
};

// write(2) until all is written. False: errno says why not.
bool write_all(int descriptor, const std::string& text);

}  // namespace coalesce::tool
