// `--metrics` in nvprof's layout, and the lists of all counters and metrics.
#pragma once

#include <iosfwd>
#include <vector>

#include "tool/figures/metrics.h"

namespace coalesce::tool {

// Per kernel: Invocations, Metric Name, Metric Description, Min, Max, Avg over its launches.
void print_metrics(std::ostream& out, const Record& record, const std::vector<Metric>& metrics);
void print_metrics_csv(std::ostream& out, const Record& record, const std::vector<Metric>& metrics);

// Prints the list of `--metrics list`.
void list_metrics(std::ostream& out, bool colour);

// The counter table and the derived metrics as Markdown: the generated part of docs/counters.md.
void print_counters_markdown(std::ostream& out);

}  // namespace coalesce::tool
