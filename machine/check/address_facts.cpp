#include "machine/check/address_facts.h"

#include <algorithm>
#include <cstring>

#include "machine/check/provenance.h"
#include "machine/check/shadow.h"
#include "machine/execute/launch.h"
#include "machine/program/uses.h"

namespace coalesce::machine {

namespace {

// visit(register, offset) for each 8 bytes of the kernel's parameters that are read: as builtin values, and as clang
// reads structures, by loads whose address is a constant in a register.
template <class Visit>
void each_parameter(const Decoded& p, Visit visit) {
  for (uint32_t r = 0; r < p.registers.size(); ++r)
    if (p.registers[r].builtin == Builtin::parameter && p.registers[r].parameter_size == sizeof(uint64_t))
      visit(r, p.registers[r].parameter_offset);
  std::vector<const Instruction*> writer(p.registers.size());
  std::vector<uint32_t> writers(p.registers.size());
  for (const Instruction& i : p.code) each_written(p, i, [&](uint32_t r) { writer[r] = &i, ++writers[r]; });
  for (const Instruction& i : p.code) {
    if (i.kind != Kind::load || p.memory[i.memory].space != AddressSpace::param) continue;
    const MemoryOp& m = p.memory[i.memory];
    Value at = m.address;
    while (at.is_reg() && writers[at.reg] == 1 && writer[at.reg]->kind == Kind::pure &&
           writer[at.reg]->guard == kNone && writer[at.reg]->pure->operation.opcode == isa::Opcode::mov)
      at = writer[at.reg]->sources[0];
    if (!at.is_constant() || m.width != sizeof(uint64_t)) continue;
    for (uint32_t e = 0; e < m.count; ++e)
      if (m.values[e].is_reg() && writers[m.values[e].reg] == 1)
        visit(m.values[e].reg, at.bits + static_cast<uint64_t>(m.offset) + e * sizeof(uint64_t));
  }
}

}  // namespace

AddressFacts::AddressFacts(const Launch& launch, bool agents) : launch_(launch) {
  find_bounds();
  find_written(agents);
  find_padding();
}

void AddressFacts::find_bounds() {
  const Decoded& p = *launch_.program;
  std::vector<const Allocation*> target(p.registers.size());
  std::vector<Pointer> pointers(p.registers.size());
  each_parameter(p, [&](uint32_t r, uint64_t offset) {
    uint64_t value = 0;
    if (!launch_.parameters || offset > launch_.parameters->size() ||
        launch_.parameters->size() - offset < sizeof value)
      return;
    std::memcpy(&value, launch_.parameters->data() + offset, sizeof value);
    target[r] = launch_.memory->find(value);
    // A range that the host has registered may touch another such range, whose end is then its beginning.
    if (target[r] && target[r]->origin != Origin::host) {
      pointers[r] = Pointer::of_allocation;
    } else if (may_be_address(value)) {
      pointers[r] = Pointer::elsewhere;
    }
  });
  std::vector<const Allocation*> variables;
  const auto variable = [&](uint64_t address) {
    const Allocation* a = launch_.memory->find(address);
    if (!a || a->origin != Origin::variable) return kNone;
    const auto number = static_cast<uint32_t>(std::ranges::find(variables, a) - variables.begin());
    if (number == variables.size()) variables.push_back(a);
    return number;
  };
  std::map<uint32_t, uint32_t> numbers;  // of registers that are roots
  for (const Root& root : find_roots(p, pointers, variable)) {
    Bounds& b = bounds_.emplace_back();
    const bool loaded = root.kind == Root::Kind::loaded;
    pointer_of_.push_back(loaded ? numbers.emplace(root.index, static_cast<uint32_t>(numbers.size())).first->second
                                 : kNone);
    if (root.kind == Root::Kind::array) {
      const ArrayVariable& a = p.arrays[root.index];
      b = {false, a.space, a.offset, a.size ? a.offset + a.size : uint64_t{launch_.shared_bytes}};
    } else if (root.kind == Root::Kind::parameter) {
      const Allocation& a = *target[root.index];
      b = {false, AddressSpace::global, a.base, a.base + a.size};
    } else if (root.kind == Root::Kind::variable) {
      b.variable = variables[root.index];
    }
  }
  pointers_ = static_cast<uint32_t>(numbers.size());
  loads_.resize(p.memory.size());
  const auto number = [&](uint32_t r) {
    const auto at = numbers.find(r);
    return at == numbers.end() ? kNone : at->second;
  };
  for (uint32_t k = 0; k < p.code.size(); ++k) {
    const Instruction& i = p.code[k];
    if (i.kind == Kind::call && i.results[0] != kNone && number(i.results[0]) != kNone)
      given_[k] = number(i.results[0]);
    if (i.kind != Kind::load) continue;
    const MemoryOp& m = p.memory[i.memory];
    for (uint32_t e = 0; e < m.values.size(); ++e)
      if (m.values[e].is_reg() && number(m.values[e].reg) != kNone)
        loads_[i.memory].emplace_back(e, number(m.values[e].reg));
  }
}

bool AddressFacts::leaves_alone(const Allocation& a) const {
  return only_read(&a) && (a.origin == Origin::device || a.origin == Origin::variable);
}

// The allocations that the kernel's instructions may write, as far as the pointers that addresses are made of tell.
void AddressFacts::find_written(bool agents) {
  const Decoded& p = *launch_.program;
  writes_any_ = agents;
  for (const Instruction& i : p.code) {
    // Surfaces are written by calls.
    writes_any_ = writes_any_ || (i.kind == Kind::call && static_cast<Callee>(i.mode) == Callee::texture);
    if (i.memory == kNone || i.kind == Kind::load || i.kind == Kind::request) continue;
    const MemoryOp& m = p.memory[i.memory];
    if (m.space != AddressSpace::global && m.space != AddressSpace::generic) continue;
    const Bounds& b = bounds_[i.memory];
    if (!b.any && b.space != AddressSpace::global) continue;
    const bool constant = m.address.is_constant();  // a variable's
    const Allocation* a = !b.any       ? launch_.memory->find(b.base)
                          : b.variable ? b.variable
                          : constant   ? launch_.memory->find(m.address.bits + static_cast<uint64_t>(m.offset))
                                       : nullptr;
    if (a)
      written_.insert(a);
    else
      writes_any_ = true;
  }
}

// The loads that may read padding or an unset member of a structure: wider elements are stored where they read, by this
// kernel or an earlier one, or their thread reads a neighbour along with it.
void AddressFacts::find_padding() {
  const Decoded& p = *launch_.program;
  may_read_padding_.resize(p.memory.size());
  const auto target = [&](const Bounds& b) -> const Allocation* {
    return !b.any && b.space == AddressSpace::global ? launch_.memory->find(b.base) : nullptr;
  };
  const auto meet = [](const Bounds& a, const Bounds& b) {
    return a.any || b.any || (a.space == b.space && a.base < b.end && b.base < a.end);
  };
  const auto may_share = [](AddressSpace a, AddressSpace b) {
    return a == b || a == AddressSpace::generic || b == AddressSpace::generic;
  };
  std::vector<uint32_t> stores;
  for (const Instruction& i : p.code)
    if (i.memory != kNone && (i.kind == Kind::store || i.kind == Kind::atomic)) stores.push_back(i.memory);
  for (const uint32_t s : stores)
    if (const Allocation* a = target(bounds_[s]); a && a->origin != Origin::host) {
      uint8_t& widest = shadow_of(*a).written.widest;
      widest = std::max(widest, static_cast<uint8_t>(p.memory[s].bytes()));
    }
  for (const Instruction& i : p.code) {
    if (i.kind != Kind::load || i.memory == kNone) continue;
    const MemoryOp& m = p.memory[i.memory];
    may_read_padding_[i.memory] = std::ranges::any_of(stores, [&](uint32_t s) {
      const MemoryOp& o = p.memory[s];
      return o.bytes() > m.width && may_share(o.space, m.space) && meet(bounds_[s], bounds_[i.memory]);
    });
  }
  constexpr int64_t kNear = 16;
  for (const BasicBlock& b : p.blocks) {
    std::map<std::pair<uint32_t, int64_t>, uint32_t> loads;  // by the register of the address, and the offset
    for (uint32_t k = b.first; k < b.last; ++k)
      if (const uint32_t m = p.code[k].memory; p.code[k].kind == Kind::load && p.memory[m].address.is_reg())
        loads.emplace(std::pair(p.memory[m].address.reg, p.memory[m].offset), m);
    for (auto at = loads.begin(); at != loads.end(); ++at) {
      const auto next = std::next(at);
      if (next == loads.end() || next->first.first != at->first.first || next->first.second - at->first.second >= kNear)
        continue;
      may_read_padding_[at->second] = may_read_padding_[next->second] = true;
    }
  }
}

}  // namespace coalesce::machine
