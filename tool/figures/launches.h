// Two runs of one program, launch by launch: what the machine counted, what hardware counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tool/figures/record.h"

namespace coalesce::tool {

struct ComparedLaunch {
  std::string kernel;
  std::array<uint32_t, 3> grid{}, block{};
  machine::Counters counters;
  uint64_t known = 0;    // as Launch::known
  bool stopped = false;  // before its end: its counters are a part
};

// Reads what `coalesce run --json` wrote or ncu's CSV. `name` is how messages call it. Throws Error (usage) for
// neither.
std::vector<ComparedLaunch> read_launches(const std::string& text, const std::string& name);
std::vector<ComparedLaunch> launches_of(const Record& record);
// Whether the text, which read_launches() reads, was counted by the machine, not measured by a GPU.
bool is_counted(const std::string& text);

struct Difference {
  std::size_t launch = 0;  // among the launches of the first
  std::string kernel;
  std::size_t row = 0;  // of kCounterRows
  uint64_t counted = 0, measured = 0;
};
struct Comparing {
  std::vector<Difference> rows;  // every counter of memory that both know and that is not 0 in both
  std::size_t equal = 0;         // of these
  std::size_t launches = 0, equal_launches = 0;
  bool common = false;                 // some launch has a counter of memory in both
  std::vector<std::string> unmatched;  // launches that the other does not have
  // Two runs of the machine, the first the baseline: "counted" is before, "measured" is after.
  bool baseline = false;
  bool increased = false;  // some counter is larger in the second, or a launch of the second cannot be compared
};
// The k-th launch of a kernel is compared with the k-th of that name (names without parameters and spaces), so that
// either side may leave kernels out. Launches that were stopped are not.
Comparing compare_launches(const std::vector<ComparedLaunch>& counted, const std::vector<ComparedLaunch>& measured,
                           bool baseline = false);

// Nsight Compute's names of the memory counters, with commas: for ncu --metrics.
std::string ncu_metrics();

}  // namespace coalesce::tool
