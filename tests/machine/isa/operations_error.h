// What PTX documents about the approximate functions, and how far two answers are from the true value.
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
// Of one result `ours` of an approximate row, against the true value of the function (computed in long double), with
// the card's answer `theirs` beside it. Where the true value is no finite number, equal bits are asked for.
Judgement judge(const PureOp& op, const Raw* in, Raw ours, Raw theirs);

}  // namespace coalesce::machine::operations
