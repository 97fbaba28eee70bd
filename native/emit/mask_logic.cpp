// Works around an endless loop of LLVM 19's optimiser: `or` and `xor` of masks that are words, if the words and values
// made of them are also used as vectors of bits. One rule makes `or <32 x i1>` of `or i32`, another reverts it
// (https://github.com/llvm/llvm-project/issues/123333, fixed in LLVM 20). `i < a || i < b` suffices. So an empty
// assembler text hides the result of an `or` of words from the first rule, and an `or` of vectors made of words is done
// on the words. It costs nothing where words are in general registers, as these are.
#include "native/emit/mask_logic.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>

namespace coalesce::native {

using namespace llvm;

namespace {

bool is_logic(Value* v) {
  auto* op = dyn_cast<BinaryOperator>(v);
  return op && (op->getOpcode() == Instruction::Or || op->getOpcode() == Instruction::Xor);
}

bool is_bits(Type* t) { return t->isVectorTy() && t->getScalarType()->isIntegerTy(1); }

bool is_word(Type* t) { return t->isIntegerTy() && t->getIntegerBitWidth() >= 8 && t->getIntegerBitWidth() <= 64; }

// The word that became these bits, if one did.
Value* word_of(Value* v) {
  auto* cast = dyn_cast<BitCastInst>(v);
  return cast && is_bits(cast->getType()) && is_word(cast->getOperand(0)->getType()) ? cast->getOperand(0) : nullptr;
}

// True if the word was bits before: LLVM continues with those, without endless rewriting.
bool was_bits(Value* v) {
  auto* cast = dyn_cast<BitCastInst>(v);
  return cast && is_bits(cast->getOperand(0)->getType());
}

class Hiding {
 public:
  // Examines the operands of `v`, a word that becomes bits.
  void look_at(Value* v) {
    auto* made = dyn_cast<Instruction>(v);
    if (!made || !is_word(made->getType()) || !seen_.insert(made).second) return;
    if (is_logic(made)) {
      if (match(made, PatternMatch::m_Not(PatternMatch::m_Value()))) return look_at(made->getOperand(0));
      if (!was_bits(made->getOperand(0)) && !was_bits(made->getOperand(1))) return hide(made);
      look_at(made->getOperand(0));
      look_at(made->getOperand(1));
    } else if (isa<CastInst>(made) || made->getOpcode() == Instruction::Shl) {
      look_at(made->getOperand(0));
    }
  }

 private:
  void hide(Instruction* made) {
    Type* type = made->getType();
    IRBuilder<> ir(made->getNextNode());
    CallInst* hidden = ir.CreateCall(InlineAsm::get(FunctionType::get(type, {type}, false), "", "=r,0", false), {made});
    made->replaceUsesWithIf(hidden, [&](Use& use) { return use.getUser() != hidden; });
  }

  SmallPtrSet<Instruction*, 32> seen_;
};

}  // namespace

void hide_logic_of_masks(Function& f) {
  // In order: what has become a bitcast of a word may be an operand of the next.
  for (Instruction& i : make_early_inc_range(instructions(f))) {
    if (!is_bits(i.getType()) || !is_logic(&i)) continue;
    Value *a = word_of(i.getOperand(0)), *b = word_of(i.getOperand(1));
    if (!a || !b) continue;
    IRBuilder<> ir(&i);
    i.replaceAllUsesWith(ir.CreateBitCast(ir.CreateBinOp(cast<BinaryOperator>(i).getOpcode(), a, b), i.getType()));
    i.eraseFromParent();
  }
  SmallVector<Value*, 32> words;
  for (Instruction& i : instructions(f))
    if (Value* word = word_of(&i)) words.push_back(word);
  Hiding hiding;
  for (Value* word : words) hiding.look_at(word);
}

}  // namespace coalesce::native
