#include "machine/time/touched.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace coalesce::machine {

namespace {

constexpr double kFull = 1.25;  // sectors of halves of lines for each that is touched

// The unit of L2 that does the line's atomics: lines 128 and 512 bytes apart share one, of other powers of two none
// (gpu/limits/atomics.cu, by the bytes between places).
uint64_t unit_of(uint64_t line) { return line >> 3 << 1 | (line >> 1 & 1); }

// Calls f(head, words that follow) for each access to global memory in the trace.
template <class F>
void each_access(Words trace, F f) {
  for (std::size_t k = 0; k < trace.size(); k += 1 + TraceWord::count(trace[k])) {
    const TraceKind kind = TraceWord::kind(trace[k]);
    if (kind == TraceKind::global || kind == TraceKind::atomic)
      f(trace[k], trace.subspan(k + 1, TraceWord::count(trace[k])));
  }
}

// Several warps of more than one block swap one word.
bool are_rivals(const std::vector<bool>& swaps, const Blocks& blocks) {
  if (swaps.empty()) return false;
  uint32_t rivals = 0;
  for (const BlockTrace* block : blocks) {
    uint32_t swapping = 0;
    for (const Words warp : block->warps) {
      bool mine = false;
      each_access(warp, [&](uint64_t head, Words) { mine = mine || swaps[TraceWord::number(head)]; });
      swapping += mine;
    }
    rivals += swapping > 1;
  }
  return rivals > 1;
}

// Loops end by lines that other blocks store: any block's count; fewer than a quarter may be such that neighbours
// share.
bool others_decide(const std::vector<bool>& deciding, const Blocks& blocks, const Touches& all) {
  if (deciding.empty()) return false;
  std::size_t stored = 0, by_others = 0;
  for (const BlockTrace* block : blocks)
    for (const Words warp : block->warps)
      each_access(warp, [&](uint64_t head, Words lines) {
        if (!deciding[TraceWord::number(head)]) return;
        for (const uint64_t word : lines) {
          const uint64_t page = (word >> 4) / kLinesOfPage, line = uint64_t{1} << 4 * ((word >> 4) % kLinesOfPage);
          const PageChanges* const c = all.changes.find(page);
          if (!c || !(c->lines & line)) continue;
          ++stored;
          const PageChanges* const own = block->touches.changes.find(page);
          by_others += (c->of_many & line) || !own || !(own->lines & line);
        }
      });
  return stored > 0 && 4 * by_others >= stored;
}

// The longest that a unit of L2 is at work on lines that several blocks change, and on a line of one block.
void find_hottest(Touched& t, bool one_block) {
  PageTable<double> units;
  for (const auto& [page, c] : t.touches.changes) {
    t.contended = t.contended || (c.again & c.atomic_of_many) != 0;
    each_line(c.lines, [&, number = page, &its = c](uint32_t k) {
      const double cycles = its.cycles[k];
      if (one_block || (its.of_many >> 4 * k & 1))
        t.hottest = std::max(t.hottest, units[unit_of(number * kLinesOfPage + k)] += cycles);
      else
        t.hottest_of_block = std::max(t.hottest_of_block, cycles);
    });
  }
}

}  // namespace

Touched touched(const TimedLaunch& launch, const Blocks& blocks) {
  Touched t;
  for (const BlockTrace* block : blocks) {
    t.touches.join(block->touches);
    t.constants.insert(block->constants.begin(), block->constants.end());
  }
  for (const auto& [page, s] : t.touches.sectors) {
    const uint64_t all = s.loaded | s.stored;
    t.lines += static_cast<uint64_t>(std::popcount(lines_of(all)));
    t.loaded += static_cast<uint64_t>(std::popcount(s.given()));
    t.stored += static_cast<uint64_t>(std::popcount(s.stored));
    t.all += static_cast<uint64_t>(std::popcount(all));
    if (launch.host.empty()) continue;
    each_line(lines_of(all), [&, number = page](uint32_t k) {
      if (holds(launch.host, number * kLinesOfPage + k))
        t.of_host += static_cast<uint64_t>(std::popcount(all >> 4 * k & 15));
    });
  }
  find_hottest(t, blocks.size() == 1);
  t.contended = t.contended || are_rivals(launch.kernel.swaps, blocks);
  t.unsettled = others_decide(launch.kernel.deciding, blocks, t.touches);
  return t;
}

DistinctSectors distinct_sectors(const Touched& t, const std::vector<TouchedRegion>& regions) {
  struct OfRegion {
    double loaded = 0, stored = 0, changed = 0, all = 0;
    double lines = 0;  // with stored sectors
  };
  std::vector<OfRegion> seen(regions.size() + 1);  // the last one: of all regions
  constexpr uint64_t kLine = 128;
  for (const auto& [page, s] : t.touches.sectors) {
    // The regions that the page has a part of.
    const uint64_t base = page * kPageBytes;
    auto r = std::upper_bound(regions.begin(), regions.end(), base,
                              [](uint64_t at, const TouchedRegion& region) { return at < region.end; });
    for (; r != regions.end() && r->base < base + kPageBytes; ++r) {
      const uint64_t first = std::max(r->base, base) - base, end = std::min(r->end, base + kPageBytes) - base;
      const uint64_t its =
          ~uint64_t{0} << 4 * (first / kLine) & ~uint64_t{0} >> 4 * (kLinesOfPage - (end + kLine - 1) / kLine);
      for (OfRegion* o : {&seen[static_cast<std::size_t>(r - regions.begin())], &seen.back()}) {
        o->loaded += std::popcount(s.given() & its);
        o->stored += std::popcount(s.stored & its);
        o->changed += std::popcount(s.given() & s.stored & its);
        o->lines += std::popcount(lines_of(s.stored & its));
        o->all += std::popcount((s.loaded | s.stored) & its);
      }
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
