// The rules: what accesses mean to the cells they touch. What synchronises: order.cpp.
#include <algorithm>
#include <cstring>
#include <memory>

#include "machine/check/atomics.h"
#include "machine/execute/block.h"

namespace coalesce::machine {

BlockCheck::BlockCheck(LaunchCheck& launch)
    : check_(launch),
      warps_(launch.launch().warps_per_block),
      shared_written_(launch.launch().shared_bytes),
      local_written_(uint64_t{launch.launch().program->local_bytes + 15} / 16 * 16 * kLanes * warps_.size()),
      shared_(launch.launch().shared_bytes) {
  for (WarpState& s : warps_) s.ids.resize(launch.launch().program->memory.size());
  windows_.resize(launch.launch().program->memory.size() + 1);  // the last: of bulk copies
  may_be_quiet_ = check_.agents() == 0 && check_.launch().cluster_blocks() == 1;
  check_.enter(this);
}

BlockCheck::~BlockCheck() { check_.leave(this); }

void BlockCheck::begin(uint64_t block) {
  block_ = block;
  running_ = true;
  visits_.clear();
  first_ = check_.next();
  ++epoch_;
  shared_written_.clear();
  local_written_.clear();
  shared_carried_.clear();
  local_carried_.clear();
  arrived_.clear();
  reads_.clear();
  reads_.quiet = may_be_quiet_;
  places_.clear();
  settle_atomics();
  changers_.clear();
  check_.count_change();
  shadows = false;
  const Decoded& p = *check_.launch().program;
  for (uint32_t w = 0; w < warps_.size(); ++w) {
    WarpState& s = warps_[w];
    s.view.begin(block, static_cast<uint32_t>(clocks()), w);
    ++s.view.now;  // ids of the block before are not this one's
    s.copies.clear();
    s.group.fill(0);
    s.bulk.clear();
    s.bulk_group.fill(0);
    s.undefined.clear();
    for (const uint32_t r : p.blocks[0].live_in) s.undefined.unset(r, p.registers[r].element);
    shadows = shadows || s.undefined.any();
    s.waited = false;
    s.passed.assign(check_.skips().size(), 0);
    s.states.clear();
    s.repeats.clear();
    s.pointers.assign(check_.pointers(), {});
    s.lanes_passed.assign(check_.lane_skips().size(), {0, 0});
  }
}

AccessId BlockCheck::id_of(const Access& a, uint32_t warp) {
  if (a.op->silent) return agent_id(Agent::product, warp, a.instruction, warp * kLanes);
  WarpState& s = warps_[warp];
  Ids& ids = s.ids[a.window];
  if (ids.clock != s.view.now)
    ids = {s.view.now, check_.add({block_, warp, copies_to(*a.op), 0, s.view.now, a.instruction})};
  return ids.id;
}

// Finds the target of a lane's access, or of several lanes' to `bytes` in a row. False: it has none (the access itself
// reports that), or nothing can go wrong there.
bool BlockCheck::locate(const Access& a, const Warp& w, uint64_t address, uint64_t bytes, Target& t) {
  AddressSpace space = a.op->space;
  if (space == AddressSpace::generic) {
    const uint64_t window = address & ~(kWindowSize - 1);
    space = window == kSharedWindow  ? AddressSpace::shared
            : window == kLocalWindow ? AddressSpace::local
            : window == kParamWindow ? AddressSpace::param
                                     : AddressSpace::global;
    if (space != AddressSpace::global) address -= window;
  }
  if (space == AddressSpace::shared) address = static_cast<uint32_t>(address);
  t.space = space;
  t.address = t.at = address;
  if (address % a.bytes != 0) return false;
  switch (space) {
    case AddressSpace::shared:
      t.home = this;
      t.host = w.shared + address;
      if (address > kClusterOffset) {
        const uint32_t own = w.owner->seat().rank();
        t.home = check_.running(block_ - own + rank_of(own, static_cast<uint32_t>(address)));
        t.host = w.owner->seat().peer(static_cast<uint32_t>(address), bytes);
        if (!t.home || !t.host) return false;
        t.address = t.at = address & kClusterOffset;
      } else if (address + bytes > w.shared_bytes) {
        return false;
      }
      t.written = &t.home->shared_written_;
      t.cells = &t.home->shared_;
      t.first = t.home->first_;
      t.epoch = t.home->epoch_;
      return true;
    case AddressSpace::local:
      if (address > w.local_bytes || address + bytes > w.local_bytes) return false;
      t.at += (uint64_t{w.index} * kLanes + t.lane) * w.local_bytes;
      t.written = &local_written_;
      t.cells = nullptr;
      return true;
    case AddressSpace::global: {
      Window& window = windows_[a.window];
      if (!window.known || address - window.known->base >= window.known->size) {
        window.known = check_.launch().memory->find(address);
        window.only_read = check_.only_read(window.known);
      }
      last_ = window.known;
      if (!last_ || address + bytes > last_->base + last_->size) return false;
      Shadow& shadow = shadow_of(*last_);
      t.at = address - last_->base;
      t.written = shadow.all_written ? nullptr : &shadow.written;
      t.cells = window.only_read ? nullptr : &shadow.cells;
      t.host = reinterpret_cast<std::byte*>(address);
      t.first = t.epoch = check_.first();
      return true;
    }
    default:
      return false;
  }
}

// Carries out the lane's store, so that the next lane's can be compared with it. Whether memory held the same already.
bool BlockCheck::store_lane(const Access& a, Warp& w, const Target& t) {
  if (!t.host) return true;
  bool same = true;
  for (uint32_t k = 0; k < a.op->count; ++k) {
    const std::byte* from = w.at<std::byte>(a.values[k]) + t.lane * std::max<std::size_t>(2, a.op->value_bytes[k]);
    std::byte* to = t.host + std::size_t{k} * a.op->width;
    if (std::memcmp(to, from, a.op->width) == 0) continue;
    same = false;
    std::memcpy(to, from, a.op->width);
  }
  return same;
}

LaunchCheck::Seen BlockCheck::seen(Hazard hazard, const Access& a, const Target& t) const {
  LaunchCheck::Seen s{hazard, a.instruction};
  s.warp = t.warp;
  s.lane = t.lane;
  s.block = block_;
  s.bytes = a.bytes;
  s.space = t.space;
  s.address = t.address;
  if (t.home && t.home != this) s.of_block = t.home->block_;
  return s;
}

bool BlockCheck::ordered(const Accessed& before, const Target& t, bool strong, uint32_t* lane) const {
  const AccessRecord& r = check_[before.id];
  const WarpView& view = warps_[t.warp].view;
  *lane = lowest(before.lanes);
  if (view.all_know(r.block, static_cast<uint32_t>(r.warp), r.clock)) return true;
  const bool mine = r.block == block_ && r.warp == t.warp;
  for (uint32_t m = mine ? before.lanes & ~(1u << t.lane) : before.lanes; m; m &= m - 1) {
    *lane = lowest(m);
    if (!view.knows(t.lane, r.block, static_cast<uint32_t>(r.warp), *lane, r.clock, strong)) return false;
  }
  return true;
}

void BlockCheck::race(const Accessed& before, uint32_t lane, const Access& a, const Target& t) {
  const AccessRecord& r = check_[before.id];
  const bool by_agent = check_.agent(r).has_value();
  LaunchCheck::Seen s = seen(by_agent                          ? Hazard::early_use
                             : t.space == AddressSpace::shared ? Hazard::race_shared
                                                               : Hazard::race_global,
                             a, t);
  s.before = before.id;
  s.before_lane = lane;
  s.apart = r.block != block_ ? 2 : r.warp != t.warp ? 1 : 0;
  if (check_.counts_again(s)) return;
  if (!by_agent) s.note = missing(r, lane, a, t);
  check_.found(s);
}

// Whether the last writer of a cell comes before the lane's access because of a polling load that has read what it
// wrote (causality order: what is observed comes before what the observer does next). One that has not waited for it
// may come first another time.
bool BlockCheck::observed(const Past& past, const Target& t) const {
  if (!past.observers) return false;
  for (const Accessed& o : *past.observers) {
    if (o.id < t.first) continue;
    const AccessRecord& r = check_[o.id];
    const auto warp = static_cast<uint32_t>(r.warp);
    if (r.block == block_ && warp == t.warp && (o.lanes >> t.lane & 1)) return true;
    for (uint32_t m = o.lanes; m; m &= m - 1)
      if (warps_[t.warp].view.knows(t.lane, r.block, warp, lowest(m), r.clock, false)) return true;
  }
  return false;
}

// Before a strong write: what is remembered beside it. An atomic that `reads` has observed the writers before it.
void BlockCheck::keep_past(const Cell& cell, uint64_t at, bool reads, const Target& t) {
  if (cell.writer.id < t.first) {
    t.cells->past().erase(at);
    return;
  }
  const auto known = t.cells->past().find(at);
  Past next;
  uint32_t lane = 0;
  if (!is_strong(check_.rule(check_[cell.writer.id].instruction))) {
    next.weak = cell.writer;
  } else {
    std::size_t n = 0;
    const auto add = [&](const Accessed& w, bool seen) {
      if (!reads && w.id >= t.first && n < 2 && !seen && !ordered(w, t, false, &lane)) next.others[n++] = w;
    };
    add(cell.writer, known != t.cells->past().end() && observed(known->second, t));
    if (known != t.cells->past().end()) {
      next.weak = known->second.weak;
      for (const Accessed& w : known->second.others) add(w, false);
    }
  }
  if (next.weak.id >= t.first || next.others[0].id >= t.first)
    t.cells->past()[at] = std::move(next);
  else if (known != t.cells->past().end())
    t.cells->past().erase(known);
}

void BlockCheck::check_cell(Cell& cell, uint64_t at, const Access& a, const Target& t, bool same_value) {
  const AccessRule& rule = t.rule ? *t.rule : check_.rule(a.instruction);
  const bool strong = is_strong(rule), writes = rule.kind != Kind::load;
  // Whether what the thread has read counts without a fence behind it. A store needs the fence, unless the thread has
  // read that very word since; so does an atomic behind a weak access.
  const auto sees = [&](const Accessed& before) {
    if (!strong || !writes || (rule.kind == Kind::atomic && is_strong(check_.rule(check_[before.id].instruction))))
      return strong;
    return std::ranges::any_of(cell.readers, [&](const Accessed& r) {
      return r.id >= t.first && check_[r.id].block == block_ && check_[r.id].warp == t.warp && (r.lanes >> t.lane & 1);
    });
  };
  uint32_t lane = 0;
  const auto conflicts = [&](const Accessed& before) {
    if (before.id < t.first || (t.rule && before.id == t.id)) return false;
    const AccessRecord& r = check_[before.id];
    if (strong && meant_to_meet(check_.rule(r.instruction), rule, r.block == block_)) return false;
    return !ordered(before, t, sees(before), &lane);
  };
  const bool after_strong = cell.writer.id >= t.first && is_strong(check_.rule(check_[cell.writer.id].instruction));
  const auto past = after_strong ? t.cells->past().find(at) : t.cells->past().end();
  const bool has_past = past != t.cells->past().end();
  if (cell.writer.id >= t.first && check_[cell.writer.id].under_way && check_[cell.writer.id].block == block_ &&
      cell.writer.id != t.id) {
    LaunchCheck::Seen s = seen(Hazard::early_use, a, t);
    s.before = cell.writer.id;
    s.before_lane = lowest(cell.writer.lanes);
    check_.found(s);
  } else if (!(rule.kind == Kind::store && same_value)) {
    if (conflicts(cell.writer) && !(has_past && observed(past->second, t))) {
      race(cell.writer, lane, a, t);
    } else if (has_past) {
      for (const Accessed* w : {&past->second.weak, &past->second.others[0], &past->second.others[1]})
        if (conflicts(*w)) {
          race(*w, lane, a, t);
          break;
        }
    } else if (stale(a, cell, t)) {
      LaunchCheck::Seen s = seen(Hazard::race_global, a, t);
      s.before = cell.writer.id;
      s.before_lane = lowest(cell.writer.lanes);
      s.as_constant = true;
      check_.found(s);
    }
  }
  const uint32_t me = 1u << t.as;
  if (!writes) {
    if (rule.polls && after_strong) {
      Accessed* free = nullptr;
      Past& p = t.cells->past()[at];
      if (!p.observers) p.observers = std::make_unique<Past::Observers>();
      for (Accessed& o : *p.observers)
        if (!free && (o.id == t.id || o.id < t.first)) free = &o;
      if (!free) free = &(*p.observers)[t.id % p.observers->size()];
      *free = {t.id, free->id == t.id ? free->lanes | me : me};
    }
    // A reader slot is free when what it holds comes before this read anyway.
    for (Accessed& r : cell.readers) {
      if (r.id >= t.first && (r.id == t.id || check_[r.id].is(block_, t.warp, warps_[t.warp].view.now))) {
        r.lanes |= me;
        return;
      }
      if (r.id < t.first || ordered(r, t, false, &lane)) {
        r = {t.id, me};
        return;
      }
    }
    cell.readers[1] = {t.id, me};
    return;
  }
  for (Accessed& r : cell.readers) {
    if (conflicts(r)) race(r, lane, a, t);
    r = {};
  }
  if (strong)
    keep_past(cell, at, a.op->returns, t);
  else if (has_past)
    t.cells->past().erase(past);
  cell.writer = {t.id, cell.writer.id == t.id ? cell.writer.lanes | me : me};
}

void BlockCheck::touch(const Access& a, const Target& t, uint32_t bytes) {
  if (t.space != AddressSpace::global) return;
  // The host may change it while the kernel runs.
  if (last_->origin == Origin::host || last_->origin == Origin::managed) check_.count_change();
  if (last_->origin == Origin::heap) return;
  check_.footprint(warps_[t.warp].waited).add(a.instruction, t.address, bytes, last_->base, last_->size);
}

uint64_t BlockCheck::address_of(const Access& a, const Warp& w, uint32_t lane) const {
  const uint32_t at = a.shape == AddressShape::vector ? lane : 0;
  const uint64_t base = a.address_is_64 ? w.at<uint64_t>(a.address)[at] : w.at<uint32_t>(a.address)[at];
  const uint64_t step = a.shape == AddressShape::contiguous ? a.bytes : a.shape == AddressShape::strided ? a.stride : 0;
  return base + lane * step + static_cast<uint64_t>(a.offset);
}

void BlockCheck::access(const Access& a, Warp& w) {
  const Instruction& i = check_.launch().program->code[a.instruction];
  if (shadows) check_use(a.op->address, w.active, a.instruction, w.index, "an address");
  if (shadows && (a.op->space == AddressSpace::param || a.op->space == AddressSpace::constant)) forget_results(i, w);
  if (a.op->space == AddressSpace::param) return;
  check_.tidy();
  const AccessRule& rule = check_.rule(a.instruction);
  const Kind kind = rule.kind;
  const bool of_pointer = check_.pointer_of(a.window) != kNone;
  if (kind == Kind::load && !check_.loads_pointers(a.window).empty()) load_pointers(a, w);
  if (!before_.empty()) settle_atomics();
  if (rule.may_poll) note_polled(a, w);
  const bool races = check_.room();
  if (!of_pointer && !a.op->silent && !meets_undefined(a, w) && as_whole(a, w, races)) return;
  if (a.op->space != AddressSpace::global || is_strong(rule)) {
    hear_quiet();
    reads_.quiet = reads_.quiet && (a.op->space == AddressSpace::global || kind == Kind::load);
  }
  changed_.clear();
  Met met(*this, a, w.index);
  // Nothing has been left where it may look, and it has nothing to leave.
  const bool alone = places_.empty() && check_.places().empty() && rule.order <= Order::relaxed &&
                     a.op->op != AtomicOp::mbarrier && !warps_[w.index].view.may_have_fenced();
  const bool hands = !alone || (kind == Kind::atomic && !is_strong(rule));
  for (uint32_t m = w.active; m; m &= m - 1) {
    Target t;
    t.lane = lowest(m);
    t.warp = w.index;
    t.as = a.op->silent ? w.index : t.lane;
    t.id = races ? id_of(a, w.index) : 0;
    const uint64_t address = address_of(a, w, t.lane);
    if (a.op->space == AddressSpace::constant && address % a.bytes == 0)
      check_.footprint(warps_[t.warp].waited).add(a.instruction, address, a.bytes);
    if (!locate(a, w, address, a.bytes, t)) continue;
    touch(a, t, a.bytes);
    if (t.home && t.home != this) come_back(a, t);
    bool own = within(a, t, a.bytes);
    if (!own) {
      check_.found(seen(Hazard::out_of_array, a, t));
      if (kind != Kind::load) check_.stray();
    }
    if (t.space == AddressSpace::global && last_->origin == Origin::heap) own = check_heap(a, t) && own;
    if (of_pointer && own) own = within_pointer(a, t);
    if (own)
      check_written(a, w, t);
    else if (shadows && kind == Kind::load)
      for (const Value& v : a.op->values)
        if (v.is_reg()) warps_[w.index].undefined.define(v.reg, 1u << t.lane);
    const bool same = kind == Kind::store && store_lane(a, w, t);
    if (kind == Kind::store && t.host && !same) {
      const LaunchCheck::Changer by{block_, w.index, t.lane, a.instruction};
      is_strong(rule) ? changed(t.space, t.address, by) : check_.count_change();
    } else if (kind == Kind::atomic && t.host && a.op->returns && a.op->width <= 8) {
      Before b{t.host, 0, a.op->width, t.space, t.address, {block_, w.index, t.lane, a.instruction}};
      std::memcpy(&b.old, t.host, a.op->width);
      before_.push_back(b);
    } else if (kind == Kind::atomic) {
      check_.count_change();
    }
    if (!t.cells || !races) continue;
    t.cells->visit(t.at, a.bytes, t.epoch, check_.made, [&](Cell& cell, uint64_t at) {
      if (a.op->silent) check_proxy(cell, a, t);
      if (!met.any() || !meets_its_like(cell, at, t, met)) check_cell(cell, at, a, t, same);
    });
    if (copies_to(*a.op)) {
      WarpState& s = warps_[w.index];
      s.copies.push_back({t.lane, s.group[t.lane], static_cast<uint32_t>(t.address), a.bytes, t.id});
    }
    if (hands || (t.home && t.home != this)) hand_over(a, w, t);
  }
}

}  // namespace coalesce::machine
