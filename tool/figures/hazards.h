// The findings of `coalesce check`: a record's diagnostics, each pair of source lines once, at the user's own lines,
// and without those that the user allows.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "machine/diagnostic.h"
#include "tool/figures/record.h"
#include "tool/figures/suppressions.h"

namespace coalesce::tool {

// A diagnostic's name: its hazard, or the fault that ended the launch.
std::string kind_of(const machine::Diagnostic& d);
// All kinds that a finding can have, for --disable.
std::vector<std::string> hazard_kinds();

struct HazardRules {
  std::vector<Suppression> suppressions;
  std::set<std::string> disabled;    // kinds
  bool leaks_count = false;          // as findings
  std::vector<std::string> foreign;  // folders of headers that are not the user's
};

struct Hazards {
  struct Finding {
    machine::Diagnostic d;             // the first of them
    std::vector<std::string> kernels;  // all, mangled
    uint64_t places = 1;               // pairs of PTX lines
  };
  std::vector<Finding> found;                    // each is a reason for exit code 4; first the ones found first
  std::vector<Finding> warnings;                 // worth a look, and perhaps meant
  std::vector<machine::Diagnostic> not_checked;  // code that the machine cannot run, or that stopped itself
  std::vector<machine::Diagnostic> notes;        // leaks, and other remarks
  uint64_t suppressed = 0;                       // occurrences that the user allows
};

// The record's diagnostics. What the signal left that ended an interrupted run is not among them.
std::vector<machine::Diagnostic> diagnostics_of(const Record& record);
// Equal findings are one, whatever kernel they are in. Without line information those of one kernel (or template) and
// one variable or allocation are.
Hazards hazards_of(std::vector<machine::Diagnostic> diagnostics, const HazardRules& rules);

// True: a header of the system, of a toolkit, or below one of `foreign`.
bool is_foreign(const std::string& file, const std::vector<std::string>& foreign);

}  // namespace coalesce::tool
