// Loops that end when another block has written a word. Executed one after the other, blocks find it written and wait
// for nothing; on a GPU they wait, for a time that estimates leave out.
#pragma once

#include "machine/program/program.h"

namespace coalesce::machine {

// Says whether the code has a loop that only reads, at an address that stays, and that only what it reads there ends:
// by a volatile or stronger load, or by an atomic that repeats without effect (or takes a lock). Cost: linear in the
// code for each basic block with such an access.
bool waits_for_words(const Decoded& program);

}  // namespace coalesce::machine
