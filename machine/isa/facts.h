// Facts that analyses ask about an instruction that computes.
#pragma once

#include <cstdint>

#include "machine/isa/operation.h"

namespace coalesce::machine {

// Arithmetic that keeps affine values affine: over the lanes of a warp (program/lanes.cpp), over the warps of a block
// (native/analyse/warp_affine.h). All of it does modulo 2^bits; what widens does only where no value wraps.
enum class Rule : uint8_t {
  other,
  add,
  sub,
  mul_low,
  mul_wide,
  mad_low,
  mad_wide,
  shift_left,
  move,
  widen_unsigned,
  widen_signed,
  truncate,
  minus
};
struct LinearRule {
  Rule rule = Rule::other;
  unsigned bits = 32;  // of the result: 32 or 64
  bool is_signed = false;
};

// Operations that do not keep affine values, but bound their result by a constant operand.
enum class Bound : uint8_t { none, mask, shift_right, remainder };
struct BoundRule {
  Bound bound = Bound::none;
  unsigned bits = 32;
  bool is_signed = false;
};

struct RowFacts {
  LinearRule linear;
  BoundRule bound;
  // Moves bits and does not look at them: who reads only through such instructions uses no value.
  bool moves = false;
  // Single precision arithmetic: where PTX gives its canonical NaN, a CPU gives another.
  bool makes_nan = false;
};

RowFacts facts_of(const isa::Operation& operation);

}  // namespace coalesce::machine
