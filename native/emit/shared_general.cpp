#include <algorithm>
#include <cstddef>
#include <tuple>
#include <vector>

#include "native/emit/interleaved.h"
#include "native/emit/interpreter.h"
#include "native/emit/move.h"
#include "native/emit/registers.h"
#include "native/emit/shared.h"

namespace coalesce::native {

using namespace llvm;
using machine::Kind;
using machine::kLanes;

namespace {

// Every second word from `pointer` on, with room behind the last one: four vectors, not 32 words. Half of a tree's
// accesses are those of its first step.
void move_every_second(Emitter& e, const Instruction& i, Value* pointer, const Active& active) {
  IRBuilder<>& ir = e.ir;
  const MemoryOp& m = e.p.memory[i.memory];
  VectorType* all = FixedVectorType::get(ir.getInt32Ty(), 2 * kLanes);
  if (i.kind == Kind::load) {
    LoadInst* words = ir.CreateAlignedLoad(all, pointer, Align(4));
    words->setVolatile(m.is_volatile);
    if (m.values[0].is_reg()) load_result(e, m, 0, deinterleave(e, words, 0, 2), active);
    return;
  }
  SmallVector<int, 64> places;
  SmallVector<Constant*, 64> on;
  for (uint32_t l = 0; l < kLanes; ++l) {
    places.insert(places.end(), {static_cast<int>(l), PoisonMaskElem});
    on.insert(on.end(), {ir.getTrue(), ir.getFalse()});
  }
  ir.CreateMaskedStore(ir.CreateShuffleVector(store_value(e, m, 0), places), pointer, Align(4),
                       ConstantVector::get(on));
}

// Address of the memo for these addresses of the current warp.
Value* memo_of(Emitter& e, const MemoryOp& m, uint32_t how, Value* address) {
  IRBuilder<>& ir = e.ir;
  Type* i64 = ir.getInt64Ty();
  std::vector<std::tuple<uint32_t, int64_t, uint32_t>>& memos = e.tables.memos;
  // A load and a store of words cost the same.
  const std::tuple key{m.address.reg, m.offset, m.bytes() > 4 ? how : m.bytes()};
  const auto number = static_cast<uint64_t>(std::find(memos.begin(), memos.end(), key) - memos.begin());
  if (number == memos.size()) memos.push_back(key);
  Value* way = ir.CreateAdd(ir.CreateZExt(e.warp.index, i64), ir.getInt64(number * e.warps()));
  if (e.facts.memo_ways > 1) {
    Value* second = ir.CreateExtractElement(address, 1);
    Value* distance = ir.CreateSub(second, ir.CreateExtractElement(address, uint64_t{0}));
    Value* zeros =
        ir.CreateBinaryIntrinsic(Intrinsic::cttz, ir.CreateOr(distance, ir.getInt32(1u << 31)), ir.getTrue());
    Value* of_warp = ir.CreateMul(way, ir.getInt64(e.facts.memo_ways));
    way = ir.CreateAdd(of_warp, ir.CreateZExt(ir.CreateAnd(zeros, ir.getInt32(e.facts.memo_ways - 1)), i64));
  }
  return ir.CreateInBoundsGEP(ir.getInt8Ty(), e.field(offsetof(Frame, memos), "memos"),
                              ir.CreateMul(way, ir.getInt64(sizeof(CostMemo))));
}

// Fills the memo of an access to words where its cost has a closed form, and goes to `filled`. Goes on where it has
// none.
void find_cost_of_words(Emitter& e, Value* memo, Value* address, const Active& active, BasicBlock* filled) {
  IRBuilder<>& ir = e.ir;
  Type *i32 = ir.getInt32Ty(), *i64 = ir.getInt64Ty();
  const auto at = [&](std::size_t offset) { return e.offset(memo, offset); };
  // Lanes that are all on banks of their own: one wavefront.
  Value* bank = ir.CreateAnd(ir.CreateLShr(address, 2), e.spread(ir.getInt32(31), 0));
  Value* bit = ir.CreateShl(e.spread(ir.getInt32(1), 0), bank);
  if (active.mask) bit = ir.CreateSelect(active.lanes, bit, Constant::getNullValue(bit->getType()));
  Value* banks = e.count_lanes(ir.CreateOrReduce(bit));
  Value* apart = ir.CreateICmpEQ(banks, e.count_lanes(e.mask_of(active)));
  ir.CreateStore(ir.getInt32(0), at(offsetof(CostMemo, wavefronts)));
  ir.CreateStore(ir.getInt32(0), at(offsetof(CostMemo, step)));
  ir.CreateStore(ir.getInt32(0), at(offsetof(CostMemo, meet)));
  BasicBlock *meet = e.block("meet"), *step_apart = e.block("step_apart"), *odd = e.block("odd");
  ir.CreateCondBr(apart, filled, meet);
  ir.SetInsertPoint(meet);
  // index * 2 * distance: a run of lanes a step apart, known only at run time. They come back to a bank after
  // 32 / gcd(step, 32) words; not where the step is so large that they come back to a word (or one of 0).
  Value* mask = e.mask_of(active);
  Value* first = ir.CreateBinaryIntrinsic(Intrinsic::cttz, mask, ir.getTrue());
  const auto lane = [&](Value* l) {
    return ir.CreateLoad(i32, ir.CreateInBoundsGEP(i32, memo, ir.CreateZExt(l, i64)));
  };
  Value* start = lane(first);
  Value* step = ir.CreateSub(lane(ir.CreateAnd(ir.CreateAdd(first, ir.getInt32(1)), ir.getInt32(31))), start);
  Value* lanes = e.spread(ir.getInt32(0), 1);
  Value* lane_zero = e.spread(ir.CreateSub(start, ir.CreateMul(first, step)), 0);
  Value* affine = ir.CreateAdd(lane_zero, ir.CreateMul(lanes, e.spread(step, 0)));
  Value* off = ir.CreateAnd(e.bits_of(ir.CreateICmpNE(address, affine)), mask);
  Value* run = ir.CreateLShr(mask, first);
  off = ir.CreateOr(off, ir.CreateAnd(run, ir.CreateAdd(run, ir.getInt32(1))));
  Value* small = ir.CreateIsNotNull(ir.CreateAnd(step, ir.getInt32(0x07ff'ffff)));
  ir.CreateCondBr(ir.CreateAnd(ir.CreateIsNull(off), small), step_apart, odd);
  ir.SetInsertPoint(step_apart);
  Value* common = ir.CreateBinaryIntrinsic(Intrinsic::cttz, ir.CreateOr(step, ir.getInt32(1u << 7)), ir.getTrue());
  Value* period = ir.CreateSub(ir.getInt32(7), common);  // as a power of two
  Value* more = ir.CreateLShr(ir.CreateSub(ir.CreateTrunc(e.count_lanes(mask), i32), ir.getInt32(1)), period);
  ir.CreateStore(more, at(offsetof(CostMemo, wavefronts)));
  if (!active.mask) ir.CreateStore(step, at(offsetof(CostMemo, step)));
  ir.CreateBr(filled);
  ir.SetInsertPoint(odd);
}

void count_cost(Emitter& e, const MemoryOp& m, Value* memo) {
  IRBuilder<>& ir = e.ir;
  const auto member = [&](std::size_t offset) {
    return ir.CreateZExt(ir.CreateLoad(ir.getInt32Ty(), e.offset(memo, offset)), ir.getInt64Ty());
  };
  if (e.p.sites[m.site].dynamic_requests) e.counters.add_site(m.site, SiteWord::requests, 1);
  e.counters.add_site(m.site, SiteWord::wavefronts, member(offsetof(CostMemo, wavefronts)));
  if (m.bytes() > 4) e.counters.add_site(m.site, SiteWord::ideal, member(offsetof(CostMemo, ideal)));
}

// Goes to `done` afterwards.
void move(Emitter& e, const Instruction& i, Value* memo, Value* address, const Active& active, BasicBlock* done) {
  IRBuilder<>& ir = e.ir;
  const MemoryOp& m = e.p.memory[i.memory];
  Value* shared = e.field(offsetof(Frame, shared), "shared");
  if (m.bytes() == 4 && m.width == 4 && !active.mask && e.target.masks) {
    BasicBlock *halves = e.block("halves"), *anywhere = e.block("anywhere");
    Value* step = ir.CreateLoad(ir.getInt32Ty(), e.offset(memo, offsetof(CostMemo, step)));
    ir.CreateCondBr(ir.CreateICmpEQ(step, ir.getInt32(8)), halves, anywhere);
    ir.SetInsertPoint(halves);
    Value* first = ir.CreateExtractElement(address, uint64_t{0});
    move_every_second(e, i, ir.CreateInBoundsGEP(ir.getInt8Ty(), shared, first), active);
    ir.CreateBr(done);
    ir.SetInsertPoint(anywhere);
  }
  if (i.kind == Kind::load) {
    load_scattered(e, i, shared, address, active, true);
    ir.CreateBr(done);
    return;
  }
  if (e.target.masks) {  // else lanes are stored one by one, and each order costs the same
    BasicBlock *apart = e.block("apart"), *meeting = e.block("meeting");
    Value* meet = ir.CreateLoad(ir.getInt32Ty(), e.offset(memo, offsetof(CostMemo, meet)));
    ir.CreateCondBr(ir.CreateIsNull(meet), apart, meeting);
    ir.SetInsertPoint(apart);
    store_scattered(e, i, shared, address, active, true);
    ir.CreateBr(done);
    ir.SetInsertPoint(meeting);
  }
  store_scattered(e, i, shared, address, active, false);
  ir.CreateBr(done);
}

}  // namespace

// Each warp has a memo of its addresses' costs: as a rule they repeat, or alternate between a few patterns, told apart
// by the distance between the first two lanes. Accesses at one address share a memo.
void emit_shared_general(Emitter& e, uint32_t index, const Active& active) {
  IRBuilder<>& ir = e.ir;
  const Instruction& i = e.p.code[index];
  const MemoryOp& m = e.p.memory[i.memory];
  const uint32_t bytes = m.bytes(), how = bytes | (i.kind == Kind::store ? 256 : 0);
  Type* i32 = ir.getInt32Ty();
  Value* address = vector_of(e, m.address, Element::b32);
  address = ir.CreateAdd(address, e.spread(ir.getInt32(static_cast<uint32_t>(m.offset)), 0));
  if (active.mask) address = ir.CreateSelect(active.lanes, address, Constant::getNullValue(address->getType()));
  Value* memo = memo_of(e, m, how, address);
  const auto mask_at = [&] { return e.offset(memo, offsetof(CostMemo, mask)); };  // part of each access's addressing
  Value* known = ir.CreateAlignedLoad(e.wide(i32), memo, Align(64));
  Value* same = ir.CreateIsNull(e.bits_of(ir.CreateICmpNE(known, address)));
  same = ir.CreateAnd(same, ir.CreateICmpEQ(ir.CreateLoad(i32, mask_at()), e.mask_of(active)));
  BasicBlock* unknown = e.split(same, "unknown", false);
  BasicBlock *access = e.block("access"), *done = e.block("accessed");
  ir.CreateBr(access);
  ir.SetInsertPoint(unknown);
  Value* unit = in_units(e, address, bytes);
  Value* outside = e.bits_of(ir.CreateICmpUGE(unit, e.spread(shared_limit(e, 0, bytes), 0)));
  BasicBlock* slow = e.split(ir.CreateIsNull(ir.CreateAnd(outside, e.mask_of(active))), "slow", true);
  ir.CreateAlignedStore(address, memo, Align(64));
  ir.CreateStore(e.mask_of(active), mask_at());
  if (bytes == 4) find_cost_of_words(e, memo, address, active, access);
  e.call(offsetof(Frame, find_cost), ir.getVoidTy(), {memo, e.mask_of(active), ir.getInt32(how)});
  ir.CreateBr(access);
  ir.SetInsertPoint(access);
  count_cost(e, m, memo);
  move(e, i, memo, address, active, done);
  ir.SetInsertPoint(slow);
  call_interpreter(e, index, active);
  ir.CreateBr(done);
  ir.SetInsertPoint(done);
}

}  // namespace coalesce::native
