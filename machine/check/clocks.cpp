#include "machine/check/clocks.h"

#include <algorithm>

namespace coalesce::machine {

void take_later(Clocks& to, const Clocks& from) {
  for (std::size_t k = 0; k < from.size(); ++k) to[k] = std::max(to[k], from[k]);
}

void take_later(Known& to, const Known& from) {
  for (const auto& [place, entries] : from) {
    const auto same = std::find_if(to.begin(), to.end(), [&, p = place](const auto& t) { return t.first == p; });
    if (same == to.end())
      to.emplace_back(place, entries);
    else
      same->second = std::max(same->second, entries);
  }
}

void take_later(Sight& to, const Sight& from) {
  take_later(to.seen, from.seen);
  take_later(to.block_fenced, from.block_fenced);
  take_later(to.fenced, from.fenced);
  to.has_fenced = to.has_fenced || from.has_fenced;
  take_later(to.known, from.known);
  take_later(to.offered, from.offered);
  take_later(to.pending, from.pending);
}

void WarpView::begin(uint32_t warps) {
  for (auto& lane : lanes) lane.fill(0);
  static_cast<Sight&>(*this) = Sight(warps);
}

void WarpView::sync_lanes(uint32_t mask) {
  std::array<Clock, 32> joint{};
  for (uint32_t m = mask; m; m &= m - 1) {
    const auto& lane = lanes[static_cast<uint32_t>(__builtin_ctz(m))];
    for (uint32_t k = 0; k < 32; ++k) joint[k] = std::max(joint[k], lane[k]);
  }
  ++now;
  for (uint32_t k = 0; k < 32; ++k)
    if (mask >> k & 1) joint[k] = now;
  for (uint32_t m = mask; m; m &= m - 1) lanes[static_cast<uint32_t>(__builtin_ctz(m))] = joint;
}

void WarpView::fence(uint32_t self, bool device) {
  ++now;
  take_later(block_fenced, seen);
  block_fenced[self] = now;
  if (device) fenced = block_fenced;
  has_fenced = true;
}

uint32_t Handovers::find(uint64_t block, uint64_t address) const {
  const auto found = places_.find({block, address});
  return found == places_.end() ? kNowhere : found->second;
}

uint32_t Handovers::make(uint64_t block, uint64_t address) {
  const auto [at, fresh] = places_.try_emplace({block, address}, static_cast<uint32_t>(lists_.size()));
  if (fresh) lists_.emplace_back();
  return at->second;
}

void Handovers::leave(uint32_t place, uint64_t block, const Clocks& to_block, const Clocks& to_device,
                      const Known& links) {
  List& list = lists_[place];
  std::vector<Left>& mine = list.by_block[block];
  const auto at = static_cast<uint32_t>(list.entries++);
  // A list is a chain: who takes a later entry has taken the earlier ones. So each entry contains the block's last.
  Left left{at, to_block, to_device};
  if (!mine.empty()) {
    take_later(left.to_block, mine.back().to_block);
    take_later(left.to_device, mine.back().to_device);
    if (left.to_block == mine.back().to_block && left.to_device == mine.back().to_device) return;
  }
  mine.push_back(std::move(left));
  Known elsewhere;
  for (const auto& link : links)
    if (link.first != place) elsewhere.push_back(link);
  if (!elsewhere.empty() && (list.links.empty() || list.links.back().second != elsewhere))
    list.links.emplace_back(at, std::move(elsewhere));
}

const Handovers::Left* Handovers::last(uint32_t place, uint32_t entries, uint64_t block) const {
  const auto found = lists_[place].by_block.find(block);
  if (found == lists_[place].by_block.end()) return nullptr;
  const std::vector<Left>& all = found->second;
  const auto after = std::partition_point(all.begin(), all.end(), [&](const Left& l) { return l.at < entries; });
  return after == all.begin() ? nullptr : &*std::prev(after);
}

void Handovers::take_own(uint32_t place, uint32_t entries, uint64_t block, Clocks& seen) const {
  if (const Left* left = last(place, entries, block)) take_later(seen, left->to_block);
}

bool Handovers::shows(const Known& known, uint64_t block, uint32_t warp, Clock then) const {
  Known looked_at;
  for (const auto& [place, entries] : known)
    if (shows(looked_at, place, entries, block, warp, then)) return true;
  return false;
}

bool Handovers::shows(Known& looked_at, uint32_t place, uint32_t entries, uint64_t block, uint32_t warp,
                      Clock then) const {
  // Links of a list are looked at once: of those before `looked` others take care.
  uint32_t looked = 0;
  for (const auto& [p, n] : looked_at)
    if (p == place) looked = n;
  if (looked >= entries) return false;
  take_later(looked_at, {{place, entries}});
  if (const Left* left = last(place, entries, block); left && left->to_device[warp] > then) return true;
  const auto& all = lists_[place].links;
  auto at = std::partition_point(all.begin(), all.end(), [&](const auto& link) { return link.first < looked; });
  for (; at != all.end() && at->first < entries; ++at) {
    for (const auto& [p, n] : at->second)
      if (shows(looked_at, p, n, block, warp, then)) return true;
  }
  return false;
}

}  // namespace coalesce::machine
