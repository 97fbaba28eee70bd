// Instructions that compute.
#pragma once

#include "native/emit/emitter.h"

namespace coalesce::native {

void emit_pure(Emitter& e, uint32_t index, const Active& active);
// The operation on values of any one shape: scalars, vectors of 32 lanes, interleaved vectors. False: it has no form of
// its own.
bool compute(Emitter& e, const Instruction& i, const std::vector<Value*>& sources, Value* out[2]);

}  // namespace coalesce::native
