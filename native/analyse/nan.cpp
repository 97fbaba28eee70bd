#include "native/analyse/nan.h"

#include "machine/program/uses.h"

namespace coalesce::native {

using namespace machine;

bool is_bit_copy(const PureOp& op) {
  return op.operation.is(isa::Opcode::mov, isa::Type::f32) || op.operation.is(isa::Opcode::mov, isa::Type::b32);
}

// Every register of 32 bits is taken to be one until a definition says otherwise.
std::vector<bool> find_any_nan(const Decoded& p) {
  std::vector<bool> any(p.registers.size());
  for (std::size_t r = 0; r < any.size(); ++r)
    any[r] = p.registers[r].element == Element::b32 && p.registers[r].builtin == Builtin::none;
  bool changed = true;
  const auto give_up = [&](uint32_t r) {
    if (r == kNone || !any[r]) return;
    any[r] = false;
    changed = true;
  };
  const auto keeps_any = [&](const Instruction& i) {
    if (i.kind != Kind::pure) return false;
    if (is_bit_copy(*i.pure)) {
      const Value& v = i.sources[0];
      constexpr uint64_t kInfinity = 0x7f800000u;
      return v.is_reg() ? any[v.reg] : (v.bits & 0x7fffffffu) <= kInfinity;
    }
    return i.pure->facts.makes_nan;
  };
  while (changed) {
    changed = false;
    for (const Instruction& i : p.code) {
      each_from_memory(p, i, give_up);
      for (const uint32_t r : i.results)
        if (r != kNone && any[r] && !keeps_any(i)) give_up(r);
    }
  }
  return any;
}

}  // namespace coalesce::native
