// Which regions of a kernel can run as native code, and how their lanes part and meet there.
//
// Where lanes may part, generated code keeps masks in variables instead of the interpreter's splits and joins. That is
// possible where flow is structured: every branch's lanes meet at one block ("scope"), scopes lie within one another,
// and a branch that has work on both sides cannot be reached again before its lanes have met. Then the lanes that wait
// at a meeting point are one mask for each scope, the side that runs second is one mask for each branch, and the order
// in which sides run is the interpreter's: the side that falls through, then the other. Loops whose lanes leave one
// after the other are scopes like all others.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/program/program.h"

namespace coalesce::native {

struct Scope {
  uint32_t at = machine::kNone;      // the block where lanes meet; kNone: they all exit
  uint32_t parent = machine::kNone;  // scope around it; kNone: lockstep code
  std::vector<bool> inside;          // by block
  std::size_t size = 0;
  std::vector<uint32_t> two_sided;  // branches with work on both sides, the inner ones first
};

struct RegionPlan {
  bool native = false;
  bool exits = false;            // lanes may exit before its end
  bool has_work = false;         // something to do for each warp
  std::vector<uint32_t> blocks;  // its chain and the divergent blocks between
  std::vector<Scope> scopes;
  std::vector<uint32_t> scope_of;  // by block: innermost scope; kNone: lockstep
  std::vector<uint32_t> position;  // by block: index into the chain of the lockstep block that it runs after
};

// One per region of the program; empty: the kernel has no native form at all.
std::vector<RegionPlan> plan(const machine::Decoded& program);

}  // namespace coalesce::native
