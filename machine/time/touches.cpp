#include "machine/time/touches.h"

#include <algorithm>

namespace coalesce::machine {

namespace {
// Cycles that a unit of L2 takes for a sector of atomics, of sums of f64 (gpu/limits/atomics.cu: lanes in turn, by the
// number of places).
constexpr double kSectorCycles = 1.14, kReal64Cycles = 2.3;
}  // namespace

void Touches::join(const Touches& block) {
  for (const auto& [page, its] : block.sectors) {
    PageSectors& s = sectors[page];
    s.made |= its.made & ~s.loaded;
    s.loaded |= its.loaded;
    s.stored |= its.stored;
  }
  for (const auto& [page, its] : block.changes) {
    PageChanges& c = changes[page];
    c.of_many |= its.of_many | (c.lines & its.lines);
    c.atomic_of_many |= its.atomic_of_many | (c.atomic & its.atomic);
    c.lines |= its.lines;
    c.atomic |= its.atomic;
    c.again |= its.again;
    for (uint32_t k = 0; k < kLinesOfPage; ++k) c.cycles[k] += its.cycles[k];
  }
}

double store_cycles(uint32_t sectors) { return kSectorCycles * std::popcount(sectors); }

// The longer of what their sectors take, and of lanes on one word, which go one after the other.
double atomic_cycles(const MemoryOp& m, double passes, double sectors, const Limits& l) {
  const bool real = m.number >= Number::f16;
  const double each = real && m.width == 8 ? kReal64Cycles : kSectorCycles;
  const double lanes = passes / std::max(1.0, sectors);
  return std::max(passes * each, lanes / (real ? l.atom_same_real.value : l.atom_same.value));
}

}  // namespace coalesce::machine
