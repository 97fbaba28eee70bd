// The limits of a device, in a cycle and until a result is there: the figures that estimates of time rest on. One file
// a device (limits_*.cpp), each figure with its source.
#pragma once

#include <span>
#include <string_view>

namespace coalesce::machine {

struct Limit {
  double value = 0;
  std::string_view source = {};  // of the figure: who measured it, or the document that has it
};

// Cycles are the multiprocessor's. Rates are of one multiprocessor and cycle, in warp instructions, unless a row says
// so. Columns: name, unit, meaning.
#define COALESCE_LIMITS(X)                                                                                  \
  X(clock_ghz, "GHz", "clock of the multiprocessors under load")                                            \
  X(issue, "instructions/cycle", "warp instructions a multiprocessor issues")                               \
  X(fp32, "instructions/cycle", "add, multiply, fma of f32")                                                \
  X(alu, "instructions/cycle", "compare, logic, shift, minimum, product of 32 bits")                        \
  X(fp64, "instructions/cycle", "add, multiply, fma of f64")                                                \
  X(half, "instructions/cycle", "arithmetic of f16x2")                                                      \
  X(special, "instructions/cycle", "special functions, conversions with real numbers, population counts")   \
  X(shuffle, "instructions/cycle", "shuffles")                                                              \
  X(tensor, "instructions/cycle", "matrix products of a warp, 16x8x16 of f16")                              \
  X(lat_fp32, "cycles", "from an f32 operation to one that needs its result")                               \
  X(lat_alu, "cycles", "the same of integer arithmetic")                                                    \
  X(lat_mul, "cycles", "the same of an integer multiplication")                                             \
  X(lat_fp64, "cycles", "the same of f64")                                                                  \
  X(lat_half, "cycles", "the same of f16x2")                                                                \
  X(lat_special, "cycles", "the same of a special function")                                                \
  X(lat_convert, "cycles", "the same of a conversion")                                                      \
  X(lat_shuffle, "cycles", "the same of a shuffle")                                                         \
  X(lat_shared, "cycles", "a load from shared memory")                                                      \
  X(lat_constant, "cycles", "a load from constant memory that hits")                                        \
  X(lat_constant_far, "cycles", "the same past the nearest cache")                                          \
  X(lat_constant_word, "cycles", "what each further word adds, of a load whose lanes read different ones")  \
  X(constant_cycles, "cycles", "what each word of a load from constant memory occupies it")                 \
  X(constant_near_bytes, "bytes", "the nearest cache of constants")                                         \
  X(constant_bytes, "bytes", "all caches of constants of a multiprocessor")                                 \
  X(lat_l1, "cycles", "a load that hits in L1")                                                             \
  X(lat_l2, "cycles", "a load that hits in L2")                                                             \
  X(lat_dram, "cycles", "a load that misses in L2")                                                         \
  X(lat_host, "cycles", "a load from the host's memory")                                                    \
  X(lat_atomic, "cycles", "an atomic on global memory that returns the old value")                          \
  X(lsu, "wavefronts/cycle", "passes of the load and store unit")                                           \
  X(l1_sectors, "sectors/cycle", "sectors that L1 delivers")                                                \
  X(port_sectors, "sectors/cycle", "sectors between a multiprocessor and L2")                               \
  X(store_sectors, "sectors/cycle", "sectors that a multiprocessor stores")                                 \
  X(l2_gbs, "GB/s", "reads of the whole device that hit in L2")                                             \
  X(l2_write_gbs, "GB/s", "stores of the whole device that stay in L2")                                     \
  X(dram_peak_gbs, "GB/s", "what the pins of DRAM could move; Nsight's percentages are of it")              \
  X(dram_read_gbs, "GB/s", "reads of the whole device from DRAM")                                           \
  X(dram_copy_gbs, "GB/s", "reads and writes of the whole device, as many of each")                         \
  X(host_gbs, "GB/s", "reads of the host's memory")                                                         \
  X(l1_bytes, "bytes", "L1 and shared memory of a multiprocessor")                                          \
  X(l2_bytes, "bytes", "what L2 holds before reads of it miss")                                             \
  X(launch_us, "us", "an empty kernel of one block")                                                        \
  X(branch_cycles, "cycles", "from a branch that is taken to the first instruction there")                  \
  X(code_cycles, "cycles", "from a line of 128 bytes of code to the next, for one warp")                    \
  X(code_far_cycles, "cycles", "the same the first time, behind what comes with the launch")                \
  X(code_ahead_bytes, "bytes", "of code that come with the launch")                                         \
  X(code_near_bytes, "bytes", "of code that a scheduler has near")                                          \
  X(block_cycles, "cycles", "from the end of a block to the first instruction of the next in its place")    \
  X(dispatch_cycles, "cycles", "from the start of one block on the device to that of the next")             \
  X(barrier_cycles, "cycles", "a barrier of one warp")                                                      \
  X(barrier_warp_cycles, "cycles", "what each further warp adds to a barrier")                              \
  X(fence_cycles, "cycles", "a store and a fence for the device")                                           \
  X(atom_same, "atomics/cycle", "atomics of the whole device on one address")                               \
  X(atom_same_real, "atomics/cycle", "the same of sums of real numbers")                                    \
  X(atom_sectors, "sectors/cycle", "sectors of atomics of the whole device on addresses apart")             \
  X(atom_shared, "wavefronts/cycle", "passes of atomics on shared memory")                                  \
  X(loop_shared, "cycles", "a turn of an atomic on shared memory that is a loop around a compare-and-swap") \
  X(loop_shared_wide, "cycles", "the same of 64 bits")

struct Limits {
  std::string_view device;  // Device::key
#define COALESCE_LIMIT(name, unit, meaning) Limit name = {};
  COALESCE_LIMITS(COALESCE_LIMIT)
#undef COALESCE_LIMIT
};

struct LimitRow {
  std::string_view name, unit, meaning;
  Limit Limits::* field;
};
std::span<const LimitRow> limit_rows();

// The devices that estimates are made for. Null: none of that key.
const Limits* find_limits(std::string_view device);
std::span<const Limits* const> known_limits();
// Whether its latencies were measured, on that device or one of its architecture, and are not a document's.
bool measured(const Limits& limits);

extern const Limits kLimitsH200, kLimitsH100, kLimitsA100, kLimitsV100, kLimitsP100, kLimitsP2000, kLimitsRtx4090;

}  // namespace coalesce::machine
