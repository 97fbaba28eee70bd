#include "native/emit/divergence.h"

#include <algorithm>
#include <cstddef>

#include "native/emit/region.h"
#include "native/emit/registers.h"
#include "native/emit/warp_loop.h"

namespace coalesce::native {

using namespace llvm;
using machine::Kind;

namespace {

// All lanes of `active`, which are those of e.var.mask, go on at `to`.
void go(Emitter& e, uint32_t r, uint32_t from, uint32_t to, const Active& active) {
  IRBuilder<>& ir = e.ir;
  const RegionPlan& plan = e.facts.regions[r].plan;
  const uint32_t s = plan.scope_of[from];
  if (s != kNone && plan.scopes[s].at == to) {
    ir.CreateBr(e.region.arrive[s]);
    return;
  }
  if (!e.region.full[to]) {  // the region's end
    ir.CreateBr(e.region.warp_end);
    return;
  }
  ir.CreateBr(active.mask ? e.region.masked[to] : e.region.full[to]);
}

// Lanes of `mask`, at least one, begin at `b`.
void enter(Emitter& e, uint32_t b, Value* mask) {
  IRBuilder<>& ir = e.ir;
  if (!e.region.full[b]) {
    ir.CreateBr(e.region.warp_end);
    return;
  }
  ir.CreateStore(mask, e.var.mask);
  ir.CreateCondBr(ir.CreateICmpEQ(mask, ir.getInt32(~0u)), e.region.full[b], e.region.masked[b]);
}

// A loop within a region is charged now and then, so that it cannot run for ever.
void emit_tick(Emitter& e, uint32_t b, const Active& active) {
  IRBuilder<>& ir = e.ir;
  Value* left = ir.CreateSub(ir.CreateLoad(ir.getInt64Ty(), e.var.fuel), ir.getInt64(1));
  ir.CreateStore(left, e.var.fuel);
  BasicBlock* empty = e.split(ir.CreateIsNotNull(left), "empty", true);
  BasicBlock* on = ir.GetInsertBlock();
  ir.SetInsertPoint(empty);
  ir.CreateStore(ir.getInt64(kFuel), e.var.fuel);
  e.check(e.call(offsetof(Frame, charge), ir.getInt32Ty(),
                 {e.warp.index, e.mask_of(active), ir.getInt32(b), ir.getInt64(kFuel * e.p.blocks[b].instructions)}));
  BasicBlock* onward = e.block("onward");
  ir.CreateBr(onward);
  ir.SetInsertPoint(on);
  ir.CreateBr(onward);
  ir.SetInsertPoint(onward);
}

void emit_branch(Emitter& e, uint32_t r, uint32_t b, const Active& active) {
  IRBuilder<>& ir = e.ir;
  const machine::BasicBlock& block = e.p.blocks[b];
  const RegionPlan& plan = e.facts.regions[r].plan;
  const Instruction& last = e.p.code[block.last - 1];
  Value* taken = predicate_mask(e, last.guard);
  if (last.guard_negated) taken = ir.CreateNot(taken);
  if (active.mask) taken = ir.CreateAnd(taken, active.mask);
  Value* rest = ir.CreateXor(taken, e.mask_of(active));
  if (block.divergent && (block.taken <= b || block.next <= b)) emit_tick(e, b, active);
  uint32_t s = 0;
  while (plan.scopes[s].at != block.reconverge) ++s;
  const bool taken_waits = block.taken == block.reconverge, next_waits = block.next == block.reconverge;
  BasicBlock *all_taken = e.block("all_taken"), *not_all = e.block("not_all"), *all_next = e.block("all_next"),
             *part = e.block("part");
  // A loop over few warps or many: either way is likely.
  ir.CreateCondBr(ir.CreateIsNull(rest), all_taken, not_all);
  const auto undivided = [&](BasicBlock* at, uint32_t to) {
    ir.SetInsertPoint(at);
    if (e.region.ordered && b == e.facts.regions[r].idle.head && to == block.reconverge && !active.mask) {
      BasicBlock* another = e.block("another");
      ir.CreateCondBr(e.region.ordered, e.region.done, another);
      ir.SetInsertPoint(another);
    }
    go(e, r, b, to, active);
  };
  undivided(all_taken, block.taken);
  ir.SetInsertPoint(not_all);
  ir.CreateCondBr(ir.CreateIsNull(taken), all_next, part);
  undivided(all_next, block.next);

  ir.SetInsertPoint(part);
  e.counters.add({{e.counters.layout().divergent(b), 1}}, 1);
  const auto wait = [&](Value* m) {
    ir.CreateStore(ir.CreateOr(ir.CreateLoad(ir.getInt32Ty(), e.region.arrived[s]), m), e.region.arrived[s]);
  };
  Value* now = rest;
  uint32_t to = block.next;
  if (next_waits) {
    wait(rest);
    now = taken;
    to = block.taken;
  } else if (taken_waits) {
    wait(taken);
  } else {
    ir.CreateStore(taken, e.pending[b]);
  }
  ir.CreateStore(now, e.var.mask);
  ir.CreateBr(e.region.masked[to]);
}

}  // namespace

void emit_end_of_block(Emitter& e, uint32_t r, uint32_t b, const Active& active) {
  IRBuilder<>& ir = e.ir;
  const machine::BasicBlock& block = e.p.blocks[b];
  const machine::Region& region = e.p.regions[r];
  const Instruction& last = e.p.code[block.last - 1];
  if (!block.divergent && !block.divergent_branch) {
    if (b == region.chain.back()) {
      ir.CreateBr(e.region.warp_end);
      return;
    }
    return go(e, r, b, block.next, active);
  }
  if (last.kind == Kind::exit) {
    Value* at = ir.CreateInBoundsGEP(ir.getInt32Ty(), e.field(offsetof(Frame, alive), "alive"),
                                     ir.CreateZExt(e.warp.index, ir.getInt64Ty()));
    Value* alive = ir.CreateLoad(ir.getInt32Ty(), at);
    Value* left = active.mask ? ir.CreateAnd(alive, ir.CreateNot(active.mask)) : ir.getInt32(0);
    ir.CreateStore(left, at);
    const auto add = [&](AllocaInst* sum, Value* n) {
      ir.CreateStore(ir.CreateAdd(ir.CreateLoad(ir.getInt64Ty(), sum), n), sum);
    };
    add(e.var.alive_lanes, ir.CreateNeg(e.count_lanes(e.mask_of(active))));
    add(e.var.alive_warps, ir.CreateSExt(ir.CreateIsNull(left), ir.getInt64Ty()));
    const uint32_t s = e.facts.regions[r].plan.scope_of[b];
    ir.CreateStore(ir.getInt32(0), e.var.mask);
    ir.CreateBr(s == kNone ? e.region.warp_next : e.region.arrive[s]);
    return;
  }
  if (block.taken == kNone) return go(e, r, b, block.next, active);
  emit_branch(e, r, b, active);
}

// Lanes of e.var.mask have arrived (none: they have exited). Those that wait run first.
void emit_arrival(Emitter& e, uint32_t r, uint32_t index) {
  IRBuilder<>& ir = e.ir;
  const Scope& s = e.facts.regions[r].plan.scopes[index];
  Type* i32 = ir.getInt32Ty();
  ir.SetInsertPoint(e.region.arrive[index]);
  Value* here = ir.CreateOr(ir.CreateLoad(i32, e.region.arrived[index]), ir.CreateLoad(i32, e.var.mask));
  for (uint32_t b : s.two_sided) {
    Value* waiting = ir.CreateLoad(i32, e.pending[b]);
    BasicBlock *side = e.block("side"), *none = e.block("none");
    ir.CreateCondBr(ir.CreateIsNull(waiting), none, side);
    ir.SetInsertPoint(side);
    ir.CreateStore(here, e.region.arrived[index]);
    ir.CreateStore(ir.getInt32(0), e.pending[b]);
    ir.CreateStore(waiting, e.var.mask);
    ir.CreateBr(e.region.masked[e.p.blocks[b].taken]);
    ir.SetInsertPoint(none);
  }
  ir.CreateStore(ir.getInt32(0), e.region.arrived[index]);
  if (e.facts.regions[r].plan.exits) {
    BasicBlock *some = e.block("some"), *gone = e.block("gone");
    ir.CreateCondBr(ir.CreateIsNotNull(here), some, gone);
    ir.SetInsertPoint(gone);  // with a mask of none
    ir.CreateBr(s.parent == kNone ? e.region.warp_next : e.region.arrive[s.parent]);
    ir.SetInsertPoint(some);
  }
  if (s.at == kNone) {
    ir.CreateUnreachable();
    return;
  }
  enter(e, s.at, here);
}

}  // namespace coalesce::native
