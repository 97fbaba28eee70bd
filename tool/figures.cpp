#include "tool/figures.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace coalesce::tool {

using machine::Counters;

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
    }
    KernelTotal& total = result[work->second.slot];
    ++total.launches;
    total.counters += launch.counters;
    if (!launch.fault.empty()) total.fault = launch.fault;
    total.interrupted |= launch.interrupted;
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

uint64_t moved_bytes(const Counters& c) {
  return 32 * (c.global_load_sectors + c.global_store_sectors +
               std::min(c.global_atomic_sectors, 4 * c.global_atomic_lines) +
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

namespace {

std::optional<double> percent(uint64_t numerator, uint64_t denominator) {
  const auto value = ratio(numerator, denominator);
  return value ? std::optional(100 * *value) : std::nullopt;
}

std::optional<double> count(uint64_t value) { return static_cast<double>(value); }

}  // namespace

// clang-format off
#define COALESCE_VALUE(expression) [](const Launch& launch) -> std::optional<double> { \
    [[maybe_unused]] const Counters& c = launch.counters; return expression; }
const std::vector<Derived> kDerived = {
    {"gld_efficiency", "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct", "%",
     "distinct bytes that global loads asked for, over the bytes of the sectors they touched",
     COALESCE_VALUE(percent(c.global_load_bytes_requested, 32 * c.global_load_sectors))},
    {"gst_efficiency", "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct", "%",
     "distinct bytes that global stores wrote, over the bytes of the sectors they touched",
     COALESCE_VALUE(percent(c.global_store_bytes_requested, 32 * c.global_store_sectors))},
    {"gld_transactions_per_request", "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio", "",
     "sectors a global load touches on average",
     COALESCE_VALUE(ratio(c.global_load_sectors, c.global_load_requests))},
    {"gst_transactions_per_request", "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio", "",
     "sectors a global store touches on average",
     COALESCE_VALUE(ratio(c.global_store_sectors, c.global_store_requests))},
    {"local_load_transactions_per_request", "l1tex__average_t_sectors_per_request_pipe_lsu_mem_local_op_ld.ratio", "",
     "sectors a local load touches on average",
     COALESCE_VALUE(ratio(c.local_load_sectors, c.local_load_requests))},
    {"local_store_transactions_per_request", "l1tex__average_t_sectors_per_request_pipe_lsu_mem_local_op_st.ratio", "",
     "sectors a local store touches on average",
     COALESCE_VALUE(ratio(c.local_store_sectors, c.local_store_requests))},
    {"shared_efficiency", "", "%",
     "wavefronts that shared memory needs without bank conflicts, over those it took",
     COALESCE_VALUE(percent(shared_wavefronts_ideal(c), shared_wavefronts(c)))},
    {"shared_load_transactions_per_request", "", "",
     "wavefronts a shared load takes on average",
     COALESCE_VALUE(ratio(c.shared_load_wavefronts, c.shared_load_requests))},
    {"shared_store_transactions_per_request", "", "",
     "wavefronts a shared store takes on average",
     COALESCE_VALUE(ratio(c.shared_store_wavefronts, c.shared_store_requests))},
    {"shared_ld_bank_conflict", "", "",
     "wavefronts of shared loads beyond those needed without conflicts",
     COALESCE_VALUE(count(above(c.shared_load_wavefronts, c.shared_load_wavefronts_ideal)))},
    {"shared_st_bank_conflict", "", "",
     "wavefronts of shared stores beyond those needed without conflicts",
     COALESCE_VALUE(count(above(c.shared_store_wavefronts, c.shared_store_wavefronts_ideal)))},
    {"warp_execution_efficiency", "smsp__thread_inst_executed_per_inst_executed.pct", "%",
     "lanes switched on, over the 32 of each warp instruction",
     COALESCE_VALUE(percent(c.thread_instructions, 32 * c.instructions))},
    {"mean_active_lanes", "smsp__thread_inst_executed_per_inst_executed.ratio", "",
     "lanes switched on in a warp instruction on average",
     COALESCE_VALUE(ratio(c.thread_instructions, c.instructions))},
    {"branch_efficiency", "smsp__sass_average_branch_targets_threads_uniform.pct", "%",
     "branches whose lanes all went the same way",
     COALESCE_VALUE(percent(above(c.branches, c.divergent_branches), c.branches))},
    {"inst_per_warp", "smsp__average_inst_executed_per_warp.ratio", "",
     "warp instructions (of PTX) a warp executes on average",
     COALESCE_VALUE(ratio(c.instructions, launch.warps()))},
    {"moved_bytes", "", "",
     "bytes of global memory moved: 32 a sector",
     COALESCE_VALUE(count(moved_bytes(c)))},
    {"moved_over_compulsory", "", "",
     "bytes moved over those touched at all (2 where all of them are updated in place)",
     COALESCE_VALUE(ratio(moved_bytes(c), c.compulsory_bytes))},
};
#undef COALESCE_VALUE
// clang-format on

}  // namespace coalesce::tool
