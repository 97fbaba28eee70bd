#include "machine/time/rounds.h"

#include <unordered_map>

#include "machine/program/uses.h"

namespace coalesce::machine {

namespace {

bool is_far(const Decoded& p, const Instruction& i) {
  if (i.memory == kNone) return false;
  const AddressSpace space = p.memory[i.memory].space;
  return space == AddressSpace::global || space == AddressSpace::generic;
}

bool stores_far(const Decoded& p, const BasicBlock& b) {
  for (uint32_t k = b.first; k < b.last; ++k)
    if (p.code[k].kind == Kind::store && is_far(p, p.code[k])) return true;
  return false;
}

using Edges = std::vector<std::vector<uint32_t>>;

std::vector<bool> reached(const Edges& edges, uint32_t from) {
  std::vector<bool> seen(edges.size());
  std::vector<uint32_t> next{from};
  while (!next.empty()) {
    const uint32_t b = next.back();
    next.pop_back();
    for (const uint32_t s : edges[b])
      if (!seen[s]) seen[s] = true, next.push_back(s);
  }
  return seen;
}

// Marks the loads that ways out of the loop depend on.
void mark(const Decoded& p, const Edges& after, const std::vector<bool>& loop, std::vector<bool>& found) {
  std::unordered_map<uint32_t, std::vector<uint32_t>> writers;
  std::vector<uint32_t> next;  // registers
  for (uint32_t b = 0; b < p.blocks.size(); ++b) {
    if (!loop[b]) continue;
    const BasicBlock& block = p.blocks[b];
    for (uint32_t k = block.first; k < block.last; ++k)
      each_written(p, p.code[k], [&](uint32_t r) { writers[r].push_back(k); });
    bool out = false;
    for (const uint32_t s : after[b]) out = out || !loop[s];
    if (out && block.first != block.last && p.code[block.last - 1].guard != kNone)
      next.push_back(p.code[block.last - 1].guard);
  }
  std::vector<bool> known(p.registers.size());
  while (!next.empty()) {
    const uint32_t r = next.back();
    next.pop_back();
    const auto by = writers.find(r);
    if (known[r] || by == writers.end()) continue;
    known[r] = true;
    for (const uint32_t k : by->second) {
      const Instruction& i = p.code[k];
      if (i.kind == Kind::load && is_far(p, i)) found[k] = true;
      each_read(p, i, [&](uint32_t read) { next.push_back(read); });
    }
  }
}

}  // namespace

std::vector<bool> find_deciding_loads(const Decoded& p) {
  std::vector<bool> found(p.code.size());
  const auto blocks = static_cast<uint32_t>(p.blocks.size());
  Edges after(blocks), before(blocks);
  for (uint32_t b = 0; b < blocks; ++b)
    successors(p.blocks[b], [&](uint32_t s) { after[b].push_back(s), before[s].push_back(b); });
  std::vector<bool> done(blocks);
  for (uint32_t b = 0; b < blocks; ++b) {
    if (done[b] || !stores_far(p, p.blocks[b])) continue;
    std::vector<bool> loop = reached(after, b);
    if (!loop[b]) continue;
    const std::vector<bool> back = reached(before, b);
    for (uint32_t k = 0; k < blocks; ++k) {
      loop[k] = loop[k] && back[k];
      done[k] = done[k] || loop[k];
    }
    mark(p, after, loop, found);
  }
  return found;
}

}  // namespace coalesce::machine
