#include "tool/figures/hardware.h"

#include <algorithm>
#include <iterator>

namespace coalesce::tool {
namespace {

using machine::Counters;
using machine::kCounterRows;

std::vector<std::size_t> memory_counters() {
  static constexpr uint64_t Counters::* kFields[] = {
      &Counters::global_load_requests,      &Counters::global_load_sectors,      &Counters::global_store_requests,
      &Counters::global_store_sectors,      &Counters::global_atomic_requests,   &Counters::global_atomic_sectors,
      &Counters::global_reduction_requests, &Counters::global_reduction_sectors, &Counters::local_load_requests,
      &Counters::local_load_sectors,        &Counters::local_store_requests,     &Counters::local_store_sectors,
      &Counters::shared_load_wavefronts,    &Counters::shared_store_wavefronts,  &Counters::shared_atomic_wavefronts};
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < machine::kCounterCount; ++row) {
    if (std::find(std::begin(kFields), std::end(kFields), kCounterRows[row].field) != std::end(kFields))
      rows.push_back(row);
  }
  return rows;
}

void add(std::vector<double>& sum, const std::vector<double>& more) {
  if (sum.empty()) sum.resize(more.size());
  sum.resize(std::min(sum.size(), more.size()));
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
}

}  // namespace

const std::vector<std::size_t> kMemoryCounters = memory_counters();

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double spread(std::vector<double> values) {
  if (values.size() < 2) return 0;
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (values[above] - values[below]) * (place - static_cast<double>(below));
  };
  return (at(0.75) - at(0.25)) / 2;
}

double Hardware::seconds() const { return median(cold); }

Hardware hardware_of(const Record& record, const std::string& rung) {
  Hardware sum;
  bool first = true;
  for (const Launch& launch : record.launches) {
    const std::string& name = record.kernels[launch.kernel].short_name;
    if (name != rung && without_template_arguments(name) != rung) continue;
    sum.counters += launch.counters;
    sum.known = first ? launch.known : sum.known & launch.known;
    add(sum.cold, launch.cold);
    add(sum.warm, launch.warm);
    first = false;
  }
  return sum;
}

}  // namespace coalesce::tool
