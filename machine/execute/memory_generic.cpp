// Accesses at generic addresses: each lane's address names its space.
#include "machine/execute/memory_ops.h"

namespace coalesce::machine {

namespace {

template <bool IsLoad>
void by_space(const Step& s, Context& context) {
  const Access& a = *static_cast<const Access*>(s.extra);
  Warp& w = static_cast<Warp&>(context);
  alignas(64) uint64_t table[kLanes];
  const uint64_t* address = address_table(a, w, table);
  const SpaceMasks masks = space_masks(address, static_cast<uint64_t>(a.offset), w.active);
  SiteTally* sites = a.site == kNone ? nullptr : w.worker->tally.sites + a.site;
  if (masks.global) {
    if (sites) sites[0].requests += 1;
    global_lanes(a, w, address, masks.global);
  }
  if (masks.shared) {
    alignas(64) uint32_t offsets[kLanes];
    for (uint32_t l = 0; l < kLanes; ++l) offsets[l] = static_cast<uint32_t>(address[l]);
    sites[1].requests += 1;
    shared_lanes(a, w, offsets, masks.shared, a.site + 1, IsLoad);
  }
  if (masks.local) {
    alignas(64) uint64_t offsets[kLanes];
    into_window(a, address, offsets);
    sites[2].requests += 1;
    local_lanes(a, w, offsets, masks.local, a.site + 2);
  }
  if (masks.param) {
    alignas(64) uint64_t offsets[kLanes];
    into_window(a, address, offsets);
    if (!IsLoad)
      fault_at(a, w, Fault::illegal_address, address[lowest(masks.param)], lowest(masks.param),
               "in the kernel's parameters, which are read-only");
    param_lanes(a, w, offsets, masks.param);
  }
}

}  // namespace

void generic_load(const Step& s, Context& context) { by_space<true>(s, context); }
void generic_store(const Step& s, Context& context) { by_space<false>(s, context); }

SpaceMasks space_masks(const uint64_t* address, uint64_t offset, uint32_t mask) {
  uint64_t all = 0;
  for (uint32_t l = 0; l < kLanes; ++l) all |= (address[l] + offset) & (uint64_t{0} - (mask >> l & 1));
  SpaceMasks m;
  if (all >> 48 == 0) {
    m.global = mask;
    return m;
  }
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const uint32_t l = lowest(rest);
    const uint64_t window = (address[l] + offset) & ~(kWindowSize - 1);
    (window == kSharedWindow  ? m.shared
     : window == kLocalWindow ? m.local
     : window == kParamWindow ? m.param
                              : m.global) |= 1u << l;
  }
  return m;
}

}  // namespace coalesce::machine
