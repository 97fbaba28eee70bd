// PTX's error bounds of approximate functions, and the distance of two answers from the true value.
#pragma once

#include <string>

#include "tests/machine/isa/operations.h"

namespace coalesce::machine::operations {

// The family of a row, as docs/results/agreement.md lists them.
std::string family_of(const PureOp& op);

// Errors are in parts of the documented bound: at most 1 is within it.
struct Judgement {
  bool within = false;
  bool undefined = false;  // PTX does not say what the result is
  double machine_error = 0, card_error = 0;
};
// Judges one result `ours` of an approximate row against the true value (computed in long double), beside the card's
// answer `theirs`. Where the true value is not finite, equal bits are required.
Judgement judge(const PureOp& op, const Raw* in, Raw ours, Raw theirs);

}  // namespace coalesce::machine::operations
