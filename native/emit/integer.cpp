#include "native/emit/operations.h"
#include "native/emit/registers.h"

namespace coalesce::native {

using namespace llvm;
namespace isa = machine::isa;

namespace {

bool constant(Value* v, uint64_t* out) {
  if (auto* c = dyn_cast<Constant>(v)) {
    if (c->getType()->isVectorTy()) c = c->getSplatValue();
    if (auto* i = dyn_cast_or_null<ConstantInt>(c)) return *out = i->getZExtValue(), true;
  }
  return false;
}

// The product of the first two operands. (base + lane * step) * number is base * number, plus for each lane what is the
// same for all warps, which a loop over them computes once. Numbers are modulo their width, so that holds for any.
Value* product(Emitter& e, const Instruction& i, const std::vector<Value*>& s) {
  IRBuilder<>& ir = e.ir;
  if (!s[0]->getType()->isVectorTy()) return ir.CreateMul(s[0], s[1]);
  for (const uint32_t k : {0u, 1u}) {
    const machine::Value &lanes = i.sources[k], &number = i.sources[1 - k];
    if (!lanes.is_reg() || !e.is_scalar(lanes.reg) || e.p.registers[lanes.reg].stride == 0 || !number.is_reg() ||
        !e.is_scalar(number.reg) || e.p.registers[number.reg].stride != 0)
      continue;
    const Element element = i.pure->source[k];
    Value *base = scalar_of(e, lanes, element), *by = scalar_of(e, number, element);
    Value* steps = e.spread(Constant::getNullValue(base->getType()), e.p.registers[lanes.reg].stride);
    return ir.CreateAdd(e.spread(ir.CreateMul(base, by), 0), ir.CreateMul(steps, e.spread(by, 0)));
  }
  return ir.CreateMul(s[0], s[1]);
}

// mad and mul.
Value* product_operation(Emitter& e, const Instruction& i, const std::vector<Value*>& s) {
  IRBuilder<>& ir = e.ir;
  const isa::Operation& op = i.pure->operation;
  const unsigned bits = bits_of(op.type);
  if (bits == 64 && op.product != isa::Product::lo) return nullptr;
  const auto wide = [&](Value* a, Value* b) {
    Type* w = a->getType()->getWithNewBitWidth(2 * bits);
    Value* left = is_signed(op.type) ? ir.CreateSExt(a, w) : ir.CreateZExt(a, w);
    return ir.CreateMul(left, is_signed(op.type) ? ir.CreateSExt(b, w) : ir.CreateZExt(b, w));
  };
  Value* r = nullptr;
  switch (op.product) {
    case isa::Product::lo:
      r = product(e, i, s);
      break;
    case isa::Product::hi:
      r = ir.CreateTrunc(ir.CreateLShr(wide(s[0], s[1]), bits), s[0]->getType());
      break;
    case isa::Product::wide:
      r = wide(s[0], s[1]);
      break;
    default:
      return nullptr;
  }
  return op.opcode == isa::Opcode::mad ? ir.CreateAdd(r, s[2]) : r;
}

// Amounts are 32 bits wide and unsigned; those of the width or more give 0, or the sign.
Value* shift(Emitter& e, const std::vector<Value*>& s, bool left, bool arithmetic, unsigned bits) {
  IRBuilder<>& ir = e.ir;
  Value* amount = s[1];
  Value* big = ir.CreateICmpUGT(amount, splat(amount, bits - 1));
  amount = arithmetic ? ir.CreateSelect(big, splat(amount, bits - 1), amount)
                      : ir.CreateAnd(amount, splat(amount, bits - 1));
  amount = ir.CreateZExtOrTrunc(amount, s[0]->getType());
  if (arithmetic) return ir.CreateAShr(s[0], amount);
  return ir.CreateSelect(big, splat(s[0], 0), left ? ir.CreateShl(s[0], amount) : ir.CreateLShr(s[0], amount));
}

Value* funnel_shift(Emitter& e, const isa::Operation& op, const std::vector<Value*>& s) {
  IRBuilder<>& ir = e.ir;
  Value* c = ir.CreateAnd(s[2], splat(s[2], 31));
  Value* d = ir.CreateIntrinsic(op.left ? Intrinsic::fshl : Intrinsic::fshr, {s[0]->getType()}, {s[1], s[0], c});
  if (op.wraps) return d;
  return ir.CreateSelect(ir.CreateICmpUGT(s[2], splat(s[2], 31)), op.left ? s[0] : s[1], d);
}

// The sum of the products that the table names, if it is known.
Value* logic_of_three(Emitter& e, const std::vector<Value*>& s) {
  IRBuilder<>& ir = e.ir;
  uint64_t table;
  if (!constant(s[3], &table)) return nullptr;
  Value* d = nullptr;
  for (unsigned term = 0; term < 8; ++term) {
    if (!(table >> term & 1)) continue;
    Value* a = term & 4 ? s[0] : ir.CreateNot(s[0]);
    Value* b = term & 2 ? s[1] : ir.CreateNot(s[1]);
    Value* ab = ir.CreateAnd(a, b);
    Value* p = ir.CreateAnd(ab, term & 1 ? s[2] : ir.CreateNot(s[2]));
    d = d ? ir.CreateOr(d, p) : p;
  }
  return d ? d : splat(s[0], 0);
}

Value* bit_field(Emitter& e, const std::vector<Value*>& s, unsigned bits) {
  uint64_t position, length;
  if (!constant(s[1], &position) || !constant(s[2], &length)) return nullptr;
  if (bits == 32) position &= 255, length &= 255;
  Value* field = position >= bits ? splat(s[0], 0) : e.ir.CreateLShr(s[0], position);
  return length >= bits ? field : e.ir.CreateAnd(field, splat(s[0], (uint64_t{1} << length) - 1));
}

Value* pack(Emitter& e, const std::vector<Value*>& s) {
  IRBuilder<>& ir = e.ir;
  if (s.size() != 2) return nullptr;
  const unsigned bits = s[0]->getType()->getScalarSizeInBits();
  Type* all = s[0]->getType()->getWithNewBitWidth(2 * bits);
  Value* high = ir.CreateShl(ir.CreateZExt(s[1], all), bits);
  return ir.CreateOr(ir.CreateZExt(s[0], all), high);
}

Value* predicates(Emitter& e, isa::Opcode opcode, const std::vector<Value*>& s) {
  switch (opcode) {
    case isa::Opcode::and_:
      return e.ir.CreateAnd(s[0], s[1]);
    case isa::Opcode::or_:
      return e.ir.CreateOr(s[0], s[1]);
    case isa::Opcode::xor_:
      return e.ir.CreateXor(s[0], s[1]);
    case isa::Opcode::not_:
      return e.ir.CreateNot(s[0]);
    default:
      return nullptr;
  }
}

// One type and no other suffix.
Value* plain_operation(Emitter& e, const Instruction& i, const std::vector<Value*>& s) {
  IRBuilder<>& ir = e.ir;
  const isa::Operation& op = i.pure->operation;
  const unsigned bits = bits_of(op.type);
  const bool sign = is_signed(op.type);
  Type* type = s[0]->getType();
  switch (op.opcode) {
    case isa::Opcode::add:
      return ir.CreateAdd(s[0], s[1]);
    case isa::Opcode::sub:
      return ir.CreateSub(s[0], s[1]);
    case isa::Opcode::neg:
      return ir.CreateNeg(s[0]);
    case isa::Opcode::abs:
      return ir.CreateBinaryIntrinsic(Intrinsic::abs, s[0], ir.getFalse());
    case isa::Opcode::cnot:
      return ir.CreateZExt(ir.CreateIsNull(s[0]), type);
    case isa::Opcode::min:
      return ir.CreateBinaryIntrinsic(sign ? Intrinsic::smin : Intrinsic::umin, s[0], s[1]);
    case isa::Opcode::max:
      return ir.CreateBinaryIntrinsic(sign ? Intrinsic::smax : Intrinsic::umax, s[0], s[1]);
    case isa::Opcode::shl:
      return shift(e, s, true, false, bits);
    case isa::Opcode::shr:
      return shift(e, s, false, sign, bits);
    case isa::Opcode::brev:
      return ir.CreateUnaryIntrinsic(Intrinsic::bitreverse, s[0]);
    case isa::Opcode::popc:
      return ir.CreateZExtOrTrunc(ir.CreateUnaryIntrinsic(Intrinsic::ctpop, s[0]), type->getWithNewBitWidth(32));
    case isa::Opcode::clz:
      return ir.CreateZExtOrTrunc(ir.CreateBinaryIntrinsic(Intrinsic::ctlz, s[0], ir.getFalse()),
                                  type->getWithNewBitWidth(32));
    case isa::Opcode::div:
    case isa::Opcode::rem:
      if (bits != 32 && (bits != 64 || type->isVectorTy())) return nullptr;
      return divide(e, i, s, op.opcode == isa::Opcode::rem, sign, bits);
    case isa::Opcode::bfe:
      return sign ? nullptr : bit_field(e, s, bits);
    default:
      return predicates(e, op.opcode, s);
  }
}

}  // namespace

Value* integer_operation(Emitter& e, const Instruction& i, const std::vector<Value*>& s) {
  const isa::Operation& op = i.pure->operation;
  switch (op.opcode) {
    case isa::Opcode::mov:
      return s[0];
    case isa::Opcode::pack:
      return pack(e, s);
    case isa::Opcode::selp:
      return op.is_plain() && s.size() == 3 ? e.ir.CreateSelect(s[2], s[0], s[1]) : nullptr;
    case isa::Opcode::lop3:
      return op.is_plain(isa::Opcode::lop3, isa::Type::b32) ? logic_of_three(e, s) : nullptr;
    case isa::Opcode::shf:
      return funnel_shift(e, op, s);
    case isa::Opcode::mul:
    case isa::Opcode::mad:
      return isa::is_integer(op.type) && !op.modified ? product_operation(e, i, s) : nullptr;
    default:
      break;
  }
  if (op.type == isa::Type::pred) return predicates(e, op.opcode, s);
  return isa::is_integer(op.type) && op.is_plain() ? plain_operation(e, i, s) : nullptr;
}

}  // namespace coalesce::native
