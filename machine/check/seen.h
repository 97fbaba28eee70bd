// One lane's hazard, as it is seen; launch_check.cpp makes diagnostics of them.
#pragma once

#include <cstdint>
#include <string>

#include "machine/check/shadow.h"
#include "machine/diagnostic.h"
#include "machine/program/program.h"

namespace coalesce::machine {

// One more lane's `hazard`: by `instruction` now, after `before` (0: no other party).
struct Seen {
  Hazard hazard;
  uint32_t instruction;
  AccessId before = 0;
  uint32_t before_lane = 0;
  uint32_t warp = 0, lane = 0;
  uint64_t block = 0;
  uint32_t bytes = 0;
  AddressSpace space = AddressSpace::global;
  uint64_t address = 0;
  uint32_t origin = kNone;  // uninitialised: the instruction that has read it, if it is another
  uint64_t made_of = 0;     // out_of_array: the allocation of the pointer that its address was made of
  uint32_t apart = 0;       // who race: 0 lanes of a warp, 1 warps, 2 blocks. The widest of a finding's pairs is shown
  std::string note = {};
  bool proxy = false;                // nothing makes the store visible to what reads past the threads
  bool as_constant = false;          // read as if nothing wrote it while the launch runs
  bool ended = false;                // that block may have ended
  uint64_t of_block = ~uint64_t{0};  // whose shared memory it is, where it is another's of the cluster
};

}  // namespace coalesce::machine
