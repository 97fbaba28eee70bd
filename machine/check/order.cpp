// Synchronisation between accesses, and the text that says what a race lacks.
#include <algorithm>
#include <cstring>

#include "machine/check/check.h"
#include "machine/execute/block.h"

namespace coalesce::machine {

// Whether the lane's compare-and-swap writes: not if the word differs, or an earlier lane has just changed it.
bool BlockCheck::swaps(const Access& a, const Warp& w, const Target& t) {
  if (a.op->op != AtomicOp::cas) return true;
  const std::byte* compared =
      w.at<std::byte>(a.values[0]) + std::size_t{t.lane} * std::max<std::size_t>(2, a.op->width);
  if (std::memcmp(t.host, compared, a.op->width) != 0) return false;
  if (std::ranges::find(changed_, t.address) != changed_.end()) return false;
  changed_.push_back(t.address);
  return true;
}

// Hands over knowledge at the address of an atomic or a strong access: a release leaves it there, an acquire takes it.
// A weak store ends what was left.
void BlockCheck::hand_over(const Access& a, const Warp& w, const Target& t) {
  const AccessRule& rule = check_.rule(a.instruction);
  if (t.space == AddressSpace::local) return;
  Handovers& places = t.space == AddressSpace::shared ? t.home->places_ : check_.places();
  if (!is_strong(rule)) {
    if (rule.kind == Kind::atomic) places.begin_object(t.address);
    if (rule.kind == Kind::store && !places.empty()) places.end(t.address);
    return;
  }
  WarpView& view = warps_[t.warp].view;
  const bool acquires = rule.order == Order::acquire || rule.order == Order::acq_rel;
  const bool releases = rule.order == Order::release || rule.order == Order::acq_rel;
  const bool far = rule.scope == Scope::device;
  const bool object = rule.kind == Kind::atomic && a.op->op == AtomicOp::mbarrier;
  if (object && std::ranges::find(changed_, t.address) == changed_.end()) {
    changed_.push_back(t.address);
    uint64_t bits;
    std::memcpy(&bits, t.host, sizeof bits);
    places.look_at_object(t.address, bits);
  }
  if (rule.kind != Kind::store)
    if (const Handovers::Left* left = places.find(t.address))
      view.read(t.lane, left->of_block == block_ ? left->block : Knowledge{}, far ? left->device : Knowledge{},
                acquires, left->chain);
  if (rule.kind == Kind::load || (rule.kind == Kind::atomic && !swaps(a, w, t))) return;
  if (object && a.op->returns) return;  // a wait
  const Knowledge near = releases ? view.release(t.lane) : view.fenced(t.lane, false);
  const Knowledge all = !far ? Knowledge{} : releases ? near : view.fenced(t.lane, true);
  if (!object) return places.leave(t.address, block_, near, all, rule.kind == Kind::atomic);
  places.arrive(t.address, block_, near, all);
  uint64_t change;
  std::memcpy(&change, w.at<std::byte>(a.values[0]) + std::size_t{t.lane} * sizeof change, sizeof change);
  places.change_object(t.address, change);
}

namespace {
// The groups that a wait leaves under way.
uint32_t left_of(const Instruction& i) { return i.sources.empty() ? 0 : static_cast<uint32_t>(i.sources[0].bits); }

// The memory that each proxy fence is for.
constexpr std::pair<Nothing, AddressSpace> kFenced[] = {{Nothing::proxy_fence, AddressSpace::shared},
                                                        {Nothing::proxy_fence, AddressSpace::global},
                                                        {Nothing::proxy_fence_shared, AddressSpace::shared},
                                                        {Nothing::proxy_fence_global, AddressSpace::global}};
}  // namespace

void BlockCheck::event(const Instruction& i, Warp& w) {
  hear_quiet();
  WarpState& s = warps_[w.index];
  switch (static_cast<Nothing>(i.mode)) {
    case Nothing::block_fence:
    case Nothing::device_fence:
      return s.view.fence(w.active, static_cast<Nothing>(i.mode) == Nothing::device_fence);
    case Nothing::copies_commit:
      for (uint32_t m = w.active; m; m &= m - 1) ++s.group[lowest(m)];
      return;
    case Nothing::copies_wait:
      return finish_copies(w, left_of(i));
    case Nothing::copies_wait_all:  // those of no group, too
      for (uint32_t m = w.active; m; m &= m - 1) ++s.group[lowest(m)];
      return finish_copies(w, 0);
    case Nothing::copies_arrive:
      return copies_arrive(i, w);
    case Nothing::bulk_commit:
      for (uint32_t m = w.active; m; m &= m - 1) ++s.bulk_group[lowest(m)];
      ++agent(Agent::group_read, w.index).clock;
      ++agent(Agent::group_write, w.index).clock;
      return;
    case Nothing::bulk_wait:
    case Nothing::bulk_wait_read:
      return wait_bulk(s, i, w, static_cast<Nothing>(i.mode) == Nothing::bulk_wait_read);
    case Nothing::proxy_fence:
    case Nothing::proxy_fence_shared:
    case Nothing::proxy_fence_global:
      if (check_.agents() == 0) return;
      for (const auto& [fence, space] : kFenced)
        if (fence == static_cast<Nothing>(i.mode))
          s.view.fence_proxy(w.active, w.alive, static_cast<uint32_t>(warps_.size()), fenced_warp(space, 0));
      return;
    case Nothing::products_commit:
      ++agent(Agent::product, w.index).clock;
      return;
    case Nothing::products_wait: {
      const Clock now = agent(Agent::product, w.index).clock, left = left_of(i);
      if (now > left) s.view.learn(w.active, w.alive, done_before(Agent::product, w.index, now - left));
      return;
    }
    case Nothing::grid_wait:
      s.waited = true;
      return;
    default:
      return;
  }
}

// The lanes wait for all but the last `left` of their groups: what those copied is written now.
void BlockCheck::finish_copies(Warp& w, uint32_t left) {
  WarpState& s = warps_[w.index];
  std::map<AccessId, AccessId> done;
  std::erase_if(s.copies, [&](const Copy& c) {
    if (!(w.active >> c.lane & 1) || c.group + left >= s.group[c.lane]) return false;
    if (c.bytes == 0) {  // an object has heard of it
      s.view.learn(1u << c.lane, w.alive, done_before(Agent::object_write, c.at, check_[c.id].clock + 1));
      return true;
    }
    auto [now, fresh] = done.try_emplace(c.id, 0);
    if (fresh) now->second = check_.add({block_, w.index, false, 0, s.view.now, check_[c.id].instruction});
    shared_.visit(c.at, c.bytes, epoch_, check_.made, [&, id = now->second](Cell& cell, uint64_t) {
      if (cell.writer.id == c.id) cell.writer.id = id;
    });
    return true;
  });
}

void BlockCheck::lanes(const LaneOp& op, Warp& w) {
  const Instruction& i = *op.instruction;
  const Decoded& p = *check_.launch().program;
  if (shadows || (i.kind == Kind::shuffle && w.active != ~0u)) {
    warps_[w.index].undefined.exchange(op, p, w);
    if (!shadows && warps_[w.index].undefined.any()) {
      shadows = true;
      LaunchCheck::Seen s{Hazard::uninitialised, op.index};
      s.block = block_;
      s.warp = w.index;
      s.lane = lowest(w.active);
      check_.read_undefined(s);
    }
  }
  if (!i.names_lanes && i.kind != Kind::warp_barrier) return;
  const uint32_t* masks = w.at<uint32_t>(op.sources.back());
  bool named_all = true;
  for (uint32_t m = w.active; m; m &= m - 1) {
    if (masks[lowest(m)] >> lowest(m) & 1) continue;
    named_all = false;
    LaunchCheck::Seen s{Hazard::bad_mask, op.index};
    s.block = block_;
    s.warp = w.index;
    s.lane = lowest(m);
    check_.found(s);
  }
  if (i.kind != Kind::warp_barrier) return;
  hear_quiet();
  for (uint32_t left = w.active; left;) {
    const uint32_t named = masks[lowest(left)];
    check_skipping_lanes(op, named_all ? named : 0, w);  // a wrong mask says nothing of who should come
    if (named & w.alive) warps_[w.index].view.sync_lanes(named & w.alive, w.alive);
    left &= ~(named | (1u << lowest(left)));
  }
}

// A barrier of lanes of a warp is complete: have some that it names gone past it?
void BlockCheck::check_skipping_lanes(const LaneOp& op, uint32_t named, const Warp& w) {
  std::vector<std::pair<uint32_t, uint32_t>>& all = warps_[w.index].lanes_passed;
  for (std::size_t k = 0; k < all.size(); ++k) {
    auto& [came, went] = all[k];
    came &= ~w.active;
    if (check_.lane_skips()[k].barrier != op.index) continue;
    const uint32_t gone = named & went & ~w.active;
    went &= ~named;
    if (gone == 0) continue;
    LaunchCheck::Seen s{Hazard::divergent_barrier, op.index};
    s.block = block_;
    s.warp = w.index;
    s.lane = lowest(w.active);
    s.note = "lane " + std::to_string(lowest(gone)) + " of the warp, which it names, has gone past it";
    check_.found(s);
  }
}

void BlockCheck::arrive(uint32_t warp, uint32_t id) {
  hear_quiet();
  check_.count_change();
  BlockClocks done{std::vector<Clock>(clocks()), {}};
  View& left = arrived_[id];
  warps_[warp].view.give(~0u, ~0u, left, done);
  left.known.join(block_, std::move(done));
}

// A barrier of all threads is complete: has a warp gone past it that others wait at?
void BlockCheck::check_skipped(const std::vector<Arrival>& at) {
  for (std::size_t k = 0; k < check_.skips().size(); ++k) {
    const uint32_t barrier = check_.skips()[k].barrier;
    const auto waiting = std::ranges::find(at, barrier, &Arrival::instruction);
    if (waiting == at.end()) continue;
    for (uint32_t v = 0; v < warps_.size(); ++v) {
      if (warps_[v].passed[k] != 2) continue;
      const auto there = std::ranges::find(at, v, &Arrival::warp);
      if (there != at.end() && there->instruction == barrier) continue;
      LaunchCheck::Seen s{Hazard::divergent_barrier, barrier};
      s.block = block_;
      s.warp = waiting->warp;
      s.lane = lowest(waiting->lanes);
      s.note = "warp " + std::to_string(v) + " of the block has gone past it, and " +
               (there == at.end() ? "has ended" : "waits at another barrier");
      check_.found(s);
    }
  }
  for (const Arrival& h : at) std::ranges::fill(warps_[h.warp].passed, uint8_t{0});
}

// Whether all threads of the block are there: what they have done comes before all that they do next.
bool BlockCheck::all_meet(const std::vector<Arrival>& at, bool whole) const {
  return whole && at.size() == warps_.size() &&
         std::ranges::all_of(at, [](const Arrival& h) { return (h.alive & ~h.lanes) == 0; });
}

void BlockCheck::barrier(const std::vector<Arrival>& at, uint32_t id, bool whole) {
  check_.count_change();
  if (all_meet(at, whole)) {
    reads_.clear();
    // All accesses so far come before all that follow, but for copies that nobody has waited for.
    reads_.quiet = may_be_quiet_ && std::ranges::all_of(warps_, [](const WarpState& s) { return s.copies.empty(); });
    if (reads_.quiet) first_ = check_.next();
  } else {
    hear_quiet();
  }
  if (whole && !check_.skips().empty()) check_skipped(at);
  const bool waited = std::ranges::any_of(at, [&](const Arrival& h) { return warps_[h.warp].waited; });
  for (const Arrival& h : at) {
    warps_[h.warp].waited = waited;
    for (const uint32_t r : check_.launch().program->code[h.instruction].results)
      if (r != kNone) warps_[h.warp].undefined.define(r, h.lanes);
  }
  for (const Arrival& h : at) std::ranges::fill(warps_[h.warp].lanes_passed, std::pair<uint32_t, uint32_t>{});
  View all;
  BlockClocks done{std::vector<Clock>(clocks()), {}};
  if (const auto early = arrived_.find(id); early != arrived_.end()) {
    all = std::move(early->second);
    arrived_.erase(early);
  }
  for (const Arrival& h : at) warps_[h.warp].view.give(h.lanes, h.alive, all, done);
  all.known.join(block_, std::move(done));
  for (const Arrival& h : at) warps_[h.warp].view.take(h.lanes, h.alive, all);
}

// The missing order between two accesses, in a sentence: the one before by `lane` of its warp, and this one.
const char* BlockCheck::missing(const AccessRecord& r, uint32_t lane, const Access& a, const Target& t) const {
  const WarpView& view = warps_[t.warp].view;
  const AccessRule &then = check_.rule(r.instruction), &now = check_.rule(a.instruction);
  const bool other_block = r.block != block_;
  if (check_.launch().cluster_blocks() > 1 && other_block && t.space == AddressSpace::shared)
    return "a barrier of the cluster (cluster.sync()) has to come between them";
  if (other_block && is_strong(then) && is_strong(now) && (then.scope == Scope::block || now.scope == Scope::block))
    return "an access of block scope (_block, thread_scope_block, .cta) is atomic within its block only: other blocks "
           "need device scope";
  if (view.knows(t.lane, r.block, static_cast<uint32_t>(r.warp), lane, r.clock, true))
    return "the other thread has released it, but this one has no __threadfence() after the atomic that says so";
  if (other_block)
    return check_.block_scopes()
               ? "blocks run in any order: a __threadfence() and then an atomic by the one, the atomic and then a "
                 "__threadfence() by the other, all of device scope: this kernel has fences or atomics of block scope"
               : "blocks run in any order: a __threadfence() and then an atomic by the one, the atomic and then a "
                 "__threadfence() by the other, or a launch of its own";
  if (r.warp != t.warp) return "__syncthreads() has to come between them";
  if (r.instruction == a.instruction && now.kind == Kind::store && r.clock == view.now)
    return "lanes of one warp store different values: any of them may stay";
  return "lanes of one warp need not run in step: __syncwarp() has to come between them";
}

}  // namespace coalesce::machine
