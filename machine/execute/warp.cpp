// Runs a warp block after block. It splits where lanes diverge and joins where they meet again.
//
// Lanes that diverge at a branch become two splits that meet at the branch's reconvergence point (its immediate
// post-dominator): one runs, the others wait in `ready`. As a rule a split runs until it joins. If it waits
// for a lane of another split, the splits take turns, as on GPUs since Volta.
#include <algorithm>

#include "machine/execute/block.h"
#include "machine/execute/expand.h"

namespace coalesce::machine {

namespace {
constexpr uint32_t kUnpolledSlice = 1u << 22;  // blocks of a loop that polls nothing visible
// Waits for phases after which a warp leaves lockstep mode: some succeed at once. Fewer than libcu++'s loop makes
// before it reads the clock (16).
constexpr uint32_t kWaitsInLockstep = 8;
}  // namespace

inline void BlockRun::count(uint32_t block, uint32_t mask) {
  last_block_ = block;
  worker_.tally.executions[block] += 1;
  worker_.tally.lanes[block] += count_lanes(mask);
  worker_.instructions += launch_.program->blocks[block].instructions;
}

uint32_t BlockRun::new_join(Warp& w, uint32_t block, uint32_t pending, uint32_t parent) {
  if (w.free_join == kNone) {
    w.joins.push_back({block, 0, pending, parent, kNone});
    return static_cast<uint32_t>(w.joins.size() - 1);
  }
  const uint32_t j = w.free_join;
  w.free_join = w.joins[j].parent;
  w.joins[j] = {block, 0, pending, parent, kNone};
  return j;
}

// Lanes that come to `block` join there, unless it is where a call of theirs returns.
bool BlockRun::meets_at(const Warp& w, uint32_t join, uint32_t block) const {
  return join != kNone && w.joins[join].frame == kNone && w.joins[join].block == block;
}

// One of the join's splits is gone (arrived, or all its lanes have exited). When it was the last, the lanes that have
// arrived go on as one split; if there are none, the join itself is a split of its parent that is gone.
void BlockRun::leave(Warp& w, uint32_t join) {
  while (join != kNone) {
    Join& j = w.joins[join];
    if (--j.pending != 0) return;
    const Join ended = j;
    j.parent = w.free_join;
    w.free_join = join;
    const uint32_t mask = ended.arrived & w.alive;
    if (ended.frame != kNone) {
      if (mask)
        restore_frame(w, ended.frame, mask);
      else
        w.frames[ended.frame].used = false;
    }
    if (mask) {
      // A call may return to where the sides of a branch around it meet.
      if (meets_at(w, ended.parent, ended.block)) {
        w.joins[ended.parent].arrived |= mask;
        join = ended.parent;
        continue;
      }
      w.ready.push_back({ended.block, mask, ended.parent, false, false});
      return;
    }
    join = ended.parent;
  }
}

void BlockRun::arrive(Warp& w, uint32_t join, uint32_t mask) {
  w.joins[join].arrived |= mask;
  leave(w, join);
}

// Moves the running split to `block`. False: it joins there and stops running.
bool BlockRun::go(Warp& w, uint32_t block) {
  w.now.block = block;
  w.now.at_end = w.now.passed = false;
  if (!meets_at(w, w.now.join, block)) return true;
  arrive(w, w.now.join, w.now.mask);
  w.running = false;
  return false;
}

// Another split of the warp to run; one that waited at a *.sync when the last lanes it waited for have exited.
bool BlockRun::next_split(Warp& w) {
  w.running = false;
  if (w.ready.empty()) {
    for (std::size_t k = 0; k < w.at_sync.size(); ++k) {
      if (named_lanes(w, w.at_sync[k]) & w.alive & ~present(w, w.at_sync[k])) continue;
      w.ready.push_back(w.at_sync[k]);
      w.at_sync.erase(w.at_sync.begin() + static_cast<std::ptrdiff_t>(k));
      break;
    }
    if (w.ready.empty()) return false;
  }
  w.now = w.ready.back();
  w.ready.pop_back();
  w.running = true;
  return true;
}

// The running split parts: `mask_taken` goes to `taken`, the rest to `other`; they meet at `reconverge`.
void BlockRun::split(Warp& w, uint32_t mask_taken, uint32_t taken, uint32_t other, uint32_t reconverge) {
  const uint32_t rest = w.now.mask & ~mask_taken;
  uint32_t join = w.now.join;
  if (reconverge != kNone && (taken == reconverge || other == reconverge) && !meets_at(w, join, reconverge)) {
    // if without else: one side stands at the meeting point already.
    const bool other_waits = other == reconverge;
    const uint32_t j = new_join(w, reconverge, 1, join);
    w.joins[j].arrived = other_waits ? rest : mask_taken;
    w.now = {other_waits ? taken : other, other_waits ? mask_taken : rest, j, false, false};
    w.running = true;
    return;
  }
  if (join != kNone && (reconverge == kNone || meets_at(w, join, reconverge)))
    w.joins[join].pending += 1;
  else if (reconverge != kNone)
    join = new_join(w, reconverge, 2, join);
  const Split a{other, rest, join, false, false}, b{taken, mask_taken, join, false, false};
  w.running = false;
  // The side that falls through runs first; whoever stands at the meeting point already waits there.
  for (const Split& s : {b, a}) {
    w.now = s;
    if (go(w, s.block)) w.ready.push_back(w.now);
  }
}

// brx.idx: one split for each of several targets. Returns the one target of all lanes; kNone: they have parted.
uint32_t BlockRun::split_table(Warp& w, const BlockCode& code) {
  const uint32_t* index = w.at<uint32_t>(code.predicate);
  const Split whole = w.now;
  std::vector<Split> parts;
  for (uint32_t left = whole.mask; left;) {
    const uint32_t target = (*code.table)[std::min<std::size_t>(index[lowest(left)], code.table->size() - 1)];
    uint32_t mask = 0;
    for (uint32_t m = left; m; m &= m - 1)
      if ((*code.table)[std::min<std::size_t>(index[lowest(m)], code.table->size() - 1)] == target)
        mask |= 1u << lowest(m);
    parts.push_back({target, mask, whole.join, false, false});
    left &= ~mask;
  }
  if (parts.size() == 1) return parts[0].block;
  worker_.tally.divergent[whole.block] += 1;
  uint32_t join = whole.join;
  const uint32_t more = static_cast<uint32_t>(parts.size());
  if (join != kNone && (code.reconverge == kNone || meets_at(w, join, code.reconverge)))
    w.joins[join].pending += more - 1;
  else if (code.reconverge != kNone)
    join = new_join(w, code.reconverge, more, join);
  w.running = false;
  for (auto p = parts.rbegin(); p != parts.rend(); ++p) {
    w.now = *p;
    w.now.join = join;
    if (go(w, p->block)) w.ready.push_back(w.now);
  }
  return kNone;
}

// The lanes that the *.sync at the head of the split's block names.
uint32_t BlockRun::named_lanes(const Warp& w, const Split& s) const {
  const BlockCode& c = code_->blocks[s.block];
  const uint32_t* masks = w.at<uint32_t>(c.wait_mask);
  if (!c.wait_mask_is_vector) return masks[0];
  uint32_t named = 0;  // each lane may name its own group: they all run the instruction at once
  for (uint32_t m = s.mask; m; m &= m - 1) named |= masks[lowest(m)];
  return named;
}

// Lanes at the same instruction: of the split and of those that wait there. bar.warp.sync matches any other one.
uint32_t BlockRun::present(const Warp& w, const Split& s) const {
  uint32_t here = s.mask;
  for (const Split& o : w.at_sync)
    if (meets(s, o)) here |= o.mask;
  return here;
}

bool BlockRun::meets(const Split& a, const Split& b) const {
  return a.block == b.block || (code_->blocks[a.block].waits_for_any && code_->blocks[b.block].waits_for_any);
}

// A barrier that the lanes of a warp may reach only together is reached by `s`, which is not all of them.
void BlockRun::warn_if_apart(const Warp& w, const Split& s) {
  const BlockCode& c = code_->blocks[s.block];
  if (!c.barrier->together || s.mask == w.alive || warned_[s.block]) return;
  warned_[s.block] = true;
  Diagnostic d;
  d.severity = Severity::warning;
  d.hazard = Hazard::divergent_barrier;
  d.message = "barrier reached by some lanes of a warp while others are elsewhere";
  d.ptx_line = c.barrier->ptx_line;
  d.warp = w.index;
  d.lanes = s.mask;
  d.notes = {std::to_string(launch_.program->blocks[s.block].last - 1), std::to_string(w.alive & ~s.mask)};
  warnings_.push_back(std::move(d));
}

// Runs the warp until its region ends (lockstep), it exits, it must wait, or its slice is used up.
BlockRun::Stop BlockRun::run_warp(Warp& w, Mode mode) {
  const Step* const steps = code_->steps.data();
  for (;;) {
    if (!w.running) {
      if (!w.alive) return Stop::exited;
      if (!next_split(w)) return Stop::waiting;
      if (mode == Mode::lockstep && enters_region(w)) return Stop::region_end;
    }
    const uint32_t at = w.now.block;
    const BlockCode& c = code_->blocks[at];
    const bool lockstep = mode == Mode::lockstep && !c.divergent;
    if (lockstep) w.last_lockstep = at;
    if (!w.now.at_end) {
      w.active = w.now.mask;
      std::vector<Split> gathered;
      if (c.waits && !w.now.passed) {
        if (const uint32_t missing = named_lanes(w, w.now) & w.alive & ~w.now.mask) {
          if (missing & ~present(w, w.now)) {
            w.at_sync.push_back(w.now);
            w.running = false;
            continue;
          }
          // All here: those that wait at this very instruction take part; at another bar.warp.sync they may go on.
          std::erase_if(w.at_sync, [&](Split& s) {
            if (!meets(w.now, s)) return false;
            if (s.block == at) {
              w.active |= s.mask;
              gathered.push_back(s);
            } else {
              s.passed = true;
              w.ready.push_back(s);
            }
            return true;
          });
        }
      }
      count(at, w.active);
      const Stream stream = lockstep ? c.lockstep : c.general;
      if (observer_)
        run_observed(w, stream);
      else
        for (const Step *s = steps + stream.first, *last = steps + stream.last; s != last; ++s) s->run(*s, w);
      for (Split& s : gathered) {  // those that waited here go on from the block's end, each to its own join
        s.at_end = true;
        w.ready.push_back(s);
      }
      if (c.polls) {
        polled_ = true;
        fuel_ = std::min(fuel_, slice());  // what computed for long and then waits does not wait as long
      }
      // All that wait for a phase look before one goes on, as hardware wakes them: that one may end the next phase.
      if ((c.waits_for_phase && (mode == Mode::general || ++waits_ == kWaitsInLockstep)) ||
          (c.takes && launch_.overtaken())) {
        used_ = slice() - fuel_ + 1;
        fuel_ = 1;
      }
      if (--fuel_ == 0) {
        if (worker_.instructions > (1u << 16)) charge();
        if (!polled_) {
          fuel_ = kUnpolledSlice;
          polled_ = true;  // next time it yields anyway
        } else if (c.end == EndKind::call) {
          fuel_ = 1;  // not between a call and what it has saved: others of the warp may call, too
        } else {
          // Others first: splits of this warp in turn, then other warps.
          w.now.at_end = true;
          if (!w.ready.empty()) {
            w.ready.insert(w.ready.begin(), w.now);
            w.running = false;
          }
          return Stop::slice;
        }
      }
    }
    w.now.at_end = w.now.passed = false;
    if (lockstep && c.ends_region && !c.divergent_branch) {
      if (c.end != EndKind::exit) return Stop::region_end;
      w.alive = 0;
      w.running = false;
      return Stop::exited;
    }
    uint32_t to = c.next;
    switch (c.end) {
      case EndKind::jump:
        break;
      case EndKind::branch: {
        if (observer_ && observer_->shadows) observer_->decides(launch_.program->blocks[at].last - 1, w.now.mask, w);
        uint32_t taken = *w.at<uint32_t>(c.predicate);
        if (c.negated) taken = ~taken;
        taken &= w.now.mask;
        if (taken == w.now.mask) {
          to = c.taken;
        } else if (taken != 0) {
          worker_.tally.divergent[at] += 1;
          split(w, taken, c.taken, c.next, c.reconverge);
          continue;
        }
        break;
      }
      case EndKind::table:
        if (observer_ && observer_->shadows) observer_->decides(launch_.program->blocks[at].last - 1, w.now.mask, w);
        to = split_table(w, c);
        if (to == kNone) continue;
        break;
      case EndKind::exit:
        w.alive &= ~w.now.mask;
        w.running = false;
        leave(w, w.now.join);
        if (!w.alive) return Stop::exited;
        continue;
      case EndKind::call: {
        const uint32_t join = new_join(w, c.next, 1, w.now.join);
        w.joins[join].frame = w.pending_frame;
        w.now = {c.taken, w.now.mask, join, false, false};
        continue;
      }
      case EndKind::ret: {  // to where the innermost call returns, past meeting points within the function
        uint32_t call = w.now.join;
        while (call != kNone && w.joins[call].frame == kNone) call = w.joins[call].parent;
        const Split returning = w.now;
        w.running = false;
        w.joins[call].arrived |= returning.mask;
        leave(w, returning.join);
        continue;
      }
      case EndKind::barrier: {
        const auto barrier_mode = static_cast<BarrierMode>(c.barrier->mode);
        if (!w.let_go) warn_if_apart(w, w.now);
        if (barrier_mode == BarrierMode::arrive) {
          const uint32_t id = w.at<uint32_t>(c.barrier_id_slot)[lowest(w.now.mask)] & 15;
          arrived_[id] += kLanes;
          if (observer_) observer_->arrive(w.index, id);
          break;
        }
        w.at_barrier.push_back(w.now);
        w.running = false;
        continue;
      }
    }
    if (!go(w, to)) continue;
    if (mode == Mode::lockstep && enters_region(w)) return Stop::region_end;
  }
}

// The steps of a basic block, looked at.
void BlockRun::run_observed(Warp& w, const Stream& stream) {
  observer_->enters(last_block_, w);
  for (uint32_t k = stream.first; k != stream.last; ++k) {
    const Step& s = code_->steps[k];
    if (observer_->shadows && code_->instruction_of[k] != kNone) observer_->computes(code_->instruction_of[k], w);
    s.run(s, w);
  }
}

// The warp is whole again, where lockstep code goes on in a region of its own.
bool BlockRun::enters_region(const Warp& w) const {
  return w.now.join == kNone && !w.now.at_end && !code_->blocks[w.now.block].divergent &&
         launch_.program->region_of[w.now.block] != kNone;
}

}  // namespace coalesce::machine
