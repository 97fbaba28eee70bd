#include "native/analyse/warp_affine.h"

#include "machine/program/uses.h"
#include "native/analyse/checked_affine.h"

namespace coalesce::native {

using machine::Builtin;
using machine::Kind;
using machine::kLanes;
using machine::Rule;

std::optional<std::pair<uint64_t, uint64_t>> warp_affine_builtin(const Decoded& p, Builtin b) {
  const auto& block = p.shape.block;
  const bool flat = block[1] == 1 && block[2] == 1, row = block[0] == kLanes;
  switch (b) {
    case Builtin::tid_x:
      if (flat) return std::pair{uint64_t{0}, uint64_t{kLanes}};
      if (row) return std::pair{uint64_t{0}, uint64_t{0}};
      return std::nullopt;
    case Builtin::tid_y:
      if (row && block[2] == 1) return std::pair{uint64_t{0}, uint64_t{1}};
      return std::nullopt;
    case Builtin::tid_z:
      if (row && block[1] == 1) return std::pair{uint64_t{0}, uint64_t{1}};
      return std::nullopt;
    case Builtin::warpid:
      return std::pair{uint64_t{0}, uint64_t{1}};
    case Builtin::laneid:
      return std::pair{uint64_t{0}, uint64_t{0}};
    default:
      return std::nullopt;
  }
}

bool keeps_warp_affine(const Registers& registers, const Instruction& i,
                       const std::function<bool(const machine::Value&)>& is,
                       const std::function<bool(uint32_t)>& may_widen) {
  const Decoded& p = registers.program();
  if (i.kind != Kind::pure || i.guard != kNone || i.results[0] == kNone || i.results[1] != kNone) return false;
  const machine::LinearRule& rule = i.pure->facts.linear;
  const auto of_block = [&](const machine::Value& v) { return registers.is_block_level(v); };
  const auto& s = i.sources;
  uint64_t factor = 0;
  const auto widened = [&](const machine::Value& v) {
    return v.is_reg() && registers.is_scalar(v.reg) && p.registers[v.reg].element == Element::b32 && is(v) &&
           may_widen(v.reg);
  };
  const auto small = [&](const machine::Value& v) {
    if (!registers.known(v, &factor)) return false;
    const int64_t times =
        rule.is_signed ? static_cast<int32_t>(factor) : static_cast<int64_t>(static_cast<uint32_t>(factor));
    return times <= kMostFactor && times >= -kMostFactor;
  };
  switch (rule.rule) {
    case Rule::add:
    case Rule::sub:
      return is(s[0]) && is(s[1]);
    case Rule::move:
    case Rule::minus:
    case Rule::truncate:
      return is(s[0]);
    case Rule::shift_left:
      return is(s[0]) && registers.known(s[1], &factor) && factor < rule.bits;
    case Rule::mul_low:
      return (is(s[0]) && of_block(s[1])) || (of_block(s[0]) && is(s[1]));
    case Rule::mad_low:
      return ((is(s[0]) && of_block(s[1])) || (of_block(s[0]) && is(s[1]))) && is(s[2]);
    case Rule::widen_unsigned:
    case Rule::widen_signed:
      return rule.bits == 64 && widened(s[0]);
    case Rule::mul_wide:
      return rule.bits == 64 && widened(s[0]) && small(s[1]);
    case Rule::mad_wide:
      return rule.bits == 64 && widened(s[0]) && small(s[1]) && is(s[2]);
    case Rule::other:
      return false;
  }
  return false;
}

// Taken to be so until a definition says otherwise.
std::vector<bool> find_warp_affine(const Registers& registers) {
  const Decoded& p = registers.program();
  std::vector<bool> affine(p.registers.size());
  for (uint32_t r = 0; r < p.registers.size(); ++r) {
    const Register& reg = p.registers[r];
    affine[r] = registers.is_block_level(r) ||
                (reg.builtin != Builtin::none
                     ? warp_affine_builtin(p, reg.builtin).has_value()
                     : registers.is_scalar(r) && (reg.element == Element::b32 || reg.element == Element::b64));
  }
  const auto is = [&](const machine::Value& v) { return !v.is_reg() || affine[v.reg]; };
  // Between numbers below 2^31 a step modulo 2^32 is a step.
  const auto may_widen = [&](uint32_t r) {
    const machine::Range& range = p.registers[r].range;
    return registers.threads() % kLanes == 0 && range.known() && range.low >= 0 && range.high < (int64_t{1} << 31);
  };
  for (bool changed = true; changed;) {
    changed = false;
    const auto give_up = [&](uint32_t r) {
      if (r == kNone || !affine[r] || registers.is_block_level(r)) return;
      affine[r] = false;
      changed = true;
    };
    for (const machine::BasicBlock& b : p.blocks) {
      if (!b.reachable) continue;
      for (uint32_t k = b.first; k < b.last; ++k) {
        const Instruction& i = p.code[k];
        machine::each_from_memory(p, i, give_up);
        if (b.divergent || !keeps_warp_affine(registers, i, is, may_widen))
          for (const uint32_t r : i.results) give_up(r);
      }
    }
  }
  return affine;
}

}  // namespace coalesce::native
