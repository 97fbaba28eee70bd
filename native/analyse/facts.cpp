#include "native/analyse/facts.h"

#include "native/analyse/entries.h"
#include "native/analyse/nan.h"
#include "native/analyse/shared_access.h"
#include "native/analyse/warp_affine.h"

namespace coalesce::native {

Facts find_facts(const Decoded& program, std::size_t memo_bytes, unsigned vector_bits) {
  Facts facts{Registers(program), {}, {}, {}, {}, 1};
  std::vector<RegionPlan> plans = plan(program);
  if (plans.empty()) return facts;
  const Registers& registers = facts.registers;
  facts.any_nan = find_any_nan(program);
  facts.lanes_exchange = find_lane_exchanges(program);
  facts.checked_affine = find_checked_affine(registers);
  facts.memo_ways = find_memo_ways(registers, memo_bytes);
  const std::vector<bool> warp_affine = find_warp_affine(registers);
  const std::vector<bool> entries = find_entries(program, plans);
  for (uint32_t r = 0; r < plans.size(); ++r) {
    RegionFacts region;
    region.plan = std::move(plans[r]);
    region.may_begin = entries[r];
    if (region.plan.native) {
      region.registers = find_region_registers(registers, region.plan, r);
      region.warps_at_once = find_warps_at_once(registers, region.registers, region.plan, vector_bits);
      region.hoisted = find_hoisted_checks(registers, facts.checked_affine, warp_affine, region.plan, r);
      region.idle = find_idle_warps(registers, region.registers, region.plan, r);
      region.tiles = find_tiles(registers, region.plan);
    }
    facts.regions.push_back(std::move(region));
  }
  return facts;
}

}  // namespace coalesce::native
