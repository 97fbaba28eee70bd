#include "machine/check/block_check.h"

#include <algorithm>
#include <cstring>

#include "machine/check/atomics.h"

namespace coalesce::machine {

BlockCheck::BlockCheck(LaunchCheck& launch)
    : state_(launch),
      check_(launch),
      locator_(state_),
      races_(state_),
      accesses_(state_, locator_, races_),
      uninitialised_(state_, locator_, shadows),
      pointees_(state_, locator_),
      waits_(state_, locator_),
      synchronisation_(state_),
      skips_(state_),
      copies_(state_, locator_, races_) {
  check_.enter(this);
}

BlockCheck::~BlockCheck() { check_.leave(this); }

void BlockCheck::begin(uint64_t block) {
  waits_.begin();
  state_.begin(block);
  check_.count_change();
  accesses_.begin();
  uninitialised_.begin();
  pointees_.begin();
  synchronisation_.begin();
  skips_.begin();
  copies_.begin();
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

void BlockCheck::access(const Access& a, Warp& w) {
  const Instruction& i = check_.program().code[a.instruction];
  if (shadows) uninitialised_.check_use(a.op->address, w.active, a.instruction, w.index, "an address");
  if (shadows && (a.op->space == AddressSpace::param || a.op->space == AddressSpace::constant))
    uninitialised_.forget_results(i, w);
  if (a.op->space == AddressSpace::param) return;
  check_.tidy();
  const AccessRule& rule = check_.rule(a.instruction);
  const Kind kind = rule.kind;
  const bool of_pointer = check_.addresses.pointer_of(a.window) != kNone;
  if (kind == Kind::load && !check_.addresses.loads_pointers(a.window).empty()) pointees_.load_pointers(a, w);
  waits_.settle_atomics();
  if (rule.may_poll) waits_.note_polled(a, w);
  const bool races = check_.records.room();
  if (!of_pointer && !a.op->silent && !(shadows && uninitialised_.meets(a, w)) && accesses_.whole(a, w, races)) return;
  if (a.op->space != AddressSpace::global || is_strong(rule)) {
    accesses_.hear_quiet();
    if (a.op->space != AddressSpace::global && kind != Kind::load) accesses_.disturb();
  }
  synchronisation_.begin_access();
  Met met(state_, a, w.index);
  // Nothing has been left where it may look, and it has nothing to leave.
  const bool alone = state_.places.empty() && check_.places.empty() && rule.order <= Order::relaxed &&
                     a.op->op != AtomicOp::mbarrier && !state_.warps[w.index].view.may_have_fenced();
  const bool hands = !alone || (kind == Kind::atomic && !is_strong(rule));
  for (uint32_t m = w.active; m; m &= m - 1) {
    Target t;
    t.lane = lowest(m);
    t.warp = w.index;
    t.as = a.op->silent ? w.index : t.lane;
    t.id = races ? state_.id_of(a, w.index) : 0;
    const uint64_t address = address_of(a, w, t.lane);
    if (a.op->space == AddressSpace::constant && address % a.bytes == 0)
      check_.footprint(state_.warps[t.warp].waited).add(a.instruction, address, a.bytes);
    if (!locator_.find(a, w, address, a.bytes, t)) continue;
    locator_.touch(a, t, a.bytes);
    if (t.home && t.home != &state_) t.home->note_visit(a, t, state_);
    bool own = locator_.within(a, t, a.bytes);
    if (!own) {
      check_.findings.add(state_.seen(Hazard::out_of_array, a, t));
      if (kind != Kind::load) check_.strays = true;
    }
    if (t.space == AddressSpace::global && t.allocation->origin == Origin::heap)
      own = pointees_.check_heap(a, t) && own;
    if (of_pointer && own) own = pointees_.within_pointer(a, t);
    if (own)
      uninitialised_.check_written(a, w, t);
    else if (shadows && kind == Kind::load)
      for (const Value& v : a.op->values)
        if (v.is_reg()) uninitialised_.define(v.reg, 1u << t.lane, w.index);
    const bool same = kind == Kind::store && store_lane(a, w, t);
    if (kind == Kind::store && t.host && !same) {
      const Changer by{state_.block, w.index, t.lane, a.instruction};
      is_strong(rule) ? waits_.changed(t.space, t.address, by) : check_.count_change();
    } else if (kind == Kind::atomic && t.host && a.op->returns && a.op->width <= 8) {
      waits_.before_atomic(a, t);
    } else if (kind == Kind::atomic) {
      check_.count_change();
    }
    if (!t.cells || !races) continue;
    t.cells->visit(t.at, a.bytes, t.epoch, check_.records.made, [&](Cell& cell, uint64_t at) {
      if (a.op->silent) races_.check_proxy(cell, a, t);
      if (!met.any() || !races_.meets_its_like(cell, at, t, met)) races_.access(cell, at, a, t, same);
    });
    if (copies_to(*a.op)) copies_.add(a, t);
    if (hands || (t.home && t.home != &state_)) synchronisation_.hand_over(a, w, t);
  }
}

void BlockCheck::event(const Instruction& i, Warp& w) {
  accesses_.hear_quiet();
  BlockState::WarpState& s = state_.warps[w.index];
  switch (static_cast<Nothing>(i.mode)) {
    case Nothing::block_fence:
    case Nothing::device_fence:
      return s.view.fence(w.active, static_cast<Nothing>(i.mode) == Nothing::device_fence);
    case Nothing::grid_wait:
      s.waited = true;
      return;
    default:
      return copies_.event(i, w);
  }
}

void BlockCheck::lanes(const LaneOp& op, Warp& w) {
  const Instruction& i = *op.instruction;
  uninitialised_.lanes(op, w);
  if (!i.names_lanes && i.kind != Kind::warp_barrier) return;
  const uint32_t* masks = w.at<uint32_t>(op.sources.back());
  bool named_all = true;
  for (uint32_t m = w.active; m; m &= m - 1) {
    if (masks[lowest(m)] >> lowest(m) & 1) continue;
    named_all = false;
    check_.findings.add(state_.seen(Hazard::bad_mask, op.index, w.index, lowest(m)));
  }
  if (i.kind != Kind::warp_barrier) return;
  accesses_.hear_quiet();
  for (uint32_t left = w.active; left;) {
    const uint32_t named = masks[lowest(left)];
    skips_.complete(op, named_all ? named : 0, w);  // a wrong mask says nothing of who should come
    if (named & w.alive) state_.warps[w.index].view.sync_lanes(named & w.alive, w.alive);
    left &= ~(named | (1u << lowest(left)));
  }
}

void BlockCheck::enters(uint32_t block, Warp& w) {
  if (check_.kernel.tells_skips[block]) skips_.enters(block, w);
  uninitialised_.enters(block, w);
}

void BlockCheck::barrier(const std::vector<Arrival>& at, uint32_t id, bool whole) {
  check_.count_change();
  // Whether all threads of the block are there: what they have done comes before all that they do next.
  if (whole && at.size() == state_.warps.size() &&
      std::ranges::all_of(at, [](const Arrival& h) { return (h.alive & ~h.lanes) == 0; }))
    accesses_.all_met(copies_.any());
  else
    accesses_.hear_quiet();
  if (whole && !check_.kernel.skips.empty()) skips_.complete(at);
  const bool waited = std::ranges::any_of(at, [&](const Arrival& h) { return state_.warps[h.warp].waited; });
  for (const Arrival& h : at) {
    state_.warps[h.warp].waited = waited;
    for (const uint32_t r : check_.program().code[h.instruction].results)
      if (r != kNone) uninitialised_.define(r, h.lanes, h.warp);
  }
  for (const Arrival& h : at) skips_.forget_lanes(h.warp);
  synchronisation_.barrier(at, id);
}

void BlockCheck::arrive(uint32_t warp, uint32_t id) {
  accesses_.hear_quiet();
  check_.count_change();
  synchronisation_.arrive(warp, id);
}

void BlockCheck::moves(const BulkPart& part, uint32_t instruction, uint32_t lane, Warp& w) {
  check_.tidy();
  check_.count_change();
  copies_.moves(part, instruction, lane, w);
  if (part.from != 0 && part.to != 0 && !part.reduces) uninitialised_.move(part, instruction, lane, w);
}

void BlockCheck::meets(uint32_t lanes, uint64_t phase, Meets how, Warp& w) {
  check_.count_change();
  synchronisation_.meets(lanes, phase, how, w);
}

void BlockCheck::ends() {
  waits_.settle_atomics();
  state_.running = false;
  check_.ended(state_.block);
  state_.check_visits();
}

}  // namespace coalesce::machine
