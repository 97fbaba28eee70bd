#include "tool/figures/figures.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace coalesce::tool {

using machine::Counters;

namespace {

void add_time(std::optional<EstimatedTotal>& total, const Launch& launch) {
  if (!total) return;
  if (!launch.time || !launch.time->none.empty()) return total.reset();
  total->us += launch.time->us;
  if (launch.time->bound_by == machine::BoundBy::latency) return;
  total->bounded_us += launch.time->us;
  for (std::size_t i = 0; i < total->parts_us.size(); ++i)
    if (i != static_cast<std::size_t>(machine::BoundBy::latency)) total->parts_us[i] += launch.time->part_us[i];
}

}  // namespace

std::vector<KernelTotal> totals(const Record& record) {
  using Place = std::tuple<std::string, uint32_t, uint32_t>;
  struct Work {
    std::size_t slot;
    // Launches share line tables, so a table is walked once however many launches counted it.
    std::unordered_map<const Lines*, uint64_t> tables;
  };
  std::vector<KernelTotal> result;
  std::unordered_map<std::size_t, Work> by_kernel;
  for (const Launch& launch : record.launches) {
    auto [work, fresh] = by_kernel.try_emplace(launch.kernel, Work{result.size(), {}});
    if (fresh) {
      result.emplace_back();
      result.back().kernel = launch.kernel;
      result.back().time.emplace();
    }
    KernelTotal& total = result[work->second.slot];
    ++total.launches;
    total.threads += launch.threads();
    total.warps += launch.warps();
    total.counters += launch.counters;
    total.moved[launch.process] += moved_bytes(launch.counters);
    if (!launch.fault.empty()) total.fault = launch.fault;
    total.interrupted |= launch.interrupted;
    add_time(total.time, launch);
    ++work->second.tables[launch.lines.get()];
  }
  for (auto& [kernel, work] : by_kernel) {
    std::map<Place, Counters> sums;
    for (const auto& [lines, times] : work.tables) {
      for (const Line& line : *lines) {
        // With a source line the PTX line is only one of several that belong to it.
        Counters& sum = sums[Place{line.file, line.line, line.file.empty() ? line.ptx_line : 0}];
        for (const auto& row : machine::kCounterRows) sum.*row.field += times * (line.counters.*row.field);
      }
    }
    for (auto& [place, counters] : sums) {
      result[work.slot].lines.push_back({std::get<0>(place), std::get<1>(place), std::get<2>(place), counters});
    }
  }
  return result;
}

std::pair<std::size_t, uint64_t> KernelTotal::worst() const {
  std::pair<std::size_t, uint64_t> most;
  for (const auto& [process, bytes] : moved)
    if (bytes > most.second || most.second == 0) most = {process, bytes};
  return most;
}

uint64_t moved_bytes(const Counters& c) {
  return 32 * (c.global_load_sectors + c.global_store_sectors + c.bulk_load_sectors + c.bulk_store_sectors +
               c.bulk_reduction_sectors + std::min(c.global_atomic_sectors, 4 * c.global_atomic_lines) +
               std::min(c.global_reduction_sectors, 4 * c.global_reduction_lines));
}

uint64_t shared_wavefronts(const Counters& c) {
  return c.shared_load_wavefronts + c.shared_store_wavefronts + c.shared_atomic_wavefronts;
}

uint64_t shared_wavefronts_ideal(const Counters& c) {
  return c.shared_load_wavefronts_ideal + c.shared_store_wavefronts_ideal + c.shared_atomic_wavefronts_ideal;
}

uint64_t shared_requests(const Counters& c) {
  return c.shared_load_requests + c.shared_store_requests + c.shared_atomic_requests;
}

uint64_t above(uint64_t value, uint64_t base) { return value > base ? value - base : 0; }

uint64_t bank_conflicts(const Counters& c) { return above(shared_wavefronts(c), shared_wavefronts_ideal(c)); }

uint64_t ideal_sectors(uint64_t requests, uint64_t bytes) { return std::max(requests, bytes / 32 + (bytes % 32 != 0)); }

uint64_t wasted_sectors(const Counters& c) {
  return above(c.global_load_sectors, ideal_sectors(c.global_load_requests, c.global_load_bytes_requested)) +
         above(c.global_store_sectors, ideal_sectors(c.global_store_requests, c.global_store_bytes_requested));
}

std::optional<double> ratio(uint64_t numerator, uint64_t denominator) {
  if (denominator == 0) return std::nullopt;
  return static_cast<double>(numerator) / static_cast<double>(denominator);
}

}  // namespace coalesce::tool
