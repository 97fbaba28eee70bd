#include "machine/check/clocks.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "machine/isa/mbarrier.h"

namespace coalesce::machine {

namespace {
template <class Visit>
void each_lane(uint32_t mask, Visit visit) {
  for (uint32_t m = mask; m; m &= m - 1) visit(static_cast<uint32_t>(__builtin_ctz(m)));
}
}  // namespace

void View::join(const View& other) {
  known.join(other.known);
  block_read.join(other.block_read);
  device_read.join(other.device_read);
  block_fenced.join(other.block_fenced);
  device_fenced.join(other.device_fenced);
  if (!other.kept) (other.acquired ? known : device_read).join(other.last);
}

void View::keep() {
  if (!kept) (acquired ? known : device_read).join(last);
  kept = true;
}

void WarpView::begin(uint64_t block, uint32_t warps, uint32_t self) {
  block_ = block;
  warps_ = warps;
  self_ = self;
  ++now;
  whole_ = now;
  rows_.reset();
  common_ = {};
  own_.reset();
}

View& WarpView::own(uint32_t lane) {
  if (!own_) own_ = std::make_unique<std::array<View, 32>>();
  return (*own_)[lane];
}

LaneClocks WarpView::row(uint32_t lane) const {
  if (rows_) return (*rows_)[lane];
  LaneClocks all;
  all.fill(whole_);
  return all;
}

bool WarpView::knows(uint32_t lane, uint64_t block, uint32_t warp, uint32_t other, Clock then, bool strong) const {
  if (block == block_ && warp == self_ && (lane == other || knows_lane(lane, other, then))) return true;
  const auto shows = [&](const View& v) {
    return v.known.of(block, warp, other) > then ||
           (strong && (v.block_read.of(block, warp, other) > then || v.device_read.of(block, warp, other) > then)) ||
           (!v.kept && (strong || v.acquired) && v.last.of(block, warp, other) > then);
  };
  return shows(common_) || (own_ && shows((*own_)[lane]));
}

bool WarpView::all_know(uint64_t block, uint32_t warp, Clock then) const {
  if (block == block_ && warp == self_ && !rows_ && whole_ > then) return true;
  const BlockClocks* clocks = common_.known.of(block);
  return clocks && clocks->all(warp, then + 1);
}

bool WarpView::none_knows(uint64_t block, uint32_t warp, Clock then) const {
  if (own_ || (block == block_ && warp == self_)) return false;
  const BlockClocks* clocks = common_.known.of(block);
  return !clocks || (clocks->lanes.empty() && clocks->warps[warp] <= then);
}

void WarpView::tell(uint32_t lane, uint32_t mask) {
  if (!rows_) {
    rows_ = std::make_unique<std::array<LaneClocks, 32>>();
    for (LaneClocks& r : *rows_) r.fill(whole_);
  }
  each_lane(mask, [&](uint32_t k) { (*rows_)[lane][k] = now; });
}

void WarpView::sync_lanes(uint32_t mask, uint32_t alive) {
  ++now;
  const bool all = (alive & ~mask) == 0;
  if (all) {
    rows_.reset();
    whole_ = now;
  } else {
    LaneClocks joint{};
    each_lane(mask, [&](uint32_t l) {
      const LaneClocks r = row(l);
      for (uint32_t k = 0; k < r.size(); ++k) joint[k] = std::max(joint[k], r[k]);
    });
    each_lane(mask, [&](uint32_t l) {
      tell(l, mask);
      for (uint32_t k = 0; k < joint.size(); ++k)
        if (!(mask >> k & 1)) (*rows_)[l][k] = joint[k];
    });
  }
  if (!own_) return;
  View heard;
  each_lane(mask, [&](uint32_t l) { heard.join((*own_)[l]); });
  if (all) {
    common_.join(heard);
    own_.reset();
  } else {
    each_lane(mask, [&](uint32_t l) { (*own_)[l] = heard; });
  }
}

Knowledge WarpView::release(uint32_t lane) {
  ++now;
  BlockClocks mine{std::vector<Clock>(warps_), {}};
  LaneClocks r = row(lane);
  r[lane] = now;
  mine.raise(self_, r);
  Knowledge all = common_.known;
  if (own_) {
    View& v = (*own_)[lane];
    if (v.acquired) v.keep();
    all.join(v.known);
  }
  all.join(block_, std::move(mine));
  return all;
}

void WarpView::fence(uint32_t lanes, bool device) {
  each_lane(lanes, [&](uint32_t l) {
    View& v = own(l);
    // Knowledge need not be kept as read: strong accesses have it, too.
    v.known.join(common_.block_read);
    v.known.join(std::exchange(v.block_read, {}));
    if (device) {
      v.acquired = true;
      v.keep();
      v.known.join(common_.device_read);
      v.known.join(std::exchange(v.device_read, {}));
    }
    v.block_fenced = release(l);
    if (device) v.device_fenced = v.block_fenced;
  });
}

// Adds to `to` what is known of blocks' warps, and `self` of this one, as known of the warps `behind`.
void WarpView::mirror(View& to, const Knowledge& of, uint32_t warps, uint32_t behind, const LaneClocks& self) const {
  Knowledge all;
  const auto add = [&](uint64_t block, const BlockClocks* clocks) {
    BlockClocks done{std::vector<Clock>(warps_), {}};
    for (uint32_t v = 0; clocks && v < warps; ++v) {
      LaneClocks each;
      for (uint32_t l = 0; l < each.size(); ++l) each[l] = clocks->of(v, l);
      done.raise(behind + v, each);
    }
    if (block == block_) done.raise(behind + self_, self);
    all.join(block, std::move(done));
  };
  of.each([&](uint64_t block, const BlockClocks& clocks) { add(block, &clocks); });
  if (!of.of(block_)) add(block_, nullptr);
  to.known.join(all);
}

void WarpView::fence_proxy(uint32_t lanes, uint32_t alive, uint32_t warps, uint32_t behind) {
  ++now;
  if ((alive & ~lanes) == 0) {
    // A lane that knows of another's access has heard of it behind this fence, or has come to the fence itself.
    LaneClocks all;
    all.fill(now);
    mirror(common_, common_.known, warps, behind, all);
    if (own_)
      each_lane(lanes, [&](uint32_t l) {
        (*own_)[l].keep();
        mirror((*own_)[l], Knowledge{(*own_)[l].known}, warps, behind, all);
      });
    return;
  }
  each_lane(lanes, [&](uint32_t l) {
    LaneClocks mine = row(l);
    mine[l] = now;
    own(l).keep();
    Knowledge of = common_.known;
    of.join(own(l).known);
    mirror(own(l), of, warps, behind, mine);
  });
}

Knowledge WarpView::fenced(uint32_t lane, bool device) const {
  Knowledge all = device ? common_.device_fenced : common_.block_fenced;
  if (own_) all.join(device ? (*own_)[lane].device_fenced : (*own_)[lane].block_fenced);
  return all;
}

void WarpView::read(uint32_t lane, const Knowledge& block, const Knowledge& device, bool acquires, uint64_t chain) {
  if (block.empty() && device.empty()) return;
  View& v = own(lane);
  if (acquires) {
    v.known.join(block);
  } else if (!(v.last_block == block)) {
    v.last_block = block;
    v.block_read.join(block);
  }
  if (device.empty() || (v.last == device && (v.acquired || !acquires))) return;
  // A read of the same chain has all that it replaces, which may have been acquired, though.
  if (chain == 0 || chain != v.chain || (v.acquired && !acquires)) v.keep();
  v.last = device;
  v.chain = chain;
  v.acquired = acquires;
  v.kept = false;
}

void WarpView::learn(uint32_t mask, uint32_t alive, const View& what) {
  if ((alive & ~mask) == 0) return common_.join(what);
  each_lane(mask, [&](uint32_t l) { own(l).join(what); });
}

void WarpView::give(uint32_t mask, uint32_t alive, View& all, BlockClocks& done) {
  sync_lanes(mask, alive);
  all.join(common_);
  if (own_) each_lane(mask, [&](uint32_t l) { all.join((*own_)[l]); });
  if (rows_ || !done.lanes.empty())
    done.raise(self_, row(static_cast<uint32_t>(__builtin_ctz(mask))));
  else
    done.raise_all(self_, whole_);
}

void WarpView::take(uint32_t mask, uint32_t alive, const View& all) {
  if ((alive & ~mask) == 0) {
    common_ = all;
    own_.reset();
  } else {
    each_lane(mask, [&](uint32_t l) { own(l) = all; });
  }
}

const Handovers::Left* Handovers::find(uint64_t address) const {
  if (!there_[bit(address)]) return nullptr;
  const auto at = left_.find(address);
  return at == left_.end() ? nullptr : &at->second;
}

void Handovers::leave(uint64_t address, uint64_t block, const Knowledge& to_block, const Knowledge& to_device,
                      bool chain) {
  if (!chain) end(address);
  if (to_block.empty() && to_device.empty()) return;
  there_.set(bit(address));
  low_ = std::min(low_, address);
  high_ = std::max(high_, address);
  add(left_[address], block, to_block, to_device);
}

void Handovers::add(Left& left, uint64_t block, const Knowledge& to_block, const Knowledge& to_device) {
  static std::atomic<uint64_t> chains{0};
  if (left.chain == 0) left.chain = ++chains;
  if (left.of_block != block) left.block = {};
  left.of_block = block;
  left.block.join(to_block);
  left.device.join(to_device);
}

void Handovers::begin_object(uint64_t address) {
  end(address);
  objects_.erase(address);
}

void Handovers::look_at_object(uint64_t address, uint64_t bits) {
  Object& object = objects_[address];
  if ((object.bits ^ bits) >> kMbarrierPhase & 1) {
    const Left arrived = std::exchange(object.arrived, {});
    leave(address, arrived.of_block, arrived.block, arrived.device, true);
  }
  object.bits = bits;
}

void Handovers::arrive(uint64_t address, uint64_t block, const Knowledge& to_block, const Knowledge& to_device) {
  add(objects_[address].arrived, block, to_block, to_device);
}

void Handovers::change_object(uint64_t address, uint64_t change) {
  look_at_object(address, mbarrier_after(objects_[address].bits, change));
}

void Handovers::end(uint64_t address) {
  if (there_[bit(address)]) left_.erase(address);
}

void Handovers::clear() {
  left_.clear();
  objects_.clear();
  there_.reset();
  low_ = ~uint64_t{0};
  high_ = 0;
}

}  // namespace coalesce::machine
