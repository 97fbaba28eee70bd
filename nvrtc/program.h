// A program of NVRTC: its source, and what compiling it gave.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "nvrtc/abi.h"

namespace coalesce::nvrtc {

struct Program {
  std::string source, name;
  std::vector<std::pair<std::string, std::string>> headers;  // as #include names them, and their text
  std::vector<std::string> expressions;
  FlowCallback callback = nullptr;
  void* payload = nullptr;

  bool compiled = false;  // successfully
  bool machine_code = false;
  std::string ptx, log;
  std::map<std::string, std::string> lowered;  // by name expression
};

// Compiles by nvcc, or by clang with our headers, and fills the second part of `program`. Takes a second and writes to
// a folder of its own in $TMPDIR, which it removes.
Result compile(Program& program, int count, const char* const* options);

// The capabilities for which the compiler of this computer writes PTX, ascending (75 for 7.5); empty: there is no
// compiler.
const std::vector<int>& architectures();

}  // namespace coalesce::nvrtc
