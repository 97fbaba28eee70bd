// Lines and words that the lanes of a warp's access have in common.
#pragma once

#include <cstdint>

#include "machine/program/program.h"

namespace coalesce::machine {

// Lines, each once, with their sectors.
struct Lines {
  uint64_t line[4 * kLanes];
  uint32_t n = 0;
  uint64_t highest = 0;  // tag
  void add(uint64_t tag, uint32_t sector) {
    if (n == 0 || tag > highest) {
      highest = tag;
      line[n++] = tag << 4 | sector;
      return;
    }
    for (uint32_t k = n; k-- > 0;)
      if (line[k] >> 4 == tag) {
        line[k] |= sector;
        return;
      }
    line[n++] = tag << 4 | sector;
  }
  void add_sector(uint64_t address) { add(address / 128, 1u << address / 32 % 4); }
  // Alone: all lanes' addresses, rising, so that equal lines stand side by side.
  void set_sorted(const uint64_t* address) {
    uint64_t tag = address[0] / 128, now = tag << 4;
    for (uint32_t l = 0; l < kLanes; ++l) {
      const uint64_t its = address[l] / 128;
      n += its != tag;
      now = (its != tag ? its << 4 : now) | uint64_t{1} << address[l] / 32 % 4;
      line[n] = now;
      tag = its;
    }
    ++n;
  }
};

// Words, each once, with the number of lanes on it.
struct LaneWords {
  uint64_t word[kLanes];
  uint32_t lanes[kLanes];
  uint32_t n = 0;
  void add(uint64_t at) {
    for (uint32_t k = 0; k < n; ++k)
      if (word[k] == at) return void(++lanes[k]);
    word[n] = at;
    lanes[n++] = 1;
  }
};

}  // namespace coalesce::machine
