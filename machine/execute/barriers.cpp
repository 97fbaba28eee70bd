// The block's barriers: which warps wait, when a barrier is complete, the result of a bar.red; and deadlocks.
#include <algorithm>
#include <cstdio>

#include "machine/execute/block.h"
#include "machine/users_place.h"

namespace coalesce::machine {

// bar.red: what every thread contributed, to where the threads read it.
void BlockRun::finish_barrier_lockstep(const BlockCode& c) {
  if (observer_) {
    const auto at = static_cast<uint32_t>(c.barrier - code_->program->code.data());
    arrivals_.clear();
    for (const Warp& w : warps_)
      if (w.alive) arrivals_.push_back({w.index, w.alive, w.alive, at});
    observer_->barrier(arrivals_, 0, true);
  }
  if (c.barrier_result == kNoSlot) return;
  uint32_t votes = 0, lanes = 0;
  for (const Warp& w : warps_) {
    votes += count_lanes(*w.at<uint32_t>(c.barrier_predicate) & w.alive);
    lanes += count_lanes(w.alive);
  }
  const auto mode = static_cast<BarrierMode>(c.barrier->mode);
  const bool holds = mode == BarrierMode::and_ ? votes == lanes : votes > 0;
  for (Warp& w : warps_) {
    uint32_t* to = w.at<uint32_t>(c.barrier_result);
    const uint32_t value = mode == BarrierMode::popc ? votes : holds ? ~0u : 0;
    if (c.barrier_result_scalar || mode != BarrierMode::popc)
      *to = value;
    else
      std::fill(to, to + kLanes, value);
    if (c.barrier_expand.run) c.barrier_expand.run(c.barrier_expand, w);
  }
}

// Lets go the warps whose barrier is complete. Back to lockstep when all of them are there, together. `stuck`: nothing
// else can run; then lanes that wait where their warp meets again do not keep the others at the barrier, as long as
// each warp has some there (as an H200 does it: loops that lanes leave at different times, with a barrier in them,
// end).
bool BlockRun::release_barriers(bool stuck) {
  struct Waiting {
    uint32_t lanes = 0, warps = 0, expected = 0;
    uint32_t different_warps = 0;  // warps with some lanes here
  };
  std::array<Waiting, 16> at{};
  uint32_t alive_warps = 0;
  for (const Warp& w : warps_) {
    uint32_t seen = 0;  // a bit per barrier
    alive_warps += w.alive != 0;
    for (const Split& s : w.at_barrier) {
      const BlockCode& c = code_->blocks[s.block];
      const uint32_t id = w.at<uint32_t>(c.barrier_id_slot)[lowest(s.mask)] & 15;
      at[id].lanes += count_lanes(s.mask);
      at[id].warps += 1;
      at[id].different_warps += (seen >> id & 1) == 0;
      seen |= 1u << id;
      at[id].expected = w.at<uint32_t>(c.barrier_count_slot)[lowest(s.mask)];
    }
  }
  bool released = false;
  for (uint32_t id = 0; id < 16; ++id) {
    const Waiting& b = at[id];
    if (b.lanes == 0) continue;
    const bool all = b.lanes == alive_lanes() || (stuck && b.different_warps == alive_warps);
    const bool complete = b.expected == 0 ? all : b.warps * kLanes + arrived_[id] >= b.expected;
    if (!complete) continue;
    released = true;
    arrived_[id] = 0;
    // The result of a bar.red for all that wait at it.
    uint32_t votes = 0, lanes = 0;
    std::vector<Arrival> here;
    for (const Warp& w : warps_)
      for (const Split& s : w.at_barrier) {
        const BlockCode& c = code_->blocks[s.block];
        if ((w.at<uint32_t>(c.barrier_id_slot)[lowest(s.mask)] & 15) != id) continue;
        lanes += count_lanes(s.mask);
        if (observer_)
          here.push_back({w.index, s.mask, w.alive, static_cast<uint32_t>(c.barrier - code_->program->code.data())});
        if (c.barrier_predicate != kNoSlot) votes += count_lanes(*w.at<uint32_t>(c.barrier_predicate) & s.mask);
      }
    if (observer_) observer_->barrier(here, id, b.expected == 0);
    uint32_t common = kNone;
    bool together = b.expected == 0;
    for (Warp& w : warps_) {
      std::vector<Split> still, leaving;
      for (Split s : w.at_barrier) {
        const BlockCode& c = code_->blocks[s.block];
        if ((w.at<uint32_t>(c.barrier_id_slot)[lowest(s.mask)] & 15) != id) {
          still.push_back(s);
          continue;
        }
        if (c.barrier_result != kNoSlot) {
          const auto mode = static_cast<BarrierMode>(c.barrier->mode);
          const uint32_t holds = (mode == BarrierMode::and_ ? votes == lanes : votes > 0) ? ~0u : 0;
          uint32_t* to = w.at<uint32_t>(c.barrier_result);
          if (mode != BarrierMode::popc)
            *to = c.barrier_result_scalar ? holds : (*to & ~s.mask) | (holds & s.mask);
          else if (c.barrier_result_scalar)
            *to = votes;
          else
            for (uint32_t m = s.mask; m; m &= m - 1) to[lowest(m)] = votes;
          if (c.barrier_expand.run) c.barrier_expand.run(c.barrier_expand, w);
        }
        // Lanes that came to it one after the other go on as one.
        const auto same = std::find_if(leaving.begin(), leaving.end(),
                                       [&](const Split& o) { return o.block == s.block && o.join == s.join; });
        if (same == leaving.end()) {
          leaving.push_back(s);
        } else {
          same->mask |= s.mask;
          if (s.join != kNone) w.joins[s.join].pending -= 1;
        }
      }
      w.at_barrier = std::move(still);
      if (w.running && !leaving.empty()) w.ready.insert(w.ready.begin(), w.now);  // lanes between two of their turns
      for (const Split& s : leaving) {
        if (w.let_go) warn_if_apart(w, s);
        if (s.mask == w.alive) w.let_go = false;
        together = together && s.mask == w.alive && s.join == kNone && (common == kNone || common == s.block);
        common = s.block;
        w.now = s;
        if (go(w, code_->blocks[s.block].next)) w.ready.push_back(w.now);
        w.running = false;
      }
    }
    if (together && common != kNone && !launch_.program->needs_general_mode && launch_.schedule == 0 &&
        try_lockstep(code_->blocks[common].next))
      return true;
  }
  return released;
}

void BlockRun::add_waits(KernelFault& f) const {
  constexpr std::size_t kMostNotes = 8;
  const Decoded& p = *launch_.program;
  std::string of_block;
  if (launch_.blocks > 1)
    of_block = "block (" + std::to_string(ctaid_[0]) + "," + std::to_string(ctaid_[1]) + "," +
               std::to_string(ctaid_[2]) + "), ";
  const auto add = [&](const Warp& w, uint32_t lanes, uint32_t instruction, const std::string& what) {
    char text[64];
    std::snprintf(text, sizeof text, "warp %u, lanes 0x%08x ", w.index, lanes);
    if (f.instruction == kNone) {
      f.instruction = instruction;
      f.lanes = lanes;
      f.warp = w.index;
    }
    if (f.notes.size() < kMostNotes)
      f.notes.push_back(of_block + text + what);
    else if (f.notes.size() == kMostNotes)
      f.notes.push_back("and more");
  };
  const auto place = [&](uint32_t instruction) {
    const Place& at = p.places[p.code[instruction].place];
    const SourcePlace& users = users_place(at.source, at.inlined_at);
    return users.line ? "line " + std::to_string(users.line)
                      : "PTX line " + std::to_string(p.code[instruction].ptx_line);
  };
  // The others wait for the first that polls.
  const auto polls = [&](const Warp& w, const Split& s) {
    uint32_t instruction = kNone;
    const std::string what = observer_ ? observer_->waits_for(w, s.mask, instruction) : "";
    const uint32_t first = p.blocks[s.block].first;
    add(w, s.mask, instruction == kNone ? first : instruction,
        what.empty() ? "run in a loop at " + place(first) : what);
  };
  for (const Warp& w : warps_) {
    if (w.running) polls(w, w.now);
    for (const Split& s : w.ready) polls(w, s);
  }
  for (const Warp& w : warps_)
    for (const std::vector<Split>* waiting : {&w.at_sync, &w.at_barrier})
      for (const Split& s : *waiting) {
        const BasicBlock& b = p.blocks[s.block];
        const bool barrier = waiting == &w.at_barrier;
        const uint32_t at = barrier ? b.last - 1 : b.first;
        const BlockCode& c = code_->blocks[s.block];
        const uint32_t id = barrier ? w.at<uint32_t>(c.barrier_id_slot)[lowest(s.mask)] & 15 : 0;
        add(w, s.mask, at,
            "wait at " + place(at) +
                (!barrier  ? " for lanes of their warp that never come"
                 : id == 0 ? " at a barrier of the block"
                           : " at barrier " + std::to_string(id) + " of the block"));
      }
}

bool BlockRun::waits_for_others() const {
  if (!observer_ || mode_ != Mode::general) return false;
  for (const Warp& w : warps_) {
    if (!w.alive) continue;
    if (!holding_joins(w).empty()) return false;  // lanes that break_joins() lets go first
    if (w.running && !observer_->waits(w, w.now.mask)) return false;
    for (const Split& s : w.ready)
      if (!observer_->waits(w, s.mask)) return false;
    for (const Split& s : w.at_sync)
      if (!(named_lanes(w, s) & w.alive & ~present(w, s))) return false;  // goes on when its turn comes
  }
  return true;
}

}  // namespace coalesce::machine
