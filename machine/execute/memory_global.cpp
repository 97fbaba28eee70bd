// Loads, stores and atomics of global and constant memory: bounds, alignment, cost, and the sectors they touch.
//
// The common case, all lanes at base + lane * width, is found by one comparison of the address vector, or known from
// the lane class; then bounds are one comparison against the allocation this instruction touched last.
#include <memory>

#include "machine/execute/memory_ops.h"
#include "machine/observe/traffic.h"

namespace coalesce::machine {

namespace {

// The allocation around [low, high), or a fault for the first lane of `mask` that is outside (addresses: table or
// base).
const Window& window_for(const Access& a, Warp& w, uint64_t low, uint64_t high, const uint64_t* table, uint64_t base,
                         uint32_t mask) {
  Window& cached = w.worker->windows[a.window];
  const bool wraps = high <= low;  // round the end of the address space, from just before null
  if (!wraps && low >= cached.base && high <= cached.end) return cached;
  if (const Allocation* found = wraps ? nullptr : w.worker->launch.memory->find(low);
      found && high <= found->base + found->size) {
    cached = {found->base, found->base + found->size, found, cached.last};
    return cached;
  }
  for (uint32_t m = mask; m; m &= m - 1) {
    const uint32_t l = lowest(m);
    const uint64_t at = table ? table[l] : base + uint64_t{l} * a.bytes;
    const Allocation* found = w.worker->launch.memory->find(at);
    if (!found || at + a.bytes > found->base + found->size)
      fault_at(a, w, Fault::illegal_address, at, l, w.worker->launch.memory->describe(at, a.bytes));
  }
  static thread_local Window spread;  // lanes in several allocations: all are good, none is cached
  spread = {};
  return spread;
}

void touch(const Window& win, uint64_t low, uint64_t high) {
  const uint64_t first = (low - win.base) / 32, last = (high - 1 - win.base) / 32;
  Memory::mark(*win.allocation, first, last - first + 1);
}

void touch_lanes(Warp& w, const Window& win, const uint64_t* table, uint32_t mask, uint32_t bytes) {
  uint64_t touched = ~uint64_t{0};  // the last sector; an access lies in one
  for (uint32_t m = mask; m; m &= m - 1) {
    const uint64_t at = table[lowest(m)];
    if (win.allocation) {
      const uint64_t sector = (at - win.base) / 32;
      if (sector != touched) touch(win, at, at + bytes);
      touched = sector;
    } else if (const Allocation* found = w.worker->launch.memory->find(at)) {
      touch({found->base, found->base + found->size, found, 0}, at, at + bytes);
    }
  }
}

// Lanes at `host`, all aligned, which do not follow one another: counts them and marks their sectors.
void count_lanes_apart(const Access& a, Warp& w, const Window& win, const uint64_t* host, uint32_t mask) {
  SiteTally& t = w.worker->tally.sites[a.site];
  std::unique_ptr<Apart>& last = w.worker->apart[a.window];
  if (last && last->mask == mask) {
    uint64_t differ = 0;
    for (uint32_t l = 0; l < kLanes; ++l) differ |= (host[l] / 32 ^ last->sectors[l]) & (uint64_t{0} - (mask >> l & 1));
    if (!differ) {
      t.sectors += count_lanes(mask);
      t.lines += last->lines;
      t.bytes += uint64_t{count_lanes(mask)} * a.bytes;
      return;
    }
  }
  const GlobalCost c = global_cost(host, mask, a.bytes);
  t.sectors += c.sectors;
  t.lines += c.lines;
  t.bytes += c.bytes;
  touch_lanes(w, win, host, mask, a.bytes);
  if (c.sectors != count_lanes(mask)) return;  // some share one, and how many bytes they share may change
  if (!last) last = std::make_unique<Apart>();
  for (uint32_t l = 0; l < kLanes; ++l) last->sectors[l] = host[l] / 32;
  last->mask = mask;
  last->lines = c.lines;
}

// The places of the lanes of `mask` in global memory. Returns a base for contiguous lanes, else fills `host`.
struct Where {
  std::byte* base = nullptr;  // contiguous: of lane 0
  bool contiguous = false;
};

template <bool Counted>
Where global_where(const Access& a, Warp& w, const uint64_t* table, bool known_contiguous, uint64_t base, uint32_t mask,
                   uint64_t* host) {
  const uint32_t bytes = a.bytes;
  if (table) {
    const uint32_t f = lowest(mask);
    if (contiguous(table, mask, bytes)) {
      known_contiguous = true;
      base = table[f] - uint64_t{f} * bytes + static_cast<uint64_t>(a.offset);
    }
  }
  if (known_contiguous) {
    const uint64_t low = base + uint64_t{lowest(mask)} * bytes, high = base + uint64_t{highest(mask) + 1} * bytes;
    if (low & (bytes - 1)) fault_at(a, w, Fault::misaligned_address, low, lowest(mask), "");
    // Rows of a matrix lie apart, where the hardware does not look ahead: prefetch for the next warp.
    Window& site = w.worker->windows[a.window];
    const uint64_t ahead = base + (base - site.last);
    site.last = base;
    __builtin_prefetch(reinterpret_cast<const void*>(ahead));
    __builtin_prefetch(reinterpret_cast<const void*>(ahead + 64));
    const Window& win = window_for(a, w, low, high, nullptr, base, mask);
    if constexpr (Counted) {
      SiteTally& t = w.worker->tally.sites[a.site];
      const GlobalCost c = global_cost_contiguous(base, mask, bytes);
      t.sectors += c.sectors;
      t.lines += c.lines;
      t.bytes += c.bytes;
      if (win.allocation && c.sectors == (high - 1) / 32 - low / 32 + 1) {
        touch(win, low, high);
      } else {
        for (uint32_t l = 0; l < kLanes; ++l) host[l] = base + uint64_t{l} * bytes;
        touch_lanes(w, win, host, mask, bytes);
      }
    }
    return {reinterpret_cast<std::byte*>(base), true};
  }
  uint64_t low = ~uint64_t{0}, high = 0, bits = 0;
  for (uint32_t l = 0; l < kLanes; ++l) {
    const uint64_t at = table[l] + static_cast<uint64_t>(a.offset);
    const uint64_t on = uint64_t{0} - (mask >> l & 1);
    host[l] = at;
    bits |= at & on;
    low = std::min(low, at | ~on);
    high = std::max(high, at & on);
  }
  if (bits & (bytes - 1))
    for (uint32_t m = mask; m; m &= m - 1)
      if (host[lowest(m)] & (bytes - 1)) fault_at(a, w, Fault::misaligned_address, host[lowest(m)], lowest(m), "");
  const Window& win = window_for(a, w, low, high + bytes, host, 0, mask);
  if constexpr (Counted) count_lanes_apart(a, w, win, host, mask);
  return {};
}

template <bool Counted>
void global_vector(const Access& a, Warp& w, const uint64_t* table, uint32_t mask) {
  alignas(64) uint64_t host[kLanes];
  const Where where = global_where<Counted>(a, w, table, false, 0, mask, host);
  if (where.contiguous)
    a.move_contiguous(a, w, where.base, mask);
  else
    a.move_table(a, w, host, mask);
}

template <bool Counted>
void global_of_warp(const Access& a, Warp& w) {
  const uint32_t mask = w.active;
  if (a.shape == AddressShape::vector) {
    if (a.address_is_64) return global_vector<Counted>(a, w, w.at<uint64_t>(a.address), mask);
    alignas(64) uint64_t table[kLanes];
    for (uint32_t l = 0; l < kLanes; ++l) table[l] = w.at<uint32_t>(a.address)[l];
    return global_vector<Counted>(a, w, table, mask);
  }
  const uint64_t base =
      (a.address_is_64 ? *w.at<uint64_t>(a.address) : *w.at<uint32_t>(a.address)) + static_cast<uint64_t>(a.offset);
  if (a.shape == AddressShape::contiguous) {
    alignas(64) uint64_t host[kLanes];
    return a.move_contiguous(a, w, global_where<Counted>(a, w, nullptr, true, base, mask, host).base, mask);
  }
  // One address for all lanes (loads).
  if (base & (a.bytes - 1u)) fault_at(a, w, Fault::misaligned_address, base, lowest(mask), "");
  Window& cached = w.worker->windows[a.window];
  if (base < cached.base || base + (a.bytes - 1u) >= cached.end) {  // never wraps: base is aligned
    const Allocation* found = w.worker->launch.memory->find(base);
    if (!found || base + a.bytes > found->base + found->size)
      fault_at(a, w, Fault::illegal_address, base, lowest(mask), w.worker->launch.memory->describe(base, a.bytes));
    cached = {found->base, found->base + found->size, found, cached.last};
  }
  if constexpr (Counted) {
    SiteTally& t = w.worker->tally.sites[a.site];
    t.sectors += 1;
    t.lines += 1;
    t.bytes += a.bytes;
    touch(cached, base, base + a.bytes);
  }
  a.move_uniform(a, w, reinterpret_cast<const std::byte*>(base), mask);
}

template <bool Counted>
void each_global(const Step& s, Context& context) {
  const Access& a = *static_cast<const Access*>(s.extra);
  each_warp(context, [&](Warp& w) {
    if constexpr (Counted)
      if (a.counts_requests) w.worker->tally.sites[a.site].requests += 1;
    global_of_warp<Counted>(a, w);
  });
}

}  // namespace

void global_access(const Step& s, Context& context) { each_global<true>(s, context); }
void constant_access(const Step& s, Context& context) { each_global<false>(s, context); }

void global_lanes(const Access& a, Warp& w, const uint64_t* address, uint32_t mask) {
  global_vector<true>(a, w, address, mask);
}

void global_atomic_where(const Access& a, Warp& w, const uint64_t* address, uint32_t mask, uint32_t site,
                         uint64_t* host) {
  uint64_t low = ~uint64_t{0}, high = 0;
  for (uint32_t l = 0; l < kLanes; ++l) {
    host[l] = address[l] + static_cast<uint64_t>(a.offset);
    if (!(mask >> l & 1)) continue;
    low = std::min(low, host[l]);
    high = std::max(high, host[l]);
    if (host[l] & (a.bytes - 1u)) fault_at(a, w, Fault::misaligned_address, host[l], l, "");
  }
  const Window& win = window_for(a, w, low, high + a.bytes, host, 0, mask);
  if (site == kNone) return;  // a further element of a vector: its first one counts
  SiteTally& t = w.worker->tally.sites[site];
  const uint32_t pass_bytes = a.op->op == AtomicOp::cas ? 64 : 128;
  const GlobalCost c = global_atomic_cost(host, mask, a.bytes, pass_bytes);
  t.sectors += c.sectors;
  t.lines += c.lines;
  t.bytes += c.bytes;
  touch_lanes(w, win, host, mask, a.bytes);
}

}  // namespace coalesce::machine
