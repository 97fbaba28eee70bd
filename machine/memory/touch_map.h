// Which 32-byte sectors a launch touched: one bit each, with one dirty bit per 4 KiB of bits, so that clearing and
// counting cost what was touched and not what exists.
//
// Threads: mark() from many at once; everything else from one, while nobody marks.
#pragma once

#include <atomic>
#include <cstdint>

namespace coalesce::machine {

class TouchMap {
 public:
  // For bits [0, bits). Takes address space only; pages come from the system when first marked.
  explicit TouchMap(uint64_t bits);
  ~TouchMap();
  TouchMap(const TouchMap&) = delete;
  TouchMap& operator=(const TouchMap&) = delete;

  // Sets bits [first, first + count). Bits outside the map are ignored. Reads before it writes: a bit that is set
  // already costs no traffic between cores.
  void mark(uint64_t first, uint64_t count) {
    const uint64_t shift = first % 64;
    if (count - 1 < 64 - shift && first < bits_) {  // within one word, and count > 0
      const uint64_t need = (~uint64_t{0} >> (64 - count)) << shift;
      if ((words_[first / 64].load(std::memory_order_relaxed) & need) == need) return;
    }
    mark_new(first, count);
  }
  void clear();
  uint64_t count() const;

 private:
  void mark_new(uint64_t first, uint64_t count);
  static constexpr uint64_t kWordsPerPage = 512;
  uint64_t bits_ = 0, pages_ = 0;
  uint64_t mapped_ = 0;                     // bytes of words_ and dirty_ together
  std::atomic<uint64_t>* words_ = nullptr;  // one bit per sector
  std::atomic<uint64_t>* dirty_ = nullptr;  // one bit per kWordsPerPage words; lies behind them
};

}  // namespace coalesce::machine
