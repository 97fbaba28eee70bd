#include "machine/check/races.h"

#include <algorithm>
#include <memory>

namespace coalesce::machine {

bool Races::ordered(const Accessed& before, const Target& t, bool strong, uint32_t* lane) const {
  const AccessRecord& r = check_.records[before.id];
  const WarpView& view = s_.warps[t.warp].view;
  *lane = lowest(before.lanes);
  if (view.all_know(r.block, static_cast<uint32_t>(r.warp), r.clock)) return true;
  const bool mine = r.block == s_.block && r.warp == t.warp;
  for (uint32_t m = mine ? before.lanes & ~(1u << t.lane) : before.lanes; m; m &= m - 1) {
    *lane = lowest(m);
    if (!view.knows(t.lane, r.block, static_cast<uint32_t>(r.warp), *lane, r.clock, strong)) return false;
  }
  return true;
}

void Races::report(const Accessed& before, uint32_t lane, const Access& a, const Target& t) {
  const AccessRecord& r = check_.records[before.id];
  const bool by_agent = s_.agent_of(r).has_value();
  Seen s = s_.seen(by_agent                          ? Hazard::early_use
                   : t.space == AddressSpace::shared ? Hazard::race_shared
                                                     : Hazard::race_global,
                   a, t);
  s.before = before.id;
  s.before_lane = lane;
  s.apart = r.block != s_.block ? 2 : r.warp != t.warp ? 1 : 0;
  if (check_.findings.counts_again(s)) return;
  if (!by_agent) s.note = missing(r, lane, a, t);
  check_.findings.add(s);
}

// Whether the last writer of a cell comes before the lane's access because of a polling load that has read what it
// wrote (causality order: what is observed comes before what the observer does next). One that has not waited for it
// may come first another time.
bool Races::observed(const Past& past, const Target& t) const {
  if (!past.observers) return false;
  for (const Accessed& o : *past.observers) {
    if (o.id < t.first) continue;
    const AccessRecord& r = check_.records[o.id];
    const auto warp = static_cast<uint32_t>(r.warp);
    if (r.block == s_.block && warp == t.warp && (o.lanes >> t.lane & 1)) return true;
    for (uint32_t m = o.lanes; m; m &= m - 1)
      if (s_.warps[t.warp].view.knows(t.lane, r.block, warp, lowest(m), r.clock, false)) return true;
  }
  return false;
}

// Before a strong write: what is remembered beside it. An atomic that `reads` has observed the writers before it.
void Races::keep_past(const Cell& cell, uint64_t at, bool reads, const Target& t) {
  if (cell.writer.id < t.first) {
    t.cells->past().erase(at);
    return;
  }
  const auto known = t.cells->past().find(at);
  Past next;
  uint32_t lane = 0;
  if (!is_strong(check_.rule(check_.records[cell.writer.id].instruction))) {
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

void Races::access(Cell& cell, uint64_t at, const Access& a, const Target& t, bool same_value) {
  const AccessRule& rule = t.rule ? *t.rule : check_.rule(a.instruction);
  const bool strong = is_strong(rule), writes = rule.kind != Kind::load;
  // Whether what the thread has read counts without a fence behind it. A store needs the fence, unless the thread has
  // read that very word since; so does an atomic behind a weak access.
  const auto sees = [&](const Accessed& before) {
    if (!strong || !writes ||
        (rule.kind == Kind::atomic && is_strong(check_.rule(check_.records[before.id].instruction))))
      return strong;
    return std::ranges::any_of(cell.readers, [&](const Accessed& r) {
      return r.id >= t.first && check_.records[r.id].block == s_.block && check_.records[r.id].warp == t.warp &&
             (r.lanes >> t.lane & 1);
    });
  };
  uint32_t lane = 0;
  const auto conflicts = [&](const Accessed& before) {
    if (before.id < t.first || (t.rule && before.id == t.id)) return false;
    const AccessRecord& r = check_.records[before.id];
    if (strong && meant_to_meet(check_.rule(r.instruction), rule, r.block == s_.block)) return false;
    return !ordered(before, t, sees(before), &lane);
  };
  const bool after_strong =
      cell.writer.id >= t.first && is_strong(check_.rule(check_.records[cell.writer.id].instruction));
  const auto past = after_strong ? t.cells->past().find(at) : t.cells->past().end();
  const bool has_past = past != t.cells->past().end();
  if (cell.writer.id >= t.first && check_.records[cell.writer.id].under_way &&
      check_.records[cell.writer.id].block == s_.block && cell.writer.id != t.id) {
    Seen s = s_.seen(Hazard::early_use, a, t);
    s.before = cell.writer.id;
    s.before_lane = lowest(cell.writer.lanes);
    check_.findings.add(s);
  } else if (!(rule.kind == Kind::store && same_value)) {
    if (conflicts(cell.writer) && !(has_past && observed(past->second, t))) {
      report(cell.writer, lane, a, t);
    } else if (has_past) {
      for (const Accessed* w : {&past->second.weak, &past->second.others[0], &past->second.others[1]})
        if (conflicts(*w)) {
          report(*w, lane, a, t);
          break;
        }
    } else if (stale(a, cell, t)) {
      Seen s = s_.seen(Hazard::race_global, a, t);
      s.before = cell.writer.id;
      s.before_lane = lowest(cell.writer.lanes);
      s.as_constant = true;
      check_.findings.add(s);
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
      if (r.id >= t.first && (r.id == t.id || check_.records[r.id].is(s_.block, t.warp, s_.warps[t.warp].view.now))) {
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
    if (conflicts(r)) report(r, lane, a, t);
    r = {};
  }
  if (strong)
    keep_past(cell, at, a.op->returns, t);
  else if (has_past)
    t.cells->past().erase(past);
  cell.writer = {t.id, cell.writer.id == t.id ? cell.writer.lanes | me : me};
}

void Races::add_reader(Cell& cell, const Accessed& reader, const Target& t, bool line) const {
  for (Accessed& r : cell.readers) {
    if (r.id >= t.first && check_.records[r.id].is(s_.block, t.warp, check_.records[reader.id].clock)) {
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

void Races::check_proxy(Cell& cell, const Access& a, const Target& t) {
  if (cell.writer.id < t.first) return;
  const AccessRecord& r = check_.records[cell.writer.id];
  const AccessRule& then = check_.rule(r.instruction);
  const uint32_t op = check_.program().code[r.instruction].memory;
  if ((r.block != s_.block && t.space == AddressSpace::shared) || s_.agent_of(r) ||
      (then.kind != Kind::store && then.kind != Kind::atomic))
    return;
  if (op == kNone || check_.program().memory[op].is_copy) return;
  uint32_t lane = 0;
  if (!ordered(cell.writer, t, false, &lane)) return;  // a race anyway
  const uint32_t fenced = s_.fenced_warp(t.space, static_cast<uint32_t>(r.warp));
  for (uint32_t m = cell.writer.lanes; m; m &= m - 1) {
    lane = lowest(m);
    if (s_.warps[t.warp].view.knows(t.lane, r.block, fenced, lane, r.clock, false)) continue;
    Seen s = s_.seen(t.space == AddressSpace::shared ? Hazard::race_shared : Hazard::race_global, a, t);
    s.before = cell.writer.id;
    s.before_lane = lane;
    s.proxy = true;
    s.note =
        "fence.proxy.async has to come between them: by the threads that store, before the barrier, or behind it by "
        "the one that asks for this";
    return check_.findings.add(s);
  }
}

// The missing order between two accesses, in a sentence: the one before by `lane` of its warp, and this one.
const char* Races::missing(const AccessRecord& r, uint32_t lane, const Access& a, const Target& t) const {
  const WarpView& view = s_.warps[t.warp].view;
  const AccessRule &then = check_.rule(r.instruction), &now = check_.rule(a.instruction);
  const bool other_block = r.block != s_.block;
  if (check_.launch().cluster_blocks() > 1 && other_block && t.space == AddressSpace::shared)
    return "a barrier of the cluster (cluster.sync()) has to come between them";
  if (other_block && is_strong(then) && is_strong(now) && (then.scope == Scope::block || now.scope == Scope::block))
    return "an access of block scope (_block, thread_scope_block, .cta) is atomic within its block only: other blocks "
           "need device scope";
  if (view.knows(t.lane, r.block, static_cast<uint32_t>(r.warp), lane, r.clock, true))
    return "the other thread has released it, but this one has no __threadfence() after the atomic that says so";
  if (other_block)
    return check_.kernel.block_scopes
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
