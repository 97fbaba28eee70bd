#include "native/run/runner.h"

#include <cstring>

namespace coalesce::native {

using namespace machine;

namespace {

template <class T>
T* align64(T* p) {
  return reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(p) + 63) / 64 * 64);
}

std::size_t slot_bytes(const Register& r) {
  const std::size_t each = r.element == Element::b64    ? 8
                           : r.element == Element::b128 ? 16
                           : r.element == Element::b32  ? 4
                                                        : 2;
  return r.element == Element::pred ? 4 : r.lanes == LaneClass::general ? kLanes * each : 16;
}

}  // namespace

Runner::Runner(std::shared_ptr<const Kernel> kernel, BlockRun& owner)
    : kernel_(std::move(kernel)),
      owner_(owner),
      worker_(owner.worker()),
      launch_(worker_.launch),
      program_(*launch_.program),
      holder_{{}, this},
      frame_(holder_.frame),
      alive_(owner.warps().size()),
      sites_(program_.memory.size()),
      ranges_(program_.memory.size() * owner.warps().size()),
      allocations_(program_.memory.size()),
      remembered_(kernel_->remembered.size() * BlockAccess::kRemembered),
      memo_space_((kernel_->memos * owner.warps().size()) + 1),
      scratch_space_(kScratch + 64) {
  frame_.grid_x = launch_.grid[0];
  frame_.grid_y = launch_.grid[1];
  frame_.multiprocessors = std::max(1u, launch_.device->multiprocessors);
  frame_.launch_area = launch_.area.base;
  frame_.alive = alive_.data();
  frame_.tally = worker_.tally.words.data();
  frame_.sites = sites_.data();
  for (std::size_t k = 0; k < kernel_->remembered.size(); ++k)
    sites_[kernel_->remembered[k]].remembered = &remembered_[k * BlockAccess::kRemembered];
  frame_.ranges = ranges_.data();
  frame_.memos = memo_space_.data();
  frame_.pending_atomics = &pending_atomics_;
  frame_.footprint = footprint_.data();
  frame_.scratch = align64(scratch_space_.data());
  context_.base[kLaunch] = context_.base[kBlock] = context_.base[kWarp] = frame_.scratch;
  context_.active = ~0u;
  frame_.context = &context_;
  frame_.rows = kernel_->pure.data();
  frame_.start_block = start_block;
  frame_.interpret = interpret;
  frame_.touch = touch;
  frame_.touch_block = touch_block;
  frame_.access_with_gaps = access_with_gaps;
  frame_.affine_cost = affine_cost;
  frame_.find_cost = find_cost;
  frame_.charge = charge;
  frame_.count_atomics = count_atomics;
  frame_.shared_atomic = shared_atomic;
  for (uint32_t r : program_.blocks[0].live_in) {
    const Register& reg = program_.registers[r];
    const Slot slot = reg.lanes == LaneClass::general ? kernel_->code.homes[r].vector : kernel_->code.homes[r].scalar;
    if (reg.builtin == Builtin::none && reg.lanes > LaneClass::block_uniform)
      zeroed_.push_back({slot, slot_bytes(reg)});
  }
}

NativeStop Runner::run(uint64_t block, uint64_t end, uint32_t region) {
  std::vector<Warp>& warps = owner_.warps();
  frame_.block_area = owner_.block_area();
  frame_.warp_area = warps[0].base[kWarp];
  frame_.shared = warps[0].shared;
  frame_.shared_bytes = warps[0].shared_bytes;
  frame_.local = warps[0].local;
  frame_.end = end;
  frame_.block = block;
  frame_.region = region;
  if (!owner_.native_fresh() || region != 0) {  // in the middle of a block
    for (std::size_t w = 0; w < warps.size(); ++w) alive_[w] = warps[w].alive;
    if (region == 0) frame_.region = program_.regions.size();
  }
  for (;;) {
    frame_.alive_warps = frame_.alive_lanes = 0;
    for (const uint32_t mask : alive_) {
      frame_.alive_warps += mask != 0;
      frame_.alive_lanes += count_lanes(mask);
    }
    const uint32_t outcome = kernel_->loaded.entry(&frame_);
    count_atomics(&frame_);
    worker_.instructions += frame_.instructions - std::exchange(prepaid_, 0);
    for (std::size_t w = 0; w < warps.size(); ++w) warps[w].alive = alive_[w];
    if (outcome == kPaused) {
      const uint32_t at = program_.regions[frame_.region].chain.front();
      owner_.native_charge(frame_.block, 0, at, warps[0].alive);
      if (frame_.region == 0) frame_.region = program_.regions.size();
      continue;
    }
    if (outcome == kFaulted) {
      count_faulted();
      owner_.native_at(frame_.block, fault_warp_, fault_block_);
      std::rethrow_exception(std::exchange(thrown_, nullptr));
    }
    if (worker_.instructions > (1u << 16)) owner_.native_charge(frame_.block, 0, 0, warps[0].alive);
    if (outcome == kDone) return {frame_.block, kNone};
    end_warps(static_cast<uint32_t>(frame_.region));
    return {frame_.block, static_cast<uint32_t>(frame_.region)};
  }
}

// At the beginning of `region` for the interpreter: scalars are in their slots, here come their vector forms, and NaNs
// of single precision arithmetic as PTX has them.
void Runner::end_warps(uint32_t region) {
  const Code& code = kernel_->code;
  const auto expand = [&](uint32_t r, Warp& w) {
    const Register& reg = program_.registers[r];
    const Home& home = code.homes[r];
    const std::size_t size = slot_bytes(reg) == 16 ? (reg.element == Element::b64    ? 8
                                                      : reg.element == Element::b128 ? 16
                                                      : reg.element == Element::b32  ? 4
                                                                                     : 2)
                                                   : 0;
    if (!size || home.vector == kNoSlot || home.vector == home.scalar) return;
    u128 value = 0;
    std::memcpy(&value, w.at<std::byte>(home.scalar), size);
    for (uint32_t l = 0; l < kLanes; ++l, value += static_cast<u128>(static_cast<uint64_t>(reg.stride)))
      std::memcpy(w.at<std::byte>(home.vector) + l * size, &value, size);
  };
  for (uint32_t r : program_.blocks[program_.regions[region].chain.front()].live_in) {
    const Register& reg = program_.registers[r];
    if (reg.builtin != Builtin::none) continue;
    if (reg.lanes == LaneClass::general) {
      if (!kernel_->any_nan[r]) continue;
      for (Warp& w : owner_.warps()) {
        auto* lanes = w.at<uint32_t>(code.homes[r].vector);
        for (uint32_t l = 0; l < kLanes; ++l)
          if ((lanes[l] & 0x7fffffffu) > 0x7f800000u) lanes[l] = 0x7fffffffu;
      }
      continue;
    }
    for (Warp& w : owner_.warps()) {
      expand(r, w);
      if (reg.lanes <= LaneClass::block_uniform) break;
    }
  }
}

// A fault ends the block in the middle of a region whose warps are counted at its end: counts those that have run.
void Runner::count_faulted() {
  const RegionWords& plan = kernel_->regions[frame_.region];
  if (plan.exits) return;
  const std::vector<uint32_t>& chain = program_.regions[frame_.region].chain;
  for (uint32_t w = 0; w <= fault_warp_; ++w) {
    if (!alive_[w]) continue;
    for (uint32_t k = 0; k < chain.size(); ++k) {
      if (program_.blocks[chain[k]].divergent) continue;
      if (w == fault_warp_ && k > plan.position.at(fault_block_)) break;
      worker_.tally.executions[chain[k]] += 1;
      worker_.tally.lanes[chain[k]] += count_lanes(alive_[w]);
      worker_.instructions += program_.blocks[chain[k]].instructions;
    }
  }
}

// ---- What generated code calls ------------------------------------------------------------------------------------

void Runner::start_block(Frame* f) {
  Runner& r = of(f);
  std::vector<Warp>& warps = r.owner_.warps();
  if (r.program_.local_bytes) std::memset(f->local, 0, std::size_t{warps[0].local_bytes} * kLanes * warps.size());
  for (const auto& [slot, bytes] : r.zeroed_)
    for (Warp& w : warps) std::memset(w.at<std::byte>(slot), 0, bytes);
}

Status Runner::interpret(Frame* f, uint32_t index, uint32_t warp, uint32_t mask, uint32_t block) {
  Runner& r = of(f);
  const Step& s = r.kernel_->steps[index];
  Warp& w = r.owner_.warps()[warp];
  w.active = mask;
  w.alive = r.alive_[warp];
  try {
    s.run(s, w);
  } catch (...) {
    r.thrown_ = std::current_exception();
    r.fault_warp_ = warp;
    r.fault_block_ = block;
    return 1;
  }
  if (const uint32_t window = r.kernel_->window[index]; window != kNone) r.adopt_allocation(window);
  return 0;
}

Status Runner::charge(Frame* f, uint32_t warp, uint32_t mask, uint32_t block, uint64_t instructions) {
  Runner& r = of(f);
  try {
    r.worker_.instructions += instructions;
    r.prepaid_ += instructions;
    r.owner_.native_charge(f->block, warp, block, mask);
    return 0;
  } catch (...) {
    r.thrown_ = std::current_exception();
    r.fault_warp_ = warp;
    r.fault_block_ = block;
    return 1;
  }
}

}  // namespace coalesce::native
