// The order of the words that are counted while a launch runs (tally.h). The interpreter reaches them through Tally,
// native code by the numbers below.
#pragma once

#include <cstdint>

namespace coalesce::machine {

// The words of one memory site.
enum class SiteWord : uint32_t { requests, sectors, lines, bytes, wavefronts, ideal };
inline constexpr uint32_t kSiteWords = 6;

struct TallyLayout {
  uint32_t blocks = 0, guards = 0, sites = 0, bulks = 0;

  constexpr uint32_t executions(uint32_t block) const { return block; }
  constexpr uint32_t lanes(uint32_t block) const { return blocks + block; }
  constexpr uint32_t divergent(uint32_t block) const { return 2 * blocks + block; }
  constexpr uint32_t guard_executions(uint32_t guard) const { return 3 * blocks + guard; }
  constexpr uint32_t guard_lanes(uint32_t guard) const { return 3 * blocks + guards + guard; }
  constexpr uint32_t site(uint32_t site, SiteWord word) const {
    return 3 * blocks + 2 * guards + kSiteWords * site + static_cast<uint32_t>(word);
  }
  constexpr uint32_t bulk_sectors(uint32_t bulk) const { return site(sites, SiteWord::requests) + bulk; }
  constexpr uint32_t words() const { return bulk_sectors(bulks); }
};

}  // namespace coalesce::machine
