// Addresses that are lane 0's and a known step between lanes, unless a number wraps on the way.
//
// a[row * n + column] with 32-bit numbers is computed modulo 2^32 and then widened: nobody can prove that no lane wraps
// where n is a parameter, so the decoder calls the address general. It is affine all the same in every launch that
// works. Such a register has, beside its vector, lane 0's value and a bit that says that no lane has wrapped; an access
// by it needs only those. (The vector is then read nowhere but on the slow path, where LLVM moves its computation.)
#include "machine/program/linear.h"
#include "native/emit/generator.h"

namespace coalesce::native {

using namespace llvm;
using machine::Kind;
using machine::Rule;

namespace {
constexpr int64_t kMost = int64_t{1} << 30;

}  // namespace

// Bytes between neighbouring lanes of a 64-bit value, if it has such; 0 for what is the same in all lanes.
bool Generator::step_of(const machine::Value& v, int64_t* step) const {
  if (!v.is_reg()) return *step = 0, true;
  if (is_scalar(v.reg)) return *step = p_.registers[v.reg].stride, true;
  return *step = step_[v.reg], has_step_[v.reg];
}

bool Generator::step_of_result(const Instruction& i, int64_t* step) const {
  if (i.kind != Kind::pure || i.guard != kNone) return false;
  const machine::RuleOf f = machine::rule_of(*i.pure);
  if (f.bits != 64) return false;
  int64_t a = 0, b = 0;
  uint64_t factor = 0;
  switch (f.rule) {
    case Rule::widen_unsigned:
    case Rule::widen_signed:
      return i.sources[0].is_reg() && is_scalar(i.sources[0].reg) && step_of(i.sources[0], step);
    case Rule::mul_wide:
    case Rule::mad_wide: {
      if (!i.sources[0].is_reg() || !is_scalar(i.sources[0].reg) || !step_of(i.sources[0], &a)) return false;
      if (!known(i.sources[1], &factor)) return false;
      const int64_t times =
          f.is_signed ? static_cast<int32_t>(factor) : static_cast<int64_t>(static_cast<uint32_t>(factor));
      if (times > kMost || times < -kMost || a > kMost || a < -kMost) return false;
      if (f.rule == Rule::mad_wide && !step_of(i.sources[2], &b)) return false;
      *step = a * times + b;
      break;
    }
    case Rule::add:
    case Rule::sub:
      if (!step_of(i.sources[0], &a) || !step_of(i.sources[1], &b)) return false;
      *step = f.rule == Rule::add ? a + b : a - b;
      break;
    case Rule::shift_left:
      if (!step_of(i.sources[0], &a) || !known(i.sources[1], &factor) || factor > 30 || a > kMost || a < -kMost)
        return false;
      *step = a * (int64_t{1} << factor);
      break;
    case Rule::mul_low:
      if (!step_of(i.sources[0], &a) || !known(i.sources[1], &factor) || factor > kMost || a > kMost || a < -kMost)
        return false;
      *step = a * static_cast<int64_t>(factor);
      break;
    case Rule::move:
      return step_of(i.sources[0], step);
    default:
      return false;
  }
  return *step <= kMost && *step >= -kMost;
}

void Generator::find_steps() {
  const std::size_t n = p_.registers.size();
  step_.assign(n, 0);
  has_step_.assign(n, false);
  std::vector<bool> never(n);
  for (bool again = true; again;) {  // each round gives up at least one register, or is the last
    again = false;
    has_step_.assign(n, false);
    for (bool changed = true; changed;) {
      changed = false;
      for (const machine::BasicBlock& b : p_.blocks) {
        if (!b.reachable) continue;
        for (uint32_t k = b.first; k < b.last; ++k) {
          const Instruction& i = p_.code[k];
          const uint32_t r = i.results[0];
          if (i.kind != Kind::pure || r == kNone || is_scalar(r) || never[r] ||
              p_.registers[r].element != Element::b64 || has_step_[r])
            continue;
          int64_t step;
          if (!step_of_result(i, &step)) continue;
          has_step_[r] = true;
          step_[r] = step;
          changed = true;
        }
      }
    }
    // Every definition must agree.
    const auto give_up = [&](uint32_t r) {
      if (r == kNone || !has_step_[r] || never[r]) return;
      never[r] = true;
      again = true;
    };
    for (const machine::BasicBlock& b : p_.blocks) {
      if (!b.reachable) continue;
      for (uint32_t k = b.first; k < b.last; ++k) {
        const Instruction& i = p_.code[k];
        machine::each_from_memory(p_, i, give_up);
        int64_t step;
        for (uint32_t r : i.results)
          if (r != kNone && has_step_[r] &&
              (!step_of_result(i, &step) || step != step_[r] || (b.divergent && !p_.registers[r].block_local)))
            give_up(r);
      }
    }
  }
}

Generator::Stepped Generator::stepped(const machine::Value& v) {
  if (!v.is_reg() || is_scalar(v.reg)) return {scalar(v, Element::b64), nullptr};
  const Variables& s = stepped_variables(v.reg);
  return {ir_.CreateLoad(ir_.getInt64Ty(), s.base), ir_.CreateLoad(ir_.getInt1Ty(), s.whole)};
}

Generator::Variables& Generator::stepped_variables(uint32_t r) {
  Variables& s = steps_of_[{copy_, r}];
  if (!s.base) {
    IRBuilder<> at(entry_, entry_->begin());
    s.base = at.CreateAlloca(ir_.getInt64Ty(), nullptr, "base");
    s.whole = at.CreateAlloca(ir_.getInt1Ty(), nullptr, "whole");
  }
  return s;
}

// Beside the vector, which pure() computes: lane 0's value, and whether no lane wraps.
void Generator::step_result(const Instruction& i) {
  const uint32_t r = i.results[0];
  if (i.kind != Kind::pure || r == kNone || is_scalar(r) || !has_step_[r]) return;
  const machine::RuleOf f = machine::rule_of(*i.pure);
  Type* i64 = ir_.getInt64Ty();
  Value *base = nullptr, *whole = nullptr;
  const auto both = [&](Value* a, Value* b) { return !a ? b : !b ? a : ir_.CreateAnd(a, b); };
  uint64_t factor = 0;
  switch (f.rule) {
    case Rule::widen_unsigned:
    case Rule::widen_signed:
    case Rule::mul_wide:
    case Rule::mad_wide: {
      const bool is_signed = f.rule == Rule::widen_signed || (f.rule != Rule::widen_unsigned && f.is_signed);
      Value* narrow = scalar(i.sources[0], Element::b32);
      base = is_signed ? ir_.CreateSExt(narrow, i64) : ir_.CreateZExt(narrow, i64);
      const int64_t span = 31 * p_.registers[i.sources[0].reg].stride;
      Value* last = ir_.CreateAdd(base, ir_.getInt64(static_cast<uint64_t>(span)));
      Value* back = ir_.CreateTrunc(last, ir_.getInt32Ty());
      whole = ir_.CreateICmpEQ(last, is_signed ? ir_.CreateSExt(back, i64) : ir_.CreateZExt(back, i64));
      if (f.rule == Rule::mul_wide || f.rule == Rule::mad_wide) {
        known(i.sources[1], &factor);
        const int64_t times =
            f.is_signed ? static_cast<int32_t>(factor) : static_cast<int64_t>(static_cast<uint32_t>(factor));
        base = ir_.CreateMul(base, ir_.getInt64(static_cast<uint64_t>(times)));
        if (f.rule == Rule::mad_wide) {
          const Stepped c = stepped(i.sources[2]);
          base = ir_.CreateAdd(base, c.base);
          whole = both(whole, c.whole);
        }
      }
      break;
    }
    case Rule::add:
    case Rule::sub: {
      const Stepped a = stepped(i.sources[0]), b = stepped(i.sources[1]);
      base = f.rule == Rule::add ? ir_.CreateAdd(a.base, b.base) : ir_.CreateSub(a.base, b.base);
      whole = both(a.whole, b.whole);
      break;
    }
    case Rule::shift_left:
    case Rule::mul_low: {
      known(i.sources[1], &factor);
      const Stepped a = stepped(i.sources[0]);
      base = ir_.CreateMul(a.base, ir_.getInt64(f.rule == Rule::shift_left ? uint64_t{1} << factor : factor));
      whole = a.whole;
      break;
    }
    case Rule::move: {
      const Stepped a = stepped(i.sources[0]);
      base = a.base;
      whole = a.whole;
      break;
    }
    default:
      return;
  }
  const Variables& s = stepped_variables(r);
  ir_.CreateStore(base, s.base);
  ir_.CreateStore(whole ? whole : ir_.getTrue(), s.whole);
}

// From the vector: where a region begins with the register's value in its slot.
void Generator::step_from_vector(uint32_t r, Value* all) {
  if (!has_step_[r]) return;
  const Variables& s = stepped_variables(r);
  Value* base = ir_.CreateExtractElement(all, uint64_t{0});
  ir_.CreateStore(base, s.base);
  ir_.CreateStore(ir_.CreateIsNull(bits_of(ir_.CreateICmpNE(all, spread(base, step_[r])))), s.whole);
}

}  // namespace coalesce::native
