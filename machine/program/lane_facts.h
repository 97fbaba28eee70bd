// Facts about one value of a kernel: how it varies over the lanes of a warp, its range and its alignment; and what
// operations make of them. The iteration over the kernel: lanes.cpp.
#pragma once

#include <cstdint>

#include "machine/program/program.h"

namespace coalesce::machine {

struct Fact {
  LaneClass lanes = LaneClass::constant;
  int64_t stride = 0;  // of an affine value: from one lane to the next
  Range range;
  uint32_t alignment = 1;  // a power of two that divides the value: of an affine one lane 0's, of others every lane's
};

// The largest power of two that divides `v`, bounded.
uint32_t alignment_of(uint64_t v);

// A power of two that divides every lane's value.
uint32_t alignment_of_all(const Fact& f);

Fact fact_of_builtin(const Register& r, const LaunchShape& shape);

// The result of an operation on `sources` (4; those that it does not have are constants). `top` is the highest lane
// class among them, and what the result has if no rule says otherwise.
Fact fact_of_result(const LinearRule& rule, const Fact* sources, LaneClass top);

// Narrows the range of a value that is masked, shifted to the right or divided, `x` by `by`.
void apply_bound(const BoundRule& bound, Fact x, Fact by, Fact* out);

}  // namespace coalesce::machine
