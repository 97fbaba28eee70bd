// A compiler as a process: started, read, waited for. For libraries in programs of others: no signal handler, nothing
// of the program's state is touched.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace coalesce::toolchain {

struct Ran {
  int code = -1;     // its exit code, 128 + signal, or -1: not started
  std::string text;  // both of its outputs; not started: why
  bool cancelled = false;
};

// `words`: the program's path, then its arguments. What makes a program run on the machine (LD_AUDIT, LD_PRELOAD) is
// left out of its environment. `cancelled` is asked ten times a second; where it says true, the process is killed.
Ran run(const std::vector<std::string>& words, const std::function<bool()>& cancelled = {});

}  // namespace coalesce::toolchain
