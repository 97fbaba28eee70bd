// Figures that follow from counters: totals per kernel, ratios, and the table of derived metrics.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tool/figures/record.h"

namespace coalesce::tool {

// Estimated times of several launches, added up.
struct EstimatedTotal {
  double us = 0, bounded_us = 0;  // all; of launches that a resource bounds
  // Each resource's time alone, in launches that one bounds; latency is none.
  std::array<double, machine::kBounds.size()> parts_us{};
};

// All launches of one kernel, added up.
struct KernelTotal {
  std::size_t kernel = 0;  // into Record::kernels
  uint64_t launches = 0;
  uint64_t threads = 0, warps = 0;  // of all launches; 0: not known
  machine::Counters counters;
  Lines lines;        // summed by place, in source order
  std::string fault;  // of the last launch that had one
  bool interrupted = false;
  std::map<std::size_t, uint64_t> moved;  // moved_bytes() by process
  std::optional<EstimatedTotal> time;     // only where each launch has an estimate

  bool ended() const { return fault.empty() && !interrupted; }  // every launch ran to its end
  // The process that moved most, the first of equal ones, and what it moved.
  std::pair<std::size_t, uint64_t> worst() const;
};
// In the order of the kernels' first launches.
std::vector<KernelTotal> totals(const Record& record);

// Bytes of global memory moved: 32 a sector. Lanes of an atomic that wait for one another pass over one sector many
// times but move it once, so atomics count at most the four sectors of each line they touched.
uint64_t moved_bytes(const machine::Counters& counters);
uint64_t bank_conflicts(const machine::Counters& counters);  // loads, stores and atomics
uint64_t shared_wavefronts(const machine::Counters& counters);
uint64_t shared_wavefronts_ideal(const machine::Counters& counters);
uint64_t shared_requests(const machine::Counters& counters);

// value - base, or 0: a record may be nonsense, the figures must not wrap around.
uint64_t above(uint64_t value, uint64_t base);

// Sectors that `requests` asking for `bytes` distinct bytes in all need at best: a request costs at least one, and a
// sector holds 32 bytes. A lower bound: counters do not say how the bytes were spread over the requests.
uint64_t ideal_sectors(uint64_t requests, uint64_t bytes);
uint64_t wasted_sectors(const machine::Counters& counters);  // above these, of global loads and stores

// A quotient; empty where there is nothing to divide by.
std::optional<double> ratio(uint64_t numerator, uint64_t denominator);

// A metric that is computed from counters, never counted itself.
struct Derived {
  std::string_view name;    // nvprof's name where it has one, so it needs no second
  std::string_view nsight;  // Nsight Compute's; "" where there is none
  std::string_view unit;    // "%", or "" for a plain quotient or count
  std::string_view meaning;
  std::optional<double> (*value)(const Launch& launch);  // empty: does not apply (nothing of the kind was executed)
};
extern const std::vector<Derived> kDerived;

}  // namespace coalesce::tool
