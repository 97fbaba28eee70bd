#include "machine/program/merge.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <vector>

#include "machine/program/addresses.h"
#include "machine/program/requests.h"
#include "machine/program/uses.h"

namespace coalesce::machine {
namespace {

constexpr uint32_t kWindow = 16, kWord = 4;  // bytes
constexpr std::size_t kMostBetween = 32;     // blocks: keeps the cost of large kernels linear

// Finds what lies in one window.
class Joiner {
 public:
  Joiner(const Decoded& p, const Addresses& addresses) : p_(p), addresses_(addresses), version_(p.registers.size()) {}

  std::vector<JoinedAccess> run() {
    find_predecessors();
    std::vector<bool> done(p_.blocks.size()), continues(p_.blocks.size());
    for (uint32_t b = 0; b < p_.blocks.size(); ++b) {
      onward_.push_back(p_.blocks[b].reachable ? onward(b) : Onward{});
      if (onward_[b].block != kNone) continues[onward_[b].block] = true;
    }
    for (uint32_t b = 0; b < p_.blocks.size(); ++b)
      if (p_.blocks[b].reachable && !done[b] && !continues[b]) chain(b, done);
    return std::move(joined_);
  }

 private:
  // ---- Which blocks follow on each other as if they were one -------------------------------------------------------

  template <class Visit>
  static void each_successor(const BasicBlock& b, Visit visit) {
    if (b.next != kNone) visit(b.next);
    if (b.taken != kNone) visit(b.taken);
    for (const uint32_t t : b.table) visit(t);
  }

  void find_predecessors() {
    predecessors_.resize(p_.blocks.size());
    predecessors_[0].push_back(kNone);  // the kernel's beginning: block 0 may be a loop's, too
    for (uint32_t b = 0; b < p_.blocks.size(); ++b)
      if (p_.blocks[b].reachable) each_successor(p_.blocks[b], [&](uint32_t s) { predecessors_[s].push_back(b); });
  }

  struct Onward {
    uint32_t block = kNone;         // runs whenever the one before it has run, and only then
    std::vector<uint32_t> between;  // what may run in between: no loop leads through these
  };

  Onward onward(uint32_t b) const {
    const BasicBlock& block = p_.blocks[b];
    Onward found;
    if (block.taken == kNone && block.table.empty()) {
      if (block.next != kNone && predecessors_[block.next].size() == 1) found.block = block.next;
      return found;
    }
    const uint32_t meet = block.reconverge;
    if (meet == kNone || meet == b) return found;
    // Everything that can run before lanes meet, as long as it comes from here and goes there.
    std::vector<uint32_t> todo{b};
    std::vector<bool> inside(p_.blocks.size());
    while (!todo.empty()) {
      const uint32_t at = todo.back();
      todo.pop_back();
      bool leaves =
          at != b && p_.blocks[at].next == kNone && p_.blocks[at].taken == kNone && p_.blocks[at].table.empty();
      each_successor(p_.blocks[at], [&](uint32_t s) {
        leaves = leaves || s == b;
        if (s == meet || s == b || inside[s]) return;
        inside[s] = true;
        found.between.push_back(s);
        todo.push_back(s);
      });
      if (leaves || found.between.size() > kMostBetween) return {};
    }
    const auto from_here = [&](uint32_t s) {
      return std::all_of(predecessors_[s].begin(), predecessors_[s].end(),
                         [&](uint32_t q) { return q == b || (q != kNone && inside[q]); });
    };
    if (!from_here(meet)) return {};
    for (const uint32_t s : found.between)
      if (!from_here(s) || in_loop(s, meet, inside)) return {};
    found.block = meet;
    return found;
  }

  bool in_loop(uint32_t start, uint32_t stop, const std::vector<bool>& inside) const {
    std::vector<bool> seen(p_.blocks.size());
    std::vector<uint32_t> todo{start};
    bool back = false;
    while (!todo.empty() && !back) {
      const uint32_t at = todo.back();
      todo.pop_back();
      each_successor(p_.blocks[at], [&](uint32_t s) {
        back = back || s == start;
        if (s == stop || !inside[s] || seen[s]) return;
        seen[s] = true;
        todo.push_back(s);
      });
    }
    return back;
  }

  // ---- Accesses of one chain of blocks -----------------------------------------------------------------------------

  // The place and the lanes of an access: registers, each with the number of its writes so far.
  using Place = std::tuple<std::vector<std::pair<std::pair<uint32_t, uint32_t>, int64_t>>, uint32_t, uint32_t, bool>;
  struct Member {
    uint32_t instruction = 0, bytes = 0;
    int64_t offset = 0;
    uint32_t zero_bits = 0;
  };
  using Open = std::map<Place, std::vector<Member>>;

  void chain(uint32_t first, std::vector<bool>& done) {
    for (uint32_t b = first; b != kNone && !done[b];) {
      done[b] = true;
      for (uint32_t k = p_.blocks[b].first; k < p_.blocks[b].last; ++k) instruction(k);
      const Onward& on = onward_[b];
      if (!on.between.empty() || on.block == kNone) close(stores_, false);
      for (const uint32_t s : on.between)
        for (uint32_t k = p_.blocks[s].first; k < p_.blocks[s].last; ++k) {
          if (ends_loads(p_.code[k])) close(loads_, true);
          written(p_.code[k]);
        }
      b = on.block;
    }
    close(loads_, true);
    close(stores_, false);
  }

  bool shared(const Instruction& i) const {
    return i.memory != kNone &&
           (p_.memory[i.memory].space == AddressSpace::shared || p_.memory[i.memory].space == AddressSpace::generic);
  }
  bool ends_loads(const Instruction& i) const {
    switch (i.kind) {
      case Kind::load:
        return shared(i) && p_.memory[i.memory].is_volatile;
      case Kind::store:
      case Kind::atomic:
        return shared(i);
      case Kind::warp_barrier:
      case Kind::barrier:
      case Kind::call:
      case Kind::function_call:
      case Kind::nothing:  // fences
        return true;
      default:
        return false;
    }
  }

  void instruction(uint32_t k) {
    const Instruction& i = p_.code[k];
    const bool load = i.kind == Kind::load, ends = ends_loads(i);
    if (ends) close(loads_, true);
    if (i.kind == Kind::store ? p_.memory[i.memory].is_volatile : ends || (load && shared(i))) close(stores_, false);
    if ((load || i.kind == Kind::store) && p_.memory[i.memory].space == AddressSpace::shared) {
      const MemoryOp& m = p_.memory[i.memory];
      if (!m.is_volatile && !m.is_copy && (m.bytes() == 4 || m.bytes() == 8) && m.site != kNone) {
        const AddressSum sum = addresses_.sum(m);
        Place place;
        for (const auto& [reg, times] : sum.terms) std::get<0>(place).push_back({{reg, version_[reg]}, times});
        std::get<1>(place) = i.guard;
        std::get<2>(place) = i.guard == kNone ? 0 : version_[i.guard];
        std::get<3>(place) = i.guard_negated;
        (load ? loads_ : stores_)[place].push_back({k, m.bytes(), sum.constant, addresses_.zero_bits(sum)});
      }
    }
    written(i);
  }

  void written(const Instruction& i) {
    each_written(p_, i, [&](uint32_t r) { ++version_[r]; });
  }

  // ---- Windows -----------------------------------------------------------------------------------------------------

  void close(Open& open, bool loads) {
    for (const auto& [place, members] : open) {
      std::map<int64_t, std::vector<Member>> windows;
      if (members.size() > 1 && members.front().zero_bits >= 3) {
        const int64_t size = members.front().zero_bits >= 4 ? kWindow : kWindow / 2;
        for (const Member& m : members) windows[m.offset & ~(size - 1)].push_back(m);
      }
      for (const auto& [at, inside] : windows) window(at, inside, loads);
    }
    open.clear();
  }

  void window(int64_t at, const std::vector<Member>& members, bool loads) {
    const auto words = [&](const Member& m) { return ((1u << m.bytes / kWord) - 1) << (m.offset - at) / kWord; };
    uint32_t all = 0;
    for (const Member& m : members) all |= words(m);
    if (std::popcount(all) >= (loads ? 3 : 4)) return replace(members, at, kWindow);
    for (const uint32_t half : {0u, 2u}) {
      std::vector<Member> mine;
      uint32_t covered = 0;
      for (const Member& m : members)
        if (words(m) >> half & 3) mine.push_back(m), covered |= words(m) >> half & 3;
      if (covered == 3) replace(mine, at + half * kWord, kWindow / 2);
    }
  }

  void replace(const std::vector<Member>& members, int64_t at, uint32_t bytes) {
    if (members.size() < 2) return;
    JoinedAccess& j = joined_.emplace_back();
    j.bytes = bytes;
    j.moved = at - members.front().offset;
    for (const Member& m : members) j.members.push_back(m.instruction);
  }

  const Decoded& p_;
  const Addresses& addresses_;
  std::vector<std::vector<uint32_t>> predecessors_;
  std::vector<Onward> onward_;
  std::vector<uint32_t> version_;
  Open loads_, stores_;
  std::vector<JoinedAccess> joined_;
};

class Merger {
 public:
  explicit Merger(Decoded& p) : p_(p), addresses_(p) {}

  void run() {
    for (const JoinedAccess& j : Joiner(p_, addresses_).run()) {
      request(j.members.front(), j.bytes, j.moved);
      for (const uint32_t k : j.members) p_.sites[p_.memory[p_.code[k].memory].site].merged = true;
    }
    gather();
    add_requests(p_, requests_);
  }

 private:
  // One request in place of several accesses, or of a warp's lanes: `bytes` a lane, `moved` from the leader's address.
  void request(uint32_t leader, uint32_t bytes, int64_t moved) {
    const MemoryOp& from = p_.memory[p_.code[leader].memory];
    MemoryOp m;
    m.space = from.space;
    m.width = static_cast<uint8_t>(bytes);
    m.address = from.address;
    m.offset = from.offset + moved;
    m.returns = from.returns;
    requests_.push_back({leader, m, from.site});
  }

  // ---- Atomics -----------------------------------------------------------------------------------------------------

  bool gathered(const MemoryOp& m) const {
    const bool global = m.space == AddressSpace::global, wide = m.bytes() == 8;
    if ((!global && m.space != AddressSpace::shared) || m.number > Number::signed_ || m.count != 1 || m.site == kNone)
      return false;
    if ((wide && !global) || m.bytes() < 4 || m.bytes() > 8 || !addresses_.same_for_warp(m.address)) return false;
    switch (m.op) {
      case AtomicOp::inc:
        if (wide || !m.values[0].is_constant() || static_cast<uint32_t>(m.values[0].bits) != ~0u) return false;
        [[fallthrough]];
      case AtomicOp::add:
      case AtomicOp::sub:
        if (!global && m.counts_lanes) return false;  // the memory itself adds the lanes up
        return (!wide && !m.returns) || addresses_.same_for_warp(m.values[0]);
      case AtomicOp::min:
      case AtomicOp::max:
      case AtomicOp::and_:
      case AtomicOp::or_:
      case AtomicOp::xor_:
        return !wide && !m.returns;
      default:
        return false;
    }
  }

  void gather() {
    for (uint32_t k = 0; k < p_.code.size(); ++k) {
      if (p_.code[k].kind != Kind::atomic) continue;
      MemoryOp& m = p_.memory[p_.code[k].memory];
      m.counts_lanes = adds_lanes(m);
      if (!gathered(m)) continue;
      request(k, m.bytes(), 0);
    }
  }

  Decoded& p_;
  const Addresses addresses_;
  std::vector<AddedRequest> requests_;
};

}  // namespace

bool adds_lanes(const MemoryOp& m) {
  if (m.space != AddressSpace::shared || m.returns || m.bytes() != 4 || m.number > Number::signed_ ||
      !m.values[0].is_constant())
    return false;
  const auto value = static_cast<uint32_t>(m.values[0].bits);
  return (m.op == AtomicOp::add && value == 1) || (m.op == AtomicOp::inc && value == ~0u);
}

std::vector<JoinedAccess> joined_accesses(const Decoded& p) {
  const Addresses addresses(p);
  return Joiner(p, addresses).run();
}

void merge_as_ptxas(Decoded& p) { Merger(p).run(); }

}  // namespace coalesce::machine
