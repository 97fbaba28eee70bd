// The counts of a running launch. Everything else is static and multiplied in by count(): an executor adds to these
// words, and two executors agree when their tallies are equal word for word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "machine/program/program.h"
#include "machine/tally/layout.h"

namespace coalesce::machine {

// Per memory site, in the order of SiteWord. For shared accesses of at most 4 bytes `wavefronts` holds only what
// exceeds one per request, and `ideal` stays 0: a conflict-free access costs no tally at all.
struct SiteTally {
  uint64_t requests = 0;  // only where Site::dynamic_requests
  uint64_t sectors = 0, lines = 0, bytes = 0;
  uint64_t wavefronts = 0, ideal = 0;
};
static_assert(sizeof(SiteTally) == kSiteWords * sizeof(uint64_t));
static_assert(offsetof(SiteTally, sectors) == static_cast<std::size_t>(SiteWord::sectors) * sizeof(uint64_t));
static_assert(offsetof(SiteTally, lines) == static_cast<std::size_t>(SiteWord::lines) * sizeof(uint64_t));
static_assert(offsetof(SiteTally, bytes) == static_cast<std::size_t>(SiteWord::bytes) * sizeof(uint64_t));
static_assert(offsetof(SiteTally, wavefronts) == static_cast<std::size_t>(SiteWord::wavefronts) * sizeof(uint64_t));
static_assert(offsetof(SiteTally, ideal) == static_cast<std::size_t>(SiteWord::ideal) * sizeof(uint64_t));

inline TallyLayout layout_of(const Decoded& p) {
  return {static_cast<uint32_t>(p.blocks.size()), p.guards, static_cast<uint32_t>(p.sites.size()),
          static_cast<uint32_t>(p.bulks.size())};
}

struct Tally {
  explicit Tally(const Decoded& program) : Tally(layout_of(program)) {}
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
  uint64_t* bulk_sectors;  // per copy in Decoded::bulks

 private:
  explicit Tally(const TallyLayout& layout)
      : words(layout.words()),
        executions(words.data() + layout.executions(0)),
        lanes(words.data() + layout.lanes(0)),
        divergent(words.data() + layout.divergent(0)),
        guard_executions(words.data() + layout.guard_executions(0)),
        guard_lanes(words.data() + layout.guard_lanes(0)),
        sites(reinterpret_cast<SiteTally*>(words.data() + layout.site(0, SiteWord::requests))),
        bulk_sectors(words.data() + layout.bulk_sectors(0)) {}
};

}  // namespace coalesce::machine
