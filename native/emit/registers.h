// Registers as LLVM values.
#pragma once

#include "native/emit/emitter.h"

namespace coalesce::native {

llvm::AllocaInst* variable(Emitter& e, uint32_t r);
// The value of a scalar register or a constant; a predicate: i1. `raw`: a NaN may be any NaN.
Value* scalar_of(Emitter& e, const machine::Value& v, Element element, bool raw = false);
// <32 x T>; a predicate: <32 x i1>.
Value* vector_of(Emitter& e, const machine::Value& v, Element element, bool raw = false);
// A predicate as i32.
Value* predicate_mask(Emitter& e, const machine::Value& v);
inline Value* predicate_mask(Emitter& e, uint32_t r) { return predicate_mask(e, machine::Value::of(r)); }
// Single precision: any NaN becomes PTX's.
Value* canonical(Emitter& e, Value* bits);
// A general register, in the lanes of `active`; a predicate: i32.
void write(Emitter& e, uint32_t r, Value* v, const Active& active);
// Any register, in all lanes.
void set_register(Emitter& e, uint32_t r, Value* v);

// Slots (machine/execute/ops/ops.h). i1 and <32 x i1> are stored as a word.
void store_slot(Emitter& e, machine::Slot s, Value* v);
Value* load_slot(Emitter& e, machine::Slot s, Element element, bool is_vector);
// A register to the slot where the interpreter's handler reads it.
void spill(Emitter& e, uint32_t r, machine::Slot s, bool as_vector);

}  // namespace coalesce::native
