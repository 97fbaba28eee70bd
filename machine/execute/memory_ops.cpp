// Loads and stores. Each goes three steps: where (addresses to host memory, with bounds and alignment checked), how
// much it costs (observe/traffic.h), and the move itself (moves.cpp).
//
// The common case, all lanes at base + lane * width, is found by one comparison of the address vector, or known from
// the lane class; then bounds are one comparison against the allocation this instruction touched last.
#include "machine/execute/memory_ops.h"

#include <cstring>
#include <stdexcept>

#include "machine/observe/traffic.h"

namespace coalesce::machine {

namespace {

// ---- Faults ------------------------------------------------------------------------------------------------------

[[noreturn]] void fault_at(const Access& a, Warp& w, Fault fault, uint64_t address, uint32_t lane,
                           const std::string& where) {
  char text[160];
  const char* verb = a.op->returns || a.atomic                                          ? "atomic on"
                     : w.worker->launch.program->code[a.instruction].kind == Kind::load ? "load of"
                                                                                        : "store of";
  std::snprintf(text, sizeof text, "%s %u byte%s at 0x%llx", verb, a.bytes, a.bytes == 1 ? "" : "s",
                static_cast<unsigned long long>(address));
  KernelFault f{fault, text, a.instruction, 1u << lane, {}, w.index};
  f.message +=
      fault == Fault::misaligned_address ? ", which is not a multiple of " + std::to_string(a.bytes) : " is " + where;
  throw f;
}

// Addresses of the upper half are what subtracting from a small one gives.
std::string outside_shared(const Warp& w, uint32_t address, uint32_t bytes) {
  const std::string whole = "the block's " + std::to_string(w.shared_bytes) + " bytes of shared memory";
  if (const auto below = static_cast<int32_t>(address); below < 0)
    return "outside " + whole + ", " + std::to_string(-int64_t{below}) + " before its start";
  return "outside " + whole + " (by " + std::to_string(uint64_t{address} + bytes - w.shared_bytes) + ")";
}

// ---- Global ------------------------------------------------------------------------------------------------------

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
  for (uint32_t m = mask; m; m &= m - 1) {
    const uint64_t at = table[lowest(m)];
    if (win.allocation) {
      touch(win, at, at + bytes);
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
void global_access(const Step& s, Context& context) {
  const Access& a = *static_cast<const Access*>(s.extra);
  each_warp(context, [&](Warp& w) {
    if constexpr (Counted)
      if (a.counts_requests) w.worker->tally.sites[a.site].requests += 1;
    global_of_warp<Counted>(a, w);
  });
}

// ---- Shared ------------------------------------------------------------------------------------------------------

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
        const SharedCost c = IsLoad ? shared_load_cost_affine(base, bytes, mask, bytes)
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
  if ((bits & (bytes - 1)) || uint64_t{high} + bytes > w.shared_bytes)
    for (uint32_t m = mask; m; m &= m - 1) {
      const uint32_t l = lowest(m);
      if (uint64_t{at[l]} + bytes > w.shared_bytes)
        fault_at(a, w, Fault::illegal_address, at[l], l, outside_shared(w, at[l], bytes));
      if (at[l] & (bytes - 1)) fault_at(a, w, Fault::misaligned_address, at[l], l, "");
    }
  const SharedCost c = IsLoad ? shared_load_cost(at, mask, bytes) : shared_store_cost(at, mask, bytes);
  if (bytes <= 4) {
    t.wavefronts += c.wavefronts - 1;
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
void shared_access(const Step& s, Context& context) {
  const Access& a = *static_cast<const Access*>(s.extra);
  if (a.plain) return shared_plain<IsLoad>(a, static_cast<Warp&>(context));
  each_warp(context, [&](Warp& w) { shared_of_warp<IsLoad>(a, w); });
}

// ---- Local, generic, parameters ----------------------------------------------------------------------------------

void local_vector(const Access& a, Warp& w, const uint64_t* address, uint32_t mask, uint32_t site) {
  alignas(64) uint64_t host[kLanes];
  alignas(64) uint32_t at[kLanes];
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
  if (site != kNone) w.worker->tally.sites[site].sectors += local_sectors(at, mask, a.bytes);
  a.move_table(a, w, host, mask);
}

const uint64_t* address_table(const Access& a, Warp& w, uint64_t* table) {
  if (a.address_is_64) return w.at<uint64_t>(a.address);
  for (uint32_t l = 0; l < kLanes; ++l) table[l] = w.at<uint32_t>(a.address)[l];
  return table;
}

void local_access(const Step& s, Context& context) {
  const Access& a = *static_cast<const Access*>(s.extra);
  Warp& w = static_cast<Warp&>(context);
  alignas(64) uint64_t table[kLanes];
  if (a.counts_requests) w.worker->tally.sites[a.site].requests += 1;
  local_vector(a, w, address_table(a, w, table), w.active, a.site);
}

// The lane's parameter bytes, within bounds and aligned.
const std::byte* param_at(const Access& a, Warp& w, uint64_t address, uint32_t lane) {
  const uint64_t offset = address + static_cast<uint64_t>(a.offset);
  const std::vector<uint8_t>& parameters = *w.worker->launch.parameters;
  if (offset > parameters.size() || offset + a.bytes > parameters.size())
    fault_at(a, w, Fault::illegal_address, offset, lane,
             "outside the kernel's " + std::to_string(parameters.size()) + " bytes of parameters");
  if (offset & (a.bytes - 1u)) fault_at(a, w, Fault::misaligned_address, offset, lane, "");
  return reinterpret_cast<const std::byte*>(parameters.data()) + offset;
}

void param_vector(const Access& a, Warp& w, const uint64_t* address, uint32_t mask) {
  alignas(64) uint64_t host[kLanes] = {};
  for (uint32_t m = mask; m; m &= m - 1)
    host[lowest(m)] = reinterpret_cast<uint64_t>(param_at(a, w, address[lowest(m)], lowest(m)));
  a.move_table(a, w, host, mask);
}

void param_access(const Step& s, Context& context) {
  const Access& a = *static_cast<const Access*>(s.extra);
  Warp& w = static_cast<Warp&>(context);
  alignas(64) uint64_t table[kLanes];
  param_vector(a, w, address_table(a, w, table), w.active);
}

void param_uniform(const Step& s, Context& context) {
  const Access& a = *static_cast<const Access*>(s.extra);
  Warp& w = static_cast<Warp&>(context);
  const uint64_t address = a.address_is_64 ? *w.at<uint64_t>(a.address) : *w.at<uint32_t>(a.address);
  a.move_uniform(a, w, param_at(a, w, address, lowest(w.active)), w.active);
}

template <bool IsLoad>
void generic_access(const Step& s, Context& context) {
  const Access& a = *static_cast<const Access*>(s.extra);
  Warp& w = static_cast<Warp&>(context);
  alignas(64) uint64_t table[kLanes];
  const uint64_t* address = address_table(a, w, table);
  const SpaceMasks masks = space_masks(address, static_cast<uint64_t>(a.offset), w.active);
  SiteTally* sites = a.site == kNone ? nullptr : w.worker->tally.sites + a.site;
  if (masks.global) {
    if (sites) sites[0].requests += 1;
    global_vector<true>(a, w, address, masks.global);
  }
  if (masks.shared) {
    alignas(64) uint32_t offsets[kLanes];
    for (uint32_t l = 0; l < kLanes; ++l) offsets[l] = static_cast<uint32_t>(address[l]);
    sites[1].requests += 1;
    shared_vector<IsLoad>(a, w, offsets, masks.shared, a.site + 1);
  }
  if (masks.local) {
    alignas(64) uint64_t offsets[kLanes];
    for (uint32_t l = 0; l < kLanes; ++l) offsets[l] = address[l] & (kWindowSize - 1);
    sites[2].requests += 1;
    local_vector(a, w, offsets, masks.local, a.site + 2);
  }
  if (masks.param) {
    alignas(64) uint64_t offsets[kLanes];
    for (uint32_t l = 0; l < kLanes; ++l) offsets[l] = address[l] & (kWindowSize - 1);
    if (!IsLoad)
      fault_at(a, w, Fault::illegal_address, address[lowest(masks.param)], lowest(masks.param),
               "in the kernel's parameters, which are read-only");
    param_vector(a, w, offsets, masks.param);
  }
}

}  // namespace

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

void shared_atomic_where(const Access& a, Warp& w, const uint32_t* address, uint32_t mask, uint32_t site,
                         uint64_t* host) {
  alignas(64) uint32_t at[kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) {
    at[l] = address[l] + static_cast<uint32_t>(a.offset);
    host[l] = reinterpret_cast<uint64_t>(w.shared) + at[l];
    if (!(mask >> l & 1)) continue;
    if (uint64_t{at[l]} + a.bytes > w.shared_bytes)
      fault_at(a, w, Fault::illegal_address, at[l], l, outside_shared(w, at[l], a.bytes));
    if (at[l] & (a.bytes - 1u)) fault_at(a, w, Fault::misaligned_address, at[l], l, "");
  }
  if (site == kNone) return;
  // Measured: tests/truth/patterns.jsonl. What adds lanes up is judged like a store.
  const SharedCost c =
      a.op->counts_lanes ? shared_store_cost(at, mask, a.bytes) : shared_atomic_cost(at, mask, a.bytes);
  SiteTally& t = w.worker->tally.sites[site];
  // cas has two operands to carry and takes every pass twice (measured: tests/truth/atomics.jsonl).
  const uint32_t twice = a.op->op == AtomicOp::cas ? 2 : 1;
  t.wavefronts += twice * c.wavefronts - (a.bytes <= 4 ? 1 : 0);
  t.ideal += a.bytes > 4 ? twice * c.ideal : twice - 1;
}

[[noreturn]] void fault_no_space(const Access& a, Warp& w, uint64_t address, uint32_t lane) {
  fault_at(a, w, Fault::illegal_address, address, lane, "in a space without atomics");
}

namespace {

// The handlers of each space, by shape; null: the space has no form for that shape.
struct MemoryRow {
  AddressSpace space;
  Kind kind;
  Handler of[kAddressShapes];  // by AddressShape: vector, uniform, contiguous, strided
};

constexpr MemoryRow row(AddressSpace space, Kind kind, Handler vector, Handler uniform, Handler contiguous,
                        Handler strided) {
  return {space, kind, {vector, uniform, contiguous, strided}};
}

// Stores at one address must choose a lane: `vector` does.
constexpr Handler kNo = nullptr, kGlobal = global_access<true>, kConstant = global_access<false>,
                  kLoadShared = shared_access<true>, kStoreShared = shared_access<false>;
constexpr MemoryRow kMemoryRows[] = {
    row(AddressSpace::global, Kind::load, kGlobal, kGlobal, kGlobal, kNo),
    row(AddressSpace::global, Kind::store, kGlobal, kNo, kGlobal, kNo),
    row(AddressSpace::constant, Kind::load, kConstant, kConstant, kConstant, kNo),
    row(AddressSpace::shared, Kind::load, kLoadShared, kLoadShared, kLoadShared, kLoadShared),
    row(AddressSpace::shared, Kind::store, kStoreShared, kNo, kStoreShared, kStoreShared),
    row(AddressSpace::local, Kind::load, local_access, kNo, kNo, kNo),
    row(AddressSpace::local, Kind::store, local_access, kNo, kNo, kNo),
    row(AddressSpace::generic, Kind::load, generic_access<true>, kNo, kNo, kNo),
    row(AddressSpace::generic, Kind::store, generic_access<false>, kNo, kNo, kNo),
    row(AddressSpace::param, Kind::load, param_access, param_uniform, kNo, kNo),
};

const MemoryRow* row_of(AddressSpace space, Kind kind) {
  for (const MemoryRow& r : kMemoryRows)
    if (r.space == space && r.kind == kind) return &r;
  return nullptr;
}

}  // namespace

bool takes_shape(AddressSpace space, Kind kind, AddressShape shape) {
  if (kind == Kind::atomic || kind == Kind::request) return shape == AddressShape::vector;
  const MemoryRow* r = row_of(space, kind);
  return r && r->of[static_cast<std::size_t>(shape)];
}

Handler memory_handler(const MemoryOp& op, Kind kind, AddressShape shape) {
  if (!takes_shape(op.space, kind, shape))
    throw std::logic_error("internal error: no handler for an access of kind " + std::to_string(int(kind)) +
                           " to space " + std::to_string(int(op.space)) + " at addresses of shape " +
                           std::to_string(int(shape)));
  if (kind == Kind::atomic) return atomic_handler(op);
  if (kind == Kind::request) return request_handler();
  return row_of(op.space, kind)->of[static_cast<std::size_t>(shape)];
}

}  // namespace coalesce::machine
