#include "machine/check/shadow.h"

#include <algorithm>

#include "machine/memory/memory.h"

namespace coalesce::machine {

void Written::set(uint64_t at, uint64_t bytes) {
  dirty_ = true;
  for (const uint64_t end = at + bytes; at < end;) {
    const uint64_t bit = at % 64, count = std::min<uint64_t>(64 - bit, end - at);
    words_[at / 64] |= (count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1) << bit;
    at += count;
  }
}

void Written::reset(uint64_t at, uint64_t bytes) {
  for (uint64_t k = at; k < at + bytes; ++k) words_[k / 64] &= ~(uint64_t{1} << k % 64);
}

bool Written::any(uint64_t at, uint64_t bytes) const {
  for (const uint64_t end = at + bytes; at < end;) {
    const uint64_t bit = at % 64, count = std::min<uint64_t>(64 - bit, end - at);
    if (words_[at / 64] >> bit & (count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1)) return true;
    at += count;
  }
  return false;
}

bool Written::all(uint64_t at, uint64_t bytes) const {
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

void Cells::prepare(Page& page, uint8_t step, uint64_t& made) {
  std::vector<Cell> cells(kPage / step);
  for (std::size_t k = 0; k < cells.size() && !page.cells.empty(); ++k) {
    cells[k] = page.cells[k * step / page.step];
    if (page.step != kLine) continue;
    const uint32_t lane = 1u << k * step % kLine / 4;
    for (Accessed* a : {&cells[k].writer, &cells[k].readers[0], &cells[k].readers[1]}) a->lanes &= lane;
  }
  made += (cells.size() - page.cells.size()) * sizeof(Cell);
  page.cells = std::move(cells);
  page.step = step;
}

Shadow& shadow_of(const Allocation& a) {
  const bool malloced = a.origin == Origin::heap && a.label == "malloc in kernels";
  if (!a.shadow) a.shadow = std::make_shared<Shadow>(a.size, a.origin != Origin::device && !malloced);
  return *a.shadow;
}

}  // namespace coalesce::machine
