// The cost of a cp.async where it differs from that of a load and a store. flatten/async_copy.cpp executes it as these
// two, but hardware judges both sides together (docs/counters.md), so requests of its own are counted instead.
#pragma once

#include "machine/program/program.h"

namespace coalesce::machine {

// To be called on a decoded program.
void count_copies(Decoded&);

}  // namespace coalesce::machine
