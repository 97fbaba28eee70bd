// Operations as LLVM's, where that is exactly what the interpreter's row does (machine/execute/ops) for every input,
// NaN included. Null (false): not of this kind, or not exactly so.
#pragma once

#include "native/emit/emitter.h"

namespace coalesce::native {

// Constant of the same shape as `like`.
inline llvm::Constant* splat(Value* like, uint64_t v) { return llvm::ConstantInt::get(like->getType(), v); }

Value* integer_operation(Emitter& e, const Instruction& i, const std::vector<Value*>& s);
// div and rem.
Value* divide(Emitter& e, const Instruction& i, const std::vector<Value*>& s, bool remainder, bool is_signed,
              unsigned bits);
// Rounding to nearest, without .ftz and .sat. Single-precision NaN results are any NaN (makes_nan()); double-precision
// ones are an operand's (machine/execute/ops/numbers.h).
Value* float_operation(Emitter& e, const machine::PureOp& op, const std::vector<Value*>& s);
Value* convert_operation(Emitter& e, const machine::PureOp& op, const std::vector<Value*>& s);
bool compare_operation(Emitter& e, const machine::PureOp& op, const std::vector<Value*>& s, Value* out[2]);

}  // namespace coalesce::native
