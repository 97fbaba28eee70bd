#include "machine/program/flatten.h"
#include "native/emit/operations.h"

namespace coalesce::native {

using namespace llvm;
using machine::Mnemonic;

Value* float_operation(Emitter& e, const machine::PureOp& op, const std::vector<Value*>& s) {
  IRBuilder<>& ir = e.ir;
  const Mnemonic m(op.mnemonic);
  const std::size_t n = m.suffixes.size();
  const std::string_view o = m.opcode, t = m.suffixes.empty() ? "" : m.suffixes.back();
  if ((t != "f32" && t != "f64") || n > 2 || (n == 2 && m.suffixes[0] != "rn")) return nullptr;
  const bool single = t == "f32";
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
  if (o == "add") return finish(ir.CreateFAdd(f[0], f[1]), {0, 1});
  if (o == "sub") return finish(ir.CreateFSub(f[0], f[1]), {0, 1});
  if (o == "mul") return finish(ir.CreateFMul(f[0], f[1]), {0, 1});
  if ((o == "fma" || o == "mad") && !e.target.fuses) return nullptr;
  if (o == "fma" || o == "mad")
    return finish(ir.CreateIntrinsic(Intrinsic::fma, {type}, {f[0], f[1], f[2]}), {0, 2, 1});
  if (!single) return nullptr;
  if (o == "div" && n == 2) return finish(ir.CreateFDiv(f[0], f[1]), {});
  if (o == "rcp" && n == 2) return finish(ir.CreateFDiv(ConstantFP::get(type, 1.0), f[0]), {});
  if (o == "sqrt" && n == 2) return finish(ir.CreateUnaryIntrinsic(Intrinsic::sqrt, f[0]), {});
  if (n != 1) return nullptr;
  if (o == "neg" || o == "abs") {
    Value* r = o == "neg" ? ir.CreateXor(s[0], splat(s[0], 0x80000000u)) : ir.CreateAnd(s[0], splat(s[0], 0x7fffffffu));
    return ir.CreateSelect(is_nan(f[0]), splat(s[0], 0x7fffffffu), r);
  }
  if (o == "min" || o == "max") {
    // -0 is less than +0; a NaN loses against a number.
    Value* first = ir.CreateOr(ir.CreateFCmpOLT(f[0], f[1]),
                               ir.CreateAnd(ir.CreateFCmpOEQ(f[0], f[1]), ir.CreateICmpSLT(s[0], splat(s[0], 0))));
    Value* r = o == "min" ? ir.CreateSelect(first, s[0], s[1]) : ir.CreateSelect(first, s[1], s[0]);
    r = ir.CreateSelect(is_nan(f[1]), s[0], r);
    return ir.CreateSelect(is_nan(f[0]), s[1], r);
  }
  return nullptr;
}

}  // namespace coalesce::native
