#include "machine/program/flatten.h"
#include "native/emit/operations.h"
#include "native/emit/registers.h"

namespace coalesce::native {

using namespace llvm;
using machine::Mnemonic;

namespace {

unsigned bits_of_type(std::string_view t) {
  return t.ends_with("64") ? 64 : t.ends_with("32") ? 32 : t.ends_with("16") ? 16 : t.ends_with("8") ? 8 : 0;
}
bool is_integer(std::string_view t) {
  return (t[0] == 's' || t[0] == 'u' || t[0] == 'b') && bits_of_type(t) >= 16 &&
         t.find('x') == std::string_view::npos && t.substr(0, 2) != "bf";
}
bool constant(Value* v, uint64_t* out) {
  if (auto* c = dyn_cast<Constant>(v)) {
    if (c->getType()->isVectorTy()) c = c->getSplatValue();
    if (auto* i = dyn_cast_or_null<ConstantInt>(c)) return *out = i->getZExtValue(), true;
  }
  return false;
}

}  // namespace

// Of the first two operands. (base + lane * step) * number is base * number, plus for each lane what is the same for
// all warps, which a loop over them computes once. Numbers are modulo their width, so that holds for any.
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

Value* integer_operation(Emitter& e, const Instruction& i, const std::vector<Value*>& s) {
  const machine::PureOp& op = *i.pure;
  IRBuilder<>& ir = e.ir;
  const Mnemonic m(op.mnemonic);
  const std::string_view o = m.opcode, t = m.suffixes.empty() ? "" : m.suffixes.back();
  const std::size_t n = m.suffixes.size();
  if (o == "mov") return s[0];
  if (o == "pack") {
    if (s.size() != 2) return nullptr;
    Type* whole = s[0]->getType()->getWithNewBitWidth(2 * s[0]->getType()->getScalarSizeInBits());
    Value* high = ir.CreateShl(ir.CreateZExt(s[1], whole), s[0]->getType()->getScalarSizeInBits());
    return ir.CreateOr(ir.CreateZExt(s[0], whole), high);
  }
  if (o == "selp" && s.size() == 3 && n == 1) return ir.CreateSelect(s[2], s[0], s[1]);
  if (t == "pred") {
    if (o == "and") return ir.CreateAnd(s[0], s[1]);
    if (o == "or") return ir.CreateOr(s[0], s[1]);
    if (o == "xor") return ir.CreateXor(s[0], s[1]);
    if (o == "not") return ir.CreateNot(s[0]);
    return nullptr;
  }
  if (o == "lop3" && op.mnemonic == "lop3.b32") {
    uint64_t table;
    if (!constant(s[3], &table)) return nullptr;
    Value* d = nullptr;
    for (unsigned term = 0; term < 8; ++term) {
      if (!(table >> term & 1)) continue;
      Value* p = ir.CreateAnd(ir.CreateAnd(term & 4 ? s[0] : ir.CreateNot(s[0]), term & 2 ? s[1] : ir.CreateNot(s[1])),
                              term & 1 ? s[2] : ir.CreateNot(s[2]));
      d = d ? ir.CreateOr(d, p) : p;
    }
    return d ? d : splat(s[0], 0);
  }
  if (o == "shf" && n == 3) {
    const bool left = m.suffixes[0] == "l";
    Value* c = ir.CreateAnd(s[2], splat(s[2], 31));
    Value* d = ir.CreateIntrinsic(left ? Intrinsic::fshl : Intrinsic::fshr, {s[0]->getType()}, {s[1], s[0], c});
    if (m.suffixes[1] == "wrap") return d;
    return ir.CreateSelect(ir.CreateICmpUGT(s[2], splat(s[2], 31)), left ? s[0] : s[1], d);
  }
  if (!is_integer(t)) return nullptr;
  const unsigned bits = bits_of_type(t);
  const bool is_signed = t[0] == 's';
  Type* type = s[0]->getType();
  const auto mul_wide = [&](Value* a, Value* b) {
    Type* w = a->getType()->getWithNewBitWidth(2 * bits);
    return is_signed ? ir.CreateMul(ir.CreateSExt(a, w), ir.CreateSExt(b, w))
                     : ir.CreateMul(ir.CreateZExt(a, w), ir.CreateZExt(b, w));
  };
  const auto high = [&](Value* a, Value* b) {
    return ir.CreateTrunc(ir.CreateLShr(mul_wide(a, b), bits), a->getType());
  };
  if (n == 1) {
    if (o == "add") return ir.CreateAdd(s[0], s[1]);
    if (o == "sub") return ir.CreateSub(s[0], s[1]);
    if (o == "and") return ir.CreateAnd(s[0], s[1]);
    if (o == "or") return ir.CreateOr(s[0], s[1]);
    if (o == "xor") return ir.CreateXor(s[0], s[1]);
    if (o == "not") return ir.CreateNot(s[0]);
    if (o == "neg") return ir.CreateNeg(s[0]);
    if (o == "abs") return ir.CreateBinaryIntrinsic(Intrinsic::abs, s[0], ir.getFalse());
    if (o == "cnot") return ir.CreateZExt(ir.CreateIsNull(s[0]), type);
    if (o == "min") return ir.CreateBinaryIntrinsic(is_signed ? Intrinsic::smin : Intrinsic::umin, s[0], s[1]);
    if (o == "max") return ir.CreateBinaryIntrinsic(is_signed ? Intrinsic::smax : Intrinsic::umax, s[0], s[1]);
    if (o == "shl" || o == "shr") {
      // Amounts are 32 bits wide and unsigned; those of the width or more give 0, or the sign.
      Value* amount = s[1];
      Value* big = ir.CreateICmpUGT(amount, splat(amount, bits - 1));
      const bool arithmetic = o == "shr" && is_signed;
      amount = arithmetic ? ir.CreateSelect(big, splat(amount, bits - 1), amount)
                          : ir.CreateAnd(amount, splat(amount, bits - 1));
      amount = ir.CreateZExtOrTrunc(amount, type);
      if (arithmetic) return ir.CreateAShr(s[0], amount);
      return ir.CreateSelect(big, splat(s[0], 0),
                             o == "shl" ? ir.CreateShl(s[0], amount) : ir.CreateLShr(s[0], amount));
    }
    if (o == "popc" || o == "clz" || o == "brev") {
      Value* r = o == "popc"  ? ir.CreateUnaryIntrinsic(Intrinsic::ctpop, s[0])
                 : o == "clz" ? ir.CreateBinaryIntrinsic(Intrinsic::ctlz, s[0], ir.getFalse())
                              : ir.CreateUnaryIntrinsic(Intrinsic::bitreverse, s[0]);
      return o == "brev" ? r : ir.CreateZExtOrTrunc(r, type->getWithNewBitWidth(32));
    }
    if ((o == "div" || o == "rem") && (bits == 32 || (bits == 64 && !type->isVectorTy())))
      return divide(e, i, s, o == "rem", is_signed, bits);
    uint64_t position, length;
    if (o == "bfe" && !is_signed && constant(s[1], &position) && constant(s[2], &length)) {
      if (bits == 32) position &= 255, length &= 255;
      Value* field = position >= bits ? splat(s[0], 0) : ir.CreateLShr(s[0], position);
      return length >= bits ? field : ir.CreateAnd(field, splat(s[0], (uint64_t{1} << length) - 1));
    }
    return nullptr;
  }
  if (n != 2) return nullptr;
  const std::string_view form = m.suffixes[0];
  if (o == "mul" && form == "lo") return product(e, i, s);
  if (o == "mad" && form == "lo") return ir.CreateAdd(product(e, i, s), s[2]);
  if (bits == 64) return nullptr;
  if (o == "mul" && form == "hi") return high(s[0], s[1]);
  if (o == "mad" && form == "hi") return ir.CreateAdd(high(s[0], s[1]), s[2]);
  if (o == "mul" && form == "wide") return mul_wide(s[0], s[1]);
  if (o == "mad" && form == "wide") return ir.CreateAdd(mul_wide(s[0], s[1]), s[2]);
  return nullptr;
}

}  // namespace coalesce::native
