// Bars that begin at zero, what is useful and what is wasted stacked: rungs side by side.
#pragma once

#include <string>
#include <vector>

#include "tool/figures/measures.h"

namespace coalesce::tool {

// A table with a row for each rung: name, bar, figures. report/src/chart.js draws the same for what the reader chooses.
std::string chart_html(const std::vector<const Rung*>& rungs, const ChartMeasure& measure);

}  // namespace coalesce::tool
