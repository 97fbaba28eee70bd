// A diagnostic is a value: what went wrong, where in the user's source, and in which kernel, block, warp and lanes.
// Printing is somebody else's work (diagnostic.cpp does it as compilers do: `file:line: error: ...`, the line, a
// caret).
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace coalesce::machine {

// A place in source text. `file` empty: unknown. Lines and columns count from 1; 0 means unknown.
struct SourcePlace {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
};

enum class Severity : uint8_t { error, warning };

// Why a launch ended early, as the CUDA driver classifies it. cudart maps these to cudaError_t.
enum class Fault : uint8_t {
  none,
  illegal_address,      // out of bounds, null, freed memory
  misaligned_address,   // address not a multiple of the access's width
  illegal_instruction,  // an instruction this machine does not know was reached
  trap,                 // trap, __trap()
  assertion,            // assert() in a kernel
  deadlock,             // a barrier or *.sync that can never complete
  budget,               // --max-instructions exhausted
  invalid_pc,           // indirect call to something that is no function
  stack_overflow,       // recursion past the limit
};

struct Diagnostic {
  Severity severity = Severity::error;
  Fault fault = Fault::none;
  std::string message;    // one line, no full stop: "load of 4 bytes at 0x... is 12 bytes past the end of ..."
  SourcePlace place;      // in the CUDA source when the program was built with -lineinfo
  uint32_t ptx_line = 0;  // in the PTX, always known for execution errors
  std::string ptx_text;   // that line of PTX
  std::string kernel;     // mangled name; empty: not about a kernel
  std::array<uint32_t, 3> block{};
  uint32_t warp = 0;                 // warp within its block
  uint32_t lanes = 0;                // lanes concerned, bit per lane
  std::array<uint32_t, 3> thread{};  // first lane concerned
  std::vector<std::string> notes;    // further lines: the allocation concerned, where it was freed, ...
};

// Prints `d` as compilers do, several lines, ending in a newline; reads the source line from disk where it can.
// `colour`: ANSI colours.
std::string render(const Diagnostic& d, bool colour);

// Thrown for errors in what was given to the machine (PTX that does not parse ...), before anything runs.
class Error : public std::runtime_error {
 public:
  explicit Error(Diagnostic d) : std::runtime_error(d.message), diagnostic(std::move(d)) {}
  Diagnostic diagnostic;
};

}  // namespace coalesce::machine
