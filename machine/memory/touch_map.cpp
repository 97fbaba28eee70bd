#include "machine/memory/touch_map.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

namespace coalesce::machine {
namespace {

constexpr uint64_t kMapFrom = 1024 * 1024;  // below: the heap
constexpr uint64_t kEight = 0x0101010101010101;

template <typename Visit>
void each_set_bit(const std::atomic<uint64_t>* words, uint64_t bits, Visit visit) {
  for (uint64_t w = 0; w * 64 < bits; ++w) {
    for (uint64_t set = words[w].load(std::memory_order_relaxed); set; set &= set - 1) {
      visit(w * 64 + static_cast<uint64_t>(std::countr_zero(set)));
    }
  }
}

uint64_t pages_for(uint64_t sectors, uint64_t page) { return (sectors + page - 1) / page; }

// True: it was not there yet.
template <typename Word>
bool put(Word* at, Word value) {
  if (__atomic_load_n(at, __ATOMIC_RELAXED) == value) return false;
  __atomic_store_n(at, value, __ATOMIC_RELAXED);
  return true;
}

}  // namespace

uint64_t TouchMap::bytes(uint64_t sectors) {
  return (sectors + 7) / 8 * 8 + 2 * ((pages_for(sectors, kPage) + 63) / 64) * sizeof(uint64_t);
}

TouchMap::TouchMap(uint64_t sectors) : sectors_(sectors), pages_(pages_for(sectors, kPage)), mapped_(bytes(sectors)) {
  static_assert(sizeof(std::atomic<uint64_t>) == sizeof(uint64_t));
  void* got = nullptr;
  if (mapped_ >= kMapFrom) {
    got = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) throw std::bad_alloc();
  } else {
    got = std::calloc(std::max<uint64_t>(mapped_, 1), 1);
    if (!got) throw std::bad_alloc();
  }
  marks_ = static_cast<uint8_t*>(got);
  dirty_ = reinterpret_cast<std::atomic<uint64_t>*>(marks_ + (sectors + 7) / 8 * 8);
  whole_ = dirty_ + (pages_ + 63) / 64;
}

TouchMap::~TouchMap() {
  if (mapped_ >= kMapFrom) {
    munmap(marks_, mapped_);
  } else {
    std::free(marks_);
  }
}

void TouchMap::mark_each(uint64_t first, uint64_t count) {
  if (first >= sectors_) return;
  const uint64_t end = first + std::min(count, sectors_ - first);
  while (first < end) {
    const uint64_t page = first / kPage, here = std::min(end, (page + 1) * kPage);
    if (first == page * kPage && (here == first + kPage || here == sectors_)) set(whole_, page);
    if (is_set(whole_, page)) {
      first = here;
      continue;
    }
    bool any = false;
    for (uint64_t s = first; s < here;) {
      if (s % 64 == 0 && here - s >= 64) {  // a line, as what one thread has gathered is (native/run/footprint.h)
        auto* line = reinterpret_cast<uint64_t*>(marks_ + s);
        for (int k = 0; k < 8; ++k) any |= put(line + k, kEight);
        s += 64;
      } else if (s % 8 == 0 && here - s >= 8) {
        any |= put(reinterpret_cast<uint64_t*>(marks_ + s), kEight);
        s += 8;
      } else {
        any |= put(marks_ + s, uint8_t{1});
        s += 1;
      }
    }
    if (any) set(dirty_, page);
    first = here;
  }
}

bool TouchMap::holds(uint64_t first, uint64_t count) const {
  if (first >= sectors_ || count > sectors_ - first) return false;
  const uint64_t end = first + count;
  while (first < end) {
    const uint64_t page = first / kPage, here = std::min(end, (page + 1) * kPage);
    for (uint64_t s = is_set(whole_, page) ? here : first; s < here;) {
      const bool eight = s % 8 == 0 && here - s >= 8;
      if (eight ? __atomic_load_n(reinterpret_cast<uint64_t*>(marks_ + s), __ATOMIC_RELAXED) != kEight
                : !__atomic_load_n(marks_ + s, __ATOMIC_RELAXED))
        return false;
      s += eight ? 8 : 1;
    }
    first = here;
  }
  return true;
}

TouchMap::Marked TouchMap::marked(uint64_t first, uint64_t count) const {
  Marked m;
  const uint64_t end = first < sectors_ ? first + std::min(count, sectors_ - first) : first;
  while (first < end) {
    const uint64_t page = first / kPage, here = std::min(end, (page + 1) * kPage);
    const bool whole = is_set(whole_, page);
    if (whole) {
      m.sectors += here - first;
      m.pairs += (here - first + 1) / 2;
    } else if (is_set(dirty_, page)) {
      for (uint64_t s = first; s < here; s += 2) {
        const uint32_t both = marks_[s] + (s + 1 < here ? marks_[s + 1] : 0u);
        m.sectors += both;
        m.pairs += both != 0;
      }
    }
    first = here;
  }
  return m;
}

void TouchMap::reach(uint64_t end) {
  const uint64_t pages = pages_for(std::min(end, sectors_), kPage);
  if (pages > reached_.load(std::memory_order_relaxed)) reached_.store(pages, std::memory_order_relaxed);
}

void TouchMap::clear() {
  const uint64_t pages = reached_.load(std::memory_order_relaxed);
  each_set_bit(dirty_, pages, [&](uint64_t page) {
    const uint64_t first = page * kPage;
    std::memset(marks_ + first, 0, std::min(kPage, sectors_ - first));
  });
  for (uint64_t w = 0; w * 64 < pages; ++w) {
    dirty_[w].store(0, std::memory_order_relaxed);
    whole_[w].store(0, std::memory_order_relaxed);
  }
}

uint64_t TouchMap::count() const {
  const uint64_t pages = reached_.load(std::memory_order_relaxed);
  uint64_t sum = 0;
  each_set_bit(whole_, pages, [&](uint64_t page) { sum += std::min(kPage, sectors_ - page * kPage); });
  each_set_bit(dirty_, pages, [&](uint64_t page) {
    if (is_set(whole_, page)) return;
    const uint64_t first = page * kPage, last = std::min(first + kPage, sectors_);
    uint64_t s = first;
    for (; s + 8 <= last; s += 8) {
      uint64_t eight;
      std::memcpy(&eight, marks_ + s, 8);
      sum += static_cast<uint64_t>(std::popcount(eight));
    }
    for (; s < last; ++s) sum += marks_[s];
  });
  return sum;
}

}  // namespace coalesce::machine
