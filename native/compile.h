// A lowered kernel -> an object file with the CPU's own code for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/execute/code.h"

namespace coalesce::native {

// The CPU to compile for. `cpu` and `features` are LLVM's ("znver4", "+avx512f,-avx512bw"); empty: the one at hand.
struct Target {
  std::string cpu, features;
};

struct CompileOptions {
  unsigned level = 1;  // of optimisation: 0 compiles fastest, 1 is what pays
  bool text = false;   // the object's code is what LLVM is given, as text, for tests to read
};

// Relocatable machine code and what its loader must know. It holds no addresses of this process: everything else
// reaches it through the frame it is called with (frame.h). Equal for equal kernel text, launch shape and target, so it
// may be kept on disk.
struct Object {
  std::vector<uint8_t> code;    // an ELF object; empty: no region of this kernel has a native form
  std::vector<uint32_t> words;  // for the loader (kernel.cpp)
};

// Changes whenever equal input may give different objects, or objects are called differently.
inline constexpr uint32_t kObjectVersion = 1;

// Throws std::runtime_error where LLVM cannot compile for the target. Cost: tens of milliseconds. Any thread.
Object compile(const machine::Code& code, const Target& target, const CompileOptions& options);

}  // namespace coalesce::native
