#include "machine/time/touched.h"

#include <algorithm>
#include <iterator>

#include "machine/time/rounds.h"
#include "machine/time/swaps.h"

namespace coalesce::machine {

namespace {
constexpr uint32_t kManyLanes = 8;  // of a warp on one word
constexpr double kFull = 1.25;      // sectors of halves of lines for each that is touched
// Cycles that a unit of L2 takes for a sector of atomics, of sums of f64 (gpu/limits/atomics.cu: lanes in turn, by the
// number of places).
constexpr double kSectorCycles = 1.14, kReal64Cycles = 2.3;

// The unit of L2 that does the line's atomics: lines 128 and 512 bytes apart share one, of other powers of two none
// (the same microbenchmark, by the bytes between places).
uint64_t unit_of(uint64_t line) { return line >> 3 << 1 | (line >> 1 & 1); }

// Cycles of atomics on a line: of their sectors, or of lanes on one word, which go one after the other.
double atomic_cycles(const MemoryOp& m, double passes, double sectors, const Limits& l) {
  const bool real = m.number >= Number::f16;
  const double each = real && m.width == 8 ? kReal64Cycles : kSectorCycles;
  const double lanes = passes / std::max(1.0, sectors);
  return std::max(passes * each, lanes / (real ? l.atom_same_real.value : l.atom_same.value));
}
}  // namespace

Touched touched(const TimedLaunch& launch, const Blocks& blocks) {
  const Decoded& p = launch.program;
  const std::vector<bool> swaps = find_swaps(p), deciding = find_deciding_loads(p);
  std::vector<std::pair<uint64_t, uint32_t>> decided;  // lines that end loops, and of which block
  Touched t;
  uint32_t rivals = 0;  // blocks of which several warps swap one word
  for (uint32_t b = 0; b < blocks.size(); ++b) {
    uint32_t swapping = 0;
    for (uint32_t number = 0; number < blocks[b]->warps.size(); ++number) {
      const std::vector<uint64_t>& warp = blocks[b]->warps[number];
      bool mine = false;
      for (std::size_t k = 0; k < warp.size(); k += 1 + TraceWord::count(warp[k])) {
        const TraceKind kind = TraceWord::kind(warp[k]);
        if (kind == TraceKind::constant)
          for (uint32_t n = 1; n <= TraceWord::count(warp[k]); ++n) t.constants.insert(warp[k + n] >> 4);
        if (kind != TraceKind::global && kind != TraceKind::atomic) continue;
        mine = mine || swaps[TraceWord::number(warp[k])];
        const Instruction& i = p.code[TraceWord::number(warp[k])];
        const Kind what = i.kind;
        const uint32_t count = TraceWord::count(warp[k]);
        for (uint32_t n = 1; n <= count; ++n) {
          Touched::Line& l = t.lines[warp[k + n] >> 4];
          const auto sectors = static_cast<uint8_t>(warp[k + n] & 15);
          if (what == Kind::store) l.made |= static_cast<uint8_t>(sectors & ~l.loaded);
          if (what != Kind::store) l.loaded |= sectors;
          if (what != Kind::load) l.stored |= sectors;
          if (deciding[TraceWord::number(warp[k])]) decided.emplace_back(warp[k + n] >> 4, b);
          if (what == Kind::load) continue;
          l.stored_by_many = l.stored_by_many || (l.storing != kNone && l.storing != b);
          l.storing = b;
          if (what == Kind::store) l.atomics += kSectorCycles * __builtin_popcount(sectors);
          if (what != Kind::atomic) continue;
          l.shared = l.shared || (l.block != kNone && l.block != b);
          l.block = b;
          const double passes = std::max(1.0, static_cast<double>(TraceWord::passes(warp[k])) / count);
          l.atomics += atomic_cycles(p.memory[i.memory], passes, __builtin_popcount(sectors), launch.limits);
          if (p.memory[i.memory].op != AtomicOp::cas || TraceWord::passes(warp[k]) < kManyLanes * count) continue;
          l.again = l.again || l.tried == std::pair{b, number};
          l.tried = {b, number};
        }
      }
      swapping += mine;
    }
    rivals += swapping > 1;
  }
  t.contended = rivals > 1;
  // Lines that any block has stored count; fewer than a quarter may be such that neighbours share.
  std::size_t stored = 0, by_others = 0;
  for (const auto& [line, block] : decided) {
    const Touched::Line& l = t.lines[line];
    stored += l.storing != kNone;
    by_others += l.stored_by_many || (l.storing != kNone && l.storing != block);
  }
  t.unsettled = stored > 0 && 4 * by_others >= stored;
  for (const BlockTrace* block : blocks) {
    t.constants.insert(block->constants_beyond.begin(), block->constants_beyond.end());
    for (const auto& [line, sectors] : block->beyond) {
      Touched::Line& l = t.lines[line];
      l.made |= static_cast<uint8_t>((sectors >> 4) & ~(sectors | l.loaded));
      l.loaded |= sectors & 15;
      l.stored |= sectors >> 4;
    }
  }
  LineTable<double> units;
  for (const auto& [line, l] : t.lines) {
    const uint32_t given = l.loaded & ~l.made;
    t.loaded += static_cast<uint32_t>(__builtin_popcount(given));
    t.stored += static_cast<uint32_t>(__builtin_popcount(l.stored));
    const auto sectors = static_cast<uint32_t>(__builtin_popcount(l.loaded | l.stored));
    t.all += sectors;
    if (!launch.host.empty() && holds(launch.host, line)) t.of_host += sectors;
    t.contended = t.contended || (l.again && l.shared);
    if (l.stored_by_many || blocks.size() == 1)
      t.hottest = std::max(t.hottest, units[unit_of(line)] += l.atomics);
    else
      t.hottest_of_block = std::max(t.hottest_of_block, l.atomics);
  }
  return t;
}

DistinctSectors distinct_sectors(const Touched& t, const std::vector<TouchedRegion>& regions) {
  struct OfRegion {
    double loaded = 0, stored = 0, changed = 0, all = 0;
    double lines = 0;  // with stored sectors
  };
  std::vector<OfRegion> seen(regions.size() + 1);  // the last one: of all regions
  for (const auto& [line, l] : t.lines) {
    const auto after = std::upper_bound(regions.begin(), regions.end(), line * 128 + 127,
                                        [](uint64_t at, const TouchedRegion& r) { return at < r.base; });
    if (after == regions.begin() || line * 128 >= std::prev(after)->end) continue;
    for (OfRegion* s : {&seen[static_cast<std::size_t>(after - regions.begin() - 1)], &seen.back()}) {
      s->loaded += __builtin_popcount(l.loaded & ~l.made);
      s->stored += __builtin_popcount(l.stored);
      s->changed += __builtin_popcount(l.loaded & ~l.made & l.stored);
      s->lines += l.stored != 0;
      s->all += __builtin_popcount(l.loaded | l.stored);
    }
  }
  DistinctSectors f;
  for (std::size_t k = 0; k < regions.size(); ++k) {
    const OfRegion& s = seen[k].all > 0 ? seen[k] : seen.back();  // others have touched it: as they do elsewhere
    const auto sectors = static_cast<double>(regions[k].sectors), halves = static_cast<double>(regions[k].halves);
    f.distinct += sectors;
    if (s.all <= 0) continue;
    f.loaded += sectors * s.loaded / s.all;
    f.fetched += 2 * halves * s.loaded / s.all;
    f.stored += sectors * s.stored / s.all;
    f.changed += sectors * s.changed / s.all;
    // Several blocks may share a line; where the halves are full, the lines are.
    const double of_line = s.lines > 0 && 2 * halves > kFull * sectors ? s.stored / s.lines : 4;
    f.stored_lines += std::max(2 * halves, 4 * sectors / of_line) * s.stored / s.all;
  }
  if (seen.back().lines > 0) f.stored_of_line = seen.back().stored / seen.back().lines;
  return f;
}

}  // namespace coalesce::machine
