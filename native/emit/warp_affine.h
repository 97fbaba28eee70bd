// Values that are affine over warps (analyse/warp_affine.h).
#pragma once

#include <array>
#include <map>

#include "native/emit/emitter.h"

namespace coalesce::native {

struct WarpAffine {  // warp w's value: first + w * step, where `valid` (i1) holds; null: always
  Value *first, *step, *valid;
};
struct Corners {
  std::array<Value*, 4> at;  // i64: the first and the last lane's value, of the first and of the last warp
  Value* unwrapped;          // i1: none has wrapped
};
using WarpAffineValues = std::map<uint32_t, WarpAffine>;  // by register: computed in the region

// Before the loop over the warps of region `r`. A register from before the region: its slots of the first two warps say
// first value and step.
WarpAffine warp_affine_of(Emitter& e, const machine::Value& v, Element element, uint32_t r, WarpAffineValues& values);
WarpAffine warp_affine_result(Emitter& e, const Instruction& i, uint32_t r, WarpAffineValues& values);
// The corners of a 32-bit number whose lanes are `stride` apart. All other values lie between the corners, and none
// wraps if these do not.
Corners corners(Emitter& e, const WarpAffine& a, int64_t stride, bool is_signed);

}  // namespace coalesce::native
