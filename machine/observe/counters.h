// THE table of counters: every name the project prints, exports or accepts comes from these rows.
// Columns: our name (also the JSON key), unit, nvprof's name, Nsight Compute's name ("" where there is none), meaning.
// All are sums over a launch, exact integers, independent of the number of threads. Rules: docs/counters.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace coalesce::machine {

// clang-format off
#define COALESCE_COUNTERS(X) \
  X(global_load_requests,       request,   "",                 "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",  "warp instructions that loaded from global memory") \
  X(global_load_sectors,        sector,    "gld_transactions", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",   "32-byte sectors those loads touched") \
  X(global_load_lines,          line,      "",                 "l1tex__t_set_accesses_pipe_lsu_mem_global_op_ld.sum", "128-byte lines those loads touched") \
  X(global_load_bytes_requested,  byte,    "",                 "",                                                 "distinct bytes the lanes of those loads asked for") \
  X(global_store_requests,      request,   "",                 "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",  "warp instructions that stored to global memory") \
  X(global_store_sectors,       sector,    "gst_transactions", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",   "32-byte sectors those stores touched") \
  X(global_store_lines,         line,      "",                 "l1tex__t_set_accesses_pipe_lsu_mem_global_op_st.sum", "128-byte lines those stores touched") \
  X(global_store_bytes_requested, byte,    "",                 "",                                                 "distinct bytes the lanes of those stores wrote") \
  X(global_atomic_requests,     request,   "atom_count",       "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum", "warp instructions of atomics that return the old value") \
  X(global_atomic_sectors,      sector,    "atomic_transactions", "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum", "sector passes of those atomics") \
  X(global_atomic_lines,        line,      "",                 "",                                                 "128-byte lines those atomics touched") \
  X(global_reduction_requests,  request,   "red_count",        "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum", "warp instructions of atomics without a result") \
  X(global_reduction_sectors,   sector,    "",                 "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",  "sector passes of those reductions") \
  X(global_reduction_lines,     line,      "",                 "",                                                 "128-byte lines those reductions touched") \
  X(bulk_load_sectors,          sector,    "",                 "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum", "sectors that bulk copies and copies of tensors (TMA) loaded") \
  X(bulk_store_sectors,         sector,    "",                 "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st.sum", "sectors that those copies stored") \
  X(bulk_reduction_sectors,     sector,    "",                 "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_red.sum", "sectors that those copies reduced into") \
  X(compulsory_bytes,           byte,      "",                 "",                                                 "32 x the distinct sectors the launch touched at all") \
  X(local_load_requests,        request,   "local_load_requests",  "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum", "warp instructions that loaded from local memory") \
  X(local_load_sectors,         sector,    "local_load_transactions", "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", "32-byte sectors those loads touched") \
  X(local_store_requests,       request,   "local_store_requests", "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum", "warp instructions that stored to local memory") \
  X(local_store_sectors,        sector,    "local_store_transactions", "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum", "32-byte sectors those stores touched") \
  X(shared_load_requests,       request,   "",                 "smsp__inst_executed_op_shared_ld.sum",             "warp instructions that loaded from shared memory") \
  X(shared_load_wavefronts,     wavefront, "shared_load_transactions",  "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "passes of the 32 banks those loads took") \
  X(shared_load_wavefronts_ideal, wavefront, "",               "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld_ideal.sum", "passes had there been no bank conflict") \
  X(shared_store_requests,      request,   "",                 "smsp__inst_executed_op_shared_st.sum",             "warp instructions that stored to shared memory") \
  X(shared_store_wavefronts,    wavefront, "shared_store_transactions", "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "passes of the 32 banks those stores took") \
  X(shared_store_wavefronts_ideal, wavefront, "",              "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st_ideal.sum", "passes had there been no bank conflict") \
  X(shared_atomic_requests,     request,   "",                 "smsp__inst_executed_op_shared_atom.sum",           "warp instructions of atomics on shared memory") \
  X(shared_atomic_wavefronts,   wavefront, "",                 "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_atom.sum", "passes of the 32 banks those atomics took") \
  X(shared_atomic_wavefronts_ideal, wavefront, "",             "",                                                 "passes had every lane had a bank of its own") \
  X(instructions,               instruction, "inst_executed",  "smsp__inst_executed.sum",                          "warp instructions executed, of PTX") \
  X(thread_instructions,        instruction, "thread_inst_executed", "smsp__thread_inst_executed.sum",             "lanes switched on, summed over them") \
  X(branches,                   instruction, "branch",         "smsp__sass_branch_targets.sum",                    "branch instructions executed by warps") \
  X(divergent_branches,         instruction, "divergent_branch", "smsp__sass_branch_targets_threads_divergent.sum", "of these, branches whose lanes went both ways") \
  X(barriers,                   instruction, "",               "smsp__inst_executed_pipe_barrier.sum",             "block-wide barrier instructions executed by warps") \
  X(shuffles,                   instruction, "inst_executed_shuffles", "smsp__inst_executed_op_shfl.sum",          "shuffle instructions executed by warps") \
  X(votes,                      instruction, "",               "",                                                 "vote, match and activemask instructions executed by warps")
// clang-format on

struct Counters {
#define COALESCE_FIELD(name, unit, nvprof, nsight, meaning) uint64_t name = 0;
  COALESCE_COUNTERS(COALESCE_FIELD)
#undef COALESCE_FIELD

  Counters& operator+=(const Counters& other);
  bool operator==(const Counters&) const = default;
};

enum class Unit : uint8_t { request, sector, line, byte, wavefront, instruction };

struct CounterRow {
  std::string_view name, nvprof, nsight, meaning;
  Unit unit;
  uint64_t Counters::* field;
};

inline constexpr CounterRow kCounterRows[] = {
#define COALESCE_ROW(name, unit, nvprof, nsight, meaning) {#name, nvprof, nsight, meaning, Unit::unit, &Counters::name},
    COALESCE_COUNTERS(COALESCE_ROW)
#undef COALESCE_ROW
};
inline constexpr std::size_t kCounterCount = sizeof(kCounterRows) / sizeof(kCounterRows[0]);

// A metric that hardware counts apart and our counter includes: its value is added to that of the counter's metric.
struct FurtherMetric {
  std::string_view nsight;
  uint64_t Counters::* field;
};
inline constexpr FurtherMetric kFurtherMetrics[] = {
    // cp.async
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum", &Counters::shared_store_wavefronts},
};

inline Counters& Counters::operator+=(const Counters& other) {
  for (const CounterRow& row : kCounterRows) this->*row.field += other.*row.field;
  return *this;
}

}  // namespace coalesce::machine
