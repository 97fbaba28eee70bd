#include "native/emit/hoisted_checks.h"

#include <algorithm>
#include <cstddef>

#include "native/emit/footprint.h"
#include "native/emit/hoisted_access.h"
#include "native/emit/region.h"
#include "native/emit/registers.h"
#include "native/emit/warp_affine.h"
#include "native/emit/warp_loop.h"

namespace coalesce::native {

using namespace llvm;
using machine::kLanes;

namespace {

CmpInst::Predicate predicate(const HoistedChecks::Action& test) {
  switch (test.order) {
    case Order::less:
      return test.is_signed ? CmpInst::ICMP_SLT : CmpInst::ICMP_ULT;
    case Order::less_equal:
      return test.is_signed ? CmpInst::ICMP_SLE : CmpInst::ICMP_ULE;
    case Order::greater:
      return test.is_signed ? CmpInst::ICMP_SGT : CmpInst::ICMP_UGT;
    default:
      return test.is_signed ? CmpInst::ICMP_SGE : CmpInst::ICMP_UGE;
  }
}

// i1: all lanes of all warps go the way at the branch, by this comparison.
Value* all_lanes_go(Emitter& e, const HoistedChecks& checks, const HoistedChecks::Action& test, uint32_t r,
                    WarpAffineValues& values) {
  IRBuilder<>& ir = e.ir;
  const Instruction& i = e.p.code[test.instruction];
  CmpInst::Predicate how = predicate(test);
  if (checks.branch_taken == e.p.code[e.p.blocks[checks.branch].last - 1].guard_negated)
    how = CmpInst::getInversePredicate(how);
  const WarpAffine a = warp_affine_of(e, i.sources[0], Element::b32, r, values);
  const Corners c = corners(e, a, e.p.registers[i.sources[0].reg].stride, test.is_signed);
  Value *limit = scalar_of(e, i.sources[1], Element::b32), *all = c.unwrapped;
  limit = test.is_signed ? ir.CreateSExt(limit, ir.getInt64Ty()) : ir.CreateZExt(limit, ir.getInt64Ty());
  if (a.valid) all = ir.CreateAnd(all, a.valid);
  for (Value* v : c.at) all = ir.CreateAnd(all, ir.CreateICmp(how, v, limit));
  return all;
}

// i1: all warps' accesses by the instruction lie in the allocation that it touched last, and each begins at a line, so
// that all cost the same. Sets e.region.hoisted.
Value* emit_access_check(Emitter& e, uint32_t index, uint32_t r, Value* good, WarpAffineValues& values) {
  IRBuilder<>& ir = e.ir;
  const uint32_t memory = e.p.code[index].memory;
  const MemoryOp& m = e.p.memory[memory];
  const auto state = [&](std::size_t offset) { return ir.CreateLoad(ir.getInt64Ty(), site_state(e, memory, offset)); };
  HoistedAccess& access = e.region.hoisted[index];
  const WarpAffine a = warp_affine_of(e, m.address, Element::b64, r, values);
  access.first = ir.CreateAdd(a.first, ir.getInt64(static_cast<uint64_t>(m.offset)));
  access.step = a.step;
  if (a.valid) good = ir.CreateAnd(good, a.valid);
  Value *start = state(offsetof(SiteState, base)), *limit = state(offsetof(SiteState, limit));
  Value* last = ir.CreateAdd(access.first, ir.CreateMul(access.step, ir.getInt64(e.warps() - 1)));
  for (Value* v : {access.first, last}) good = ir.CreateAnd(good, ir.CreateICmpULT(ir.CreateSub(v, start), limit));
  // The step is so small that no address between the two wraps.
  constexpr uint64_t kFar = uint64_t{1} << 56;
  good = ir.CreateAnd(good, ir.CreateICmpULT(ir.CreateAdd(access.step, ir.getInt64(kFar)), ir.getInt64(2 * kFar)));
  const uint64_t bytes = uint64_t{m.bytes()} * kLanes;
  Value* odd = ir.CreateAnd(ir.CreateOr(access.first, access.step), ir.getInt64(std::min(bytes, kLine) - 1));
  return ir.CreateAnd(good, ir.CreateIsNull(odd));
}

// i1: the loop without checks may run.
Value* emit_checks(Emitter& e, const HoistedChecks& checks, uint32_t r) {
  using What = HoistedChecks::Action::What;
  IRBuilder<>& ir = e.ir;
  WarpAffineValues values;
  Value* good = ir.getTrue();
  for (const HoistedChecks::Action& action : checks.actions) {
    const Instruction& i = e.p.code[action.instruction];
    if (action.what == What::affine)
      values[i.results[0]] = warp_affine_result(e, i, r, values);
    else if (action.what == What::access)
      good = emit_access_check(e, action.instruction, r, good, values);
    else
      good = ir.CreateAnd(good, all_lanes_go(e, checks, action, r, values));
  }
  return good;
}

}  // namespace

void emit_hoisted_checks(Emitter& e, uint32_t r, Value* all_on, BasicBlock* after) {
  IRBuilder<>& ir = e.ir;
  const auto& hoisted = e.facts.regions[r].hoisted;
  if (!hoisted) return;
  const HoistedChecks& checks = *hoisted;
  BasicBlock *ask = e.block("hoisted"), *quick = e.block("quick"), *each = e.block("each"),
             *loop = e.block("quick_warp");
  ir.CreateCondBr(all_on, ask, each);

  ir.SetInsertPoint(ask);
  Value* good = emit_checks(e, checks, r);
  ir.CreateCondBr(good, quick, each, e.likely(2000));

  ir.SetInsertPoint(quick);
  for (auto& [index, access] : e.region.hoisted) account_all_warps(e, e.p.code[index], access);
  for (const uint32_t b : checks.way)
    if (!counted_by_region(e, r, b))
      e.counters.add({{e.counters.layout().executions(b), 1}, {e.counters.layout().lanes(b), kLanes}}, e.warps());
  ir.CreateBr(loop);
  ir.SetInsertPoint(loop);
  select_warp(e, ir.CreateLoad(ir.getInt32Ty(), e.var.warp, "w"));
  e.known_shared.clear();
  load_registers(e, r);
  for (const uint32_t b : checks.way) {
    Active active;
    active.block = b;
    for (uint32_t k = e.p.blocks[b].first; k < e.p.blocks[b].last; ++k)
      if (e.p.blocks[b].divergent || !machine::hoistable(e.p, e.p.code[k])) emit_instruction(e, k, active);
  }
  e.region.hoisted.clear();
  store_registers(e, r);
  Value* next = ir.CreateAdd(e.warp.index, ir.getInt32(1));
  ir.CreateStore(next, e.var.warp);
  ir.CreateCondBr(ir.CreateICmpULT(next, ir.getInt32(e.warps())), loop, after);
  ir.SetInsertPoint(each);
}

}  // namespace coalesce::native
