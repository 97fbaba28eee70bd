// The machine code that ptxas has made of kernels, for estimates of time.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace coalesce::machine {

struct MachineCode {
  uint32_t registers = 0;  // of a thread
  uint32_t bytes = 0;      // of instructions; 0: not known
  bool operator==(const MachineCode&) const = default;
};

using MachineCodes = std::map<std::string, MachineCode>;  // by the kernel's name

}  // namespace coalesce::machine
