#include "cudart/check/uses.h"

#include <algorithm>

namespace coalesce::cudart {

uint32_t Uses::begin(Work work) {
  works_.push_back(std::move(work));
  return static_cast<uint32_t>(works_.size() - 1);
}

void Uses::clear() {
  pages_.clear();
  works_.clear();
}

void Uses::add(uint32_t work, AccessSite given, const WorkClock& before,
               const std::function<void(const Conflict&)>& found) {
  auto pages = std::move(given.pages);
  const auto site = std::make_shared<const AccessSite>(std::move(given));
  std::vector<uint64_t> order;
  for (const auto& [page, bytes] : pages) order.push_back(page);
  std::sort(order.begin(), order.end());
  std::set<const AccessSite*> said;
  for (const uint64_t page : order) {
    const std::shared_ptr<ByteSet> bytes = std::move(pages[page]);
    std::vector<Use>& uses = pages_[page];
    for (Use& earlier : uses) {
      if (earlier.work == work && !site->writes) continue;
      const uint64_t at = earlier.bytes->meets(*bytes);
      if (at == ByteSet::kPage) continue;
      const AccessSite& theirs = *earlier.site;
      const bool conflict = (site->writes || theirs.writes) && !(site->atomic && theirs.atomic) &&
                            !(site->strong && theirs.strong) && !before.covers(works_[earlier.work].moment);
      if (conflict && said.insert(&theirs).second)
        found({&works_[earlier.work], &theirs, &works_[work], site.get(), page * ByteSet::kPage + at});
      // A write replaces what was there, and a later read stands for an earlier one. A conflict is said once.
      if (site->writes || (!theirs.writes && (conflict || before.covers(works_[earlier.work].moment))))
        earlier.bytes->remove(*bytes);
    }
    std::erase_if(uses, [](const Use& u) { return u.bytes->empty(); });
    const auto same = [&](const Use& u) { return u.work == work && u.site == site; };
    if (std::none_of(uses.begin(), uses.end(), same)) uses.push_back({work, site, bytes});
  }
}

std::vector<const Use*> Uses::pending(uint64_t page, const WorkClock& clock) const {
  std::vector<const Use*> all;
  const auto at = pages_.find(page);
  if (at == pages_.end()) return all;
  for (const Use& use : at->second)
    if (!clock.covers(works_[use.work].moment)) all.push_back(&use);
  return all;
}

}  // namespace coalesce::cudart
