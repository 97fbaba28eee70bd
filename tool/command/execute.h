// Runs a program as a child with our CUDA runtime in place of NVIDIA's, and reads the record that it leaves.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tool/command/cache.h"
#include "tool/command/child.h"
#include "tool/command/layout.h"
#include "tool/command/options.h"
#include "tool/command/ranks.h"
#include "tool/figures/record.h"

namespace coalesce::tool {

// An empty file for a record, gone with this object.
class RecordFile {
 public:
  // `path`: a file that stays; empty: one of our own. Throws Error (environment).
  explicit RecordFile(const std::string& path = "");
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool stays_ = false;
};

// `first`, then what the environment variable holds already.
std::string prepended(const std::string& first, const char* variable, char separator);

struct Execution {
  Outcome outcome;
  Record record;
  std::vector<std::string> missing = {};  // ranks of the job whose counts are not whole, and why
};

bool is_source(const std::string& path);
// The executable that `program` names: itself, or what it is compiled to, which lives as long as `cache`. Throws Error.
std::string runnable(const std::string& program, const CompileOptions& options, const machine::Device& device,
                     const Layout& layout, std::unique_ptr<Cache>& cache);

// Runs a command on the machine, which its environment then names, and reads its record. Throws Error when it cannot be
// started.
Execution execute(Command command, const MachineOptions& options, const Layout& layout, bool quiet);

// Adds the records of the other ranks, which each has left as file("record") before it gave "code". What is missing
// goes to `missing`.
void gather(const Ranks& ranks, Execution& execution);

// Prints what the record does not cover, on standard error.
void print_warnings(const Execution& execution, bool colour);

// The exit code for what happened: the program's own; when that is 0, 130 after an interruption and 4 after a fault,
// unless `allow_stopped`.
int exit_code(const Execution& execution, bool allow_stopped = false);

}  // namespace coalesce::tool
