#include "machine/time/caches.h"

#include <algorithm>

namespace coalesce::machine {

namespace {
constexpr uint64_t kLine = 128;
}

SectorCache::SectorCache(uint64_t bytes, uint32_t ways) : ways_(ways), sets_(bytes / kLine / ways) {}

SectorCache::Line* SectorCache::set_of(uint64_t line) {
  // Lines that lie a power of two apart must not meet in one set, as on hardware they do not.
  const uint64_t mixed = (line ^ line >> 20) * 0x9e3779b97f4a7c15ull;
  std::unique_ptr<Line[]>& set = sets_[(mixed >> 32) % sets_.size()];
  if (!set) set = std::make_unique<Line[]>(ways_);
  return set.get();
}

uint32_t SectorCache::access(uint64_t line, uint32_t sectors, bool fill) {
  latest_ = nullptr;
  if (sets_.empty()) return 0;
  Line* const set = set_of(line);
  Line* oldest = set;
  ++clock_;
  for (Line* l = set; l != set + ways_; ++l) {
    if (l->tag == line) {
      const uint32_t there = l->sectors & sectors;
      l->used = clock_;
      if (fill) l->sectors |= sectors;
      latest_ = l;
      return there;
    }
    if (l->used < oldest->used) oldest = l;
  }
  if (!fill) return 0;
  *oldest = {line, clock_, sectors};
  latest_ = oldest;
  return 0;
}

double SectorCache::there(uint32_t sectors) const {
  double latest = 0;
  if (latest_)
    for (; sectors; sectors &= sectors - 1)
      latest = std::max(latest, latest_->there[static_cast<std::size_t>(__builtin_ctz(sectors))]);
  return latest;
}

void SectorCache::arrive(uint32_t sectors, double at) {
  if (latest_)
    for (; sectors; sectors &= sectors - 1) latest_->there[static_cast<std::size_t>(__builtin_ctz(sectors))] = at;
}

}  // namespace coalesce::machine
