// The sectors of global memory that blocks touch, and what stores and atomics do to its lines. Lines stand sixteen to a
// page: neighbours are found by one lookup, and blocks' touches are joined a word at a time.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "machine/program/program.h"
#include "machine/time/limits.h"
#include "machine/time/page_table.h"

namespace coalesce::machine {

inline constexpr uint32_t kLinesOfPage = 16, kPageBytes = kLinesOfPage * 128;

// A bit for each sector, four for each line.
struct PageSectors {
  uint64_t loaded = 0, stored = 0;
  uint64_t made = 0;  // stored before they were loaded, if they were
  uint64_t given() const { return loaded & ~made; }
  // An access to these.
  void touch(uint64_t sectors, bool loads, bool stores) {
    if (!loads) made |= sectors & ~loaded;
    if (loads) loaded |= sectors;
    if (stores) stored |= sectors;
  }
};

// The lowest bit of each line of which a sector is marked.
constexpr uint64_t lines_of(uint64_t sectors) {
  return (sectors | sectors >> 1 | sectors >> 2 | sectors >> 3) & 0x1111'1111'1111'1111;
}
// Calls f(line of the page) for each of these.
template <class F>
void each_line(uint64_t lines, F f) {
  for (; lines; lines &= lines - 1) f(static_cast<uint32_t>(std::countr_zero(lines)) / 4);
}

// Lines that are stored or on which atomics are done, as lines_of() has them.
struct PageChanges {
  uint64_t lines = 0, atomic = 0;
  uint64_t again = 0;                         // a warp has tried a swap with many lanes on one word more than once
  uint64_t of_many = 0, atomic_of_many = 0;   // by several blocks
  std::array<double, kLinesOfPage> cycles{};  // of the unit of L2 that does atomics, and of stores
};

struct Touches {
  PageTable<PageSectors> sectors;
  PageTable<PageChanges> changes;

  // Adds the next block's.
  void join(const Touches& block);
};

// Cycles of a unit of L2 for sectors of a line: to store them, or to do atomics there, which take so many passes.
double store_cycles(uint32_t sectors);
double atomic_cycles(const MemoryOp& m, double passes, double sectors, const Limits& limits);

}  // namespace coalesce::machine
