#include "native/analyse/region_registers.h"

#include "machine/program/uses.h"
#include "native/analyse/shared_access.h"

namespace coalesce::native {

using machine::Builtin;
using machine::Kind;
using machine::kLanes;

RegionRegisters find_region_registers(const Registers& registers, const RegionPlan& plan, uint32_t r) {
  const Decoded& p = registers.program();
  RegionRegisters found;
  const machine::Region& region = p.regions[r];
  for (std::vector<bool>* set : {&found.read, &found.written, &found.left}) set->assign(p.registers.size(), false);
  const auto mark = [&](std::vector<bool>& set, uint32_t reg) {
    if (reg != kNone && p.registers[reg].builtin == Builtin::none && !registers.is_block_level(reg)) set[reg] = true;
  };
  for (uint32_t b : plan.blocks)
    for (uint32_t k = p.blocks[b].first; k < p.blocks[b].last; ++k) {
      const Instruction& i = p.code[k];
      machine::each_read(p, i, [&](uint32_t reg) { mark(found.read, reg); });
      machine::each_written(p, i, [&](uint32_t reg) { mark(found.written, reg); });
    }
  const auto out = [&](uint32_t b) {
    for (uint32_t reg : p.blocks[b].live_in) found.left[reg] = found.written[reg];
  };
  const machine::BasicBlock& last = p.blocks[region.chain.back()];
  if (!last.divergent && !last.divergent_branch)
    machine::successors(last, out);
  else if (region.after != kNone)
    out(region.after);
  return found;
}

namespace {

unsigned bits_of(Element e) {
  switch (e) {
    case Element::pred:
      return 1;
    case Element::b32:
      return 32;
    case Element::b64:
      return 64;
    case Element::b128:
      return 128;
    default:
      return 16;
  }
}

}  // namespace

uint32_t find_warps_at_once(const Registers& registers, const RegionRegisters& region_registers, const RegionPlan& plan,
                            unsigned vector_bits) {
  const Decoded& p = registers.program();
  if (plan.exits || !plan.scopes.empty()) return 0;
  for (uint32_t b : plan.blocks) {
    if (p.blocks[b].divergent || p.blocks[b].divergent_branch) return 0;
    for (uint32_t k = p.blocks[b].first; k < p.blocks[b].last; ++k) {
      const Instruction& i = p.code[k];
      if (i.kind == Kind::nothing || i.kind == Kind::branch || i.kind == Kind::barrier) continue;
      if (i.guard != kNone) return 0;
      if (i.kind != Kind::pure && !(i.kind == Kind::load && is_order_free(p, p.memory[i.memory]))) return 0;
    }
  }
  // A warp's vectors must fit the CPU's registers.
  unsigned bits = 0;
  for (uint32_t reg = 0; reg < p.registers.size(); ++reg)
    if ((region_registers.left[reg] || region_registers.read[reg]) && !registers.is_scalar(reg) &&
        !p.registers[reg].block_local)
      bits += kLanes * bits_of(p.registers[reg].element);
  uint32_t n = kMostWarpsAtOnce;
  while (n > 1 && (n > registers.warps() || n * bits > vector_bits / 2)) n /= 2;
  return bits == 0 || n == 1 ? 0 : n;
}

}  // namespace coalesce::native
