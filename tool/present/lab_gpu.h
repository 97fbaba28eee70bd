// A GPU's measurements of an experiment, as text: times and bandwidth, and the hardware's counters beside ours.
#pragma once

#include <iosfwd>

#include "tool/figures/experiment.h"
#include "tool/present/table.h"

namespace coalesce::tool {

// One row per rung: time with a cold cache (median, and half the distance of the quartiles), with a warm one, effective
// bandwidth (the bytes an infinite cache would still move, over the cold time), and its share of what the GPU can read
// and copy at best. Rungs that run one by one: the whole, and what their copies reach.
// Where times are estimated, too, that stands last.
Table times_table(const Experiment& experiment);
// One row per rung that has an estimate.
Table estimates_table(const Experiment& experiment);
// One row per rung and counter of memory that is not 0 on both sides: counted, measured, whether they are equal; only
// those that are not where the experiment does not ask for every_counter. How many there are in all, and equal.
Table hardware_table(const Experiment& experiment, std::size_t& equal, std::size_t& total);
// "reads 4.20 TB/s, copies …, a launch …": the GPU's limits in a line.
std::string limits_text(const Limits& limits);

void print_measured(std::ostream& out, const Experiment& experiment, bool colour);
void print_measured_markdown(std::ostream& out, const Experiment& experiment);

}  // namespace coalesce::tool
