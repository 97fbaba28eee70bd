#include "machine/check/shadow.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

#include "machine/memory/memory.h"

namespace coalesce::machine {

void Written::set_long(uint64_t at, uint64_t bytes) {
  for (const uint64_t end = at + bytes; at < end;) {
    const uint64_t bit = at % 64, count = std::min<uint64_t>(64 - bit, end - at);
    words_[at / 64] |= (count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1) << bit;
    at += count;
  }
}

void Written::reset(uint64_t at, uint64_t bytes) {
  for (uint64_t k = at; k < at + bytes; ++k) words_[k / 64] &= ~(uint64_t{1} << k % 64);
}

void Written::copy(uint64_t at, const Written& other, uint64_t from, uint64_t bytes) {
  widest = std::max(widest, other.widest);
  for (const uint64_t end = at + bytes; at < end;) {
    const uint64_t count = std::min<uint64_t>(64, end - at);
    if (other.all(from, count)) {
      set(at, count);
    } else {
      for (uint64_t k = 0; k < count; ++k) other.get(from + k) ? set(at + k, 1) : reset(at + k, 1);
    }
    at += count;
    from += count;
  }
}

bool Written::any(uint64_t at, uint64_t bytes) const {
  for (const uint64_t end = at + bytes; at < end;) {
    const uint64_t bit = at % 64, count = std::min<uint64_t>(64 - bit, end - at);
    if (words_[at / 64] >> bit & (count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1)) return true;
    at += count;
  }
  return false;
}

bool Written::all_long(uint64_t at, uint64_t bytes) const {
  for (const uint64_t end = at + bytes; at < end;) {
    const uint64_t bit = at % 64, count = std::min<uint64_t>(64 - bit, end - at);
    if (~words_[at / 64] >> bit & (count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1)) return false;
    at += count;
  }
  return true;
}

void Written::clear() {
  if (dirty_) std::fill(words_.begin(), words_.end(), 0);
  dirty_ = false;
}

CellStore& CellStore::operator=(CellStore&& other) noexcept {
  std::swap(chunks_, other.chunks_);
  std::swap(used_, other.used_);
  return *this;
}

void CellStore::clear() {
  for (const auto& [at, bytes] : chunks_) munmap(at, bytes);
  chunks_.clear();
}

// From the system as it is: cells that no access comes to cost no memory. Large chunks cost fewer page faults.
Cell* CellStore::take(std::size_t cells) {
  constexpr std::size_t kFirst = std::size_t{64} << 10, kMost = std::size_t{8} << 20, kHuge = std::size_t{2} << 20;
  const std::size_t bytes = cells * sizeof(Cell);
  if (chunks_.empty() || used_ + bytes > chunks_.back().second) {
    const std::size_t size = chunks_.empty() ? kFirst : std::min(kMost, 2 * chunks_.back().second);
    void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    if (size > kHuge) madvise(at, size, MADV_HUGEPAGE);
    chunks_.emplace_back(static_cast<std::byte*>(at), size);
    used_ = 0;
  }
  Cell* const from = reinterpret_cast<Cell*>(chunks_.back().first + used_);
  used_ += bytes;
  return from;
}

// Divides the page's cells, in place if there is room: from the last on, since a part lies never before its whole.
void Cells::prepare(Page& page, uint16_t step, uint64_t& made) {
  const std::size_t count = kPage / step;
  const Cell* const whole = page.cells;
  if (count > page.room) {
    page.cells = store_.take(count);
    room_ += count - page.room;
    page.room = static_cast<uint16_t>(count & 0xfff);
    made += count * sizeof(Cell);
  }
  for (std::size_t k = page.step == 0 ? 0 : count; k-- > 0;) {
    Cell& c = page.cells[k] = whole[k * step >> page.shift];
    if (page.step <= 4) continue;
    const uint32_t lane = 1u << ((k * step & (page.step - 1u)) >> (page.shift - 5));
    for (Accessed* a : {&c.writer, &c.readers[0], &c.readers[1]}) a->lanes &= lane;
  }
  page.step = step;
  page.shift = static_cast<uint16_t>(std::countr_zero(step) & 0xf);
}

Shadow& shadow_of(const Allocation& a) {
  const bool malloced = a.origin == Origin::heap && a.label == "malloc in kernels";
  if (!a.shadow) a.shadow = std::make_shared<Shadow>(a.size, a.origin != Origin::device && !malloced);
  return *a.shadow;
}

}  // namespace coalesce::machine
