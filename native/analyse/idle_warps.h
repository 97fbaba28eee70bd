// Warps with nothing to do in a region, where that follows from the condition with which the region begins:
//
//   if (threadIdx.x < n) ...       every warp behind the first idle one is idle too
//   if (threadIdx.x % n == 0) ...  n a power of two: every warp, or every (n / 32)th, works with the same lanes on
//
// as the steps of trees do. The loop over warps skips them (emit/idle_warps.cpp): without that, asking each warp takes
// most of such a step's time.
#pragma once

#include <cstdint>

#include "native/analyse/region_registers.h"
#include "native/analyse/regions.h"
#include "native/analyse/registers.h"

namespace coalesce::native {

struct IdleWarps {
  enum class Form : uint8_t {
    none,
    below,          // the condition is about threadIdx.x itself
    product_below,  // about threadIdx.x * factor, where that does not wrap
    periodic,       // threadIdx.x % factor == 0
    masked,         // (threadIdx.x & factor) == 0: periodic where factor + 1 is a power of two
  } form = Form::none;
  bool equals_zero = false;  // product_below: the product is compared with 0 for equality
  machine::Value factor;
  uint32_t head = kNone;  // the block whose branch asks
};

IdleWarps find_idle_warps(const Registers& registers, const RegionRegisters& region_registers, const RegionPlan& plan,
                          uint32_t r);

}  // namespace coalesce::native
