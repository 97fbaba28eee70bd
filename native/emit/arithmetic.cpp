#include "native/emit/arithmetic.h"

#include "native/analyse/nan.h"
#include "native/emit/affine_compare.h"
#include "native/emit/interleaved.h"
#include "native/emit/interpreter.h"
#include "native/emit/operations.h"
#include "native/emit/registers.h"

namespace coalesce::native {

using namespace llvm;

bool compute(Emitter& e, const Instruction& i, const std::vector<Value*>& s, Value* out[2]) {
  IRBuilder<>& ir = e.ir;
  const machine::PureOp& op = *i.pure;
  // Registers of another width than the operation's: the interpreter knows what their slots hold.
  for (std::size_t k = 0; k < s.size(); ++k)
    if (s[k]->getType()->getScalarType() != e.type_of(op.source[k])) return false;
  for (std::size_t k = 0; k < op.results; ++k)
    if (i.results[k] != kNone && e.type_of(e.p.registers[i.results[k]].element) != e.type_of(op.result[k]))
      return false;
  const std::string_view name = op.mnemonic;
  if (name.starts_with("setp.")) return compare_operation(e, op, s, out);
  if (name.starts_with("unpack.")) {
    if (name.find("x4") != std::string_view::npos) return false;
    Type* half = s[0]->getType()->getWithNewBitWidth(s[0]->getType()->getScalarSizeInBits() / 2);
    out[0] = ir.CreateTrunc(s[0], half);
    out[1] = ir.CreateTrunc(ir.CreateLShr(s[0], half->getScalarSizeInBits()), half);
    return true;
  }
  if (op.results != 1) return false;
  out[0] = nullptr;
  if (name.starts_with("cvt.") || name.starts_with("widen.") || name.starts_with("narrow.")) {
    out[0] = convert_operation(e, op, s);
  } else {
    out[0] = integer_operation(e, i, s);
    if (!out[0]) out[0] = float_operation(e, op, s);
  }
  return out[0] != nullptr;
}

void emit_pure(Emitter& e, uint32_t index, const Active& active) {
  IRBuilder<>& ir = e.ir;
  const Instruction& i = e.p.code[index];
  const bool as_scalar =
      i.guard == kNone && e.is_scalar(i.results[0]) && (i.results[1] == kNone || e.is_scalar(i.results[1]));
  // Predicates among themselves, as words.
  const std::string_view name = i.pure->mnemonic;
  if (!as_scalar && i.pure->results == 1 && name.ends_with(".pred") && name.find('.') == name.size() - 5) {
    Value* a = predicate_mask(e, i.sources[0]);
    Value* b = i.sources.size() > 1 ? predicate_mask(e, i.sources[1]) : nullptr;
    Value* r = name.starts_with("and")   ? ir.CreateAnd(a, b)
               : name.starts_with("or")  ? ir.CreateOr(a, b)
               : name.starts_with("xor") ? ir.CreateXor(a, b)
               : name.starts_with("not") ? ir.CreateNot(a)
               : name.starts_with("mov") ? a
                                         : nullptr;
    if (r) return write(e, i.results[0], r, active);
  }
  if (Value* mask = as_scalar ? nullptr : compare_affine(e, i)) {
    write(e, i.results[0], mask, active);
    if (i.results[1] != kNone) write(e, i.results[1], ir.CreateNot(mask), active);
    return;
  }
  // Uses for which any NaN will do: arithmetic, comparisons of numbers, moves between registers that may hold any.
  const bool arithmetic = makes_nan(*i.pure);
  const bool moves = (name == "mov.f32" || name == "mov.b32") && e.facts.any_nan[i.results[0]];
  const bool raw =
      arithmetic || moves || (name.starts_with("setp.") && (name.ends_with(".f32") || name.ends_with(".f32|")));
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
