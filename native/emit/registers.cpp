// Registers as LLVM values, and the slots in which they live between regions.
#include "native/emit/registers.h"

#include <cstddef>
#include <stdexcept>

namespace coalesce::native {

using namespace llvm;
using machine::Builtin;
using machine::kLanes;
using machine::Slot;

namespace {

// Registers that exist before the first instruction.
Value* builtin(Emitter& e, uint32_t r) {
  IRBuilder<>& ir = e.ir;
  const Register& reg = e.p.registers[r];
  const auto once = [&](auto make) {
    auto found = e.variables.builtins.find(r);
    if (found != e.variables.builtins.end()) return found->second;
    IRBuilderBase::InsertPointGuard guard(ir);
    ir.SetInsertPoint(e.at.constants->getTerminator());
    return e.variables.builtins[r] = make();
  };
  if (reg.lanes == LaneClass::constant)
    return once([&] { return load_slot(e, e.code.homes[r].scalar, reg.element, false); });
  const auto lane_mask = [&](auto f) -> Value* {
    SmallVector<Constant*, 32> masks;
    for (uint32_t l = 0; l < kLanes; ++l)
      masks.push_back(ConstantInt::get(Type::getInt32Ty(e.context), f(l) & 0xffffffffu));
    return ConstantVector::get(masks);
  };
  const bool flat = e.p.shape.block[1] == 1 && e.p.shape.block[2] == 1;
  switch (reg.builtin) {
    case Builtin::laneid:
      return ir.getInt32(0);
    case Builtin::lanemask_eq:
      return lane_mask([](uint64_t l) { return uint64_t{1} << l; });
    case Builtin::lanemask_lt:
      return lane_mask([](uint64_t l) { return (uint64_t{1} << l) - 1; });
    case Builtin::lanemask_le:
      return lane_mask([](uint64_t l) { return (uint64_t{2} << l) - 1; });
    case Builtin::lanemask_gt:
      return lane_mask([](uint64_t l) { return ~((uint64_t{2} << l) - 1); });
    case Builtin::lanemask_ge:
      return lane_mask([](uint64_t l) { return ~((uint64_t{1} << l) - 1); });
    case Builtin::ctaid_x:
    case Builtin::ctaid_y:
    case Builtin::ctaid_z:
      return ir.CreateLoad(ir.getInt32Ty(),
                           e.var.ctaid[static_cast<int>(reg.builtin) - static_cast<int>(Builtin::ctaid_x)]);
    case Builtin::smid:
      return ir.CreateLoad(ir.getInt32Ty(), e.var.smid);
    case Builtin::warpid:
      return e.warp.index;
    case Builtin::tid_x:
      if (flat) return ir.CreateShl(e.warp.index, 5);
      [[fallthrough]];
    default:
      return load_slot(e, e.is_scalar(r) ? e.code.homes[r].scalar : e.code.homes[r].vector, reg.element,
                       !e.is_scalar(r));
  }
}

Value* slot(Emitter& e, Slot s) {
  const uint32_t at = s & ~3u;
  Value* base = (s & 3u) == machine::kLaunch  ? e.field(offsetof(Frame, launch_area), "launch")
                : (s & 3u) == machine::kBlock ? e.field(offsetof(Frame, block_area), "block_area")
                                              : e.warp.area;
  return e.offset(base, at);
}

}  // namespace

AllocaInst* variable(Emitter& e, uint32_t r) {
  std::vector<AllocaInst*>& mine = e.variables.registers[e.is_block_level(r) ? 0 : e.warp.copy];
  if (mine[r]) return mine[r];
  const Element element = e.p.registers[r].element;
  Type* t = e.is_scalar(r)             ? e.type_of(element)
            : element == Element::pred ? Type::getInt32Ty(e.context)
                                       : static_cast<Type*>(e.wide(e.type_of(element)));
  IRBuilder<> at(e.at.entry, e.at.entry->begin());
  return mine[r] = at.CreateAlloca(t, nullptr, "r" + std::to_string(r));
}

Value* scalar_of(Emitter& e, const machine::Value& v, Element element, bool raw) {
  IRBuilder<>& ir = e.ir;
  if (uint64_t bits; v.is_reg() && (e.known(v, &bits) || e.facts.registers.known_base(v.reg, &bits)))
    return ConstantInt::get(e.type_of(e.p.registers[v.reg].element), bits, true);
  if (!v.is_reg()) {
    if (element == Element::pred) return ir.getInt1(v.bits & 1);
    return ConstantInt::get(e.type_of(element), APInt(e.type_of(element)->getIntegerBitWidth(), v.bits));
  }
  if (e.p.registers[v.reg].builtin != Builtin::none) return builtin(e, v.reg);
  Value* one = ir.CreateLoad(e.type_of(e.p.registers[v.reg].element), variable(e, v.reg));
  return !raw && e.facts.any_nan[v.reg] ? canonical(e, one) : one;
}

Value* vector_of(Emitter& e, const machine::Value& v, Element element, bool raw) {
  IRBuilder<>& ir = e.ir;
  if (!v.is_reg() || e.is_scalar(v.reg))
    return e.spread(scalar_of(e, v, element, raw), v.is_reg() ? e.p.registers[v.reg].stride : 0);
  if (e.p.registers[v.reg].builtin != Builtin::none) return builtin(e, v.reg);
  Value* all = ir.CreateLoad(variable(e, v.reg)->getAllocatedType(), variable(e, v.reg));
  if (!raw && e.facts.any_nan[v.reg]) return canonical(e, all);
  return element == Element::pred ? e.lanes_of(all) : all;
}

Value* canonical(Emitter& e, Value* bits) {
  IRBuilder<>& ir = e.ir;
  Value* f = ir.CreateBitCast(bits, bits->getType()->getWithNewType(ir.getFloatTy()));
  return ir.CreateSelect(ir.CreateFCmpUNO(f, f), ConstantInt::get(bits->getType(), 0x7fffffffu), bits);
}

Value* predicate_mask(Emitter& e, const machine::Value& v) {
  IRBuilder<>& ir = e.ir;
  if (!v.is_reg() || e.is_scalar(v.reg)) return ir.CreateSExt(scalar_of(e, v, Element::pred), ir.getInt32Ty());
  return ir.CreateLoad(ir.getInt32Ty(), variable(e, v.reg));
}

void write(Emitter& e, uint32_t r, Value* v, const Active& active) {
  IRBuilder<>& ir = e.ir;
  if (v->getType() != variable(e, r)->getAllocatedType())
    throw std::runtime_error("a value of another shape than its register");
  if (active.mask && active.keeps) {
    Value* old = ir.CreateLoad(v->getType(), variable(e, r));
    v = e.p.registers[r].element == Element::pred
            ? ir.CreateOr(ir.CreateAnd(v, active.mask), ir.CreateAnd(old, ir.CreateNot(active.mask)))
            : ir.CreateSelect(active.lanes, v, old);
  }
  set_register(e, r, v);
}

void set_register(Emitter& e, uint32_t r, Value* v) {
  e.ir.CreateStore(v, variable(e, r));
  e.interleaved.forget(r);
}

void store_slot(Emitter& e, Slot s, Value* v) {
  IRBuilder<>& ir = e.ir;
  if (v->getType()->isIntegerTy(1)) v = ir.CreateSExt(v, ir.getInt32Ty());
  if (v->getType()->isVectorTy() && v->getType()->getScalarType()->isIntegerTy(1)) v = e.bits_of(v);
  ir.CreateAlignedStore(v, slot(e, s), v->getType()->isVectorTy() ? Align(64) : Align(4));
}

Value* load_slot(Emitter& e, Slot s, Element element, bool is_vector) {
  IRBuilder<>& ir = e.ir;
  if (element == Element::pred) {
    Value* word = ir.CreateAlignedLoad(ir.getInt32Ty(), slot(e, s), Align(4));
    return is_vector ? word : ir.CreateTrunc(word, ir.getInt1Ty());
  }
  if (is_vector) return ir.CreateAlignedLoad(e.wide(e.type_of(element)), slot(e, s), Align(64));
  return ir.CreateAlignedLoad(e.type_of(element), slot(e, s), Align(4));
}

void spill(Emitter& e, uint32_t r, Slot s, bool as_vector) {
  const machine::Value v = machine::Value::of(r);
  const Element element = e.p.registers[r].element;
  if ((s & 3u) == machine::kLaunch) return;  // written when the launch began
  if (element == Element::pred)
    store_slot(e, s, predicate_mask(e, v));
  else
    store_slot(e, s, as_vector ? vector_of(e, v, element) : scalar_of(e, v, element));
}

}  // namespace coalesce::native
