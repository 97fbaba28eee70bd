// The places where a single-precision NaN need not be PTX's canonical one (0x7fffffff).
#pragma once

#include <vector>

#include "machine/program/program.h"

namespace coalesce::native {

// Single-precision arithmetic whose NaN result PTX defines as the canonical NaN, while a CPU gives another.
bool makes_nan(const machine::PureOp& op);

// By register: holds results of such arithmetic, or copies of them, and nothing else. It keeps whatever NaN the CPU
// made, which arithmetic cannot tell from another; a reader that can tell makes it canonical first.
std::vector<bool> find_any_nan(const machine::Decoded& program);

}  // namespace coalesce::native
