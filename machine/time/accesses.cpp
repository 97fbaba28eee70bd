// The time that accesses of a multiprocessor's warps take.
#include "machine/time/player.h"

namespace coalesce::machine {

namespace {

// Sectors of a line that L2 takes no longer for than for one alone: its bandwidth in whole lines over that in sectors
// apart (gpu/limits: bandwidth of loads, of stores).
constexpr double kLeastLoaded = 1.67;
constexpr int kLeastStored = 2;
// Cycles of the load unit that a sector takes which comes into L1 (fitted; products of matrices on an H100, by the
// shape of their blocks, take 0.2 to 0.75 beyond their passes).
constexpr double kFill = 0.3;
// A load waits for DRAM beyond its latency where DRAM is busy for part u of the time: for kQueue u / (1 - u) cycles
// (gpu/limits: bandwidth of loads by the bytes in flight, whose latency is these bytes over the bandwidth), up to the
// busiest at which it was measured.
constexpr double kQueue = 70, kBusiest = 0.9;
// The latency of a line in DRAM over the mean: lines lie near or far, and some wait for more (gpu/limits: a chain of
// loads, line by line; the same for all strides and footprints). The mean is 1: the factor at 0.97 makes it so.
struct Knot {
  double lines;  // the part of them that is not slower
  double factor;
};
constexpr Knot kDramLines[] = {{0, 0.79},    {0.1, 0.8},   {0.25, 0.83}, {0.5, 1.017}, {0.75, 1.11},
                               {0.9, 1.155}, {0.97, 1.22}, {0.99, 1.65}, {1, 1.78}};
// The same of a line that all multiprocessors ask for at the same time, since one of them is near (the same chain,
// followed by 132 of them).
constexpr double kAskedTogether = 0.87;
// A turn of a loop around a compare-and-swap on shared memory: passes, and the part of it for which it holds its word
// where other warps wait for that (the same microbenchmark).
constexpr double kPasses = 3.5, kPassesWide = 4.65, kTurnBusy = 0.55;

// The factor of this line: which ones are slow is not known, so that a hash says it.
double latency_factor(uint64_t line) {
  const double place = static_cast<double>((line * 0x9e3779b97f4a7c15ull) >> 40 & 0xffff) / 65536;
  const Knot* next = std::begin(kDramLines) + 1;
  while (place >= next->lines) ++next;
  const Knot& last = next[-1];
  return last.factor + (place - last.lines) / (next->lines - last.lines) * (next->factor - last.factor);
}

// All sectors of the halves of a line that these lie in: DRAM gives no less.
uint32_t halves_of(uint32_t sectors) { return ((sectors & 3) != 0 ? 3u : 0) | ((sectors & 12) != 0 ? 12u : 0); }

// The sectors of the line in an access's words.
uint32_t sectors_in(Words trace, std::size_t at, uint64_t line) {
  for (uint32_t n = 1; n <= TraceWord::count(trace[at]); ++n)
    if (trace[at + n] >> 4 == line) return static_cast<uint32_t>(trace[at + n] & 15);
  return 0;
}

}  // namespace

// When a word of the line of constant memory is there. A line in a cache may be on its way yet.
double Player::constant(uint64_t line, double at) {
  if (near_.access(line, 1)) return std::max(at + l_.lat_constant.value, near_.there(1));
  double there = at;
  if (far_.access(line, 1)) {
    there = std::max(at + l_.lat_constant_far.value, far_.there(1));
  } else {
    const bool known = l2_.access(kConstants + line, 1) != 0;
    there = at + (known ? l_.lat_l2.value : l_.lat_dram.value);
    far_.arrive(1, there);
    // The other line of the same 128 bytes comes with it: an H100 walks over new constants in half of DRAM's latency a
    // line (16 KiB in 47 us, by one block as by 132).
    l2_.access(kConstants + (line ^ 1), 1);
    if (!far_.access(line ^ 1, 1)) far_.arrive(1, there);
  }
  near_.arrive(1, there);
  return there;
}

double Player::load(uint64_t line, uint32_t sectors, double at, bool cached) {
  const auto n = static_cast<uint32_t>(__builtin_popcount(sectors));
  r_.l1_sectors += n;
  const uint32_t hit = cached ? l1_.access(line, sectors) : 0;
  uint32_t missed = sectors & ~hit;
  r_.l1_hits += static_cast<uint32_t>(__builtin_popcount(hit));
  double there = std::max(at + l_.lat_l1.value, l1_.there(hit));
  level_ = there > at + l_.lat_l1.value ? Wait::dram : Wait::l1;  // a line on its way
  if (!missed) return there;
  if (!share_.host.empty() && holds(share_.host, line)) {
    const auto n_host = static_cast<uint32_t>(__builtin_popcount(missed));
    r_.host_sectors += n_host;
    level_ = Wait::host;
    return std::max(there, link_.take(at, n_host * link_cycles_) + l_.lat_host.value);
  }
  const auto misses = static_cast<uint32_t>(__builtin_popcount(missed));
  lsu_.take(at, misses * kFill / l_.lsu.value);
  const double taken = std::max<double>(misses, kLeastLoaded) * l2_cycles_;
  const double begins = std::max(port_.take(at, misses / l_.port_sectors.value), l2_server_.take(at, taken));
  there = std::max(there, begins + l_.lat_l2.value);
  r_.l2_sectors += misses;
  const uint32_t known = l2_.access(line, missed), unknown = missed & ~known;
  level_ = l2_.there(known) > begins + l_.lat_l2.value ? Wait::dram : Wait::l2;
  there = std::max(there, l2_.there(known));
  auto fresh = static_cast<uint32_t>(__builtin_popcount(unknown));
  const bool on_its_way = fresh > 0 && (unknown & ~halves_.access(line, halves_of(unknown))) == 0;
  // Others have brought their part of what is new to this multiprocessor.
  owed_ += fresh * share_.others;
  const auto brought = std::min(fresh, static_cast<uint32_t>(owed_));
  owed_ -= brought;
  fresh -= brought;
  const double latency = l_.lat_dram.value * latency_factor(line);
  // The first blocks of all multiprocessors ask for it at the same time; later ones find it in L2.
  if (brought > 0 && to_begin_ <= slots_.size()) {
    level_ = Wait::dram;
    const double arrives = begins + std::max(l_.lat_l2.value, kAskedTogether * latency);
    l2_.arrive(unknown, arrives);
    there = std::max(there, arrives);
  }
  r_.l2_hits += misses - fresh;
  if (fresh) {
    level_ = Wait::dram;
    const double served = dram_.take(begins, fresh * dram_cycles_);
    const double busy = std::min(kBusiest, dram_.busy / (served + l_.lat_dram.value));
    double arrives = served + latency + kQueue * busy / (1 - busy);
    if (on_its_way)
      arrives = std::min(arrives, std::max(served + l_.lat_l2.value, arrivals_[line]));
    else if (unknown != halves_of(unknown))
      arrivals_[line] = arrives;
    l2_.arrive(unknown, arrives);
    there = std::max(there, arrives);
  }
  if (cached) l1_.arrive(missed, there);
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

// When an atomic on shared memory has ended that is a loop: its lanes on one word go one after the other, and so do
// warps on one word.
double Player::loop_on_shared(const WarpState& w, std::size_t k, const MemoryOp& m, double at) {
  const Words trace = w.trace;
  const bool wide = m.width == 8;
  const double turn = wide ? l_.loop_shared_wide.value : l_.loop_shared.value;
  uint32_t turns = 0;
  double there = at;
  for (uint32_t n = 1; n <= TraceWord::count(trace[k]); ++n) {
    const auto lanes = static_cast<uint32_t>(trace[k + n] & 0xff);
    turns = std::max(turns, lanes);
    Server& word = words_[uint64_t{w.block} << 32 | trace[k + n] >> 8];
    const double begins = word.take(at, lanes * turn * kTurnBusy);
    there = std::max(there, begins + lanes * turn);
  }
  const double length = turns * (wide ? kPassesWide : kPasses) / l_.lsu.value;
  return std::max(there, lsu_.take(at, length) + length);
}

// When what the access loads is there, and from where.
std::pair<double, Wait> Player::access(WarpState& w, const Costs::Entry& e, double at) {
  double there = at;
  Wait why = Wait::unit;
  const auto loaded = [&](double its) {
    if (its > there) there = its, why = level_;
  };
  // Accesses lie in the order of the program, entries in that of the schedule.
  const auto [first, last] = w.accesses[e.link];
  for (std::size_t k = first; k < last; k += 1 + TraceWord::count(w.trace[k])) {
    const uint64_t head = w.trace[k];
    if (TraceWord::number(head) != e.instruction) continue;
    const Instruction& i = p_.code[e.instruction];
    const MemoryOp& m = p_.memory[i.memory];
    const uint32_t count = TraceWord::count(head), passes = std::max(1u, TraceWord::passes(head));
    switch (TraceWord::kind(head)) {
      case TraceKind::shared: {
        why = Wait::shared;
        if (count > 0) {
          // The warp goes round, whether or not it needs the result.
          there = std::max(there, loop_on_shared(w, k, m, at));
          waits(w, there, Wait::shared);
          break;
        }
        const double length = i.kind == Kind::atomic ? passes / l_.atom_shared.value : passes / l_.lsu.value;
        const double begins = lsu_.take(at, length);
        there = std::max(there, begins + length - 1 + l_.lat_shared.value);
        break;
      }
      case TraceKind::local: {
        const double begins = lsu_.take(at, passes / l_.lsu.value);
        there = std::max(there, begins + passes - 1);
        for (uint32_t n = 1; n <= count; ++n) {
          const uint64_t line = w.local + (w.trace[k + n] >> 4);
          const auto sectors = static_cast<uint32_t>(w.trace[k + n] & 15);
          if (i.kind == Kind::load) {
            loaded(load(line, sectors, begins, true));
          } else {  // L1 holds it and writes it through
            l1_.access(line, sectors);
            store(line, sectors, begins, share_.spilled, 1);
            r_.stored_local += static_cast<uint32_t>(__builtin_popcount(sectors));
          }
        }
        break;
      }
      case TraceKind::constant: {
        why = Wait::constant;
        const double begins = constants_.take(at, passes * l_.constant_cycles.value);
        for (uint32_t n = 1; n <= count; ++n) there = std::max(there, constant(w.trace[k + n] >> 4, begins));
        there += (passes - 1) * l_.lat_constant_word.value;
        break;
      }
      default: {
        double begins = lsu_.take(at, passes / l_.lsu.value);
        for (uint32_t n = 1; n <= count; ++n) {
          const uint64_t word = w.trace[k + n];
          const uint64_t line = word >> 4;
          const auto sectors = static_cast<uint32_t>(word & 15);
          if (i.kind == Kind::load) {
            loaded(load(line, sectors, begins, !m.is_volatile && !m.past_l1));
          } else if (i.kind == Kind::store) {
            // L1 joins stores of a warp that follow one on the other.
            const uint32_t again = w.stored >= first && w.stored < k ? sectors_in(w.trace, w.stored, line) : 0;
            if (sectors & ~again) store(line, sectors & ~again, begins, share_.write_back, kLeastStored);
          } else {
            l2_.access(line, sectors);
          }
          begins += static_cast<double>(passes) / count / l_.lsu.value;
        }
        w.stored = i.kind == Kind::store ? k : w.trace.size();
        if (i.kind == Kind::atomic) {
          why = Wait::atomic;
          const double from = atomics_.take(begins, passes * atomic_cycles_);
          if (m.returns) there = std::max(there, from + passes * atomic_cycles_ + l_.lat_atomic.value);
        }
      }
    }
  }
  return {there, why};
}

}  // namespace coalesce::machine
