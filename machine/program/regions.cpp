// Regions: what all warps of a thread block run, one warp after the other, before any goes on.
//
// In a lockstep block, instructions that compute block-uniform values run once per thread block, before the warps do
// ("hoisted"). That is right when no warp reads an earlier value of the same register within the region; where one does
// (a loop counter used and then increased in one block), the region is cut there.
#include <algorithm>
#include <set>

#include "machine/program/uses.h"

namespace coalesce::machine {

bool hoistable(const Decoded& p, const Instruction& i) {
  return i.kind == Kind::pure && i.guard == kNone && p.registers[i.results[0]].lanes <= LaneClass::block_uniform &&
         (i.results[1] == kNone || p.registers[i.results[1]].lanes <= LaneClass::block_uniform);
}

namespace {

// The divergent blocks that can run from `start` on before lanes meet in lockstep code again, and the lockstep blocks
// they come to.
struct Stretch {
  std::vector<uint32_t> inside, after;
};
Stretch stretch_from(const Decoded& p, const std::vector<uint32_t>& start) {
  Stretch s;
  std::vector<bool> seen(p.blocks.size());
  std::vector<uint32_t> todo;
  const auto push = [&](uint32_t b) {
    if (seen[b]) return;
    seen[b] = true;
    (p.blocks[b].divergent ? s.inside : s.after).push_back(b);
    if (p.blocks[b].divergent) todo.push_back(b);
  };
  for (uint32_t b : start) push(b);
  while (!todo.empty()) {
    const uint32_t b = todo.back();
    todo.pop_back();
    successors(p.blocks[b], push);
  }
  return s;
}

// The successors of a block of lockstep code (or of a divergent stretch entered at `b`) within lockstep code. A
// divergent block among the results is a stretch that all lanes enter together: a loop that they leave one by one.
std::vector<uint32_t> lockstep_successors(const Decoded& p, uint32_t b) {
  const BasicBlock& block = p.blocks[b];
  if (block.divergent) return stretch_from(p, {b}).after;
  if (block.divergent_branch)
    return block.reconverge == kNone ? std::vector<uint32_t>{} : std::vector<uint32_t>{block.reconverge};
  std::vector<uint32_t> s;
  successors(block, [&](uint32_t t) { s.push_back(t); });
  return s;
}

class Regions {
 public:
  explicit Regions(Decoded& p) : p_(p) {}

  void run() {
    // A stretch whose lanes come back to lockstep code at several places has no one place to wait for each other.
    find_entered();
    for (uint32_t b = 0; b < p_.blocks.size(); ++b)
      if (p_.blocks[b].reachable && p_.blocks[b].divergent && entered_[b] && stretch_from(p_, {b}).after.size() > 1)
        return make_general(p_);
    cut();
    form();
  }

 private:
  // Lockstep blocks, and divergent ones that lockstep code enters.
  bool on_top(uint32_t b) const { return p_.blocks[b].reachable && (!p_.blocks[b].divergent || entered_[b]); }

  void find_entered() {
    entered_.assign(p_.blocks.size(), false);
    entered_[0] = true;
    for (uint32_t b = 0; b < p_.blocks.size(); ++b)
      if (p_.blocks[b].reachable && !p_.blocks[b].divergent)
        for (uint32_t s : lockstep_successors(p_, b)) entered_[s] = true;
  }

  // A region begins at the entry, after a barrier or a cut, at both sides of a uniform branch, and where ways merge.
  void find_heads() {
    const std::size_t n = p_.blocks.size();
    head_.assign(n, false);
    std::vector<uint32_t> ways(n);
    head_[0] = true;
    for (uint32_t b = 0; b < n; ++b) {
      if (!on_top(b)) continue;
      const std::vector<uint32_t> next = lockstep_successors(p_, b);
      const bool barrier = p_.code[p_.blocks[b].last - 1].kind == Kind::barrier;
      for (uint32_t s : next) {
        ++ways[s];
        if (next.size() > 1 || barrier || cut_after_.contains(b)) head_[s] = true;
      }
    }
    for (uint32_t b = 0; b < n; ++b)
      if (ways[b] > 1) head_[b] = true;
  }

  uint32_t following(uint32_t b) const {
    const std::vector<uint32_t> next = lockstep_successors(p_, b);
    return next.size() == 1 && !head_[next[0]] ? next[0] : kNone;
  }

  // The first instruction of the region at `head` that, hoisted, would overwrite what a warp still reads: cut before
  // it.
  bool cut_region(uint32_t head) {
    std::vector<bool> read(p_.registers.size());
    const auto mark = [&](const Instruction& i) { each_read(p_, i, [&](uint32_t r) { read[r] = true; }); };
    for (uint32_t at = head; at != kNone; at = following(at)) {
      const BasicBlock& block = p_.blocks[at];
      for (uint32_t k = block.first; k < block.last; ++k) {
        const Instruction& i = p_.code[k];
        const bool uniform_branch = (i.kind == Kind::branch || i.kind == Kind::branch_table) && !block.divergent_branch;
        if (hoistable(p_, i)) {
          if (read[i.results[0]] || (i.results[1] != kNone && read[i.results[1]])) {
            split(at, k);
            return true;
          }
        } else if (!uniform_branch) {
          mark(i);
        }
      }
      std::vector<uint32_t> start;
      if (block.divergent)
        start = {at};
      else if (block.divergent_branch)
        successors(block, [&](uint32_t t) { start.push_back(t); });
      for (uint32_t d : stretch_from(p_, start).inside)
        for (uint32_t k = p_.blocks[d].first; k < p_.blocks[d].last; ++k) mark(p_.code[k]);
    }
    return false;
  }

  void cut() {
    for (bool again = true; again;) {
      again = false;
      find_heads();
      for (uint32_t b = 0, n = static_cast<uint32_t>(p_.blocks.size()); b < n; ++b)
        if (head_[b] && on_top(b) && cut_region(b)) again = true;
    }
  }

  // Block `b` becomes [first, k), followed by a new block [k, last) in which a region begins.
  void split(uint32_t b, uint32_t k) {
    if (p_.blocks[b].first == k) {  // nothing before it: the region ends with the block before
      for (uint32_t q = 0; q < p_.blocks.size(); ++q)
        if (on_top(q))
          for (uint32_t s : lockstep_successors(p_, q))
            if (s == b) cut_after_.insert(q);
      return;
    }
    const uint32_t added = static_cast<uint32_t>(p_.blocks.size());
    BasicBlock tail = p_.blocks[b];
    tail.first = k;
    tail.waits = false;
    BasicBlock& front = p_.blocks[b];
    front.last = k;
    front.taken = kNone;
    front.table.clear();
    front.reconverge = kNone;
    front.divergent_branch = false;
    front.next = added;
    p_.blocks.push_back(std::move(tail));
    entered_.push_back(true);
    head_.push_back(true);
    if (cut_after_.contains(b)) cut_after_.insert(added);
    cut_after_.insert(b);
  }

  void form() {
    find_heads();
    p_.region_of.assign(p_.blocks.size(), kNone);
    p_.regions.clear();
    for (uint32_t b = 0; b < p_.blocks.size(); ++b) {
      if (!head_[b] || !on_top(b)) continue;
      p_.region_of[b] = static_cast<uint32_t>(p_.regions.size());
      Region region;
      for (uint32_t at = b; at != kNone; at = following(at)) region.chain.push_back(at);
      const uint32_t last = region.chain.back();
      if (p_.blocks[last].divergent || p_.blocks[last].divergent_branch) {
        const std::vector<uint32_t> next = lockstep_successors(p_, last);
        if (!next.empty()) region.after = next[0];
      }
      p_.regions.push_back(std::move(region));
    }
  }

  Decoded& p_;
  std::vector<bool> head_, entered_;
  std::set<uint32_t> cut_after_;
};

}  // namespace

void make_general(Decoded& p) {
  for (Register& r : p.registers)
    if (r.builtin == Builtin::none) r.lanes = LaneClass::general;
  for (BasicBlock& b : p.blocks) b.divergent = b.divergent_branch = true;
  p.regions.clear();
  p.region_of.assign(p.blocks.size(), kNone);
  p.needs_general_mode = true;
}

void find_regions(Decoded& p) { Regions(p).run(); }

}  // namespace coalesce::machine
