// How a warp goes through a program: its splits, and where they part and meet.
#include <algorithm>

#include "machine/plain/run.h"

namespace coalesce::machine::plain {

namespace {

// Instructions, after which a split that polls lets others run; the same once lanes have been seen to wait for each
// other; and where all blocks are under way, when what one polls for is most often the others' arrival.
constexpr uint32_t kTurn = 4096, kSpinningTurn = 512, kTogetherTurn = 256;
constexpr uint32_t kUnpolledTurns = 256;  // turns that one which does not poll may take: it may read without saying so
constexpr uint32_t kStallsBeforeLettingGo = 8;

}  // namespace

// ---- Meeting

// The running split comes to `at`: it waits there if it is where it meets others.
void Warp::go(uint32_t at) {
  now.at = at;
  now.passed = now.counted = false;
  if (!now.meet || now.meet->frame != now.frame || now.meet->at != at) return;
  running = false;
  arrive(MeetPointer(now.meet), now.lanes);
}

void Warp::arrive(const MeetPointer& meet, uint32_t lanes) {
  meet->arrived |= lanes;
  leave(meet);
}

// One of the splits that were to meet is there, or gone. With the last one those who have come go on together.
void Warp::leave(MeetPointer meet) {
  while (meet && --meet->pending == 0) {
    const uint32_t lanes = meet->arrived & alive;
    Split s{meet->frame, meet->at, lanes, meet->outer};
    if (meet->returns) {
      finish_call(*meet, lanes);
      s.frame = meet->frame->caller;
      s.at = meet->frame->returns_to + 1;
      drop(meet->frame);
    }
    if (lanes == 0) {  // all gone: it is itself a split of its outer one that is gone
      const MeetPointer outer = meet->outer;
      meet = outer;
      continue;
    }
    if (s.meet && s.meet->frame == s.frame && s.meet->at == s.at) {
      s.meet->arrived |= lanes;
      const MeetPointer outer = s.meet;
      meet = outer;
      continue;
    }
    ready.push_back(s);
    return;
  }
}

// The running split's lanes go different ways, those of `ways` in this order, and meet at `meet`.
void Warp::part(const std::vector<std::pair<uint32_t, uint32_t>>& ways, uint32_t meet) {
  MeetPointer where = now.meet;
  const auto n = static_cast<uint32_t>(ways.size());
  const bool already = where && where->frame == now.frame && where->at == meet;
  if (where && (meet == kNowhere || already)) {
    where->pending += n - 1;
  } else if (meet != kNowhere) {
    where = std::make_shared<Meet>();
    where->frame = now.frame;
    where->at = meet;
    where->pending = n;
    where->outer = now.meet;
  }
  const Split whole = now;
  running = false;
  for (auto way = ways.rbegin(); way != ways.rend(); ++way) {
    now = {whole.frame, way->first, way->second, where};
    running = true;
    go(way->first);
    if (running) ready.push_back(now);
    running = false;
  }
}

void Warp::resume(const Split& s) {
  now = s;
  running = true;
  go(s.at + 1);
  if (running) ready.push_back(now);
  running = false;
}

void Warp::end_lanes(uint32_t lanes) {
  alive &= ~lanes;
  now.lanes &= ~lanes;
  if (now.lanes) return;
  running = false;
  leave(MeetPointer(now.meet));
}

void Warp::give_back() {
  MeetPointer call = now.meet;
  while (call && !call->returns) call = call->outer;
  call->arrived |= now.lanes;
  running = false;
  leave(MeetPointer(now.meet));
}

// Lanes that wait where they meet go on without those that may be waiting for them. `stuck`: also for those that wait
// at a bar.warp.sync, as nothing else can run. False: there are none.
bool Warp::let_lanes_go(bool stuck) {
  if (running) ready.push_front(now);
  running = false;
  std::vector<MeetPointer> holding;
  const auto on_the_way = [&](const Split& s) {
    for (MeetPointer m = s.meet; m; m = m->outer)
      if (!m->returns && (m->arrived & alive) && std::find(holding.begin(), holding.end(), m) == holding.end())
        holding.push_back(m);
  };
  for (const Split& s : ready) on_the_way(s);
  if (stuck)
    for (const Split& s : at_sync) on_the_way(s);
  for (const MeetPointer& m : holding) {
    if (m->outer) m->outer->pending += 1;
    ready.push_back({m->frame, m->at, m->arrived & alive, m->outer});
    m->arrived = 0;
    let_go = block->spins = true;
  }
  return !holding.empty();
}

// ---- Branches

void Warp::branch(const Op& op, uint32_t on) {
  const uint32_t taken = on, stays = now.lanes & ~on;
  Counters& c = counters_of(*this, op);
  if (taken && stays && op.target != now.at + 1) c.divergent_branches += 1;
  // Lanes that go to an exit and nothing else leave at once.
  const auto leave_by = [&](uint32_t at, uint32_t who) {
    if (at < now.frame->code->ops.size()) count(now.frame->code->ops[at], who);
    end_lanes(who);
  };
  const uint32_t following = now.at + 1;
  uint32_t left_taken = taken, left_stays = stays;
  if (op.taken_exits && taken) leave_by(op.target, taken), left_taken = 0;
  if (op.next_exits && stays) leave_by(following, stays), left_stays = 0;
  if (!running || !(left_taken | left_stays)) return;
  if (!left_taken || !left_stays || op.target == following) return go(left_taken ? op.target : following);
  part({{following, left_stays}, {op.target, left_taken}}, op.meet);
}

void Warp::table(const Op& op) {
  std::vector<std::pair<uint32_t, uint32_t>> ways;
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (!(now.lanes >> l & 1)) continue;
    const uint64_t which = std::min<uint64_t>(value(*this, op.in[0], l) & 0xffffffff, op.targets.size() - 1);
    const uint32_t to = op.targets[which];
    const auto way = std::find_if(ways.begin(), ways.end(), [&](const auto& known) { return known.first == to; });
    if (way == ways.end())
      ways.emplace_back(to, 1u << l);
    else
      way->second |= 1u << l;
  }
  if (ways.size() == 1) return go(ways[0].first);
  counters_of(*this, op).divergent_branches += 1;
  part(ways, op.meet);
}

// ---- Running

uint32_t Warp::guarded(const Op& op, uint32_t lanes) const {
  if (op.guard < 0) return lanes;
  const auto* cells = reinterpret_cast<const uint64_t*>(base[kWarp] + op.guard);
  uint32_t on = 0;
  for (uint32_t l = 0; l < kLanes; ++l) on |= static_cast<uint32_t>(cells[l] & 1) << l;
  return (op.guard_negated ? ~on : on) & lanes;
}

// A warp instruction, with the lanes that are switched on. Flow of control is executed by all that are there.
void Warp::count(const Op& op, uint32_t lanes) const {
  Counters& c = counters_of(*this, op);
  c.instructions += 1;
  c.thread_instructions += lanes_in(op.flow == Flow::straight ? guarded(op, lanes) : lanes);
  if (op.flow == Flow::branch || op.flow == Flow::table) c.branches += 1;
  if (op.flow == Flow::barrier) c.barriers += 1;
  if (op.run == run_shuffle) c.shuffles += 1;
  if (op.run == run_vote || op.run == run_match || op.run == run_active_mask) c.votes += 1;
  block->executed += 1;
  grid->executed += 1;
}

bool Warp::next() {
  if (ready.empty())
    for (std::size_t k = 0; k < at_sync.size(); ++k) {
      // Those it waited for may have ended.
      uint32_t here = at_sync[k].lanes;
      for (const Split& s : at_sync)
        if (same_sync(at_sync[k], s)) here |= s.lanes;
      if (named(at_sync[k]) & alive & ~here) continue;
      ready.push_back(at_sync[k]);
      at_sync.erase(at_sync.begin() + static_cast<std::ptrdiff_t>(k));
      break;
    }
  if (ready.empty()) return false;
  now = ready.back();
  ready.pop_back();
  return running = true;
}

void Warp::step() {
  const Code& code = *now.frame->code;
  base[kWarp] = reinterpret_cast<std::byte*>(now.frame->cells.data());
  base[kLaunch] = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(code.constants.data()));  // NOLINT
  if (now.at == code.ops.size()) return code.is_kernel ? end_lanes(now.lanes) : give_back();
  const Op& op = code.ops[now.at];
  if (op.reads_clock) fill_clock(*this);
  polled = polled || op.polls;
  if (op.names_lanes && !now.passed && !meets_others(op)) return;
  if (!now.counted) count(op, now.lanes);
  const uint32_t on = guarded(op, now.lanes);
  switch (op.flow) {
    case Flow::straight:
      if (on) op.run(*this, *now.frame, op, on);
      if (on && grid->observer && grid->observer->written) tell_written(op, on);
      return go(now.at + 1);
    case Flow::branch:
      return branch(op, on);
    case Flow::table:
      return table(op);
    case Flow::exit:
    case Flow::leave: {
      if (op.flow == Flow::exit || code.is_kernel) {
        end_lanes(on);
        if (running) go(now.at + 1);
        return;
      }
      const auto end = static_cast<uint32_t>(code.ops.size());
      if (on == now.lanes) return give_back();
      return on ? part({{now.at + 1, now.lanes & ~on}, {end, on}}, op.meet) : go(now.at + 1);
    }
    case Flow::barrier:
      if (op.mode == 1) {
        block->arrived[value(*this, op.in[0], first_lane(now.lanes)) & 15] += kLanes;
        return go(now.at + 1);
      }
      if (!let_go) block->warn_if_apart(*this, now);
      at_barrier.push_back(now);
      running = false;
      return;
    case Flow::call:
      return call(op);
    case Flow::cluster_wait:
      if (on && !passed_cluster_barrier(*this, on)) {
        polled = now.counted = true;
        return;
      }
      return go(now.at + 1);
  }
}

void Warp::tell_written(const Op& op, uint32_t on) const {
  for (const Dest& d : op.out) {
    if (d.at < 0) continue;
    Written t;
    t.block = block->coordinates;
    t.warp = index;
    t.lanes = on;
    t.function = now.frame->code->function;
    t.instruction = op.written;
    t.reg = d.reg;
    for (uint32_t l = 0; l < kLanes; ++l)
      t.values[l] = now.frame->cells[static_cast<uint32_t>(d.at) / 8 + (d.bytes == 16 ? 2 * l : l)];
    grid->observer->written(t);
  }
}

bool Warp::interrupted() const {
  const std::atomic<bool>* i = grid->launch->interrupted;
  return i && i->load(std::memory_order_relaxed);
}

Warp::End Warp::run() {
  polled = false;
  const uint32_t turn = grid->launch->cooperative || volume(grid->launch->cluster) > 1 ? kTogetherTurn
                        : block->spins                                                 ? kSpinningTurn
                                                                                       : kTurn;
  for (uint32_t left = turn;;) {
    if (!alive) return End::exited;
    if (!running && !next()) return End::waits;
    step();
    if (--left) continue;
    if (!polled && ++unpolled_turns < kUnpolledTurns) {
      if (grid->executed > grid->launch->max_instructions || interrupted()) return End::turn;
      left = turn;
      continue;
    }
    unpolled_turns = 0;
    grid->spins += 1;
    if (running && !ready.empty()) ready.push_front(now), running = false;
    // Each of its splits has had that many turns, and lanes wait where they meet: perhaps for one of those.
    if (++stalled >= kStallsBeforeLettingGo * (ready.size() + running)) {
      stalled = 0;
      let_lanes_go();
    }
    return End::turn;
  }
}

}  // namespace coalesce::machine::plain
