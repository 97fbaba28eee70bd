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

bool Written::any(uint64_t at, uint64_t bytes) const {
  for (const uint64_t end = at + bytes; at < end;) {
    const uint64_t bit = at % 64, count = std::min<uint64_t>(64 - bit, end - at);
    if (words_[at / 64] >> bit & (count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1)) return true;
    at += count;
  }
  return false;
}

void Written::clear() {
  if (dirty_) std::fill(words_.begin(), words_.end(), 0);
  dirty_ = false;
}

void Cells::prepare(Page& page, bool by_byte, uint64_t& made) {
  std::vector<Cell> cells(by_byte ? kPage : kPage / 4);
  for (std::size_t k = 0; k < cells.size() && !page.cells.empty(); ++k) cells[k] = page.cells[k / 4];
  made += (cells.size() - page.cells.size()) * sizeof(Cell);
  page.cells = std::move(cells);
  page.by_byte = by_byte;
}

Shadow& shadow_of(const Allocation& a) {
  if (!a.shadow) a.shadow = std::make_shared<Shadow>(a.size, a.origin != Origin::device);
  return *a.shadow;
}

}  // namespace coalesce::machine
