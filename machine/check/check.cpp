// The rules: what one lane's access means to the cells it touches, and what synchronises.
#include "machine/check/check.h"

#include <algorithm>
#include <cstring>

#include "machine/execute/block.h"

namespace coalesce::machine {

struct BlockCheck::Target {
  AddressSpace space = AddressSpace::global;
  uint32_t warp = 0, lane = 0;
  uint64_t address = 0;        // in its space
  uint64_t at = 0;             // in the shadow
  Written* written = nullptr;  // null: begins with a content
  Cells* cells = nullptr;      // null: nobody else reaches it
  std::byte* host = nullptr;
  AccessId first = 0, id = 0;  // ids before `first` are of accesses long ago
};

BlockCheck::BlockCheck(LaunchCheck& launch)
    : check_(launch),
      warps_(launch.launch().warps_per_block),
      shared_written_(launch.launch().shared_bytes),
      local_written_(uint64_t{launch.launch().program->local_bytes + 15} / 16 * 16 * kLanes * warps_.size()),
      shared_(launch.launch().shared_bytes) {
  for (WarpState& s : warps_) s.ids.resize(launch.launch().program->memory.size());
}

void BlockCheck::begin(uint64_t block) {
  block_ = block;
  first_ = check_.next();
  shared_written_.clear();
  local_written_.clear();
  arrived_.clear();
  for (WarpState& s : warps_) {
    s.view.begin(static_cast<uint32_t>(warps_.size()));
    ++s.view.now;  // ids of the block before are not this one's
    s.copies.clear();
    s.group.fill(0);
  }
}

// The half of a cp.async that writes, and is done some time before the wait for it.
static bool copies_to(const MemoryOp& op) { return op.is_copy && op.space == AddressSpace::shared; }

AccessId BlockCheck::id_of(const Access& a, uint32_t warp) {
  WarpState& s = warps_[warp];
  Ids& ids = s.ids[a.window];
  if (ids.clock != s.view.now)
    ids = {s.view.now, check_.add({block_, s.view.now, warp, a.instruction, copies_to(*a.op)})};
  return ids.id;
}

// Finds the target of the lane's access. False: it has none (the access itself reports that), or nothing can go wrong
// there.
bool BlockCheck::locate(const Access& a, Warp& w, uint64_t address, Target& t) {
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
      if (address + a.bytes > w.shared_bytes) return false;
      t.written = &shared_written_;
      t.cells = &shared_;
      t.host = w.shared + address;
      t.first = first_;
      return true;
    case AddressSpace::local:
      if (address > w.local_bytes || address + a.bytes > w.local_bytes) return false;
      t.at += (uint64_t{w.index} * kLanes + t.lane) * w.local_bytes;
      t.written = &local_written_;
      t.cells = nullptr;
      return true;
    case AddressSpace::global: {
      if (!last_ || address - last_->base >= last_->size) last_ = check_.launch().memory->find(address);
      if (!last_ || address + a.bytes > last_->base + last_->size) return false;
      Shadow& shadow = shadow_of(*last_);
      t.at = address - last_->base;
      t.written = shadow.all_written ? nullptr : &shadow.written;
      t.cells = &shadow.cells;
      t.host = reinterpret_cast<std::byte*>(address);
      t.first = check_.first();
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

// Reads are judged element by element: one of which no byte has been written is reported. What is written in part is
// taken for a structure with padding, copied as a whole; and so is an unwritten element beside written bytes, within
// the 16 that the widest alignment can leave free, if its value is only moved on (AccessRule::used).
void BlockCheck::check_written(const Access& a, const Target& t) {
  if (!t.written) return;
  constexpr uint64_t kAlignment = 16;
  const AccessRule& rule = check_.rule(a.instruction);
  const bool reads = rule.kind == Kind::load || (rule.kind == Kind::atomic && a.op->op != AtomicOp::exch);
  for (uint32_t k = 0; reads && k < a.op->count; ++k) {
    const uint64_t at = t.at + k * a.op->width;
    if (t.written->any(at, a.op->width)) continue;
    if (!(rule.used >> k & 1) && t.written->any(at / kAlignment * kAlignment, kAlignment)) continue;
    check_.found(seen(Hazard::uninitialised, a, t));
    break;
  }
  if (rule.kind != Kind::load) t.written->set(t.at, a.bytes);
}

LaunchCheck::Seen BlockCheck::seen(Hazard hazard, const Access& a, const Target& t) const {
  LaunchCheck::Seen s{hazard, a.instruction};
  s.warp = t.warp;
  s.lane = t.lane;
  s.block = block_;
  s.bytes = a.bytes;
  s.space = t.space;
  s.address = t.address;
  return s;
}

bool BlockCheck::ordered(const Accessed& before, const Target& t, bool strong, uint32_t* lane) const {
  const AccessRecord& r = check_[before.id];
  const WarpView& view = warps_[t.warp].view;
  *lane = lowest(before.lanes);
  if (r.block != block_)
    return check_.handovers().shows(view.known, r.block, r.warp, r.clock) ||
           (strong && check_.handovers().shows(view.pending, r.block, r.warp, r.clock));
  if (view.seen[r.warp] > r.clock || (strong && view.offered[r.warp] > r.clock)) return true;
  if (r.warp != t.warp) return false;
  for (uint32_t m = before.lanes & ~(1u << t.lane); m; m &= m - 1) {
    *lane = lowest(m);
    if (view.lanes[t.lane][*lane] <= r.clock) return false;
  }
  return true;
}

void BlockCheck::race(const Accessed& before, uint32_t lane, const Access& a, const Target& t) {
  const AccessRecord& r = check_[before.id];
  LaunchCheck::Seen s = seen(t.space == AddressSpace::shared ? Hazard::race_shared : Hazard::race_global, a, t);
  s.before = before.id;
  s.before_lane = lane;
  const WarpView& view = warps_[t.warp].view;
  const bool told = r.block == block_ ? view.offered[r.warp] > r.clock
                                      : check_.handovers().shows(view.pending, r.block, r.warp, r.clock);
  if (told)
    s.note = "the other thread has released it, but this one has no __threadfence() after the atomic that says so";
  else if (r.block != block_)
    s.note =
        "blocks run in any order: a __threadfence() and then an atomic by the one, the atomic and then a "
        "__threadfence() by the other, or a launch of its own";
  else if (r.warp != t.warp)
    s.note = "__syncthreads() has to come between them";
  else if (r.instruction == a.instruction && check_.rule(a.instruction).kind == Kind::store &&
           r.clock == warps_[t.warp].view.now)
    s.note = "lanes of one warp store different values: any of them may stay";
  else
    s.note = "lanes of one warp need not run in step: __syncwarp() has to come between them";
  check_.found(s);
}

namespace {

bool is_strong(const AccessRule& r) { return r.order != Order::weak; }

// Two accesses that are made to meet: atomics, st.relaxed, ld.acquire ... volatile is enough for a flag that is polled,
// and no way to exchange data.
bool meant_to_meet(const AccessRule& a, const AccessRule& b) {
  const auto real = [](const AccessRule& r) { return r.order > Order::volatile_ || r.polls; };
  return is_strong(a) && is_strong(b) && (real(a) || real(b));
}

}  // namespace

void BlockCheck::check_cell(Cell& cell, const Access& a, const Target& t, bool same_value) {
  const AccessRule& rule = check_.rule(a.instruction);
  const bool strong = is_strong(rule), writes = rule.kind != Kind::load;
  uint32_t lane = 0;
  const auto conflicts = [&](const Accessed& before) {
    return before.id >= t.first && !ordered(before, t, strong, &lane) &&
           !meant_to_meet(check_.rule(check_[before.id].instruction), rule);
  };
  if (cell.writer.id >= t.first && check_[cell.writer.id].under_way && check_[cell.writer.id].block == block_ &&
      !copies_to(*a.op)) {
    LaunchCheck::Seen s = seen(Hazard::early_use, a, t);
    s.before = cell.writer.id;
    s.before_lane = lowest(cell.writer.lanes);
    check_.found(s);
  } else if (!(rule.kind == Kind::store && same_value) && conflicts(cell.writer)) {
    race(cell.writer, lane, a, t);
  }
  const uint32_t me = 1u << t.lane;
  if (!writes) {
    // A reader slot is free when what it holds comes before this read anyway.
    for (Accessed& r : cell.readers) {
      const bool mine = r.id >= t.first && check_[r.id].block == block_ && check_[r.id].warp == t.warp &&
                        check_[r.id].clock == warps_[t.warp].view.now;
      if (mine) {
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
  cell.writer = {t.id, cell.writer.id == t.id ? cell.writer.lanes | me : me};
}

// Hands over knowledge at the address of an atomic or a strong access: a release leaves it there, an acquire takes it.
void BlockCheck::hand_over(const Access& a, const Target& t) {
  const AccessRule& rule = check_.rule(a.instruction);
  if (!is_strong(rule) || t.space == AddressSpace::local) return;
  WarpView& view = warps_[t.warp].view;
  Handovers& all = check_.handovers();
  const uint64_t whose = t.space == AddressSpace::shared ? block_ : Handovers::kGlobal;
  const bool acquires = rule.order == Order::acquire || rule.order == Order::acq_rel;
  const bool releases = rule.order == Order::release || rule.order == Order::acq_rel;
  if (rule.kind != Kind::store && !all.empty()) {
    if (const uint32_t place = all.find(whose, t.address); place != Handovers::kNowhere) {
      take_later(view.pending, {{place, all.entries(place)}});
      all.take_own(place, all.entries(place), block_, view.offered);
      if (acquires) take_pending(view);
    }
  }
  if (rule.kind == Kind::load || !(releases || view.has_fenced)) return;
  const uint32_t place = all.make(whose, t.address);
  if (releases) {
    ++view.now;
    Clocks all_seen = view.seen;
    all_seen[t.warp] = view.now;
    all.leave(place, block_, all_seen, all_seen, view.known);
  } else {
    all.leave(place, block_, view.block_fenced, view.fenced, view.known);
  }
}

void BlockCheck::take_pending(WarpView& view) {
  take_later(view.seen, view.offered);
  take_later(view.known, view.pending);
  view.pending.clear();
}

void BlockCheck::access(const Access& a, Warp& w) {
  if (a.op->space == AddressSpace::param) return;
  const Kind kind = check_.rule(a.instruction).kind;
  const bool races = check_.room();
  const AccessId id = races ? id_of(a, w.index) : 0;
  const uint64_t base = a.shape == AddressShape::vector ? 0
                        : a.address_is_64               ? *w.at<uint64_t>(a.address)
                                                        : *w.at<uint32_t>(a.address);
  const uint64_t step = a.shape == AddressShape::contiguous ? a.bytes : a.shape == AddressShape::strided ? a.stride : 0;
  for (uint32_t m = w.active; m; m &= m - 1) {
    Target t;
    t.lane = lowest(m);
    t.warp = w.index;
    t.id = id;
    uint64_t address = base + t.lane * step;
    if (a.shape == AddressShape::vector)
      address = a.address_is_64 ? w.at<uint64_t>(a.address)[t.lane] : w.at<uint32_t>(a.address)[t.lane];
    address += static_cast<uint64_t>(a.offset);
    if (a.op->space == AddressSpace::constant && address % a.bytes == 0)
      check_.footprint().add(a.instruction, address, a.bytes);
    if (!locate(a, w, address, t)) continue;
    if (t.space == AddressSpace::global && last_->origin != Origin::heap)
      check_.footprint().add(a.instruction, t.address, a.bytes);
    check_written(a, t);
    const bool same = kind == Kind::store && store_lane(a, w, t);
    if (!t.cells || !races) continue;
    t.cells->visit(t.at, a.bytes, check_.made, [&](Cell& cell) { check_cell(cell, a, t, same); });
    if (copies_to(*a.op)) {
      WarpState& s = warps_[w.index];
      s.copies.push_back({t.lane, s.group[t.lane], static_cast<uint32_t>(t.address), a.bytes, id});
    }
    hand_over(a, t);
  }
}

void BlockCheck::event(const Instruction& i, Warp& w) {
  WarpState& s = warps_[w.index];
  switch (static_cast<Nothing>(i.mode)) {
    case Nothing::block_fence:
    case Nothing::device_fence:
      take_pending(s.view);
      return s.view.fence(w.index, static_cast<Nothing>(i.mode) == Nothing::device_fence);
    case Nothing::copies_commit:
      for (uint32_t m = w.active; m; m &= m - 1) ++s.group[lowest(m)];
      return;
    case Nothing::copies_wait:
      return finish_copies(s, w.index, w.active, i.sources.empty() ? 0 : static_cast<uint32_t>(i.sources[0].bits));
    case Nothing::copies_wait_all:  // those of no group, too
      for (uint32_t m = w.active; m; m &= m - 1) ++s.group[lowest(m)];
      return finish_copies(s, w.index, w.active, 0);
    default:
      return;
  }
}

// The lanes wait for all but the last `left` of their groups: what those copied is written now.
void BlockCheck::finish_copies(WarpState& s, uint32_t warp, uint32_t lanes, uint32_t left) {
  std::map<AccessId, AccessId> done;
  std::erase_if(s.copies, [&](const Copy& c) {
    if (!(lanes >> c.lane & 1) || c.group + left >= s.group[c.lane]) return false;
    auto [now, fresh] = done.try_emplace(c.id, 0);
    if (fresh) now->second = check_.add({block_, s.view.now, warp, check_[c.id].instruction, false});
    shared_.visit(c.at, c.bytes, check_.made, [&, id = now->second](Cell& cell) {
      if (cell.writer.id == c.id) cell.writer.id = id;
    });
    return true;
  });
}

void BlockCheck::sync_warp(const LaneOp& op, Warp& w) {
  const uint32_t* masks = w.at<uint32_t>(op.sources.back());
  for (uint32_t left = w.active; left;) {
    const uint32_t named = masks[lowest(left)];
    warps_[w.index].view.sync_lanes(named & w.alive);
    left &= ~(named | (1u << lowest(left)));
  }
}

void BlockCheck::arrive(uint32_t warp, uint32_t id) {
  WarpView& view = warps_[warp].view;
  Sight& left = arrived_.try_emplace(id, static_cast<uint32_t>(warps_.size())).first->second;
  take_later(left, view);
  left.seen[warp] = ++view.now;
}

void BlockCheck::barrier(const std::vector<std::pair<uint32_t, uint32_t>>& at, uint32_t id) {
  Sight all(static_cast<uint32_t>(warps_.size()));
  if (const auto early = arrived_.find(id); early != arrived_.end()) {
    all = std::move(early->second);
    arrived_.erase(early);
  }
  for (const auto& [warp, lanes] : at) {
    WarpView& view = warps_[warp].view;
    view.sync_lanes(lanes);
    take_later(all, view);
    all.seen[warp] = view.now;
  }
  for (const auto& [warp, lanes] : at) static_cast<Sight&>(warps_[warp].view) = all;
}

}  // namespace coalesce::machine
