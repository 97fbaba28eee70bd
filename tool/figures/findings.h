// Where a kernel wastes: findings ranked by their waste, each with the line, the cause and a remedy.
//
// A rule judges a source line, or the whole kernel. To rank a bank conflict beside a wasted sector, waste is in cycles
// that one multiprocessor would spend on it: 64 bytes of global memory, one wavefront of shared memory and four warp
// instructions a cycle (NVIDIA's multiprocessors of compute capability 7.0 to 9.0). Cycles rank findings; they are no
// prediction of time. A rule is silent below a tenth of what it judges, and below a hundredth of what
// the kernel spends: less is noise at edges.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tool/figures/figures.h"

namespace coalesce::tool {

struct Finding {
  const char* kind = "";  // "loads", "stores", "banks", "atomics", "local", "branches", "few threads", "reads again"
  Line line;              // where; its counters are those that were judged. No file and no PTX line: the whole kernel
  double waste = 0, spent = 0;  // cycles; spent includes the waste
  // Sentences without their full stops, in lower case.
  std::string what;    // "stores move 8.0 times the bytes they need (32.0 sectors a request, 4.0 would do)"
  std::string cause;   // "each lane touches a sector of its own: ..."
  std::string remedy;  // "let threadIdx.x be ..."
  std::string saves;   // "29.4 MB of 33.6 MB"; empty: not known
  double faster = 0;   // part of the kernel's estimated time that goes with the waste; 0: none, or no estimate
};

// The worst first. None for a kernel that did not run to its end.
std::vector<Finding> find_waste(const KernelTotal& total);

// Cycles that the line wastes by all rules that judge lines.
double wasted_cycles(const machine::Counters& counters);

// "reduce.cu:41", "PTX line 77", or "" where nothing is known. The folder is left out.
std::string place_of(const Line& line);

// The finding in sentences: "Stores move ... . Each lane ... ." and "Let ... . This saves up to 29.4 MB of 33.6 MB."
std::string diagnosis(const Finding& finding);
std::string advice(const Finding& finding);
std::string sentences(const Finding& finding);  // both

// "4.2 MB", "640 B": three digits at most, powers of ten.
std::string bytes_text(uint64_t bytes);
// "9999", "16.8M": three digits above.
std::string count_text(uint64_t count);

}  // namespace coalesce::tool
