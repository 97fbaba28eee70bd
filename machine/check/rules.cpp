// The roles of a kernel's accesses in `check`, as far as its text decides them.
#include "machine/check/rules.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "machine/program/addresses.h"

namespace coalesce::machine {

namespace {

// Basic blocks in loops, by component: two blocks are in one loop when they reach each other. Tarjan's algorithm.
class Loops {
 public:
  explicit Loops(const Decoded& p)
      : p_(p), index_(p.blocks.size()), low_(p.blocks.size()), of_(p.blocks.size(), kNone) {
    for (uint32_t b = 0; b < p.blocks.size(); ++b)
      if (p.blocks[b].reachable && !index_[b]) walk(b);
  }
  // The loop of the block; kNone: none.
  uint32_t of(uint32_t block) const { return looping_[of_[block]] ? of_[block] : kNone; }

 private:
  std::vector<uint32_t> successors(uint32_t b) const {
    std::vector<uint32_t> all;
    machine::successors(p_.blocks[b], [&](uint32_t s) { all.push_back(s); });
    return all;
  }
  void walk(uint32_t root) {
    struct Frame {
      uint32_t block;
      std::vector<uint32_t> next;
    };
    std::vector<Frame> frames;
    const auto enter = [&](uint32_t b) {
      index_[b] = low_[b] = ++count_;
      stack_.push_back(b);
      frames.push_back({b, successors(b)});
    };
    enter(root);
    while (!frames.empty()) {
      const uint32_t b = frames.back().block;
      if (!frames.back().next.empty()) {
        const uint32_t s = frames.back().next.back();
        frames.back().next.pop_back();
        if (!index_[s])
          enter(s);
        else if (of_[s] == kNone)
          low_[b] = std::min(low_[b], index_[s]);
        continue;
      }
      frames.pop_back();
      if (!frames.empty()) low_[frames.back().block] = std::min(low_[frames.back().block], low_[b]);
      if (low_[b] != index_[b]) continue;
      const std::vector<uint32_t> after = successors(b);
      bool loops = stack_.back() != b || std::find(after.begin(), after.end(), b) != after.end();
      uint32_t s;
      do {
        s = stack_.back();
        stack_.pop_back();
        of_[s] = static_cast<uint32_t>(looping_.size());
      } while (s != b);
      looping_.push_back(loops);
    }
  }
  const Decoded& p_;
  std::vector<uint32_t> index_, low_, of_, stack_;
  std::vector<bool> looping_;
  uint32_t count_ = 0;
};

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

namespace {

// Blocks that can be reached from `from` without going through `stop`.
std::vector<bool> reachable_from(const Decoded& p, uint32_t from, uint32_t stop) {
  std::vector<bool> seen(p.blocks.size());
  std::vector<uint32_t> todo;
  const auto add = [&](uint32_t b) {
    if (b != stop && !seen[b]) seen[b] = true, todo.push_back(b);
  };
  add(from);
  while (!todo.empty()) {
    const uint32_t b = todo.back();
    todo.pop_back();
    successors(p.blocks[b], add);
  }
  return seen;
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

namespace {

// Registers of instructions `loop` that decide where the block's last instruction goes on.
std::vector<bool> deciding(const Decoded& p, const std::vector<uint32_t>& loop, uint32_t block) {
  std::vector<bool> decides(p.registers.size());
  bool more = false;
  const auto add = [&](uint32_t reg) {
    if (reg != kNone && !decides[reg]) decides[reg] = more = true;
  };
  const auto add_value = [&](const Value& v) {
    if (v.is_reg()) add(v.reg);
  };
  const Instruction& last = p.code[p.blocks[block].last - 1];
  add(last.guard);
  if (last.kind == Kind::branch_table) add_value(last.sources[0]);
  while (std::exchange(more, false))
    for (const uint32_t k : loop) {
      const Instruction& i = p.code[k];
      const MemoryOp* m = i.memory == kNone ? nullptr : &p.memory[i.memory];
      const auto is = [&](uint32_t reg) { return reg != kNone && decides[reg]; };
      bool any =
          is(i.results[0]) || is(i.results[1]) || (i.kind == Kind::collective && std::ranges::any_of(i.targets, is));
      if (m) any = any || is(m->result);
      if (m && i.kind == Kind::load)
        any = any || std::ranges::any_of(m->values, [&](const Value& v) { return v.is_reg() && decides[v.reg]; });
      if (!any) continue;
      add(i.guard);
      for (const Value& v : i.sources) add_value(v);
      if (m) add_value(m->address);
      if (m && i.kind == Kind::atomic)
        for (const Value& v : m->values) add_value(v);
    }
  return decides;
}

// Strong loads in a loop that wait for what they read: its value decides whether they come again. What loads its way
// through an array ends by a count, and exchanges data.
void find_polls(const Decoded& p, const Loops& loops, std::vector<AccessRule>& rules) {
  std::map<uint32_t, std::vector<uint32_t>> blocks;
  for (uint32_t b = 0; b < p.blocks.size(); ++b)
    if (p.blocks[b].reachable && loops.of(b) != kNone) blocks[loops.of(b)].push_back(b);
  for (const auto& [loop, all] : blocks) {
    std::vector<uint32_t> code;
    for (const uint32_t b : all)
      for (uint32_t k = p.blocks[b].first; k < p.blocks[b].last; ++k) code.push_back(k);
    const auto has = [&](Kind kind) {
      return std::ranges::any_of(code, [&](uint32_t k) { return p.code[k].kind == kind; });
    };
    const auto may_poll = [&](uint32_t k) { return rules[k].kind == Kind::load && is_strong(rules[k]); };
    if (has(Kind::store) || std::ranges::none_of(code, may_poll)) continue;
    if (has(Kind::call)) {  // it may hand values on
      for (const uint32_t k : code) rules[k].polls = may_poll(k);
      continue;
    }
    for (const uint32_t d : all) {
      const Instruction& last = p.code[p.blocks[d].last - 1];
      if (last.guard == kNone && last.kind != Kind::branch_table) continue;
      const std::vector<bool> decides = deciding(p, code, d);
      std::vector<bool> again(p.blocks.size());  // before the ways of the branch meet
      successors(p.blocks[d], [&](uint32_t s) {
        const std::vector<bool> part = reachable_from(p, s, p.blocks[d].reconverge);
        for (uint32_t b = 0; b < p.blocks.size(); ++b) again[b] = again[b] || part[b];
      });
      for (const uint32_t b : all)
        for (uint32_t k = p.blocks[b].first; again[b] && k < p.blocks[b].last; ++k)
          if (may_poll(k))
            rules[k].polls =
                rules[k].polls || std::ranges::any_of(p.memory[p.code[k].memory].values,
                                                      [&](const Value& v) { return v.is_reg() && decides[v.reg]; });
    }
  }
}

}  // namespace

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
