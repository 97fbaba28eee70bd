#include "machine/time/replay.h"

#include <tuple>

#include "machine/time/player.h"

namespace coalesce::machine {

void Player::begin(uint32_t slot, const BlockTrace* trace, double at) {
  at = starts_.take(at, l_.dispatch_cycles.value * share_.multiprocessors);
  BlockState& b = slots_[slot];
  b.trace = trace;
  b.left = b.warps;
  b.waiting = 0;
  b.latest = at;
  for (uint32_t k = 0; k < b.warps; ++k) {
    WarpState& w = warps_[b.first + k];
    w.trace = k < trace->warps.size() ? trace->warps[k] : Words{};
    w.at = 0;
    w.stored = w.trace.size();
    w.entry = w.last = 0;
    w.from = kNone;
    w.time = at;
    w.block = slot;
    w.local = kLocal + (uint64_t{b.first + k} << 32);
    w.scheduler = (b.first + k) % kSchedulers;
    w.waiting = w.done = false;
    w.base = at;
    w.line = kNone;
    w.ready.assign(costs_.register_count, 0);
    w.why.assign(costs_.register_count, Wait::arithmetic);
    next_.emplace(at, b.first + k);
  }
}

// The next basic block. False: the warp has ended.
bool Player::enter(WarpState& w) {
  if (w.at >= w.trace.size()) return false;
  const uint32_t number = TraceWord::number(w.trace[w.at]);
  // ptxas leaves out jumps that nothing decides.
  if (w.from != kNone && p_.blocks[w.from].next != kNone && p_.blocks[w.from].next != number)
    waits(w, w.time + l_.branch_cycles.value, Wait::code);
  const Costs::Run* run = &costs_.unrolled[number];
  if (run->chain.links.empty() || !follow(w, run->chain)) {
    run = &costs_.once[number];
    follow(w, run->chain);
  }
  w.entry = run->first;
  w.last = run->last;
  return true;
}

// Finds the links of the chain in what comes next of the trace. True: all that are not optional are there, and the
// trace goes on behind them. False: as many as are; behind an unrolled chain nothing has changed.
bool Player::follow(WarpState& w, const Chain& chain) {
  const Words trace = w.trace;
  std::size_t at = w.at, link = 0;
  uint64_t entered = 0;
  for (;;) {
    const std::size_t begin = ++at;
    while (at < trace.size() && TraceWord::kind(trace[at]) != TraceKind::block) at += 1 + TraceWord::count(trace[at]);
    w.accesses[link] = {begin, std::min(at, trace.size())};
    entered |= uint64_t{1} << link;
    if (at >= trace.size()) break;
    std::size_t next = link + 1;
    while (next < chain.links.size() && chain.links[next].optional &&
           chain.links[next].block != TraceWord::number(trace[at]))
      ++next;
    if (next >= chain.links.size() || chain.links[next].block != TraceWord::number(trace[at])) break;
    link = next;
  }
  const bool whole = link + 1 == chain.links.size();
  if (chain.turns > 1 && !whole) return false;
  w.entered = entered;
  w.at = std::min(at, trace.size());
  w.from = chain.links[link].block;
  return whole;
}

// When what the entry reads is there, and by what.
std::pair<double, Wait> Player::ready(const WarpState& w, const Costs::Entry& e) const {
  std::pair at{w.time, Wait::arithmetic};
  for (uint32_t k = 0; k < e.reads; ++k) {
    const uint32_t r = costs_.registers[e.first_read + k];
    const double there = w.base + static_cast<double>(w.ready[r]);
    if (there > at.first) at = {there, w.why[r]};
  }
  return at;
}

// When the line of code is there for the warp's scheduler.
double Player::fetched(WarpState& w, uint32_t line) {
  w.line = line;
  Fetch& f = fetches_[w.scheduler];
  if (f.near.access(line, 1)) return w.time;
  constexpr uint32_t kLineBytes = 128;
  const bool far = !known_[line] && line * kLineBytes >= l_.code_ahead_bytes.value;
  known_[line] = true;
  const double takes = far ? l_.code_far_cycles.value : l_.code_cycles.value;
  f.there = (line == f.line + 1 ? f.there : w.time) + takes;
  f.line = line;
  return f.there;
}

// Issues it: `at` is when it is ready, by `why`.
void Player::issue(WarpState& w, const Costs::Entry& e, double at, Wait why) {
  r_.instructions += p_.code[e.instruction].counts;
  double there = at;  // a move renames: it waits for nothing, what reads its result does
  if (e.cost.pipe != Pipe::none) {
    const double slots = static_cast<double>(e.cost.slots);
    waits(w, at, why);
    at = schedulers_[w.scheduler].take(at, slots);
    const auto pipe = static_cast<std::size_t>(e.cost.pipe);
    if (costs_.pipe_rate[pipe] < l_.issue.value)
      at = pipes_[pipe].take(at, (e.cost.held > 0 ? static_cast<double>(e.cost.held) : slots) / costs_.pipe_rate[pipe]);
    there = at + static_cast<double>(e.cost.latency);
    waits(w, at, Wait::unit);
    w.time = at + slots;
    why = Wait::arithmetic;
    if (e.cost.pipe == Pipe::memory) std::tie(there, why) = access(w, e, at);
    if (e.cost.branches) waits(w, there, Wait::arithmetic);
    const Instruction& i = p_.code[e.instruction];
    if (i.kind == Kind::nothing && static_cast<Nothing>(i.mode) == Nothing::device_fence) waits(w, there, Wait::l2);
  }
  for (uint32_t k = 0; k < e.writes; ++k) {
    const uint32_t r = costs_.registers[e.first_write + k];
    w.ready[r] = static_cast<float>(there - w.base);
    w.why[r] = why;
  }
}

void Player::arrive(WarpState& w) {
  BlockState& b = slots_[w.block];
  b.latest = std::max(b.latest, w.time);
  if (b.waiting < b.left) return;
  const double on = b.latest + l_.barrier_cycles.value + l_.barrier_warp_cycles.value * (b.left > 0 ? b.left - 1 : 0);
  b.waiting = 0;
  for (uint32_t k = 0; k < b.warps; ++k) {
    WarpState& o = warps_[b.first + k];
    if (!o.waiting) continue;
    o.waiting = false;
    waits(o, on, Wait::barrier);
    next_.emplace(on, b.first + k);
  }
}

void Player::finish(WarpState& w) {
  w.done = true;
  BlockState& b = slots_[w.block];
  --b.left;
  warp_cycles_ += w.time - w.base;
  b.latest = std::max(b.latest, w.time);
  if (b.left != 0) {
    if (b.waiting != 0 && b.waiting >= b.left) arrive(w);
    return;
  }
  ended_.push_back(b.latest);
  r_.longest = std::max(r_.longest, b.latest - w.base);
  if (to_begin_ < blocks_->size()) begin(w.block, (*blocks_)[to_begin_++], b.latest + l_.block_cycles.value);
}

// Some instructions of the warp. False: it waits or has ended.
bool Player::run(WarpState& w) {
  const double now = w.time;
  for (uint32_t n = 0; n < kAtOnce;) {
    if (w.entry == w.last && !enter(w)) {
      finish(w);
      return false;
    }
    if (w.entry == w.last) continue;
    const Costs::Entry& e = costs_.entries[w.entry];
    if (!(w.entered >> e.link & 1)) {
      ++w.entry;
      continue;
    }
    if (e.cost.pipe != Pipe::none && e.line != w.line) waits(w, fetched(w, e.line), Wait::code);
    const auto [at, why] = ready(w, e);
    // An instruction of the future must not take a resource before others that need it earlier.
    if (e.cost.pipe != Pipe::none && at > now + kAtOnce) {
      waits(w, at, why);
      return true;
    }
    ++w.entry;
    issue(w, e, at, why);
    n += e.cost.pipe != Pipe::none;
    if (p_.code[e.instruction].kind == Kind::barrier &&
        static_cast<BarrierMode>(p_.code[e.instruction].mode) != BarrierMode::arrive) {
      w.waiting = true;
      ++slots_[w.block].waiting;
      arrive(w);
      return false;
    }
  }
  return true;
}

Replay Player::play(const std::vector<const BlockTrace*>& blocks) {
  blocks_ = &blocks;
  const auto slots = static_cast<uint32_t>(std::min<std::size_t>(share_.resident, blocks.size()));
  uint32_t per = 1;
  for (const BlockTrace* b : blocks) per = std::max(per, static_cast<uint32_t>(b->warps.size()));
  warps_.resize(std::size_t{slots} * per);
  slots_.resize(slots);
  for (uint32_t s = 0; s < slots; ++s) {
    slots_[s].first = s * per;
    slots_[s].warps = per;
    begin(s, blocks[to_begin_++], 0);
  }
  while (!next_.empty()) {
    const uint32_t at = next_.top().second;
    next_.pop();
    WarpState& w = warps_[at];
    if (r_.instructions >= marks_.size() * kMark) marks_.emplace_back(w.time, r_.instructions);
    if (run(w)) next_.emplace(w.time, at);
  }
  std::sort(ended_.begin(), ended_.end());
  if (!ended_.empty()) r_.cycles = ended_.back();
  const auto [middle, until] = marks_[marks_.size() / 2];
  if (r_.instructions > until)
    r_.pace = std::max(0.0, r_.cycles - middle) / static_cast<double>(r_.instructions - until);
  // The pace of the second half, without the last block, which may do more than others.
  const std::size_t n = ended_.size(), half = std::max<std::size_t>(slots, n / 2);
  r_.steady = n > half + 1 ? (ended_[n - 2] - ended_[half - 1]) / static_cast<double>(n - 1 - half)
              : n == 0     ? 0
                           : r_.cycles / static_cast<double>(n);
  double issued = 0;
  for (const Server& s : schedulers_) issued = std::max(issued, s.busy);
  for (const Server& s : pipes_) issued = std::max(issued, s.busy);
  issued = std::max(issued, constants_.busy);
  r_.busy = {issued,     lsu_.busy,     std::max({port_.busy, stores_.busy, l2_server_.busy}),
             dram_.busy, atomics_.busy, std::max(link_.busy, link_back_.busy)};
  for (std::size_t k = 0; k < waits_.size(); ++k) r_.waits[k] = warp_cycles_ > 0 ? waits_[k] / warp_cycles_ : 0;
  r_.resident_warps = r_.cycles > 0 ? warp_cycles_ / r_.cycles : 0;
  return r_;
}

Replay replay(const Decoded& program, const Costs& costs, const Limits& limits, const Share& share,
              const std::vector<const BlockTrace*>& blocks) {
  return Player(program, costs, limits, share).play(blocks);
}

}  // namespace coalesce::machine
