#include "native/emit/warp_loop.h"

#include <algorithm>
#include <cstddef>

#include "machine/execute/warp.h"
#include "native/emit/arithmetic.h"
#include "native/emit/checked_affine.h"
#include "native/emit/divergence.h"
#include "native/emit/hoisted_checks.h"
#include "native/emit/idle_warps.h"
#include "native/emit/interpreter.h"
#include "native/emit/lane_operations.h"
#include "native/emit/memory.h"
#include "native/emit/region.h"
#include "native/emit/registers.h"
#include "native/emit/tiles.h"
#include "native/emit/warps_at_once.h"

namespace coalesce::native {

using namespace llvm;
using machine::Kind;
using machine::kLanes;

void select_warp(Emitter& e, Value* w) {
  IRBuilder<>& ir = e.ir;
  e.warp.index = w;
  Value* first = e.field(offsetof(Frame, warp_area), "warps");
  Type* i64 = ir.getInt64Ty();
  e.warp.area =
      ir.CreateInBoundsGEP(ir.getInt8Ty(), first, ir.CreateMul(ir.CreateZExt(w, i64), ir.getInt64(e.code.warp_bytes)));
}

Value* alive_mask(Emitter& e, Value* w) {
  IRBuilder<>& ir = e.ir;
  return ir.CreateInBoundsGEP(ir.getInt32Ty(), e.field(offsetof(Frame, alive), "alive"),
                              ir.CreateZExt(w, ir.getInt64Ty()));
}

void load_registers(Emitter& e, uint32_t r) {
  const std::vector<uint32_t>& live = e.p.blocks[e.p.regions[r].chain.front()].live_in;
  for (uint32_t reg = 0; reg < e.p.registers.size(); ++reg) {
    if (!e.facts.regions[r].registers.read[reg] && !e.facts.regions[r].registers.written[reg]) continue;
    if (!std::binary_search(live.begin(), live.end(), reg)) {
      set_register(e, reg, Constant::getNullValue(variable(e, reg)->getAllocatedType()));
      continue;
    }
    const Element element = e.p.registers[reg].element;
    const machine::Home& home = e.code.homes[reg];
    set_register(e, reg, load_slot(e, e.is_scalar(reg) ? home.scalar : home.vector, element, !e.is_scalar(reg)));
    if (!e.is_scalar(reg)) checked_affine_from_vector(e, reg, vector_of(e, machine::Value::of(reg), element));
  }
}

void store_registers(Emitter& e, uint32_t r) {
  for (uint32_t reg = 0; reg < e.p.registers.size(); ++reg) {
    if (!e.facts.regions[r].registers.left[reg]) continue;
    const machine::Home& home = e.code.homes[reg];
    if (e.facts.any_nan[reg] && !e.is_scalar(reg))
      store_slot(e, home.vector, vector_of(e, machine::Value::of(reg), Element::b32, true));
    else
      spill(e, reg, e.is_scalar(reg) ? home.scalar : home.vector, !e.is_scalar(reg));
  }
}

void begin_warp(Emitter& e, uint32_t r) {
  IRBuilder<>& ir = e.ir;
  for (AllocaInst* a : e.region.arrived) ir.CreateStore(ir.getInt32(0), a);
  for (const Scope& s : e.facts.regions[r].plan.scopes)
    for (uint32_t b : s.two_sided) ir.CreateStore(ir.getInt32(0), e.pending[b]);
  load_registers(e, r);
}

void emit_instruction(Emitter& e, uint32_t index, const Active& outer) {
  IRBuilder<>& ir = e.ir;
  const Instruction& i = e.p.code[index];
  switch (i.kind) {
    case Kind::nothing:
    case Kind::branch:
    case Kind::branch_table:
    case Kind::exit:
    case Kind::barrier:
    case Kind::warp_barrier:
      return;
    default:
      break;
  }
  Active active = outer;
  BasicBlock* after = nullptr;
  if (i.guard != kNone) {
    Value* p = predicate_mask(e, i.guard);
    if (i.guard_negated) p = ir.CreateNot(p);
    active.mask = outer.mask ? ir.CreateAnd(p, outer.mask) : p;
    active.keeps = active.guarded = true;
    after = e.block("guarded");
    BasicBlock* on = e.block("on");
    ir.CreateCondBr(ir.CreateIsNotNull(active.mask), on, after);
    ir.SetInsertPoint(on);
    active.lanes = e.lanes_on(active.mask);
    if (i.counts && i.guard_tally != kNone) {
      e.counters.add({{e.counters.layout().guard_executions(i.guard_tally), 1}}, 1);
      e.counters.add({{e.counters.layout().guard_lanes(i.guard_tally), 1}}, e.count_lanes(active.mask));
    }
  }
  if (i.kind == Kind::pure) {
    emit_checked_affine(e, i);
    emit_pure(e, index, active);
  } else if (i.memory != kNone) {
    emit_memory(e, index, active);
  } else if (!emit_lane_operation(e, index, active)) {
    call_interpreter(e, index, active);
  }
  if (after) {
    ir.CreateBr(after);
    ir.SetInsertPoint(after);
  }
  // The content of shared memory under a guard is not known behind it.
  if (after || (i.kind != Kind::pure && i.kind != Kind::load)) return e.known_shared.clear();
  std::erase_if(e.known_shared, [&](const auto& at) {
    const auto is = [&](const machine::Value& v) { return v.is_reg() && v.reg == at.first.first; };
    return std::ranges::count(i.results, at.first.first) != 0 ||
           (i.memory != kNone && std::ranges::any_of(e.p.memory[i.memory].values, is));
  });
}

namespace {

// A basic block of the region, for full warps or for any lanes.
void emit_block(Emitter& e, uint32_t r, uint32_t b, bool full) {
  IRBuilder<>& ir = e.ir;
  const machine::BasicBlock& block = e.p.blocks[b];
  ir.SetInsertPoint(full ? e.region.full[b] : e.region.masked[b]);
  e.known_shared.clear();
  e.interleaved.forget_all();
  Active active;
  active.block = b;
  if (!full) {
    active.mask = ir.CreateLoad(ir.getInt32Ty(), e.var.mask);
    active.lanes = e.lanes_on(active.mask);
    active.keeps = block.divergent;
  }
  if (!counted_by_region(e, r, b)) {
    if (full) {
      e.counters.add({{e.counters.layout().executions(b), 1}, {e.counters.layout().lanes(b), kLanes}}, 1);
    } else {
      e.counters.add({{e.counters.layout().executions(b), 1}}, 1);
      e.counters.add({{e.counters.layout().lanes(b), 1}}, e.count_lanes(active.mask));
    }
  }
  for (uint32_t k = block.first; k < block.last; ++k)
    if (block.divergent || !machine::hoistable(e.p, e.p.code[k])) emit_instruction(e, k, active);
  emit_end_of_block(e, r, b, active);
}

}  // namespace

void emit_warp_loop(Emitter& e, uint32_t r) {
  IRBuilder<>& ir = e.ir;
  const RegionPlan& plan = e.facts.regions[r].plan;
  BasicBlock *loop = e.block("warp"), *dead_or_alive = e.block("alive"), *after = e.block("after");
  e.region = {};
  e.region.warp_end = e.block("warp_end");
  e.region.warp_next = e.block("warp_next");
  e.region.full.assign(e.p.blocks.size(), nullptr);
  e.region.masked.assign(e.p.blocks.size(), nullptr);
  e.region.arrive.assign(plan.scopes.size(), nullptr);
  e.region.arrived.assign(plan.scopes.size(), nullptr);
  // If several warps run at once, the warps left over share the code for masked lanes.
  const uint32_t n = e.facts.regions[r].warps_at_once;
  for (uint32_t b : plan.blocks) {
    e.region.masked[b] = e.block("masked");
    e.region.full[b] = n ? e.region.masked[b] : e.block("full");
  }
  for (uint32_t s = 0; s < plan.scopes.size(); ++s) {
    e.region.arrive[s] = e.block("arrive");
    IRBuilder<> at(e.at.entry, e.at.entry->begin());
    e.region.arrived[s] = at.CreateAlloca(ir.getInt32Ty(), nullptr, "arrived");
    for (uint32_t b : plan.scopes[s].two_sided)
      if (!e.pending[b]) e.pending[b] = at.CreateAlloca(ir.getInt32Ty(), nullptr, "pending");
  }
  ir.CreateStore(ir.getInt32(0), e.var.warp);
  // If all lanes of all warps are active, no warp is tested.
  Value* all_on = e.warps() * kLanes == e.threads()
                      ? ir.CreateICmpEQ(ir.CreateLoad(ir.getInt64Ty(), e.var.alive_lanes), ir.getInt64(e.threads()))
                      : ir.getFalse();
  prepare_idle_warps(e, r, all_on);
  prepare_tiles(e, r, all_on);
  e.region.done = after;
  emit_hoisted_checks(e, r, all_on, after);
  ir.CreateBr(loop);

  ir.SetInsertPoint(loop);
  select_warp(e, ir.CreateLoad(ir.getInt32Ty(), e.var.warp, "w"));
  if (n) emit_warps_at_once(e, r, n, all_on, loop, after);
  if (e.region.periodic) {
    BasicBlock* each = e.block("each");
    enter_periodic_warp(e, r, each);
    ir.SetInsertPoint(each);
  }
  BasicBlock *full = e.block("full_warp"), *some = e.block("some"), *ask = e.block("ask");
  ir.CreateCondBr(all_on, full, ask);
  ir.SetInsertPoint(ask);
  Value* alive = ir.CreateLoad(ir.getInt32Ty(), alive_mask(e, e.warp.index));
  ir.CreateCondBr(ir.CreateICmpEQ(alive, ir.getInt32(~0u)), full, dead_or_alive);
  ir.SetInsertPoint(dead_or_alive);
  ir.CreateCondBr(ir.CreateIsNotNull(alive), some, e.region.warp_next);
  const uint32_t head = e.p.regions[r].chain.front();
  for (BasicBlock* at : {full, some}) {
    ir.SetInsertPoint(at);
    begin_warp(e, r);
    ir.CreateStore(at == full ? ir.getInt32(~0u) : alive, e.var.mask);
    ir.CreateBr(!e.region.full[head] ? e.region.warp_end : at == full ? e.region.full[head] : e.region.masked[head]);
  }

  for (uint32_t b : plan.blocks) {
    if (!n) emit_block(e, r, b, true);
    emit_block(e, r, b, false);
  }
  for (uint32_t s = 0; s < plan.scopes.size(); ++s) emit_arrival(e, r, s);

  ir.SetInsertPoint(e.region.warp_end);
  store_registers(e, r);
  ir.CreateBr(e.region.warp_next);

  ir.SetInsertPoint(e.region.warp_next);
  Value* next = ir.CreateAdd(e.warp.index, e.region.step ? e.region.step : ir.getInt32(1));
  ir.CreateStore(next, e.var.warp);
  ir.CreateCondBr(ir.CreateICmpULT(next, ir.getInt32(e.warps())), loop, after);
  ir.SetInsertPoint(after);
}

}  // namespace coalesce::native
