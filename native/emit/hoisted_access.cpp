#include "native/emit/hoisted_access.h"

#include <algorithm>
#include <cstddef>

#include "native/emit/footprint.h"
#include "native/emit/interleaved.h"
#include "native/emit/move.h"

namespace coalesce::native {

using namespace llvm;
using machine::Kind;
using machine::kLanes;

// Expects a block to move on by its last distance. If a block continues where the one before ended, stores are
// prefetched eight warps ahead, and loads too if the CPU does not predict the stream.
void account_all_warps(Emitter& e, const Instruction& i, HoistedAccess& access) {
  IRBuilder<>& ir = e.ir;
  const MemoryOp& m = e.p.memory[i.memory];
  const uint64_t bytes = uint64_t{m.bytes()} * kLanes;
  Type* i64 = ir.getInt64Ty();
  Counters::Targets cost{
      {e.counters.layout().site(m.site, SiteWord::sectors), static_cast<uint32_t>(bytes / kSector)},
      {e.counters.layout().site(m.site, SiteWord::lines), static_cast<uint32_t>((bytes + kLine - 1) / kLine)},
      {e.counters.layout().site(m.site, SiteWord::bytes), static_cast<uint32_t>(bytes)}};
  if (e.p.sites[m.site].dynamic_requests) cost.push_back({e.counters.layout().site(m.site, SiteWord::requests), 1});
  e.counters.add(cost, e.warps());
  Value* follows = ir.CreateICmpEQ(access.step, ir.getInt64(bytes));
  Value* fresh =
      ir.CreateIsNull(ir.CreateLoad(ir.getInt32Ty(), site_state(e, i.memory, offsetof(SiteState, fully_touched))));
  BasicBlock *extend = e.block("extend"), *look = e.block("look"), *touch = e.block("touch"),
             *touched = e.block("touched");

  // Streams: the block goes on where the one before ended.
  Value* high_at = e.offset(warp_range(e, i.memory, ir.getInt32(0)), offsetof(TouchedRange, high));
  Value* extends = ir.CreateAnd(follows, ir.CreateICmpEQ(ir.CreateLoad(i64, high_at), access.first));
  Value* last_at = site_state(e, i.memory, offsetof(SiteState, last_first));
  access.distance =
      ir.CreateSelect(extends, ir.CreateShl(access.step, 3), ir.CreateSub(access.first, ir.CreateLoad(i64, last_at)));
  ir.CreateStore(access.first, last_at);
  ir.CreateCondBr(ir.CreateAnd(fresh, extends), extend, look);
  ir.SetInsertPoint(extend);
  ir.CreateStore(ir.CreateAdd(access.first, ir.getInt64(e.warps() * bytes)), high_at);
  ir.CreateBr(touched);

  ir.SetInsertPoint(look);
  if (std::ranges::find(e.tables.remembered, i.memory) == e.tables.remembered.end())
    e.tables.remembered.push_back(i.memory);
  Value* remembered = ir.CreateLoad(ir.getPtrTy(), site_state(e, i.memory, offsetof(SiteState, remembered)));
  Value* place =
      ir.CreateLShr(ir.CreateMul(access.first, ir.getInt64(BlockAccess::kHashFactor)), BlockAccess::kHashShift);
  remembered = ir.CreateInBoundsGEP(ir.getInt8Ty(), remembered, ir.CreateMul(place, ir.getInt64(sizeof(BlockAccess))));
  const auto same = [&](std::size_t offset, Value* v) {
    return ir.CreateICmpEQ(ir.CreateLoad(i64, e.offset(remembered, offset)), v);
  };
  Value* known =
      ir.CreateAnd(same(offsetof(BlockAccess, first), access.first), same(offsetof(BlockAccess, step), access.step));
  ir.CreateCondBr(ir.CreateAnd(fresh, ir.CreateNot(known)), touch, touched);
  ir.SetInsertPoint(touch);
  e.call(offsetof(Frame, touch_block), ir.getVoidTy(), {ir.getInt32(i.memory), access.first, access.step});
  ir.CreateBr(touched);

  ir.SetInsertPoint(touched);
  PHINode* prefetches = ir.CreatePHI(ir.getInt1Ty(), 3, "prefetches");
  prefetches->addIncoming(ir.getInt1(i.kind == Kind::store || e.target.prefetches_loads), extend);
  prefetches->addIncoming(ir.getTrue(), touch);
  prefetches->addIncoming(ir.getFalse(), look);
  access.prefetches = prefetches;
}

void emit_hoisted_access(Emitter& e, uint32_t index, const HoistedAccess& access, const Active& active) {
  IRBuilder<>& ir = e.ir;
  const Instruction& i = e.p.code[index];
  const MemoryOp& m = e.p.memory[i.memory];
  const uint64_t bytes = uint64_t{m.bytes()} * kLanes;
  Value* base = ir.CreateAdd(access.first, ir.CreateMul(ir.CreateZExt(e.warp.index, ir.getInt64Ty()), access.step));
  BasicBlock *fetch = e.block("fetch"), *move = e.block("move");
  AllocaInst* elements = interleaved_place(e, i, active);
  ir.CreateCondBr(access.prefetches, fetch, move);
  ir.SetInsertPoint(fetch);
  emit_prefetch(e, i, ir.CreateAdd(base, access.distance));
  ir.CreateBr(move);
  ir.SetInsertPoint(move);
  Value* pointer = ir.CreateIntToPtr(base, ir.getPtrTy());
  move_contiguous(e, i, pointer, static_cast<unsigned>(std::min<uint64_t>(bytes, 64)), active, false, elements);
  if (elements) registers_from_interleaved(e, m, elements, active);
}

}  // namespace coalesce::native
