#include "machine/isa/row.h"
#include "native/emit/operations.h"

namespace coalesce::native {

using namespace llvm;
namespace isa = machine::isa;

Value* float_operation(Emitter& e, const machine::PureOp& row, const std::vector<Value*>& s) {
  IRBuilder<>& ir = e.ir;
  const isa::Operation& op = row.operation;
  const bool single = op.type == isa::Type::f32, nearest = op.rounding == isa::Rounding::rn;
  if ((!single && op.type != isa::Type::f64) || op.to != isa::Type::none || op.modified ||
      op.product != isa::Product::none || (op.rounding != isa::Rounding::none && !nearest))
    return nullptr;
  Type* bits = s[0]->getType();
  Type* type = bits->getWithNewType(single ? ir.getFloatTy() : ir.getDoubleTy());
  std::vector<Value*> f;
  for (Value* v : s) f.push_back(v->getType() == bits ? ir.CreateBitCast(v, type) : v);
  const auto is_nan = [&](Value* v) { return ir.CreateFCmpUNO(v, v); };
  const auto quiet = [&](Value* v) { return ir.CreateOr(v, splat(v, 0x0008000000000000u)); };
  // NaN operands come first: the later in `order` before the earlier.
  const auto finish = [&](Value* r, std::initializer_list<unsigned> order) -> Value* {
    Value* result = ir.CreateBitCast(r, bits);
    if (single) return result;
    for (unsigned k : order) result = ir.CreateSelect(is_nan(f[k]), quiet(s[k]), result);
    return result;
  };
  switch (op.opcode) {
    case isa::Opcode::add:
      return finish(ir.CreateFAdd(f[0], f[1]), {0, 1});
    case isa::Opcode::sub:
      return finish(ir.CreateFSub(f[0], f[1]), {0, 1});
    case isa::Opcode::mul:
      return finish(ir.CreateFMul(f[0], f[1]), {0, 1});
    case isa::Opcode::fma:
    case isa::Opcode::mad:
      if (!e.target.fuses) return nullptr;
      return finish(ir.CreateIntrinsic(Intrinsic::fma, {type}, {f[0], f[1], f[2]}), {0, 2, 1});
    default:
      break;
  }
  if (!single) return nullptr;
  switch (op.opcode) {
    case isa::Opcode::div:
      return nearest ? finish(ir.CreateFDiv(f[0], f[1]), {}) : nullptr;
    case isa::Opcode::rcp:
      return nearest ? finish(ir.CreateFDiv(ConstantFP::get(type, 1.0), f[0]), {}) : nullptr;
    case isa::Opcode::sqrt:
      return nearest ? finish(ir.CreateUnaryIntrinsic(Intrinsic::sqrt, f[0]), {}) : nullptr;
    case isa::Opcode::neg:
    case isa::Opcode::abs: {
      if (nearest) return nullptr;
      Value* r = op.opcode == isa::Opcode::neg ? ir.CreateXor(s[0], splat(s[0], 0x80000000u))
                                               : ir.CreateAnd(s[0], splat(s[0], 0x7fffffffu));
      return ir.CreateSelect(is_nan(f[0]), splat(s[0], 0x7fffffffu), r);
    }
    case isa::Opcode::min:
    case isa::Opcode::max: {
      if (nearest) return nullptr;
      // -0 is less than +0; a NaN loses against a number.
      Value* less = ir.CreateFCmpOLT(f[0], f[1]);
      Value* equal = ir.CreateFCmpOEQ(f[0], f[1]);
      Value* first = ir.CreateOr(less, ir.CreateAnd(equal, ir.CreateICmpSLT(s[0], splat(s[0], 0))));
      Value* r =
          op.opcode == isa::Opcode::min ? ir.CreateSelect(first, s[0], s[1]) : ir.CreateSelect(first, s[1], s[0]);
      r = ir.CreateSelect(is_nan(f[1]), s[0], r);
      return ir.CreateSelect(is_nan(f[0]), s[1], r);
    }
    default:
      return nullptr;
  }
}

}  // namespace coalesce::native
