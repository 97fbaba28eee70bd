#include "machine/observe/traffic.h"
#include "native/run/runner.h"

namespace coalesce::native {

using namespace machine;

void Runner::mark(uint32_t site, TouchedRange& t) {
  if (t.low < t.high) {
    const Allocation& a = *allocations_[site];
    const uint64_t first = (t.low - a.base) / 32, last = (t.high - 1 - a.base) / 32;
    sites_[site].touched_sectors += footprint_.add(*a.touched, a.touched_at + first, last - first + 1);
  }
  t.low = t.high = 0;
}

// Tests whether an allocation has been touched completely. Runs when only ranges still open can be missing (they are
// counted from then on), when the count is full, and at the end of each recheck interval.
void Runner::check_fully_touched(uint32_t site) {
  SiteState& s = sites_[site];
  if (!s.rechecks_left) s.rechecks_left = s.recheck_interval *= 2;
  s.recheck_at = s.touched_sectors < s.size / 32 ? s.size / 32 : ~uint64_t{0};
  mark_all(site);
  footprint_.mark_all();
  const Allocation& a = *allocations_[site];
  const uint64_t first = (s.base - a.base) / 32, last = (s.base + s.size - 1 - a.base) / 32;
  s.fully_touched = a.touched->holds(a.touched_at + first, last - first + 1);
  if (s.fully_touched) s.recheck_at = ~uint64_t{0};
}

void Runner::mark_all(uint32_t site) {
  if (!allocations_[site]) return;
  const std::size_t ranges = sites_[site].per_warp ? alive_.size() : 1;
  for (std::size_t w = 0; w < ranges; ++w) mark(site, range(site, static_cast<uint32_t>(w)));
}

// The interpreter has looked up this site's allocation: from now on it is checked against here.
void Runner::adopt_allocation(uint32_t site) {
  const Window& w = worker_.windows[site];
  SiteState& s = sites_[site];
  if (!w.allocation || (w.allocation == allocations_[site] && s.base == w.base && s.size == w.end - w.base)) return;
  mark_all(site);
  const MemoryOp& m = program_.memory[site];
  const bool uniform = !m.address.is_reg() || program_.registers[m.address.reg].lanes <= LaneClass::warp_uniform;
  const uint64_t needs = uniform ? m.bytes() : uint64_t{m.bytes()} * kLanes;
  allocations_[site] = w.allocation;
  s.base = w.base;
  s.size = w.end - w.base;
  s.limit = s.size >= needs ? s.size - needs + 1 : 0;
  s.sector_marks = w.allocation->touched->marks(w.allocation->touched_at);
  if (s.remembered) std::fill_n(s.remembered, BlockAccess::kRemembered, BlockAccess{});
  // The thread's own footprint is small enough for the CPU's caches: no prefetch there, either. Each warp may be in the
  // middle of a range, such as a row of tiles.
  const uint64_t sectors = s.size / 32, open = std::min<uint64_t>(sectors / 8, alive_.size() * 64);
  s.fully_touched = 0;
  s.touched_sectors = 0;
  const bool small = sectors <= Footprint::kLines * 64;
  s.recheck_at = small ? sectors - open : ~uint64_t{0};
  s.rechecks_left = s.recheck_interval = small ? sectors / 4 : 0;
}

void Runner::touch(Frame* f, uint32_t site, uint32_t warp, uint64_t low, uint64_t high) {
  constexpr uint32_t kMany = 256;
  Runner& r = of(f);
  SiteState& s = r.sites_[site];
  // Ranges that do not go on, but might have had the warps extended them the other way.
  const bool better = !s.per_warp || (warp > 0 && r.range(site, warp - 1).high == low);
  if (better && ++s.jumps == kMany) {
    r.mark_all(site);
    s.per_warp = ~s.per_warp;
    s.jumps = 0;
  }
  TouchedRange& t = r.range(site, warp);
  r.mark(site, t);
  t.low = low;
  t.high = high;
  if (s.touched_sectors >= s.recheck_at || (s.recheck_interval && !s.rechecks_left)) r.check_fully_touched(site);
}

void Runner::touch_block(Frame* f, uint32_t site, uint64_t first, uint64_t step) {
  Runner& r = of(f);
  SiteState& s = r.sites_[site];
  const uint64_t bytes = uint64_t{r.program_.memory[site].bytes()} * kLanes, warps = r.alive_.size();
  s.remembered[BlockAccess::place(first)] = {first, step};
  if (step == bytes) {  // one range
    const uint64_t end = first + warps * bytes;
    TouchedRange& t = r.range(site, 0);
    if (first == t.high) {
      t.high = end;
    } else if (first < t.low || end > t.high) {
      // Kept now and not when it jumps again, as touch() does: a block whose rounds are several loads jumps each time.
      r.mark(site, t);
      const Allocation& a = *r.allocations_[site];
      s.touched_sectors += r.footprint_.add(*a.touched, a.touched_at + (first - a.base) / 32, (end - first) / 32);
      t.low = t.high = end;
      if (s.touched_sectors >= s.recheck_at || (s.recheck_interval && !s.rechecks_left)) r.check_fully_touched(site);
    }
    return;
  }
  const Allocation& a = *r.allocations_[site];
  s.touched_sectors += r.footprint_.add_each(*a.touched, a.touched_at + (first - a.base) / 32, bytes / 32,
                                             static_cast<int64_t>(step) / 32, warps);
  if (s.touched_sectors >= s.recheck_at) r.check_fully_touched(site);
}

void Runner::access_with_gaps(Frame* f, uint32_t site, uint64_t base, uint32_t mask) {
  Runner& r = of(f);
  const MemoryOp& m = r.program_.memory[site];
  SiteTally& t = r.worker_.tally.sites[m.site];
  const GlobalCost c = global_cost_contiguous(base, mask, m.bytes());
  t.sectors += c.sectors;
  t.lines += c.lines;
  t.bytes += c.bytes;
  const Allocation& a = *r.allocations_[site];
  // Gaps smaller than a sector, as in a tree's first steps: all the sectors between the first lane and the last.
  const uint64_t from = base + uint64_t{lowest(mask)} * m.bytes(),
                 to = base + uint64_t{highest(mask) + 1} * m.bytes() - 1;
  if (to / 32 - from / 32 + 1 == c.sectors) {
    const uint64_t first = (from - a.base) / 32;
    return Memory::mark(a, first, (to - a.base) / 32 - first + 1);
  }
  for (uint32_t left = mask; left; left &= left - 1) {
    const uint64_t low = base + uint64_t{lowest(left)} * m.bytes() - a.base, last = low + m.bytes() - 1;
    Memory::mark(a, low / 32, last / 32 - low / 32 + 1);
  }
}

}  // namespace coalesce::native
