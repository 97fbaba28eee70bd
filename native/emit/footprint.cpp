#include "native/emit/footprint.h"

#include <cstddef>

namespace coalesce::native {

using namespace llvm;
using machine::Kind;
using machine::kLanes;

Value* site_state(Emitter& e, uint32_t memory, std::size_t offset) {
  return e.offset(e.field(offsetof(Frame, sites), "sites"), sizeof(SiteState) * memory + offset);
}

Value* warp_range(Emitter& e, uint32_t memory, Value* warp) {
  IRBuilder<>& ir = e.ir;
  Value* first = ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), e.field(offsetof(Frame, ranges), "ranges"),
                                               sizeof(TouchedRange) * memory * e.warps());
  return ir.CreateInBoundsGEP(ir.getInt8Ty(), first,
                              ir.CreateMul(ir.CreateZExt(warp, ir.getInt64Ty()), ir.getInt64(sizeof(TouchedRange))));
}

Value* emit_touch(Emitter& e, uint32_t memory, Value* low, Value* high, uint64_t bytes, BasicBlock* before) {
  IRBuilder<>& ir = e.ir;
  BasicBlock *follows = e.block("follows"), *jumps = e.block("jumps"), *marked = e.block("marked"),
             *again = e.block("again");
  BasicBlock* some = e.block("some");
  MDNode* mostly_not = e.likely(16);
  if (!before) before = marked;
  Value* all = ir.CreateLoad(ir.getInt32Ty(), site_state(e, memory, offsetof(SiteState, fully_touched)));
  ir.CreateCondBr(ir.CreateIsNull(all), some, before);
  ir.SetInsertPoint(some);
  Value* own = ir.CreateLoad(ir.getInt32Ty(), site_state(e, memory, offsetof(SiteState, per_warp)));
  Value* range = warp_range(e, memory, ir.CreateAnd(e.warp.index, own));
  const auto at = [&](std::size_t offset) { return e.offset(range, offset); };
  Value* end = ir.CreateLoad(ir.getInt64Ty(), at(offsetof(TouchedRange, high)));
  ir.CreateCondBr(ir.CreateICmpEQ(low, end), follows, again);
  ir.SetInsertPoint(follows);
  ir.CreateStore(high, at(offsetof(TouchedRange, high)));
  ir.CreateBr(marked);
  ir.SetInsertPoint(again);
  Value* begin = ir.CreateLoad(ir.getInt64Ty(), at(offsetof(TouchedRange, low)));
  ir.CreateCondBr(ir.CreateAnd(ir.CreateICmpUGE(low, begin), ir.CreateICmpULE(high, end)), before, jumps, mostly_not);
  ir.SetInsertPoint(jumps);
  if (bytes) {
    // Whole sectors that the thread has touched before, as where tiles of a matrix are read again and again.
    Type* i64 = ir.getInt64Ty();
    Value* from = ir.CreateSub(low, ir.CreateLoad(i64, site_state(e, memory, offsetof(SiteState, base))));
    BasicBlock *whole = e.block("whole"), *unknown = e.block("unknown");
    ir.CreateCondBr(ir.CreateIsNull(ir.CreateAnd(from, ir.getInt64(31))), whole, unknown, mostly_not);
    ir.SetInsertPoint(whole);
    Value* mark = ir.CreateAdd(ir.CreateLoad(i64, site_state(e, memory, offsetof(SiteState, sector_marks))),
                               ir.CreateLShr(from, 5));
    Value* line = ir.CreateLShr(mark, 6);
    Value* here = ir.CreateInBoundsGEP(
        ir.getInt8Ty(), e.field(offsetof(Frame, footprint), "touched"),
        ir.CreateMul(ir.CreateAnd(line, ir.getInt64(Footprint::kLines - 1)), ir.getInt64(sizeof(FootprintLine))));
    const auto of = [&](std::size_t offset) { return e.offset(here, offset); };
    BasicBlock *same = e.block("same"), *known = e.block("known"), *fresh = e.block("fresh"), *fits = e.block("fits");
    ir.CreateCondBr(ir.CreateICmpEQ(ir.CreateLoad(i64, of(offsetof(FootprintLine, line))), line), same, unknown,
                    mostly_not);
    ir.SetInsertPoint(same);
    // Sectors beyond the line count as not touched.
    Value* sectors = ir.CreateLoad(i64, of(offsetof(FootprintLine, sectors)));
    Value* place = ir.CreateAnd(mark, ir.getInt64(63));
    Value* these = ir.getInt64((uint64_t{1} << bytes / 32) - 1);
    Value* missing = ir.CreateAnd(ir.CreateNot(ir.CreateLShr(sectors, place)), these);
    ir.CreateCondBr(ir.CreateIsNull(missing), known, fresh, mostly_not);
    ir.SetInsertPoint(known);
    Value* rechecks = site_state(e, memory, offsetof(SiteState, rechecks_left));
    Value* left = ir.CreateSub(ir.CreateLoad(i64, rechecks), ir.getInt64(1));
    ir.CreateStore(left, rechecks);
    ir.CreateCondBr(ir.CreateIsNotNull(left), before, unknown, mostly_not);
    // New sectors of a known line are kept as Runner::touch would, unless it counts jumps.
    ir.SetInsertPoint(fresh);
    Value* one_line = ir.CreateICmpULE(place, ir.getInt64(64 - bytes / 32));
    ir.CreateCondBr(ir.CreateAnd(one_line, ir.CreateIsNotNull(own)), fits, unknown, mostly_not);
    ir.SetInsertPoint(fits);
    ir.CreateStore(ir.CreateOr(sectors, ir.CreateShl(these, place)), of(offsetof(FootprintLine, sectors)));
    Value* ended = site_state(e, memory, offsetof(SiteState, touched_sectors));
    Value* sum = ir.CreateAdd(ir.CreateLoad(i64, ended), ir.CreateUnaryIntrinsic(Intrinsic::ctpop, missing));
    ir.CreateStore(sum, ended);
    Value* enough = ir.CreateLoad(i64, site_state(e, memory, offsetof(SiteState, recheck_at)));
    ir.CreateCondBr(ir.CreateICmpULT(sum, enough), marked, unknown, mostly_not);
    ir.SetInsertPoint(unknown);
  }
  e.call(offsetof(Frame, touch), ir.getVoidTy(), {ir.getInt32(memory), e.warp.index, low, high});
  ir.CreateBr(marked);
  ir.SetInsertPoint(marked);
  return range;
}

void emit_prefetch(Emitter& e, const Instruction& i, Value* from) {
  IRBuilder<>& ir = e.ir;
  const uint64_t bytes = uint64_t{e.p.memory[i.memory].bytes()} * kLanes;
  for (uint64_t line = 0; line < bytes; line += 64) {
    Value* at = ir.CreateIntToPtr(ir.CreateAdd(from, ir.getInt64(line)), ir.getPtrTy());
    ir.CreateIntrinsic(Intrinsic::prefetch, {ir.getPtrTy()},
                       {at, ir.getInt32(i.kind == Kind::store), ir.getInt32(3), ir.getInt32(1)});
  }
}

// The next visit is as far from this one as this one is from the last: in the next thread block as a rule, and eight
// warps on (kAhead) where warps follow one another. The CPU itself prefetches within a page only. What was touched
// before, not long ago, is taken to be in its caches.
void prefetch_next(Emitter& e, const Instruction& i, Value* base, Value* range) {
  IRBuilder<>& ir = e.ir;
  constexpr uint32_t kAhead = 3;
  Type* i64 = ir.getInt64Ty();
  Value* own = ir.CreateLoad(ir.getInt32Ty(), site_state(e, i.memory, offsetof(SiteState, per_warp)));
  if (!range) range = warp_range(e, i.memory, ir.CreateAnd(e.warp.index, own));
  Value* last_at = e.offset(range, offsetof(TouchedRange, last));
  Value* step = ir.CreateSub(base, ir.CreateLoad(i64, last_at));
  Value* far = ir.CreateZExt(ir.CreateAnd(ir.CreateNot(own), ir.getInt32(kAhead)), i64);
  Value* ahead = ir.CreateAdd(base, ir.CreateShl(step, far));
  ir.CreateStore(base, last_at);
  emit_prefetch(e, i, ahead);
}

}  // namespace coalesce::native
