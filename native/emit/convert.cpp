#include "native/emit/operations.h"

namespace coalesce::native {

using namespace llvm;
namespace isa = machine::isa;

namespace {

bool is_float(isa::Type t) { return t == isa::Type::f32 || t == isa::Type::f64; }

Type* float_type(Emitter& e, Value* like, isa::Type t) {
  return like->getType()->getWithNewType(t == isa::Type::f32 ? e.ir.getFloatTy() : e.ir.getDoubleTy());
}

// To a whole number; out of range: the nearest number; NaN: 0. Null: no such rounding.
Value* rounded(Emitter& e, Value* f, isa::Rounding how, bool is_signed, Type* to) {
  Intrinsic::ID id = Intrinsic::not_intrinsic;
  switch (how) {
    case isa::Rounding::rni:
      id = Intrinsic::roundeven;
      break;
    case isa::Rounding::rzi:
      id = Intrinsic::trunc;
      break;
    case isa::Rounding::rmi:
      id = Intrinsic::floor;
      break;
    case isa::Rounding::rpi:
      id = Intrinsic::ceil;
      break;
    default:
      return nullptr;
  }
  f = e.ir.CreateUnaryIntrinsic(id, f);
  return e.ir.CreateIntrinsic(is_signed ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat, {to, f->getType()}, {f});
}

}  // namespace

Value* convert_operation(Emitter& e, const machine::PureOp& row, const std::vector<Value*>& s) {
  IRBuilder<>& ir = e.ir;
  const isa::Operation& op = row.operation;
  if (op.modified || op.product != isa::Product::none) return nullptr;
  const auto of_bits = [&](unsigned bits) { return s[0]->getType()->getWithNewBitWidth(bits); };
  const bool from_integer = isa::is_integer(op.type);
  if (isa::is_integer(op.to) && from_integer && op.rounding == isa::Rounding::none) {
    Type* type = of_bits(bits_of(op.to));
    return is_signed(op.type) ? ir.CreateSExtOrTrunc(s[0], type) : ir.CreateZExtOrTrunc(s[0], type);
  }
  if (is_float(op.to) && from_integer && op.rounding == isa::Rounding::rn && bits_of(op.type) >= 32) {
    if (bits_of(op.type) == 64 && s[0]->getType()->isVectorTy()) return nullptr;
    Type* type = float_type(e, s[0], op.to);
    Value* f = is_signed(op.type) ? ir.CreateSIToFP(s[0], type) : ir.CreateUIToFP(s[0], type);
    return ir.CreateBitCast(f, of_bits(bits_of(op.to)));
  }
  if (op.type == isa::Type::f32 && (op.to == isa::Type::s32 || op.to == isa::Type::u32) && e.target.rounds)
    return rounded(e, ir.CreateBitCast(s[0], float_type(e, s[0], op.type)), op.rounding, is_signed(op.to), of_bits(32));
  return nullptr;
}

}  // namespace coalesce::native
