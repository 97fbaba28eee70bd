#include "native/emit/arithmetic.h"

#include "native/analyse/nan.h"
#include "native/emit/affine_compare.h"
#include "native/emit/interleaved.h"
#include "native/emit/interpreter.h"
#include "native/emit/operations.h"
#include "native/emit/registers.h"

namespace coalesce::native {

using namespace llvm;
namespace isa = machine::isa;

bool compute(Emitter& e, const Instruction& i, const std::vector<Value*>& s, Value* out[2]) {
  IRBuilder<>& ir = e.ir;
  const machine::PureOp& op = *i.pure;
  // Registers of another width than the operation's are left to the interpreter.
  for (std::size_t k = 0; k < s.size(); ++k)
    if (s[k]->getType()->getScalarType() != e.type_of(op.source[k])) return false;
  for (std::size_t k = 0; k < op.results; ++k)
    if (i.results[k] != kNone && e.type_of(e.p.registers[i.results[k]].element) != e.type_of(op.result[k]))
      return false;
  switch (op.operation.opcode) {
    case isa::Opcode::setp:
      return compare_operation(e, op, s, out);
    case isa::Opcode::unpack: {
      if (op.operation.type == isa::Type::b16x4) return false;
      Type* half = s[0]->getType()->getWithNewBitWidth(s[0]->getType()->getScalarSizeInBits() / 2);
      out[0] = ir.CreateTrunc(s[0], half);
      out[1] = ir.CreateTrunc(ir.CreateLShr(s[0], half->getScalarSizeInBits()), half);
      return true;
    }
    case isa::Opcode::cvt:
    case isa::Opcode::widen:
    case isa::Opcode::narrow:
      out[0] = op.results == 1 ? convert_operation(e, op, s) : nullptr;
      break;
    default:
      out[0] = op.results == 1 ? integer_operation(e, i, s) : nullptr;
      if (!out[0] && op.results == 1) out[0] = float_operation(e, op, s);
  }
  return out[0] != nullptr;
}

namespace {

// Predicates among themselves, as words; null: it is none of those.
Value* predicate_operation(Emitter& e, const Instruction& i) {
  const isa::Operation& op = i.pure->operation;
  if (op.type != isa::Type::pred || !op.is_plain() || i.pure->results != 1) return nullptr;
  Value* a = predicate_mask(e, i.sources[0]);
  Value* b = i.sources.size() > 1 ? predicate_mask(e, i.sources[1]) : nullptr;
  switch (op.opcode) {
    case isa::Opcode::and_:
      return e.ir.CreateAnd(a, b);
    case isa::Opcode::or_:
      return e.ir.CreateOr(a, b);
    case isa::Opcode::xor_:
      return e.ir.CreateXor(a, b);
    case isa::Opcode::not_:
      return e.ir.CreateNot(a);
    case isa::Opcode::mov:
      return a;
    default:
      return nullptr;
  }
}

}  // namespace

void emit_pure(Emitter& e, uint32_t index, const Active& active) {
  IRBuilder<>& ir = e.ir;
  const Instruction& i = e.p.code[index];
  const bool as_scalar =
      i.guard == kNone && e.is_scalar(i.results[0]) && (i.results[1] == kNone || e.is_scalar(i.results[1]));
  if (Value* r = as_scalar ? nullptr : predicate_operation(e, i)) return write(e, i.results[0], r, active);
  if (Value* mask = as_scalar ? nullptr : compare_affine(e, i)) {
    write(e, i.results[0], mask, active);
    if (i.results[1] != kNone) write(e, i.results[1], ir.CreateNot(mask), active);
    return;
  }
  // Uses for which any NaN will do: arithmetic, comparisons of numbers, moves between registers that may hold any.
  const bool arithmetic = i.pure->facts.makes_nan;
  const bool moves = is_bit_copy(*i.pure) && e.facts.any_nan[i.results[0]];
  const bool raw = arithmetic || moves || i.pure->operation.is(isa::Opcode::setp, isa::Type::f32);
  std::vector<Value*> sources;
  for (std::size_t k = 0; k < i.sources.size() && k < 4; ++k) {
    Value* v = as_scalar ? scalar_of(e, i.sources[k], i.pure->source[k], raw)
                         : vector_of(e, i.sources[k], i.pure->source[k], raw);
    sources.push_back(v);
  }
  const std::optional<Interleaved::Part> part = as_scalar ? std::nullopt : part_of_result(e, i, active, raw);
  Value* out[2] = {nullptr, nullptr};
  if (!compute(e, i, sources, out)) call_row(e, index, i, as_scalar, sources, out);
  if (arithmetic && !e.facts.any_nan[i.results[0]]) out[0] = canonical(e, out[0]);
  // Lanes that are off keep their values where they may be read again.
  Active to = active;
  for (std::size_t k = 0; k < 2; ++k) {
    const uint32_t r = i.results[k];
    if (r == kNone) continue;
    if (as_scalar) {
      set_register(e, r, out[k]);
      continue;
    }
    if (e.is_scalar(r)) {  // of two results one may be a vector because it is elsewhere
      set_register(e, r, ir.CreateExtractElement(out[k], uint64_t{0}));
      continue;
    }
    to.keeps = i.guard != kNone || (active.keeps && !e.p.registers[r].block_local);
    write(e, r, e.p.registers[r].element == Element::pred ? e.bits_of(out[k]) : out[k], to);
    if (part) e.interleaved.parts[r] = *part;
  }
}

}  // namespace coalesce::native
