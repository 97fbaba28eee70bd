// Accesses that are looked at as a whole, because nothing is wrong with them: most are. Each function gives up where
// something might be, and the access is looked at lane by lane (check.cpp).
#include <algorithm>

#include "machine/check/check.h"
#include "machine/execute/block.h"

namespace coalesce::machine {

// Whether the access comes before what all lanes of the target's warp do now, at a line's cell or a word's.
bool BlockCheck::before_all(const Accessed& before, const Target& t, bool line) const {
  if (before.id < t.first) return true;
  const AccessRecord& r = check_[before.id];
  if (r.under_way) return false;
  if (line && r.block == block_ && r.warp == t.warp) return true;  // lane by lane the same thread
  return warps_[t.warp].view.all_know(r.block, static_cast<uint32_t>(r.warp), r.clock);
}

// A cell's next reader.
void BlockCheck::add_reader(Cell& cell, const Accessed& reader, const Target& t, bool line) const {
  for (Accessed& r : cell.readers) {
    if (r.id >= t.first && check_[r.id].is(block_, t.warp, warps_[t.warp].view.now)) {
      r.lanes |= reader.lanes;
      return;
    }
    if (before_all(r, t, line)) {
      r = reader;
      return;
    }
  }
  cell.readers[1] = reader;
}

// A warp's weak access of a whole line, an element a lane: looked at as one, if nothing is wrong with it. False: it is
// to be looked at lane by lane.
bool BlockCheck::whole_line(const Access& a, Warp& w, bool races) {
  const AccessRule& rule = check_.rule(a.instruction);
  if (w.active != ~0u || !Cells::makes_lines(a.bytes) || is_strong(rule) || a.op->is_copy || rule.kind == Kind::atomic)
    return false;
  const uint64_t base = address_of(a, w, 0), line = Cells::line_bytes(a.bytes);
  if (base % line != 0) return false;
  if (a.shape == AddressShape::vector) {
    uint64_t apart = 0;
    for (uint32_t l = 1; l < kLanes; ++l) apart |= address_of(a, w, l) ^ (base + l * a.bytes);
    if (apart != 0) return false;
  } else if (a.shape != AddressShape::contiguous) {
    return false;
  }
  Target t;
  t.warp = w.index;
  if (!locate(a, w, base, line, t) || t.space == AddressSpace::local || t.at % line != 0) return false;
  if (t.home && t.home != this) return false;
  if (!within(a, t, line) || (t.space == AddressSpace::global && last_->origin == Origin::heap)) return false;
  const bool reads = rule.kind == Kind::load;
  Handovers& places = t.space == AddressSpace::shared ? places_ : check_.places();
  if (reads ? t.written && !t.written->all(t.at, line) : !places.empty()) return false;
  if (races) {
    Cell* cell = t.cells->line(t.at, a.bytes, t.epoch, check_.made);
    if (!cell || !before_all(cell->writer, t, true)) return false;
    const Accessed now{id_of(a, w.index), ~0u};
    if (reads) {
      add_reader(*cell, now, t, true);
    } else {
      for (const Accessed& r : cell->readers)
        if (!before_all(r, t, true)) return false;
      *cell = {now, {}};
    }
  }
  if (!reads) check_.count_change();
  if (!reads && t.written) t.written->set(t.at, line);
  touch(a, t, line);
  return true;
}

// A weak load of one word by all lanes, likewise.
bool BlockCheck::one_word(const Access& a, Warp& w, bool races) {
  const AccessRule& rule = check_.rule(a.instruction);
  if (a.shape != AddressShape::uniform || rule.kind != Kind::load || is_strong(rule) || a.op->is_copy) return false;
  Target t;
  t.warp = w.index;
  if (!locate(a, w, address_of(a, w, 0), a.bytes, t) || !t.cells || !within(a, t, a.bytes)) return false;
  if (t.home && t.home != this) return false;
  if (t.space == AddressSpace::global && last_->origin == Origin::heap) return false;
  if (t.written && !t.written->all(t.at, a.bytes)) return false;
  const Accessed now{races ? id_of(a, w.index) : 0, w.active};
  bool fine = true;
  touch(a, t, a.bytes);
  if (!races) return true;
  t.cells->visit(t.at, a.bytes, t.epoch, check_.made,
                 [&](Cell& cell, uint64_t) { fine = fine && before_all(cell.writer, t, false); });
  if (fine)
    t.cells->visit(t.at, a.bytes, t.epoch, check_.made, [&](Cell& cell, uint64_t) { add_reader(cell, now, t, false); });
  return fine;
}

// Remembers the accesses that it has been asked about: neighbouring cells name the same ones.
class BlockCheck::Known {
 public:
  Known(const BlockCheck& check, const Target& t) : check_(check), t_(t) {}
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
    const AccessRecord& r = check_.check_[id];
    const bool plain = !r.under_way && !is_strong(check_.check_.rule(r.instruction));
    own_ = plain && r.block == check_.block_ && r.warp == t_.warp;
    now_ = own_ && r.clock == check_.warps_[t_.warp].view.now;
    all_ = plain && check_.warps_[t_.warp].view.all_know(r.block, static_cast<uint32_t>(r.warp), r.clock);
  }
  const BlockCheck& check_;
  const Target& t_;
  AccessId last_ = 0;
  bool own_ = false, now_ = false, all_ = false;
};

// A weak load or store of words, each lane its own, that lie in one allocation or in shared memory. Cells are words.
bool BlockCheck::apart(const Access& a, Warp& w, bool races) {
  const AccessRule& rule = check_.rule(a.instruction);
  const bool reads = rule.kind == Kind::load;
  if (is_strong(rule) || rule.kind == Kind::atomic || a.op->is_copy || a.bytes % 4 != 0 || !races) return false;
  Target t;
  t.warp = w.index;
  t.lane = lowest(w.active);
  const uint64_t begin = address_of(a, w, t.lane);
  if (!locate(a, w, begin, a.bytes, t) || !t.cells || (t.home && t.home != this)) return false;
  const bool global = t.space == AddressSpace::global;
  if (global && last_->origin != Origin::device && last_->origin != Origin::variable) return false;
  if (!reads && !(global ? check_.places() : places_).empty()) return false;
  // Where the addresses of all lanes have to lie.
  const LaunchCheck::Bounds& bounds = check_.bounds(a.window);
  uint64_t low = global ? last_->base : 0, high = global ? last_->base + last_->size : w.shared_bytes;
  if (!bounds.any) {
    if (bounds.space != t.space) return false;
    low = std::max(low, bounds.base);
    high = std::min(high, bounds.end);
  }
  const uint64_t window = begin - t.address;  // generic addresses of shared memory lie in one
  const uint64_t shadow = t.address - t.at;
  for (uint32_t m = w.active; m; m &= m - 1) {
    const uint64_t at = address_of(a, w, lowest(m)) - window;
    if (at < low || at + a.bytes > high || at % a.bytes != 0) return false;
    if (reads && t.written && !t.written->all(at - shadow, a.bytes)) return false;
  }
  const AccessId id = id_of(a, w.index);
  Known writers(*this, t), first(*this, t), second(*this, t);  // readers
  bool fine = true;
  for (uint32_t m = w.active; m && fine; m &= m - 1) {
    const uint32_t lane = lowest(m), me = 1u << lane;
    const uint64_t at = address_of(a, w, lane) - window;
    t.cells->visit(at - shadow, a.bytes, t.epoch, check_.made, [&](Cell& cell, uint64_t) {
      if (!fine || !writers.fine(cell.writer, lane)) {
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
    if (!fine) return false;  // what is noted so far is noted again, lane by lane
    t.address = at;
    touch(a, t, a.bytes);
    if (!reads && t.written) t.written->set(at - shadow, a.bytes);
  }
  if (!reads) check_.count_change();
  return true;
}

}  // namespace coalesce::machine
