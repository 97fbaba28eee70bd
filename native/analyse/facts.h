// All that code generation is told about a kernel: found before any code is made, without LLVM.
#pragma once

#include <optional>
#include <vector>

#include "native/analyse/checked_affine.h"
#include "native/analyse/hoisted_checks.h"
#include "native/analyse/idle_warps.h"
#include "native/analyse/region_registers.h"
#include "native/analyse/regions.h"
#include "native/analyse/registers.h"
#include "native/analyse/tiles.h"

namespace coalesce::native {

struct RegionFacts {
  RegionPlan plan;
  bool may_begin = false;  // code may be entered there, other than at a new thread block
  // The rest only where plan.native.
  RegionRegisters registers;
  uint32_t warps_at_once = 0;
  std::optional<HoistedChecks> hoisted;
  IdleWarps idle;
  std::vector<Tile> tiles;
};

struct Facts {
  Registers registers;
  std::vector<RegionFacts> regions;  // as the program's; empty: the kernel has no native form
  std::vector<bool> any_nan;         // by register: may hold any NaN (nan.h)
  std::vector<bool> lanes_exchange;  // by basic block: lanes may read one another's registers
  CheckedAffine checked_affine;
  uint32_t memo_ways = 1;  // shared_access.h
};

// `memo_bytes`: of a cost memo. `vector_bits`: all of the CPU's vector registers together.
Facts find_facts(const machine::Decoded& program, std::size_t memo_bytes, unsigned vector_bits);

}  // namespace coalesce::native
