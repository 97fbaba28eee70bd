#include "native/analyse/entries.h"

namespace coalesce::native {

using namespace machine;

std::vector<bool> find_entries(const Decoded& p, const std::vector<RegionPlan>& plans) {
  std::vector<bool> entries(plans.size());
  for (uint32_t r = 0; r < plans.size(); ++r) {
    const Region& region = p.regions[r];
    const BasicBlock& last = p.blocks[region.chain.back()];
    const auto enters = [&](uint32_t b) {
      if (b == kNone || p.region_of[b] == kNone) return;
      const uint32_t to = p.region_of[b];
      if (!plans[r].native || p.regions[to].chain.front() <= region.chain.front()) entries[to] = plans[to].native;
    };
    if (last.divergent || last.divergent_branch)
      enters(region.after);
    else
      successors(last, enters);
  }
  return entries;
}

std::vector<bool> find_lane_exchanges(const Decoded& p) {
  const auto exchanges = [](const Instruction& i) {
    switch (i.kind) {
      case Kind::shuffle:
      case Kind::vote:
      case Kind::match:
      case Kind::active_mask:
      case Kind::reduce_lanes:
      case Kind::elect:
      case Kind::collective:
      case Kind::warp_barrier:
      case Kind::call:
      case Kind::trap:
      case Kind::clock:
      case Kind::unknown:
        return true;
      default:
        return false;
    }
  };
  std::vector<bool> found(p.blocks.size());
  for (std::size_t b = 0; b < found.size(); ++b)
    for (uint32_t k = p.blocks[b].first; k < p.blocks[b].last; ++k) found[b] = found[b] || exchanges(p.code[k]);
  return found;
}

}  // namespace coalesce::native
