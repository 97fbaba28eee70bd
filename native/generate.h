// A lowered kernel -> an object file with the CPU's own code for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/execute/code.h"

namespace coalesce::native {

// The CPU to compile for. `name` and `features` are LLVM's ("znver4", "+avx512f,-avx512bw").
struct Target {
  std::string name;
  std::string features;
  unsigned vector_bits = 0;  // widest vectors to use: 128, 256, 512
};
// The CPU at hand.
Target host_target();

// Relocatable machine code and what its loader must know. It holds no addresses of this process: everything else
// reaches it through the frame it is called with. Equal for equal kernel text, launch shape and target, so it may be
// kept on disk.
struct Object {
  std::vector<uint8_t> code;     // an ELF object; empty: no region of this kernel has a native form
  std::vector<uint32_t> words;   // for the loader (load.cpp)
};

// Changes whenever equal input may give different objects, or objects are called differently.
inline constexpr uint32_t kObjectVersion = 1;

// Throws std::runtime_error where LLVM cannot compile for the target. Cost: tens of milliseconds. Any thread.
Object compile(const machine::Code& code, const Target& target);

// The same as text, for tests and curiosity.
std::string assembly(const machine::Code& code, const Target& target);

}  // namespace coalesce::native
