// Measurements of a GPU: times, hardware counters, the GPU's limits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tool/figures/record.h"

namespace coalesce::tool {

// Medians of several repetitions, by our own kernels (gpu/limits.cu).
struct Limits {
  double read = 0, copy = 0;    // bytes a second; copy counts bytes read and written
  double launch_following = 0;  // seconds from one empty launch to the next
  double launch_waited = 0;     // seconds until the host knows that an empty launch is done
};

// Calls of cudaMemcpy and its relatives, by direction.
struct Copies {
  uint64_t h2d_calls = 0, h2d_bytes = 0, d2h_calls = 0, d2h_bytes = 0, d2d_calls = 0, d2d_bytes = 0;
};

// A GPU's measurements of a rung.
struct Hardware {
  machine::Counters counters;      // all launches of it, added up
  uint64_t known = 0;              // which of them were read (Launch::known)
  std::vector<double> cold, warm;  // seconds of each repetition, all launches added up
  double cycles = 0;               // clock cycles a step, where the experiment prints them; 0: it does not
  // Rungs that run one by one: medians of several runs in seconds of the host's clock: all of it, and in the calls that
  // copy and wait for it.
  double span = 0, h2d_seconds = 0, d2h_seconds = 0;

  double seconds() const;  // median with a cold cache; 0: not timed
};

// The launches of the record that belong to the rung, added up. Kernels that stop after some steps are no part of it.
Hardware hardware_of(const Record& record, const std::string& rung);

double median(std::vector<double> values);  // 0 of none
// Half the distance between the quartiles.
double spread(std::vector<double> values);

// The counters of memory on which the machine and a GPU must agree: those that hardware counts exactly.
extern const std::vector<std::size_t> kMemoryCounters;  // rows of kCounterRows

}  // namespace coalesce::tool
