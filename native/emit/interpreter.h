// Calls of what the interpreter executes.
#pragma once

#include "native/emit/emitter.h"

namespace coalesce::native {

// The interpreter's handler of a memory or lane operation, on the warp's slots: operands there, the call, results back.
void call_interpreter(Emitter& e, uint32_t index, const Active& active);
// A row of the table of computing instructions, on operands in the scratch (run/kernel.h lays it out alike).
void call_row(Emitter& e, uint32_t index, const Instruction& i, bool as_scalar, const std::vector<Value*>& sources,
              Value* out[2]);

}  // namespace coalesce::native
