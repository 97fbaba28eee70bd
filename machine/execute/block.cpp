// A block's life: its slots, lockstep regions, barriers. How one warp runs: warp.cpp.
#include "machine/execute/block.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace coalesce::machine {

namespace {

constexpr uint32_t kLockstepSlice = 1u << 22;  // basic blocks a warp runs in a divergent stretch before others get a turn
constexpr uint32_t kGeneralSlice = 1u << 14;
constexpr uint32_t kCooperativeSlice = 1u << 9;  // grid-wide waits are passed quickly

}  // namespace

BlockRun::BlockRun(Worker& worker)
    : worker_(worker), launch_(worker.launch), code_(*launch_.code), warps_(launch_.warps_per_block), warned_(code_.blocks.size()) {
  const std::size_t areas = code_.block_bytes + std::size_t{code_.warp_bytes} * warps_.size();
  area_.resize(areas + 64);
  auto* base = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(area_.data()) + 63) / 64 * 64);
  block_area_ = base;
  // Full-width moves may touch up to 128 bytes beyond the lanes that are on: never outside the vector.
  shared_.resize(launch_.shared_bytes + 256 + 64);
  auto* shared = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(shared_.data()) + 128 + 63) / 64 * 64);
  const uint32_t local = (launch_.program->local_bytes + 15) / 16 * 16;
  local_.resize(std::size_t{local} * kLanes * warps_.size() + 16);
  auto* local_base = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(local_.data()) + 15) / 16 * 16);
  const auto& ntid = launch_.block;
  for (uint32_t w = 0; w < warps_.size(); ++w) {
    Warp& warp = warps_[w];
    warp.worker = &worker_;
    warp.owner = this;
    warp.index = w;
    warp.base[kLaunch] = launch_.area_base;
    warp.base[kBlock] = block_area_;
    warp.base[kWarp] = base + code_.block_bytes + std::size_t{code_.warp_bytes} * w;
    warp.base[3] = nullptr;
    warp.shared = shared;
    warp.shared_bytes = launch_.shared_bytes;
    warp.local = local_base + std::size_t{local} * kLanes * w;
    warp.local_bytes = local;
    for (const BuiltinSlot& slot : code_.builtins) {
      const Register& r = launch_.program->registers[slot.reg];
      uint32_t values[kLanes];
      for (uint32_t l = 0; l < kLanes; ++l) {
        const uint32_t t = w * kLanes + l;
        switch (r.builtin) {
          case Builtin::tid_x: values[l] = launch_.block[1] == 1 && launch_.block[2] == 1 ? t : t % ntid[0]; break;
          case Builtin::tid_y: values[l] = t / ntid[0] % ntid[1]; break;
          case Builtin::tid_z: values[l] = t / ntid[0] / ntid[1]; break;
          case Builtin::warpid: values[l] = w; break;
          default: values[l] = 0; break;
        }
      }
      const bool of_warp = r.builtin == Builtin::tid_x || r.builtin == Builtin::tid_y || r.builtin == Builtin::tid_z || r.builtin == Builtin::warpid;
      if (!of_warp || r.lanes == LaneClass::constant) continue;
      if (slot.scalar != kNoSlot) std::memcpy(warp.at<uint32_t>(slot.scalar), values, 4);
      if (slot.vector != kNoSlot) std::memcpy(warp.at<uint32_t>(slot.vector), values, sizeof values);
    }
  }
}

void BlockRun::start(uint64_t index) {
  index_ = index;
  ctaid_ = {static_cast<uint32_t>(index % launch_.grid[0]), static_cast<uint32_t>(index / launch_.grid[0] % launch_.grid[1]),
            static_cast<uint32_t>(index / launch_.grid[0] / launch_.grid[1])};
  for (const BuiltinSlot& slot : code_.builtins) {
    const Register& r = launch_.program->registers[slot.reg];
    uint32_t value = 0;
    switch (r.builtin) {
      case Builtin::ctaid_x: value = ctaid_[0]; break;
      case Builtin::ctaid_y: value = ctaid_[1]; break;
      case Builtin::ctaid_z: value = ctaid_[2]; break;
      case Builtin::smid: value = static_cast<uint32_t>(index % std::max(1u, launch_.device->multiprocessors)); break;
      default: continue;
    }
    if (slot.scalar != kNoSlot) *reinterpret_cast<uint32_t*>(block_area_ + (slot.scalar & ~3u)) = value;
    if (slot.vector != kNoSlot) {
      auto* to = reinterpret_cast<uint32_t*>(block_area_ + (slot.vector & ~3u));
      std::fill(to, to + kLanes, value);
    }
  }
  for (Warp& w : warps_) {
    const uint32_t first = w.index * kLanes, left = launch_.threads_per_block - first;
    w.alive = left >= kLanes ? ~0u : (1u << left) - 1;
    w.base[kBlock] = block_area_;
    w.running = false;
    w.ready.clear();
    w.at_sync.clear();
    w.at_barrier.clear();
    w.joins.clear();
    w.free_join = kNone;
    w.hoisted = kNone;
  }
  // Shared memory is not initialised on hardware; zeros make runs repeatable.
  std::fill(shared_.begin(), shared_.end(), std::byte{0});
  arrived_.fill(0);
  region_ = 0;
  turn_ = 0;
  mode_ = Mode::lockstep;
  if (launch_.program->needs_general_mode) {
    enter_general(kNone, 0, 0);
  }
}

uint32_t BlockRun::alive_lanes() const {
  uint32_t n = 0;
  for (const Warp& w : warps_) n += count_lanes(w.alive);
  return n;
}

// Adds what has run to the launch's instruction count now and then, and stops a kernel that has used up its budget.
void BlockRun::charge() {
  Launch& launch = worker_.launch;
  const uint64_t total = launch.instructions.fetch_add(worker_.instructions, std::memory_order_relaxed) + worker_.instructions;
  worker_.instructions = 0;
  if (launch.interrupted && launch.interrupted->load(std::memory_order_relaxed))
    throw KernelFault{Fault::budget, "interrupted", kNone, 0, {}};
  if (total > launch.max_instructions) {
    const Warp& w = warps_[current_];
    const uint32_t block = w.running ? w.now.block : 0;
    throw KernelFault{Fault::budget,
                      "the kernel has executed " + std::to_string(launch.max_instructions) +
                          " warp instructions and has not ended (--max-instructions); it was in the loop here",
                      launch_.program->blocks[block].first, w.now.mask, {}};
  }
}

BlockRun::Status BlockRun::advance() {
  for (;;) {
    if (mode_ == Mode::lockstep) {
      if (advance_lockstep() == Status::done) return Status::done;
    } else {
      const Status s = advance_general();
      if (mode_ == Mode::general) return s;
    }
  }
}

uint32_t BlockRun::next_after_region(const BlockCode& c) const {
  if (c.divergent_branch) return c.reconverge;
  switch (c.end) {
    case EndKind::exit: return kNone;
    case EndKind::branch: {
      const bool p = *warps_[0].at<uint32_t>(c.predicate) & 1;
      return p != c.negated ? c.taken : c.next;
    }
    case EndKind::table: {
      const uint32_t i = *warps_[0].at<uint32_t>(c.predicate);
      return (*c.table)[std::min<std::size_t>(i, c.table->size() - 1)];
    }
    default: return c.next;
  }
}

// Returns done, or yielded after having switched to general mode.
BlockRun::Status BlockRun::advance_lockstep() {
  const Decoded& program = *launch_.program;
  for (;;) {
    const Region& region = program.regions[region_];
    const Stream& hoisted = code_.hoisted[region_];
    {
      Context& uniform = warps_[0];
      uniform.active = 1;
      for (uint32_t s = hoisted.first; s < hoisted.last; ++s) code_.steps[s].run(code_.steps[s], uniform);
    }
    bool any = false;
    for (Warp& w : warps_) {
      if (!w.alive) continue;
      current_ = w.index;
      w.now = {region.chain.front(), w.alive, kNone, false, false};
      w.running = true;
      fuel_ = kLockstepSlice;
      const Stop stop = run_warp(w, Mode::lockstep);
      if (stop == Stop::waiting || stop == Stop::slice) {
        enter_general(region_, w.index, region.chain.front());
        return Status::yielded;
      }
      any = any || w.alive;
    }
    if (worker_.instructions > (1u << 16)) charge();
    if (!any) return Status::done;
    const BlockCode& last = code_.blocks[region.chain.back()];
    if (last.end == EndKind::barrier) finish_barrier_lockstep(last);
    const uint32_t next = next_after_region(last);
    if (next == kNone) return Status::done;
    region_ = program.region_of[next];
  }
}

// bar.red: what every thread contributed, to where the threads read it.
void BlockRun::finish_barrier_lockstep(const BlockCode& c) {
  if (c.barrier_result == kNoSlot) return;
  uint32_t votes = 0, lanes = 0;
  for (const Warp& w : warps_) {
    votes += count_lanes(*w.at<uint32_t>(c.barrier_predicate) & w.alive);
    lanes += count_lanes(w.alive);
  }
  const auto mode = static_cast<BarrierMode>(c.barrier->mode);
  const bool holds = mode == BarrierMode::and_ ? votes == lanes : votes > 0;
  for (Warp& w : warps_) {
    uint32_t* to = w.at<uint32_t>(c.barrier_result);
    const uint32_t value = mode == BarrierMode::popc ? votes : holds ? ~0u : 0;
    if (c.barrier_result_scalar || mode != BarrierMode::popc) *to = value;
    else std::fill(to, to + kLanes, value);
    if (c.barrier_expand.run) c.barrier_expand.run(c.barrier_expand, w);
  }
}

// From here on warps have places of their own. Warps before `stopped` have run region `region` and stand where it leads;
// `stopped` is where it is; those after it stand at `head`, with the region's uniform values already computed.
void BlockRun::enter_general(uint32_t region, uint32_t stopped, uint32_t head) {
  mode_ = Mode::general;
  turn_ = 0;
  const BlockCode* last = region == kNone ? nullptr : &code_.blocks[launch_.program->regions[region].chain.back()];
  for (Warp& w : warps_) {
    if (!w.alive) continue;
    w.own_block_area.assign(block_area_, block_area_ + code_.block_bytes + 64);
    auto* aligned = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(w.own_block_area.data()) + 63) / 64 * 64);
    std::memcpy(aligned, block_area_, code_.block_bytes);
    if (region == kNone) {
      w.now = {0, w.alive, kNone, false, false};
      w.running = true;
    } else if (w.index < stopped) {
      w.hoisted = kNone;
      w.running = true;
      w.now = {launch_.program->regions[region].chain.back(), w.alive, kNone, true, false};  // its end is evaluated again
      if (last->divergent_branch) {
        w.now = {last->reconverge, w.alive, kNone, false, false};
      }
    } else {
      w.hoisted = region;
      if (w.index > stopped) {
        w.now = {head, w.alive, kNone, false, false};
        w.running = true;
      }
    }
  }
  for (Warp& w : warps_)
    if (w.alive) w.base[kBlock] = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(w.own_block_area.data()) + 63) / 64 * 64);
}

BlockRun::Status BlockRun::advance_general() {
  for (int pass = 0; pass < 4;) {
    bool ran = false, sliced = false;
    for (Warp& w : warps_) {
      if (!w.alive || (!w.running && w.ready.empty())) continue;
      ran = true;
      current_ = w.index;
      fuel_ = launch_.cooperative ? kCooperativeSlice : kGeneralSlice;
      if (!w.running) next_split(w);
      if (run_warp(w, Mode::general) == Stop::slice) sliced = true;
    }
    charge();
    if (alive_lanes() == 0) return Status::done;
    if (release_barriers()) {
      if (mode_ == Mode::lockstep) return Status::yielded;
      pass = 0;
      continue;
    }
    if (!ran) deadlock();
    if (sliced) ++pass;
  }
  return Status::yielded;
}

// Lets go the warps whose barrier is complete. Back to lockstep when all of them are there, together.
bool BlockRun::release_barriers() {
  struct Waiting {
    uint32_t lanes = 0, warps = 0, expected = 0;
  };
  std::array<Waiting, 16> at{};
  for (const Warp& w : warps_)
    for (const Split& s : w.at_barrier) {
      const BlockCode& c = code_.blocks[s.block];
      const uint32_t id = w.at<uint32_t>(c.barrier_id_slot)[lowest(s.mask)] & 15;
      at[id].lanes += count_lanes(s.mask);
      at[id].warps += 1;
      at[id].expected = w.at<uint32_t>(c.barrier_count_slot)[lowest(s.mask)];
    }
  bool released = false;
  for (uint32_t id = 0; id < 16; ++id) {
    const Waiting& b = at[id];
    if (b.lanes == 0) continue;
    const bool complete = b.expected == 0 ? b.lanes == alive_lanes() : b.warps * kLanes + arrived_[id] >= b.expected;
    if (!complete) continue;
    released = true;
    arrived_[id] = 0;
    // What a bar.red gives to everybody who waits at it.
    uint32_t votes = 0, lanes = 0;
    for (const Warp& w : warps_)
      for (const Split& s : w.at_barrier) {
        const BlockCode& c = code_.blocks[s.block];
        if ((w.at<uint32_t>(c.barrier_id_slot)[lowest(s.mask)] & 15) != id) continue;
        lanes += count_lanes(s.mask);
        if (c.barrier_predicate != kNoSlot) votes += count_lanes(*w.at<uint32_t>(c.barrier_predicate) & s.mask);
      }
    uint32_t common = kNone;
    bool together = b.expected == 0;
    for (Warp& w : warps_) {
      std::vector<Split> still;
      for (Split s : w.at_barrier) {
        const BlockCode& c = code_.blocks[s.block];
        if ((w.at<uint32_t>(c.barrier_id_slot)[lowest(s.mask)] & 15) != id) {
          still.push_back(s);
          continue;
        }
        if (c.barrier_result != kNoSlot) {
          const auto mode = static_cast<BarrierMode>(c.barrier->mode);
          const uint32_t holds = (mode == BarrierMode::and_ ? votes == lanes : votes > 0) ? ~0u : 0;
          uint32_t* to = w.at<uint32_t>(c.barrier_result);
          if (mode != BarrierMode::popc) *to = c.barrier_result_scalar ? holds : (*to & ~s.mask) | (holds & s.mask);
          else if (c.barrier_result_scalar) *to = votes;
          else
            for (uint32_t m = s.mask; m; m &= m - 1) to[lowest(m)] = votes;
          if (c.barrier_expand.run) c.barrier_expand.run(c.barrier_expand, w);
        }
        together = together && s.mask == w.alive && s.join == kNone && (common == kNone || common == s.block);
        common = s.block;
        w.now = s;
        if (go(w, c.next)) w.ready.push_back(w.now);
        w.running = false;
      }
      w.at_barrier = std::move(still);
    }
    if (together && common != kNone && !launch_.program->needs_general_mode && try_lockstep(code_.blocks[common].next)) return true;
  }
  return released;
}

bool BlockRun::try_lockstep(uint32_t block) {
  if (launch_.program->region_of[block] == kNone) return false;
  const Warp* first = nullptr;
  for (const Warp& w : warps_) {
    if (!w.alive) continue;
    if (w.ready.size() != 1 || !w.at_sync.empty() || !w.at_barrier.empty() || w.ready[0].block != block || w.ready[0].mask != w.alive ||
        w.ready[0].join != kNone || w.hoisted != kNone)
      return false;
    if (!first) first = &w;
  }
  if (!first) return false;
  std::memcpy(block_area_, first->base[kBlock], code_.block_bytes);
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

void BlockRun::deadlock() {
  KernelFault f{Fault::deadlock, {}, kNone, 0, {}};
  for (const Warp& w : warps_) {
    for (const std::vector<Split>* waiting : {&w.at_sync, &w.at_barrier})
      for (const Split& s : *waiting) {
        const BasicBlock& b = launch_.program->blocks[s.block];
        const bool barrier = waiting == &w.at_barrier;
        const Instruction& i = launch_.program->code[barrier ? b.last - 1 : b.first];
        char text[128];
        std::snprintf(text, sizeof text, "warp %u, lanes 0x%08x wait at PTX line %u (%s)", w.index, s.mask, i.ptx_line,
                      barrier ? "a barrier of the block" : "for lanes of their warp that never come");
        if (f.instruction == kNone) {
          f.instruction = barrier ? b.last - 1 : b.first;
          f.lanes = s.mask;
          current_ = w.index;
        }
        if (f.notes.size() < 8) f.notes.push_back(text);
      }
  }
  f.message = "deadlock: no thread of the block can go on; a real GPU would hang here";
  throw f;
}

uint64_t block_index(const Warp& warp) { return warp.owner->index(); }

}  // namespace coalesce::machine
