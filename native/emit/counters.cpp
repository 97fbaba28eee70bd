#include "native/emit/counters.h"

namespace coalesce::native {

using namespace llvm;

Counters::Counters(IRBuilder<>& ir, const machine::Decoded& program)
    : ir_(ir), p_(program), layout_(machine::layout_of(program)) {}

// An array of one element: a loop keeps the sums it adds to in registers (LICM), and others take no register.
AllocaInst* Counters::sum_of(const Targets& targets) {
  for (const Sum& s : sums_)
    if (s.targets == targets) return s.at;
  IRBuilder<> at(entry_, entry_->begin());
  AllocaInst* sum = at.CreateAlloca(ArrayType::get(ir_.getInt64Ty(), 1), nullptr, "count");
  IRBuilder<> zero(entry_->getTerminator());
  zero.CreateStore(ir_.getInt64(0), sum);
  sums_.push_back({sum, targets});
  return sum;
}

void Counters::add(const Targets& targets, Value* n) {
  AllocaInst* sum = sum_of(targets);
  ir_.CreateStore(ir_.CreateAdd(ir_.CreateLoad(ir_.getInt64Ty(), sum), n), sum);
}

Value* Counters::flush(Value* tally) {
  Value* instructions = ir_.getInt64(0);
  for (const Sum& s : sums_) {
    Value* n = ir_.CreateLoad(ir_.getInt64Ty(), s.at);
    uint64_t each = 0;
    for (const Target& t : s.targets) {
      Value* word = ir_.CreateConstInBoundsGEP1_64(ir_.getInt64Ty(), tally, t.word);
      Value* amount = t.times == 1 ? n : ir_.CreateMul(n, ir_.getInt64(t.times));
      ir_.CreateStore(ir_.CreateAdd(ir_.CreateLoad(ir_.getInt64Ty(), word), amount), word);
      if (t.word < layout_.blocks) each += p_.blocks[t.word].instructions;  // the word counts its executions
    }
    if (each) instructions = ir_.CreateAdd(instructions, ir_.CreateMul(n, ir_.getInt64(each)));
  }
  return instructions;
}

}  // namespace coalesce::native
