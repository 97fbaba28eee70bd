#include "native/emit/operations.h"

namespace coalesce::native {

using namespace llvm;
namespace isa = machine::isa;

namespace {

// LLVM's comparison of signed numbers, of unsigned ones for lo, ls, hi and hs. BAD_ICMP_PREDICATE: no comparison of
// integers.
CmpInst::Predicate integer_predicate(isa::Comparison c) {
  switch (c) {
    case isa::Comparison::eq:
      return CmpInst::ICMP_EQ;
    case isa::Comparison::ne:
      return CmpInst::ICMP_NE;
    case isa::Comparison::lt:
      return CmpInst::ICMP_SLT;
    case isa::Comparison::le:
      return CmpInst::ICMP_SLE;
    case isa::Comparison::gt:
      return CmpInst::ICMP_SGT;
    case isa::Comparison::ge:
      return CmpInst::ICMP_SGE;
    case isa::Comparison::lo:
      return CmpInst::ICMP_ULT;
    case isa::Comparison::ls:
      return CmpInst::ICMP_ULE;
    case isa::Comparison::hi:
      return CmpInst::ICMP_UGT;
    case isa::Comparison::hs:
      return CmpInst::ICMP_UGE;
    default:
      return CmpInst::BAD_ICMP_PREDICATE;
  }
}

CmpInst::Predicate float_predicate(isa::Comparison c) {
  switch (c) {
    case isa::Comparison::eq:
      return CmpInst::FCMP_OEQ;
    case isa::Comparison::ne:
      return CmpInst::FCMP_ONE;
    case isa::Comparison::lt:
      return CmpInst::FCMP_OLT;
    case isa::Comparison::le:
      return CmpInst::FCMP_OLE;
    case isa::Comparison::gt:
      return CmpInst::FCMP_OGT;
    case isa::Comparison::ge:
      return CmpInst::FCMP_OGE;
    case isa::Comparison::equ:
      return CmpInst::FCMP_UEQ;
    case isa::Comparison::neu:
      return CmpInst::FCMP_UNE;
    case isa::Comparison::ltu:
      return CmpInst::FCMP_ULT;
    case isa::Comparison::leu:
      return CmpInst::FCMP_ULE;
    case isa::Comparison::gtu:
      return CmpInst::FCMP_UGT;
    case isa::Comparison::geu:
      return CmpInst::FCMP_UGE;
    case isa::Comparison::num:
      return CmpInst::FCMP_ORD;
    case isa::Comparison::nan:
      return CmpInst::FCMP_UNO;
    default:
      return CmpInst::BAD_FCMP_PREDICATE;
  }
}

// Null: not of this kind.
Value* compared(Emitter& e, const isa::Operation& op, Value* a, Value* b) {
  IRBuilder<>& ir = e.ir;
  if (op.type == isa::Type::f32 || op.type == isa::Type::f64) {
    const CmpInst::Predicate predicate = float_predicate(op.comparison);
    if (predicate == CmpInst::BAD_FCMP_PREDICATE) return nullptr;
    Type* f = a->getType()->getWithNewType(op.type == isa::Type::f32 ? ir.getFloatTy() : ir.getDoubleTy());
    Value* left = ir.CreateBitCast(a, f);
    return ir.CreateFCmp(predicate, left, ir.CreateBitCast(b, f));
  }
  CmpInst::Predicate predicate = integer_predicate(op.comparison);
  if (!isa::is_integer(op.type) || predicate == CmpInst::BAD_ICMP_PREDICATE) return nullptr;
  if (!is_signed(op.type) && ICmpInst::isSigned(predicate)) predicate = ICmpInst::getUnsignedPredicate(predicate);
  return ir.CreateICmp(predicate, a, b);
}

}  // namespace

bool compare_operation(Emitter& e, const machine::PureOp& row, const std::vector<Value*>& s, Value* out[2]) {
  IRBuilder<>& ir = e.ir;
  const isa::Operation& op = row.operation;
  if (op.modified || (op.join != isa::Join::none) != (s.size() == 3)) return false;
  Value* test = compared(e, op, s[0], s[1]);
  if (!test) return false;
  const auto joined = [&](Value* v) {
    switch (op.join) {
      case isa::Join::and_:
        return ir.CreateAnd(v, s[2]);
      case isa::Join::or_:
        return ir.CreateOr(v, s[2]);
      case isa::Join::xor_:
        return ir.CreateXor(v, s[2]);
      default:
        return v;
    }
  };
  out[0] = joined(test);
  out[1] = op.pair ? joined(ir.CreateNot(test)) : nullptr;
  return true;
}

}  // namespace coalesce::native
