#include "tool/present/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "tool/present/table.h"

namespace coalesce::tool {
namespace {

using machine::kCounterRows;

std::string with_unit(double value, const Metric& metric) {
  const std::string_view unit = metric.derived ? metric.derived->unit : "";
  if (unit == "%") return fmt::format("{:.2f}%", value);
  // Whole numbers are printed as such: counts stay counts.
  if (value == static_cast<double>(static_cast<uint64_t>(value))) return fmt::format("{:.0f}", value);
  return fmt::format("{:.6f}", value);
}

__extension__ typedef unsigned __int128 Wide;  // sums of 64-bit counts; `using` would not take __extension__

struct Summary {
  uint64_t invocations = 0;  // launches to which the metric applies
  std::string least = "n/a", most = "n/a", mean = "n/a";
};

Summary summarise(const Record& record, std::size_t kernel, const Metric& metric) {
  Summary summary;
  if (metric.counter) {
    // Counts are 64-bit integers; a double would round above 2^53.
    uint64_t least = UINT64_MAX, most = 0;
    Wide sum = 0;
    for (const Launch& launch : record.launches) {
      if (launch.kernel != kernel) continue;
      const uint64_t value = launch.counters.*metric.counter->field;
      ++summary.invocations;
      least = std::min(least, value), most = std::max(most, value), sum += value;
    }
    if (summary.invocations == 0) return summary;
    const auto whole = static_cast<uint64_t>(sum / summary.invocations);
    const auto rest = static_cast<uint64_t>(sum % summary.invocations);
    summary.least = std::to_string(least);
    summary.most = std::to_string(most);
    summary.mean = std::to_string(whole);
    if (rest) {
      // Six decimals, cut off rather than rounded so that the mean of counts never shows as the next whole number.
      const auto decimals = static_cast<uint64_t>(static_cast<Wide>(rest) * 1'000'000 / summary.invocations);
      summary.mean += fmt::format(".{:06}", decimals);
    }
    return summary;
  }
  double least = 0, most = 0, sum = 0;
  for (const Launch& launch : record.launches) {
    if (launch.kernel != kernel) continue;
    const auto value = metric.derived->value(launch);
    if (!value) continue;
    least = summary.invocations ? std::min(least, *value) : *value;
    most = summary.invocations ? std::max(most, *value) : *value;
    sum += *value;
    ++summary.invocations;
  }
  if (summary.invocations == 0) return summary;
  summary.least = with_unit(least, metric);
  summary.most = with_unit(most, metric);
  summary.mean = with_unit(sum / static_cast<double>(summary.invocations), metric);
  return summary;
}

std::string_view description(const Metric& metric) {
  return metric.counter ? metric.counter->meaning : metric.derived->meaning;
}

std::vector<std::size_t> launched_kernels(const Record& record) {
  std::vector<std::size_t> kernels;
  std::vector<bool> seen(record.kernels.size());
  for (const Launch& launch : record.launches) {
    if (!seen[launch.kernel]) kernels.push_back(launch.kernel);
    seen[launch.kernel] = true;
  }
  return kernels;
}

}  // namespace

void print_metrics(std::ostream& out, const Record& record, const std::vector<Metric>& metrics) {
  // nvprof's columns, in its order, as wide as what stands in them.
  struct Printed {
    Summary summary;
    const Metric* metric;
  };
  std::size_t names = std::string_view("Metric Name").size(), texts = std::string_view("Metric Description").size();
  std::size_t numbers = 11;
  for (const Metric& metric : metrics) {
    names = std::max(names, metric.shown.size());
    texts = std::max(texts, description(metric).size());
  }
  std::vector<std::pair<std::size_t, std::vector<Printed>>> kernels;
  for (const std::size_t kernel : launched_kernels(record)) {
    auto& rows = kernels.emplace_back(kernel, std::vector<Printed>()).second;
    for (const Metric& metric : metrics) {
      rows.push_back({summarise(record, kernel, metric), &metric});
      const Summary& s = rows.back().summary;
      numbers = std::max({numbers, s.least.size(), s.most.size(), s.mean.size()});
    }
  }
  out << fmt::format("{:>11}  {:>{}}  {:>{}}  {:>{}}  {:>{}}  {:>{}}\n", "Invocations", "Metric Name", names,
                     "Metric Description", texts, "Min", numbers, "Max", numbers, "Avg", numbers);
  out << fmt::format("Device \"{} (0)\"\n", record.device.name);
  for (const auto& [kernel, rows] : kernels) {
    out << "    Kernel: " << record.kernels[kernel].full << '\n';
    for (const Printed& row : rows) {
      out << fmt::format("{:>11}  {:>{}}  {:>{}}  {:>{}}  {:>{}}  {:>{}}\n", row.summary.invocations, row.metric->shown,
                         names, description(*row.metric), texts, row.summary.least, numbers, row.summary.most, numbers,
                         row.summary.mean, numbers);
    }
  }
  if (kernels.empty()) out << "    no kernel was launched\n";
}

void print_metrics_csv(std::ostream& out, const Record& record, const std::vector<Metric>& metrics) {
  out << csv_record({"Device", "Kernel", "Invocations", "Metric Name", "Metric Description", "Min", "Max", "Avg"});
  for (const std::size_t kernel : launched_kernels(record)) {
    for (const Metric& metric : metrics) {
      const Summary s = summarise(record, kernel, metric);
      out << csv_record({record.device.name + " (0)", record.kernels[kernel].full, std::to_string(s.invocations),
                         metric.shown, std::string(description(metric)), s.least, s.most, s.mean});
    }
  }
}

void list_metrics(std::ostream& out, bool colour) {
  const auto entry = [&](std::string_view name, std::string_view nvprof, std::string_view nsight, std::string_view unit,
                         std::string_view meaning) {
    out << styled(name, Style::bold, colour) << (unit.empty() ? "" : fmt::format("  [{}]", unit)) << "\n    " << meaning
        << '\n';
    if (!nvprof.empty()) out << "    nvprof: " << nvprof << '\n';
    if (!nsight.empty()) out << "    Nsight Compute: " << nsight << '\n';
  };
  out << "Counted, exact integers:\n\n";
  for (const auto& row : kCounterRows) entry(row.name, row.nvprof, row.nsight, unit_name(row.unit), row.meaning);
  out << "\nDerived from these:\n\n";
  for (const auto& row : kDerived) entry(row.name, "", row.nsight, row.unit, row.meaning);
}

void print_counters_markdown(std::ostream& out) {
  const auto code = [](std::string_view name) { return name.empty() ? std::string() : fmt::format("`{}`", name); };
  out << "### Counted\n\n| counter | unit | meaning | nvprof | Nsight Compute |\n|---|---|---|---|---|\n";
  for (const auto& row : kCounterRows) {
    out << fmt::format("| {} | {} | {} | {} | {} |\n", code(row.name), unit_name(row.unit), row.meaning,
                       code(row.nvprof), code(row.nsight));
  }
  out << "\n### Derived\n\n| metric | unit | meaning | Nsight Compute |\n|---|---|---|---|\n";
  for (const auto& row : kDerived) {
    out << fmt::format("| {} | {} | {} | {} |\n", code(row.name), row.unit, row.meaning, code(row.nsight));
  }
}

}  // namespace coalesce::tool
