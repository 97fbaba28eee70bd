// Global-memory accesses whose checks are hoisted out of a region's loop over warps.
//
// If all accesses of a region are affine over warps and its other instructions cannot fault, code checks the first and
// the last warp's addresses once, counts and marks all warps' accesses at once, and then runs a loop that only computes
// and moves bytes (emit/hoisted_checks.cpp). `if (i < n)` around all of a region is no obstacle: where i is affine over
// lanes and warps, the condition holds for all of them if it holds at the corners.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "native/analyse/checked_affine.h"
#include "native/analyse/regions.h"
#include "native/analyse/registers.h"

namespace coalesce::native {

// a <order> b.
enum class Order : uint8_t { less, less_equal, greater, greater_equal };

struct HoistedChecks {
  struct Action {
    enum class What : uint8_t {
      affine,  // the result is affine over warps: compute its first value and step
      access,  // an access whose check is hoisted
      test,    // the comparison that the branch around the code reads: must send all lanes the same way
    } what;
    uint32_t instruction;
    Order order = Order::less;  // of a test: sources[0] <order> sources[1]
    bool is_signed = false;     //
  };
  std::vector<uint32_t> way;    // basic blocks, in order, that a warp passes whose lanes stay together
  std::vector<Action> actions;  // in program order
  uint32_t branch = kNone;      // the block on the way whose branch might part the lanes; kNone: there is none
  bool branch_taken = false;    // on the way that branch is taken
};

// The hoisted checks of region `r`; none: the region has no such form.
std::optional<HoistedChecks> find_hoisted_checks(const Registers& registers, const CheckedAffine& checked_affine,
                                                 const std::vector<bool>& warp_affine, const RegionPlan& plan,
                                                 uint32_t r);

}  // namespace coalesce::native
