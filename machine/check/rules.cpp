// The roles of a kernel's accesses in `check`, as far as its text decides them.
#include "machine/check/rules.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "machine/check/loops.h"
#include "machine/program/addresses.h"

namespace coalesce::machine {

namespace {

// Registers whose values matter: what is computed with them, branched on, or used as an address. One that is only moved
// on, to memory or to another lane, does not: so goes the padding of structures that are copied word by word.
class Used {
 public:
  explicit Used(const Decoded& p) : p_(p), used_(p.registers.size()) {
    for (const Instruction& i : p.code) {
      if (i.guard != kNone) used_[i.guard] = true;
      if (i.memory != kNone) memory(i);
      if (i.kind == Kind::shuffle)
        for (std::size_t k = 1; k < i.sources.size(); ++k) use(i.sources[k]);
      else if (!moves(i) && i.kind != Kind::load && i.kind != Kind::store)
        for (const Value& v : i.sources) use(v);
    }
    for (bool again = true; again;) {
      again = false;
      for (std::size_t k = p.code.size(); k-- > 0;) {
        const Instruction& i = p.code[k];
        if (!moves(i) || !(used_[i.results[0]] || (i.results[1] != kNone && used_[i.results[1]]))) continue;
        for (const Value& v : i.sources) again = use(v) || again;
      }
    }
  }
  uint8_t of(const MemoryOp& m) const {
    uint32_t mask = 0;
    for (uint32_t k = 0; k < m.values.size(); ++k)
      mask |= uint32_t{m.values[k].is_reg() && used_[m.values[k].reg]} << k;
    return static_cast<uint8_t>(mask);
  }

 private:
  static bool moves(const Instruction& i) { return i.kind == Kind::pure && i.pure->facts.moves; }
  bool use(const Value& v) {
    if (!v.is_reg() || used_[v.reg]) return false;
    return used_[v.reg] = true;
  }
  void memory(const Instruction& i) {
    const MemoryOp& m = p_.memory[i.memory];
    use(m.address);
    if (i.kind == Kind::atomic)
      for (const Value& v : m.values) use(v);
  }
  const Decoded& p_;
  std::vector<bool> used_;
};

// A plain load of what an atomicCAS compares is a first guess: a wrong one costs a round of its loop, nothing else.
void accept_first_guesses(const Decoded& p, std::vector<AccessRule>& rules) {
  const auto is = [&](uint32_t k, Kind kind) { return p.code[k].kind == kind; };
  const auto memory = [&](uint32_t k) -> const MemoryOp& { return p.memory[p.code[k].memory]; };
  std::vector<uint32_t> compared;
  for (uint32_t k = 0; k < p.code.size(); ++k)
    if (is(k, Kind::atomic) && memory(k).op == AtomicOp::cas) compared.push_back(k);
  if (compared.empty()) return;
  const Addresses addresses(p);
  const auto where = [&](uint32_t k) {
    const AddressSum sum = addresses.sum(memory(k));
    return std::make_pair(sum.terms, sum.constant);
  };
  std::set<decltype(where(0))> places;
  for (uint32_t k : compared) places.insert(where(k));
  for (uint32_t k = 0; k < p.code.size(); ++k)
    if (is(k, Kind::load) && rules[k].order == Order::weak && places.contains(where(k)))
      rules[k].order = Order::relaxed;
}

}  // namespace

std::vector<Skip> find_skips(const Decoded& p, Kind kind) {
  std::vector<Skip> skips;
  std::vector<std::pair<uint32_t, uint32_t>> barriers;  // blocks, instructions
  for (uint32_t b = 0; b < p.blocks.size(); ++b)
    for (uint32_t k = p.blocks[b].first; p.blocks[b].reachable && k < p.blocks[b].last; ++k) {
      const bool waits = kind != Kind::barrier || static_cast<BarrierMode>(p.code[k].mode) != BarrierMode::arrive;
      if (p.code[k].kind == kind && waits) barriers.emplace_back(b, k);
    }
  if (barriers.empty()) return skips;
  const auto works = [&](uint32_t b) {
    for (uint32_t k = p.blocks[b].first; k < p.blocks[b].last; ++k)
      if (p.code[k].memory != kNone || p.code[k].kind == Kind::barrier) return true;
    return false;
  };
  for (uint32_t d = 0; d < p.blocks.size(); ++d) {
    const BasicBlock& branch = p.blocks[d];
    if (!branch.reachable || !branch.divergent_branch || branch.reconverge == kNone) continue;
    const std::vector<bool> behind = reachable_from(p, branch.reconverge, kNone);
    bool any = false;
    for (uint32_t b = 0; b < p.blocks.size(); ++b) any = any || (behind[b] && works(b));
    if (!any) continue;
    std::vector<bool> between(p.blocks.size());
    successors(branch, [&](uint32_t s) {
      const std::vector<bool> part = reachable_from(p, s, branch.reconverge);
      for (uint32_t b = 0; b < p.blocks.size(); ++b) between[b] = between[b] || part[b];
    });
    for (const auto& [b, barrier] : barriers)
      if (between[b]) skips.push_back({barrier, d, branch.reconverge});
  }
  return skips;
}

// Whether an atomic that is repeated leaves the word as its first did: no sum but of nothing.
static bool changes_once(const MemoryOp& m) {
  switch (m.op) {
    case AtomicOp::add:
    case AtomicOp::sub:
    case AtomicOp::xor_:
      return m.values[0].is_constant() && m.values[0].bits == 0;
    case AtomicOp::inc:
    case AtomicOp::dec:
      return false;
    default:
      return true;
  }
}

std::vector<AccessRule> find_rules(const Decoded& p) {
  std::vector<AccessRule> rules(p.code.size());
  const Used used(p);
  for (uint32_t k = 0; k < p.code.size(); ++k)
    if (p.code[k].kind == Kind::call) {
      rules[k].kind = Kind::call;
    } else if (p.code[k].memory != kNone) {
      const MemoryOp& m = p.memory[p.code[k].memory];
      rules[k] = {p.code[k].kind, m.order, m.scope};
      rules[k].tries = p.code[k].kind == Kind::atomic && m.op == AtomicOp::cas;
      if (p.code[k].kind == Kind::load) rules[k].used = used.of(m);
    }
  accept_first_guesses(p, rules);
  const Loops loops(p);
  const auto each = [&](auto visit) {
    for (uint32_t b = 0; b < p.blocks.size(); ++b)
      if (p.blocks[b].reachable && loops.of(b) != kNone)
        for (uint32_t k = p.blocks[b].first; k < p.blocks[b].last; ++k) visit(k);
  };
  each([&](uint32_t k) {
    const Kind kind = rules[k].kind;
    rules[k].may_poll =
        (kind == Kind::load && (rules[k].order != Order::weak || p.memory[p.code[k].memory].is_volatile)) ||
        (kind == Kind::atomic && p.memory[p.code[k].memory].returns);
    rules[k].waits = kind == Kind::atomic && rules[k].may_poll && changes_once(p.memory[p.code[k].memory]);
  });
  find_polls(p, loops, rules);
  return rules;
}

bool meant_to_meet(const AccessRule& a, const AccessRule& b, bool same_block) {
  const auto real = [](const AccessRule& r, const AccessRule& other) {
    if (r.polls) return true;
    const bool overwritten = r.kind == Kind::atomic && other.kind == Kind::store && other.order == Order::volatile_;
    return r.order > Order::volatile_ && (!overwritten || r.waits || r.tries);
  };
  const bool reach = same_block || (a.scope == Scope::device && b.scope == Scope::device);
  return reach && is_strong(a) && is_strong(b) && (real(a, b) || real(b, a));
}

}  // namespace coalesce::machine
