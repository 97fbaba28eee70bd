// Shared memory. What the block's dimensions prove to be in bounds needs no check, other affine addresses one
// comparison; what any addresses cost is worked out here where lanes meet in no bank, and remembered.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <set>

#include "machine/observe/traffic.h"
#include "native/emit/generator.h"

namespace coalesce::native {

using namespace llvm;
using machine::AddressSpace;
using machine::Kind;
using machine::kLanes;

namespace {
constexpr unsigned kRequests = 0, kWavefronts = 4, kIdeal = 5;
}

// Of shared memory: what the block's dimensions prove needs no check.
bool Generator::in_bounds(const MemoryOp& m) const {
  const int64_t bytes = m.bytes(), size = static_cast<int64_t>(p_.static_shared_bytes);
  if (!m.address.is_reg()) {
    const int64_t at = static_cast<int64_t>(m.address.bits) + m.offset;
    return at >= 0 && at + bytes <= size && at % bytes == 0;
  }
  const Register& r = p_.registers[m.address.reg];
  // The range holds every lane's address.
  return r.range.known() && r.range.low + m.offset >= 0 && r.range.high + m.offset + bytes <= size &&
         r.alignment % bytes == 0 && m.offset % bytes == 0 && r.range.high < (int64_t{1} << 31);
}

bool Generator::cannot_fault(const MemoryOp& m) const { return m.space == AddressSpace::shared && in_bounds(m); }

// An access that never faults, of memory that others do not change meanwhile, at a cost that no address changes.
bool Generator::safe(const MemoryOp& m) const {
  if (m.is_volatile || m.width > 8 || (m.count & (m.count - 1)) != 0 || m.bytes() > 16 || !cannot_fault(m))
    return false;
  if (!m.address.is_reg()) return true;
  const Register& r = p_.registers[m.address.reg];
  return r.lanes <= LaneClass::warp_uniform || (r.lanes == LaneClass::affine && r.stride == int64_t{m.bytes()});
}

// An address in units of `bytes`; one that is no multiple of them becomes a number above all limits.
Value* Generator::in_units(Value* address, int64_t bytes) {
  Value* places =
      ConstantInt::get(address->getType(), static_cast<uint64_t>(std::countr_zero(static_cast<uint64_t>(bytes))));
  return ir_.CreateIntrinsic(Intrinsic::fshr, {address->getType()}, {address, address, places});
}

// How many units of `bytes` there are in shared memory behind which an access that ends `span` bytes after its first
// lane's has room.
Value* Generator::shared_limit(int64_t span, int64_t bytes) {
  Value*& known = shared_limits_[{span, bytes}];
  if (known) return known;
  Value* size = field(offsetof(Frame, shared_bytes), ir_.getInt64Ty(), "shared_bytes");
  IRBuilderBase::InsertPointGuard guard(ir_);
  ir_.SetInsertPoint(constants_->getTerminator());
  Value* room = ir_.CreateBinaryIntrinsic(Intrinsic::usub_sat, size, ir_.getInt64(static_cast<uint64_t>(span)));
  return known = ir_.CreateTrunc(ir_.CreateUDiv(room, ir_.getInt64(static_cast<uint64_t>(bytes))), ir_.getInt32Ty());
}

// Lane l at base + l * stride.
void Generator::shared(uint32_t index, const Where& where, int64_t stride) {
  const Instruction& i = p_.code[index];
  const MemoryOp& m = p_.memory[i.memory];
  const int64_t bytes = m.bytes();
  const bool store = i.kind == Kind::store;
  const int64_t span = stride * (kLanes - 1);
  // Costs have a closed form where a lane's distance is whole banks.
  const int64_t unit = std::max<int64_t>(bytes, 4);
  const bool contiguous = stride == bytes;
  if ((stride % bytes) != 0 || span > (1 << 24) || span < -(1 << 24) || (stride % unit != 0 && !contiguous))
    return step(index, where);
  Type* i64 = ir_.getInt64Ty();
  const Element e = m.address.is_reg() ? p_.registers[m.address.reg].element : Element::b64;
  Value* base = ir_.CreateAdd(ir_.CreateTrunc(ir_.CreateZExt(scalar(m.address, e), i64), ir_.getInt32Ty()),
                              ir_.getInt32(static_cast<uint32_t>(m.offset)));
  BB *slow = nullptr, *done = nullptr;
  const bool proven = in_bounds(m);
  if (!proven) {
    // All lanes first, those that are off as well: one comparison. Lanes' addresses are modulo 2^32.
    const auto lane = [&](Value* l) {
      return ir_.CreateAdd(base, ir_.CreateMul(l, ir_.getInt32(static_cast<uint32_t>(stride))));
    };
    Value* lowest = stride >= 0 ? base : lane(ir_.getInt32(kLanes - 1));
    slow = split(ir_.CreateICmpULT(in_units(lowest, bytes), shared_limit(std::abs(span), bytes)), "edge", true);
    done = block("accessed");
    if (where.mask) {
      BB* good = block("good");
      ir_.CreateBr(good);
      ir_.SetInsertPoint(slow);
      Value* first = ir_.CreateBinaryIntrinsic(Intrinsic::cttz, where.mask, ir_.getTrue());
      Value* last =
          ir_.CreateXor(ir_.CreateBinaryIntrinsic(Intrinsic::ctlz, where.mask, ir_.getTrue()), ir_.getInt32(31));
      // Without a wrap between them: a base before 0 whose first lanes are off is good.
      Value *low = lane(stride >= 0 ? first : last), *high = lane(stride >= 0 ? last : first);
      Value* inside = ir_.CreateAnd(ir_.CreateICmpULT(in_units(low, bytes), shared_limit(0, bytes)),
                                    ir_.CreateICmpULT(in_units(high, bytes), shared_limit(0, bytes)));
      slow = split(ir_.CreateAnd(inside, ir_.CreateICmpULE(low, high)), "slow", true);
      ir_.CreateBr(good);
      ir_.SetInsertPoint(good);
    }
  }
  if (p_.sites[m.site].dynamic_requests) count(site_counter(m.site, kRequests), 1);
  if (bytes > 4 || (!contiguous && stride != 0)) {
    const uint32_t step_bytes = static_cast<uint32_t>(stride), width = static_cast<uint32_t>(bytes);
    if (!where.mask) {
      const machine::SharedCost c = store ? machine::shared_store_cost_affine(0, step_bytes, ~0u, width)
                                          : machine::shared_load_cost_affine(0, step_bytes, ~0u, width);
      if (bytes > 4)
        count(counter({{word_site(m.site, kWavefronts), c.wavefronts}, {word_site(m.site, kIdeal), c.ideal}}), 1);
      else if (c.wavefronts > 1)
        count(counter({{word_site(m.site, kWavefronts), c.wavefronts - 1}}), 1);
    } else {
      Value* c = call(offsetof(Frame, affine_cost), i64,
                      {base, ir_.getInt32(step_bytes), where.mask, ir_.getInt32(width | (store ? 256 : 0))});
      Value* wavefronts = ir_.CreateAnd(c, ir_.getInt64(0xffffffffu));
      if (bytes > 4) {
        count(site_counter(m.site, kWavefronts), wavefronts);
        count(site_counter(m.site, kIdeal), ir_.CreateLShr(c, 32));
      } else {
        count(site_counter(m.site, kWavefronts), ir_.CreateSub(wavefronts, ir_.getInt64(1)));
      }
    }
  }
  Value* memory = field(offsetof(Frame, shared), ir_.getPtrTy(), "shared");
  AllocaInst* elements = contiguous ? whole_place(i, where) : nullptr;
  if (stride == 0 || contiguous) {
    Value* pointer;
    if (proven) {  // nothing wraps: the offset is part of the addressing
      pointer = ir_.CreateGEP(ir_.getInt8Ty(), memory, ir_.CreateZExt(scalar(m.address, e), i64));
      pointer = ir_.CreateConstGEP1_64(ir_.getInt8Ty(), pointer, static_cast<uint64_t>(m.offset));
    } else {
      // Lane 0, if it is off, may lie before the beginning.
      pointer = ir_.CreateGEP(ir_.getInt8Ty(), memory, ir_.CreateSExt(base, i64));
    }
    if (stride == 0)
      move_uniform(i, pointer, where);
    else
      move_contiguous(i, pointer, static_cast<unsigned>(bytes), where, m.count == 1 && bytes <= 4, elements);
  } else if (!load_column(i, base, where)) {
    if (store)
      store_scattered(i, memory, spread(base, stride), where, true);
    else
      load_scattered(i, memory, spread(base, stride), where, false);
  }
  if (slow) {
    ir_.CreateBr(done);
    ir_.SetInsertPoint(slow);
    step(index, where);
    if (elements) whole_from_registers(m, elements);
    ir_.CreateBr(done);
    ir_.SetInsertPoint(done);
  }
  if (elements) registers_from_whole(m, elements, where);
}

// Of loops in which the distance between lanes doubles or halves, as a tree's, each step has a memo of its own. As many
// as fit into the CPU's first cache beside what else is there.
void Generator::find_memo_ways() {
  constexpr uint32_t kMost = 8, kMemos = 24 * 1024 / sizeof(Memo);
  std::set<std::pair<uint32_t, int64_t>> addresses;  // of no class: see shared_general()
  for (const Instruction& i : p_.code)
    if (i.kind == Kind::load || i.kind == Kind::store) {
      const MemoryOp& m = p_.memory[i.memory];
      if (m.space == AddressSpace::shared && m.address.is_reg() && !is_scalar(m.address.reg))
        addresses.insert({m.address.reg, m.offset});
    }
  for (memo_ways_ = kMost; memo_ways_ > 1 && memo_ways_ * addresses.size() * warps() > kMemos;) memo_ways_ /= 2;
}

// Any addresses. What they cost is remembered for each warp: most often they are the same every time, or one of a few
// patterns by turns, told apart by the distance between the first two lanes. What stands at one address shares a memo.
void Generator::shared_general(uint32_t index, const Where& where) {
  const Instruction& i = p_.code[index];
  const MemoryOp& m = p_.memory[i.memory];
  const uint32_t bytes = m.bytes();
  Type *i32 = ir_.getInt32Ty(), *i64 = ir_.getInt64Ty();
  // A load and a store of words cost the same.
  const uint32_t how = bytes | (i.kind == Kind::store ? 256 : 0);
  const std::tuple key{m.address.reg, m.offset, bytes > 4 ? how : bytes};
  const auto number = static_cast<uint64_t>(std::find(memos_.begin(), memos_.end(), key) - memos_.begin());
  if (number == memos_.size()) memos_.push_back(key);
  Value* address =
      ir_.CreateAdd(vector(m.address, Element::b32), spread(ir_.getInt32(static_cast<uint32_t>(m.offset)), 0));
  if (where.mask) address = ir_.CreateSelect(where.lanes, address, Constant::getNullValue(address->getType()));
  Value* way = ir_.CreateAdd(ir_.CreateZExt(w_, i64), ir_.getInt64(number * warps()));
  if (memo_ways_ > 1) {
    Value* distance =
        ir_.CreateSub(ir_.CreateExtractElement(address, 1), ir_.CreateExtractElement(address, uint64_t{0}));
    Value* zeros =
        ir_.CreateBinaryIntrinsic(Intrinsic::cttz, ir_.CreateOr(distance, ir_.getInt32(1u << 31)), ir_.getTrue());
    way = ir_.CreateAdd(ir_.CreateMul(way, ir_.getInt64(memo_ways_)),
                        ir_.CreateZExt(ir_.CreateAnd(zeros, ir_.getInt32(memo_ways_ - 1)), i64));
  }
  Value* memo = ir_.CreateInBoundsGEP(ir_.getInt8Ty(), field(offsetof(Frame, memos), ir_.getPtrTy(), "memos"),
                                      ir_.CreateMul(way, ir_.getInt64(sizeof(Memo))));
  const auto at = [&](std::size_t offset) { return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), memo, offset); };
  Value* known = ir_.CreateAlignedLoad(wide(i32), memo, Align(64));
  Value* same = ir_.CreateIsNull(bits_of(ir_.CreateICmpNE(known, address)));
  same = ir_.CreateAnd(same, ir_.CreateICmpEQ(ir_.CreateLoad(i32, at(offsetof(Memo, mask))), mask_value(where)));
  BB* judge = split(same, "judge", false);
  BB *access = block("access"), *done = block("accessed");
  ir_.CreateBr(access);
  ir_.SetInsertPoint(judge);
  Value* outside = bits_of(ir_.CreateICmpUGE(in_units(address, bytes), spread(shared_limit(0, bytes), 0)));
  BB* slow = split(ir_.CreateIsNull(ir_.CreateAnd(outside, mask_value(where))), "slow", true);
  ir_.CreateAlignedStore(address, memo, Align(64));
  ir_.CreateStore(mask_value(where), at(offsetof(Memo, mask)));
  if (bytes == 4) {
    // Lanes that are all on banks of their own: one wavefront.
    Value* bank = ir_.CreateAnd(ir_.CreateLShr(address, 2), spread(ir_.getInt32(31), 0));
    Value* bit = ir_.CreateShl(spread(ir_.getInt32(1), 0), bank);
    if (where.mask) bit = ir_.CreateSelect(where.lanes, bit, Constant::getNullValue(bit->getType()));
    Value* apart = ir_.CreateICmpEQ(count_lanes(ir_.CreateOrReduce(bit)), count_lanes(mask_value(where)));
    ir_.CreateStore(ir_.getInt32(0), at(offsetof(Memo, wavefronts)));
    ir_.CreateStore(ir_.getInt32(0), at(offsetof(Memo, step)));
    BB *meet = block("meet"), *step_apart = block("step_apart"), *odd = block("odd");
    ir_.CreateCondBr(apart, access, meet);
    ir_.SetInsertPoint(meet);
    // index * 2 * distance: a run of lanes a step apart that nobody could know before. They come back to a bank after
    // 32 / gcd(step, 32) words; not where the step is so large that they come back to a word (or one of 0).
    Value* mask = mask_value(where);
    Value* first = ir_.CreateBinaryIntrinsic(Intrinsic::cttz, mask, ir_.getTrue());
    const auto lane = [&](Value* l) {
      return ir_.CreateLoad(i32, ir_.CreateInBoundsGEP(i32, memo, ir_.CreateZExt(l, i64)));
    };
    Value* start = lane(first);
    Value* step = ir_.CreateSub(lane(ir_.CreateAnd(ir_.CreateAdd(first, ir_.getInt32(1)), ir_.getInt32(31))), start);
    Value* lanes = spread(ir_.getInt32(0), 1);
    Value* line = ir_.CreateAdd(spread(ir_.CreateSub(start, ir_.CreateMul(first, step)), 0),
                                ir_.CreateMul(lanes, spread(step, 0)));
    Value* off = ir_.CreateAnd(bits_of(ir_.CreateICmpNE(address, line)), mask);
    Value* run = ir_.CreateLShr(mask, first);
    off = ir_.CreateOr(off, ir_.CreateAnd(run, ir_.CreateAdd(run, ir_.getInt32(1))));
    Value* small = ir_.CreateIsNotNull(ir_.CreateAnd(step, ir_.getInt32(0x07ff'ffff)));
    ir_.CreateCondBr(ir_.CreateAnd(ir_.CreateIsNull(off), small), step_apart, odd);
    ir_.SetInsertPoint(step_apart);
    Value* common =
        ir_.CreateBinaryIntrinsic(Intrinsic::cttz, ir_.CreateOr(step, ir_.getInt32(1u << 7)), ir_.getTrue());
    Value* period = ir_.CreateSub(ir_.getInt32(7), common);  // as a power of two
    Value* more = ir_.CreateLShr(ir_.CreateSub(ir_.CreateTrunc(count_lanes(mask), i32), ir_.getInt32(1)), period);
    ir_.CreateStore(more, at(offsetof(Memo, wavefronts)));
    if (!where.mask) ir_.CreateStore(step, at(offsetof(Memo, step)));
    ir_.CreateBr(access);
    ir_.SetInsertPoint(odd);
  }
  call(offsetof(Frame, judge), ir_.getVoidTy(), {memo, mask_value(where), ir_.getInt32(how)});
  ir_.CreateBr(access);
  ir_.SetInsertPoint(access);
  if (p_.sites[m.site].dynamic_requests) count(site_counter(m.site, kRequests), 1);
  count(site_counter(m.site, kWavefronts), ir_.CreateZExt(ir_.CreateLoad(i32, at(offsetof(Memo, wavefronts))), i64));
  if (bytes > 4)
    count(site_counter(m.site, kIdeal), ir_.CreateZExt(ir_.CreateLoad(i32, at(offsetof(Memo, ideal))), i64));
  Value* shared = field(offsetof(Frame, shared), ir_.getPtrTy(), "shared");
  if (bytes == 4 && m.width == 4 && !where.mask && target_.masks) {
    BB *halves = block("halves"), *anywhere = block("anywhere");
    Value* step = ir_.CreateLoad(i32, at(offsetof(Memo, step)));
    ir_.CreateCondBr(ir_.CreateICmpEQ(step, ir_.getInt32(8)), halves, anywhere);
    ir_.SetInsertPoint(halves);
    move_every_second(i, ir_.CreateInBoundsGEP(ir_.getInt8Ty(), shared, ir_.CreateExtractElement(address, uint64_t{0})),
                      where);
    ir_.CreateBr(done);
    ir_.SetInsertPoint(anywhere);
  }
  if (i.kind == Kind::store)
    store_scattered(i, shared, address, where, false);
  else
    load_scattered(i, shared, address, where, true);
  ir_.CreateBr(done);
  ir_.SetInsertPoint(slow);
  step(index, where);
  ir_.CreateBr(done);
  ir_.SetInsertPoint(done);
}

// Every second word from `pointer` on, behind whose last one there is room. A tree's first step has half of its lanes'
// accesses, which so are four vectors and not 32 words.
void Generator::move_every_second(const Instruction& i, Value* pointer, const Where& where) {
  const MemoryOp& m = p_.memory[i.memory];
  VectorType* all = FixedVectorType::get(ir_.getInt32Ty(), 2 * kLanes);
  if (i.kind == Kind::load) {
    LoadInst* words = ir_.CreateAlignedLoad(all, pointer, Align(4));
    words->setVolatile(m.is_volatile);
    if (m.values[0].is_reg()) load_result(m, 0, part(words, 0, 2), where);
    return;
  }
  SmallVector<int, 64> places;
  SmallVector<Constant*, 64> on;
  for (uint32_t l = 0; l < kLanes; ++l) {
    places.insert(places.end(), {static_cast<int>(l), PoisonMaskElem});
    on.insert(on.end(), {ir_.getTrue(), ir_.getFalse()});
  }
  ir_.CreateMaskedStore(ir_.CreateShuffleVector(store_value(m, 0), places), pointer, Align(4), ConstantVector::get(on));
}

}  // namespace coalesce::native
