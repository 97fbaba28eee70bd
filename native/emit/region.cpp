#include "native/emit/region.h"

#include <cstddef>

#include "native/emit/arithmetic.h"
#include "native/emit/registers.h"
#include "native/emit/warp_loop.h"

namespace coalesce::native {

using namespace llvm;
using machine::Builtin;
using machine::Kind;

void emit_stop(Emitter& e, uint32_t r) {
  IRBuilder<>& ir = e.ir;
  if (e.stops[r]) return;
  BasicBlock* at = e.stops[r] = e.block("stop");
  ir.SetInsertPoint(at);
  ir.CreateStore(ir.getInt64(r), e.frame_at(offsetof(Frame, region)));
  for (uint32_t reg : e.p.blocks[e.p.regions[r].chain.front()].live_in)
    if (e.p.registers[reg].builtin == Builtin::none && e.is_block_level(reg))
      spill(e, reg, e.code.homes[reg].scalar, false);
  ir.CreateBr(e.at.out);
  if (!e.facts.regions[r].plan.native && e.heads[r]->empty()) {
    ir.SetInsertPoint(e.heads[r]);
    ir.CreateBr(at);
  }
}

namespace {

// All warps go on with the region at `b`. A jump backwards is a loop, which is stopped now and then to be charged.
void go_on(Emitter& e, uint32_t from, uint32_t b) {
  IRBuilder<>& ir = e.ir;
  if (b == kNone) {
    ir.CreateBr(e.at.next_block);
    return;
  }
  const uint32_t to = e.p.region_of[b];
  if (!e.facts.regions[to].plan.native || e.p.regions[to].chain.front() > e.p.regions[from].chain.front()) {
    if (!e.facts.regions[to].plan.native) {
      IRBuilderBase::InsertPointGuard guard(ir);
      emit_stop(e, to);
    }
    ir.CreateBr(e.facts.regions[to].plan.native ? e.heads[to] : e.stops[to]);
    return;
  }
  Value* left = ir.CreateSub(ir.CreateLoad(ir.getInt64Ty(), e.var.fuel), ir.getInt64(1));
  ir.CreateStore(left, e.var.fuel);
  BasicBlock *pause = e.block("pause"), *on = e.block("on");
  ir.CreateCondBr(ir.CreateIsNull(left), pause, on);
  ir.SetInsertPoint(pause);
  ir.CreateStore(ir.getInt32(kPaused), e.var.outcome);
  {
    IRBuilderBase::InsertPointGuard guard(ir);
    emit_stop(e, to);
  }
  ir.CreateBr(e.stops[to]);
  ir.SetInsertPoint(on);
  ir.CreateBr(e.heads[to]);
}

void end_of_region(Emitter& e, uint32_t r) {
  IRBuilder<>& ir = e.ir;
  const machine::Region& region = e.p.regions[r];
  const uint32_t last = region.chain.back();
  const machine::BasicBlock& block = e.p.blocks[last];
  const Instruction& end = e.p.code[block.last - 1];
  if (e.facts.regions[r].plan.exits) {
    BasicBlock* some = e.block("some_alive");
    ir.CreateCondBr(ir.CreateIsNotNull(ir.CreateLoad(ir.getInt64Ty(), e.var.alive_warps)), some, e.at.next_block);
    ir.SetInsertPoint(some);
  }
  if (block.divergent || block.divergent_branch) return go_on(e, r, region.after);
  if (end.kind == Kind::exit) {
    ir.CreateBr(e.at.next_block);
  } else if (end.kind == Kind::branch_table) {
    Value* index = scalar_of(e, end.sources[0], Element::b32);
    BasicBlock* others = e.block("others");
    SwitchInst* to = ir.CreateSwitch(index, others);
    for (uint32_t k = 0; k < block.table.size(); ++k) {
      BasicBlock* at = k + 1 < block.table.size() ? e.block("case") : others;
      if (at != others) to->addCase(ir.getInt32(k), at);
      ir.SetInsertPoint(at);
      go_on(e, r, block.table[k]);
    }
  } else if (block.taken != kNone && end.kind == Kind::branch) {
    Value* p = scalar_of(e, machine::Value::of(end.guard), Element::pred);
    BasicBlock *taken = e.block("taken"), *next = e.block("next");
    ir.CreateCondBr(p, end.guard_negated ? next : taken, end.guard_negated ? taken : next);
    ir.SetInsertPoint(taken);
    go_on(e, r, block.taken);
    ir.SetInsertPoint(next);
    go_on(e, r, block.next);
  } else {
    go_on(e, r, block.next);
  }
}

}  // namespace

bool counted_by_region(const Emitter& e, uint32_t r, uint32_t b) {
  return !e.facts.regions[r].plan.exits && !e.p.blocks[b].divergent;
}

void emit_region(Emitter& e, uint32_t r) {
  IRBuilder<>& ir = e.ir;
  const RegionPlan& plan = e.facts.regions[r].plan;
  const machine::Region& region = e.p.regions[r];
  ir.SetInsertPoint(e.heads[r]);
  ir.CreateStore(ir.getInt64(r), e.frame_at(offsetof(Frame, region)));
  for (uint32_t b : region.chain) {
    if (e.p.blocks[b].divergent) continue;
    for (uint32_t k = e.p.blocks[b].first; k < e.p.blocks[b].last; ++k)
      if (machine::hoistable(e.p, e.p.code[k])) emit_pure(e, k, {});
  }
  if (plan.has_work || plan.exits) emit_warp_loop(e, r);
  if (!plan.exits) {
    Counters::Targets warps, lanes;
    for (uint32_t b : region.chain)
      if (!e.p.blocks[b].divergent)
        warps.push_back({e.counters.layout().executions(b), 1}), lanes.push_back({e.counters.layout().lanes(b), 1});
    e.counters.add(warps, ir.CreateLoad(ir.getInt64Ty(), e.var.alive_warps));
    e.counters.add(lanes, ir.CreateLoad(ir.getInt64Ty(), e.var.alive_lanes));
  }
  end_of_region(e, r);
}

}  // namespace coalesce::native
