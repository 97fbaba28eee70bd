// The record of a run: JSON lines that `coalesce run` reads afterwards. Everything that finished is in the file.
//
//   {"record":"coalesce.record/1","device":{"key","name","compute_capability":[9,0]},"program":path,"pid":n}
//   {"kernel":id,"name":mangled}                       before the kernel's first launch
//   {"launch":i,"kernel":id,"grid":[x,y,z],"block":[x,y,z],"dynamic_shared_bytes":n,"seconds":s,"fault":"" or name,
//    "counters":{every counter},"lines":[[file,line,ptx_line,{non-zero counters}]...]}
//        "lines" is left out when it equals that of the kernel's previous launch; "interrupted":true when a signal
//        ended it
//   {"diagnostic":{...}}                               after the launch it belongs to
//   {"copies":{"h2d":{"calls":n,"bytes":n},...}}       at exit
//   {"end":true}                                       last, only at normal exit
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cudart/record_file.h"
#include "machine/machine.h"

namespace coalesce::cudart {

enum class CopyPath : uint8_t { h2d, d2h, d2d, h2h };
inline constexpr const char* kCopyNames[] = {"h2d", "d2h", "d2d", "h2h"};

class Record {
 public:
  Record(const std::string& path, const machine::Device& device);  // `path` as RecordFile::open() takes it

  // `kernel`: any number that stands for the kernel; `name` its mangled name.
  void launch(uint32_t kernel, const std::string& name, const machine::LaunchConfig& config,
              const machine::LaunchReport& report, bool interrupted);
  void diagnostic(const machine::Diagnostic& d);
  void copy(CopyPath path, uint64_t bytes);
  // The closing lines. Later calls of anything record nothing.
  void end();

 private:
  void write_line(std::string& line);

  RecordFile file_;
  uint64_t launches_ = 0;
  std::map<uint32_t, std::string> previous_lines_;  // per kernel, as written
  struct Copies {
    uint64_t calls = 0, bytes = 0;
  } copies_[4];
};

}  // namespace coalesce::cudart
