// Estimates of time as `coalesce run --time` prints them.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "tool/present/summary.h"

namespace coalesce::tool {

// A row for each kernel, its launches added up; below it why some have no estimate. Nothing where none was asked for.
// `measured`: what a GPU took for the same launches; null: nothing did.
void print_times(std::ostream& out, const Record& record, const SummaryStyle& style, const Record* measured = nullptr);
// The same as a figure of the report.
std::string times_html(const Record& record, const Record* measured);

// The launch of `measured` that is the i-th of `record`: the program does the same on both, so that the numbers are
// equal. Null: none there, or one of another kernel.
const Launch* same_launch(const Record& record, std::size_t i, const Record& measured);

// Columns of an export of launches, and their fields for one of them (null: empty fields).
std::vector<std::string> estimate_fields();
std::vector<std::string> estimate_values(const machine::TimeEstimate* estimate);

}  // namespace coalesce::tool
