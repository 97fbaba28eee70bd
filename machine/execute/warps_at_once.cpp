// Warps of a block that run the beginning of a region together: step after step, each step for all of them. A step of a
// computing instruction finds its operands once for all warps, which for most instructions is more than half of its
// work.
//
// Nothing can tell this from one warp after the other but the order of their memory accesses within the region, between
// barriers, on which no program may rely. What has an order all the same is not run this way (Lowering::has_order).
#include "machine/execute/block.h"

namespace coalesce::machine {

// Runs the blocks that `region` begins with for the warps [first, last). True: the region has ended for all of them;
// else each goes on from the end of the block that they came to.
bool BlockRun::run_together(uint32_t region, uint32_t first, uint32_t last) {
  uint32_t live = 0, lanes = 0;
  for (uint32_t k = first; k < last; ++k) {
    live += warps_[k].alive != 0;
    lanes += count_lanes(warps_[k].alive);
    warps_[k].active = warps_[k].alive;
  }
  if (live == 0) return true;
  const std::vector<Together>& blocks = code_->together[region];
  uint32_t at = 0;
  for (;; ++at) {
    const uint32_t b = blocks[at].block;
    last_block_ = b;
    if (observer_)
      for (uint32_t k = first; k < last; ++k)
        if (warps_[k].active) observer_->enters(b, warps_[k]);
    worker_.tally.executions[b] += live;
    worker_.tally.lanes[b] += lanes;
    worker_.instructions += uint64_t{live} * launch_.program->blocks[b].instructions;
    run_steps(code_->blocks[b].lockstep, first, last, true, {b, 0, kNone, true, false});
    if (at + 1 == blocks.size()) break;
    if (code_->blocks[b].divergent_branch && !run_beside(blocks[at], blocks[at + 1].block, first, last)) break;
  }
  const BlockCode& c = code_->blocks[blocks[at].block];
  const bool ended = c.ends_region && !c.divergent_branch;
  for (uint32_t k = first; k < last; ++k) {
    Warp& w = warps_[k];
    if (!w.alive) continue;
    current_ = k;
    w.last_lockstep = blocks[at].block;
    w.now = {blocks[at].block, w.alive, kNone, true, false};
    if (!ended) continue;
    w.running = false;
    if (c.end == EndKind::exit) w.alive = 0;
  }
  return ended;
}

// After the branch at `at`: lanes that do not go to `next` run the block beside it. False: there is none.
bool BlockRun::run_beside(const Together& at, uint32_t next, uint32_t first, uint32_t last) {
  const BlockCode& c = code_->blocks[at.block];
  uint32_t live = 0, warps = 0, parted = 0, lanes = 0;
  if (observer_ && observer_->shadows)
    for (uint32_t k = first; k < last; ++k)
      if (Warp& w = warps_[k]; w.alive) observer_->decides(launch_.program->blocks[at.block].last - 1, w.alive, w);
  for (uint32_t k = first; k < last; ++k) {
    Warp& w = warps_[k];
    uint32_t beside = *w.at<uint32_t>(c.predicate);
    if (c.negated != (c.taken == next)) beside = ~beside;
    w.active = beside &= w.alive;
    live += w.alive != 0;
    warps += beside != 0;
    parted += beside != 0 && beside != w.alive;
    lanes += count_lanes(beside);
  }
  if (warps && at.beside == kNone) return false;
  if (warps) {
    worker_.tally.divergent[at.block] += parted;
    if (observer_)
      for (uint32_t k = first; k < last; ++k)
        if (warps_[k].active) observer_->enters(at.beside, warps_[k]);
    worker_.tally.executions[at.beside] += warps;
    worker_.tally.lanes[at.beside] += lanes;
    worker_.instructions += uint64_t{warps} * launch_.program->blocks[at.beside].instructions;
    run_steps(code_->blocks[at.beside].general, first, last, warps == live, {next, 0, kNone, false, false});
  }
  for (uint32_t k = first; k < last; ++k) warps_[k].active = warps_[k].alive;
  return true;
}

// Steps for those of the warps [first, last) that have lanes on; all: every one that is alive has. `onward`: where they
// go on.
void BlockRun::run_steps(const Stream& stream, uint32_t first, uint32_t last, bool all, const Split& onward) {
  Warp* const begin = warps_.data() + first;
  Warp* const end = warps_.data() + last;
  const Step* step = code_->steps.data() + stream.first;
  const Step* const stop = code_->steps.data() + stream.last;
  Warp* at = begin;
  try {
    for (; step != stop; ++step) {
      const bool shadows = observer_ && observer_->shadows;
      if (!shadows && (step->many == Many::active || (all && step->many == Many::all))) {
        // Warps that have exited are computed like the others, because their registers are dead.
        begin->together = last - first;
        step->run(*step, *begin);
        begin->together = 1;
        continue;
      }
      const uint32_t instruction =
          shadows ? code_->instruction_of[static_cast<std::size_t>(step - code_->steps.data())] : kNone;
      for (at = begin; at != end; ++at) {
        if (!at->active) continue;
        if (instruction != kNone) observer_->computes(instruction, *at);
        step->run(*step, *at);
      }
    }
  } catch (const KernelFault& f) {
    // Warps before this one would have come to the region's end: a fault of theirs is the block's first.
    if (f.warp != kNone) at = &warps_[f.warp];
    begin->together = 1;
    for (Warp* w = begin; w != at; ++w) {
      if (!w->alive) continue;
      current_ = w->index;
      if (w->active)
        for (const Step* s = step + 1; s != stop; ++s) s->run(*s, *w);
      w->now = onward;
      w->now.mask = w->alive;
      begin_turn();
      run_warp(*w, Mode::lockstep);
    }
    current_ = at->index;
    throw;
  }
}

}  // namespace coalesce::machine
