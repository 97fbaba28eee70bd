// The one layout of what is counted while a launch runs. Everything else is static and multiplied in by count():
// an executor adds to these words, and two executors agree when their tallies are equal word for word.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/machine.h"
#include "machine/program/program.h"

namespace coalesce::machine {

// Per memory site. For shared accesses of at most 4 bytes `wavefronts` holds only what exceeds one per request, and
// `ideal` stays 0: a conflict-free access costs no tally at all.
struct SiteTally {
  uint64_t requests = 0;  // only where Site::dynamic_requests
  uint64_t sectors = 0, lines = 0, bytes = 0;
  uint64_t wavefronts = 0, ideal = 0;
};

struct Tally {
  explicit Tally(const Decoded& program)
      : words(3 * program.blocks.size() + 2 * program.guards + 6 * program.sites.size()),
        executions(words.data()),
        lanes(executions + program.blocks.size()),
        divergent(lanes + program.blocks.size()),
        guard_executions(divergent + program.blocks.size()),
        guard_lanes(guard_executions + program.guards),
        sites(reinterpret_cast<SiteTally*>(guard_lanes + program.guards)) {}
  Tally(const Tally&) = delete;
  Tally& operator=(const Tally&) = delete;

  void add(const Tally& other) {
    for (std::size_t i = 0; i < words.size(); ++i) words[i] += other.words[i];
  }

  std::vector<uint64_t> words;
  uint64_t* executions;        // per block: warps that ran it
  uint64_t* lanes;             // per block: lanes switched on, summed over those
  uint64_t* divergent;         // per block: times its branch sent lanes both ways
  uint64_t* guard_executions;  // per guarded instruction: warps with at least one lane on
  uint64_t* guard_lanes;
  SiteTally* sites;
};

// Totals of a launch and their distribution over source lines. `compulsory_bytes` is the memory's to know.
Counters count(const Decoded& program, const Tally& tally);
std::vector<LineCounters> count_lines(const Decoded& program, const Tally& tally);

}  // namespace coalesce::machine
