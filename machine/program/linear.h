// Arithmetic that keeps values a step apart a step apart: of the lanes of a warp (lanes.cpp), of the warps of a block
// (native/emit/ahead.cpp). Modulo 2^bits all of it does; what widens only where no value wraps. And what bounds its
// result.
#pragma once

#include <cstdint>

#include "machine/execute/ops.h"

namespace coalesce::machine {

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

struct RuleOf {
  Rule rule = Rule::other;
  unsigned bits = 32;  // of the result
  bool is_signed = false;
};

// What the row computes, of 32 or 64 bits; `other`: nothing of the kind.
RuleOf rule_of(const PureOp& op);

// What does not keep steps, but says how large its result can be at most, by a constant.
enum class Bound : uint8_t { none, mask, shift_right, remainder };
struct BoundOf {
  Bound bound = Bound::none;
  unsigned bits = 32;
  bool is_signed = false;
};
BoundOf bound_of(const PureOp& op);

}  // namespace coalesce::machine
