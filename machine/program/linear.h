// Affine arithmetic: which operations map base + lane * step to the same form, over the lanes of a warp (lanes.cpp) or
// over the warps of a block (native/analyse). Modulo 2^bits all of them do; widening ones only if no value wraps. Also:
// which operations bound their results.
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

// The rule of a row of 32 or 64 bits; `other`: the result is not affine.
RuleOf rule_of(const PureOp& op);

// Operations that are not affine but bound their result by a constant.
enum class Bound : uint8_t { none, mask, shift_right, remainder };
struct BoundOf {
  Bound bound = Bound::none;
  unsigned bits = 32;
  bool is_signed = false;
};
BoundOf bound_of(const PureOp& op);

}  // namespace coalesce::machine
