// Comparisons of affine values with one number: the lanes that hold follow from lane 0's value, without a vector.
#pragma once

#include "native/emit/emitter.h"

namespace coalesce::native {

// setp of 32-bit affine lanes against a value that they share: the mask (i32); null: it has not that form.
Value* compare_affine(Emitter& e, const Instruction& i);

}  // namespace coalesce::native
