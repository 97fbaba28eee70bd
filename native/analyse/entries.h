// The places where native code may be entered or must stop.
#pragma once

#include <vector>

#include "native/analyse/regions.h"

namespace coalesce::native {

// For each region: code may begin there, after regions that the interpreter runs and where a loop was stopped to be
// charged.
std::vector<bool> find_entries(const machine::Decoded& program, const std::vector<RegionPlan>& plans);

// For each basic block: its lanes may read one another's registers.
std::vector<bool> find_lane_exchanges(const machine::Decoded& program);

}  // namespace coalesce::native
