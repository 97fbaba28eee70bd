// Reads the CSV of Nsight Compute's command line (--csv).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tool/figures/launches.h"

namespace coalesce::tool {

// Both layouts: one row a launch with a column a metric (--page raw), and one row a metric. Lines before the table (the
// program's own, ncu's "==PROF==") are skipped. Nothing: the text holds no such table.
std::optional<std::vector<ComparedLaunch>> read_ncu(const std::string& text);

// The records of RFC 4180 text; not complete: it ends inside a quoted field.
std::vector<std::vector<std::string>> csv_records(const std::string& text, bool* complete = nullptr);

}  // namespace coalesce::tool
