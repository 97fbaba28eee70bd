// What accesses cost that were merged into one (program/merge.h): counted, not carried out; each access does that
// itself.
#include "machine/execute/memory_ops.h"
#include "machine/observe/traffic.h"

namespace coalesce::machine {
namespace {

void of_warp(const Access& a, Warp& w) {
  const Site& site = w.worker->launch.program->sites[a.site];
  SiteTally& t = w.worker->tally.sites[a.site];
  t.requests += 1;
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
