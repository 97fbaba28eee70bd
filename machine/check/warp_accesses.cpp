// Each function gives up where something might be wrong, and the access is looked at lane by lane (block_check.cpp).
#include "machine/check/warp_accesses.h"

#include <algorithm>
#include <bit>

#include "machine/execute/block.h"

namespace coalesce::machine {

// The addresses of a warp's active lanes.
struct WarpAccesses::Lanes {
  std::array<uint64_t, kLanes> at;  // of the others: 0
  uint64_t low, high, bits;         // the least, the greatest, all or-ed
  bool row;                         // all are active, and each lies an element behind the one before it
  Lanes(const Access& a, const Warp& w);
  // visit(from, bytes) for what the active lanes access, neighbours together.
  template <class Visit>
  void each_run(uint32_t active, uint32_t bytes, Visit visit) const {
    uint64_t from = at[lowest(active)], to = from;
    for (uint32_t m = active; m; m &= m - 1) {
      const uint64_t a = at[lowest(m)];
      if (a == to) {
        to += bytes;
      } else if (a < from || a + bytes > to) {
        visit(from, to - from);
        from = a;
        to = a + bytes;
      }
    }
    visit(from, to - from);
  }
};

WarpAccesses::Lanes::Lanes(const Access& a, const Warp& w) : at{}, low(~uint64_t{0}), high(0), bits(0), row(false) {
  const auto offset = static_cast<uint64_t>(a.offset);
  const auto fill = [&](auto address_of) {
    if (w.active == ~0u) {
      uint64_t apart = 0;
      const uint64_t first = address_of(0u);
      for (uint32_t l = 0; l < kLanes; ++l) {
        at[l] = address_of(l);
        apart |= at[l] ^ (first + l * a.bytes);
      }
      row = apart == 0;
    } else {
      for (uint32_t m = w.active; m; m &= m - 1) at[lowest(m)] = address_of(lowest(m));
    }
  };
  if (a.shape != AddressShape::vector) {
    const uint64_t base = offset + (a.address_is_64 ? *w.at<uint64_t>(a.address) : *w.at<uint32_t>(a.address));
    const uint64_t step = a.shape == AddressShape::contiguous ? a.bytes
                          : a.shape == AddressShape::strided  ? a.stride
                                                              : 0;
    fill([&](uint32_t l) { return base + l * step; });
  } else if (a.address_is_64) {
    fill([&, from = w.at<uint64_t>(a.address)](uint32_t l) { return from[l] + offset; });
  } else {
    fill([&, from = w.at<uint32_t>(a.address)](uint32_t l) { return from[l] + offset; });
  }
  if (row) {  // a row does not pass the end of the addresses: nothing there is anybody's
    low = bits = at[0];
    high = at[kLanes - 1];
    return;
  }
  for (uint32_t m = w.active; m; m &= m - 1) {
    const uint64_t x = at[lowest(m)];
    low = std::min(low, x);
    high = std::max(high, x);
    bits |= x;
  }
}

WarpAccesses::WarpAccesses(BlockState& s, Locator& locator, Races& races)
    : s_(s),
      check_(s.check),
      locator_(locator),
      races_(races),
      may_be_quiet_(check_.kernel.agents == 0 && check_.launch().cluster_blocks() == 1) {}

void WarpAccesses::begin() {
  reads_.clear();
  reads_.quiet = may_be_quiet_;
}

// All accesses so far come before all that follow, but for copies.
void WarpAccesses::all_met(bool copies) {
  reads_.clear();
  reads_.quiet = may_be_quiet_ && !copies;
  if (reads_.quiet) s_.first = check_.records.next();
}

bool WarpAccesses::whole(const Access& a, Warp& w, bool races) {
  const bool all = w.active == ~0u;
  if (a.shape == AddressShape::uniform && one_word(a, w, races)) return true;
  if (a.shape == AddressShape::contiguous && all && whole_line(a, w, address_of(a, w, 0), races)) return true;
  const AccessRule& rule = check_.rule(a.instruction);
  if (is_strong(rule) || rule.kind == Kind::atomic || copies_to(*a.op)) return false;
  const Lanes lanes(a, w);
  if (a.shape == AddressShape::vector && all && lanes.row && whole_line(a, w, lanes.at[0], races)) return true;
  return apart(a, w, lanes, races);
}

void WarpAccesses::note_quiet(const QuietReads::Read& r, const Lanes* lanes, uint64_t base) {
  if (reads_.full()) hear_quiet();
  if (lanes)
    reads_.add(r, lanes->at, base);
  else
    reads_.add(r);
}

void WarpAccesses::hear_quiet() {
  if (reads_.empty()) return;
  for (const QuietReads::Read& r : reads_.all()) {
    Target t;
    t.warp = r.warp;
    t.first = s_.first;
    const bool row = r.places == QuietReads::kInRow && r.step == r.bytes, line = row && r.lanes == ~0u;
    if (line && Cells::makes_lines(r.bytes) && r.at % Cells::line_bytes(r.bytes) == 0)
      if (Cell* cell = s_.cells.line(r.at, r.bytes, s_.epoch, check_.records.made)) {
        races_.add_reader(*cell, {r.id, r.lanes}, t, true);
        continue;
      }
    const bool one = r.places == QuietReads::kInRow && r.step == 0;
    for (uint32_t m = r.lanes; m; m = one ? 0 : m & (m - 1)) {
      const uint32_t lane = lowest(m), me = one ? r.lanes : 1u << lane;
      s_.cells.visit(reads_.place(r, lane), r.bytes, s_.epoch, check_.records.made,
                     [&](Cell& cell, uint64_t) { races_.add_reader(cell, {r.id, me}, t, false); });
    }
  }
  reads_.clear();
}

// Whether a weak store of a whole line meets what a release has left.
bool WarpAccesses::ends_handover(const Target& t, uint32_t element) const {
  const Handovers& places = t.space == AddressSpace::shared ? s_.places : check_.places;
  if (!places.any_within(t.address, t.address + Cells::line_bytes(element))) return false;
  for (uint32_t l = 0; l < kLanes; ++l)
    if (places.holds(t.address + uint64_t{l} * element)) return true;
  return false;
}

// A warp's weak access of a whole line from `base` on, an element a lane: looked at as one, if nothing is wrong with
// it. False: it is to be looked at lane by lane.
bool WarpAccesses::whole_line(const Access& a, Warp& w, uint64_t base, bool races) {
  const AccessRule& rule = check_.rule(a.instruction);
  if (!Cells::makes_lines(a.bytes) || is_strong(rule) || copies_to(*a.op) || rule.kind == Kind::atomic) return false;
  const uint64_t line = Cells::line_bytes(a.bytes);
  if (base % line != 0) return false;
  Target t;
  t.warp = w.index;
  if (!locator_.find(a, w, base, line, t) || t.space == AddressSpace::local || t.at % line != 0) return false;
  if (t.home && t.home != &s_) return false;
  if (!locator_.within(a, t, line) || (t.space == AddressSpace::global && t.allocation->origin == Origin::heap))
    return false;
  const bool reads = rule.kind == Kind::load, shared = t.space == AddressSpace::shared;
  if (reads ? t.written && !t.written->all(t.at, line) : ends_handover(t, a.bytes)) return false;
  if (races && quiet(t, reads)) {
    const auto at = static_cast<uint32_t>(t.at);
    note_quiet({s_.id_of(a, w.index), w.index, ~0u, a.bytes, at, a.bytes}, nullptr, 0);
  } else if (races && t.cells) {
    if (shared) hear_quiet();
    Cell* cell = t.cells->line(t.at, a.bytes, t.epoch, check_.records.made);
    if (!cell || !races_.before_all(cell->writer, t, true) || Races::stale(a, *cell, t)) return false;
    const Accessed now{s_.id_of(a, w.index), ~0u};
    if (reads) {
      races_.add_reader(*cell, now, t, true);
    } else {
      for (const Accessed& r : cell->readers)
        if (!races_.before_all(r, t, true)) return false;
      *cell = {now, {}};
    }
  }
  if (!reads) {
    reads_.quiet = reads_.quiet && !shared;
    check_.count_change();
    if (t.written) t.written->set(t.at, line);
  }
  locator_.touch(a, t, static_cast<uint32_t>(line));
  return true;
}

// A weak load of one word by all lanes, likewise.
bool WarpAccesses::one_word(const Access& a, Warp& w, bool races) {
  const AccessRule& rule = check_.rule(a.instruction);
  if (rule.kind != Kind::load || is_strong(rule) || copies_to(*a.op)) return false;
  Target t;
  t.warp = w.index;
  if (!locator_.find(a, w, address_of(a, w, 0), a.bytes, t) || t.space == AddressSpace::local ||
      !locator_.within(a, t, a.bytes))
    return false;
  if (t.home && t.home != &s_) return false;
  if (t.space == AddressSpace::global && t.allocation->origin == Origin::heap) return false;
  if (t.written && !t.written->all(t.at, a.bytes)) return false;
  locator_.touch(a, t, a.bytes);
  if (!races || !t.cells) return true;
  const Accessed now{s_.id_of(a, w.index), w.active};
  if (quiet(t, true)) {
    note_quiet({now.id, w.index, now.lanes, a.bytes, static_cast<uint32_t>(t.at), 0}, nullptr, 0);
    return true;
  }
  bool fine = true;
  t.cells->visit(t.at, a.bytes, t.epoch, check_.records.made, [&](Cell& cell, uint64_t) {
    fine = fine && races_.before_all(cell.writer, t, false) && !Races::stale(a, cell, t);
  });
  if (fine && t.space == AddressSpace::shared) hear_quiet();
  if (fine)
    t.cells->visit(t.at, a.bytes, t.epoch, check_.records.made,
                   [&](Cell& cell, uint64_t) { races_.add_reader(cell, now, t, false); });
  return fine;
}

// Remembers the accesses that it has been asked about: neighbouring cells name the same ones.
class WarpAccesses::Known {
 public:
  Known(const BlockState& s, const Target& t) : s_(s), t_(t) {}
  // Whether `before` comes before what the lane does now, and is no strong access.
  bool fine(const Accessed& before, uint32_t lane) {
    if (before.id < t_.first) return true;
    if (before.id != last_) ask(before.id);
    return all_ || (own_ && before.lanes == 1u << lane);
  }
  // Whether it is the warp's own, since it has synchronised last.
  bool same(const Accessed& before) {
    if (before.id < t_.first) return false;
    if (before.id != last_) ask(before.id);
    return now_;
  }

 private:
  void ask(AccessId id) {
    last_ = id;
    const AccessRecord& r = s_.check.records[id];
    const bool plain = !r.under_way && !is_strong(s_.check.rule(r.instruction));
    own_ = plain && r.block == s_.block && r.warp == t_.warp;
    now_ = own_ && r.clock == s_.warps[t_.warp].view.now;
    all_ = plain && s_.warps[t_.warp].view.all_know(r.block, static_cast<uint32_t>(r.warp), r.clock);
  }
  const BlockState& s_;
  const Target& t_;
  AccessId last_ = 0;
  bool own_ = false, now_ = false, all_ = false;
};

// A weak load or store, each lane its own place, all in one allocation or in shared memory.
bool WarpAccesses::apart(const Access& a, Warp& w, const Lanes& lanes, bool races) {
  const bool reads = check_.rule(a.instruction).kind == Kind::load;
  if (!std::has_single_bit(a.bytes)) return false;
  Target t;
  t.warp = w.index;
  t.lane = lowest(w.active);
  const uint64_t begin = lanes.at[t.lane];
  if (!locator_.find(a, w, begin, a.bytes, t) || (t.home && t.home != &s_)) return false;
  const bool global = t.space == AddressSpace::global, shared = t.space == AddressSpace::shared;
  if (global && t.allocation->origin != Origin::device && t.allocation->origin != Origin::variable) return false;
  // Where the addresses of all lanes have to lie.
  const AddressFacts::Bounds& bounds = check_.addresses.bounds(a.window);
  uint64_t low = global ? t.allocation->base : 0;
  uint64_t high = global ? t.allocation->base + t.allocation->size : shared ? w.shared_bytes : w.local_bytes;
  if (!bounds.any) {
    if (bounds.space != t.space) return false;
    low = std::max(low, bounds.base);
    high = std::min(high, bounds.end);
  }
  const uint64_t window = begin - t.address;  // generic addresses of shared and local memory lie in one
  if (lanes.low < low + window || lanes.high + a.bytes > high + window || (lanes.bits & (a.bytes - 1u)) != 0)
    return false;
  if (t.space == AddressSpace::local) return apart_local(a, w, lanes, t);
  const Handovers& places = global ? check_.places : s_.places;
  if (!reads && places.any_within(lanes.low - window, lanes.high + a.bytes - window))
    for (uint32_t m = w.active; m; m &= m - 1)
      if (places.holds(lanes.at[lowest(m)] - window)) return false;
  const uint64_t base = begin - t.at;  // of the shadow
  if (reads && t.written) {
    constexpr uint64_t kFew = 2048;  // bytes
    const uint64_t all = lanes.high + a.bytes - lanes.low;
    if (all > kFew || !t.written->all(lanes.low - base, all))
      for (uint32_t m = w.active; m; m &= m - 1)
        if (!t.written->all(lanes.at[lowest(m)] - base, a.bytes)) return false;
  }
  if (races && quiet(t, reads)) {
    const AccessId id = s_.id_of(a, w.index);
    note_quiet({id, w.index, w.active, a.bytes, static_cast<uint32_t>(begin - base), a.bytes},
               lanes.row ? nullptr : &lanes, base);
  } else if (t.cells && (!races || !apart_cells(a, w, lanes, t, base))) {
    return false;
  }
  if (global) {
    Target run = t;
    lanes.each_run(w.active, a.bytes, [&](uint64_t from, uint64_t bytes) {
      run.address = from;
      locator_.touch(a, run, static_cast<uint32_t>(bytes));
    });
  }
  if (reads) return true;
  reads_.quiet = reads_.quiet && !shared;
  check_.count_change();
  if (t.written)
    lanes.each_run(w.active, a.bytes, [&](uint64_t from, uint64_t bytes) { t.written->set(from - base, bytes); });
  return true;
}

// The same of local memory, which nobody else reaches.
bool WarpAccesses::apart_local(const Access& a, const Warp& w, const Lanes& lanes, const Target& t) {
  const bool reads = check_.rule(a.instruction).kind == Kind::load;
  // The part of the shadow that a lane has begins a thread's memory behind that of the lane before it.
  const uint64_t first = t.at - uint64_t{t.lane} * w.local_bytes - lanes.at[t.lane];
  for (uint32_t m = w.active; m; m &= m - 1) {
    const uint64_t at = first + lanes.at[lowest(m)] + uint64_t{lowest(m)} * w.local_bytes;
    if (!reads)
      s_.local_written.set(at, a.bytes);
    else if (!s_.local_written.all(at, a.bytes))
      return false;
  }
  return true;
}

// The cells of such an access. `base`: of the shadow.
bool WarpAccesses::apart_cells(const Access& a, const Warp& w, const Lanes& lanes, const Target& t, uint64_t base) {
  if (t.space == AddressSpace::shared) hear_quiet();
  const bool reads = check_.rule(a.instruction).kind == Kind::load;
  const AccessId id = s_.id_of(a, w.index);
  Known writers(s_, t), first(s_, t), second(s_, t);  // readers
  bool fine = true;
  for (uint32_t m = w.active; m && fine; m &= m - 1) {
    const uint32_t lane = lowest(m), me = 1u << lane;
    t.cells->visit(lanes.at[lane] - base, a.bytes, t.epoch, check_.records.made, [&](Cell& cell, uint64_t) {
      if (!fine || !writers.fine(cell.writer, lane) || Races::stale(a, cell, t)) {
        fine = false;
      } else if (!reads) {
        fine = first.fine(cell.readers[0], lane) && second.fine(cell.readers[1], lane);
        if (fine) cell = {{id, me}, {}};
      } else if (first.same(cell.readers[0])) {
        cell.readers[0].lanes |= me;
      } else if (first.fine(cell.readers[0], lane)) {
        cell.readers[0] = {id, me};
      } else if (second.same(cell.readers[1])) {
        cell.readers[1].lanes |= me;
      } else {
        cell.readers[1] = {id, me};
      }
    });
  }
  return fine;  // false: what is noted so far is noted again, lane by lane
}

}  // namespace coalesce::machine
