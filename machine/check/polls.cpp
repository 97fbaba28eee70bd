// Loads that poll: their value decides whether they come again.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "machine/check/loops.h"
#include "machine/check/rules.h"
#include "machine/program/addresses.h"
#include "machine/program/uses.h"

namespace coalesce::machine {

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

// Instructions of a kernel's blocks.
std::vector<uint32_t> code_of(const Decoded& p, const std::vector<uint32_t>& blocks) {
  std::vector<uint32_t> code;
  for (const uint32_t b : blocks)
    for (uint32_t k = p.blocks[b].first; k < p.blocks[b].last; ++k) code.push_back(k);
  return code;
}
bool may_wait(const AccessRule& r) { return r.kind == Kind::load && is_strong(r); }
bool decided_by(const Decoded& p, uint32_t load, const std::vector<bool>& decides) {
  return std::ranges::any_of(p.memory[p.code[load].memory].values,
                             [&](const Value& v) { return v.is_reg() && decides[v.reg]; });
}
// The blocks on the ways of the block's branch, before they meet.
std::vector<bool> ways_of(const Decoded& p, uint32_t block) {
  std::vector<bool> all(p.blocks.size());
  successors(p.blocks[block], [&](uint32_t s) {
    const std::vector<bool> part = reachable_from(p, s, p.blocks[block].reconverge);
    for (uint32_t b = 0; b < p.blocks.size(); ++b) all[b] = all[b] || part[b];
  });
  return all;
}

// Strong loads in a loop without stores that wait for what they read: its value decides whether they come again. What
// loads its way through an array ends by a count, and exchanges data. `inner`: the loop lies in one with stores; its
// loads wait if each round loads from the same place.
void find_polls(const Decoded& p, const std::vector<uint32_t>& loop, bool inner, std::vector<AccessRule>& rules) {
  const std::vector<uint32_t> code = code_of(p, loop);
  if (std::ranges::none_of(code, [&](uint32_t k) { return may_wait(rules[k]); })) return;
  if (std::ranges::any_of(code, [&](uint32_t k) { return p.code[k].kind == Kind::call; })) {  // it may hand values on
    for (const uint32_t k : code) rules[k].polls = rules[k].polls || (!inner && may_wait(rules[k]));
    return;
  }
  std::vector<bool> changes(p.registers.size());
  for (const uint32_t k : code) each_written(p, p.code[k], [&](uint32_t r) { changes[r] = true; });
  const auto waits = [&](uint32_t k) {
    const Value& at = p.memory[p.code[k].memory].address;
    return !inner || !at.is_reg() || !changes[at.reg];
  };
  for (const uint32_t d : loop) {
    const Instruction& last = p.code[p.blocks[d].last - 1];
    if (last.guard == kNone && last.kind != Kind::branch_table) continue;
    const std::vector<bool> decides = deciding(p, code, d), again = ways_of(p, d);
    for (const uint32_t b : loop)
      for (uint32_t k = p.blocks[b].first; again[b] && k < p.blocks[b].last; ++k)
        if (may_wait(rules[k]) && waits(k)) rules[k].polls = rules[k].polls || decided_by(p, k, decides);
  }
}

// A load that decides whether a loop begins that polls the same place: compilers put the first round before the loop.
void find_first_rounds(const Decoded& p, std::vector<AccessRule>& rules) {
  std::vector<uint32_t> first;
  const Addresses addresses(p);
  const auto place = [&](const MemoryOp& m) {
    const AddressSum sum = addresses.sum(m);
    return std::make_tuple(sum.terms, sum.constant, m.width, m.space);
  };
  for (uint32_t d = 0; d < p.blocks.size(); ++d) {
    const BasicBlock& block = p.blocks[d];
    if (!block.reachable || p.code[block.last - 1].guard == kNone) continue;
    const std::vector<uint32_t> code = code_of(p, {d});
    std::vector<bool> decides, ways;
    for (const uint32_t k : code) {
      if (!may_wait(rules[k]) || rules[k].polls) continue;
      if (decides.empty()) decides = deciding(p, code, d), ways = ways_of(p, d);
      if (!decided_by(p, k, decides)) continue;
      const auto here = place(p.memory[p.code[k].memory]);
      const auto same = [&](uint32_t other) {
        return rules[other].polls && place(p.memory[p.code[other].memory]) == here;
      };
      for (uint32_t b = 0; b < p.blocks.size(); ++b)
        if (ways[b] && std::ranges::any_of(code_of(p, {b}), same)) {
          first.push_back(k);
          break;
        }
    }
  }
  for (const uint32_t k : first) rules[k].polls = true;
}

std::map<uint32_t, std::vector<uint32_t>> blocks_of(const Decoded& p, const Loops& loops) {
  std::map<uint32_t, std::vector<uint32_t>> blocks;
  for (uint32_t b = 0; b < p.blocks.size(); ++b)
    if (p.blocks[b].reachable && loops.of(b) != kNone) blocks[loops.of(b)].push_back(b);
  return blocks;
}

}  // namespace

void find_polls(const Decoded& p, const Loops& loops, std::vector<AccessRule>& rules) {
  std::vector<bool> stores(p.blocks.size());
  for (uint32_t b = 0; b < p.blocks.size(); ++b)
    stores[b] = std::ranges::any_of(code_of(p, {b}), [&](uint32_t k) { return p.code[k].kind == Kind::store; });
  const auto all = blocks_of(p, loops);
  const auto has_stores = [&](const std::vector<uint32_t>& loop) {
    return std::ranges::any_of(loop, [&](uint32_t b) { return stores[b]; });
  };
  for (const auto& [loop, blocks] : all)
    if (!has_stores(blocks)) find_polls(p, blocks, false, rules);
  const Loops without(p, stores);
  for (const auto& [loop, blocks] : blocks_of(p, without))
    if (loops.of(blocks[0]) != kNone && has_stores(all.at(loops.of(blocks[0])))) find_polls(p, blocks, true, rules);
  if (std::ranges::any_of(rules, &AccessRule::polls)) find_first_rounds(p, rules);
}

}  // namespace coalesce::machine
