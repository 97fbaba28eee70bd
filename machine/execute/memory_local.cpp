// Loads and stores of local memory, and loads of a kernel's parameters at addresses that are computed.
#include <string>
#include <vector>

#include "machine/execute/memory_ops.h"
#include "machine/observe/traffic.h"

namespace coalesce::machine {

// Fills at[lane], in local memory, and host[lane] for the lanes of `mask`.
static void local_where(const Access& a, Warp& w, const uint64_t* address, uint32_t mask, uint32_t* at,
                        uint64_t* host) {
  for (uint32_t l = 0; l < kLanes; ++l) {
    const uint64_t offset = address[l] + static_cast<uint64_t>(a.offset);
    if (mask >> l & 1) {
      if (offset > w.local_bytes || offset + a.bytes > w.local_bytes)
        fault_at(a, w, Fault::illegal_address, offset, l,
                 "outside the thread's " + std::to_string(w.local_bytes) + " bytes of local memory");
      if (offset & (a.bytes - 1u)) fault_at(a, w, Fault::misaligned_address, offset, l, "");
    }
    at[l] = static_cast<uint32_t>(offset);
    host[l] = reinterpret_cast<uint64_t>(w.local) + uint64_t{l} * w.local_bytes + offset;
  }
}

void local_lanes(const Access& a, Warp& w, const uint64_t* address, uint32_t mask, uint32_t site) {
  alignas(64) uint64_t host[kLanes];
  alignas(64) uint32_t at[kLanes];
  local_where(a, w, address, mask, at, host);
  if (site != kNone) w.worker->tally.sites[site].sectors += local_sectors(at, mask, a.bytes);
  a.move_table(a, w, host, mask);
}

void local_atomic_where(const Access& a, Warp& w, const uint64_t* address, uint32_t mask, uint64_t* host) {
  alignas(64) uint64_t offsets[kLanes];
  alignas(64) uint32_t at[kLanes];
  into_window(a, address, offsets);
  local_where(a, w, offsets, mask, at, host);
}

void local_access(const Step& s, Context& context) {
  const Access& a = *static_cast<const Access*>(s.extra);
  Warp& w = static_cast<Warp&>(context);
  alignas(64) uint64_t table[kLanes];
  if (a.counts_requests) w.worker->tally.sites[a.site].requests += 1;
  local_lanes(a, w, address_table(a, w, table), w.active, a.site);
}

namespace {

const std::byte* param_at(const Access& a, Warp& w, uint64_t address, uint32_t lane) {
  const uint64_t offset = address + static_cast<uint64_t>(a.offset);
  const std::vector<uint8_t>& parameters = *w.worker->launch.parameters;
  if (offset > parameters.size() || offset + a.bytes > parameters.size())
    fault_at(a, w, Fault::illegal_address, offset, lane,
             "outside the kernel's " + std::to_string(parameters.size()) + " bytes of parameters");
  if (offset & (a.bytes - 1u)) fault_at(a, w, Fault::misaligned_address, offset, lane, "");
  return reinterpret_cast<const std::byte*>(parameters.data()) + offset;
}

}  // namespace

void param_lanes(const Access& a, Warp& w, const uint64_t* address, uint32_t mask) {
  alignas(64) uint64_t host[kLanes] = {};
  for (uint32_t m = mask; m; m &= m - 1)
    host[lowest(m)] = reinterpret_cast<uint64_t>(param_at(a, w, address[lowest(m)], lowest(m)));
  a.move_table(a, w, host, mask);
}

void param_access(const Step& s, Context& context) {
  const Access& a = *static_cast<const Access*>(s.extra);
  Warp& w = static_cast<Warp&>(context);
  alignas(64) uint64_t table[kLanes];
  param_lanes(a, w, address_table(a, w, table), w.active);
}

void param_uniform(const Step& s, Context& context) {
  const Access& a = *static_cast<const Access*>(s.extra);
  Warp& w = static_cast<Warp&>(context);
  const uint64_t address = a.address_is_64 ? *w.at<uint64_t>(a.address) : *w.at<uint32_t>(a.address);
  a.move_uniform(a, w, param_at(a, w, address, lowest(w.active)), w.active);
}

}  // namespace coalesce::machine
