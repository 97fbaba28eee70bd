#include "native/analyse/checked_affine.h"

#include "machine/program/uses.h"

namespace coalesce::native {

using machine::Kind;
using machine::Rule;

bool CheckedAffine::stride_of(const Registers& registers, const machine::Value& v, int64_t* out) const {
  if (!v.is_reg()) return *out = 0, true;
  if (registers.is_scalar(v.reg)) return *out = registers.program().registers[v.reg].stride, true;
  return *out = stride[v.reg], is[v.reg];
}

namespace {

bool stride_of_result(const Registers& registers, const CheckedAffine& c, const Instruction& i, int64_t* stride) {
  if (i.kind != Kind::pure || i.guard != kNone) return false;
  const machine::LinearRule& f = i.pure->facts.linear;
  if (f.bits != 64) return false;
  int64_t a = 0, b = 0;
  uint64_t factor = 0;
  switch (f.rule) {
    case Rule::widen_unsigned:
    case Rule::widen_signed:
      return i.sources[0].is_reg() && registers.is_scalar(i.sources[0].reg) &&
             c.stride_of(registers, i.sources[0], stride);
    case Rule::mul_wide:
    case Rule::mad_wide: {
      if (!i.sources[0].is_reg() || !registers.is_scalar(i.sources[0].reg) || !c.stride_of(registers, i.sources[0], &a))
        return false;
      if (!registers.known(i.sources[1], &factor)) return false;
      const int64_t times =
          f.is_signed ? static_cast<int32_t>(factor) : static_cast<int64_t>(static_cast<uint32_t>(factor));
      if (times > kMostFactor || times < -kMostFactor || a > kMostFactor || a < -kMostFactor) return false;
      if (f.rule == Rule::mad_wide && !c.stride_of(registers, i.sources[2], &b)) return false;
      *stride = a * times + b;
      break;
    }
    case Rule::add:
    case Rule::sub:
      if (!c.stride_of(registers, i.sources[0], &a) || !c.stride_of(registers, i.sources[1], &b)) return false;
      *stride = f.rule == Rule::add ? a + b : a - b;
      break;
    case Rule::shift_left:
      if (!c.stride_of(registers, i.sources[0], &a) || !registers.known(i.sources[1], &factor) || factor > 30 ||
          a > kMostFactor || a < -kMostFactor)
        return false;
      *stride = a * (int64_t{1} << factor);
      break;
    case Rule::mul_low:
      if (!c.stride_of(registers, i.sources[0], &a) || !registers.known(i.sources[1], &factor) ||
          factor > kMostFactor || a > kMostFactor || a < -kMostFactor)
        return false;
      *stride = a * static_cast<int64_t>(factor);
      break;
    case Rule::move:
      return c.stride_of(registers, i.sources[0], stride);
    default:
      return false;
  }
  return *stride <= kMostFactor && *stride >= -kMostFactor;
}

}  // namespace

CheckedAffine find_checked_affine(const Registers& registers) {
  const Decoded& p = registers.program();
  const std::size_t n = p.registers.size();
  CheckedAffine c{std::vector<bool>(n), std::vector<int64_t>(n)};
  std::vector<bool> never(n);
  for (bool again = true; again;) {  // each round gives up at least one register, or is the last
    again = false;
    c.is.assign(n, false);
    for (bool changed = true; changed;) {
      changed = false;
      for (const machine::BasicBlock& b : p.blocks) {
        if (!b.reachable) continue;
        for (uint32_t k = b.first; k < b.last; ++k) {
          const Instruction& i = p.code[k];
          const uint32_t r = i.results[0];
          if (i.kind != Kind::pure || r == kNone || registers.is_scalar(r) || never[r] ||
              p.registers[r].element != Element::b64 || c.is[r])
            continue;
          int64_t stride;
          if (!stride_of_result(registers, c, i, &stride)) continue;
          c.is[r] = true;
          c.stride[r] = stride;
          changed = true;
        }
      }
    }
    // Every definition must agree.
    const auto give_up = [&](uint32_t r) {
      if (r == kNone || !c.is[r] || never[r]) return;
      never[r] = true;
      again = true;
    };
    for (const machine::BasicBlock& b : p.blocks) {
      if (!b.reachable) continue;
      for (uint32_t k = b.first; k < b.last; ++k) {
        const Instruction& i = p.code[k];
        machine::each_from_memory(p, i, give_up);
        int64_t stride;
        for (uint32_t r : i.results)
          if (r != kNone && c.is[r] &&
              (!stride_of_result(registers, c, i, &stride) || stride != c.stride[r] ||
               (b.divergent && !p.registers[r].block_local)))
            give_up(r);
      }
    }
  }
  return c;
}

}  // namespace coalesce::native
