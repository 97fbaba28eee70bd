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

}  // namespace

std::vector<bool> find_swaps(const Decoded& p) {
  std::vector<bool> found(p.code.size());
  for (uint32_t b = 0; b < p.blocks.size(); ++b)
    for (uint32_t k = p.blocks[b].first; k < p.blocks[b].last; ++k) {
      if (!is_swap(p, p.code[k]) || !loops(p, b)) continue;
      found[k] = true;
      const MemoryOp& swap = p.memory[p.code[k].memory];
      for (uint32_t l = 0; l < p.code.size(); ++l) {
        if (p.code[l].kind != Kind::load) continue;
        const MemoryOp& load = p.memory[p.code[l].memory];
        if (load.offset == swap.offset && load.address.kind == swap.address.kind &&
            load.address.reg == swap.address.reg && load.address.bits == swap.address.bits)
          found[l] = true;
      }
    }
  return found;
}

}  // namespace coalesce::machine
