// The table of derived metrics.
#include <algorithm>

#include "tool/figures/figures.h"

namespace coalesce::tool {

using machine::Counters;

namespace {

std::optional<double> percent(uint64_t numerator, uint64_t denominator) {
  const auto value = ratio(numerator, denominator);
  return value ? std::optional(100 * *value) : std::nullopt;
}

std::optional<double> count(uint64_t value) { return static_cast<double>(value); }

// The launch's estimate; null: there is none.
const machine::TimeEstimate* estimate(const Launch& launch) {
  return launch.time && launch.time->none.empty() ? launch.time.get() : nullptr;
}

// GB/s of so many bytes in the estimated time.
std::optional<double> rate(const Launch& launch, uint64_t bytes) {
  const machine::TimeEstimate* e = estimate(launch);
  return e ? std::optional(static_cast<double>(bytes) / e->us / 1e3) : std::nullopt;
}
std::optional<double> estimated(const Launch& launch, uint64_t machine::TimeEstimate::* figure) {
  const machine::TimeEstimate* e = estimate(launch);
  return e ? std::optional(static_cast<double>(e->*figure)) : std::nullopt;
}

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
    {"duration", "gpu__time_duration.sum", "us", "estimated, with --time: of the launch",
     COALESCE_VALUE(estimate(launch) ? std::optional(estimate(launch)->us) : std::nullopt)},
    {"achieved_occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active", "%",
     "estimated, with --time: resident warps, over the most there can be",
     COALESCE_VALUE(estimate(launch) ? std::optional(100 * estimate(launch)->occupancy) : std::nullopt)},
    {"gld_throughput", "", "GB/s", "estimated, with --time: bytes of the sectors of global loads",
     COALESCE_VALUE(rate(launch, 32 * c.global_load_sectors))},
    {"gst_throughput", "", "GB/s", "estimated, with --time: bytes of the sectors of global stores",
     COALESCE_VALUE(rate(launch, 32 * c.global_store_sectors))},
    {"dram_read_throughput", "dram__bytes_read.sum.per_second", "GB/s", "estimated, with --time: bytes read from DRAM",
     COALESCE_VALUE(estimate(launch) ? rate(launch, estimate(launch)->dram_read_bytes) : std::nullopt)},
    {"dram_write_throughput", "dram__bytes_write.sum.per_second", "GB/s",
     "estimated, with --time: bytes written to DRAM",
     COALESCE_VALUE(estimate(launch) ? rate(launch, estimate(launch)->dram_write_bytes) : std::nullopt)},
    {"dram_read_bytes", "dram__bytes_read.sum", "", "estimated, with --time: bytes read from DRAM",
     COALESCE_VALUE(estimated(launch, &machine::TimeEstimate::dram_read_bytes))},
    {"dram_write_bytes", "dram__bytes_write.sum", "", "estimated, with --time: bytes written to DRAM",
     COALESCE_VALUE(estimated(launch, &machine::TimeEstimate::dram_write_bytes))},
    {"l1_hit_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum", "",
     "estimated, with --time: sectors of global loads that L1 has",
     COALESCE_VALUE(estimated(launch, &machine::TimeEstimate::l1_hit_sectors))},
    {"l2_hit_sectors", "lts__t_sectors_op_read_lookup_hit.sum", "",
     "estimated, with --time: sectors of global loads that L2 has",
     COALESCE_VALUE(estimated(launch, &machine::TimeEstimate::l2_hit_sectors))},
};
#undef COALESCE_VALUE
// clang-format on

}  // namespace coalesce::tool
