#include "native/emit/idle_warps.h"

#include "native/emit/registers.h"
#include "native/emit/warp_loop.h"

namespace coalesce::native {

using namespace llvm;

void prepare_idle_warps(Emitter& e, uint32_t r, Value* all_on) {
  using Form = IdleWarps::Form;
  IRBuilder<>& ir = e.ir;
  const IdleWarps& idle = e.facts.regions[r].idle;
  if (idle.form == Form::none) return;
  if (idle.form == Form::below) {
    e.region.ordered = ir.getTrue();
    return;
  }
  Value* factor = scalar_of(e, idle.factor, Element::b32);
  if (idle.form == Form::product_below) {
    Value* by = ir.CreateZExt(factor, ir.getInt64Ty());
    Value* last = ir.CreateMul(by, ir.getInt64(e.threads() - 1));
    e.region.ordered = ir.CreateICmpULT(last, ir.getInt64(uint64_t{1} << 31));
    // Without a factor every lane's product is 0; with one only the first lane's.
    if (idle.equals_zero) e.region.ordered = ir.CreateAnd(e.region.ordered, ir.CreateIsNotNull(by));
    return;
  }
  Value* period = idle.form == Form::masked ? ir.CreateAdd(factor, ir.getInt32(1)) : factor;
  Value* less = ir.CreateSub(period, ir.getInt32(1));
  Value* power = ir.CreateAnd(ir.CreateIsNull(ir.CreateAnd(period, less)), ir.CreateICmpSGT(period, ir.getInt32(1)));
  Value* lanes = e.spread(ir.getInt32(0), 1);
  e.region.periodic = ir.CreateAnd(all_on, power);
  e.region.mask = e.bits_of(ir.CreateIsNull(ir.CreateAnd(lanes, e.spread(less, 0))));
  e.region.step = ir.CreateSelect(e.region.periodic,
                                  ir.CreateBinaryIntrinsic(Intrinsic::umax, ir.CreateLShr(period, 5), ir.getInt32(1)),
                                  ir.getInt32(1));
}

void enter_periodic_warp(Emitter& e, uint32_t r, BasicBlock* next) {
  IRBuilder<>& ir = e.ir;
  const machine::BasicBlock& block = e.p.blocks[e.facts.regions[r].idle.head];
  BasicBlock* straight = e.block("straight");
  ir.CreateCondBr(e.region.periodic, straight, next);
  ir.SetInsertPoint(straight);
  begin_warp(e, r);
  uint32_t s = 0;
  while (e.facts.regions[r].plan.scopes[s].at != block.reconverge) ++s;
  ir.CreateStore(ir.CreateNot(e.region.mask), e.region.arrived[s]);
  ir.CreateStore(e.region.mask, e.var.mask);
  e.counters.add({{e.counters.layout().divergent(e.facts.regions[r].idle.head), 1}}, 1);
  ir.CreateBr(e.region.masked[block.taken == block.reconverge ? block.next : block.taken]);
}

}  // namespace coalesce::native
