#include "tool/figures/measures.h"

#include <algorithm>
#include <iterator>

#include "tool/figures/figures.h"

namespace coalesce::tool {
namespace {

constexpr double kTellsApart = 1.1;  // the largest over the smallest

uint64_t local_bytes(const Rung& r) { return 32 * (r.counters.local_load_sectors + r.counters.local_store_sectors); }
uint64_t divergent(const Rung& r) { return r.counters.divergent_branches; }

const ChartMeasure kChartMeasures[] = {
    {"moved_bytes", "bytes of global memory moved", true, [](const Rung& r) { return moved_bytes(r.counters); },
     [](const Rung& r) { return 32 * wasted_sectors(r.counters); }},
    {"shared_wavefronts", "passes over the banks of shared memory", false,
     [](const Rung& r) { return shared_wavefronts(r.counters); },
     [](const Rung& r) { return bank_conflicts(r.counters); }},
    {"local_bytes", "bytes of local memory moved", true, local_bytes, local_bytes},
    {"divergent_branches", "branches whose lanes went both ways", false, divergent, divergent},
    {"instructions", "warp instructions (of PTX)", false, [](const Rung& r) { return r.counters.instructions; },
     nullptr},
    {"h2d_calls", "calls that copy to the device", false,
     [](const Rung& r) { return r.copies ? r.copies->h2d_calls : 0; }, nullptr},
};

}  // namespace

const ChartMeasure* find_measure(std::string_view name) {
  const auto found = std::find_if(std::begin(kChartMeasures), std::end(kChartMeasures),
                                  [&](const ChartMeasure& m) { return m.name == name; });
  return found == std::end(kChartMeasures) ? nullptr : found;
}

const ChartMeasure* telling_measure(const std::vector<Rung>& rungs) {
  const ChartMeasure* first = nullptr;
  for (const ChartMeasure& measure : kChartMeasures) {
    uint64_t most = 0, least = UINT64_MAX;
    for (const Rung& rung : rungs) {
      most = std::max(most, measure.all(rung));
      least = std::min(least, measure.all(rung));
    }
    if (most == 0) continue;
    if (!first) first = &measure;
    if (static_cast<double>(most) > kTellsApart * static_cast<double>(least)) return &measure;
  }
  return first;
}

std::string measure_names() {
  std::string names;
  for (const ChartMeasure& measure : kChartMeasures) names += (names.empty() ? "" : ", ") + std::string(measure.name);
  return names;
}

}  // namespace coalesce::tool
