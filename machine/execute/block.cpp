// A block's life: lockstep regions, turns of its warps. Its beginning: block_begin.cpp; one warp: warp.cpp; barriers:
// barriers.cpp; from one mode to another: modes.cpp.
#include "machine/execute/block.h"

#include <algorithm>
#include <cstring>

#include "machine/execute/launch.h"
#include "machine/isa/row.h"

namespace coalesce::machine {

namespace {

// BlockRun::kSlice once the block is known to hold lanes that wait for each other.
constexpr uint32_t kSpinningSlice = 1u << 8;
// The same if all blocks of the grid run together: a block mostly polls for the arrival of the others.
constexpr uint32_t kCooperativeSlice = 1u << 6;
// Slices that a warp polls without success, while other warps and blocks have their turns, before break_joins()
// releases lanes that wait at its joins.
constexpr uint32_t kStallsBeforeBreak = 8;

}  // namespace

void BlockRun::use(std::shared_ptr<const NativeKernel> kernel) {
  if (kernel && kernel != runs_) {
    runner_ = kernel->runner(*this);
    runs_ = kernel;
  }
  native_ = std::move(kernel);
}

void BlockRun::native_at(uint64_t block, uint32_t warp, uint32_t basic_block) {
  index_ = block;
  current_ = warp;
  last_block_ = basic_block;
  ctaid_ = block_at(launch_.grid, launch_.cluster, block);
}

void BlockRun::native_charge(uint64_t block, uint32_t warp, uint32_t basic_block, uint32_t mask) {
  native_at(block, warp, basic_block);
  warps_[warp].now.mask = mask;
  charge();
}

void BlockRun::start(uint64_t first, uint64_t end) {
  if (!native_ || !native_->enters(0) || launch_.program->needs_general_mode) return start(first);
  if (code_ != launch_.code) lay_out(*launch_.code);
  begin(first);
  native_end_ = end;
}

uint32_t BlockRun::alive_lanes() const {
  uint32_t n = 0;
  for (const Warp& w : warps_) n += count_lanes(w.alive);
  return n;
}

// Adds what has run to the launch's instruction count now and then, and stops a kernel that has used up its budget.
void BlockRun::charge() {
  Launch& launch = worker_.launch;
  const uint64_t total =
      launch.instructions.fetch_add(worker_.instructions, std::memory_order_relaxed) + worker_.instructions;
  executed_ += worker_.instructions - uncounted_;
  worker_.instructions = uncounted_ = 0;
  if (launch.interrupted && launch.interrupted->load(std::memory_order_relaxed))
    throw KernelFault{Fault::budget, "interrupted", kNone, 0, {}};
  if (total > launch.max_instructions) {
    const Warp& w = warps_[current_];
    throw KernelFault{Fault::budget,
                      "the kernel has executed " + std::to_string(launch.max_instructions) +
                          " warp instructions and has not ended (--max-instructions); it was in the loop here",
                      launch_.program->blocks[last_block_].first,
                      w.now.mask,
                      {}};
  }
  if (launch.notice) warn_if_polling();
}

void BlockRun::warn_if_polling() {
  const uint32_t polled = worker_.watch.look(worker_.tally);
  if (polled == kNone) return;
  Diagnostic d;
  d.severity = Severity::warning;
  d.message = "the kernel has stored nothing for " + std::to_string(launch_.polling_limit.count() / 1000) +
              " seconds and goes on reading this; it may be waiting for somebody to write it";
  const Warp& w = warps_[current_];
  d = diagnose(launch_, *this, polled, w.now.mask != 0 ? w.now.mask : w.alive, std::move(d));
  d.notes.push_back(
      "the host's next call of CUDA, other streams' kernels and, where it has no memory that both can write, the "
      "host's "
      "next statement come after this kernel");
  (*launch_.notice)(d);
}

BlockRun::Status BlockRun::advance() {
  uncounted_ = worker_.instructions;
  if (native_end_ && advance_native(native_end_) == Status::done) return Status::done;
  for (;;) {
    if (mode_ == Mode::lockstep) {
      if (advance_lockstep() == Status::done) return Status::done;
    } else {
      const Status s = advance_general();
      if (mode_ == Mode::lockstep) continue;
      executed_ = instructions();
      uncounted_ = worker_.instructions;
      return s;
    }
  }
}

uint32_t BlockRun::next_after_region(const BlockCode& c) const {
  switch (c.end) {
    case EndKind::exit:
      return kNone;
    case EndKind::branch: {
      const bool p = *warps_[0].at<uint32_t>(c.predicate) & 1;
      return p != c.negated ? c.taken : c.next;
    }
    case EndKind::table: {
      const uint32_t i = *warps_[0].at<uint32_t>(c.predicate);
      return (*c.table)[std::min<std::size_t>(i, c.table->size() - 1)];
    }
    default:
      return c.next;
  }
}

// Native code goes on from the beginning of region_. Done: all blocks up to `end` have ended. Yielded: the interpreter
// goes on, at the beginning of region_ of block index().
BlockRun::Status BlockRun::advance_native(uint64_t end) {
  const NativeStop stop = runner_->run(index_, end, region_);
  if (stop.block != index_) {
    begin(stop.block);
  } else if (native_end_) {
    native_end_ = 0;
    set_block_builtins(block_area_);
  }
  if (stop.region == kNone) return Status::done;
  region_ = stop.region;
  return Status::yielded;
}

// Returns done, or yielded after having switched to general mode.
BlockRun::Status BlockRun::advance_lockstep() {
  const Decoded& program = *launch_.program;
  for (;;) {
    if (native_ && code_ == launch_.code && native_->enters(region_) && advance_native(index_ + 1) == Status::done)
      return Status::done;
    const Region& region = program.regions[region_];
    {
      std::byte* to = saved_.data();
      if (const std::vector<Saved>& saved = code_->saved[region_]; !saved.empty()) {
        saved_.resize(code_->block_bytes);
        to = saved_.data();
        for (const Saved& s : saved) std::memcpy(to, block_area_ + s.offset, s.bytes), to += s.bytes;
      }
      Context& uniform = warps_[0];
      uniform.active = 1;
      const std::vector<Stream>& hoisted = code_->hoisted[region_];
      for (uint32_t s = hoisted.front().first; s < hoisted.back().last; ++s)
        code_->steps[s].run(code_->steps[s], uniform);
    }
    bool any = false;
    const uint32_t n = static_cast<uint32_t>(warps_.size()), step = code_->together[region_].empty() ? 1 : group_;
    for (uint32_t first = 0; first < n; first += step) {
      const uint32_t last = std::min(first + step, n);
      for (uint32_t k = first; k < last; ++k) {
        warps_[k].now = {region.chain.front(), warps_[k].alive, kNone, false, false};
        warps_[k].running = warps_[k].alive != 0;
        warps_[k].last_lockstep = kNone;
      }
      const bool ended = last - first > 1 && run_together(region_, first, last);
      for (uint32_t k = first; k < last; ++k) {
        Warp& w = warps_[k];
        if (!ended && w.alive) {
          current_ = k;
          begin_turn();
          const Stop stop = run_warp(w, Mode::lockstep);
          if (stop == Stop::waiting || stop == Stop::slice) {
            enter_general(region_, k, last);
            return Status::yielded;
          }
        }
        any = any || w.alive;
      }
    }
    if (worker_.instructions > (1u << 16)) charge();
    if (!any) return Status::done;
    const BlockCode& last = code_->blocks[region.chain.back()];
    if (last.end == EndKind::barrier && !last.divergent) finish_barrier_lockstep(last);
    const uint32_t next = last.divergent || last.divergent_branch ? region.after : next_after_region(last);
    if (next == kNone) return Status::done;
    region_ = program.region_of[next];
  }
}

uint32_t BlockRun::slice() const { return launch_.together() ? kCooperativeSlice : spins_ ? kSpinningSlice : kSlice; }

void BlockRun::begin_turn() {
  polled_ = false;
  fuel_ = slice();
  waits_ = used_ = 0;
}

BlockRun::Status BlockRun::advance_general() {
  const uint32_t passes = launch_.together() ? 1 : 4;
  for (uint32_t polled = 0; polled < (launch_.overtaken() ? 1 : passes * slice());) {
    bool ran = false;
    uint32_t longest = 0;
    for (const uint32_t k : turns_) {
      Warp& w = warps_[k];
      if (!w.alive || (!w.running && w.ready.empty())) continue;
      ran = true;
      current_ = w.index;
      begin_turn();
      if (!w.running) next_split(w);
      if (run_warp(w, Mode::general) != Stop::slice) {
        w.stalled = 0;
        continue;
      }
      const uint32_t used = used_ ? used_ : slice();
      longest = std::max(longest, used);
      if (observer_) observer_->turn_ends(w);
      // Each of its splits has had that many slices.
      w.stalled += used;
      if (w.stalled < kStallsBeforeBreak * slice() * (w.ready.size() + w.running)) continue;
      w.stalled = 0;
      if (holding_joins(w).empty()) continue;
      if (code_ == launch_.code && !launch_.program->regions.empty()) enter_scattered();
      break_joins(w);
      spins_ = true;
    }
    charge();
    if (alive_lanes() == 0) return Status::done;
    if (release_barriers()) {
      released_ = true;
      if (mode_ == Mode::lockstep) return Status::yielded;
      polled = 0;
      continue;
    }
    if (!ran && !release_barriers(true) && !let_go()) {
      KernelFault f{
          Fault::deadlock, "deadlock: no thread of the block can go on; a real GPU would hang here", kNone, 0, {}};
      add_waits(f);
      throw f;
    }
    polled += longest;
    if (longest && waits_for_others()) break;
  }
  // Has anything happened since the last time? Lanes that exit count: they are what a lock hands on to.
  const uint32_t alive = alive_lanes();
  idle_yields_ = alive == alive_at_yield_ && !released_ ? idle_yields_ + 1 : 0;
  alive_at_yield_ = alive;
  released_ = false;
  return Status::yielded;
}

// The warps' order in this block, by the launch's schedule.
std::vector<uint32_t> BlockRun::order_of_warps() const {
  std::vector<uint32_t> order(warps_.size());
  for (uint32_t k = 0; k < order.size(); ++k)
    order[k] = static_cast<uint32_t>(scheduled(launch_.schedule, index_ + 1, k, order.size()));
  return order;
}

uint64_t block_index(const Warp& warp) { return warp.owner->index(); }

}  // namespace coalesce::machine
