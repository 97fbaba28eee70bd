// The time that accesses of a multiprocessor's warps take.
#include "machine/time/player.h"

namespace coalesce::machine {

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
  const auto [first, last] = w.accesses[e.link];
  for (std::size_t k = first; k < last; k += 1 + TraceWord::count((*w.trace)[k])) {
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

}  // namespace coalesce::machine
