// The findings of `coalesce check`: a record's diagnostics, each pair of source lines once.
#pragma once

#include <vector>

#include "machine/diagnostic.h"
#include "tool/figures/record.h"

namespace coalesce::tool {

// Diagnostics of the same kernel and source lines are added up; first the ones found first.
struct Hazards {
  std::vector<machine::Diagnostic> found;
  std::vector<machine::Diagnostic> notes;  // leaks, and what could not be looked at: no hazards
};
Hazards hazards_of(const Record& record);

}  // namespace coalesce::tool
