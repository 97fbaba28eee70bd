// Counts the cost of accesses that were merged into one (program/merge.h) or that are the sides of a cp.async
// (program/copies.h). The accesses themselves are executed elsewhere.
#include "machine/execute/memory_ops.h"
#include "machine/observe/traffic.h"

namespace coalesce::machine {
namespace {

struct alignas(64) Lanes {
  uint64_t at[kLanes];
};
Lanes addresses(Warp& w, Slot slot, bool is_64, int64_t offset) {
  Lanes lanes;
  for (uint32_t l = 0; l < kLanes; ++l)
    lanes.at[l] = (is_64 ? w.at<uint64_t>(slot)[l] : w.at<uint32_t>(slot)[l]) + static_cast<uint64_t>(offset);
  return lanes;
}

void of_copy(const Access& a, Warp& w, const Site& site, SiteTally& t) {
  const MemoryOp& other_side = w.worker->launch.program->memory[a.op->other_side];
  const Lanes own = addresses(w, a.address, a.address_is_64, a.offset);
  const Lanes other = addresses(w, a.values[0], a.op->value_bytes[0] == 8, other_side.offset);
  if (site.kind == Kind::load) {
    const GlobalCost c = global_copy_cost(own.at, other.at, w.active, a.bytes);
    t.sectors += c.sectors;
    t.lines += c.lines;
    t.bytes += c.bytes;
  } else {
    const SharedCost c = shared_copy_cost(other.at, own.at, w.active, a.bytes);
    const uint32_t first = a.bytes <= 4 ? 1 : 0;  // goes without saying
    t.wavefronts += c.wavefronts - first;
    t.ideal += c.ideal - first;
  }
}

void of_warp(const Access& a, Warp& w) {
  const Site& site = w.worker->launch.program->sites[a.site];
  SiteTally& t = w.worker->tally.sites[a.site];
  t.requests += 1;
  if (a.op->is_copy) return of_copy(a, w, site, t);
  if (site.kind == Kind::atomic) {  // one lane does it
    if (site.space == AddressSpace::global) t.sectors += 1, t.lines += 1, t.bytes += a.bytes;
    return;  // in shared memory one wavefront, which goes without saying
  }
  alignas(64) uint32_t at[kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) {
    const uint64_t from = a.address_is_64 ? w.at<uint64_t>(a.address)[l] : w.at<uint32_t>(a.address)[l];
    at[l] = static_cast<uint32_t>(from + static_cast<uint64_t>(a.offset));
  }
  const SharedCost c =
      site.kind == Kind::load ? shared_load_cost(at, w.active, a.bytes) : shared_store_cost(at, w.active, a.bytes);
  t.wavefronts += c.wavefronts;
  t.ideal += c.ideal;
}

void request(const Step& s, Context& context) {
  const Access& a = *static_cast<const Access*>(s.extra);
  each_warp(context, [&](Warp& w) { of_warp(a, w); });
}

}  // namespace

Handler request_handler() { return request; }

}  // namespace coalesce::machine
