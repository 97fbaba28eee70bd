#include "machine/check/async_copies.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "machine/execute/block.h"
#include "machine/isa/row.h"

namespace coalesce::machine {

namespace {

constexpr uint64_t kPiece = 16;          // bytes that are looked at together
constexpr std::size_t kManyGroups = 64;  // of bulk copies, kept one by one
constexpr uint64_t kObject = sizeof(uint64_t);

uint64_t lane_value(const Value& v, uint32_t lane, const Warp& w) {
  if (!v.is_reg()) return v.bits;
  const Code& code = w.owner->code();
  const Slot at = code.homes[v.reg].vector;
  return bytes_of(code.program->registers[v.reg].element) == 8 ? w.at<uint64_t>(at)[lane] : w.at<uint32_t>(at)[lane];
}

uint32_t lane_of_object(uint64_t object) { return static_cast<uint32_t>(object / kObject) % kLanes; }

// The most bytes from `at` on that one access may have, at most `left`.
uint32_t piece(uint64_t at, uint64_t left) {
  uint64_t bytes = kPiece;
  while (at % bytes != 0 || bytes > left) bytes /= 2;
  return static_cast<uint32_t>(bytes);
}

// The groups that a wait leaves under way.
uint32_t left_of(const Instruction& i) { return i.sources.empty() ? 0 : static_cast<uint32_t>(i.sources[0].bits); }

// The memory that each proxy fence is for.
constexpr std::pair<Nothing, AddressSpace> kFenced[] = {{Nothing::proxy_fence, AddressSpace::shared},
                                                        {Nothing::proxy_fence, AddressSpace::global},
                                                        {Nothing::proxy_fence_shared, AddressSpace::shared},
                                                        {Nothing::proxy_fence_global, AddressSpace::global}};
}  // namespace

void AsyncCopies::begin() {
  for (WarpCopies& s : warps_) {
    s.copies.clear();
    s.bulk.clear();
    s.group.fill(0);
    s.bulk_group.fill(0);
  }
}

bool AsyncCopies::any() const {
  return std::ranges::any_of(warps_, [](const WarpCopies& s) { return !s.copies.empty(); });
}

// Knowledge of what the agent's lane has done before that clock.
View AsyncCopies::done_before(Agent who, uint32_t lane, Clock clock) const {
  BlockClocks done{std::vector<Clock>(s_.clocks()), {}};
  LaneClocks of{};
  of[lane % kLanes] = clock;
  done.raise(static_cast<uint32_t>(s_.warps.size()) + static_cast<uint32_t>(who), of);
  View all;
  all.known.join(s_.block, std::move(done));
  return all;
}

// One side of a part of a copy, piece by piece: earlier accesses must be ordered before it, as before one of the
// thread.
void AsyncCopies::access(const BulkPart& part, bool writes, uint32_t instruction, uint32_t lane, Warp& w) {
  static constexpr AccessRule kRead{Kind::load}, kWrite{Kind::store};
  const bool grouped = part.object == 0, races = check_.records.room();
  const Agent who = grouped  ? writes ? Agent::group_write : Agent::group_read
                    : writes ? Agent::object_write
                             : Agent::object_read;
  MemoryOp op;
  Access a;
  a.op = &op;
  a.instruction = instruction;
  a.window = s_.windows();
  const uint64_t begin = writes ? part.to : part.from;
  for (uint64_t at = 0; at < part.bytes; at += a.bytes) {
    a.bytes = static_cast<uint8_t>(piece(begin + at, part.bytes - at));
    Target t;
    t.warp = w.index;
    t.lane = lane;
    t.as = (grouped ? w.index : lane_of_object(part.object)) % kLanes;
    t.rule = writes ? &kWrite : &kRead;
    if (!locator_.find(a, w, begin + at, a.bytes, t)) continue;
    t.id = races ? s_.agent_id(who, t.as, instruction, w.index * kLanes + lane) : 0;
    if (t.space == AddressSpace::global && t.allocation->origin != Origin::heap)
      check_.footprint(s_.warps[w.index].waited)
          .add(instruction, t.address, a.bytes,
               part.reduces ? "atomic"
               : writes     ? "write"
                            : "read");
    if (t.home && t.home != &s_) t.home->note_visit(a, t, s_);
    if (!writes && t.written && !t.written->any(t.at, a.bytes))
      check_.findings.add(s_.seen(Hazard::uninitialised, a, t));
    if (writes && t.written) t.written->set(t.at, a.bytes);
    if (races && t.cells)
      t.cells->visit(t.at, a.bytes, t.epoch, check_.records.made, [&](Cell& cell, uint64_t place) {
        if (!writes || part.reduces) races_.check_proxy(cell, a, t);
        races_.access(cell, place, a, t, false);
      });
  }
}

void AsyncCopies::moves(const BulkPart& part, uint32_t instruction, uint32_t lane, Warp& w) {
  if (part.from != 0) access(part, false, instruction, lane, w);
  if (part.to != 0) access(part, true, instruction, lane, w);
  if (part.object != 0) return;
  std::vector<BulkGroup>& groups = warps_[w.index].bulk;
  const BulkGroup now{lane, warps_[w.index].bulk_group[lane], s_.agent(Agent::group_read, w.index).clock,
                      s_.agent(Agent::group_write, w.index).clock};
  if (groups.empty() || groups.back().lane != lane || groups.back().group != now.group) groups.push_back(now);
}

void AsyncCopies::completes(uint64_t object, Warp& w) {
  check_.count_change();
  MemoryOp op;
  Access a;
  a.op = &op;
  a.window = s_.windows();
  a.bytes = kObject;
  Target t;
  t.warp = w.index;
  if (!locator_.find(a, w, object, kObject, t) || !t.home) return;
  const uint32_t lane = lane_of_object(object);
  uint64_t bits;
  std::memcpy(&bits, t.host, sizeof bits);
  t.home->places.look_at_object(t.address, bits);
  for (const Agent who : {Agent::object_read, Agent::object_write}) {
    const View done = done_before(who, lane, ++s_.agent(who, lane).clock);
    t.home->places.arrive(t.address, s_.block, done.known, done.known);
  }
}

// cp.async.mbarrier.arrive: what the lanes have copied is written when the object's phase ends, for them as for others.
void AsyncCopies::copies_arrive(const Instruction& i, Warp& w) {
  WarpCopies& s = warps_[w.index];
  std::set<uint64_t> objects;
  for (uint32_t m = w.active; m; m &= m - 1) {
    const uint32_t lane = lowest(m);
    const uint64_t object = (lane_value(i.sources[0], lane, w) + i.sources[1].bits) & (kWindowSize - 1);
    const uint32_t as = lane_of_object(object);
    for (Copy& c : s.copies) {
      if (c.lane != lane || c.bytes == 0) continue;
      const AccessId id =
          s_.agent_id(Agent::object_write, as, check_.records[c.id].instruction, w.index * kLanes + lane);
      s_.cells.visit(c.at, c.bytes, s_.epoch, check_.records.made, [&](Cell& cell, uint64_t) {
        if (cell.writer.id == c.id) cell.writer = {id, 1u << as};
      });
      c = {lane, c.group, as, 0, id};
    }
    objects.insert(kSharedWindow + object);
  }
  const auto same = [](const Copy& a, const Copy& b) {
    return a.bytes == 0 && b.bytes == 0 && a.lane == b.lane && a.group == b.group && a.at == b.at;
  };
  s.copies.erase(std::unique(s.copies.begin(), s.copies.end(), same), s.copies.end());
  for (const uint64_t object : objects) completes(object, w);
}

// cp.async.bulk.wait_group: lanes wait for all but the last of their groups; `reads_only`: until those have read.
void AsyncCopies::wait_bulk(const Instruction& i, const Warp& w, bool reads_only) {
  WarpCopies& s = warps_[w.index];
  WarpView& view = s_.warps[w.index].view;
  const uint64_t left = i.sources.empty() ? 0 : i.sources[0].bits;
  for (uint32_t m = w.active; m; m &= m - 1) {
    const uint32_t lane = lowest(m);
    Clock reads = 0, writes = 0;
    const auto done = [&](const BulkGroup& g) { return g.lane == lane && g.group + left < s.bulk_group[lane]; };
    for (const BulkGroup& g : s.bulk) {
      if (!done(g)) continue;
      reads = std::max(reads, g.reads);
      writes = std::max(writes, g.writes);
    }
    if (reads == 0) continue;
    view.learn(1u << lane, w.alive, done_before(Agent::group_read, w.index, reads + 1));
    if (!reads_only) view.learn(1u << lane, w.alive, done_before(Agent::group_write, w.index, writes + 1));
    if (!reads_only || s.bulk.size() > kManyGroups) std::erase_if(s.bulk, done);
  }
}

void AsyncCopies::event(const Instruction& i, Warp& w) {
  WarpCopies& s = warps_[w.index];
  WarpView& view = s_.warps[w.index].view;
  switch (static_cast<Nothing>(i.mode)) {
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
      ++s_.agent(Agent::group_read, w.index).clock;
      ++s_.agent(Agent::group_write, w.index).clock;
      return;
    case Nothing::bulk_wait:
    case Nothing::bulk_wait_read:
      return wait_bulk(i, w, static_cast<Nothing>(i.mode) == Nothing::bulk_wait_read);
    case Nothing::proxy_fence:
    case Nothing::proxy_fence_shared:
    case Nothing::proxy_fence_global:
      if (check_.kernel.agents == 0) return;
      for (const auto& [fence, space] : kFenced)
        if (fence == static_cast<Nothing>(i.mode))
          view.fence_proxy(w.active, w.alive, static_cast<uint32_t>(s_.warps.size()), s_.fenced_warp(space, 0));
      return;
    case Nothing::products_commit:
      ++s_.agent(Agent::product, w.index).clock;
      return;
    case Nothing::products_wait: {
      const Clock now = s_.agent(Agent::product, w.index).clock, left = left_of(i);
      if (now > left) view.learn(w.active, w.alive, done_before(Agent::product, w.index, now - left));
      return;
    }
    default:
      return;
  }
}

// The lanes wait for all but the last `left` of their groups: what those copied is written now.
void AsyncCopies::finish_copies(Warp& w, uint32_t left) {
  WarpCopies& s = warps_[w.index];
  WarpView& view = s_.warps[w.index].view;
  std::map<AccessId, AccessId> done;
  std::erase_if(s.copies, [&](const Copy& c) {
    if (!(w.active >> c.lane & 1) || c.group + left >= s.group[c.lane]) return false;
    if (c.bytes == 0) {  // an object has heard of it
      view.learn(1u << c.lane, w.alive, done_before(Agent::object_write, c.at, check_.records[c.id].clock + 1));
      return true;
    }
    auto [now, fresh] = done.try_emplace(c.id, 0);
    if (fresh)
      now->second = check_.records.add({s_.block, w.index, false, 0, view.now, check_.records[c.id].instruction});
    s_.cells.visit(c.at, c.bytes, s_.epoch, check_.records.made, [&, id = now->second](Cell& cell, uint64_t) {
      if (cell.writer.id == c.id) cell.writer.id = id;
    });
    return true;
  });
}

}  // namespace coalesce::machine
