#include "machine/time/caches.h"

#include <algorithm>

namespace coalesce::machine {

namespace {
constexpr uint64_t kLine = 128;
constexpr uint32_t kFewest = 2;                            // lines that a set has room for at first
constexpr std::size_t kSmallest = 64, kLargest = 1 << 14;  // lines of a piece of memory
}  // namespace

SectorCache::SectorCache(uint64_t bytes, uint32_t ways) : ways_(ways), sets_(bytes / kLine / ways) {}

SectorCache::Set& SectorCache::set_of(uint64_t line) {
  // Lines that lie a power of two apart must not meet in one set, as on hardware they do not.
  const uint64_t mixed = (line ^ line >> 20) * 0x9e3779b97f4a7c15ull;
  return sets_[(mixed >> 32) % sets_.size()];
}

void SectorCache::make_room(Set& set) {
  const uint32_t room = std::min(ways_, std::max(kFewest, 2 * set.room));
  if (free_ < room) {
    piece_ = std::max<std::size_t>(std::clamp(2 * piece_, kSmallest, kLargest), room);
    pieces_.push_back(
        {std::make_unique_for_overwrite<Line[]>(piece_), std::make_unique_for_overwrite<Times[]>(piece_)});
    free_ = piece_;
  }
  Line* const line = pieces_.back().line.get() + (piece_ - free_);
  Times* const there = pieces_.back().there.get() + (piece_ - free_);
  free_ -= room;
  std::copy_n(set.line, set.number, line);
  std::copy_n(set.there, set.number, there);
  set.line = line;
  set.there = there;
  set.room = room;
}

uint32_t SectorCache::access(uint64_t line, uint32_t sectors, bool fill) {
  latest_ = nullptr;
  if (sets_.empty()) return 0;
  Set& set = set_of(line);
  ++clock_;
  Line* oldest = set.line;
  for (Line* l = set.line; l != set.line + set.number; ++l) {
    if (l->tag == line) {
      const uint32_t there = l->sectors & sectors;
      l->used = clock_;
      if (fill) l->sectors |= sectors;
      latest_ = set.there + (l - set.line);
      return there;
    }
    if (l->used < oldest->used) oldest = l;
  }
  if (!fill) return 0;
  if (set.number < ways_) {
    if (set.number == set.room) make_room(set);
    oldest = set.line + set.number++;
  }
  *oldest = {line, clock_, sectors};
  latest_ = set.there + (oldest - set.line);
  *latest_ = {};
  return 0;
}

double SectorCache::there(uint32_t sectors) const {
  double latest = 0;
  if (latest_)
    for (; sectors; sectors &= sectors - 1)
      latest = std::max(latest, (*latest_)[static_cast<std::size_t>(__builtin_ctz(sectors))]);
  return latest;
}

void SectorCache::arrive(uint32_t sectors, double at) {
  if (latest_)
    for (; sectors; sectors &= sectors - 1) (*latest_)[static_cast<std::size_t>(__builtin_ctz(sectors))] = at;
}

}  // namespace coalesce::machine
