// Registers as values, and steps that the interpreter's handlers carry out.
#include <cstddef>
#include <stdexcept>

#include "machine/execute/ops.h"
#include "native/emit/generator.h"

namespace coalesce::native {

using namespace llvm;
using machine::Builtin;
using machine::kLanes;
using machine::kNoSlot;
using machine::Slot;

Type* Generator::type_of(Element e) const {
  switch (e) {
    case Element::pred:
      return Type::getInt1Ty(context_);
    case Element::b64:
      return Type::getInt64Ty(context_);
    case Element::b128:
      return Type::getInt128Ty(context_);
    case Element::b32:
      return Type::getInt32Ty(context_);
    default:
      return Type::getInt16Ty(context_);
  }
}

AllocaInst* Generator::variable(uint32_t r) {
  std::vector<AllocaInst*>& mine = variables_[block_level(r) ? 0 : copy_];
  if (mine[r]) return mine[r];
  const Element e = p_.registers[r].element;
  Type* t = is_scalar(r)         ? type_of(e)
            : e == Element::pred ? Type::getInt32Ty(context_)
                                 : static_cast<Type*>(wide(type_of(e)));
  IRBuilder<> at(entry_, entry_->begin());
  return mine[r] = at.CreateAlloca(t, nullptr, "r" + std::to_string(r));
}

Value* Generator::spread(Value* scalar, int64_t stride) {
  Value* all = ir_.CreateVectorSplat(32, scalar);
  if (stride == 0) return all;
  SmallVector<Constant*, 32> steps;
  for (uint32_t l = 0; l < kLanes; ++l)
    steps.push_back(ConstantInt::get(scalar->getType(), static_cast<uint64_t>(stride) * l));
  return ir_.CreateAdd(all, ConstantVector::get(steps));
}

// Registers that exist before the first instruction.
Value* Generator::builtin(uint32_t r) {
  const Register& reg = p_.registers[r];
  const auto once = [&](auto make) {
    auto found = builtins_.find(r);
    if (found != builtins_.end()) return found->second;
    IRBuilderBase::InsertPointGuard guard(ir_);
    ir_.SetInsertPoint(constants_->getTerminator());
    return builtins_[r] = make();
  };
  if (reg.lanes == LaneClass::constant)
    return once([&] { return load_slot(code_.homes[r].scalar, reg.element, false); });
  const auto lane_mask = [&](auto f) -> Value* {
    SmallVector<Constant*, 32> masks;
    for (uint32_t l = 0; l < kLanes; ++l)
      masks.push_back(ConstantInt::get(Type::getInt32Ty(context_), f(l) & 0xffffffffu));
    return ConstantVector::get(masks);
  };
  const bool flat = p_.shape.block[1] == 1 && p_.shape.block[2] == 1;
  switch (reg.builtin) {
    case Builtin::laneid:
      return ir_.getInt32(0);
    case Builtin::lanemask_eq:
      return lane_mask([](uint64_t l) { return uint64_t{1} << l; });
    case Builtin::lanemask_lt:
      return lane_mask([](uint64_t l) { return (uint64_t{1} << l) - 1; });
    case Builtin::lanemask_le:
      return lane_mask([](uint64_t l) { return (uint64_t{2} << l) - 1; });
    case Builtin::lanemask_gt:
      return lane_mask([](uint64_t l) { return ~((uint64_t{2} << l) - 1); });
    case Builtin::lanemask_ge:
      return lane_mask([](uint64_t l) { return ~((uint64_t{1} << l) - 1); });
    case Builtin::ctaid_x:
    case Builtin::ctaid_y:
    case Builtin::ctaid_z:
      return ir_.CreateLoad(ir_.getInt32Ty(),
                            ctaid_[static_cast<int>(reg.builtin) - static_cast<int>(Builtin::ctaid_x)]);
    case Builtin::smid:
      return ir_.CreateLoad(ir_.getInt32Ty(), smid_);
    case Builtin::warpid:
      return w_;
    case Builtin::tid_x:
      if (flat) return ir_.CreateShl(w_, 5);
      [[fallthrough]];
    default:
      return load_slot(is_scalar(r) ? code_.homes[r].scalar : code_.homes[r].vector, reg.element, !is_scalar(r));
  }
}

bool Generator::known(const machine::Value& v, uint64_t* bits) const {
  if (v.is_constant()) return *bits = v.bits, true;
  if (!v.is_reg()) return false;
  const Register& r = p_.registers[v.reg];
  if (r.lanes > LaneClass::warp_uniform || r.element == Element::pred || !r.range.known() ||
      r.range.low != r.range.high)
    return false;
  if (unset_[v.reg]) return false;  // on some way it is zero
  return *bits = static_cast<uint64_t>(r.range.low), true;
}

// Lane 0's value where 32 lanes fill the register's range: threadIdx.x in rows of 32 begins with 0 in every warp.
// A range is that of lanes that exist: it has room for one base
// only if every value that the register is given was given to all lanes of some warp.
bool Generator::known_base(uint32_t r, uint64_t* bits) const {
  const auto& block = p_.shape.block;
  if (uint64_t{block[0]} * block[1] * block[2] < kLanes) return false;
  const Register& of = p_.registers[r];
  if (of.lanes != LaneClass::affine || of.stride <= 0 || unset_[r] || !of.range.known() || of.range.low < 0 ||
      of.range.high - of.range.low != of.stride * int64_t{kLanes - 1})
    return false;
  return *bits = static_cast<uint64_t>(of.range.low), true;
}

Value* Generator::scalar(const machine::Value& v, Element e, bool raw) {
  if (uint64_t bits; v.is_reg() && (known(v, &bits) || known_base(v.reg, &bits)))
    return ConstantInt::get(type_of(p_.registers[v.reg].element), bits, true);
  if (!v.is_reg()) {
    if (e == Element::pred) return ir_.getInt1(v.bits & 1);
    return ConstantInt::get(type_of(e), APInt(type_of(e)->getIntegerBitWidth(), v.bits));
  }
  if (p_.registers[v.reg].builtin != Builtin::none) return builtin(v.reg);
  Value* one = ir_.CreateLoad(type_of(p_.registers[v.reg].element), variable(v.reg));
  return !raw && lazy_[v.reg] ? canonical(one) : one;
}

Value* Generator::vector(const machine::Value& v, Element e, bool raw) {
  if (!v.is_reg() || is_scalar(v.reg)) return spread(scalar(v, e, raw), v.is_reg() ? p_.registers[v.reg].stride : 0);
  if (p_.registers[v.reg].builtin != Builtin::none) return builtin(v.reg);
  Value* all = ir_.CreateLoad(variable(v.reg)->getAllocatedType(), variable(v.reg));
  if (!raw && lazy_[v.reg]) return canonical(all);
  return e == Element::pred ? lanes_of(all) : all;
}

// The same for what is done under the mask. Where a CPU has no registers for masks, LLVM makes bytes of the bits first
// and words of those (25 instructions); this is one comparison for each vector of words (9 with AVX2).
Value* Generator::lanes_on(Value* mask) {
  if (target_.masks) return lanes_of(mask);
  SmallVector<uint32_t, 32> bits;
  for (uint32_t l = 0; l < kLanes; ++l) bits.push_back(1u << l);
  return ir_.CreateIsNotNull(ir_.CreateAnd(spread(mask, 0), ConstantDataVector::get(context_, bits)));
}

// A single precision NaN result is this one.
Value* Generator::canonical(Value* bits) {
  Value* f = ir_.CreateBitCast(bits, bits->getType()->getWithNewType(ir_.getFloatTy()));
  return ir_.CreateSelect(ir_.CreateFCmpUNO(f, f), ConstantInt::get(bits->getType(), 0x7fffffffu), bits);
}

// Which registers hold results of single precision arithmetic and nothing else. They keep whatever NaN the CPU makes,
// which arithmetic cannot tell from another, and are made canonical where something else reads them.
void Generator::find_lazy() {
  lazy_.assign(p_.registers.size(), false);
  for (uint32_t r = 0; r < p_.registers.size(); ++r)
    lazy_[r] = p_.registers[r].element == Element::b32 && p_.registers[r].builtin == Builtin::none;
  const auto not_lazy = [&](uint32_t r) {
    const bool was = r != kNone && lazy_[r];
    if (was) lazy_[r] = false;
    return was;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const Instruction& i : p_.code) {
      machine::each_from_memory(p_, i, [&](uint32_t reg) { changed = not_lazy(reg) || changed; });
      for (uint32_t r : i.results) {
        if (r == kNone || !lazy_[r]) continue;
        bool good = i.kind == machine::Kind::pure && makes_nan(*i.pure);
        if (i.kind == machine::Kind::pure && (i.pure->mnemonic == "mov.f32" || i.pure->mnemonic == "mov.b32")) {
          const machine::Value& v = i.sources[0];
          good = v.is_reg() ? lazy_[v.reg] : (v.bits & 0x7fffffffu) <= 0x7f800000u;
        }
        if (!good) changed = not_lazy(r) || changed;
      }
    }
  }
}

void Generator::find_meetings() {
  lanes_meet_.assign(blocks_, false);
  for (uint32_t b = 0; b < blocks_; ++b)
    for (uint32_t k = p_.blocks[b].first; k < p_.blocks[b].last; ++k)
      lanes_meet_[b] = lanes_meet_[b] || lane_op_of_.contains(k);
}

Value* Generator::mask_of(const machine::Value& v) {
  if (!v.is_reg() || is_scalar(v.reg)) return ir_.CreateSExt(scalar(v, Element::pred), ir_.getInt32Ty());
  return ir_.CreateLoad(ir_.getInt32Ty(), variable(v.reg));
}

void Generator::write(uint32_t r, Value* v, const Where& where) {
  if (v->getType() != variable(r)->getAllocatedType())
    throw std::runtime_error("a value of another shape than its register");
  if (where.mask && where.keeps) {
    Value* old = ir_.CreateLoad(v->getType(), variable(r));
    v = p_.registers[r].element == Element::pred
            ? ir_.CreateOr(ir_.CreateAnd(v, where.mask), ir_.CreateAnd(old, ir_.CreateNot(where.mask)))
            : ir_.CreateSelect(where.lanes, v, old);
  }
  set(r, v);
}

void Generator::write_scalar(uint32_t r, Value* v) { set(r, v); }

Value* Generator::slot(Slot s) {
  const uint32_t at = s & ~3u;
  Value* base = (s & 3u) == machine::kLaunch  ? field(offsetof(Frame, launch_area), ir_.getPtrTy(), "launch")
                : (s & 3u) == machine::kBlock ? field(offsetof(Frame, block_area), ir_.getPtrTy(), "block_area")
                                              : area_;
  return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), base, at);
}

void Generator::store_slot(Slot s, Value* v) {
  if (v->getType()->isIntegerTy(1)) v = ir_.CreateSExt(v, ir_.getInt32Ty());
  if (v->getType()->isVectorTy() && v->getType()->getScalarType()->isIntegerTy(1)) v = bits_of(v);
  ir_.CreateAlignedStore(v, slot(s), v->getType()->isVectorTy() ? Align(64) : Align(4));
}

// As registers are kept in variables: a general predicate as i32.
Value* Generator::load_slot(Slot s, Element e, bool is_vector) {
  if (e == Element::pred) {
    Value* word = ir_.CreateAlignedLoad(ir_.getInt32Ty(), slot(s), Align(4));
    return is_vector ? word : ir_.CreateTrunc(word, ir_.getInt1Ty());
  }
  if (is_vector) return ir_.CreateAlignedLoad(wide(type_of(e)), slot(s), Align(64));
  return ir_.CreateAlignedLoad(type_of(e), slot(s), Align(4));
}

// A register to where the interpreter's handler reads it.
void Generator::spill(uint32_t r, Slot s, bool as_vector) {
  const machine::Value v = machine::Value::of(r);
  const Element e = p_.registers[r].element;
  if ((s & 3u) == machine::kLaunch) return;  // written when the launch began
  if (e == Element::pred)
    store_slot(s, mask_of(v));
  else
    store_slot(s, as_vector ? vector(v, e) : scalar(v, e));
}

Value* Generator::frame_at(std::size_t offset) {
  return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), frame_, offset);
}

// Members that do not change while the function runs: read once.
Value* Generator::field(std::size_t offset, Type* type, const char* name) {
  auto found = fields_.find(offset);
  if (found != fields_.end()) return found->second;
  IRBuilderBase::InsertPointGuard guard(ir_);
  ir_.SetInsertPoint(constants_->getTerminator());
  return fields_[offset] = ir_.CreateLoad(type, frame_at(offset), name);
}

Value* Generator::call(std::size_t offset, Type* result, std::initializer_list<Value*> arguments) {
  std::vector<Type*> types{ir_.getPtrTy()};
  std::vector<Value*> values{frame_};
  for (Value* a : arguments) types.push_back(a->getType()), values.push_back(a);
  // Read where it is called: rare calls should not occupy registers.
  Value* target = ir_.CreateLoad(ir_.getPtrTy(), frame_at(offset));
  return ir_.CreateCall(FunctionType::get(result, types, false), target, values);
}

BasicBlock* Generator::block(const char* name) { return BasicBlock::Create(context_, name, function_); }

// Of a branch: its first side is taken so many times as often as the other. What is rare gets no register of its own.
MDNode* Generator::mostly(uint32_t times) {
  return MDNode::get(context_, {MDString::get(context_, "branch_weights"), ConstantAsMetadata::get(ir_.getInt32(times)),
                                ConstantAsMetadata::get(ir_.getInt32(1))});
}

BasicBlock* Generator::split(Value* condition, const char* name, bool likely) {
  BB *yes = block("yes"), *no = block(name);
  ir_.CreateCondBr(condition, yes, no, likely ? mostly(2000) : nullptr);
  ir_.SetInsertPoint(yes);
  return no;
}

void Generator::check(Value* status) {
  BB* good = block("good");
  ir_.CreateCondBr(ir_.CreateIsNull(status), good, fault_, mostly(2000));
  ir_.SetInsertPoint(good);
}

Value* Generator::count_lanes(Value* mask) {
  return ir_.CreateZExt(ir_.CreateUnaryIntrinsic(Intrinsic::ctpop, mask), ir_.getInt64Ty());
}

// The interpreter's handler on the warp's slots: operands there, the call, results from there.
void Generator::step(uint32_t index, const Where& where) {
  const Instruction& i = p_.code[index];
  struct Result {
    uint32_t reg;
    Slot slot;
    bool scalar, collapse;
  };
  std::vector<Result> results;
  if (i.memory != kNone) {
    const MemoryOp& m = p_.memory[i.memory];
    const machine::Access& a = *access_of_.at(index);
    if (m.address.is_reg()) spill(m.address.reg, a.address, a.shape == machine::AddressShape::vector);
    for (std::size_t k = 0; k < m.values.size(); ++k) {
      if (!m.values[k].is_reg()) continue;
      const uint32_t r = m.values[k].reg;
      if (i.kind != machine::Kind::load)
        spill(r, a.values[k], true);
      else
        results.push_back({r, a.values[k], a.scalar_results, !a.scalar_results && is_scalar(r)});
    }
    if (m.result != kNone) results.push_back({m.result, a.result, false, false});
  } else {
    const machine::LaneOp& op = *lane_op_of_.at(index);
    for (std::size_t k = 0; k < i.sources.size(); ++k)
      if (i.sources[k].is_reg()) spill(i.sources[k].reg, op.sources[k], true);
    for (std::size_t k = 0; k < 2; ++k)
      if (i.results[k] != kNone) results.push_back({i.results[k], op.results[k], op.scalar[k], false});
  }
  if (where.mask)
    for (const Result& r : results)
      if (!r.scalar && !r.collapse) spill(r.reg, r.slot, true);
  steps_.push_back(index);
  check(
      call(offsetof(Frame, step), ir_.getInt32Ty(),
           {ir_.getInt32(static_cast<uint32_t>(steps_.size() - 1)), w_, mask_value(where), ir_.getInt32(where.block)}));
  for (const Result& r : results) {
    const Element e = p_.registers[r.reg].element;
    if (r.collapse) {
      Value* lane = ir_.CreateBinaryIntrinsic(Intrinsic::cttz, mask_value(where), ir_.getTrue());
      set(r.reg, ir_.CreateExtractElement(load_slot(r.slot, e, true), lane));
    } else {
      set(r.reg, load_slot(r.slot, e, !r.scalar));
    }
  }
}

// A row of the table of computing instructions, on operands in the scratch (kernel.cpp lays it out alike).
void Generator::pure_step(uint32_t index, const Instruction& i, bool as_scalar, const std::vector<Value*>& sources,
                          Value* out[2]) {
  Value* scratch = field(offsetof(Frame, scratch), ir_.getPtrTy(), "scratch");
  const auto at = [&](uint32_t k) { return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), scratch, 512 * k); };
  for (uint32_t k = 0; k < sources.size(); ++k) {
    Value* v = sources[k];
    if (i.pure->source[k] == Element::pred) v = as_scalar ? ir_.CreateSExt(v, ir_.getInt32Ty()) : bits_of(v);
    ir_.CreateAlignedStore(v, at(k), Align(v->getType()->isVectorTy() ? 64 : 16));
  }
  pure_steps_.push_back(index | (as_scalar ? 1u << 31 : 0));
  Value* steps = field(offsetof(Frame, pure), ir_.getPtrTy(), "pure");
  Value* step =
      ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), steps, sizeof(machine::Step) * (pure_steps_.size() - 1));
  Value* handler = ir_.CreateLoad(ir_.getPtrTy(), step);
  Value* context = field(offsetof(Frame, context), ir_.getPtrTy(), "context");
  ir_.CreateCall(FunctionType::get(ir_.getVoidTy(), {ir_.getPtrTy(), ir_.getPtrTy()}, false), handler, {step, context});
  for (uint32_t k = 0; k < i.pure->results; ++k) {
    const Element e = i.pure->result[k];
    if (e == Element::pred) {
      Value* word = ir_.CreateAlignedLoad(ir_.getInt32Ty(), at(4 + k), Align(16));
      out[k] = as_scalar ? ir_.CreateTrunc(word, ir_.getInt1Ty()) : lanes_of(word);
    } else {
      Type* t = as_scalar ? type_of(e) : static_cast<Type*>(wide(type_of(e)));
      out[k] = ir_.CreateAlignedLoad(t, at(4 + k), Align(as_scalar ? 16 : 64));
    }
  }
}

}  // namespace coalesce::native
