#include "machine/time/occupancy.h"

#include <algorithm>

namespace coalesce::machine {

namespace {

constexpr uint32_t kLanesOfWarp = 32, kRegisterUnit = 256, kParts = 4;

constexpr uint32_t up(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

// A warp's registers are given in units of 256, and a scheduler's warps have a quarter of the file.
Occupancy occupancy(const Device& d, const BlockNeeds& needs) {
  const uint32_t warps = (needs.threads + kLanesOfWarp - 1) / kLanesOfWarp;
  Occupancy o;
  const auto limit = [&](uint32_t blocks, Limiter by) {
    if (blocks < o.blocks) o.blocks = blocks, o.limiter = by;
  };
  o.blocks = d.threads_per_multiprocessor / kLanesOfWarp / std::max(1u, warps);
  limit(d.blocks_per_multiprocessor, Limiter::blocks);
  const uint32_t of_warp = up(std::max(1u, needs.registers) * kLanesOfWarp, kRegisterUnit);
  const uint32_t holds = d.registers_per_multiprocessor / kParts / of_warp * kParts;
  limit(holds / std::max(1u, warps), Limiter::registers);
  const uint32_t unit = d.major >= 8 ? 128 : 256;
  const uint32_t shared = up(needs.shared_bytes + d.shared_reserved_per_block, unit);
  if (shared != 0) limit(d.shared_per_multiprocessor / shared, Limiter::shared);
  o.warps = o.blocks * warps;
  o.share = static_cast<double>(o.warps * kLanesOfWarp) / d.threads_per_multiprocessor;
  return o;
}

}  // namespace coalesce::machine
