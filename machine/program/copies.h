// What a cp.async costs, where that is not what a load and a store cost. It is carried out as these two
// (flatten_compose), but hardware judges both sides together (docs/counters.md), so requests of their own are counted
// in their place.
#pragma once

#include "machine/program/program.h"

namespace coalesce::machine {

// To be called on a decoded program.
void count_copies(Decoded&);

}  // namespace coalesce::machine
