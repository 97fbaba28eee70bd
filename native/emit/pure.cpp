// Instructions that compute. Each is LLVM's operation where that is exactly what the interpreter's row does
// (machine/execute/ops) for every input, NaN included; all others call that row.
#include "machine/program/flatten.h"
#include "native/emit/generator.h"

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
// Constant of the same shape as `like`.
Value* splat(Value* like, uint64_t v) { return ConstantInt::get(like->getType(), v); }
bool constant(Value* v, uint64_t* out) {
  if (auto* c = dyn_cast<Constant>(v)) {
    if (c->getType()->isVectorTy()) c = c->getSplatValue();
    if (auto* i = dyn_cast_or_null<ConstantInt>(c)) return *out = i->getZExtValue(), true;
  }
  return false;
}

}  // namespace

void Generator::pure(uint32_t index, const Where& where) {
  const Instruction& i = p_.code[index];
  const bool as_scalar =
      i.guard == kNone && is_scalar(i.results[0]) && (i.results[1] == kNone || is_scalar(i.results[1]));
  // Predicates among themselves, as words.
  const std::string_view name = i.pure->mnemonic;
  if (!as_scalar && i.pure->results == 1 && name.ends_with(".pred") && name.find('.') == name.size() - 5) {
    Value* a = mask_of(i.sources[0]);
    Value* b = i.sources.size() > 1 ? mask_of(i.sources[1]) : nullptr;
    Value* r = name.starts_with("and")   ? ir_.CreateAnd(a, b)
               : name.starts_with("or")  ? ir_.CreateOr(a, b)
               : name.starts_with("xor") ? ir_.CreateXor(a, b)
               : name.starts_with("not") ? ir_.CreateNot(a)
               : name.starts_with("mov") ? a
                                         : nullptr;
    if (r) return write(i.results[0], r, where);
  }
  if (Value* mask = as_scalar ? nullptr : compare_steps(i)) {
    write(i.results[0], mask, where);
    if (i.results[1] != kNone) write(i.results[1], ir_.CreateNot(mask), where);
    return;
  }
  // What any NaN is good for: arithmetic, comparisons of numbers, moves between registers that may hold any.
  const bool arithmetic = makes_nan(*i.pure);
  const bool moves = (name == "mov.f32" || name == "mov.b32") && lazy_[i.results[0]];
  const bool raw =
      arithmetic || moves || (name.starts_with("setp.") && (name.ends_with(".f32") || name.ends_with(".f32|")));
  std::vector<Value*> sources;
  for (std::size_t k = 0; k < i.sources.size() && k < 4; ++k) {
    Value* v = as_scalar ? scalar(i.sources[k], i.pure->source[k], raw) : vector(i.sources[k], i.pure->source[k], raw);
    sources.push_back(v);
  }
  const std::optional<Part> part = as_scalar ? std::nullopt : part_of_result(i, where, raw);
  Value* out[2] = {nullptr, nullptr};
  if (!compute(i, as_scalar, sources, out)) pure_step(index, i, as_scalar, sources, out);
  if (arithmetic && !lazy_[i.results[0]]) out[0] = canonical(out[0]);
  // Lanes that are off keep their values where they may be read again.
  Where to = where;
  for (std::size_t k = 0; k < 2; ++k) {
    const uint32_t r = i.results[k];
    if (r == kNone) continue;
    if (as_scalar) {
      write_scalar(r, out[k]);
      continue;
    }
    if (is_scalar(r)) {  // of two results one may be a vector because it is elsewhere
      write_scalar(r, ir_.CreateExtractElement(out[k], uint64_t{0}));
      continue;
    }
    to.keeps = i.guard != kNone || (where.keeps && !p_.registers[r].block_local);
    write(r, p_.registers[r].element == Element::pred ? bits_of(out[k]) : out[k], to);
    if (part) parts_[r] = *part;
  }
}

bool Generator::compute(const Instruction& i, bool as_scalar, const std::vector<Value*>& s, Value* out[2]) {
  const machine::PureOp& op = *i.pure;
  // Registers of another width than the operation's: the interpreter knows what their slots hold.
  for (std::size_t k = 0; k < s.size(); ++k)
    if (s[k]->getType()->getScalarType() != type_of(op.source[k])) return false;
  for (std::size_t k = 0; k < op.results; ++k)
    if (i.results[k] != kNone && type_of(p_.registers[i.results[k]].element) != type_of(op.result[k])) return false;
  const std::string_view name = op.mnemonic;
  if (name.starts_with("setp.")) return compare(name, s, out);
  if (name.starts_with("unpack.")) {
    if (name.find("x4") != std::string_view::npos) return false;
    Type* half = s[0]->getType()->getWithNewBitWidth(s[0]->getType()->getScalarSizeInBits() / 2);
    out[0] = ir_.CreateTrunc(s[0], half);
    out[1] = ir_.CreateTrunc(ir_.CreateLShr(s[0], half->getScalarSizeInBits()), half);
    return true;
  }
  if (op.results != 1) return false;
  out[0] = nullptr;
  if (name.starts_with("cvt.") || name.starts_with("widen.") || name.starts_with("narrow.")) {
    out[0] = convert(name, s);
  } else {
    out[0] = integer(op, i, as_scalar, s);
    if (!out[0]) out[0] = floating(name, s);
  }
  return out[0] != nullptr;
}

// Of the first two operands. (base + lane x step) x number: base x number, and for each lane what is the same for all
// warps, so that a loop over them computes it once. Numbers are modulo their width, so it is the same for any.
Value* Generator::product(const Instruction& i, const std::vector<Value*>& s) {
  if (!s[0]->getType()->isVectorTy()) return ir_.CreateMul(s[0], s[1]);
  for (const uint32_t k : {0u, 1u}) {
    const machine::Value &lanes = i.sources[k], &number = i.sources[1 - k];
    if (!lanes.is_reg() || !is_scalar(lanes.reg) || p_.registers[lanes.reg].stride == 0 || !number.is_reg() ||
        !is_scalar(number.reg) || p_.registers[number.reg].stride != 0)
      continue;
    const Element e = i.pure->source[k];
    Value *base = scalar(lanes, e), *by = scalar(number, e);
    Value* steps = spread(Constant::getNullValue(base->getType()), p_.registers[lanes.reg].stride);
    return ir_.CreateAdd(spread(ir_.CreateMul(base, by), 0), ir_.CreateMul(steps, spread(by, 0)));
  }
  return ir_.CreateMul(s[0], s[1]);
}

Value* Generator::integer(const machine::PureOp& op, const Instruction& i, bool, const std::vector<Value*>& s) {
  const Mnemonic m(op.mnemonic);
  const std::string_view o = m.opcode, t = m.suffixes.empty() ? "" : m.suffixes.back();
  const std::size_t n = m.suffixes.size();
  if (o == "mov") return s[0];
  if (o == "pack") {
    if (s.size() != 2) return nullptr;
    Type* whole = s[0]->getType()->getWithNewBitWidth(2 * s[0]->getType()->getScalarSizeInBits());
    Value* high = ir_.CreateShl(ir_.CreateZExt(s[1], whole), s[0]->getType()->getScalarSizeInBits());
    return ir_.CreateOr(ir_.CreateZExt(s[0], whole), high);
  }
  if (o == "selp" && s.size() == 3 && n == 1) return ir_.CreateSelect(s[2], s[0], s[1]);
  if (t == "pred") {
    if (o == "and") return ir_.CreateAnd(s[0], s[1]);
    if (o == "or") return ir_.CreateOr(s[0], s[1]);
    if (o == "xor") return ir_.CreateXor(s[0], s[1]);
    if (o == "not") return ir_.CreateNot(s[0]);
    return nullptr;
  }
  if (o == "lop3" && op.mnemonic == "lop3.b32") {
    uint64_t table;
    if (!constant(s[3], &table)) return nullptr;
    Value* d = nullptr;
    for (unsigned term = 0; term < 8; ++term) {
      if (!(table >> term & 1)) continue;
      Value* p =
          ir_.CreateAnd(ir_.CreateAnd(term & 4 ? s[0] : ir_.CreateNot(s[0]), term & 2 ? s[1] : ir_.CreateNot(s[1])),
                        term & 1 ? s[2] : ir_.CreateNot(s[2]));
      d = d ? ir_.CreateOr(d, p) : p;
    }
    return d ? d : splat(s[0], 0);
  }
  if (o == "shf" && n == 3) {
    const bool left = m.suffixes[0] == "l";
    Value* c = ir_.CreateAnd(s[2], splat(s[2], 31));
    Value* d = ir_.CreateIntrinsic(left ? Intrinsic::fshl : Intrinsic::fshr, {s[0]->getType()}, {s[1], s[0], c});
    if (m.suffixes[1] == "wrap") return d;
    return ir_.CreateSelect(ir_.CreateICmpUGT(s[2], splat(s[2], 31)), left ? s[0] : s[1], d);
  }
  if (!is_integer(t)) return nullptr;
  const unsigned bits = bits_of_type(t);
  const bool is_signed = t[0] == 's';
  Type* type = s[0]->getType();
  const auto mul_wide = [&](Value* a, Value* b) {
    Type* w = a->getType()->getWithNewBitWidth(2 * bits);
    return is_signed ? ir_.CreateMul(ir_.CreateSExt(a, w), ir_.CreateSExt(b, w))
                     : ir_.CreateMul(ir_.CreateZExt(a, w), ir_.CreateZExt(b, w));
  };
  const auto high = [&](Value* a, Value* b) {
    return ir_.CreateTrunc(ir_.CreateLShr(mul_wide(a, b), bits), a->getType());
  };
  if (n == 1) {
    if (o == "add") return ir_.CreateAdd(s[0], s[1]);
    if (o == "sub") return ir_.CreateSub(s[0], s[1]);
    if (o == "and") return ir_.CreateAnd(s[0], s[1]);
    if (o == "or") return ir_.CreateOr(s[0], s[1]);
    if (o == "xor") return ir_.CreateXor(s[0], s[1]);
    if (o == "not") return ir_.CreateNot(s[0]);
    if (o == "neg") return ir_.CreateNeg(s[0]);
    if (o == "abs") return ir_.CreateBinaryIntrinsic(Intrinsic::abs, s[0], ir_.getFalse());
    if (o == "cnot") return ir_.CreateZExt(ir_.CreateIsNull(s[0]), type);
    if (o == "min") return ir_.CreateBinaryIntrinsic(is_signed ? Intrinsic::smin : Intrinsic::umin, s[0], s[1]);
    if (o == "max") return ir_.CreateBinaryIntrinsic(is_signed ? Intrinsic::smax : Intrinsic::umax, s[0], s[1]);
    if (o == "shl" || o == "shr") {
      // Amounts are 32 bits wide and unsigned; those of the width or more give 0, or the sign.
      Value* amount = s[1];
      Value* big = ir_.CreateICmpUGT(amount, splat(amount, bits - 1));
      const bool arithmetic = o == "shr" && is_signed;
      amount = arithmetic ? ir_.CreateSelect(big, splat(amount, bits - 1), amount)
                          : ir_.CreateAnd(amount, splat(amount, bits - 1));
      amount = ir_.CreateZExtOrTrunc(amount, type);
      if (arithmetic) return ir_.CreateAShr(s[0], amount);
      return ir_.CreateSelect(big, splat(s[0], 0),
                              o == "shl" ? ir_.CreateShl(s[0], amount) : ir_.CreateLShr(s[0], amount));
    }
    if (o == "popc" || o == "clz" || o == "brev") {
      Value* r = o == "popc"  ? ir_.CreateUnaryIntrinsic(Intrinsic::ctpop, s[0])
                 : o == "clz" ? ir_.CreateBinaryIntrinsic(Intrinsic::ctlz, s[0], ir_.getFalse())
                              : ir_.CreateUnaryIntrinsic(Intrinsic::bitreverse, s[0]);
      return o == "brev" ? r : ir_.CreateZExtOrTrunc(r, type->getWithNewBitWidth(32));
    }
    if ((o == "div" || o == "rem") && bits == 32) {
      // By a power of two that is the same for all lanes, of numbers that are not negative: the usual remainder.
      const machine::Value& d = i.sources[1];
      const bool same = !d.is_reg() || (is_scalar(d.reg) && p_.registers[d.reg].lanes != LaneClass::affine);
      const auto number = [&](Value* v) {
        Type* to = v->getType()->getWithNewType(ir_.getDoubleTy());
        return is_signed ? ir_.CreateSIToFP(v, to) : ir_.CreateUIToFP(v, to);
      };
      const auto general = [&]() -> Value* {
        // A divisor that is the same for all lanes is converted once.
        Value* by = same ? scalar(d, Element::b32) : s[1];
        Value* zero = ir_.CreateIsNull(by);
        Value* b = number(ir_.CreateSelect(zero, splat(by, 1), by));
        if (by->getType() != type) b = spread(b, 0), zero = spread(zero, 0);
        Value* a = number(s[0]);
        Value* q = ir_.CreateTrunc(ir_.CreateFPToSI(ir_.CreateFDiv(a, b), type->getWithNewBitWidth(64)), type);
        if (o == "rem") q = ir_.CreateSub(s[0], ir_.CreateMul(q, s[1]));
        return ir_.CreateSelect(zero, Constant::getAllOnesValue(type), q);
      };
      const bool natural = !is_signed || (i.sources[0].is_reg() && p_.registers[i.sources[0].reg].range.known() &&
                                          p_.registers[i.sources[0].reg].range.low >= 0);
      if (!natural || !same) return general();
      Value* one = scalar(d, Element::b32);
      Value* less = ir_.CreateSub(one, ir_.getInt32(1));
      Value* power = ir_.CreateAnd(ir_.CreateIsNull(ir_.CreateAnd(one, less)), ir_.CreateICmpSGT(one, ir_.getInt32(0)));
      if (isa<ConstantInt>(power)) {
        if (cast<ConstantInt>(power)->isZero()) return general();
        Value* shift = ir_.CreateBinaryIntrinsic(Intrinsic::cttz, one, ir_.getFalse());
        if (type->isVectorTy()) less = spread(less, 0), shift = spread(shift, 0);
        return o == "rem" ? ir_.CreateAnd(s[0], less) : ir_.CreateLShr(s[0], shift);
      }
      BB *other = split(power, "other", true), *join = block("join");
      Value* shift = ir_.CreateBinaryIntrinsic(Intrinsic::cttz, one, ir_.getFalse());
      if (type->isVectorTy()) less = spread(less, 0), shift = spread(shift, 0);
      Value* r = o == "rem" ? ir_.CreateAnd(s[0], less) : ir_.CreateLShr(s[0], shift);
      BB* simple_end = ir_.GetInsertBlock();
      ir_.CreateBr(join);
      ir_.SetInsertPoint(other);
      Value* q = general();
      BB* other_end = ir_.GetInsertBlock();
      ir_.CreateBr(join);
      ir_.SetInsertPoint(join);
      PHINode* phi = ir_.CreatePHI(type, 2);
      phi->addIncoming(r, simple_end);
      phi->addIncoming(q, other_end);
      return phi;
    }
    if ((o == "div" || o == "rem") && bits == 64 && !type->isVectorTy()) {
      Value* zero = ir_.CreateIsNull(s[1]);
      Value *q, *divisor = ir_.CreateSelect(zero, splat(s[1], 1), s[1]);
      if (is_signed) {
        Value* minus = ir_.CreateICmpEQ(s[1], Constant::getAllOnesValue(type));
        q = ir_.CreateSDiv(s[0], ir_.CreateSelect(minus, splat(s[1], 1), divisor));
        q = ir_.CreateSelect(minus, ir_.CreateNeg(s[0]), q);
      } else {
        q = ir_.CreateUDiv(s[0], divisor);
      }
      if (o == "rem") q = ir_.CreateSub(s[0], ir_.CreateMul(q, s[1]));
      return ir_.CreateSelect(zero, Constant::getAllOnesValue(type), q);
    }
    uint64_t position, length;
    if (o == "bfe" && !is_signed && constant(s[1], &position) && constant(s[2], &length)) {
      if (bits == 32) position &= 255, length &= 255;
      Value* field = position >= bits ? splat(s[0], 0) : ir_.CreateLShr(s[0], position);
      return length >= bits ? field : ir_.CreateAnd(field, splat(s[0], (uint64_t{1} << length) - 1));
    }
    return nullptr;
  }
  if (n != 2) return nullptr;
  const std::string_view form = m.suffixes[0];
  if (o == "mul" && form == "lo") return product(i, s);
  if (o == "mad" && form == "lo") return ir_.CreateAdd(product(i, s), s[2]);
  if (bits == 64) return nullptr;
  if (o == "mul" && form == "hi") return high(s[0], s[1]);
  if (o == "mad" && form == "hi") return ir_.CreateAdd(high(s[0], s[1]), s[2]);
  if (o == "mul" && form == "wide") return mul_wide(s[0], s[1]);
  if (o == "mad" && form == "wide") return ir_.CreateAdd(mul_wide(s[0], s[1]), s[2]);
  return nullptr;
}

bool Generator::compare(std::string_view name, const std::vector<Value*>& s, Value* out[2]) {
  const bool pair = name.ends_with("|");
  if (pair) name.remove_suffix(1);
  const Mnemonic m(name);
  const std::string_view how = m.suffixes[0], t = m.suffixes.back();
  if (m.has("ftz")) return false;
  static const std::pair<std::string_view, CmpInst::Predicate> kInteger[] = {
      {"eq", CmpInst::ICMP_EQ},  {"ne", CmpInst::ICMP_NE},  {"lt", CmpInst::ICMP_SLT}, {"le", CmpInst::ICMP_SLE},
      {"gt", CmpInst::ICMP_SGT}, {"ge", CmpInst::ICMP_SGE}, {"lo", CmpInst::ICMP_ULT}, {"ls", CmpInst::ICMP_ULE},
      {"hi", CmpInst::ICMP_UGT}, {"hs", CmpInst::ICMP_UGE}};
  static const std::pair<std::string_view, CmpInst::Predicate> kFloat[] = {
      {"eq", CmpInst::FCMP_OEQ},  {"ne", CmpInst::FCMP_ONE},  {"lt", CmpInst::FCMP_OLT},  {"le", CmpInst::FCMP_OLE},
      {"gt", CmpInst::FCMP_OGT},  {"ge", CmpInst::FCMP_OGE},  {"equ", CmpInst::FCMP_UEQ}, {"neu", CmpInst::FCMP_UNE},
      {"ltu", CmpInst::FCMP_ULT}, {"leu", CmpInst::FCMP_ULE}, {"gtu", CmpInst::FCMP_UGT}, {"geu", CmpInst::FCMP_UGE},
      {"num", CmpInst::FCMP_ORD}, {"nan", CmpInst::FCMP_UNO}};
  Value* test = nullptr;
  if (t == "f32" || t == "f64") {
    Type* f = s[0]->getType()->getWithNewType(t == "f32" ? ir_.getFloatTy() : ir_.getDoubleTy());
    for (const auto& [text, predicate] : kFloat)
      if (how == text) test = ir_.CreateFCmp(predicate, ir_.CreateBitCast(s[0], f), ir_.CreateBitCast(s[1], f));
  } else if (is_integer(t)) {
    for (auto [text, predicate] : kInteger)
      if (how == text) {
        if (t[0] != 's' && ICmpInst::isSigned(predicate)) predicate = ICmpInst::getUnsignedPredicate(predicate);
        test = ir_.CreateICmp(predicate, s[0], s[1]);
      }
  }
  if (!test) return false;
  const auto joined = [&](Value* v) {
    if (m.suffixes.size() == 2) return v;
    const std::string_view join = m.suffixes[1];
    return join == "and" ? ir_.CreateAnd(v, s[2]) : join == "or" ? ir_.CreateOr(v, s[2]) : ir_.CreateXor(v, s[2]);
  };
  if (m.suffixes.size() > 3 || (m.suffixes.size() == 3) != (s.size() == 3)) return false;
  out[0] = joined(test);
  out[1] = pair ? joined(ir_.CreateNot(test)) : nullptr;
  return true;
}

Value* Generator::convert(std::string_view name, const std::vector<Value*>& s) {
  const Mnemonic m(name);
  const std::size_t n = m.suffixes.size();
  const std::string_view to = m.suffixes[n - 2], from = m.suffixes[n - 1];
  if (m.has("sat") || m.has("ftz")) return nullptr;
  const auto of_bits = [&](unsigned bits) { return s[0]->getType()->getWithNewBitWidth(bits); };
  if (is_integer(to) && is_integer(from) && n == 2) {
    Type* type = of_bits(bits_of_type(to));
    return from[0] == 's' ? ir_.CreateSExtOrTrunc(s[0], type) : ir_.CreateZExtOrTrunc(s[0], type);
  }
  const bool to_float = to == "f32" || to == "f64";
  const auto float_type = [&](std::string_view t) {
    return s[0]->getType()->getWithNewType(t == "f32" ? ir_.getFloatTy() : ir_.getDoubleTy());
  };
  if (to_float && is_integer(from) && n == 3 && m.suffixes[0] == "rn" && bits_of_type(from) >= 32) {
    if (bits_of_type(from) == 64 && s[0]->getType()->isVectorTy()) return nullptr;
    Value* f = from[0] == 's' ? ir_.CreateSIToFP(s[0], float_type(to)) : ir_.CreateUIToFP(s[0], float_type(to));
    return ir_.CreateBitCast(f, of_bits(bits_of_type(to)));
  }
  if (from == "f32" && (to == "s32" || to == "u32") && n == 3 && target_.rounds) {
    Value* f = ir_.CreateBitCast(s[0], float_type(from));
    const std::string_view mode = m.suffixes[0];
    const Intrinsic::ID whole = mode == "rni"   ? Intrinsic::roundeven
                                : mode == "rzi" ? Intrinsic::trunc
                                : mode == "rmi" ? Intrinsic::floor
                                                : Intrinsic::ceil;
    f = ir_.CreateUnaryIntrinsic(whole, f);
    // Out of range: the nearest number; NaN: 0.
    return ir_.CreateIntrinsic(to[0] == 's' ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat,
                               {of_bits(32), f->getType()}, {f});
  }
  return nullptr;
}

bool Generator::makes_nan(const machine::PureOp& op) {
  const Mnemonic m(op.mnemonic);
  const std::size_t n = m.suffixes.size();
  if (n == 0 || n > 2 || m.suffixes.back() != "f32" || (n == 2 && m.suffixes[0] != "rn")) return false;
  for (const std::string_view o : {"add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt"})
    if (m.opcode == o) return true;
  for (const std::string_view o : {"neg", "abs", "min", "max"})
    if (m.opcode == o) return n == 1;
  return false;
}

// Rounding to nearest without .ftz and .sat. Single precision NaN results are any (makes_nan()); double precision ones
// are an operand's (numbers.h).
Value* Generator::floating(std::string_view name, const std::vector<Value*>& s) {
  const Mnemonic m(name);
  const std::size_t n = m.suffixes.size();
  const std::string_view o = m.opcode, t = m.suffixes.empty() ? "" : m.suffixes.back();
  if ((t != "f32" && t != "f64") || n > 2 || (n == 2 && m.suffixes[0] != "rn")) return nullptr;
  const bool single = t == "f32";
  Type* bits = s[0]->getType();
  Type* type = bits->getWithNewType(single ? ir_.getFloatTy() : ir_.getDoubleTy());
  std::vector<Value*> f;
  for (Value* v : s) f.push_back(v->getType() == bits ? ir_.CreateBitCast(v, type) : v);
  const auto is_nan = [&](Value* v) { return ir_.CreateFCmpUNO(v, v); };
  const auto quiet = [&](Value* v) { return ir_.CreateOr(v, splat(v, 0x0008000000000000u)); };
  // NaN operands come first: the later in `order` before the earlier.
  const auto finish = [&](Value* r, std::initializer_list<unsigned> order) -> Value* {
    Value* result = ir_.CreateBitCast(r, bits);
    if (single) return result;
    for (unsigned k : order) result = ir_.CreateSelect(is_nan(f[k]), quiet(s[k]), result);
    return result;
  };
  if (o == "add") return finish(ir_.CreateFAdd(f[0], f[1]), {0, 1});
  if (o == "sub") return finish(ir_.CreateFSub(f[0], f[1]), {0, 1});
  if (o == "mul") return finish(ir_.CreateFMul(f[0], f[1]), {0, 1});
  if ((o == "fma" || o == "mad") && !target_.fuses) return nullptr;
  if (o == "fma" || o == "mad")
    return finish(ir_.CreateIntrinsic(Intrinsic::fma, {type}, {f[0], f[1], f[2]}), {0, 2, 1});
  if (!single) return nullptr;
  if (o == "div" && n == 2) return finish(ir_.CreateFDiv(f[0], f[1]), {});
  if (o == "rcp" && n == 2) return finish(ir_.CreateFDiv(ConstantFP::get(type, 1.0), f[0]), {});
  if (o == "sqrt" && n == 2) return finish(ir_.CreateUnaryIntrinsic(Intrinsic::sqrt, f[0]), {});
  if (n != 1) return nullptr;
  if (o == "neg" || o == "abs") {
    Value* r =
        o == "neg" ? ir_.CreateXor(s[0], splat(s[0], 0x80000000u)) : ir_.CreateAnd(s[0], splat(s[0], 0x7fffffffu));
    return ir_.CreateSelect(is_nan(f[0]), splat(s[0], 0x7fffffffu), r);
  }
  if (o == "min" || o == "max") {
    // -0 is less than +0; a NaN loses against a number.
    Value* first = ir_.CreateOr(ir_.CreateFCmpOLT(f[0], f[1]),
                                ir_.CreateAnd(ir_.CreateFCmpOEQ(f[0], f[1]), ir_.CreateICmpSLT(s[0], splat(s[0], 0))));
    Value* r = o == "min" ? ir_.CreateSelect(first, s[0], s[1]) : ir_.CreateSelect(first, s[1], s[0]);
    r = ir_.CreateSelect(is_nan(f[1]), s[0], r);
    return ir_.CreateSelect(is_nan(f[0]), s[1], r);
  }
  return nullptr;
}

}  // namespace coalesce::native
