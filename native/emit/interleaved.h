// Accesses of two and four elements a lane. In memory a lane's elements lie side by side, in registers each has a
// vector of its own: 24 dependent permutations with AVX-512 for four words of 32 lanes. What only goes from memory
// through arithmetic to memory, as in `out[i] = a[i] + b[i]` of float4, stays as memory has it: an operation on
// interleaved vectors is the same for all elements. The registers are then read on slow paths only, where LLVM moves
// their making.
#pragma once

#include <optional>

#include "native/emit/emitter.h"

namespace coalesce::native {

// All lanes' elements as memory has them.
llvm::VectorType* interleaved_type(Emitter& e, const MemoryOp& m);
// The place of the elements that a full warp's load leaves interleaved; null: each goes to its register at once.
llvm::AllocaInst* interleaved_place(Emitter& e, const Instruction& i, const Active& active);
// Element k of every lane, of `of` elements each.
Value* deinterleave(Emitter& e, Value* all, std::size_t k, std::size_t of);
// parts[k] holds element k of every lane. A power of two of them.
Value* interleave(Emitter& e, std::vector<Value*> parts);
// After the interpreter's handler has loaded the registers.
void interleaved_from_registers(Emitter& e, const MemoryOp& m, llvm::AllocaInst* place);
void registers_from_interleaved(Emitter& e, const MemoryOp& m, llvm::AllocaInst* place, const Active& active);

// The vector of which the result is a part, if the operands are parts of interleaved vectors or uniform. The
// instructions on the other parts find the same vector.
std::optional<Interleaved::Part> part_of_result(Emitter& e, const Instruction& i, const Active& active, bool raw);
// The interleaved vector whose parts a store's values are, in their order; null: there is none.
Value* interleaved_source(Emitter& e, const MemoryOp& m);

}  // namespace coalesce::native
