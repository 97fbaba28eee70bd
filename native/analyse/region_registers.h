// The registers of a warp that a region uses, and the number of warps that may run at once.
#pragma once

#include <cstdint>
#include <vector>

#include "native/analyse/regions.h"
#include "native/analyse/registers.h"

namespace coalesce::native {

struct RegionRegisters {
  std::vector<bool> read, written;  // by register: of a warp, in the region
  std::vector<bool> left;           // written, and read after the region
};

RegionRegisters find_region_registers(const Registers& registers, const RegionPlan& plan, uint32_t r);

// Warps whose instructions are emitted side by side (unroll and jam), a power of two; 0: one warp after the other.
// Dependent operations of one warp, such as the sums of a matrix product, leave the CPU idle; other warps' fill it, and
// what warps read alike is read once. Only where nothing depends on the order of warps: nothing is written to memory,
// nothing can fault. `vector_bits`: all of the CPU's vector registers together.
inline constexpr uint32_t kMostWarpsAtOnce = 4;
uint32_t find_warps_at_once(const Registers& registers, const RegionRegisters& region_registers, const RegionPlan& plan,
                            unsigned vector_bits);

}  // namespace coalesce::native
