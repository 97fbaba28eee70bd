// The 32-byte sectors that a launch touched: one byte each, so that marking is a plain store (a bit would need an
// atomic read-modify-write for almost every first access), with one dirty bit per KiB of bytes, so that the cost of
// clearing and counting grows with the sectors touched.
//
// Threads: mark() from many at once; holds() too; everything else from one thread, while no thread marks.
#pragma once

#include <atomic>
#include <cstdint>

namespace coalesce::machine {

class TouchMap {
 public:
  // For sectors [0, sectors). Takes address space only; pages come from the system when first marked.
  explicit TouchMap(uint64_t sectors);
  ~TouchMap();
  TouchMap(const TouchMap&) = delete;
  TouchMap& operator=(const TouchMap&) = delete;

  // Marks sectors [first, first + count). Sectors outside the map are ignored. Reads before it writes: what is marked
  // already costs no traffic between cores.
  void mark(uint64_t first, uint64_t count) {
    // 32 consecutive words: four sectors at a time
    if (count == 4 && first % 4 == 0 && first + 4 <= sectors_) {
      auto* four = reinterpret_cast<uint32_t*>(marks_ + first);
      if (__atomic_load_n(four, __ATOMIC_RELAXED) == 0x01010101u) return;
      __atomic_store_n(four, 0x01010101u, __ATOMIC_RELAXED);
      return set(dirty_, first / kPage);
    }
    if (count == 1 && first < sectors_) {  // of lanes that lie apart
      uint8_t* one = marks_ + first;
      if (__atomic_load_n(one, __ATOMIC_RELAXED)) return;
      __atomic_store_n(one, 1, __ATOMIC_RELAXED);
      return set(dirty_, first / kPage);
    }
    mark_each(first, count);
  }
  // True if all of sectors [first, first + count) are marked. May be false while other threads mark the last of them.
  bool holds(uint64_t first, uint64_t count) const;
  // The marks of sector `first` and the following ones.
  const uint8_t* marks(uint64_t first) const { return marks_ + first; }
  // The marks of sectors [first, first + count): how many there are, and how many pairs of an even and
  // the next one have a mark. `first` is even. O(marked pages).
  struct Marked {
    uint64_t sectors = 0, pairs = 0;
  };
  Marked marked(uint64_t first, uint64_t count) const;
  // Sectors before `end` may be marked from now on. The map is as large as all possible memory; clear() and count()
  // visit only the part in use, because visiting all costs 0.2 ms a launch.
  void reach(uint64_t end);
  void clear();
  uint64_t count() const;
  // Bytes of address space for `sectors`.
  static uint64_t bytes(uint64_t sectors);

 private:
  static constexpr uint64_t kPage = 1024;  // sectors
  void mark_each(uint64_t first, uint64_t count);
  static bool is_set(const std::atomic<uint64_t>* bits, uint64_t page) {
    return bits[page / 64].load(std::memory_order_relaxed) >> (page % 64) & 1;
  }
  static void set(std::atomic<uint64_t>* bits, uint64_t page) {
    if (!is_set(bits, page)) bits[page / 64].fetch_or(uint64_t{1} << (page % 64), std::memory_order_relaxed);
  }
  uint64_t sectors_ = 0, pages_ = 0;
  std::atomic<uint64_t> reached_{0};  // pages
  uint64_t mapped_ = 0;               // bytes of all three together
  uint8_t* marks_ = nullptr;
  // Two bits a page, behind the marks: whether any of its sectors has a mark; whether it was marked as a whole, by one
  // range, which leaves the marks alone.
  std::atomic<uint64_t>*dirty_ = nullptr, *whole_ = nullptr;
};

}  // namespace coalesce::machine
