// Atomics that meet nothing but atomics: histograms and sums.
#pragma once

#include "machine/check/races.h"

namespace coalesce::machine {

// Relaxed atomics without a result, of one instruction of a warp now, and the earlier accesses that they meet.
class Met {
 public:
  Met(const BlockState& s, const Access& a, uint32_t warp) : s_(s), rule_(s.check.rule(a.instruction)), warp_(warp) {
    any_ = rule_.kind == Kind::atomic && !a.op->returns && rule_.order > Order::volatile_ && a.bytes % 4 == 0;
  }
  bool any() const { return any_; }
  // Whether `before` is another warp's and was made to meet this, and no lane here knows of it.
  bool is_other(AccessId before) { return entry(before).other; }
  // Whether all lanes here know of `before`.
  bool is_known(AccessId before) { return entry(before).known; }

 private:
  struct Entry {
    AccessId id = 0;
    bool other = false, known = false;
  };
  const Entry& entry(AccessId before) {
    Entry& e = entries_[before % entries_.size()];
    if (e.id == before) return e;
    const AccessRecord& r = s_.check.records[before];
    const AccessRule& rule = s_.check.rule(r.instruction);
    const WarpView& view = s_.warps[warp_].view;
    const auto warp = static_cast<uint32_t>(r.warp);
    e = {before, false, !r.under_way && view.all_know(r.block, warp, r.clock)};
    e.other = !r.under_way && rule.order > Order::volatile_ && meant_to_meet(rule, rule_, r.block == s_.block) &&
              view.none_knows(r.block, warp, r.clock);
    return e;
  }
  const BlockState& s_;
  const AccessRule& rule_;
  uint32_t warp_;
  bool any_;
  std::array<Entry, 16> entries_{};
};

}  // namespace coalesce::machine
