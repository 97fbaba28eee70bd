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

namespace {

// An access whose lanes are one address, or `bytes` apart.
struct GlobalAccess {
  const MemoryOp& m;
  uint32_t memory;  // index of m
  const Active& active;
  bool uniform;
  uint64_t bytes;              // of a lane
  Value* base;                 // lane 0's address
  Value *low, *high, *inside;  // the bytes of the lanes that are on; i1: they lie in the allocation touched last

  // A full warp fills lines if it begins at one, as it does as a rule: its cost is then a constant.
  bool fills_lines() const { return !uniform && !active.mask && m.site != kNone && (bytes * kLanes) % kLine == 0; }
};

GlobalAccess bounded(Emitter& e, const Instruction& i, const Active& active, bool uniform, Value* base) {
  IRBuilder<>& ir = e.ir;
  Type* i64 = ir.getInt64Ty();
  const MemoryOp& m = e.p.memory[i.memory];
  GlobalAccess a{m, i.memory, active, uniform, m.bytes(), base, base, nullptr, nullptr};
  const auto state = [&](std::size_t offset) { return ir.CreateLoad(i64, site_state(e, i.memory, offset)); };
  Value* start = state(offsetof(SiteState, base));
  if (uniform || !active.mask) {
    a.high = ir.CreateAdd(base, ir.getInt64(uniform ? a.bytes : a.bytes * kLanes));
    Value* from = ir.CreateSub(base, start);
    a.inside = ir.CreateICmpULT(from, state(offsetof(SiteState, limit)));
    return a;
  }
  Value* first = ir.CreateZExt(ir.CreateBinaryIntrinsic(Intrinsic::cttz, active.mask, ir.getTrue()), i64);
  Value* off = ir.CreateZExt(ir.CreateBinaryIntrinsic(Intrinsic::ctlz, active.mask, ir.getTrue()), i64);
  Value* last = ir.CreateSub(ir.getInt64(kLanes), off);
  a.low = ir.CreateAdd(base, ir.CreateMul(first, ir.getInt64(a.bytes)));
  a.high = ir.CreateAdd(base, ir.CreateMul(last, ir.getInt64(a.bytes)));
  Value* not_wrapped = ir.CreateICmpULT(a.low, a.high);
  Value* begins = ir.CreateAnd(not_wrapped, ir.CreateICmpUGE(a.low, start));
  Value* to = ir.CreateSub(a.high, start);
  a.inside = ir.CreateAnd(begins, ir.CreateICmpULE(to, state(offsetof(SiteState, size))));
  return a;
}

// Counts and marks an access that fills_lines(). One that does not begin at a line costs a line more, and a sector more
// if it begins within one; one that is not aligned goes to `slow`. Goes to `touched` where it touches nothing new.
// Returns the warp's range.
Value* account_full_lines(Emitter& e, const GlobalAccess& a, BasicBlock* slow, BasicBlock* touched) {
  IRBuilder<>& ir = e.ir;
  const machine::TallyLayout& layout = e.counters.layout();
  const uint32_t all = static_cast<uint32_t>(a.bytes * kLanes), site = a.m.site;
  BasicBlock *between = e.block("between"), *counted = e.block("counted"), *here = e.block("here");
  ir.CreateCondBr(ir.CreateIsNull(ir.CreateAnd(a.base, ir.getInt64(kLine - 1))), counted, between);
  ir.SetInsertPoint(between);
  ir.CreateCondBr(ir.CreateIsNull(ir.CreateAnd(a.base, ir.getInt64(a.bytes - 1))), here, slow);
  ir.SetInsertPoint(here);
  Value* crosses = ir.CreateIsNotNull(ir.CreateAnd(a.base, ir.getInt64(kSector - 1)));
  e.counters.add_site(site, SiteWord::sectors, ir.CreateZExt(crosses, ir.getInt64Ty()));
  e.counters.add_site(site, SiteWord::lines, 1);
  ir.CreateBr(counted);
  ir.SetInsertPoint(counted);
  Counters::Targets cost{{layout.site(site, SiteWord::sectors), all / static_cast<uint32_t>(kSector)},
                         {layout.site(site, SiteWord::lines), all / static_cast<uint32_t>(kLine)},
                         {layout.site(site, SiteWord::bytes), all}};
  if (e.p.sites[site].dynamic_requests) cost.push_back({layout.site(site, SiteWord::requests), 1});
  e.counters.add(cost, 1);
  return emit_touch(e, a.memory, a.low, a.high, all, touched);
}

void account_uniform(Emitter& e, const GlobalAccess& a) {
  const machine::TallyLayout& layout = e.counters.layout();
  const uint32_t site = a.m.site;
  if (e.p.sites[site].dynamic_requests) e.counters.add_site(site, SiteWord::requests, 1);
  e.counters.add({{layout.site(site, SiteWord::sectors), 1},
                  {layout.site(site, SiteWord::lines), 1},
                  {layout.site(site, SiteWord::bytes), static_cast<uint32_t>(a.bytes)}},
                 1);
  emit_touch(e, a.memory, a.low, a.high, 0, nullptr);
}

// A run of lanes. Lanes with gaps between them are rare, and counted by a call.
void account_run(Emitter& e, const GlobalAccess& a) {
  IRBuilder<>& ir = e.ir;
  const uint32_t site = a.m.site;
  Value* mask = a.active.mask;
  if (e.p.sites[site].dynamic_requests) e.counters.add_site(site, SiteWord::requests, 1);
  BasicBlock* counted = e.block("counted");
  if (mask) {
    Value* run = ir.CreateLShr(mask, ir.CreateBinaryIntrinsic(Intrinsic::cttz, mask, ir.getTrue()));
    Value* unbroken = ir.CreateIsNull(ir.CreateAnd(run, ir.CreateAdd(run, ir.getInt32(1))));
    BasicBlock* gaps = e.split(unbroken, "gaps", true);
    BasicBlock* here = ir.GetInsertBlock();
    ir.SetInsertPoint(gaps);
    e.call(offsetof(Frame, access_with_gaps), ir.getVoidTy(), {ir.getInt32(a.memory), a.base, mask});
    ir.CreateBr(counted);
    ir.SetInsertPoint(here);
  }
  Value* last = ir.CreateSub(a.high, ir.getInt64(1));
  const auto units = [&](unsigned shift) {
    Value* end = ir.CreateLShr(last, shift);
    return ir.CreateAdd(ir.CreateSub(end, ir.CreateLShr(a.low, shift)), ir.getInt64(1));
  };
  e.counters.add_site(site, SiteWord::sectors, units(5));
  e.counters.add_site(site, SiteWord::lines, units(7));
  const uint64_t all = a.bytes * kLanes;
  if (mask)
    e.counters.add_site(site, SiteWord::bytes, ir.CreateMul(e.count_lanes(mask), ir.getInt64(a.bytes)));
  else
    e.counters.add({{e.counters.layout().site(site, SiteWord::bytes), static_cast<uint32_t>(all)}}, 1);
  emit_touch(e, a.memory, a.low, a.high, mask ? 0 : all, nullptr);
  ir.CreateBr(counted);
  ir.SetInsertPoint(counted);
}

}  // namespace

void emit_global(Emitter& e, uint32_t index, const Active& active, bool uniform, Value* address, Value* affine) {
  IRBuilder<>& ir = e.ir;
  const Instruction& i = e.p.code[index];
  const MemoryOp& m = e.p.memory[i.memory];
  Value* base = ir.CreateAdd(ir.CreateZExt(address, ir.getInt64Ty()), ir.getInt64(static_cast<uint64_t>(m.offset)));
  const GlobalAccess a = bounded(e, i, active, uniform, base);
  Value* good = a.inside;
  if (a.bytes > 1 && !a.fills_lines())
    good = ir.CreateAnd(good, ir.CreateIsNull(ir.CreateAnd(base, ir.getInt64(a.bytes - 1))));
  if (affine) good = ir.CreateAnd(good, affine);
  BasicBlock* slow = e.split(good, "slow", true);
  BasicBlock* done = e.block("accessed");
  AllocaInst* elements = uniform ? nullptr : interleaved_place(e, i, active);
  Value* range = nullptr;
  BasicBlock* fetched = uniform ? nullptr : e.block("fetched");
  if (a.fills_lines())
    range = account_full_lines(e, a, slow, fetched);
  else if (m.site != kNone)
    uniform ? account_uniform(e, a) : account_run(e, a);
  if (fetched) {
    prefetch_next(e, i, base, range);
    ir.CreateBr(fetched);
    ir.SetInsertPoint(fetched);
  }
  Value* pointer = ir.CreateIntToPtr(base, ir.getPtrTy());
  if (uniform)
    move_uniform(e, i, pointer, active);
  else
    move_contiguous(e, i, pointer, static_cast<unsigned>(a.bytes), active, false, elements);
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
