// A block changes its mode: from lockstep to general, from there to scattered, and back to lockstep (block.h).
#include <algorithm>
#include <cstring>
#include <utility>

#include "machine/execute/block.h"
#include "machine/execute/launch.h"
#include "machine/isa/row.h"

namespace coalesce::machine {

// Gives warps positions and block values of their own. Warps before `stopped` are at the end of region `region`;
// `stopped` is where it stopped; warps after it, up to `begun`, are where they came to together; the others are at the
// region's beginning.
void BlockRun::enter_general(uint32_t region, uint32_t stopped, uint32_t begun) {
  mode_ = Mode::general;
  for (Warp& w : warps_) {
    if (!w.alive) continue;
    w.own_block_area.assign(code_->block_bytes + 64, std::byte{0});
    std::byte* const own = align64(w.own_block_area.data());
    std::memcpy(own, block_area_, code_->block_bytes);
    w.base[kBlock] = own;
    if (region == kNone) {
      w.now = {0, w.alive, kNone, false, false};
      w.running = true;
      continue;
    }
    const std::vector<uint32_t>& chain = launch_.program->regions[region].chain;
    if (w.index < stopped) {
      const BlockCode& last = code_->blocks[chain.back()];
      w.running = true;
      if (last.divergent || last.divergent_branch)
        w.now = {launch_.program->regions[region].after, w.alive, kNone, false, false};
      else
        w.now = {chain.back(), w.alive, kNone, true, false};  // only its end is left
      continue;
    }
    // The region's uniform values are all computed already: back to what they were where this warp stands.
    const std::byte* from = saved_.data();
    for (const Saved& s : code_->saved[region]) std::memcpy(own + s.offset, from, s.bytes), from += s.bytes;
    if (w.index >= begun) {
      w.now = {chain.front(), w.alive, kNone, false, false};
      w.running = true;
      continue;
    }
    w.active = 1;
    for (std::size_t k = 0; k < chain.size() && w.last_lockstep != kNone; ++k) {
      const Stream& s = code_->hoisted[region][k];
      for (uint32_t i = s.first; i < s.last; ++i) code_->steps[i].run(code_->steps[i], w);
      if (chain[k] == w.last_lockstep) break;
    }
  }
}

namespace {

unsigned cell_bytes(Element e) { return std::max(2u, bytes_of(e)); }  // of one lane in a vector

// Registers that lanes at `block` still need: at its head, or between its steps and its end.
std::vector<uint32_t> live_at(const Decoded& p, uint32_t block, bool at_end) {
  const BasicBlock& b = p.blocks[block];
  if (!at_end) return b.live_in;
  std::vector<uint32_t> live;
  const auto add = [&](uint32_t to) {
    if (to != kNone) live.insert(live.end(), p.blocks[to].live_in.begin(), p.blocks[to].live_in.end());
  };
  add(b.next);
  add(b.taken);
  for (uint32_t to : b.table) add(to);
  const Instruction& last = p.code[b.last - 1];
  if (last.guard != kNone) live.push_back(last.guard);
  for (const Value& v : last.sources)
    if (v.is_reg()) live.push_back(v.reg);
  return live;
}

// A register of the lanes of `mask`, from where it lives in one form of the code to its vector in the scattered one.
void move_lanes(const Register& reg, const Home& from, const Context& old, Slot to, const Context& now, uint32_t mask) {
  if (reg.element == Element::pred) {
    uint32_t& bits = *now.at<uint32_t>(to);
    bits = (bits & ~mask) | (*old.at<uint32_t>(from.vector) & mask);
    return;
  }
  const uint32_t size = cell_bytes(reg.element);
  for (uint32_t m = mask; m; m &= m - 1) {
    const uint32_t l = lowest(m);
    std::byte* const cell = now.at<std::byte>(to) + std::size_t{l} * size;
    if (reg.lanes == LaneClass::general) {
      std::memcpy(cell, old.at<std::byte>(from.vector) + std::size_t{l} * size, size);
      continue;
    }
    u128 value = 0;
    std::memcpy(&value, old.at<std::byte>(from.scalar), size);
    value += static_cast<u128>(static_cast<uint64_t>(reg.stride)) * l;
    std::memcpy(cell, &value, size);
  }
}

}  // namespace

// Moves the block's state to code in which every computed register is a vector of its warp. Registers that are never
// needed at the same place share a vector, and not the same ones in both forms of the code. So lanes take along exactly
// the registers that are needed at their positions.
void BlockRun::enter_scattered() {
  Launch& launch = worker_.launch;
  std::call_once(launch.scattered_once, [&] {
    launch.scattered = &scatter(*launch.code);
    fill_launch_area(launch, *launch.scattered, launch.scattered_area);
  });
  const Code& from = *code_;
  const KeptArea old_area = std::exchange(area_, {});
  const std::vector<Context> before(warps_.begin(), warps_.end());
  lay_out(*launch.scattered);
  set_block_builtins(block_area_);
  for (Warp& w : warps_) {
    const auto take_along = [&](uint32_t block, bool at_end, uint32_t mask) {
      for (uint32_t r : live_at(*launch_.program, block, at_end)) {
        const Register& reg = launch_.program->registers[r];
        if (reg.builtin == Builtin::none && code_->homes[r].vector != kNoSlot)
          move_lanes(reg, from.homes[r], before[w.index], code_->homes[r].vector, w, mask);
      }
    };
    if (w.running) take_along(w.now.block, w.now.at_end, w.now.mask);
    for (const Split& s : w.ready) take_along(s.block, s.at_end, s.mask);
    for (const Split& s : w.at_sync) take_along(s.block, s.at_end, s.mask);
    for (const Split& s : w.at_barrier) take_along(s.block, true, s.mask);
    for (const Join& j : w.joins)
      if (j.pending != 0) take_along(j.block, false, j.arrived & w.alive);
    w.own_block_area.clear();
  }
}

// Meeting points on the ways of the warp's splits where lanes wait. Who has returned from a call waits for the others.
std::vector<uint32_t> BlockRun::holding_joins(const Warp& w, bool of_waiting) const {
  std::vector<uint32_t> found;
  const auto on_the_way = [&](const Split& s) {
    for (uint32_t j = s.join; j != kNone; j = w.joins[j].parent)
      if (w.joins[j].frame == kNone && (w.joins[j].arrived & w.alive) &&
          std::find(found.begin(), found.end(), j) == found.end())
        found.push_back(j);
  };
  if (w.running) on_the_way(w.now);
  for (const Split& s : w.ready) on_the_way(s);
  if (of_waiting)
    for (const Split& s : w.at_sync) on_the_way(s);
  return found;
}

// All splits wait, it seems, for lanes that wait for them where they meet: those go on without them, and first.
void BlockRun::break_joins(Warp& w, bool of_waiting) {
  if (w.running) w.ready.insert(w.ready.begin(), w.now);
  w.running = false;
  for (uint32_t j : holding_joins(w, of_waiting)) {
    Join& join = w.joins[j];
    const uint32_t mask = join.arrived & w.alive;
    join.arrived = 0;
    w.let_go = true;
    if (join.parent != kNone) w.joins[join.parent].pending += 1;
    w.ready.push_back({join.block, mask, join.parent, false, false});
  }
}

// Lanes at a reconvergence point do not wait for the others by the program's will. Where nothing else can run, and the
// others wait at a *.sync for them to come or to exit, they go on. An H200 ends such kernels, with a barrier and with a
// shuffle.
bool BlockRun::let_go() {
  bool any = false;
  for (Warp& w : warps_) {
    if (!w.alive || holding_joins(w, true).empty()) continue;
    if (code_ == launch_.code && !launch_.program->regions.empty()) enter_scattered();
    break_joins(w, true);
    any = true;
  }
  return any;
}

bool BlockRun::try_lockstep(uint32_t block) {
  if (code_ != launch_.code || launch_.program->region_of[block] == kNone) return false;
  const Warp* first = nullptr;
  for (const Warp& w : warps_) {
    if (!w.alive) continue;
    if (w.ready.size() != 1 || !w.at_sync.empty() || !w.at_barrier.empty() || w.ready[0].block != block ||
        w.ready[0].mask != w.alive || w.ready[0].join != kNone)
      return false;
    if (!first) first = &w;
  }
  if (!first) return false;
  std::memcpy(block_area_, first->base[kBlock], code_->block_bytes);
  for (Warp& w : warps_) {
    w.base[kBlock] = block_area_;
    w.ready.clear();
    w.joins.clear();
    w.free_join = kNone;
    w.running = false;
  }
  region_ = launch_.program->region_of[block];
  mode_ = Mode::lockstep;
  return true;
}

}  // namespace coalesce::machine
