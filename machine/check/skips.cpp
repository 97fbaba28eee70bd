#include "machine/check/skips.h"

#include <algorithm>
#include <string>

namespace coalesce::machine {

void SkippedBarriers::begin() {
  for (auto& of_warp : passed_) of_warp.assign(check_.kernel.skips.size(), 0);
  for (auto& of_warp : lanes_passed_) of_warp.assign(check_.kernel.lane_skips.size(), {0, 0});
}

void SkippedBarriers::forget_lanes(uint32_t warp) {
  std::ranges::fill(lanes_passed_[warp], std::pair<uint32_t, uint32_t>{});
}

void SkippedBarriers::enters(uint32_t block, const Warp& w) {
  std::vector<uint8_t>& passed = passed_[w.index];
  auto& lanes_passed = lanes_passed_[w.index];
  for (std::size_t k = 0; k < passed.size(); ++k) {
    const Skip& skip = check_.kernel.skips[k];
    if (block == skip.branch)
      passed[k] = 1;
    else if (block == skip.after && passed[k] == 1)
      passed[k] = 2;
  }
  for (std::size_t k = 0; k < lanes_passed.size(); ++k) {
    const Skip& skip = check_.kernel.lane_skips[k];
    auto& [came, went] = lanes_passed[k];
    if (block == skip.branch) {
      came |= w.active;
    } else if (block == skip.after) {
      went |= came & w.active;
      came &= ~w.active;
    }
  }
}

void SkippedBarriers::complete(const LaneOp& op, uint32_t named, const Warp& w) {
  auto& all = lanes_passed_[w.index];
  for (std::size_t k = 0; k < all.size(); ++k) {
    auto& [came, went] = all[k];
    came &= ~w.active;
    if (check_.kernel.lane_skips[k].barrier != op.index) continue;
    const uint32_t gone = named & went & ~w.active;
    went &= ~named;
    if (gone == 0) continue;
    Seen s = s_.seen(Hazard::divergent_barrier, op.index, w.index, lowest(w.active));
    s.note = "lane " + std::to_string(lowest(gone)) + " of the warp, which it names, has gone past it";
    check_.findings.add(s);
  }
}

void SkippedBarriers::complete(const std::vector<Arrival>& at) {
  for (std::size_t k = 0; k < check_.kernel.skips.size(); ++k) {
    const uint32_t barrier = check_.kernel.skips[k].barrier;
    const auto waiting = std::ranges::find(at, barrier, &Arrival::instruction);
    if (waiting == at.end()) continue;
    for (uint32_t v = 0; v < passed_.size(); ++v) {
      if (passed_[v][k] != 2) continue;
      const auto there = std::ranges::find(at, v, &Arrival::warp);
      if (there != at.end() && there->instruction == barrier) continue;
      Seen s = s_.seen(Hazard::divergent_barrier, barrier, waiting->warp, lowest(waiting->lanes));
      s.note = "warp " + std::to_string(v) + " of the block has gone past it, and " +
               (there == at.end() ? "has ended" : "waits at another barrier");
      check_.findings.add(s);
    }
  }
  for (const Arrival& h : at) std::ranges::fill(passed_[h.warp], uint8_t{0});
}

}  // namespace coalesce::machine
