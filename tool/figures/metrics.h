// `--metrics a,b`: chosen counters and derived metrics in nvprof's layout, under our names, nvprof's or Nsight
// Compute's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tool/figures/figures.h"
#include "tool/figures/record.h"

namespace coalesce::tool {

// One thing that --metrics can name: a row of the counter table or a derived metric; the other pointer is null.
struct Metric {
  std::string shown;  // the name it was asked for by
  const machine::CounterRow* counter = nullptr;
  const Derived* derived = nullptr;
};

std::string_view unit_name(machine::Unit unit);  // of what a counter counts: "sector"

// "gld_transactions,inst_executed" -> metrics; "all" is every one there is.
// Throws Error (usage) for an unknown name, with the nearest ones as the hint.
std::vector<Metric> parse_metrics(const std::string& list);

// At most `limit` of `names`, those nearest to `name` in edits; far ones are left out.
std::vector<std::string> nearest(const std::string& name, const std::vector<std::string>& names, std::size_t limit);

}  // namespace coalesce::tool
