// Sectors that one thread has touched and not marked yet, for accesses that return: tiles of a matrix, rows after rows.
// Marks that all threads set in one place would travel between their caches at each first touch. So a thread gathers
// them for 64 sectors at a time, one line of the marks, and its most frequent test ("touched before?") reads memory of
// its own.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "machine/memory/touch_map.h"

namespace coalesce::native {

// Generated code looks at these.
struct FootprintLine {
  uint64_t line = 0;     // which 64 marks: their address / 64; 0: none
  uint64_t sectors = 0;  // bit k: mark k is to be set
};

class Footprint {
 public:
  static constexpr uint64_t kLines = 1024;  // a line's place is its number modulo this: 2 MiB of the device's memory

  FootprintLine* data() { return lines_.data(); }

  // Sectors [first, first + count) of the map: kept if they share a line of marks, marked otherwise. Returns how many
  // of them were not kept yet.
  uint64_t add(machine::TouchMap& map, uint64_t first, uint64_t count) {
    const auto at = reinterpret_cast<uintptr_t>(map.marks(first));
    if (at % 64 + count > 64) {
      map.mark(first, count);
      return count;
    }
    FootprintLine& here = lines_[at / 64 % kLines];
    machine::TouchMap*& map_here = maps_[at / 64 % kLines];
    if (here.line != at / 64) {
      if (here.line) mark(here, *map_here);
      here = {at / 64, 0};
      map_here = &map;
    }
    const uint64_t those = (~uint64_t{0} >> (64 - count)) << at % 64, fresh = those & ~here.sectors;
    here.sectors |= those;
    return static_cast<uint64_t>(std::popcount(fresh));
  }

  // The same for `n` times `count` sectors, the first ones from `first` on, the others `step` apart.
  uint64_t add_each(machine::TouchMap& map, uint64_t first, uint64_t count, int64_t step, uint64_t n) {
    uint64_t fresh = 0;
    const auto base = reinterpret_cast<uintptr_t>(map.marks(0));
    for (uintptr_t at = base + first; n > 0; --n, at += static_cast<uint64_t>(step)) {
      FootprintLine& here = lines_[at / 64 % kLines];
      const uint64_t those = (~uint64_t{0} >> (64 - count)) << at % 64;
      if (here.line != at / 64 || at % 64 + count > 64 || (here.sectors & those) != 0) {
        fresh += add(map, at - base, count);
        continue;
      }
      here.sectors |= those;
      fresh += count;
    }
    return fresh;
  }

  // Nothing is kept afterwards. Marks lie in whichever core's cache cleared or set them last: they are asked for ahead.
  void mark_all() {
    constexpr uint64_t kAhead = 16;
    for (uint64_t k = 0; k < kLines; ++k) {
      if (const uint64_t next = lines_[(k + kAhead) % kLines].line)
        __builtin_prefetch(reinterpret_cast<const void*>(next * 64), 1);
      if (lines_[k].line) {
        mark(lines_[k], *maps_[k]);
        lines_[k] = {};
      }
    }
  }

 private:
  static void mark(const FootprintLine& here, machine::TouchMap& map) {
    const uint64_t first = here.line * 64 - reinterpret_cast<uintptr_t>(map.marks(0));
    for (uint64_t left = here.sectors, from = 0; left;) {
      const auto gap = static_cast<uint64_t>(std::countr_zero(left));
      from += gap;
      left >>= gap;
      const auto run = static_cast<uint64_t>(std::countr_one(left));
      map.mark(first + from, run);
      if (run == 64) break;
      from += run;
      left >>= run;
    }
  }

  std::array<FootprintLine, kLines> lines_{};
  std::array<machine::TouchMap*, kLines> maps_{};
};

}  // namespace coalesce::native
