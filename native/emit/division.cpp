#include "native/emit/operations.h"
#include "native/emit/registers.h"

namespace coalesce::native {

using namespace llvm;

namespace {

// Division by zero gives all ones, as quotient and as remainder.
Value* unless_zero(Emitter& e, Value* zero, Value* result) {
  return e.ir.CreateSelect(zero, Constant::getAllOnesValue(result->getType()), result);
}

Value* divide_64(Emitter& e, const std::vector<Value*>& s, bool remainder, bool is_signed) {
  IRBuilder<>& ir = e.ir;
  Value* zero = ir.CreateIsNull(s[1]);
  Value *q, *divisor = ir.CreateSelect(zero, splat(s[1], 1), s[1]);
  if (is_signed) {
    Value* minus = ir.CreateICmpEQ(s[1], Constant::getAllOnesValue(s[0]->getType()));
    q = ir.CreateSDiv(s[0], ir.CreateSelect(minus, splat(s[1], 1), divisor));
    q = ir.CreateSelect(minus, ir.CreateNeg(s[0]), q);
  } else {
    q = ir.CreateUDiv(s[0], divisor);
  }
  if (remainder) q = ir.CreateSub(s[0], ir.CreateMul(q, s[1]));
  return unless_zero(e, zero, q);
}

// 32 bits. The general form divides in double precision, which is exact and has vectors.
class Division {
 public:
  Division(Emitter& e, const Instruction& i, const std::vector<Value*>& s, bool remainder, bool is_signed)
      : e_(e),
        ir_(e.ir),
        s_(s),
        remainder_(remainder),
        is_signed_(is_signed),
        type_(s[0]->getType()),
        divisor_(i.sources[1]),
        same_(!divisor_.is_reg() ||
              (e.is_scalar(divisor_.reg) && e.p.registers[divisor_.reg].lanes != LaneClass::affine)) {
    const machine::Value& a = i.sources[0];
    const bool natural =
        !is_signed || (a.is_reg() && e.p.registers[a.reg].range.known() && e.p.registers[a.reg].range.low >= 0);
    may_shift_ = natural && same_;
  }

  // Divides by a power of two that is the same for all lanes, numbers that are not negative: a shift or a mask. That is
  // the usual remainder.
  Value* run() {
    if (!may_shift_) return general();
    Value* one = scalar_of(e_, divisor_, Element::b32);
    Value* less = ir_.CreateSub(one, ir_.getInt32(1));
    Value* power = ir_.CreateAnd(ir_.CreateIsNull(ir_.CreateAnd(one, less)), ir_.CreateICmpSGT(one, ir_.getInt32(0)));
    if (isa<ConstantInt>(power)) return cast<ConstantInt>(power)->isZero() ? general() : by_power(one, less);
    BasicBlock *other = e_.split(power, "other", true), *join = e_.block("join");
    Value* r = by_power(one, less);
    BasicBlock* simple_end = ir_.GetInsertBlock();
    ir_.CreateBr(join);
    ir_.SetInsertPoint(other);
    Value* q = general();
    BasicBlock* other_end = ir_.GetInsertBlock();
    ir_.CreateBr(join);
    ir_.SetInsertPoint(join);
    PHINode* phi = ir_.CreatePHI(type_, 2);
    phi->addIncoming(r, simple_end);
    phi->addIncoming(q, other_end);
    return phi;
  }

 private:
  Value* number(Value* v) {
    Type* to = v->getType()->getWithNewType(ir_.getDoubleTy());
    return is_signed_ ? ir_.CreateSIToFP(v, to) : ir_.CreateUIToFP(v, to);
  }

  Value* general() {
    // A divisor that is the same for all lanes is converted once.
    Value* by = same_ ? scalar_of(e_, divisor_, Element::b32) : s_[1];
    Value* zero = ir_.CreateIsNull(by);
    Value* b = number(ir_.CreateSelect(zero, splat(by, 1), by));
    if (by->getType() != type_) b = e_.spread(b, 0), zero = e_.spread(zero, 0);
    Value* a = number(s_[0]);
    Value* q = ir_.CreateTrunc(ir_.CreateFPToSI(ir_.CreateFDiv(a, b), type_->getWithNewBitWidth(64)), type_);
    if (remainder_) q = ir_.CreateSub(s_[0], ir_.CreateMul(q, s_[1]));
    return unless_zero(e_, zero, q);
  }

  Value* by_power(Value* one, Value* less) {
    Value* shift = ir_.CreateBinaryIntrinsic(Intrinsic::cttz, one, ir_.getFalse());
    if (type_->isVectorTy()) less = e_.spread(less, 0), shift = e_.spread(shift, 0);
    return remainder_ ? ir_.CreateAnd(s_[0], less) : ir_.CreateLShr(s_[0], shift);
  }

  Emitter& e_;
  IRBuilder<>& ir_;
  const std::vector<Value*>& s_;
  const bool remainder_, is_signed_;
  Type* const type_;
  const machine::Value& divisor_;
  const bool same_;  // the divisor is the same for all lanes
  bool may_shift_ = false;
};

}  // namespace

Value* divide(Emitter& e, const Instruction& i, const std::vector<Value*>& s, bool remainder, bool is_signed,
              unsigned bits) {
  return bits == 64 ? divide_64(e, s, remainder, is_signed) : Division(e, i, s, remainder, is_signed).run();
}

}  // namespace coalesce::native
