#include "tool/figures/metrics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "tool/figures/error.h"

namespace coalesce::tool {
namespace {

using machine::kCounterRows;

// Nsight Compute's users leave the ".sum" off as often as not.
bool same_nsight(std::string_view known, std::string_view asked) {
  if (known.empty()) return false;
  return known == asked || (known.substr(0, known.rfind('.')) == asked && known.ends_with(".sum"));
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  const auto add = [&](std::string_view name) {
    if (!name.empty()) names.emplace_back(name);
  };
  for (const auto& row : kCounterRows) add(row.name), add(row.nvprof), add(row.nsight);
  for (const auto& row : kDerived) add(row.name), add(row.nsight);
  return names;
}

// True for metrics that profilers report and a machine without a clock cannot.
bool needs_time(std::string_view name) {
  for (const char* word :
       {"throughput", "ipc", "occupancy", "utilization", "stall", "duration", "cycles", "per_second"}) {
    if (name.find(word) != std::string_view::npos) return true;
  }
  return false;
}

Metric find_metric(const std::string& name) {
  for (const auto& row : kCounterRows) {
    if (row.name == name || (!row.nvprof.empty() && row.nvprof == name) || same_nsight(row.nsight, name)) {
      return {name, &row, nullptr};
    }
  }
  for (const auto& row : kDerived) {
    if (row.name == name || same_nsight(row.nsight, name)) return {name, nullptr, &row};
  }
  std::string hint = "coalesce run --metrics list shows all of them";
  if (const auto near = nearest(name, all_names(), 3); !near.empty()) {
    hint = fmt::format("did you mean {}? {}", fmt::join(near, ", "), hint);
  } else if (needs_time(name)) {
    hint = "it depends on time, and the machine counts but does not time; " + hint;
  }
  throw Error(Exit::usage, "unknown metric '" + name + "'", hint);
}

}  // namespace

std::vector<std::string> nearest(const std::string& name, const std::vector<std::string>& names, std::size_t limit) {
  const std::string wanted = name.substr(0, 200);
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const std::string& candidate : names) {
    // Letters changed, added, left out, or exchanged with their neighbour.
    std::vector<std::size_t> row(candidate.size() + 1), above(row.size()), before(row.size());
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= wanted.size(); ++i) {
      before = above;
      above = row;
      row[0] = i;
      for (std::size_t j = 1; j <= candidate.size(); ++j) {
        row[j] = std::min({above[j - 1] + (wanted[i - 1] != candidate[j - 1]), above[j] + 1, row[j - 1] + 1});
        if (i > 1 && j > 1 && wanted[i - 1] == candidate[j - 2] && wanted[i - 2] == candidate[j - 1])
          row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    // More than a third of the letters wrong is another word.
    if (row.back() * 3 <= std::max(wanted.size(), candidate.size())) found.emplace_back(row.back(), candidate);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> result;
  for (const auto& [distance, candidate] : found) {
    if (result.size() < limit && std::find(result.begin(), result.end(), candidate) == result.end())
      result.push_back(candidate);
  }
  return result;
}

std::string_view unit_name(machine::Unit unit) {
  static constexpr std::string_view kNames[] = {"request", "sector", "line", "byte", "wavefront", "instruction"};
  return kNames[static_cast<std::size_t>(unit)];
}

std::vector<Metric> parse_metrics(const std::string& list) {
  std::vector<Metric> metrics;
  std::istringstream in(list);
  for (std::string name; std::getline(in, name, ',');) {
    const auto start = name.find_first_not_of(" \t");
    if (start == std::string::npos) continue;
    name = name.substr(start, name.find_last_not_of(" \t") + 1 - start);
    if (name == "all") {
      for (const auto& row : kCounterRows) metrics.push_back({std::string(row.name), &row, nullptr});
      for (const auto& row : kDerived) metrics.push_back({std::string(row.name), nullptr, &row});
    } else {
      metrics.push_back(find_metric(name));
    }
  }
  if (metrics.empty())
    throw Error(Exit::usage, "--metrics names no metric", "coalesce run --metrics list shows all of them");
  return metrics;
}

}  // namespace coalesce::tool
