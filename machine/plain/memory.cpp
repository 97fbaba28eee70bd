// Loads, stores and atomics, a lane at a time: where the bytes are, what that costs, the move itself.
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "machine/plain/run.h"

namespace coalesce::machine::plain {

namespace {

struct Accessed {
  Lanes address{};  // within the space
  std::array<std::byte*, kLanes> host{};
};

[[noreturn]] void fault(Fault kind, Access access, uint32_t bytes, uint64_t address, uint32_t lane,
                        const std::string& where) {
  const char* verb = access == Access::atomic ? "atomic on" : access == Access::load ? "load of" : "store of";
  char text[128];
  std::snprintf(text, sizeof text, "%s %u byte%s at 0x%" PRIx64, verb, bytes, bytes == 1 ? "" : "s", address);
  throw Stop{kind, text + where, 1u << lane, {}};
}

void check_alignment(Access access, uint32_t bytes, uint64_t address, uint32_t lane) {
  if (address % bytes)
    fault(Fault::misaligned_address, access, bytes, address, lane,
          ", which is not a multiple of " + std::to_string(bytes));
}

// Where a lane's bytes are in the space, or a fault.
std::byte* find(Warp& w, Space space, Access access, uint64_t address, uint32_t bytes, uint32_t lane) {
  switch (space) {
    case Space::shared: {
      const uint64_t size = w.grid->shared_bytes;
      if (address + bytes > size) {
        if (address > kClusterOffset) {
          const uint32_t rank = rank_of(w.block->rank, static_cast<uint32_t>(address));
          std::byte* const there = w.block->cluster->find(rank, address & kClusterOffset, bytes);
          if (there) return check_alignment(access, bytes, address, lane), there;
          if (rank < w.block->cluster->size())
            fault(Fault::illegal_address, access, bytes, address, lane,
                  " is outside the shared memory of the cluster's block of rank " + std::to_string(rank) +
                      ", or that block has ended");
        }
        const auto below = -static_cast<int64_t>(static_cast<int32_t>(address));
        const std::string whole = " is outside the block's " + std::to_string(size) + " bytes of shared memory";
        fault(Fault::illegal_address, access, bytes, address, lane,
              below > 0 ? whole + ", " + std::to_string(below) + " before its start"
                        : whole + " (by " + std::to_string(address + bytes - size) + ")");
      }
      check_alignment(access, bytes, address, lane);
      return w.block->shared.data() + address;
    }
    case Space::local: {
      std::byte* const at = w.local.find(lane, address, bytes);
      if (!at) fault(Fault::illegal_address, access, bytes, address, lane, " is outside the thread's local memory");
      check_alignment(access, bytes, address, lane);
      return at;
    }
    case Space::param: {
      const auto& p = w.grid->launch->parameters;
      if (address > p.size() || address + bytes > p.size())
        fault(Fault::illegal_address, access, bytes, address, lane,
              " is outside the kernel's " + std::to_string(p.size()) + " bytes of parameters");
      check_alignment(access, bytes, address, lane);
      // Read only: callers have seen to that.
      return const_cast<std::byte*>(reinterpret_cast<const std::byte*>(p.data())) + address;  // NOLINT
    }
    default:
      check_alignment(access, bytes, address, lane);
      if (!w.grid->find(address, bytes))
        fault(Fault::illegal_address, access, bytes, address, lane,
              " is " + w.grid->launch->memory->describe(address, bytes));
      return reinterpret_cast<std::byte*>(address);
  }
}

// The space of a generic address, which becomes an address in that space.
Space space_of(uint64_t& address) {
  const uint64_t window = address / kWindowSize * kWindowSize;
  for (const auto& [at, space] : {std::pair{kSharedWindow, Space::shared}, std::pair{kLocalWindow, Space::local},
                                  std::pair{kParamWindow, Space::param}})
    if (window == at) {
      address -= at;
      return space;
    }
  return Space::global;
}

// All lanes' addresses, by space; calls `use(space, lanes)` for each space that some of them are in.
template <class Use>
void by_space(Warp& w, const Place& p, uint32_t on, Accessed& a, Use use) {
  std::array<uint32_t, 6> lanes{};
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (!(on >> l & 1)) continue;
    uint64_t at = value(w, p.address, l) + static_cast<uint64_t>(p.offset);
    Space space = p.space;
    if (space == Space::generic) space = space_of(at);
    if (space == Space::shared) at &= 0xffffffff;
    a.address[l] = at;
    lanes[static_cast<std::size_t>(space)] |= 1u << l;
  }
  for (const Space s : {Space::global, Space::shared, Space::local, Space::constant, Space::param})
    if (lanes[static_cast<std::size_t>(s)]) use(s, lanes[static_cast<std::size_t>(s)]);
}

void find_all(Warp& w, Space space, Access access, uint32_t bytes, uint32_t on, Accessed& a) {
  // Alignment is looked at before bounds, as a fault of one lane may hide another's.
  if (space == Space::global || space == Space::constant)
    for (uint32_t l = 0; l < kLanes; ++l)
      if (on >> l & 1) check_alignment(access, bytes, a.address[l], l);
  for (uint32_t l = 0; l < kLanes; ++l)
    if (on >> l & 1) a.host[l] = find(w, space, access, a.address[l], bytes, l);
}

void count(Warp& w, const Op& op, Space space, Access access, const MemoryForm& m, const Accessed& a, uint32_t on) {
  if (!m.place.counted) return;
  Counters& c = counters_of(w, op);
  if (space == Space::global) count_global(access, m, a.address, on, c, w.grid->touched);
  if (space == Space::shared) count_shared(access, m, a.address, on, c);
  if (space == Space::local) count_local(access, m, a.address, on, c);
}

void tell(Warp& w, const Op& op, Space space, uint32_t bytes, const Accessed& a, uint32_t on) {
  if (space != Space::global || !w.grid->observer || !w.grid->observer->stored) return;
  for (uint32_t l = 0; l < kLanes; ++l)
    if (on >> l & 1)
      w.grid->observer->stored(
          {w.block->coordinates, w.index, l, w.now.frame->code->function, op.written, a.address[l], bytes});
}

// ---- Atomics

// The word as an operand has it: no more than its own bytes.
uint64_t cut(uint64_t v, uint32_t bytes) { return bytes >= 8 ? v : v & ((uint64_t{1} << 8 * bytes) - 1); }

void update_wide(Warp& w, Frame& f, const Op& op, std::byte* at, uint32_t lane) {
  Wide old;
  std::memcpy(&old, at, sizeof old);
  const Wide a = wide_value(w, op.in[0], lane);
  Wide now = a;
  if (op.memory.what == Arithmetic::cas) now = old == a ? wide_value(w, op.in[1], lane) : old;
  std::memcpy(at, &now, sizeof now);
  if (!op.out.empty()) put_wide(f, op.out[0], lane, old);
}

void update(Warp& w, Frame& f, const Op& op, Space space, std::byte* at, uint32_t lane) {
  const MemoryForm& m = op.memory;
  if (m.width == 16) return update_wide(w, f, op, at, lane);
  std::array<uint64_t, 8> before{};
  for (uint32_t k = 0; k < m.count; ++k) {
    std::memcpy(&before[k], at + k * m.width, m.width);
    const uint64_t a = cut(value(w, op.in[k], lane), m.width);
    const uint64_t b = m.what == Arithmetic::cas ? cut(value(w, op.in[1], lane), m.width) : 0;
    const uint64_t now = updated(m, space, before[k], a, b);
    std::memcpy(at + k * m.width, &now, m.width);
  }
  for (uint32_t k = 0; k < op.out.size(); ++k) put(f, op.out[k], lane, before[k], m.width);
}

}  // namespace

void LaneMemory::Part::grow(uint64_t wanted) {
  if (wanted <= each) return;
  const uint64_t now = std::max((wanted + 15) / 16 * 16, each + each / 2);
  std::vector<std::byte> larger(now * kLanes);
  for (uint32_t l = 0; l < kLanes && each; ++l) std::memcpy(larger.data() + l * now, bytes.data() + l * each, each);
  bytes = std::move(larger);
  each = now;
}

std::byte* LaneMemory::find(uint32_t lane, uint64_t offset, uint64_t wanted) {
  const int part = offset >= kStack ? 2 : offset >= kParams ? 1 : 0;
  Part& p = parts[part];
  offset -= part == 2 ? kStack : part == 1 ? kParams : 0;
  return offset < p.each && wanted <= p.each - offset ? p.bytes.data() + lane * p.each + offset : nullptr;
}

// Lanes in the order in which a later store takes an earlier one's place: stores go in passes of 128 bytes, and of a
// pass the lowest lane's value stays (tests/truth/stores.jsonl).
static std::array<uint32_t, kLanes> store_order(uint32_t bytes) {
  const uint32_t pass = bytes <= 4 ? kLanes : 128 / bytes;
  std::array<uint32_t, kLanes> order{};
  for (uint32_t l = 0; l < kLanes; ++l) order[l] = l / pass * pass + (pass - 1 - l % pass);
  return order;
}

void run_load_store(Warp& w, Frame& f, const Op& op, uint32_t on) {
  const MemoryForm& m = op.memory;
  const auto access = static_cast<Access>(op.mode);
  Accessed a;
  by_space(w, m.place, on, a, [&](Space space, uint32_t lanes) {
    if (access == Access::store && space == Space::param)
      fault(Fault::illegal_address, access, m.bytes(), kParamWindow + a.address[first_lane(lanes)], first_lane(lanes),
            " is in the kernel's parameters, which are read-only");
    find_all(w, space, access, m.bytes(), lanes, a);
    count(w, op, space, access, m, a, lanes);
    if (access == Access::store) tell(w, op, space, m.bytes(), a, lanes);
  });
  for (const uint32_t l : store_order(m.bytes())) {
    if (!(on >> l & 1)) continue;
    for (uint32_t k = 0; k < m.count; ++k) {
      std::byte* const at = a.host[l] + k * m.width;
      Wide v = 0;
      if (access == Access::store) {
        v = wide_value(w, op.in[k], l);
        std::memcpy(at, &v, m.width);
      } else {
        std::memcpy(&v, at, m.width);
        if (m.width == 16)
          put_wide(f, op.out[k], l, v);
        else
          put(f, op.out[k], l, static_cast<uint64_t>(v), m.width);
      }
    }
  }
}

void run_atomic(Warp& w, Frame& f, const Op& op, uint32_t on) {
  const MemoryForm& m = op.memory;
  Accessed a;
  by_space(w, m.place, on, a, [&](Space space, uint32_t lanes) {
    if (space == Space::param || (space == Space::local && (m.width == 16 || m.number > Number::is_signed)))
      fault(Fault::illegal_address, Access::atomic, m.bytes(), a.address[first_lane(lanes)], first_lane(lanes),
            " is in a space without atomics");
    find_all(w, space, Access::atomic, m.bytes(), lanes, a);
    if (space != Space::local) count(w, op, space, Access::atomic, m, a, lanes);
    tell(w, op, space, m.bytes(), a, lanes);
    for (uint32_t l = 0; l < kLanes; ++l)
      if (lanes >> l & 1) update(w, f, op, space, a.host[l], l);
  });
}

// cp.async. Where the source is shorter than the whole, or ignored, zeros take its place, and what is read is read a
// byte at a time, each a request.
void run_copy(Warp& w, Frame&, const Op& op, uint32_t on) {
  const CopyForm& c = op.copy;
  uint32_t whole = on;
  std::array<uint64_t, kLanes> size{};
  for (uint32_t l = 0; l < kLanes; ++l) {
    size[l] = c.bytes;
    if (c.size >= 0) size[l] = std::min<uint64_t>(value(w, op.in[static_cast<std::size_t>(c.size)], l), c.bytes);
    if (c.ignore >= 0 && value(w, op.in[static_cast<std::size_t>(c.ignore)], l)) size[l] = 0;
    if (size[l] < c.bytes) whole &= ~(1u << l);
  }
  Accessed from, to;
  const auto all_of = [&](const Place& p, Space space, Access access, uint32_t bytes, uint32_t lanes, uint64_t further,
                          Accessed& a) {
    by_space(w, p, lanes, a, [](Space, uint32_t) {});
    for (uint64_t& address : a.address) address += further;
    find_all(w, space, access, bytes, lanes, a);
  };
  std::array<std::array<std::byte, 16>, kLanes> data{};
  MemoryForm m;
  m.width = static_cast<uint8_t>(c.bytes);
  if (whole) all_of(c.from, Space::global, Access::load, c.bytes, whole, 0, from);
  for (uint32_t l = 0; l < kLanes; ++l)
    if (whole >> l & 1) std::memcpy(data[l].data(), from.host[l], c.bytes);
  if (c.size < 0 && c.ignore < 0) {
    if (!on) return;
    all_of(c.to, Space::shared, Access::store, c.bytes, on, 0, to);
    count_copy(c.past_l1, c.bytes, from.address, to.address, on, counters_of(w, op), w.grid->touched);
  } else {
    if (whole) count(w, op, Space::global, Access::load, m, from, whole);
    MemoryForm one;
    one.width = 1;
    for (uint32_t b = 0; c.size >= 0 && b + 1 < c.bytes; ++b) {
      uint32_t some = 0;
      for (uint32_t l = 0; l < kLanes; ++l) some |= uint32_t{(on & ~whole) >> l & 1 && size[l] > b} << l;
      if (!some) continue;
      all_of(c.from, Space::global, Access::load, 1, some, b, from);
      count(w, op, Space::global, Access::load, one, from, some);
      for (uint32_t l = 0; l < kLanes; ++l)
        if (some >> l & 1) data[l][b] = *from.host[l];
    }
    if (!on) return;
    all_of(c.to, Space::shared, Access::store, c.bytes, on, 0, to);
    count(w, op, Space::shared, Access::store, m, to, on);
  }
  for (const uint32_t l : store_order(c.bytes))
    if (on >> l & 1) std::memcpy(to.host[l], data[l].data(), c.bytes);
}

}  // namespace coalesce::machine::plain
