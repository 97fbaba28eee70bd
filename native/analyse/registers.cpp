#include "native/analyse/registers.h"

#include "machine/program/uses.h"

namespace coalesce::native {

using machine::Builtin;
using machine::Kind;
using machine::kLanes;
using machine::isa::Opcode;
using machine::isa::Operation;
using machine::isa::Type;

Registers::Registers(const Decoded& program)
    : p_(program), unset_(program.registers.size()), writer_(program.registers.size(), kNone) {
  for (const uint32_t r : p_.blocks[0].live_in) unset_[r] = p_.registers[r].builtin == Builtin::none;
  std::vector<uint32_t> writers(p_.registers.size());
  const auto writes = [&](uint32_t r, uint32_t index) {
    if (r == kNone) return;
    writer_[r] = ++writers[r] == 1 ? index : kNone;
  };
  for (uint32_t k = 0; k < p_.code.size(); ++k) {
    const Instruction& i = p_.code[k];
    for (const uint32_t r : i.results) writes(r, k);
    machine::each_from_memory(p_, i, [&](uint32_t r) { writes(r, k); });
  }
}

bool Registers::known(const machine::Value& v, uint64_t* bits) const {
  if (v.is_constant()) return *bits = v.bits, true;
  if (!v.is_reg()) return false;
  const Register& r = p_.registers[v.reg];
  if (r.lanes > LaneClass::warp_uniform || r.element == Element::pred || !r.range.known() ||
      r.range.low != r.range.high || unset_[v.reg])
    return false;
  return *bits = static_cast<uint64_t>(r.range.low), true;
}

// 32 lanes fill the register's range: threadIdx.x in rows of 32 begins with 0 in every warp. A range is that of lanes
// that exist, so it has room for one base only if each value was written by all lanes of some warp.
bool Registers::known_base(uint32_t r, uint64_t* bits) const {
  const auto& block = p_.shape.block;
  if (uint64_t{block[0]} * block[1] * block[2] < kLanes) return false;
  const Register& of = p_.registers[r];
  if (of.lanes != LaneClass::affine || of.stride <= 0 || unset_[r] || !of.range.known() || of.range.low < 0 ||
      of.range.high - of.range.low != of.stride * int64_t{kLanes - 1})
    return false;
  return *bits = static_cast<uint64_t>(of.range.low), true;
}

const Instruction* Registers::computed_by(const machine::Value& v) const {
  if (!v.is_reg() || writer_[v.reg] == kNone || unset_[v.reg]) return nullptr;
  const Instruction& i = p_.code[writer_[v.reg]];
  return i.kind == Kind::pure && i.guard == kNone ? &i : nullptr;
}

bool Registers::is_thread_index(const machine::Value& v) const {
  if (p_.shape.block[1] != 1 || p_.shape.block[2] != 1 || !v.is_reg()) return false;
  if (p_.registers[v.reg].builtin == Builtin::tid_x) return true;
  const Instruction* i = computed_by(v);
  if (!i) return false;
  const Operation& op = i->pure->operation;
  return (op.is_plain(Opcode::mov, Type::u32) || op.is_plain(Opcode::mov, Type::b32) ||
          op.is_plain(Opcode::mov, Type::s32)) &&
         is_thread_index(i->sources[0]);
}

}  // namespace coalesce::native
