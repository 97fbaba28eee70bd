#include "native/emit/affine_compare.h"

#include <bit>

#include "native/emit/registers.h"

namespace coalesce::native {

using namespace llvm;
using machine::kLanes;
namespace isa = machine::isa;

namespace {

constexpr int64_t kBound = int64_t{1} << 31;  // below it signed and unsigned numbers are ordered alike

// The lanes for which a comparison holds: those below a number, the others, or those equal to it.
struct Question {
  enum { none, below, not_below, equal, not_equal } what = none;
  int64_t more = 0;       // added to the number
  bool is_signed = true;  // if its operands are
};

Question question_of(isa::Comparison comparison) {
  switch (comparison) {
    case isa::Comparison::lt:
      return {Question::below, 0, true};
    case isa::Comparison::le:
      return {Question::below, 1, true};
    case isa::Comparison::ge:
      return {Question::not_below, 0, true};
    case isa::Comparison::gt:
      return {Question::not_below, 1, true};
    case isa::Comparison::lo:
      return {Question::below, 0, false};
    case isa::Comparison::ls:
      return {Question::below, 1, false};
    case isa::Comparison::hs:
      return {Question::not_below, 0, false};
    case isa::Comparison::hi:
      return {Question::not_below, 1, false};
    case isa::Comparison::eq:
      return {Question::equal, 0, true};
    case isa::Comparison::ne:
      return {Question::not_equal, 0, true};
    default:
      return {};
  }
}

}  // namespace

Value* compare_affine(Emitter& e, const Instruction& i) {
  IRBuilder<>& ir = e.ir;
  const isa::Operation& op = i.pure->operation;
  if (!op.is_comparison() || !i.sources[0].is_reg()) return nullptr;
  const Register& a = e.p.registers[i.sources[0].reg];
  const machine::Value& other = i.sources[1];
  if ((op.type != isa::Type::s32 && op.type != isa::Type::u32 && op.type != isa::Type::b32) ||
      a.element != Element::b32)
    return nullptr;
  if (other.is_reg() && (!e.is_scalar(other.reg) || e.p.registers[other.reg].lanes == LaneClass::affine ||
                         e.p.registers[other.reg].element != Element::b32))
    return nullptr;
  for (const uint32_t r : i.results)
    if (r != kNone && e.is_scalar(r)) return nullptr;
  // Lanes that do not exist may lie beyond the range, and must not wrap either.
  if (a.lanes != LaneClass::affine || a.stride <= 0 || !std::has_single_bit(static_cast<uint64_t>(a.stride)) ||
      a.stride > (1 << 20) || !a.range.known() || a.range.low < 0 || a.range.high >= kBound - a.stride * kLanes)
    return nullptr;
  const Question question = question_of(op.comparison);
  if (question.what == Question::none) return nullptr;
  Type *i32 = ir.getInt32Ty(), *i64 = ir.getInt64Ty();
  Value* base = scalar_of(e, i.sources[0], Element::b32);
  Value* number = scalar_of(e, other, Element::b32);
  const uint64_t step = static_cast<uint64_t>(a.stride), width = step * kLanes;
  const bool equality = question.what == Question::equal || question.what == Question::not_equal;
  const bool negated = question.what == Question::not_below || question.what == Question::not_equal;
  Value* mask = nullptr;
  if (uint64_t c; e.known(other, &c) && c < static_cast<uint64_t>(kBound) && a.alignment % width == 0 &&
                  (equality || (c + static_cast<uint64_t>(question.more)) % width == 0)) {
    // threadIdx.x < 64, in a warp that begins at a multiple of its own width: all lanes answer alike, or (equality)
    // one of them is known to be different.
    if (equality) {
      const uint64_t in = c % width;
      Value* here = ir.CreateICmpEQ(base, ConstantInt::get(i32, c - in));
      mask = ir.CreateSelect(here, ir.getInt32(in % step == 0 ? 1u << in / step : 0), ir.getInt32(0));
    } else {
      Value* all = ir.CreateICmpULT(base, ConstantInt::get(i32, c + static_cast<uint64_t>(question.more)));
      mask = ir.CreateSExt(all, i32);
    }
  } else {
    // The distance of the number from lane 0, and its number of steps.
    number = question.is_signed && op.type == isa::Type::s32 ? ir.CreateSExt(number, i64) : ir.CreateZExt(number, i64);
    Value* far = ir.CreateSub(number, ir.CreateZExt(base, i64));
    const auto places = static_cast<uint64_t>(std::countr_zero(step));
    if (equality) {
      Value* hit = ir.CreateICmpULT(far, ir.getInt64(width));
      if (step > 1) hit = ir.CreateAnd(hit, ir.CreateIsNull(ir.CreateAnd(far, ir.getInt64(step - 1))));
      Value* lane = ir.CreateAnd(ir.CreateLShr(far, places), ir.getInt64(kLanes - 1));
      mask = ir.CreateSelect(hit, ir.CreateShl(ir.getInt32(1), ir.CreateTrunc(lane, i32)), ir.getInt32(0));
    } else {
      Value* lanes = ir.CreateAdd(far, ir.getInt64(static_cast<uint64_t>(question.more) + step - 1));
      lanes = ir.CreateBinaryIntrinsic(Intrinsic::smax, ir.CreateAShr(lanes, places), ir.getInt64(0));
      lanes = ir.CreateBinaryIntrinsic(Intrinsic::umin, lanes, ir.getInt64(kLanes));
      mask = ir.CreateTrunc(ir.CreateSub(ir.CreateShl(ir.getInt64(1), lanes), ir.getInt64(1)), i32);
    }
  }
  return negated ? ir.CreateNot(mask) : mask;
}

}  // namespace coalesce::native
