#include "machine/isa/facts.h"

namespace coalesce::machine {

namespace {

bool is_number(isa::Type type) { return isa::is_integer(type) && isa::bits_of(type) >= 32; }

Rule product_rule(const isa::Operation& op) {
  const bool adds = op.opcode == isa::Opcode::mad;
  switch (op.product) {
    case isa::Product::lo:
      return adds ? Rule::mad_low : Rule::mul_low;
    case isa::Product::wide:
      return adds ? Rule::mad_wide : Rule::mul_wide;
    default:
      return Rule::other;
  }
}

Rule conversion_rule(const isa::Operation& op) {
  if (!is_number(op.to)) return Rule::other;
  const unsigned to = isa::bits_of(op.to), from = isa::bits_of(op.type);
  if (to == from) return Rule::move;
  if (to < from) return Rule::truncate;
  return isa::is_signed(op.type) ? Rule::widen_signed : Rule::widen_unsigned;
}

Rule rule_of(const isa::Operation& op) {
  switch (op.opcode) {
    case isa::Opcode::add:
      return Rule::add;
    case isa::Opcode::sub:
      return Rule::sub;
    case isa::Opcode::mul:
    case isa::Opcode::mad:
      return product_rule(op);
    case isa::Opcode::shl:
      return Rule::shift_left;
    case isa::Opcode::neg:
      return Rule::minus;
    case isa::Opcode::mov:
      return Rule::move;
    case isa::Opcode::cvt:
    case isa::Opcode::widen:
    case isa::Opcode::narrow:
      return conversion_rule(op);
    default:
      return Rule::other;
  }
}

LinearRule linear_rule(const isa::Operation& op) {
  if (op.modified || op.rounding != isa::Rounding::none || !is_number(op.type)) return {};
  const Rule rule = rule_of(op);
  if (rule == Rule::other) return {};
  const bool wide = rule == Rule::mul_wide || rule == Rule::mad_wide;
  const unsigned bits = op.to != isa::Type::none ? isa::bits_of(op.to) : isa::bits_of(op.type) * (wide ? 2 : 1);
  return {rule, bits, isa::is_signed(op.type)};
}

BoundRule bound_rule(const isa::Operation& op) {
  if (!op.is_plain() || !is_number(op.type)) return {};
  const Bound bound = op.opcode == isa::Opcode::and_  ? Bound::mask
                      : op.opcode == isa::Opcode::shr ? Bound::shift_right
                      : op.opcode == isa::Opcode::rem ? Bound::remainder
                                                      : Bound::none;
  if (bound == Bound::none) return {};
  return {bound, isa::bits_of(op.type), isa::is_signed(op.type)};
}

bool moves(isa::Opcode o) {
  switch (o) {
    case isa::Opcode::mov:
    case isa::Opcode::cvt:
    case isa::Opcode::shl:
    case isa::Opcode::shr:
    case isa::Opcode::or_:
    case isa::Opcode::and_:
    case isa::Opcode::prmt:
    case isa::Opcode::bfi:
    case isa::Opcode::pack:
    case isa::Opcode::unpack:
    case isa::Opcode::widen:
    case isa::Opcode::narrow:
      return true;
    default:
      return false;
  }
}

bool makes_nan(const isa::Operation& op) {
  if (op.type != isa::Type::f32 || op.to != isa::Type::none || op.modified) return false;
  switch (op.opcode) {
    case isa::Opcode::add:
    case isa::Opcode::sub:
    case isa::Opcode::mul:
    case isa::Opcode::fma:
    case isa::Opcode::mad:
    case isa::Opcode::div:
    case isa::Opcode::rcp:
    case isa::Opcode::sqrt:
      return op.rounding == isa::Rounding::none || op.rounding == isa::Rounding::rn;
    case isa::Opcode::neg:
    case isa::Opcode::abs:
    case isa::Opcode::min:
    case isa::Opcode::max:
      return op.rounding == isa::Rounding::none;
    default:
      return false;
  }
}

}  // namespace

RowFacts facts_of(const isa::Operation& op) {
  return {linear_rule(op), bound_rule(op), moves(op.opcode), makes_nan(op)};
}

}  // namespace coalesce::machine
