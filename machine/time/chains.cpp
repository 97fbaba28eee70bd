#include "machine/time/chains.h"

#include <algorithm>
#include <optional>

#include "machine/program/uses.h"

namespace coalesce::machine {

namespace {

constexpr uint32_t kShort =
    8;  // instructions of a block that predicates can replace (read from ptxas' output for sm_90)
constexpr uint32_t kTurns = 4;      // of a loop in one (the same)
constexpr uint32_t kLongest = 600;  // instructions of an unrolled loop
// The same of a loop that loads, and how many loads a turn has at most (the same, by the length of the loop).
constexpr uint32_t kLongestLoading = 44, kMostLoads = 15;
constexpr std::size_t kLinks = kMostLinks / kTurns;

class Finder {
 public:
  explicit Finder(const Decoded& program) : p_(program), before_(program.blocks.size()) {
    for (const BasicBlock& b : p_.blocks) successors(b, [&](uint32_t s) { ++before_[s]; });
  }

  Chain once(uint32_t block) const;
  Chain unrolled(const Chain& once) const;

 private:
  // The only block that may come next.
  std::optional<uint32_t> only_next(uint32_t block) const {
    std::optional<uint32_t> found;
    bool several = false;
    successors(p_.blocks[block], [&](uint32_t s) { several = several || (found && *found != s), found = s; });
    return several ? std::nullopt : found;
  }
  bool is_short(uint32_t block) const;
  // Nothing keeps instructions of the two blocks apart.
  bool goes_on(uint32_t next, const BasicBlock& b) const {
    if (b.first == b.last || p_.blocks[next].waits) return false;
    const Kind last = p_.code[b.last - 1].kind;
    return last != Kind::barrier && last != Kind::call && last != Kind::function_call;
  }
  bool loops_to(uint32_t from, uint32_t to) const {
    bool found = false;
    successors(p_.blocks[from], [&](uint32_t s) { found = found || s == to; });
    return found;
  }

  const Decoded& p_;
  std::vector<uint32_t> before_;  // blocks that may come before
};

// A block with one way in and one out whose instructions can have predicates.
bool Finder::is_short(uint32_t block) const {
  const BasicBlock& b = p_.blocks[block];
  if (before_[block] != 1 || b.waits || b.last - b.first > 2 * kShort || !only_next(block)) return false;
  uint32_t counted = 0;
  for (uint32_t k = b.first; k < b.last; ++k) {
    const Instruction& i = p_.code[k];
    if (i.kind != Kind::pure && i.kind != Kind::load && i.kind != Kind::store && i.kind != Kind::branch) return false;
    counted += i.counts && i.kind != Kind::branch;
  }
  return counted <= kShort;
}

Chain Finder::once(uint32_t block) const {
  Chain c;
  c.links.push_back({.block = block});
  for (uint32_t at = block; c.links.size() + 3 <= kLinks;) {
    const BasicBlock& b = p_.blocks[at];
    // A block that comes next whatever happens, and after this one alone, is part of it.
    if (const auto next = only_next(at); next && *next != block && before_[*next] == 1 && goes_on(*next, b)) {
      c.links.push_back({.block = *next});
      at = *next;
      continue;
    }
    if (b.taken == kNone || b.next == kNone || b.taken == b.next || !b.table.empty()) break;
    // One short side, or two, that come to where both ways meet.
    const bool first = is_short(b.next), second = is_short(b.taken);
    const std::optional<uint32_t> beyond = only_next(b.next);
    uint32_t meet = kNone;
    std::vector<uint32_t> sides;
    if (first && beyond == b.taken && before_[b.taken] == 2)
      meet = b.taken, sides = {b.next};
    else if (second && only_next(b.taken) == b.next && before_[b.next] == 2)
      meet = b.next, sides = {b.taken};
    else if (first && second && beyond && beyond == only_next(b.taken) && before_[*beyond] == 2)
      meet = *beyond, sides = {b.next, b.taken};
    if (meet == kNone || meet == block) break;
    for (const uint32_t s : sides) c.links.push_back({.block = s, .optional = true});
    c.links.push_back({.block = meet});
    at = meet;
  }
  return c;
}

// ptxas unrolls loops whose counter changes by a constant and is compared with what does not change (read from its
// output for sm_90), unless a pragma keeps the loop.
Chain Finder::unrolled(const Chain& once) const {
  const uint32_t head = once.links.front().block, last = once.links.back().block;
  const BasicBlock& end = p_.blocks[last];
  if (!loops_to(last, head) || end.first == end.last) return {};
  struct Written {
    uint32_t by = kNone, times = 0;
  };
  std::vector<std::pair<uint32_t, Written>> written;
  uint32_t number = 0, loads = 0, stores = 0;
  const auto of = [&](uint32_t r) -> Written* {
    const auto at = std::find_if(written.begin(), written.end(), [&](const auto& w) { return w.first == r; });
    return at == written.end() ? nullptr : &at->second;
  };
  for (const Link& l : once.links)
    for (uint32_t k = p_.blocks[l.block].first; k < p_.blocks[l.block].last; ++k) {
      const Instruction& i = p_.code[k];
      ++number;
      if (i.keeps_loop || i.kind == Kind::atomic || i.kind == Kind::barrier || i.kind == Kind::call ||
          i.kind == Kind::function_call)
        return {};
      loads += i.kind == Kind::load;
      stores += i.kind == Kind::store;
      each_written(p_, i, [&](uint32_t r) {
        if (Written* w = of(r))
          w->by = k, ++w->times;
        else
          written.push_back({r, {k, 1}});
      });
    }
  if (number * kTurns > kLongest || (loads + stores > 0 && number > kLongestLoading) || loads > kMostLoads) return {};
  const uint32_t branch = end.last - 1;
  if (p_.code[branch].kind != Kind::branch) return {};
  uint32_t condition = kNone, reads = 0;
  each_read(p_, p_.code[branch], [&](uint32_t r) { condition = r, ++reads; });
  const Written* const by = condition == kNone || reads != 1 ? nullptr : of(condition);
  if (!by || by->times != 1) return {};
  const Instruction& compares = p_.code[by->by];
  if (compares.kind != Kind::pure || !compares.pure || compares.pure->operation.opcode != isa::Opcode::setp) return {};
  // One of its operands is the counter.
  uint32_t counter = kNone;
  for (const Value& v : compares.sources) {
    if (!v.is_reg() || !of(v.reg)) continue;
    if (counter != kNone) return {};
    counter = v.reg;
  }
  if (counter == kNone || of(counter)->times != 1) return {};
  const Instruction& steps = p_.code[of(counter)->by];
  if (steps.kind != Kind::pure || !steps.pure || steps.guard != kNone ||
      (steps.pure->operation.opcode != isa::Opcode::add && steps.pure->operation.opcode != isa::Opcode::sub) ||
      !isa::is_integer(steps.pure->operation.type))
    return {};
  bool itself = false;
  for (const Value& v : steps.sources) {
    if (!v.is_reg()) continue;
    if (v.reg != counter) return {};
    itself = true;
  }
  if (!itself) return {};
  Chain c;
  c.turns = kTurns;
  c.counts = {branch, by->by, of(counter)->by};
  for (uint32_t t = 0; t < kTurns; ++t)
    for (Link l : once.links) {
      l.turn = t;
      c.links.push_back(l);
    }
  return c;
}

}  // namespace

Chains find_chains(const Decoded& program) {
  const Finder finder(program);
  Chains out;
  for (uint32_t b = 0; b < program.blocks.size(); ++b) {
    out.once.push_back(finder.once(b));
    out.unrolled.push_back(finder.unrolled(out.once.back()));
  }
  return out;
}

}  // namespace coalesce::machine
