// Addresses that are affine unless a number wraps (analyse/checked_affine.h).
#pragma once

#include "native/emit/emitter.h"

namespace coalesce::native {

struct CheckedValue {
  Value *base, *unwrapped;  // lane 0's value; i1: no lane has wrapped (null: known)
};
CheckedValue checked_affine_of(Emitter& e, const machine::Value& v);
// Beside the vector, which emit_pure() computes: lane 0's value, and whether no lane wraps.
void emit_checked_affine(Emitter& e, const Instruction& i);
// The same from the vector `all`, where a region begins with the register in its slot.
void checked_affine_from_vector(Emitter& e, uint32_t r, Value* all);

}  // namespace coalesce::native
