#include "machine/memory/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

#include "machine/memory/arena.h"
#include "machine/memory/host_memory.h"

namespace coalesce::machine {
namespace {

constexpr uint64_t kSector = 32;
constexpr std::size_t kRemembered = 16384;  // freed allocations kept for messages
// Address space per byte of the device, so that freed addresses stay unused for long; bounded both ways.
constexpr uint64_t kReservePerByte = 8;
constexpr uint64_t kLeastReserve = uint64_t{64} << 20;
constexpr uint64_t kMostReserve = uint64_t{1} << (kUnderThreadSanitizer ? 36 : 40);
constexpr uint64_t kNullPage = 64 * 1024;  // addresses below are a null pointer plus something

uint64_t reserve_for(uint64_t capacity) {
  if (capacity > kMostReserve / kReservePerByte) return kMostReserve;
  return std::clamp(capacity * kReservePerByte, kLeastReserve, kMostReserve);
}

// Allocations by base. Sorted arrays: addresses mostly rise, so inserting is appending, and a search touches one array.
class Index {
 public:
  // The entry with the largest base <= address, or null.
  Allocation* at_or_before(uint64_t address) const {
    const std::size_t n = after(address);
    return n ? entries_[n - 1] : nullptr;
  }
  Allocation* first_after(uint64_t address) const {
    const std::size_t n = after(address);
    return n < entries_.size() ? entries_[n] : nullptr;
  }
  void insert(Allocation* a) {
    const auto n = static_cast<std::ptrdiff_t>(after(a->base));
    bases_.insert(bases_.begin() + n, a->base);
    entries_.insert(entries_.begin() + n, a);
  }
  // Forgets the freed entries that overlap [base, base + size).
  void erase_freed(uint64_t base, uint64_t size) {
    std::size_t first = after(base);
    if (first && entries_[first - 1]->base + entries_[first - 1]->size > base) --first;
    std::size_t keep = first, n = first;
    for (; n < entries_.size() && bases_[n] < base + size; ++n) {
      if (entries_[n]->live) keep_entry(keep++, n);
    }
    if (keep == n) return;
    bases_.erase(bases_.begin() + static_cast<std::ptrdiff_t>(keep), bases_.begin() + static_cast<std::ptrdiff_t>(n));
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(keep),
                   entries_.begin() + static_cast<std::ptrdiff_t>(n));
  }
  template <typename Predicate>
  void erase_if(Predicate forget) {
    std::size_t keep = 0;
    for (std::size_t n = 0; n < entries_.size(); ++n) {
      if (!forget(*entries_[n])) keep_entry(keep++, n);
    }
    bases_.resize(keep);
    entries_.resize(keep);
  }
  const std::vector<Allocation*>& entries() const { return entries_; }

 private:
  std::size_t after(uint64_t address) const {
    return static_cast<std::size_t>(std::upper_bound(bases_.begin(), bases_.end(), address) - bases_.begin());
  }
  void keep_entry(std::size_t to, std::size_t from) {
    bases_[to] = bases_[from];
    entries_[to] = entries_[from];
  }
  std::vector<uint64_t> bases_;
  std::vector<Allocation*> entries_;
};

// Bytes of [from, to) that have pages behind them.
uint64_t resident(uint64_t from, uint64_t to) {
  constexpr uint64_t kBatch = 1024;  // on the stack, which is the program's
  unsigned char present[kBatch];
  uint64_t pages = 0;
  from = from / Arena::kPage * Arena::kPage;
  while (from < to) {
    const uint64_t n = std::min((to - from + Arena::kPage - 1) / Arena::kPage, kBatch);
    if (mincore(reinterpret_cast<void*>(from), n * Arena::kPage, present) == 0) {
      pages += static_cast<uint64_t>(std::count_if(present, present + n, [](unsigned char p) { return p & 1; }));
    }
    from += n * Arena::kPage;
  }
  return pages * Arena::kPage;
}

std::string hex(uint64_t value) {
  std::string text;
  do text.insert(text.begin(), "0123456789abcdef"[value % 16]);
  while (value /= 16);
  return "0x" + text;
}

std::string count_bytes(uint64_t n) { return std::to_string(n) + (n == 1 ? " byte" : " bytes"); }

std::string name(const Allocation& a) {
  return "allocation #" + std::to_string(a.serial) + " (" + a.label + ", " + count_bytes(a.size) + " at " +
         hex(a.base) + ")" + (a.live ? "" : ", which was freed");
}

struct SpaceWindow {
  uint64_t base;
  const char* space;
};
constexpr SpaceWindow kWindows[] = {{kSharedWindow, "shared memory"},
                                    {kLocalWindow, "local memory"},
                                    {kParamWindow, "the kernel's parameters"},
                                    {kFunctionWindow, "the functions"}};

}  // namespace

struct Memory::State {
  uint64_t capacity = 0;
  uint64_t used[kMostDevices] = {};
  unsigned device = 0;    // whose memory is allocated
  bool shows_all = true;  // find() hides nothing
  unsigned viewer = 0;    // else: whose kernels look
  uint64_t peers = 0;     // and the devices whose memory they may reach, its own among them
  uint64_t promised = 0;  // of the host: every live byte of the arena
  uint64_t credit = 0;    // host bytes that may still be promised before looking again
  uint32_t serial = 0;
  bool apart = false;  // what the host can reach has pages of its own
  std::unique_ptr<Arena> arena;
  std::unique_ptr<TouchMap> arena_touched;
  Index own, adopted;
  std::vector<std::unique_ptr<Allocation>> all;
  std::vector<std::pair<const Allocation*, std::unique_ptr<TouchMap>>> adopted_touched;
  std::vector<const Allocation*> released;  // the freed ones, in order of release

  // Whether find() is to see it.
  bool shown(const Allocation& a) const {
    if (shows_all || a.origin == Origin::host || a.origin == Origin::managed || a.origin == Origin::heap) return true;
    if (a.granted >> viewer & 1) return true;
    return (a.by_grant ? a.device == viewer : (peers >> a.device & 1) != 0);
  }

  bool own_pages(Origin origin) const { return apart && (origin == Origin::host || origin == Origin::managed); }
  Index& index_of(uint64_t address) { return arena->contains(address) ? own : adopted; }

  // True if the host can back `bytes` more. Asks the system only when the credit of the last answer is spent: a
  // sixteenth of what was left then.
  bool affordable(uint64_t bytes) {
    const uint64_t need = bytes + TouchMap::bytes(bytes / kSector);  // with the marks of its sectors
    if (need > credit) {
      uint64_t spendable = read_host_memory().spendable();
      const uint64_t untouched = promised - std::min(promised, resident_bytes());
      spendable -= std::min(spendable, untouched);
      if (need > spendable) return false;
      credit = need + (spendable - need) / 16;
    }
    credit -= need;
    return true;
  }

  // Bytes of live allocations that have pages already. Neighbours are asked about together.
  uint64_t resident_bytes() const {
    constexpr uint64_t kNear = 2 * 1024 * 1024;
    uint64_t sum = 0, from = 0, to = 0;
    for (const Allocation* a : own.entries()) {
      if (!a->live) continue;
      if (a->base - to > kNear) {
        sum += resident(from, to);
        from = a->base;
      }
      to = a->base + a->size;
    }
    return sum + resident(from, to);
  }

  Allocation* record(uint64_t base, uint64_t bytes, Origin origin, std::string label) {
    auto a = std::make_unique<Allocation>();
    a->base = base;
    a->size = bytes;
    a->origin = origin;
    a->serial = ++serial;
    a->device = static_cast<uint8_t>(device);
    a->label = std::move(label);
    all.push_back(std::move(a));
    return all.back().get();
  }

  // Drops the oldest freed records once there are twice as many as promised.
  void forget() {
    if (released.size() < 2 * kRemembered) return;
    const auto old_end = released.begin() + static_cast<std::ptrdiff_t>(released.size() - kRemembered);
    std::vector<const Allocation*> old(released.begin(), old_end);
    released.erase(released.begin(), old_end);
    std::sort(old.begin(), old.end());
    const auto is_old = [&](const Allocation& a) { return !a.live && std::binary_search(old.begin(), old.end(), &a); };
    own.erase_if(is_old);
    adopted.erase_if(is_old);
    std::erase_if(all, [&](const std::unique_ptr<Allocation>& a) { return is_old(*a); });
  }
};

Memory::Memory(uint64_t capacity) : state_(std::make_unique<State>()) {
  state_->capacity = capacity;
  for (uint64_t reserve = reserve_for(capacity); !state_->arena_touched; reserve /= 2) {
    state_->arena.reset();
    state_->arena = std::make_unique<Arena>(reserve);
    try {
      const uint64_t sectors = state_->arena->size() / kSector;
      state_->arena_touched = std::make_unique<TouchMap>(sectors);
    } catch (const std::bad_alloc&) {
      if (reserve < kLeastReserve / 64) throw;  // not even for the smallest
    }
  }
}

Memory::~Memory() = default;

void Memory::keep_apart() { state_->apart = true; }

const Allocation* Memory::allocate(uint64_t bytes, Origin origin, std::string label) {
  State& s = *state_;
  const bool on_device = origin != Origin::host;
  if (bytes == 0 || bytes > s.arena->size() || (on_device && bytes > s.capacity - s.used[s.device])) return nullptr;
  if (!s.affordable(bytes)) return nullptr;
  Arena::Range reused;
  const uint64_t base = s.arena->take(bytes, &reused, s.own_pages(origin));
  if (!base) return nullptr;
  if (reused.size) s.own.erase_freed(reused.base, reused.size);
  Allocation* a = s.record(base, bytes, origin, std::move(label));
  a->touched = s.arena_touched.get();
  a->touched_at = (base - s.arena->base()) / kSector;
  a->touched->reach(a->touched_at + (bytes + kSector - 1) / kSector);
  s.own.insert(a);
  s.promised += bytes;
  if (on_device) s.used[s.device] += bytes;
  return a;
}

const Allocation* Memory::adopt(void* pointer, uint64_t bytes, Origin origin, std::string label) {
  State& s = *state_;
  const uint64_t base = reinterpret_cast<uint64_t>(pointer);
  if (base == 0 || bytes == 0 || base + bytes < base || base + bytes > kSharedWindow) return nullptr;
  if (base < s.arena->base() + s.arena->size() && s.arena->base() < base + bytes) return nullptr;
  s.adopted.erase_freed(base, bytes);
  const Allocation* before = s.adopted.at_or_before(base + bytes - 1);
  if (before && before->live && before->base + before->size > base) return nullptr;
  const uint64_t sectors = (base + bytes - 1) / kSector - base / kSector + 1;
  auto map = std::make_unique<TouchMap>(sectors);
  map->reach(sectors);
  Allocation* a = s.record(base, bytes, origin, std::move(label));
  a->touched = map.get();
  s.adopted.insert(a);
  s.adopted_touched.emplace_back(a, std::move(map));
  return a;
}

bool Memory::release(uint64_t address) {
  State& s = *state_;
  const bool own = s.arena->contains(address);
  Allocation* a = s.index_of(address).at_or_before(address);
  if (!a || !a->live || a->base != address) return false;
  a->live = false;
  a->shadow.reset();
  s.released.push_back(a);
  if (own) {
    s.arena->give(a->base, a->size, s.own_pages(a->origin));
    s.promised -= a->size;
    if (a->origin != Origin::host) s.used[a->device] -= a->size;
  } else {
    std::erase_if(s.adopted_touched, [&](const auto& each) { return each.first == a; });
    a->touched = nullptr;
  }
  s.forget();
  return true;
}

bool Memory::share(uint64_t base, SharedPlace& place) {
  const Allocation* a = state_->own.at_or_before(base);
  if (!a || !a->live || a->base != base) return false;
  const Arena::Place at = state_->arena->share(a->base, a->size, state_->own_pages(a->origin));
  place = {at.file, at.offset};
  return at.file >= 0;
}

const Allocation* Memory::find(uint64_t address) const {
  const Allocation* a = state_->index_of(address).at_or_before(address);
  return a && a->live && address - a->base < a->size && state_->shown(*a) ? a : nullptr;
}

void Memory::use(unsigned device) { state_->device = std::min(device, kMostDevices - 1); }

void Memory::show(unsigned device, uint64_t peers) {
  state_->shows_all = false;
  state_->viewer = device;
  state_->peers = peers | uint64_t{1} << device;
}

void Memory::show_all() { state_->shows_all = true; }

void Memory::grant(uint64_t base, uint64_t devices) {
  Allocation* a = state_->index_of(base).at_or_before(base);
  if (!a || !a->live || a->base != base) return;
  a->by_grant = true;
  a->granted = devices;
}

uint64_t Memory::touched_elsewhere(unsigned device) const {
  uint64_t sum = 0;
  for (const auto& a : state_->all) {
    const bool on_device =
        a->origin == Origin::device || a->origin == Origin::variable || a->origin == Origin::constant;
    if (!a->live || !on_device || a->device == device || !a->touched || !state_->shown(*a)) continue;
    if (a->touched->holds(a->touched_at, a->sectors())) {
      sum += a->sectors();
      continue;
    }
    for (uint64_t k = 0; k < a->sectors(); ++k) sum += a->touched->holds(a->touched_at + k, 1);
  }
  return sum;
}

std::string Memory::describe(uint64_t address, uint64_t bytes) const {
  bytes = std::max<uint64_t>(bytes, 1);
  if (address == 0) return "null pointer";
  if (address < kNullPage) return "null pointer + " + count_bytes(address);
  for (const SpaceWindow& w : kWindows) {
    if (address - w.base < kWindowSize) return "at offset " + std::to_string(address - w.base) + " of " + w.space;
  }
  const Index& index = state_->index_of(address);
  const Allocation* before = index.at_or_before(address);
  const Allocation* after = index.first_after(address);
  if (!before && !after) after = state_->own.first_after(address);  // just before the arena's first
  if (before && address - before->base < before->size) {
    const uint64_t into = address - before->base;
    if (before->live && bytes > before->size - into) {
      return "reaches " + count_bytes(bytes - (before->size - into)) + " past the end of " + name(*before);
    }
    const bool hidden = before->live && !state_->shown(*before);
    return count_bytes(into) + " into " + name(*before) +
           (hidden ? ", which is memory of device " + std::to_string(before->device) +
                         ", to which this device has no peer access"
                   : "");
  }
  if (!before && !after) return "in no allocation; there is none near " + hex(address);
  const uint64_t past = before ? address - (before->base + before->size) : UINT64_MAX;
  const uint64_t short_of = after ? after->base - address : UINT64_MAX;
  const Allocation& nearest = past <= short_of ? *before : *after;
  const uint64_t distance = std::min(past, short_of);
  // An index that went wrong by the allocation's own size or less is most likely about that allocation.
  const bool clear = distance <= std::max<uint64_t>(nearest.size, Arena::kPage);
  const std::string side = past <= short_of ? " past the end of " : " before the start of ";
  return (clear ? "" : "in no allocation; the nearest is ") + count_bytes(distance) + side + name(nearest);
}

uint64_t Memory::capacity() const { return state_->capacity; }
uint64_t Memory::used() const { return state_->used[state_->device]; }
const std::vector<std::unique_ptr<Allocation>>& Memory::all() const { return state_->all; }

void Memory::begin_touch() {
  state_->arena_touched->clear();
  for (const auto& each : state_->adopted_touched) each.second->clear();
}

uint64_t Memory::touched_sectors() const {
  uint64_t sum = state_->arena_touched->count();
  for (const auto& each : state_->adopted_touched) sum += each.second->count();
  return sum;
}

}  // namespace coalesce::machine
