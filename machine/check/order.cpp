#include "machine/check/order.h"

#include <algorithm>
#include <cstring>

namespace coalesce::machine {

// Whether the lane's compare-and-swap writes: not if the word differs, or an earlier lane has just changed it.
bool Synchronisation::swaps(const Access& a, const Warp& w, const Target& t) {
  if (a.op->op != AtomicOp::cas) return true;
  const std::byte* compared =
      w.at<std::byte>(a.values[0]) + std::size_t{t.lane} * std::max<std::size_t>(2, a.op->width);
  if (std::memcmp(t.host, compared, a.op->width) != 0) return false;
  if (std::ranges::find(changed_, t.address) != changed_.end()) return false;
  changed_.push_back(t.address);
  return true;
}

void Synchronisation::hand_over(const Access& a, const Warp& w, const Target& t) {
  const AccessRule& rule = check_.rule(a.instruction);
  if (t.space == AddressSpace::local) return;
  Handovers& places = t.space == AddressSpace::shared ? t.home->places : check_.places;
  if (!is_strong(rule)) {
    if (rule.kind == Kind::atomic) places.begin_object(t.address);
    if (rule.kind == Kind::store && !places.empty()) places.end(t.address);
    return;
  }
  WarpView& view = s_.warps[t.warp].view;
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
      view.read(t.lane, left->of_block == s_.block ? left->block : Knowledge{}, far ? left->device : Knowledge{},
                acquires, left->chain);
  if (rule.kind == Kind::load || (rule.kind == Kind::atomic && !swaps(a, w, t))) return;
  if (object && a.op->returns) return;  // a wait
  const Knowledge near = releases ? view.release(t.lane) : view.fenced(t.lane, false);
  const Knowledge all = !far ? Knowledge{} : releases ? near : view.fenced(t.lane, true);
  if (!object) return places.leave(t.address, s_.block, near, all, rule.kind == Kind::atomic);
  places.arrive(t.address, s_.block, near, all);
  uint64_t change;
  std::memcpy(&change, w.at<std::byte>(a.values[0]) + std::size_t{t.lane} * sizeof change, sizeof change);
  places.change_object(t.address, change);
}

void Synchronisation::arrive(uint32_t warp, uint32_t id) {
  BlockClocks done{std::vector<Clock>(s_.clocks()), {}};
  View& left = arrived_[id];
  s_.warps[warp].view.give(~0u, ~0u, left, done);
  left.known.join(s_.block, std::move(done));
}

void Synchronisation::barrier(const std::vector<Arrival>& at, uint32_t id) {
  View all;
  BlockClocks done{std::vector<Clock>(s_.clocks()), {}};
  if (const auto early = arrived_.find(id); early != arrived_.end()) {
    all = std::move(early->second);
    arrived_.erase(early);
  }
  for (const Arrival& h : at) s_.warps[h.warp].view.give(h.lanes, h.alive, all, done);
  all.known.join(s_.block, std::move(done));
  for (const Arrival& h : at) s_.warps[h.warp].view.take(h.lanes, h.alive, all);
}

void Synchronisation::meets(uint32_t lanes, uint64_t phase, Meets how, const Warp& w) {
  View& told = check_.meeting(s_.block, phase);
  WarpView& view = s_.warps[w.index].view;
  if (how == Meets::relaxed) return;
  if (how == Meets::passes) return view.learn(lanes, w.alive, told);
  BlockClocks done{std::vector<Clock>(s_.clocks()), {}};
  view.give(lanes, w.alive, told, done);
  told.known.join(s_.block, std::move(done));
}

}  // namespace coalesce::machine
