// The table of rules that findings come from.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "tool/figures/figures.h"

namespace coalesce::tool {

struct Cycles {
  double waste = 0, spent = 0;  // spent includes the waste
};

// A rule judges this: the counters of a line or of a kernel, and how full the kernel's warps were launched.
struct Judged : machine::Counters {
  uint64_t threads = 0, warps = 0;  // of all launches; 0: not known
};

struct FindingRule {
  const char* kind;
  bool per_line;  // judges each line, where there are lines; otherwise the kernel as a whole
  Cycles (*judge)(const Judged&);
  std::string (*what)(const Judged&);
  std::string (*cause)(const Judged&);
  std::string (*remedy)(const Judged&);
  std::string (*saves)(const Judged&);
  // For rules of the kernel: the finding's line is the one where this is largest; null: it has no line.
  uint64_t (*blame)(const Judged&);
  // The resources of an estimate of time that it wastes.
  std::array<machine::BoundBy, 2> resources;
};

std::span<const FindingRule> finding_rules();

// Lanes that meet in one bank, where all requests to shared memory have the same power of two of them: a regular
// stride. 0: they have not.
uint32_t bank_stride(const machine::Counters& counters);

// Cycles of all accesses that are judged by lines, and of the instructions.
double spent_cycles(const machine::Counters& counters);

}  // namespace coalesce::tool
