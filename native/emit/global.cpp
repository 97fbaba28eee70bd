#include "native/emit/global.h"

#include <cstddef>

#include "native/emit/checked_affine.h"
#include "native/emit/footprint.h"
#include "native/emit/interleaved.h"
#include "native/emit/interpreter.h"
#include "native/emit/move.h"
#include "native/emit/registers.h"

namespace coalesce::native {

using namespace llvm;
using machine::kLanes;

void emit_global(Emitter& e, uint32_t index, const Active& active, bool uniform, Value* address, Value* affine) {
  IRBuilder<>& ir = e.ir;
  const Instruction& i = e.p.code[index];
  const MemoryOp& m = e.p.memory[i.memory];
  const uint64_t bytes = m.bytes();
  Type* i64 = ir.getInt64Ty();
  Value* base = ir.CreateAdd(ir.CreateZExt(address, i64), ir.getInt64(static_cast<uint64_t>(m.offset)));
  const auto state = [&](std::size_t offset) { return ir.CreateLoad(i64, site_state(e, i.memory, offset)); };
  Value* start = state(offsetof(SiteState, base));
  Value *low = base, *high, *inside;
  if (uniform || !active.mask) {
    high = ir.CreateAdd(base, ir.getInt64(uniform ? bytes : bytes * kLanes));
    inside = ir.CreateICmpULT(ir.CreateSub(base, start), state(offsetof(SiteState, limit)));
  } else {
    Value* first = ir.CreateZExt(ir.CreateBinaryIntrinsic(Intrinsic::cttz, active.mask, ir.getTrue()), i64);
    Value* last = ir.CreateSub(
        ir.getInt64(kLanes), ir.CreateZExt(ir.CreateBinaryIntrinsic(Intrinsic::ctlz, active.mask, ir.getTrue()), i64));
    low = ir.CreateAdd(base, ir.CreateMul(first, ir.getInt64(bytes)));
    high = ir.CreateAdd(base, ir.CreateMul(last, ir.getInt64(bytes)));
    inside = ir.CreateAnd(ir.CreateAnd(ir.CreateICmpULT(low, high), ir.CreateICmpUGE(low, start)),
                          ir.CreateICmpULE(ir.CreateSub(high, start), state(offsetof(SiteState, size))));
  }
  // A warp's lanes fill whole lines, as a rule from a line's beginning on: then its cost is known.
  constexpr uint64_t kSector = 32, kLine = 128;
  const bool lines = !uniform && !active.mask && m.site != kNone && (bytes * kLanes) % kLine == 0;
  if (bytes > 1 && !lines) inside = ir.CreateAnd(inside, ir.CreateIsNull(ir.CreateAnd(base, ir.getInt64(bytes - 1))));
  if (affine) inside = ir.CreateAnd(inside, affine);
  BasicBlock* slow = e.split(inside, "slow", true);
  BasicBlock* done = e.block("accessed");
  AllocaInst* elements = uniform ? nullptr : interleaved_place(e, i, active);
  Value* range = nullptr;
  BasicBlock* fetched = uniform ? nullptr : e.block("fetched");
  if (lines) {
    const uint32_t all = static_cast<uint32_t>(bytes * kLanes);
    BasicBlock *between = e.block("between"), *counted = e.block("counted"), *here = e.block("here");
    ir.CreateCondBr(ir.CreateIsNull(ir.CreateAnd(base, ir.getInt64(kLine - 1))), counted, between);
    ir.SetInsertPoint(between);
    ir.CreateCondBr(ir.CreateIsNull(ir.CreateAnd(base, ir.getInt64(bytes - 1))), here, slow);
    ir.SetInsertPoint(here);
    Value* crosses = ir.CreateIsNotNull(ir.CreateAnd(base, ir.getInt64(kSector - 1)));
    e.counters.add_site(m.site, SiteWord::sectors, ir.CreateZExt(crosses, i64));
    e.counters.add_site(m.site, SiteWord::lines, 1);
    ir.CreateBr(counted);
    ir.SetInsertPoint(counted);
    Counters::Targets cost{{e.counters.layout().site(m.site, SiteWord::sectors), all / static_cast<uint32_t>(kSector)},
                           {e.counters.layout().site(m.site, SiteWord::lines), all / static_cast<uint32_t>(kLine)},
                           {e.counters.layout().site(m.site, SiteWord::bytes), all}};
    if (e.p.sites[m.site].dynamic_requests) cost.push_back({e.counters.layout().site(m.site, SiteWord::requests), 1});
    e.counters.add(cost, 1);
    range = emit_touch(e, i.memory, low, high, all, fetched);
  } else if (m.site != kNone) {
    if (e.p.sites[m.site].dynamic_requests) e.counters.add_site(m.site, SiteWord::requests, 1);
    if (uniform) {
      e.counters.add({{e.counters.layout().site(m.site, SiteWord::sectors), 1},
                      {e.counters.layout().site(m.site, SiteWord::lines), 1},
                      {e.counters.layout().site(m.site, SiteWord::bytes), static_cast<uint32_t>(bytes)}},
                     1);
      emit_touch(e, i.memory, low, high, 0, nullptr);
    } else {
      BasicBlock* counted = e.block("counted");
      if (active.mask) {
        // A run of lanes; lanes with gaps between them are rare.
        Value* run = ir.CreateLShr(active.mask, ir.CreateBinaryIntrinsic(Intrinsic::cttz, active.mask, ir.getTrue()));
        Value* unbroken = ir.CreateIsNull(ir.CreateAnd(run, ir.CreateAdd(run, ir.getInt32(1))));
        BasicBlock* gaps = e.split(unbroken, "gaps", true);
        BasicBlock* here = ir.GetInsertBlock();
        ir.SetInsertPoint(gaps);
        e.call(offsetof(Frame, access_with_gaps), ir.getVoidTy(), {ir.getInt32(i.memory), base, active.mask});
        ir.CreateBr(counted);
        ir.SetInsertPoint(here);
      }
      Value* last = ir.CreateSub(high, ir.getInt64(1));
      const auto units = [&](unsigned shift) {
        return ir.CreateAdd(ir.CreateSub(ir.CreateLShr(last, shift), ir.CreateLShr(low, shift)), ir.getInt64(1));
      };
      e.counters.add_site(m.site, SiteWord::sectors, units(5));
      e.counters.add_site(m.site, SiteWord::lines, units(7));
      if (active.mask)
        e.counters.add_site(m.site, SiteWord::bytes, ir.CreateMul(e.count_lanes(active.mask), ir.getInt64(bytes)));
      else
        e.counters.add({{e.counters.layout().site(m.site, SiteWord::bytes), static_cast<uint32_t>(bytes * kLanes)}}, 1);
      emit_touch(e, i.memory, low, high, active.mask ? 0 : bytes * kLanes, nullptr);
      ir.CreateBr(counted);
      ir.SetInsertPoint(counted);
    }
  }
  if (fetched) {
    prefetch_next(e, i, base, range);
    ir.CreateBr(fetched);
    ir.SetInsertPoint(fetched);
  }
  Value* pointer = ir.CreateIntToPtr(base, ir.getPtrTy());
  if (uniform)
    move_uniform(e, i, pointer, active);
  else
    move_contiguous(e, i, pointer, static_cast<unsigned>(bytes), active, false, elements);
  ir.CreateBr(done);
  ir.SetInsertPoint(slow);
  call_interpreter(e, index, active);
  if (elements) interleaved_from_registers(e, m, elements);
  ir.CreateBr(done);
  ir.SetInsertPoint(done);
  if (elements) registers_from_interleaved(e, m, elements, active);
}

void emit_global_general(Emitter& e, uint32_t index, const Active& active) {
  IRBuilder<>& ir = e.ir;
  const MemoryOp& m = e.p.memory[e.p.code[index].memory];
  if (int64_t stride; e.facts.checked_affine.stride_of(e.facts.registers, m.address, &stride)) {
    if (stride != static_cast<int64_t>(m.bytes())) return call_interpreter(e, index, active);
    const CheckedValue a = checked_affine_of(e, m.address);
    return emit_global(e, index, active, false, a.base, a.unwrapped);
  }
  Value* all = vector_of(e, m.address, Element::b64);
  Value *base, *apart;
  if (active.mask) {
    Value* first = ir.CreateBinaryIntrinsic(Intrinsic::cttz, active.mask, ir.getTrue());
    base = ir.CreateSub(ir.CreateExtractElement(all, first),
                        ir.CreateMul(ir.CreateZExt(first, ir.getInt64Ty()), ir.getInt64(m.bytes())));
    apart = ir.CreateAnd(e.bits_of(ir.CreateICmpNE(all, e.spread(base, m.bytes()))), active.mask);
  } else {
    base = ir.CreateExtractElement(all, uint64_t{0});
    apart = e.bits_of(ir.CreateICmpNE(all, e.spread(base, m.bytes())));
  }
  emit_global(e, index, active, false, base, ir.CreateIsNull(apart));
}

}  // namespace coalesce::native
