#include "machine/time/swaps.h"

namespace coalesce::machine {

namespace {

// Whether the block can come again.
bool loops(const Decoded& p, uint32_t block) {
  std::vector<bool> seen(p.blocks.size());
  std::vector<uint32_t> next{block};
  while (!next.empty()) {
    const BasicBlock& b = p.blocks[next.back()];
    next.pop_back();
    bool again = false;
    successors(b, [&](uint32_t s) {
      again = again || s == block;
      if (seen[s]) return;
      seen[s] = true;
      next.push_back(s);
    });
    if (again) return true;
  }
  return false;
}

bool is_swap(const Decoded& p, const Instruction& i) {
  if (i.kind != Kind::atomic) return false;
  const MemoryOp& m = p.memory[i.memory];
  if (m.op != AtomicOp::cas || m.space == AddressSpace::shared) return false;
  return !m.address.is_reg() || p.registers[m.address.reg].lanes <= LaneClass::warp_uniform;
}

// For each register the one that it is a copy of, through any number of moves; itself where it is none.
std::vector<uint32_t> origins(const Decoded& p) {
  std::vector<uint32_t> of(p.registers.size());
  for (uint32_t r = 0; r < of.size(); ++r) of[r] = r;
  for (const Instruction& i : p.code) {
    if (i.kind != Kind::pure || !i.pure || i.pure->operation.opcode != isa::Opcode::mov || i.results[0] == kNone)
      continue;
    if (i.sources[0].is_reg()) of[i.results[0]] = of[i.sources[0].reg];
  }
  return of;
}

}  // namespace

std::vector<bool> find_swaps(const Decoded& p) {
  std::vector<bool> found(p.code.size());
  const std::vector<uint32_t> of = origins(p);
  const auto same = [&](const Value& a, const Value& b) {
    return a.is_reg() && b.is_reg() ? of[a.reg] == of[b.reg] : a.kind == b.kind && a.bits == b.bits;
  };
  for (uint32_t b = 0; b < p.blocks.size(); ++b)
    for (uint32_t k = p.blocks[b].first; k < p.blocks[b].last; ++k) {
      if (!is_swap(p, p.code[k]) || !loops(p, b)) continue;
      found[k] = true;
      const MemoryOp& swap = p.memory[p.code[k].memory];
      for (uint32_t l = 0; l < p.code.size(); ++l) {
        if (p.code[l].kind != Kind::load) continue;
        const MemoryOp& load = p.memory[p.code[l].memory];
        if (load.offset == swap.offset && same(load.address, swap.address)) found[l] = true;
      }
    }
  return found;
}

}  // namespace coalesce::machine
