// A diagnostic is a value: what went wrong, where in the user's source, and in which kernel, block, warp and lanes.
// Printing is somebody else's work (diagnostic.cpp does it as compilers do: `file:line: error: ...`, the line, a
// caret).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "machine/named.h"

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

inline constexpr Names<Fault, 10> kFaults{{{"", Fault::none},
                                           {"illegal_address", Fault::illegal_address},
                                           {"misaligned_address", Fault::misaligned_address},
                                           {"illegal_instruction", Fault::illegal_instruction},
                                           {"trap", Fault::trap},
                                           {"assertion", Fault::assertion},
                                           {"deadlock", Fault::deadlock},
                                           {"budget", Fault::budget},
                                           {"invalid_pc", Fault::invalid_pc},
                                           {"stack_overflow", Fault::stack_overflow}}};

// The hazards of `coalesce check`: of kernels (machine/check), and of what the host does (cudart/check).
enum class Hazard : uint8_t {
  none,
  race_shared,         // two accesses of shared memory, at least one of them a write, that nothing orders
  race_global,         // the same in global memory
  uninitialised,       // read of memory that nothing has written
  early_use,           // use of memory that an asynchronous copy, or a product, may still use
  divergent_barrier,   // reached by some threads while others are elsewhere, or have gone past it
  bad_mask,            // a *_sync instruction by a lane that its mask does not name
  out_of_array,        // an access that leaves the array its address was made of
  race_streams,        // work in different streams, or branches of a graph, on the same bytes without an order
  race_host,           // the host's access of bytes that a kernel or a copy may be using
  bad_copy,            // a copy or fill that leaves its allocation, or uses freed memory
  bad_free,            // of what is not allocated, or not the beginning of an allocation
  constant_write,      // a kernel's write to __constant__ memory
  failed_launch,       // refused, and the program has not asked for the error
  uninitialised_copy,  // device memory that nothing has written, copied to the host: a warning
  leak,                // device memory that the program had not freed when it ended: a note
  not_checked,         // what could not be looked at: a note
};

inline constexpr Names<Hazard, 17> kHazards{{{"", Hazard::none},
                                             {"race_shared", Hazard::race_shared},
                                             {"race_global", Hazard::race_global},
                                             {"uninitialised", Hazard::uninitialised},
                                             {"early_use", Hazard::early_use},
                                             {"divergent_barrier", Hazard::divergent_barrier},
                                             {"bad_mask", Hazard::bad_mask},
                                             {"out_of_array", Hazard::out_of_array},
                                             {"race_streams", Hazard::race_streams},
                                             {"race_host", Hazard::race_host},
                                             {"bad_copy", Hazard::bad_copy},
                                             {"bad_free", Hazard::bad_free},
                                             {"constant_write", Hazard::constant_write},
                                             {"failed_launch", Hazard::failed_launch},
                                             {"uninitialised_copy", Hazard::uninitialised_copy},
                                             {"leak", Hazard::leak},
                                             {"not_checked", Hazard::not_checked}}};

// The other access of a race: the one that ran before.
struct Party {
  std::string what;  // "read", "write", "atomic"
  SourcePlace place;
  uint32_t ptx_line = 0;
  std::array<uint32_t, 3> block{}, thread{};
  std::vector<SourcePlace> inlined_at;  // the calls that `place` was inlined to, from the inside out
  std::string who;                      // in place of a thread: "cudaMemcpyAsync in stream 3"
};

// Calls of the program's own code, the innermost first, as "FILE+0xOFFSET" of its binaries: a debugger's tools turn
// them into lines.
struct Trace {
  std::string title;  // "called", "allocation #3"
  std::vector<std::string> frames;
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
  uint32_t warp = 0;                    // warp within its block
  uint32_t lanes = 0;                   // lanes concerned, bit per lane
  std::array<uint32_t, 3> thread{};     // first lane concerned
  std::vector<std::string> notes;       // further lines: the allocation concerned, where it was freed, ...
  std::vector<SourcePlace> inlined_at;  // the calls that `place` was inlined to, from the inside out
  // Set by `check` only.
  Hazard hazard = Hazard::none;
  std::string what;            // "read", "write", "atomic": this access
  std::optional<Party> other;  // of a race
  std::string address;         // what was accessed: "offset 128 of shared memory 'sums'"
  uint64_t count = 1;          // lanes that did the same at these lines
  std::string who;             // in place of a thread: "cudaMemcpyAsync in stream 3"
  std::vector<Trace> traces;   // of the host
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
