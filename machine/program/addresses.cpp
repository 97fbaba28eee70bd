#include "machine/program/addresses.h"

#include <algorithm>
#include <bit>

#include "machine/program/uses.h"

namespace coalesce::machine {
namespace {

constexpr uint32_t kAllZero = 64;
constexpr int kMostSteps = 16;  // of one address, followed back

// The operations that addresses are made of. The last four are not followed as sums are (32-bit sums wrap, those of
// `widen` and `convert` do not); ptxas knows of low bits that they keep 0.
enum class SumTerm {
  none,
  copy,
  add,
  subtract,
  either,
  shift,
  multiply,
  multiply_add,
  mask,
  widen,
  convert,
  negate,
  choose
};

SumTerm term_of(const PureOp& row) {
  const isa::Operation& op = row.operation;
  if (op.opcode == isa::Opcode::cvt && !op.modified && op.rounding == isa::Rounding::none && is_integer(op.type) &&
      is_integer(op.to) && bits_of(op.type) >= 32 && bits_of(op.to) >= 32)
    return SumTerm::convert;
  if (op.modified || op.rounding != isa::Rounding::none || op.to != isa::Type::none || !is_integer(op.type) ||
      bits_of(op.type) < 32)
    return SumTerm::none;
  const auto product = [&](SumTerm low, SumTerm wide) {
    return op.product == isa::Product::lo ? low : op.product == isa::Product::wide ? wide : SumTerm::none;
  };
  switch (op.opcode) {
    case isa::Opcode::mov:
      return SumTerm::copy;
    case isa::Opcode::add:
      return SumTerm::add;
    case isa::Opcode::sub:
      return SumTerm::subtract;
    case isa::Opcode::or_:
      return SumTerm::either;
    case isa::Opcode::shl:
      return SumTerm::shift;
    case isa::Opcode::and_:
      return SumTerm::mask;
    case isa::Opcode::neg:
      return SumTerm::negate;
    case isa::Opcode::xor_:
    case isa::Opcode::selp:
      return SumTerm::choose;
    case isa::Opcode::mul:
      return product(SumTerm::multiply, SumTerm::widen);
    case isa::Opcode::mad:
      return product(SumTerm::multiply_add, SumTerm::none);
    default:
      return SumTerm::none;
  }
}

uint32_t zero_bits_of(uint64_t bits) { return bits ? static_cast<uint32_t>(std::countr_zero(bits)) : kAllZero; }

}  // namespace

Addresses::Addresses(const Decoded& p) : p_(p) {
  find_definitions();
  find_zero_bits();
  find_thread_dependence();
}

void Addresses::find_definitions() {
  definition_.assign(p_.registers.size(), nullptr);
  std::vector<uint32_t> times(p_.registers.size());
  for (const Instruction& i : p_.code)
    each_written(p_, i, [&](uint32_t r) {
      ++times[r];
      definition_[r] = i.kind == Kind::pure && i.guard == kNone ? &i : nullptr;
    });
  for (std::size_t r = 0; r < times.size(); ++r)
    if (times[r] != 1) definition_[r] = nullptr;
}

uint32_t Addresses::zero_bits(const Value& v) const {
  return v.is_reg() ? zeros_[v.reg] : v.is_constant() ? zero_bits_of(v.bits) : 0;
}

uint32_t Addresses::zero_bits(const Instruction& i) const {
  if (i.kind != Kind::pure) return 0;
  const auto of = [&](std::size_t k) { return zero_bits(i.sources[k]); };
  switch (term_of(*i.pure)) {
    case SumTerm::copy:
    case SumTerm::convert:
    case SumTerm::negate:
      return of(0);
    case SumTerm::add:
    case SumTerm::subtract:
    case SumTerm::either:
    case SumTerm::choose:
      return std::min(of(0), of(1));
    case SumTerm::mask:
      return std::max(of(0), of(1));
    case SumTerm::shift:
      return i.sources[1].is_constant() ? of(0) + static_cast<uint32_t>(i.sources[1].bits & 63) : of(0);
    case SumTerm::multiply:
    case SumTerm::widen:
      return of(0) + of(1);
    case SumTerm::multiply_add:
      return std::min(of(0) + of(1), of(2));
    default:
      return 0;
  }
}

// Assumes the best of every register and takes back what some definition does not keep, until nothing changes.
void Addresses::find_zero_bits() {
  zeros_.assign(p_.registers.size(), kAllZero);
  for (std::size_t r = 0; r < zeros_.size(); ++r) {
    const Builtin b = p_.registers[r].builtin;
    if (b != Builtin::none && b != Builtin::zero) zeros_[r] = 0;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const Instruction& i : p_.code)
      each_written(p_, i, [&](uint32_t r) {
        const uint32_t now = std::min(zeros_[r], zero_bits(i));
        changed = changed || now != zeros_[r];
        zeros_[r] = now;
      });
  }
}

void Addresses::find_thread_dependence() {
  depends_.assign(p_.registers.size(), false);
  for (std::size_t r = 0; r < depends_.size(); ++r) {
    const Builtin b = p_.registers[r].builtin;
    depends_[r] = b == Builtin::tid_x || b == Builtin::tid_y || b == Builtin::tid_z ||
                  (b >= Builtin::laneid && b <= Builtin::lanemask_gt && b != Builtin::nwarpid && b != Builtin::nsmid &&
                   b != Builtin::gridid);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const Instruction& i : p_.code) {
      bool is = i.kind != Kind::pure && i.kind != Kind::load;
      if (i.guard != kNone) is = is || depends_[i.guard];
      for (const Value& v : i.sources) is = is || depends(v);
      if (i.kind == Kind::load) {
        const MemoryOp& m = p_.memory[i.memory];
        is = is || depends(m.address) || m.space == AddressSpace::local || m.space == AddressSpace::generic;
      }
      if (!is) continue;
      each_written(p_, i, [&](uint32_t r) {
        changed = changed || !depends_[r];
        depends_[r] = true;
      });
    }
  }
}

bool Addresses::same_for_warp(const Value& v) const {
  // The lane class knows of branches that threads take apart; it also knows the block's dimensions, which ptxas does
  // not.
  return !v.is_reg() || (!depends_[v.reg] && p_.registers[v.reg].lanes <= LaneClass::warp_uniform);
}

void Addresses::add(AddressSum& sum, const Value& value, int64_t times, int depth) const {
  if (value.is_constant()) {
    sum.constant += times * static_cast<int64_t>(value.bits);
    return;
  }
  if (!value.is_reg()) return;
  const Instruction* i = definition_[value.reg];
  const auto once = [&](const Value& v) {
    return !v.is_reg() || definition_[v.reg] || p_.registers[v.reg].builtin != Builtin::none ||
           p_.registers[v.reg].definitions == 1;
  };
  const auto leaf = [&] { sum.terms[value.reg] += times; };
  if (!i || depth == 0 || !std::all_of(i->sources.begin(), i->sources.end(), once)) return leaf();
  const Value &a = i->sources[0], b = i->sources.size() > 1 ? i->sources[1] : Value{};
  // 32-bit constants are kept as unsigned numbers; addresses are sums modulo 2^32.
  const auto number = [](const Value& v) { return static_cast<int64_t>(static_cast<int32_t>(v.bits)); };
  switch (term_of(*i->pure)) {
    case SumTerm::copy:
      return add(sum, a, times, depth - 1);
    case SumTerm::add:
      add(sum, a, times, depth - 1);
      return add(sum, b, times, depth - 1);
    case SumTerm::subtract:
      add(sum, a, times, depth - 1);
      return add(sum, b, -times, depth - 1);
    case SumTerm::either:  // of bits that the other operand has not: an addition
      if (!b.is_constant() || zero_bits(a) >= 32 || b.bits >> zero_bits(a)) return leaf();
      add(sum, a, times, depth - 1);
      return add(sum, b, times, depth - 1);
    case SumTerm::shift:
      if (!b.is_constant() || b.bits > 16) return leaf();
      return add(sum, a, times << b.bits, depth - 1);
    case SumTerm::multiply:
      if (b.is_constant()) return add(sum, a, times * number(b), depth - 1);
      if (a.is_constant()) return add(sum, b, times * number(a), depth - 1);
      return leaf();
    case SumTerm::multiply_add:
      if (!b.is_constant()) return leaf();
      add(sum, a, times * number(b), depth - 1);
      return add(sum, i->sources[2], times, depth - 1);
    default:
      return leaf();
  }
}

AddressSum Addresses::sum(const MemoryOp& m) const {
  AddressSum s;
  add(s, m.address, 1, kMostSteps);
  s.constant = static_cast<int32_t>(s.constant + m.offset);
  std::erase_if(s.terms, [](const auto& term) { return term.second == 0; });
  return s;
}

uint32_t Addresses::zero_bits(const AddressSum& s) const {
  uint32_t bits = kAllZero;
  for (const auto& [reg, times] : s.terms)
    bits = std::min(bits, zeros_[reg] + zero_bits_of(static_cast<uint64_t>(times)));
  return bits;
}

}  // namespace coalesce::machine
