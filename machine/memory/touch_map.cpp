#include "machine/memory/touch_map.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

namespace coalesce::machine {
namespace {

constexpr uint64_t kMapFrom = 1024 * 1024;  // below: the heap

template <typename Visit>
void each_set_bit(const std::atomic<uint64_t>* words, uint64_t bits, Visit visit) {
  for (uint64_t w = 0; w * 64 < bits; ++w) {
    for (uint64_t set = words[w].load(std::memory_order_relaxed); set; set &= set - 1) {
      visit(w * 64 + static_cast<uint64_t>(std::countr_zero(set)));
    }
  }
}

}  // namespace

TouchMap::TouchMap(uint64_t bits) : bits_(bits) {
  static_assert(sizeof(std::atomic<uint64_t>) == sizeof(uint64_t));
  const uint64_t words = (bits + 63) / 64;
  pages_ = (words + kWordsPerPage - 1) / kWordsPerPage;
  const uint64_t dirty_words = (pages_ + 63) / 64;
  mapped_ = (words + dirty_words) * sizeof(uint64_t);
  void* got = nullptr;
  if (mapped_ >= kMapFrom) {
    got = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) throw std::bad_alloc();
  } else {
    got = std::calloc(std::max<uint64_t>(mapped_, 1), 1);
    if (!got) throw std::bad_alloc();
  }
  words_ = static_cast<std::atomic<uint64_t>*>(got);
  dirty_ = words_ + words;
}

TouchMap::~TouchMap() {
  if (mapped_ >= kMapFrom) {
    munmap(words_, mapped_);
  } else {
    std::free(words_);
  }
}

void TouchMap::mark_new(uint64_t first, uint64_t count) {
  if (first >= bits_) return;
  const uint64_t end = first + std::min(count, bits_ - first);
  while (first < end) {
    const uint64_t word = first / 64, shift = first % 64;
    const uint64_t here = std::min(64 - shift, end - first);
    const uint64_t need = (~uint64_t{0} >> (64 - here)) << shift;
    if ((words_[word].load(std::memory_order_relaxed) & need) != need) {
      words_[word].fetch_or(need, std::memory_order_relaxed);
      const uint64_t page = word / kWordsPerPage;
      const uint64_t bit = uint64_t{1} << (page % 64);
      if (!(dirty_[page / 64].load(std::memory_order_relaxed) & bit)) {
        dirty_[page / 64].fetch_or(bit, std::memory_order_relaxed);
      }
    }
    first += here;
  }
}

void TouchMap::clear() {
  const uint64_t words = (bits_ + 63) / 64;
  each_set_bit(dirty_, pages_, [&](uint64_t page) {
    const uint64_t end = std::min((page + 1) * kWordsPerPage, words);
    for (uint64_t w = page * kWordsPerPage; w < end; ++w) words_[w].store(0, std::memory_order_relaxed);
  });
  for (uint64_t w = 0; w * 64 < pages_; ++w) dirty_[w].store(0, std::memory_order_relaxed);
}

uint64_t TouchMap::count() const {
  const uint64_t words = (bits_ + 63) / 64;
  uint64_t sum = 0;
  each_set_bit(dirty_, pages_, [&](uint64_t page) {
    const uint64_t end = std::min((page + 1) * kWordsPerPage, words);
    for (uint64_t w = page * kWordsPerPage; w < end; ++w) {
      sum += static_cast<uint64_t>(std::popcount(words_[w].load(std::memory_order_relaxed)));
    }
  });
  return sum;
}

}  // namespace coalesce::machine
