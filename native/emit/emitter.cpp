#include "native/emit/emitter.h"

namespace coalesce::native {

using namespace llvm;
using machine::kLanes;

namespace {

Function* make_function(Module& module) {
  LLVMContext& context = module.getContext();
  FunctionType* type = FunctionType::get(Type::getInt32Ty(context), {PointerType::getUnqual(context)}, false);
  Function* f = Function::Create(type, Function::ExternalLinkage, "kernel", module);
  f->getArg(0)->setName("frame");
  f->getArg(0)->addAttr(Attribute::NoAlias);
  f->addFnAttr(Attribute::NoUnwind);
  return f;
}

}  // namespace

Emitter::Emitter(const machine::Code& of, const Facts& known, Module& module, const TargetTraits& traits)
    : code(of),
      p(*of.program),
      facts(known),
      context(module.getContext()),
      ir(context),
      target(traits),
      function(make_function(module)),
      frame(function->getArg(0)),
      pending(p.blocks.size()),
      counters(ir, p) {
  variables.registers.assign(kMostWarpsAtOnce, std::vector<AllocaInst*>(p.registers.size()));
  for (const auto& a : code.accesses) access_of.emplace(a->instruction, a.get());
  for (const auto& o : code.lane_ops) lane_op_of.emplace(o->index, o.get());
}

Type* Emitter::type_of(Element element) const {
  switch (element) {
    case Element::pred:
      return Type::getInt1Ty(context);
    case Element::b64:
      return Type::getInt64Ty(context);
    case Element::b128:
      return Type::getInt128Ty(context);
    case Element::b32:
      return Type::getInt32Ty(context);
    default:
      return Type::getInt16Ty(context);
  }
}

Value* Emitter::spread(Value* scalar, int64_t stride) {
  Value* all = ir.CreateVectorSplat(kLanes, scalar);
  if (stride == 0) return all;
  SmallVector<Constant*, 32> steps;
  for (uint32_t l = 0; l < kLanes; ++l)
    steps.push_back(ConstantInt::get(scalar->getType(), static_cast<uint64_t>(stride) * l));
  return ir.CreateAdd(all, ConstantVector::get(steps));
}

// On a CPU without mask registers LLVM makes bytes of the bits first and words of those: 25 instructions. This is one
// comparison for each vector of words: 9 with AVX2.
Value* Emitter::lanes_on(Value* mask) {
  if (target.masks) return lanes_of(mask);
  SmallVector<uint32_t, 32> bits;
  for (uint32_t l = 0; l < kLanes; ++l) bits.push_back(1u << l);
  return ir.CreateIsNotNull(ir.CreateAnd(spread(mask, 0), ConstantDataVector::get(context, bits)));
}

Value* Emitter::count_lanes(Value* mask) {
  return ir.CreateZExt(ir.CreateUnaryIntrinsic(Intrinsic::ctpop, mask), ir.getInt64Ty());
}

Value* Emitter::field(std::size_t member, Type* type, const char* name) {
  auto found = fields_.find(member);
  if (found != fields_.end()) return found->second;
  IRBuilderBase::InsertPointGuard guard(ir);
  ir.SetInsertPoint(at.constants->getTerminator());
  return fields_[member] = ir.CreateLoad(type, frame_at(member), name);
}

// The address of what is called is read at the call: rare calls should not occupy registers.
Value* Emitter::call(std::size_t member, Type* result, std::initializer_list<Value*> arguments) {
  std::vector<Type*> types{ir.getPtrTy()};
  std::vector<Value*> values{frame};
  for (Value* a : arguments) types.push_back(a->getType()), values.push_back(a);
  Value* callee = ir.CreateLoad(ir.getPtrTy(), frame_at(member));
  return ir.CreateCall(FunctionType::get(result, types, false), callee, values);
}

// LLVM keeps no register for what only a rare side reads.
MDNode* Emitter::likely(uint32_t times) {
  return MDNode::get(context, {MDString::get(context, "branch_weights"), ConstantAsMetadata::get(ir.getInt32(times)),
                               ConstantAsMetadata::get(ir.getInt32(1))});
}

BasicBlock* Emitter::split(Value* condition, const char* name, bool is_likely) {
  BB *yes = block("yes"), *no = block(name);
  ir.CreateCondBr(condition, yes, no, is_likely ? likely(2000) : nullptr);
  ir.SetInsertPoint(yes);
  return no;
}

void Emitter::check(Value* status) {
  BB* good = block("good");
  ir.CreateCondBr(ir.CreateIsNull(status), good, at.fault, likely(2000));
  ir.SetInsertPoint(good);
}

AllocaInst* Emitter::local(Type* type, const std::string& name) {
  IRBuilder<> first(at.entry, at.entry->begin());
  return first.CreateAlloca(type, nullptr, name);
}

void Interleaved::forget(uint32_t reg) {
  parts.erase(reg);
  std::erase_if(operations, [&](const Operation& o) {
    return std::ranges::any_of(o.sources, [&](const auto& s) { return s.first == reg; });
  });
}

}  // namespace coalesce::native
