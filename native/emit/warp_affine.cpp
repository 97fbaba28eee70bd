#include "native/emit/warp_affine.h"

#include <algorithm>
#include <cstddef>

#include "native/analyse/warp_affine.h"
#include "native/emit/registers.h"
#include "native/emit/warp_loop.h"

namespace coalesce::native {

using namespace llvm;
using machine::Builtin;
using machine::kLanes;
using machine::Rule;

Corners corners(Emitter& e, const WarpAffine& a, int64_t stride, bool is_signed) {
  IRBuilder<>& ir = e.ir;
  Type* i64 = ir.getInt64Ty();
  const auto extended = [&](Value* v) { return is_signed ? ir.CreateSExt(v, i64) : ir.CreateZExt(v, i64); };
  Value *first = extended(a.first), *span = ir.getInt64(static_cast<uint64_t>(stride * (kLanes - 1)));
  Value* last = ir.CreateAdd(first, ir.CreateMul(ir.CreateSExt(a.step, i64), ir.getInt64(e.warps() - 1)));
  Corners c{{first, ir.CreateAdd(first, span), last, ir.CreateAdd(last, span)}, ir.getTrue()};
  for (Value* v : c.at)
    if (v != first)
      c.unwrapped = ir.CreateAnd(c.unwrapped, ir.CreateICmpEQ(v, extended(ir.CreateTrunc(v, ir.getInt32Ty()))));
  return c;
}

WarpAffine warp_affine_of(Emitter& e, const machine::Value& v, Element element, uint32_t r, WarpAffineValues& values) {
  IRBuilder<>& ir = e.ir;
  if (v.is_reg())
    if (const auto found = values.find(v.reg); found != values.end()) return found->second;
  const auto still = [&](Value* first) { return WarpAffine{first, Constant::getNullValue(first->getType()), nullptr}; };
  if (uint64_t bits;
      !v.is_reg() || e.is_block_level(v.reg) || e.known(v, &bits) || e.facts.registers.known_base(v.reg, &bits))
    return still(scalar_of(e, v, element));
  const Register& reg = e.p.registers[v.reg];
  Type* type = e.type_of(reg.element);
  if (reg.builtin != Builtin::none) {
    const auto [first, step] = *warp_affine_builtin(e.p, reg.builtin);
    return {ConstantInt::get(type, first), ConstantInt::get(type, step), nullptr};
  }
  const std::vector<uint32_t>& live = e.p.blocks[e.p.regions[r].chain.front()].live_in;
  if (!std::binary_search(live.begin(), live.end(), v.reg)) return still(Constant::getNullValue(type));
  Value* of_warp[2];
  for (uint32_t w = 0; w < 2; ++w) {
    select_warp(e, ir.getInt32(w));
    of_warp[w] = load_slot(e, e.code.homes[v.reg].scalar, reg.element, false);
  }
  return values[v.reg] = {of_warp[0], ir.CreateSub(of_warp[1], of_warp[0]), nullptr};
}

WarpAffine warp_affine_result(Emitter& e, const Instruction& i, uint32_t r, WarpAffineValues& values) {
  IRBuilder<>& ir = e.ir;
  const machine::LinearRule& rule = i.pure->facts.linear;
  const auto of = [&](std::size_t k) { return warp_affine_of(e, i.sources[k], i.pure->source[k], r, values); };
  const auto both = [&](Value* a, Value* b) { return !a ? b : !b ? a : ir.CreateAnd(a, b); };
  const auto sum = [&](const WarpAffine& a, const WarpAffine& b) {
    return WarpAffine{ir.CreateAdd(a.first, b.first), ir.CreateAdd(a.step, b.step), both(a.valid, b.valid)};
  };
  const auto times = [&](const WarpAffine& a, Value* factor) {
    return WarpAffine{ir.CreateMul(a.first, factor), ir.CreateMul(a.step, factor), a.valid};
  };
  const auto product = [&] {
    const bool second = !i.sources[1].is_reg() || e.is_block_level(i.sources[1].reg);
    return times(of(second ? 0 : 1), of(second ? 1 : 0).first);
  };
  const auto widened = [&](bool is_signed) {
    const WarpAffine a = of(0);
    const Corners c = corners(e, a, e.p.registers[i.sources[0].reg].stride, is_signed);
    return WarpAffine{c.at[0], ir.CreateSExt(a.step, ir.getInt64Ty()), both(a.valid, c.unwrapped)};
  };
  const auto factor = [&] {
    uint64_t bits = 0;
    e.known(i.sources[1], &bits);
    const int64_t n = rule.is_signed ? static_cast<int32_t>(bits) : static_cast<int64_t>(static_cast<uint32_t>(bits));
    return ir.getInt64(static_cast<uint64_t>(n));
  };
  switch (rule.rule) {
    case Rule::add:
      return sum(of(0), of(1));
    case Rule::sub: {
      const WarpAffine a = of(0), b = of(1);
      return {ir.CreateSub(a.first, b.first), ir.CreateSub(a.step, b.step), both(a.valid, b.valid)};
    }
    case Rule::minus: {
      const WarpAffine a = of(0);
      return {ir.CreateNeg(a.first), ir.CreateNeg(a.step), a.valid};
    }
    case Rule::truncate: {
      const WarpAffine a = of(0);
      Type* i32 = ir.getInt32Ty();
      return {ir.CreateTrunc(a.first, i32), ir.CreateTrunc(a.step, i32), a.valid};
    }
    case Rule::shift_left: {
      uint64_t places = 0;
      e.known(i.sources[1], &places);
      const WarpAffine a = of(0);
      return times(a, ConstantInt::get(a.first->getType(), uint64_t{1} << places));
    }
    case Rule::mul_low:
      return product();
    case Rule::mad_low:
      return sum(product(), of(2));
    case Rule::widen_unsigned:
    case Rule::widen_signed:
      return widened(rule.rule == Rule::widen_signed);
    case Rule::mul_wide:
      return times(widened(rule.is_signed), factor());
    case Rule::mad_wide:
      return sum(times(widened(rule.is_signed), factor()), of(2));
    default:  // move
      return of(0);
  }
}

}  // namespace coalesce::native
