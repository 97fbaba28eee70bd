// The facts for `check` that the kernel's text decides.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/check/backoff.h"
#include "machine/check/rules.h"
#include "machine/program/program.h"

namespace coalesce::machine {

struct CheckedKernel {
  explicit CheckedKernel(const Decoded& program);

  const Decoded& program;
  std::vector<AccessRule> rules;  // by instruction
  std::vector<Skip> skips, lane_skips;
  std::vector<char> tells_skips;  // by basic block: one of them names it
  Backoffs backoffs;
  uint32_t agents = 0;          // that the kernel may have: kAgents, or 0
  bool block_scopes = false;    // it has fences or strong accesses of block scope
  bool may_poll = false;        // an instruction may
  bool waits_for_grid = false;  // griddepcontrol.wait
};

}  // namespace coalesce::machine
