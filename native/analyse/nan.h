// The places where a single-precision NaN need not be PTX's canonical one (0x7fffffff).
#pragma once

#include <vector>

#include "machine/program/program.h"

namespace coalesce::native {

// A move that keeps 32 bits as they are, NaNs included.
bool is_bit_copy(const machine::PureOp& op);

// For each register: true if it holds only results of arithmetic that makes NaNs (RowFacts::makes_nan), or copies of
// them. It keeps the NaN that the CPU made, which arithmetic does not distinguish; a reader that does makes it
// canonical first.
std::vector<bool> find_any_nan(const machine::Decoded& program);

}  // namespace coalesce::native
