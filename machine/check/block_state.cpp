#include "machine/check/block_state.h"

#include <algorithm>

#include "machine/execute/block.h"

namespace coalesce::machine {

BlockState::BlockState(LaunchCheck& launch)
    : check(launch),
      warps(launch.launch().warps_per_block),
      cells(launch.launch().shared_bytes),
      shared_written(launch.launch().shared_bytes),
      local_written(uint64_t{launch.program().local_bytes + 15} / 16 * 16 * kLanes * warps.size()) {
  for (WarpState& s : warps) s.ids.resize(windows());
}

void BlockState::begin(uint64_t of_block) {
  block = of_block;
  running = true;
  visits.clear();
  first = check.records.next();
  ++epoch;
  shared_written.clear();
  local_written.clear();
  shared_carried.clear();
  local_carried.clear();
  places.clear();
  changers.clear();
  for (uint32_t w = 0; w < warps.size(); ++w) {
    warps[w].view.begin(block, static_cast<uint32_t>(clocks()), w);
    ++warps[w].view.now;  // ids of the block before are not this one's
    warps[w].waited = false;
  }
}

AccessId BlockState::id_of(const Access& a, uint32_t warp) {
  if (a.op->silent) return agent_id(Agent::product, warp, a.instruction, warp * kLanes);
  WarpState& s = warps[warp];
  Ids& ids = s.ids[a.window];
  if (ids.clock != s.view.now)
    ids = {s.view.now, check.records.add({block, warp, copies_to(*a.op), 0, s.view.now, a.instruction})};
  return ids.id;
}

AccessId BlockState::agent_id(Agent who, uint32_t lane, uint32_t instruction, uint32_t asked_by) {
  AgentLane& a = agent(who, lane);
  if (a.id_clock != a.clock || a.instruction != instruction || a.asked_by != asked_by || a.id < first) {
    const auto warp = static_cast<uint32_t>(warps.size()) + static_cast<uint32_t>(who);
    a.id = check.records.add({block, warp, false, asked_by, a.clock, instruction});
    a.id_clock = a.clock;
    a.instruction = instruction;
    a.asked_by = asked_by;
  }
  return a.id;
}

Seen BlockState::seen(Hazard hazard, uint32_t instruction, uint32_t warp, uint32_t lane) const {
  Seen s{hazard, instruction};
  s.warp = warp;
  s.lane = lane;
  s.block = block;
  return s;
}

Seen BlockState::seen(Hazard hazard, const Access& a, const Target& t) const {
  Seen s = seen(hazard, a.instruction, t.warp, t.lane);
  s.bytes = a.bytes;
  s.space = t.space;
  s.address = t.address;
  if (t.home && t.home != this) s.of_block = t.home->block;
  return s;
}

void BlockState::note_visit(const Access& a, const Target& t, const BlockState& by) {
  Visit& v = visits[{a.instruction, by.block, t.warp * kLanes + t.lane}];
  v.clock = by.warps[t.warp].view.now;
  v.seen = by.seen(Hazard::race_shared, a, t);
}

void BlockState::check_visits() const {
  for (const auto& [who, visit] : visits) {
    const uint64_t visitor = std::get<1>(who);
    const uint32_t thread = std::get<2>(who);
    const bool known = std::ranges::any_of(warps, [&](const WarpState& s) {
      for (uint32_t lane = 0; lane < kLanes; ++lane)
        if (s.view.knows(lane, visitor, thread / kLanes, thread % kLanes, visit.clock, false)) return true;
      return false;
    });
    if (known) continue;
    Seen s = visit.seen;
    s.block = visitor;
    s.note =
        "a barrier of the cluster (cluster.sync()) has to come between this and the end of the block whose memory it "
        "is";
    s.ended = true;
    check.findings.add(s);
  }
}

bool Locator::find(const Access& a, const Warp& w, uint64_t address, uint64_t bytes, Target& t) {
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
      t.home = &s_;
      t.host = w.shared + address;
      if (address > kClusterOffset) {
        const uint32_t own = w.owner->seat().rank();
        t.home = s_.check.running(s_.block - own + rank_of(own, static_cast<uint32_t>(address)));
        t.host = w.owner->seat().peer(static_cast<uint32_t>(address), bytes);
        if (!t.home || !t.host) return false;
        t.address = t.at = address & kClusterOffset;
      } else if (address + bytes > w.shared_bytes) {
        return false;
      }
      t.written = &t.home->shared_written;
      t.cells = &t.home->cells;
      t.first = t.home->first;
      t.epoch = t.home->epoch;
      return true;
    case AddressSpace::local:
      if (address > w.local_bytes || address + bytes > w.local_bytes) return false;
      t.at += (uint64_t{w.index} * kLanes + t.lane) * w.local_bytes;
      t.written = &s_.local_written;
      t.cells = nullptr;
      return true;
    case AddressSpace::global: {
      Window& window = windows_[a.window];
      if (!window.known || address - window.known->base >= window.known->size) {
        window.known = s_.check.launch().memory->find(address);
        window.only_read = s_.check.addresses.only_read(window.known);
      }
      t.allocation = window.known;
      if (!t.allocation || address + bytes > t.allocation->base + t.allocation->size) return false;
      Shadow& shadow = shadow_of(*t.allocation);
      t.at = address - t.allocation->base;
      t.written = shadow.all_written ? nullptr : &shadow.written;
      t.cells = window.only_read ? nullptr : &shadow.cells;
      t.host = reinterpret_cast<std::byte*>(address);
      t.first = t.epoch = s_.check.records.first();
      return true;
    }
    default:
      return false;
  }
}

bool Locator::within(const Access& a, const Target& t, uint64_t bytes) const {
  const AddressFacts::Bounds& b = s_.check.addresses.bounds(a.window);
  if (b.any || b.space != t.space || (t.address >= b.base && t.address + bytes <= b.end)) return true;
  // An access outside every allocation ends the launch, which says so.
  return t.space == AddressSpace::global && !s_.check.launch().memory->find(t.address);
}

void Locator::touch(const Access& a, const Target& t, uint32_t bytes) {
  if (t.space != AddressSpace::global) return;
  const Allocation& of = *t.allocation;
  // The host may change it while the kernel runs.
  if (of.origin == Origin::host || of.origin == Origin::managed) s_.check.count_change();
  if (of.origin == Origin::heap) return;
  s_.check.footprint(s_.warps[t.warp].waited).add(a.instruction, t.address, bytes, of.base, of.size);
}

}  // namespace coalesce::machine
