#include "machine/check/launch_check.h"

#include "machine/check/block_check.h"

namespace coalesce::machine {

LaunchCheck::LaunchCheck(Launch& launch, AccessId first, uint64_t room, std::vector<AccessRecord> memory)
    : kernel(*launch.program),
      addresses(launch, kernel.agents != 0),
      records(first, room, std::move(memory)),
      findings(launch, kernel, addresses, records),
      launch_(launch),
      footprint_(*launch.program),
      early_(kernel.waits_for_grid ? std::make_unique<Footprint>(*launch.program) : nullptr) {
  for (const auto& a : launch.memory->all())
    if (a->shadow) a->shadow->cells.past().clear();  // it names accesses before `first`: nothing looks at them again
}

std::unique_ptr<BlockObserver> LaunchCheck::observe_blocks() { return std::make_unique<BlockCheck>(*this); }

BlockState* LaunchCheck::running(uint64_t block) const {
  for (BlockCheck* b : blocks_)
    if (b->runs(block)) return &b->state();
  return nullptr;
}

View& LaunchCheck::meeting(uint64_t block, uint64_t phase) {
  Meeting& m = meetings_[block / launch_.cluster_blocks()][phase % 2];
  if (m.phase != phase) m = {phase, {}};
  return m.told;
}

// The last block of a cluster ends its meetings.
void LaunchCheck::ended(uint64_t block) {
  const uint64_t blocks = launch_.cluster_blocks(), cluster = block / blocks;
  if (meetings_.empty()) return;
  for (uint64_t b = cluster * blocks; b < (cluster + 1) * blocks; ++b)
    if (running(b)) return;
  meetings_.erase(cluster);
}

void LaunchCheck::forget() {
  std::size_t cells = 0;
  for (const auto& a : launch_.memory->all())
    if (a->shadow) cells += a->shadow->cells.room();
  if (!records.many(cells)) return;
  const AccessId first = records.first();
  const std::vector<AccessId> moved = records.keep_named([&](auto visit) {
    for (const auto& a : launch_.memory->all())
      if (a->shadow) a->shadow->cells.visit_all(first, true, [&](Accessed& x) { visit(x.id); });
    for (BlockCheck* b : blocks_) b->visit_ids(visit);
  });
  for (BlockCheck* b : blocks_) b->move_first(moved, first);
}

std::vector<AccessSite> LaunchCheck::take_accesses() {
  std::vector<AccessSite> all = footprint_.take(), early;
  if (early_)
    early = early_->take();
  else
    std::swap(all, early);
  for (AccessSite& s : early) {
    s.early = true;
    all.push_back(std::move(s));
  }
  return all;
}

}  // namespace coalesce::machine
