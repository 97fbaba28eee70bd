// Loads, stores and atomics of shared memory: bounds, alignment, and the wavefronts of their bank conflicts.
#include <cstring>
#include <string>

#include "machine/execute/block.h"
#include "machine/execute/memory_ops.h"
#include "machine/observe/traffic.h"

namespace coalesce::machine {

namespace {

// Addresses of the upper half are what subtracting from a small one gives.
std::string outside_shared(Warp& w, uint32_t address, uint32_t bytes) {
  const std::string whole = "the block's " + std::to_string(w.shared_bytes) + " bytes of shared memory";
  const uint32_t rank = (address >> kClusterShift) - 1;
  if (address > kClusterOffset && rank < w.owner->seat().cluster().size())
    return "outside the shared memory of the cluster's block of rank " + std::to_string(rank) +
           ", or that block has ended";
  if (const auto below = static_cast<int32_t>(address); below < 0)
    return "outside " + whole + ", " + std::to_string(-int64_t{below}) + " before its start";
  return "outside " + whole + " (by " + std::to_string(uint64_t{address} + bytes - w.shared_bytes) + ")";
}

// Lanes that do not all access the block's own shared memory at aligned addresses: finds the bytes of those that access
// another block's of the cluster, or the lane to blame. Returns the lanes that access the block's own.
uint32_t find_peers(const Access& a, Warp& w, const uint32_t* at, uint32_t mask, uint64_t* host) {
  uint32_t own = mask;
  for (uint32_t m = mask; m; m &= m - 1) {
    const uint32_t l = lowest(m);
    if (uint64_t{at[l]} + a.bytes > w.shared_bytes) {
      std::byte* const there = at[l] > kClusterOffset ? w.owner->seat().peer(at[l], a.bytes) : nullptr;
      if (!there) fault_at(a, w, Fault::illegal_address, at[l], l, outside_shared(w, at[l], a.bytes));
      host[l] = reinterpret_cast<uint64_t>(there);
      own &= ~(1u << l);
    }
    if (at[l] & (a.bytes - 1u)) fault_at(a, w, Fault::misaligned_address, at[l], l, "");
  }
  return own;
}

template <bool IsLoad>
void shared_vector(const Access& a, Warp& w, const uint32_t* address, uint32_t mask, uint32_t site) {
  const uint32_t bytes = a.bytes;
  SiteTally& t = w.worker->tally.sites[site];
  const uint32_t offset = static_cast<uint32_t>(a.offset);
  if (contiguous(address, mask, bytes)) {
    const uint32_t f = lowest(mask), base = address[f] - f * bytes + offset;
    const uint64_t low = uint64_t{base + f * bytes}, high = low + uint64_t{highest(mask) - f + 1} * bytes;
    if (high <= w.shared_bytes && (low & (bytes - 1)) == 0) {
      if (bytes > 4) {
        const SharedCost c = IsLoad && !a.op->is_row ? shared_load_cost_affine(base, bytes, mask, bytes)
                                                     : shared_store_cost_affine(base, bytes, mask, bytes);
        t.wavefronts += c.wavefronts;
        t.ideal += c.ideal;
      }
      return a.move_contiguous(a, w, w.shared + static_cast<int64_t>(low) - int64_t{f} * bytes, mask);
    }
  }
  alignas(64) uint32_t at[kLanes];
  alignas(64) uint64_t host[kLanes];
  uint32_t bits = 0, high = 0;
  const uint64_t shared = reinterpret_cast<uint64_t>(w.shared);
  for (uint32_t l = 0; l < kLanes; ++l) {
    at[l] = address[l] + offset;
    const uint32_t on = 0u - (mask >> l & 1);
    bits |= at[l] & on;
    high = std::max(high, at[l] & on);
    host[l] = shared + at[l];
  }
  uint32_t own = mask;
  if ((bits & (bytes - 1)) || uint64_t{high} + bytes > w.shared_bytes) own = find_peers(a, w, at, mask, host);
  SharedCost c{};
  if (own) c = IsLoad && !a.op->is_row ? shared_load_cost(at, own, bytes) : shared_store_cost(at, own, bytes);
  if (bytes <= 4) {
    t.wavefronts += uint64_t{c.wavefronts} - 1;
    if (!own) t.ideal -= 1;  // another block's memory is beyond the banks (measured on an H100)
  } else {
    t.wavefronts += c.wavefronts;
    t.ideal += c.ideal;
  }
  a.move_table(a, w, host, mask);
}

// Lane l at base + l * stride, words.
template <bool IsLoad>
void shared_strided(const Access& a, Warp& w, uint32_t base, uint32_t mask) {
  if (mask != ~0u || base % 4 || base + uint64_t{kLanes - 1} * a.stride + 4 > w.shared_bytes) {
    alignas(64) uint32_t table[kLanes];
    for (uint32_t l = 0; l < kLanes; ++l) table[l] = base - static_cast<uint32_t>(a.offset) + l * a.stride;
    return shared_vector<IsLoad>(a, w, table, mask, a.site);
  }
  w.worker->tally.sites[a.site].wavefronts += a.wavefronts - 1;
  const std::size_t stride = a.stride / 4;
  uint32_t* const lanes = w.at<uint32_t>(a.values[0]);
  uint32_t* const words = reinterpret_cast<uint32_t*>(w.shared + base);
  for (uint32_t l = 0; l < kLanes; ++l) {
    if constexpr (IsLoad)
      lanes[l] = words[l * stride];
    else
      words[l * stride] = lanes[l];
  }
}

template <bool IsLoad>
void shared_of_warp(const Access& a, Warp& w) {
  const uint32_t mask = w.active;
  if (a.counts_requests) w.worker->tally.sites[a.site].requests += 1;
  if (a.shape == AddressShape::vector) {
    if (!a.address_is_64) return shared_vector<IsLoad>(a, w, w.at<uint32_t>(a.address), mask, a.site);
    alignas(64) uint32_t table[kLanes];
    const uint64_t* from = w.at<uint64_t>(a.address);
    for (uint32_t l = 0; l < kLanes; ++l) table[l] = static_cast<uint32_t>(from[l]);
    return shared_vector<IsLoad>(a, w, table, mask, a.site);
  }
  const uint32_t base = *w.at<uint32_t>(a.address) + static_cast<uint32_t>(a.offset);
  const uint32_t bytes = a.bytes;
  if (a.shape == AddressShape::strided) return shared_strided<IsLoad>(a, w, base, mask);
  const bool one = a.shape == AddressShape::uniform;
  const uint64_t low = one ? base : base + lowest(mask) * bytes,
                 high = low + (one ? 1 : highest(mask) - lowest(mask) + 1) * uint64_t{bytes};
  if (high > w.shared_bytes || (base & (bytes - 1))) {  // the table's way finds the lane to blame
    alignas(64) uint32_t table[kLanes];
    for (uint32_t l = 0; l < kLanes; ++l) table[l] = base - static_cast<uint32_t>(a.offset) + (one ? 0 : l * bytes);
    return shared_vector<IsLoad>(a, w, table, mask, a.site);
  }
  if (bytes > 4) {
    const SharedCost c = IsLoad ? shared_load_cost_affine(base, one ? 0 : bytes, mask, bytes)
                                : shared_store_cost_affine(base, bytes, mask, bytes);
    w.worker->tally.sites[a.site].wavefronts += c.wavefronts;
    w.worker->tally.sites[a.site].ideal += c.ideal;
  }
  if (one)
    a.move_uniform(a, w, w.shared + base, mask);
  else
    a.move_contiguous(a, w, w.shared + static_cast<int32_t>(base), mask);
}

// Access::plain: what full warps do within bounds, without a call for each.
template <bool IsLoad>
void shared_plain(const Access& a, Warp& first) {
  const std::byte* address = first.at<std::byte>(a.address);
  std::byte* value = first.at<std::byte>(a.values[0]);
  const std::size_t address_stride = first.stride[a.address & 3u], value_stride = first.stride[a.values[0] & 3u];
  const uint32_t offset = static_cast<uint32_t>(a.offset), bytes = a.shape == AddressShape::uniform ? 4 : 4 * kLanes;
  std::byte* const shared = first.shared;
  const uint64_t end = first.shared_bytes;
  Warp* w = &first;
  for (uint32_t left = first.together;;) {
    const uint32_t base = *reinterpret_cast<const uint32_t*>(address) + offset;
    if (w->active == ~0u && base % 4 == 0 && base + uint64_t{bytes} <= end) {
      std::byte* const from = IsLoad ? shared + base : value;
      std::byte* const to = IsLoad ? value : shared + base;
      if (bytes == 4)
        std::memcpy(to, from, 4);
      else
        std::memcpy(to, from, 4 * kLanes);
    } else if (w->active) {
      shared_of_warp<IsLoad>(a, *w);
    }
    if (--left == 0) return;
    ++w;
    address += address_stride;
    value += value_stride;
  }
}

template <bool IsLoad>
void each_shared(const Step& s, Context& context) {
  const Access& a = *static_cast<const Access*>(s.extra);
  if (a.plain) return shared_plain<IsLoad>(a, static_cast<Warp&>(context));
  each_warp(context, [&](Warp& w) { shared_of_warp<IsLoad>(a, w); });
}

}  // namespace

void shared_load(const Step& s, Context& context) { each_shared<true>(s, context); }
void shared_store(const Step& s, Context& context) { each_shared<false>(s, context); }

void shared_lanes(const Access& a, Warp& w, const uint32_t* address, uint32_t mask, uint32_t site, bool load) {
  load ? shared_vector<true>(a, w, address, mask, site) : shared_vector<false>(a, w, address, mask, site);
}

void shared_atomic_where(const Access& a, Warp& w, const uint32_t* address, uint32_t mask, uint32_t site,
                         uint64_t* host) {
  alignas(64) uint32_t at[kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) {
    at[l] = address[l] + static_cast<uint32_t>(a.offset);
    host[l] = reinterpret_cast<uint64_t>(w.shared) + at[l];
  }
  const uint32_t own = find_peers(a, w, at, mask, host);
  if (site == kNone) return;
  // Measured: tests/truth/patterns.jsonl. What adds lanes up is judged like a store.
  SharedCost c{1, 1};  // another block's: one pass (measured on an H100)
  if (own) c = a.op->counts_lanes ? shared_store_cost(at, own, a.bytes) : shared_atomic_cost(at, own, a.bytes);
  SiteTally& t = w.worker->tally.sites[site];
  // cas has two operands to carry and takes every pass twice (measured: tests/truth/atomics.jsonl).
  const uint32_t twice = a.op->op == AtomicOp::cas ? 2 : 1;
  t.wavefronts += twice * c.wavefronts - (a.bytes <= 4 ? 1 : 0);
  t.ideal += a.bytes > 4 ? twice * c.ideal : twice - 1;
}

}  // namespace coalesce::machine
