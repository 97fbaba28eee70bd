// The measures that a chart of rungs can show.
#pragma once

#include <string_view>
#include <vector>

#include "tool/figures/experiment.h"

namespace coalesce::tool {

struct ChartMeasure {
  std::string_view name;   // as claims.toml calls it
  std::string_view title;  // "bytes of global memory moved"
  bool bytes;
  uint64_t (*all)(const Rung&);
  uint64_t (*wasted)(const Rung&);  // of all; null: nothing of it can be called wasted
};
// Null: no such measure.
const ChartMeasure* find_measure(std::string_view name);
// The first one that tells the rungs apart; null: nothing was counted.
const ChartMeasure* telling_measure(const std::vector<Rung>& rungs);
// The names, with commas.
std::string measure_names();

}  // namespace coalesce::tool
