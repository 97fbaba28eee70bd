#include "machine/time/polls.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "machine/program/uses.h"

namespace coalesce::machine {

namespace {

bool far(const MemoryOp& m) { return m.space == AddressSpace::global || m.space == AddressSpace::generic; }

// An access that can be repeated until another thread has written what it reads.
bool may_poll(const Decoded& p, const Instruction& i) {
  if (i.kind != Kind::load && i.kind != Kind::atomic) return false;
  const MemoryOp& m = p.memory[i.memory];
  if (!far(m)) return false;
  if (i.kind == Kind::load) return m.is_volatile;
  if (!m.returns || !m.values[0].is_constant()) return false;
  const bool zero = m.values[0].bits == 0;
  return m.op == AtomicOp::exch ||
         (zero && (m.op == AtomicOp::add || m.op == AtomicOp::or_ || m.op == AtomicOp::xor_ || m.op == AtomicOp::max));
}

// The blocks of the shortest way from a block back to it; none if there is no way.
std::vector<uint32_t> shortest_loop(const Decoded& p, uint32_t block) {
  std::map<uint32_t, uint32_t> from;
  std::deque<uint32_t> next{block};
  while (!next.empty()) {
    const uint32_t b = next.front();
    next.pop_front();
    bool back = false;
    successors(p.blocks[b], [&](uint32_t s) {
      back = back || s == block;
      if (s != block && from.emplace(s, b).second) next.push_back(s);
    });
    if (!back) continue;
    std::vector<uint32_t> loop{b};
    while (loop.back() != block) loop.push_back(from.at(loop.back()));
    return loop;
  }
  return {};
}

// The loop with both sides of the branches in it: a pause that is a sleep or a fence, say. A side belongs to it if no
// way from there ends the kernel before it comes back. Cost: one walk over the kernel's blocks.
std::set<uint32_t> with_sides(const Decoded& p, const std::vector<uint32_t>& shortest) {
  std::set<uint32_t> loop(shortest.begin(), shortest.end());
  std::vector<std::vector<uint32_t>> before(p.blocks.size());
  std::vector<bool> ends(p.blocks.size());  // some way from the block, past the loop, ends the kernel
  std::vector<uint32_t> next;
  for (uint32_t b = 0; b < p.blocks.size(); ++b) {
    bool last = true;
    successors(p.blocks[b], [&](uint32_t s) { last = false, before[s].push_back(b); });
    if (last) ends[b] = true, next.push_back(b);
  }
  const auto take = [&] {
    const uint32_t b = next.back();
    next.pop_back();
    return b;
  };
  while (!next.empty())
    for (const uint32_t b : before[take()])
      if (!ends[b] && !loop.contains(b)) ends[b] = true, next.push_back(b);
  next = shortest;
  while (!next.empty())
    successors(p.blocks[take()], [&](uint32_t s) {
      if (!ends[s] && loop.insert(s).second) next.push_back(s);
    });
  return loop;
}

class Loop {
 public:
  Loop(const Decoded& p, std::set<uint32_t> blocks) : p_(p), blocks_(std::move(blocks)) {
    for (const uint32_t b : blocks_)
      for (uint32_t k = p_.blocks[b].first; k < p_.blocks[b].last; ++k)
        each_written(p_, p_.code[k], [&](uint32_t r) { writers_[r].push_back(k); });
  }

  // Whether `poll`, one of its accesses, is what each way out depends on, and nothing that the loop itself changes.
  bool waits_for(uint32_t poll) const {
    const Value& address = p_.memory[p_.code[poll].memory].address;
    if (address.is_reg() && writers_.contains(address.reg)) return false;
    bool leaves = false;
    for (const uint32_t b : blocks_) {
      const BasicBlock& block = p_.blocks[b];
      for (uint32_t k = block.first; k < block.last; ++k)
        if (k != poll && does_more(p_.code[k])) return false;
      bool out = false;
      successors(block, [&](uint32_t s) { out = out || !blocks_.contains(s); });
      if (!out) continue;
      const Instruction& branch = p_.code[block.last - 1];
      std::vector<uint32_t> path;
      std::set<uint32_t> known;
      bool polled = false;
      if (branch.guard == kNone || !steady(branch.guard, poll, path, known, polled) || !polled) return false;
      leaves = true;
    }
    return leaves;
  }

 private:
  static bool does_more(const Instruction& i) {
    return i.kind == Kind::store || i.kind == Kind::atomic || i.kind == Kind::barrier || i.kind == Kind::call ||
           i.kind == Kind::function_call || i.kind == Kind::collective || i.kind == Kind::unknown;
  }
  // False if the register depends on its own value of the round before. `polled` is set if it depends on the access.
  // Registers in `known` have been looked at, so that each is once.
  bool steady(uint32_t reg, uint32_t poll, std::vector<uint32_t>& path, std::set<uint32_t>& known, bool& polled) const {
    if (std::find(path.begin(), path.end(), reg) != path.end()) return false;
    const auto found = writers_.find(reg);
    if (found == writers_.end() || known.contains(reg)) return true;
    path.push_back(reg);
    bool all = path.size() < kDeepest;
    for (const uint32_t k : found->second) {
      if (k == poll) {
        polled = true;
        continue;
      }
      each_read(p_, p_.code[k], [&](uint32_t r) { all = all && steady(r, poll, path, known, polled); });
    }
    path.pop_back();
    known.insert(reg);
    return all;
  }

  static constexpr std::size_t kDeepest = 16;  // operations between the access and the branch: a comparison, a shift
  const Decoded& p_;
  const std::set<uint32_t> blocks_;
  std::map<uint32_t, std::vector<uint32_t>> writers_;
};

}  // namespace

bool waits_for_words(const Decoded& p) {
  for (uint32_t b = 0; b < p.blocks.size(); ++b) {
    const BasicBlock& block = p.blocks[b];
    std::vector<uint32_t> polls;
    for (uint32_t k = block.first; k < block.last; ++k)
      if (block.reachable && may_poll(p, p.code[k])) polls.push_back(k);
    if (polls.empty()) continue;
    const Loop loop(p, with_sides(p, shortest_loop(p, b)));
    if (std::any_of(polls.begin(), polls.end(), [&](uint32_t k) { return loop.waits_for(k); })) return true;
  }
  return false;
}

}  // namespace coalesce::machine
