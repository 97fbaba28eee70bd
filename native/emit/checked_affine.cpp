#include "native/emit/checked_affine.h"

#include "native/emit/registers.h"

namespace coalesce::native {

using namespace llvm;
using machine::Kind;
using machine::Rule;

namespace {

Variables::Checked& checked_variables(Emitter& e, uint32_t r) {
  IRBuilder<>& ir = e.ir;
  Variables::Checked& s = e.variables.checked[{e.warp.copy, r}];
  if (!s.base) {
    IRBuilder<> at(e.at.entry, e.at.entry->begin());
    s.base = at.CreateAlloca(ir.getInt64Ty(), nullptr, "base");
    s.unwrapped = at.CreateAlloca(ir.getInt1Ty(), nullptr, "unwrapped");
  }
  return s;
}

}  // namespace

CheckedValue checked_affine_of(Emitter& e, const machine::Value& v) {
  IRBuilder<>& ir = e.ir;
  if (!v.is_reg() || e.is_scalar(v.reg)) return {scalar_of(e, v, Element::b64), nullptr};
  const Variables::Checked& s = checked_variables(e, v.reg);
  return {ir.CreateLoad(ir.getInt64Ty(), s.base), ir.CreateLoad(ir.getInt1Ty(), s.unwrapped)};
}

void emit_checked_affine(Emitter& e, const Instruction& i) {
  IRBuilder<>& ir = e.ir;
  const uint32_t r = i.results[0];
  if (i.kind != Kind::pure || r == kNone || e.is_scalar(r) || !e.facts.checked_affine.is[r]) return;
  const machine::LinearRule& f = i.pure->facts.linear;
  Type* i64 = ir.getInt64Ty();
  Value *base = nullptr, *unwrapped = nullptr;
  const auto both = [&](Value* a, Value* b) { return !a ? b : !b ? a : ir.CreateAnd(a, b); };
  uint64_t factor = 0;
  switch (f.rule) {
    case Rule::widen_unsigned:
    case Rule::widen_signed:
    case Rule::mul_wide:
    case Rule::mad_wide: {
      const bool is_signed = f.rule == Rule::widen_signed || (f.rule != Rule::widen_unsigned && f.is_signed);
      Value* narrow = scalar_of(e, i.sources[0], Element::b32);
      base = is_signed ? ir.CreateSExt(narrow, i64) : ir.CreateZExt(narrow, i64);
      const int64_t span = 31 * e.p.registers[i.sources[0].reg].stride;
      Value* last = ir.CreateAdd(base, ir.getInt64(static_cast<uint64_t>(span)));
      Value* back = ir.CreateTrunc(last, ir.getInt32Ty());
      unwrapped = ir.CreateICmpEQ(last, is_signed ? ir.CreateSExt(back, i64) : ir.CreateZExt(back, i64));
      if (f.rule == Rule::mul_wide || f.rule == Rule::mad_wide) {
        e.known(i.sources[1], &factor);
        const int64_t times =
            f.is_signed ? static_cast<int32_t>(factor) : static_cast<int64_t>(static_cast<uint32_t>(factor));
        base = ir.CreateMul(base, ir.getInt64(static_cast<uint64_t>(times)));
        if (f.rule == Rule::mad_wide) {
          const CheckedValue c = checked_affine_of(e, i.sources[2]);
          base = ir.CreateAdd(base, c.base);
          unwrapped = both(unwrapped, c.unwrapped);
        }
      }
      break;
    }
    case Rule::add:
    case Rule::sub: {
      const CheckedValue a = checked_affine_of(e, i.sources[0]), b = checked_affine_of(e, i.sources[1]);
      base = f.rule == Rule::add ? ir.CreateAdd(a.base, b.base) : ir.CreateSub(a.base, b.base);
      unwrapped = both(a.unwrapped, b.unwrapped);
      break;
    }
    case Rule::shift_left:
    case Rule::mul_low: {
      e.known(i.sources[1], &factor);
      const CheckedValue a = checked_affine_of(e, i.sources[0]);
      base = ir.CreateMul(a.base, ir.getInt64(f.rule == Rule::shift_left ? uint64_t{1} << factor : factor));
      unwrapped = a.unwrapped;
      break;
    }
    case Rule::move: {
      const CheckedValue a = checked_affine_of(e, i.sources[0]);
      base = a.base;
      unwrapped = a.unwrapped;
      break;
    }
    default:
      return;
  }
  const Variables::Checked& s = checked_variables(e, r);
  ir.CreateStore(base, s.base);
  ir.CreateStore(unwrapped ? unwrapped : ir.getTrue(), s.unwrapped);
}

void checked_affine_from_vector(Emitter& e, uint32_t r, Value* all) {
  IRBuilder<>& ir = e.ir;
  if (!e.facts.checked_affine.is[r]) return;
  const Variables::Checked& s = checked_variables(e, r);
  Value* base = ir.CreateExtractElement(all, uint64_t{0});
  ir.CreateStore(base, s.base);
  ir.CreateStore(ir.CreateIsNull(e.bits_of(ir.CreateICmpNE(all, e.spread(base, e.facts.checked_affine.stride[r])))),
                 s.unwrapped);
}

}  // namespace coalesce::native
