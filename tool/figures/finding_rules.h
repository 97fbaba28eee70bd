// The table of rules that findings come from.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tool/figures/figures.h"

namespace coalesce::tool {

struct Cycles {
  double waste = 0, spent = 0;  // spent includes the waste
};

struct FindingRule {
  const char* kind;
  bool per_line;  // judges each line, where there are lines; otherwise the kernel as a whole
  Cycles (*judge)(const machine::Counters&);
  std::string (*what)(const machine::Counters&);
  std::string (*cause)(const machine::Counters&);
  std::string (*remedy)(const machine::Counters&);
  std::string (*saves)(const machine::Counters&);
  // For rules of the kernel: the finding's line is the one where this is largest; null: it has no line.
  uint64_t (*blame)(const machine::Counters&);
};

std::span<const FindingRule> finding_rules();

// Lanes that meet in one bank, where all requests to shared memory have the same power of two of them: a regular
// stride. 0: they have not.
uint32_t bank_stride(const machine::Counters& counters);

// Cycles of all accesses that are judged by lines, and of the instructions.
double spent_cycles(const machine::Counters& counters);

}  // namespace coalesce::tool
