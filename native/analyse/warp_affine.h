// Values that are affine over the warps of a thread block: lane 0's value in warp w is first + w * step.
//
// a[(first + threadIdx.y) * n + threadIdx.x]: the address grows by the same number of bytes from warp to warp, a number
// known only at run time. Sums, and products with values of the block, keep that form modulo 2^bits. Widening 32 bits
// to 64 keeps it only where neither the first warp's value nor the last one's wraps, which generated code checks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "native/analyse/registers.h"

namespace coalesce::native {

// First value and step of a builtin; none: not affine over warps.
std::optional<std::pair<uint64_t, uint64_t>> warp_affine_builtin(const Decoded& program, machine::Builtin builtin);

// True if the instruction's result is affine over warps, given which operands are. `may_widen`: a 32-bit register may
// be widened.
bool keeps_warp_affine(const Registers& registers, const Instruction& i,
                       const std::function<bool(const machine::Value&)>& is,
                       const std::function<bool(uint32_t)>& may_widen);

// For each register: affine over warps wherever a region begins, provided all warps with all their lanes came the same
// way.
std::vector<bool> find_warp_affine(const Registers& registers);

}  // namespace coalesce::native
