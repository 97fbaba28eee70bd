// A GPU's measurements of an experiment, in the report: times, bandwidth, and the hardware's counters beside ours.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tool/figures/experiment.h"

namespace coalesce::tool {

// Empty where the experiment did not run on a GPU. `id` begins all ids within.
std::string measured_html(const Experiment& experiment, const std::string& id);
// A run on a GPU alone: times and counters of each kernel.
std::string measured_html(const Record& record);
// For the page's data: median times, bandwidth, hardware counters.
nlohmann::ordered_json measured_json(const Rung& rung);

}  // namespace coalesce::tool
