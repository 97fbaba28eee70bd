#include "machine/time/replay.h"

#include <algorithm>
#include <queue>

#include "machine/time/caches.h"

namespace coalesce::machine {

namespace {

constexpr uint32_t kWays = 16, kSchedulers = 4;
constexpr uint64_t kLocal = uint64_t{1} << 58;  // lines of local memory lie past all others
constexpr uint64_t kConstants = uint64_t{1} << 57;
constexpr uint32_t kAtOnce = 8;  // instructions of a warp that are issued before others are looked at again

// Does one thing after the other.
struct Server {
  double free = 0, busy = 0;
  // When work of that length, which comes at `at`, begins.
  double take(double at, double length) {
    const double begins = std::max(at, free);
    free = begins + length;
    busy += length;
    return begins;
  }
};

struct WarpState {
  const std::vector<uint64_t>* trace = nullptr;
  std::size_t at = 0;                          // word to come
  uint32_t entry = 0, last = 0;                // of the block it is in
  std::size_t accesses = 0, accesses_end = 0;  // words of this block's accesses
  double time = 0;                             // when it may issue next
  uint32_t block = 0, scheduler = 0;
  uint64_t local = 0;     // line of its local memory's first words
  uint32_t from = kNone;  // the basic block before
  bool waiting = false, done = true;
  std::vector<float> ready;  // by register, cycles after `base`
  double base = 0;
};

struct BlockState {
  const BlockTrace* trace = nullptr;
  uint32_t first = 0, warps = 0, left = 0, waiting = 0;
  double latest = 0;  // arrival at the barrier, or end
};

class Player {
 public:
  Player(const Decoded& program, const Costs& costs, const Limits& limits, const Share& share)
      : p_(program),
        costs_(costs),
        l_(limits),
        share_(share),
        l1_(share.l1_bytes, kWays),
        l2_(share.l2_bytes, kWays),
        // Lines of constant memory have half the size of others.
        near_(static_cast<uint64_t>(2 * limits.constant_near_bytes.value), 4),
        far_(static_cast<uint64_t>(2 * limits.constant_bytes.value), kWays) {
    // Cycles that a sector takes of a bandwidth of the whole device, of which the multiprocessor has its part.
    const double device = 32 * share.multiprocessors * limits.clock_ghz.value;
    l2_cycles_ = device / l_.l2_gbs.value;
    l2_write_cycles_ = device / l_.l2_write_gbs.value;
    dram_cycles_ = device / l_.dram_read_gbs.value * share.fetched;
    // Half of what is copied is read, and takes what reading takes.
    dram_write_cycles_ = device * (2 / l_.dram_copy_gbs.value - 1 / l_.dram_read_gbs.value);
    link_cycles_ = device / l_.host_gbs.value;
    atomic_cycles_ = share.multiprocessors / l_.atom_sectors.value;
  }

  Replay play(const std::vector<const BlockTrace*>& blocks);

 private:
  void begin(uint32_t slot, const BlockTrace* trace, double at);
  bool run(WarpState& w);
  bool enter(WarpState& w);
  double ready(const WarpState& w, const Costs::Entry& e) const;
  void issue(WarpState& w, const Costs::Entry& e, double at);
  double access(WarpState& w, const Costs::Entry& e, double at);
  double load(uint64_t line, uint32_t sectors, double at, bool cached);
  void store(uint64_t line, uint32_t sectors, double at, double write_back, int least);
  double constant(uint64_t line, double at);
  void arrive(WarpState& w);
  void finish(WarpState& w);

  const Decoded& p_;
  const Costs& costs_;
  const Limits& l_;
  const Share& share_;
  SectorCache l1_, l2_, near_, far_;
  double l2_cycles_, l2_write_cycles_, dram_cycles_, dram_write_cycles_, link_cycles_, atomic_cycles_;
  double owed_ = 0;  // of sectors that others have brought
  std::array<Server, kSchedulers> schedulers_;
  std::array<Server, kPipes> pipes_;
  Server lsu_, port_, stores_, starts_, l2_server_, dram_, atomics_, constants_, link_, link_back_;
  std::vector<WarpState> warps_;
  std::vector<BlockState> slots_;
  using Next = std::pair<double, uint32_t>;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next_;
  std::vector<double> ended_;
  const std::vector<const BlockTrace*>* blocks_ = nullptr;
  std::size_t to_begin_ = 0;
  double warp_cycles_ = 0, stall_cycles_ = 0;
  Replay r_;
};

void Player::begin(uint32_t slot, const BlockTrace* trace, double at) {
  at = starts_.take(at, l_.dispatch_cycles.value * share_.multiprocessors);
  BlockState& b = slots_[slot];
  b.trace = trace;
  b.left = b.warps;
  b.waiting = 0;
  b.latest = at;
  for (uint32_t k = 0; k < b.warps; ++k) {
    WarpState& w = warps_[b.first + k];
    w.trace = k < trace->warps.size() ? &trace->warps[k] : nullptr;
    w.at = 0;
    w.entry = w.last = 0;
    w.from = kNone;
    w.time = at;
    w.block = slot;
    w.local = kLocal + (uint64_t{b.first + k} << 32);
    w.scheduler = (b.first + k) % kSchedulers;
    w.waiting = w.done = false;
    w.base = at;
    w.ready.assign(p_.registers.size(), 0);
    next_.emplace(at, b.first + k);
  }
}

// The next basic block. False: the warp has ended.
bool Player::enter(WarpState& w) {
  if (!w.trace || w.at >= w.trace->size()) return false;
  const uint64_t head = (*w.trace)[w.at++];
  const uint32_t number = TraceWord::number(head);
  // ptxas leaves out jumps that nothing decides.
  if (w.from != kNone && p_.blocks[w.from].next != kNone && p_.blocks[w.from].next != number)
    w.time += l_.branch_cycles.value;
  w.from = number;
  const Costs::Block& b = costs_.blocks[number];
  w.entry = b.first;
  w.last = b.last;
  w.accesses = w.at;
  while (w.at < w.trace->size() && TraceWord::kind((*w.trace)[w.at]) != TraceKind::block)
    w.at += 1 + TraceWord::count((*w.trace)[w.at]);
  w.accesses_end = std::min(w.at, w.trace->size());
  return true;
}

// When a word of the line of constant memory is there.
double Player::constant(uint64_t line, double at) {
  if (near_.access(line, 1)) return at + l_.lat_constant.value;
  if (far_.access(line, 1)) return at + l_.lat_constant_far.value;
  const bool known = l2_.access(kConstants + line, 1) != 0;
  return at + (known || share_.others > 0.5 ? l_.lat_l2.value : l_.lat_dram.value);
}

double Player::load(uint64_t line, uint32_t sectors, double at, bool cached) {
  const auto n = static_cast<uint32_t>(__builtin_popcount(sectors));
  r_.l1_sectors += n;
  const uint32_t hit = cached ? l1_.access(line, sectors) : 0;
  uint32_t missed = sectors & ~hit;
  r_.l1_hits += static_cast<uint32_t>(__builtin_popcount(hit));
  double there = at + l_.lat_l1.value;
  if (!missed) return there;
  if (!share_.host.empty() && holds(share_.host, line)) {
    const auto n_host = static_cast<uint32_t>(__builtin_popcount(missed));
    r_.host_sectors += n_host;
    return std::max(there, link_.take(at, n_host * link_cycles_) + l_.lat_host.value);
  }
  const auto misses = static_cast<uint32_t>(__builtin_popcount(missed));
  const double begins =
      std::max(port_.take(at, misses / l_.port_sectors.value), l2_server_.take(at, misses * l2_cycles_));
  there = std::max(there, begins + l_.lat_l2.value);
  r_.l2_sectors += misses;
  uint32_t known = static_cast<uint32_t>(__builtin_popcount(l2_.access(line, missed)));
  uint32_t fresh = misses - known;
  // Others have brought their part of what is new to this multiprocessor.
  owed_ += fresh * share_.others;
  const auto brought = std::min(fresh, static_cast<uint32_t>(owed_));
  owed_ -= brought;
  fresh -= brought;
  r_.l2_hits += misses - fresh;
  if (fresh) there = std::max(there, dram_.take(begins, fresh * dram_cycles_) + l_.lat_dram.value);
  return there;
}

void Player::store(uint64_t line, uint32_t sectors, double at, double write_back, int least) {
  if (!share_.host.empty() && holds(share_.host, line)) {
    const auto sent = static_cast<uint32_t>(__builtin_popcount(sectors));
    r_.host_sectors += sent;
    link_back_.take(at, sent * link_cycles_);
    return;
  }
  r_.stored_sectors += static_cast<uint32_t>(__builtin_popcount(sectors));
  const auto n = std::max(least, __builtin_popcount(sectors));
  const double begins =
      std::max(stores_.take(at, n / l_.store_sectors.value), l2_server_.take(at, n * l2_write_cycles_));
  l2_.access(line, sectors);
  if (write_back > 0) dram_.take(begins, n * write_back * dram_write_cycles_);
}

// When what the access loads is there.
double Player::access(WarpState& w, const Costs::Entry& e, double at) {
  double there = at;
  // Accesses lie in the order of the program, entries in that of the schedule.
  for (std::size_t k = w.accesses; k < w.accesses_end; k += 1 + TraceWord::count((*w.trace)[k])) {
    const uint64_t head = (*w.trace)[k];
    if (TraceWord::number(head) != e.instruction) continue;
    const Instruction& i = p_.code[e.instruction];
    const MemoryOp& m = p_.memory[i.memory];
    const uint32_t count = TraceWord::count(head), passes = std::max(1u, TraceWord::passes(head));
    switch (TraceWord::kind(head)) {
      case TraceKind::shared: {
        const double length = i.kind == Kind::atomic ? passes / l_.atom_shared.value : passes / l_.lsu.value;
        const double begins = lsu_.take(at, length);
        there = std::max(there, begins + length - 1 + l_.lat_shared.value);
        break;
      }
      case TraceKind::local: {
        const double begins = lsu_.take(at, passes / l_.lsu.value);
        there = std::max(there, begins + passes - 1);
        for (uint32_t n = 1; n <= count; ++n) {
          const uint64_t line = w.local + ((*w.trace)[k + n] >> 4);
          const auto sectors = static_cast<uint32_t>((*w.trace)[k + n] & 15);
          if (i.kind == Kind::load) {
            there = std::max(there, load(line, sectors, begins, true));
          } else {  // L1 holds it and writes it through
            l1_.access(line, sectors);
            store(line, sectors, begins, share_.spilled, 1);
          }
        }
        break;
      }
      case TraceKind::constant: {
        const double begins = constants_.take(at, passes * l_.constant_cycles.value);
        for (uint32_t n = 1; n <= count; ++n) there = std::max(there, constant((*w.trace)[k + n] >> 4, begins));
        there += (passes - 1) * l_.lat_constant_word.value;
        break;
      }
      default: {
        double begins = lsu_.take(at, passes / l_.lsu.value);
        for (uint32_t n = 1; n <= count; ++n) {
          const uint64_t word = (*w.trace)[k + n];
          const uint64_t line = word >> 4;
          const auto sectors = static_cast<uint32_t>(word & 15);
          if (i.kind == Kind::load) {
            there = std::max(there, load(line, sectors, begins, !m.is_volatile && !m.past_l1));
          } else if (i.kind == Kind::store) {
            store(line, sectors, begins, share_.write_back, 2);  // one sector alone takes what two take
          } else {
            l2_.access(line, sectors);
          }
          begins += 1 / l_.lsu.value;
        }
        if (i.kind == Kind::atomic) {
          const double from = atomics_.take(begins, passes * atomic_cycles_);
          if (m.returns) there = std::max(there, from + passes * atomic_cycles_ + l_.lat_atomic.value);
        }
      }
    }
  }
  return there;
}

// When what the entry reads is there.
double Player::ready(const WarpState& w, const Costs::Entry& e) const {
  double at = w.time;
  for (uint32_t k = 0; k < e.reads; ++k)
    at = std::max(at, w.base + static_cast<double>(w.ready[costs_.registers[e.first_read + k]]));
  return at;
}

// Issues it: `at` is when it is ready.
void Player::issue(WarpState& w, const Costs::Entry& e, double at) {
  r_.instructions += p_.code[e.instruction].counts;
  double there = at;  // a move renames: it waits for nothing, what reads its result does
  if (e.cost.pipe != Pipe::none) {
    const double slots = static_cast<double>(e.cost.slots);
    at = schedulers_[w.scheduler].take(at, slots);
    const auto pipe = static_cast<std::size_t>(e.cost.pipe);
    if (costs_.pipe_rate[pipe] < l_.issue.value) at = pipes_[pipe].take(at, slots / costs_.pipe_rate[pipe]);
    there = at + static_cast<double>(e.cost.latency);
    if (e.cost.pipe == Pipe::memory) there = access(w, e, at);
    w.time = at + slots;
    const Instruction& i = p_.code[e.instruction];
    if (i.kind == Kind::nothing && static_cast<Nothing>(i.mode) == Nothing::device_fence) w.time = there;
  }
  for (uint32_t k = 0; k < e.writes; ++k)
    w.ready[costs_.registers[e.first_write + k]] = static_cast<float>(there - w.base);
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
    stall_cycles_ += on - o.time;
    o.time = on;
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
    const double at = ready(w, e);
    // An instruction of the future must not take a resource before others that need it earlier.
    if (e.cost.pipe != Pipe::none && at > now + kAtOnce) {
      stall_cycles_ += at - w.time;
      w.time = at;
      return true;
    }
    ++w.entry;
    issue(w, e, at);
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
    if (run(w)) next_.emplace(w.time, at);
  }
  std::sort(ended_.begin(), ended_.end());
  if (!ended_.empty()) r_.cycles = ended_.back();
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
  r_.stalled = warp_cycles_ > 0 ? stall_cycles_ / warp_cycles_ : 0;
  r_.resident_warps = r_.cycles > 0 ? warp_cycles_ / r_.cycles : 0;
  return r_;
}

}  // namespace

Replay replay(const Decoded& program, const Costs& costs, const Limits& limits, const Share& share,
              const std::vector<const BlockTrace*>& blocks) {
  return Player(program, costs, limits, share).play(blocks);
}

}  // namespace coalesce::machine
