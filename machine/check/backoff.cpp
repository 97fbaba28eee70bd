#include "machine/check/backoff.h"

#include <algorithm>
#include <set>
#include <utility>

#include "machine/program/uses.h"

namespace coalesce::machine {
namespace {

using Blocks = std::vector<bool>;

// Blocks that come behind `from`; `stop` is not gone through.
Blocks behind(const Decoded& p, uint32_t from, uint32_t stop) {
  Blocks seen(p.blocks.size());
  std::vector<uint32_t> todo{from};
  while (!todo.empty()) {
    const uint32_t b = todo.back();
    todo.pop_back();
    successors(p.blocks[b], [&](uint32_t s) {
      if (s != stop && !seen[s]) seen[s] = true, todo.push_back(s);
    });
  }
  return seen;
}

class Finder {
 public:
  explicit Finder(const Decoded& p) : p_(p), timed_(p.registers.size()) {
    for (const Instruction& i : p.code)
      if (i.kind == Kind::clock) each_written(p, i, [&](uint32_t r) { timed_[r] = true; });
    spread();
  }

  // The blocks of the loop around `block`, if the clock decides nothing but its own way within it. Registers that it
  // decides about become timed, too.
  bool waits_only(const Blocks& loop) {
    for (bool again = true; std::exchange(again, false);)
      for (uint32_t b = 0; b < p_.blocks.size(); ++b) {
        if (!loop[b]) continue;
        if (acts_by_time(b)) return false;
        const Instruction& last = p_.code[p_.blocks[b].last - 1];
        if (!reads_time(last)) continue;
        if (last.kind != Kind::branch || !stays(b, loop, again)) return false;
      }
    return true;
  }
  bool timed(uint32_t reg) const { return timed_[reg]; }

 private:
  void spread() {
    for (bool again = true; std::exchange(again, false);)
      for (const Instruction& i : p_.code)
        if (reads_time(i)) again = mark(i) || again;
  }
  bool mark(const Instruction& i) {
    bool any = false;
    each_written(p_, i, [&](uint32_t r) {
      any = any || !timed_[r];
      timed_[r] = true;
    });
    return any;
  }
  bool reads_time(const Instruction& i) const {
    bool any = false;
    each_read(p_, i, [&](uint32_t r) { any = any || timed_[r]; });
    return any;
  }
  static bool computes(const Instruction& i) {
    return i.kind == Kind::pure || i.kind == Kind::clock || i.kind == Kind::nothing || i.kind == Kind::branch;
  }
  bool acts_by_time(uint32_t block) const {
    for (uint32_t k = p_.blocks[block].first; k < p_.blocks[block].last; ++k)
      if (!computes(p_.code[k]) && reads_time(p_.code[k])) return true;
    return false;
  }
  // The ways of the block's branch meet in the loop, and nothing is done on them but to compute.
  bool stays(uint32_t block, const Blocks& loop, bool& again) {
    const uint32_t meet = p_.blocks[block].reconverge;
    if (meet == kNone || !loop[meet]) return false;
    const Blocks ways = behind(p_, block, meet);
    for (uint32_t b = 0; b < p_.blocks.size(); ++b) {
      if (!ways[b]) continue;
      if (!loop[b]) return false;
      for (uint32_t k = p_.blocks[b].first; k < p_.blocks[b].last; ++k) {
        if (!computes(p_.code[k])) return false;
        if (mark(p_.code[k])) again = true;
      }
    }
    if (again) spread();
    return true;
  }

  const Decoded& p_;
  std::vector<bool> timed_;
};

}  // namespace

Backoffs::Backoffs(const Decoded& p) {
  const auto ticks = [&](const BasicBlock& b) {
    return b.reachable && std::any_of(p.code.begin() + b.first, p.code.begin() + b.last,
                                      [](const Instruction& i) { return i.kind == Kind::clock; });
  };
  if (p.has_calls) return;
  Blocks known(p.blocks.size());
  for (uint32_t c = 0; c < p.blocks.size(); ++c) {
    if (known[c] || !ticks(p.blocks[c])) continue;
    Blocks loop = behind(p, c, kNone);
    if (!loop[c]) continue;
    for (uint32_t b = 0; b < p.blocks.size(); ++b) loop[b] = loop[b] && behind(p, b, kNone)[c];
    Finder finder(p);
    const bool waits = finder.waits_only(loop);
    states_.resize(p.blocks.size());
    for (uint32_t b = 0; b < p.blocks.size(); ++b) {
      if (!loop[b]) continue;
      known[b] = true;
      if (!waits) continue;
      std::set<uint32_t> live;
      each_read(p, p.code[p.blocks[b].last - 1], [&](uint32_t r) { live.insert(r); });
      successors(p.blocks[b],
                 [&](uint32_t to) { live.insert(p.blocks[to].live_in.begin(), p.blocks[to].live_in.end()); });
      std::erase_if(live, [&](uint32_t r) { return finder.timed(r); });
      states_[b].assign(live.begin(), live.end());
    }
  }
}

}  // namespace coalesce::machine
