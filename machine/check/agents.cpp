// Accesses beside the threads of a block, and between blocks of a cluster. Bulk copies and products of warp groups are
// done when they are issued, but a program may not rely on it: they are accesses of agents, which are ordered
// before nothing but a wait for them. (Not checked: registers of a product.)
#include <algorithm>
#include <cstring>
#include <set>

#include "machine/check/check.h"
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

}  // namespace

// The accesses that the agent's lane does for a thread by an instruction, between two waits for it.
AccessId BlockCheck::agent_id(Agent who, uint32_t lane, uint32_t instruction, uint32_t asked_by) {
  AgentLane& a = agent(who, lane);
  if (a.id_clock != a.clock || a.instruction != instruction || a.asked_by != asked_by || a.id < first_) {
    const auto warp = static_cast<uint32_t>(warps_.size()) + static_cast<uint32_t>(who);
    a.id = check_.add({block_, warp, false, asked_by, a.clock, instruction});
    a.id_clock = a.clock;
    a.instruction = instruction;
    a.asked_by = asked_by;
  }
  return a.id;
}

// Knowledge of what the agent's lane has done before that clock.
View BlockCheck::done_before(Agent who, uint32_t lane, Clock clock) const {
  BlockClocks done{std::vector<Clock>(clocks()), {}};
  LaneClocks of{};
  of[lane % kLanes] = clock;
  done.raise(static_cast<uint32_t>(warps_.size()) + static_cast<uint32_t>(who), of);
  View all;
  all.known.join(block_, std::move(done));
  return all;
}

// One side of a part of a copy, piece by piece: earlier accesses must be ordered before it, as before one of the
// thread.
void BlockCheck::agent_access(const BulkPart& part, bool writes, uint32_t instruction, uint32_t lane, Warp& w) {
  static constexpr AccessRule kRead{Kind::load}, kWrite{Kind::store};
  const bool grouped = part.object == 0, races = check_.room();
  const Agent who = grouped  ? writes ? Agent::group_write : Agent::group_read
                    : writes ? Agent::object_write
                             : Agent::object_read;
  MemoryOp op;
  Access a;
  a.op = &op;
  a.instruction = instruction;
  a.window = static_cast<uint32_t>(windows_.size()) - 1;
  const uint64_t begin = writes ? part.to : part.from;
  for (uint64_t at = 0; at < part.bytes; at += a.bytes) {
    a.bytes = static_cast<uint8_t>(piece(begin + at, part.bytes - at));
    Target t;
    t.warp = w.index;
    t.lane = lane;
    t.as = (grouped ? w.index : lane_of_object(part.object)) % kLanes;
    t.rule = writes ? &kWrite : &kRead;
    if (!locate(a, w, begin + at, a.bytes, t)) continue;
    t.id = races ? agent_id(who, t.as, instruction, w.index * kLanes + lane) : 0;
    if (t.space == AddressSpace::global && last_->origin != Origin::heap)
      check_.footprint(warps_[w.index].waited)
          .add(instruction, t.address, a.bytes,
               part.reduces ? "atomic"
               : writes     ? "write"
                            : "read");
    if (t.home && t.home != this) come_back(a, t);
    if (!writes && t.written && !t.written->any(t.at, a.bytes)) check_.found(seen(Hazard::uninitialised, a, t));
    if (writes && t.written) t.written->set(t.at, a.bytes);
    if (races && t.cells)
      t.cells->visit(t.at, a.bytes, t.epoch, check_.made, [&](Cell& cell, uint64_t place) {
        if (!writes || part.reduces) check_proxy(cell, a, t);
        check_cell(cell, place, a, t, false);
      });
  }
}

// The clocks of what a warp has stored before a fence.proxy.async: behind those of warps and agents, by space.
uint32_t BlockCheck::fenced_warp(AddressSpace space, uint32_t warp) const {
  return static_cast<uint32_t>(warps_.size()) * (space == AddressSpace::global ? 2 : 1) + kAgents + warp;
}

// The asynchronous proxy sees what threads have stored if a fence.proxy.async lies between, by whichever thread. Else
// it is a race, though the store does come before.
void BlockCheck::check_proxy(Cell& cell, const Access& a, const Target& t) {
  if (cell.writer.id < t.first) return;
  const AccessRecord& r = check_[cell.writer.id];
  const AccessRule& then = check_.rule(r.instruction);
  const uint32_t op = check_.launch().program->code[r.instruction].memory;
  if ((r.block != block_ && t.space == AddressSpace::shared) || check_.agent(r) ||
      (then.kind != Kind::store && then.kind != Kind::atomic))
    return;
  if (op == kNone || check_.launch().program->memory[op].is_copy) return;
  uint32_t lane = 0;
  if (!ordered(cell.writer, t, false, &lane)) return;  // a race anyway
  const uint32_t fenced = fenced_warp(t.space, static_cast<uint32_t>(r.warp));
  for (uint32_t m = cell.writer.lanes; m; m &= m - 1) {
    lane = lowest(m);
    if (warps_[t.warp].view.knows(t.lane, r.block, fenced, lane, r.clock, false)) continue;
    LaunchCheck::Seen s = seen(t.space == AddressSpace::shared ? Hazard::race_shared : Hazard::race_global, a, t);
    s.before = cell.writer.id;
    s.before_lane = lane;
    s.proxy = true;
    s.note =
        "fence.proxy.async has to come between them: by the threads that store, before the barrier, or behind it by "
        "the one that asks for this";
    return check_.found(s);
  }
}

void BlockCheck::moves(const BulkPart& part, uint32_t instruction, uint32_t lane, Warp& w) {
  check_.tidy();
  check_.count_change();
  if (part.from != 0) agent_access(part, false, instruction, lane, w);
  if (part.to != 0) agent_access(part, true, instruction, lane, w);
  if (part.from != 0 && part.to != 0 && !part.reduces) move_undefined(part, instruction, lane, w);
  if (part.object != 0) return;
  std::vector<BulkGroup>& groups = warps_[w.index].bulk;
  const BulkGroup now{lane, warps_[w.index].bulk_group[lane], agent(Agent::group_read, w.index).clock,
                      agent(Agent::group_write, w.index).clock};
  if (groups.empty() || groups.back().lane != lane || groups.back().group != now.group) groups.push_back(now);
}

// The mbarrier object has received its bytes: a wait for it is ordered behind the copies that brought them.
void BlockCheck::completes(uint64_t object, Warp& w) {
  check_.count_change();
  MemoryOp op;
  Access a;
  a.op = &op;
  a.window = static_cast<uint32_t>(windows_.size()) - 1;
  a.bytes = kObject;
  Target t;
  t.warp = w.index;
  if (!locate(a, w, object, kObject, t) || !t.home) return;
  const uint32_t lane = lane_of_object(object);
  uint64_t bits;
  std::memcpy(&bits, t.host, sizeof bits);
  t.home->places_.look_at_object(t.address, bits);
  for (const Agent who : {Agent::object_read, Agent::object_write}) {
    const View done = done_before(who, lane, ++agent(who, lane).clock);
    t.home->places_.arrive(t.address, block_, done.known, done.known);
  }
}

// cp.async.mbarrier.arrive: what the lanes have copied is written when the object's phase ends, for them as for others.
void BlockCheck::copies_arrive(const Instruction& i, Warp& w) {
  WarpState& s = warps_[w.index];
  std::set<uint64_t> objects;
  for (uint32_t m = w.active; m; m &= m - 1) {
    const uint32_t lane = lowest(m);
    const uint64_t object = (lane_value(i.sources[0], lane, w) + i.sources[1].bits) & (kWindowSize - 1);
    const uint32_t as = lane_of_object(object);
    for (Copy& c : s.copies) {
      if (c.lane != lane || c.bytes == 0) continue;
      const AccessId id = agent_id(Agent::object_write, as, check_[c.id].instruction, w.index * kLanes + lane);
      shared_.visit(c.at, c.bytes, epoch_, check_.made, [&](Cell& cell, uint64_t) {
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
void BlockCheck::wait_bulk(WarpState& s, const Instruction& i, const Warp& w, bool reads_only) {
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
    s.view.learn(1u << lane, w.alive, done_before(Agent::group_read, w.index, reads + 1));
    if (!reads_only) s.view.learn(1u << lane, w.alive, done_before(Agent::group_write, w.index, writes + 1));
    if (!reads_only || s.bulk.size() > kManyGroups) std::erase_if(s.bulk, done);
  }
}

// Lanes come to the barrier of their cluster, or go on behind it.
void BlockCheck::meets(uint32_t lanes, uint64_t phase, Meets how, Warp& w) {
  check_.count_change();
  View& told = check_.meeting(block_, phase);
  WarpView& view = warps_[w.index].view;
  if (how == Meets::relaxed) return;
  if (how == Meets::passes) return view.learn(lanes, w.alive, told);
  BlockClocks done{std::vector<Clock>(clocks()), {}};
  view.give(lanes, w.alive, told, done);
  told.known.join(block_, std::move(done));
}

// An access of another block's shared memory, which has to be there still.
void BlockCheck::come_back(const Access& a, const Target& t) {
  const auto thread = t.warp * kLanes + t.lane;
  Visit& v = t.home->visits_[{a.instruction, block_, thread}];
  v.clock = warps_[t.warp].view.now;
  v.seen = seen(Hazard::race_shared, a, t);
}

void BlockCheck::ends() {
  settle_atomics();
  running_ = false;
  check_.ended(block_);
  for (const auto& [who, visit] : visits_) {
    const uint64_t block = std::get<1>(who);
    const uint32_t thread = std::get<2>(who);
    const bool known = std::ranges::any_of(warps_, [&](const WarpState& s) {
      for (uint32_t lane = 0; lane < kLanes; ++lane)
        if (s.view.knows(lane, block, thread / kLanes, thread % kLanes, visit.clock, false)) return true;
      return false;
    });
    if (known) continue;
    LaunchCheck::Seen s = visit.seen;
    s.block = block;
    s.note =
        "a barrier of the cluster (cluster.sync()) has to come between this and the end of the block whose memory it "
        "is";
    s.ended = true;
    check_.found(s);
  }
  visits_.clear();
}

}  // namespace coalesce::machine
