// Loads and stores. Where the address is a scalar and a known step, the access is checked, counted and carried out
// here; what fails a check, and every other access, goes through the interpreter's handler (step()).
#include <llvm/Analysis/VectorUtils.h>

#include <cstddef>

#include "machine/observe/traffic.h"
#include "native/emit/generator.h"

namespace coalesce::native {

using namespace llvm;
using machine::AddressSpace;
using machine::Kind;
using machine::kLanes;

namespace {
constexpr unsigned kRequests = 0, kSectors = 1, kLines = 2, kBytes = 3;
}

void Generator::memory(uint32_t index, const Where& where) {
  const Instruction& i = p_.code[index];
  const MemoryOp& m = p_.memory[i.memory];
  if (const auto passing = passing_.find(index); passing != passing_.end()) return pass(index, passing->second, where);
  const bool plain = (i.kind == Kind::load || i.kind == Kind::store) && m.width <= 8 &&
                     (m.count & (m.count - 1)) == 0 && m.bytes() <= 16;
  LaneClass lanes = LaneClass::constant;
  int64_t stride = 0;
  if (m.address.is_reg()) {
    lanes = p_.registers[m.address.reg].lanes;
    stride = p_.registers[m.address.reg].stride;
  }
  const bool uniform = lanes <= LaneClass::warp_uniform;
  const bool contiguous = lanes == LaneClass::affine && stride == static_cast<int64_t>(m.bytes());
  if (plain && (m.space == AddressSpace::global || m.space == AddressSpace::constant)) {
    const Element e = m.address.is_reg() ? p_.registers[m.address.reg].element : Element::b64;
    // Under a mask LLVM may move a load; one that waits for other blocks must stay where it is.
    const bool moves = m.is_volatile && where.mask;
    if (uniform || (contiguous && !moves)) return global(index, where, uniform, scalar(m.address, e), nullptr);
    if (lanes == LaneClass::general && e == Element::b64 && !moves) return global_general(index, where);
  }
  if (plain && m.space == AddressSpace::shared) {
    if (uniform || lanes == LaneClass::affine) return shared(index, where, stride);
    if (m.address.is_reg() && p_.registers[m.address.reg].element == Element::b32) return shared_general(index, where);
  }
  if (shared_atomic(index, where)) return;
  step(index, where);
}

// ---- Values between registers and memory --------------------------------------------------------------------------

// Element k of every lane (or the one of all lanes) as memory has it, to its register.
void Generator::load_result(const MemoryOp& m, std::size_t k, Value* element, const Where& where) {
  const uint32_t r = m.values[k].reg;
  Type* type = element->getType()->getWithNewBitWidth(8u * m.value_bytes[k]);
  element = m.sign_extend ? ir_.CreateSExtOrTrunc(element, type) : ir_.CreateZExtOrTrunc(element, type);
  // Lanes that are off keep what they have, everywhere, unless nobody can see it.
  Where to = where;
  to.keeps = where.guarded || lanes_meet_[where.block] || !p_.registers[r].block_local;
  if (element->getType()->isVectorTy()) {
    write(r, element, to);
  } else if (is_scalar(r)) {
    write_scalar(r, element);
  } else {
    write(r, spread(element, 0), to);
  }
}

Value* Generator::store_value(const MemoryOp& m, std::size_t k) {
  const machine::Value& v = m.values[k];
  Value* all = vector(v, v.is_reg() ? p_.registers[v.reg].element : machine::Element::b64);
  return ir_.CreateZExtOrTrunc(all, wide(ir_.getIntNTy(8u * m.width)));
}

// All lanes at pointer + lane * bytes. `pad`: memory beyond the lanes that are on may be read and written back.
// `whole`: where what is loaded goes; null: to its registers.
void Generator::move_contiguous(const Instruction& i, Value* pointer, unsigned alignment, const Where& where, bool pad,
                                AllocaInst* whole) {
  const MemoryOp& m = p_.memory[i.memory];
  VectorType* all = whole_type(m);
  Value* on = nullptr;
  if (where.mask) {
    SmallVector<int, 128> each;
    for (uint32_t k = 0; k < kLanes * m.count; ++k) each.push_back(static_cast<int>(k / m.count));
    on = m.count == 1 ? where.lanes : ir_.CreateShuffleVector(where.lanes, each);
  }
  if (i.kind == Kind::load) {
    Value* data;
    if (on && !pad) {
      data = ir_.CreateMaskedLoad(all, pointer, Align(alignment), on, Constant::getNullValue(all));
    } else {
      LoadInst* load = ir_.CreateAlignedLoad(all, pointer, Align(alignment));
      load->setVolatile(m.is_volatile);
      data = load;
      if (pad && m.address.is_reg() && in_bounds(m)) seen_[{m.address.reg, m.offset}] = data;
    }
    if (whole) {
      ir_.CreateStore(data, whole);
      return;
    }
    for (uint32_t k = 0; k < m.count; ++k)
      if (m.values[k].is_reg()) load_result(m, k, m.count == 1 ? data : part(data, k, m.count), where);
    return;
  }
  Value* data = !on && m.count > 1 ? whole_of(m) : nullptr;
  if (!data) {
    std::vector<Value*> parts;
    for (uint32_t k = 0; k < m.count; ++k) parts.push_back(store_value(m, k));
    data = join(parts);
  }
  if (!on) {
    ir_.CreateAlignedStore(data, pointer, Align(alignment))->setVolatile(m.is_volatile);
  } else if (pad) {
    const auto seen = m.address.is_reg() ? seen_.find({m.address.reg, m.offset}) : seen_.end();
    Value* old = seen != seen_.end() && seen->second->getType() == all
                     ? seen->second
                     : ir_.CreateAlignedLoad(all, pointer, Align(alignment));
    ir_.CreateAlignedStore(ir_.CreateSelect(on, data, old), pointer, Align(alignment));
  } else {
    ir_.CreateMaskedStore(data, pointer, Align(alignment), on);
  }
}

// Of lanes that store to one address: the first of the last pass that has any (lanes_of_a_pass).
Value* Generator::surviving_lane(uint32_t bytes, const Where& where) {
  const uint32_t pass = machine::lanes_of_a_pass(bytes);
  if (!where.mask) return ir_.getInt32(kLanes - pass);
  Value* last = ir_.CreateXor(ir_.CreateBinaryIntrinsic(Intrinsic::ctlz, where.mask, ir_.getTrue()), ir_.getInt32(31));
  Value* begin = ir_.CreateAnd(last, ir_.getInt32(~(pass - 1)));
  Value* lanes = ir_.CreateAnd(where.mask, ir_.CreateShl(ir_.getInt32(~0u), begin));
  return ir_.CreateBinaryIntrinsic(Intrinsic::cttz, lanes, ir_.getTrue());
}

// All lanes at one address.
void Generator::move_uniform(const Instruction& i, Value* pointer, const Where& where) {
  const MemoryOp& m = p_.memory[i.memory];
  Type* element = ir_.getIntNTy(8u * m.width);
  for (uint32_t k = 0; k < m.count; ++k) {
    Value* at = ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), pointer, uint64_t{k} * m.width);
    if (i.kind == Kind::load) {
      LoadInst* load = ir_.CreateAlignedLoad(element, at, Align(m.width));
      load->setVolatile(m.is_volatile);
      if (m.values[k].is_reg()) load_result(m, k, load, where);
      continue;
    }
    const machine::Value& v = m.values[k];
    Value* one;
    if (!v.is_reg() || (is_scalar(v.reg) && p_.registers[v.reg].lanes <= LaneClass::warp_uniform)) {
      one = ir_.CreateZExtOrTrunc(scalar(v, v.is_reg() ? p_.registers[v.reg].element : Element::b64), element);
    } else {
      one = ir_.CreateExtractElement(store_value(m, k), surviving_lane(m.bytes(), where));
    }
    ir_.CreateAlignedStore(one, at, Align(m.width))->setVolatile(m.is_volatile);
  }
}

// Lane l at base + offsets[l] (bytes below 2^31). `pad`: lanes that are off may be read.
void Generator::load_scattered(const Instruction& i, Value* base, Value* offsets, const Where& where, bool pad) {
  const MemoryOp& m = p_.memory[i.memory];
  Type* element = ir_.getIntNTy(8u * m.width);
  Value* on = where.mask ? where.lanes : Constant::getAllOnesValue(wide(ir_.getInt1Ty()));
  // Without gather instructions, a branch for each lane that may be off takes longer than reading it.
  if (pad && !target_.masks) on = Constant::getAllOnesValue(wide(ir_.getInt1Ty()));
  // The last steps of a tree need few lanes, and a gather costs the same for none of its lanes as for all.
  const bool in_parts = where.mask && target_.masks;
  const std::vector<uint32_t> starts =
      in_parts ? std::vector<uint32_t>{0, 8, 16, kLanes} : std::vector<uint32_t>{0, kLanes};
  for (uint32_t k = 0; k < m.count; ++k) {
    if (!m.values[k].is_reg()) continue;
    Value* from = ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), base, uint64_t{k} * m.width);
    Value* loaded = Constant::getNullValue(wide(element));
    BB* moved = in_parts ? block("moved") : nullptr;
    std::vector<std::pair<Value*, BB*>> ends;  // what has been loaded, where no more lanes are on
    for (std::size_t p = 0; p + 1 < starts.size(); ++p) {
      const uint32_t first = starts[p], n = starts[p + 1] - first;
      const auto part = [&](Value* all) {
        return n == kLanes ? all : ir_.CreateShuffleVector(all, createSequentialMask(first, n, 0));
      };
      if (p > 0) {
        BB* more = block("more_lanes");
        ends.push_back({loaded, ir_.GetInsertBlock()});
        ir_.CreateCondBr(ir_.CreateIsNull(ir_.CreateLShr(where.mask, first)), moved, more);
        ir_.SetInsertPoint(more);
      }
      Value* at = ir_.CreateGEP(ir_.getInt8Ty(), from, part(offsets));
      VectorType* type = FixedVectorType::get(element, n);
      Value* some = ir_.CreateMaskedGather(type, at, Align(m.width), part(on), Constant::getNullValue(type));
      if (n == kLanes) {
        loaded = some;
        continue;
      }
      // Into their place among all lanes.
      SmallVector<int, 32> widened, blended;
      for (uint32_t l = 0; l < kLanes; ++l) {
        widened.push_back(l >= first && l < first + n ? static_cast<int>(l - first) : PoisonMaskElem);
        blended.push_back(static_cast<int>(l >= first && l < first + n ? kLanes + l : l));
      }
      loaded = ir_.CreateShuffleVector(loaded, ir_.CreateShuffleVector(some, widened), blended);
    }
    if (moved) {
      ends.push_back({loaded, ir_.GetInsertBlock()});
      ir_.CreateBr(moved);
      ir_.SetInsertPoint(moved);
      PHINode* either = ir_.CreatePHI(loaded->getType(), static_cast<unsigned>(ends.size()));
      for (const auto& [value, end] : ends) either->addIncoming(value, end);
      loaded = either;
    }
    load_result(m, k, loaded, where);
  }
}

// Lane l at base + offsets[l] (bytes below 2^31). `apart`: no two of them at one address. A scatter stores its elements
// in order, so where lanes may meet it has them in the order in which a later one overwrites an earlier.
void Generator::store_scattered(const Instruction& i, Value* base, Value* offsets, const Where& where, bool apart) {
  const MemoryOp& m = p_.memory[i.memory];
  const uint32_t pass = apart ? 1 : machine::lanes_of_a_pass(m.bytes());
  SmallVector<int, kLanes> order;
  for (uint32_t first = 0; first < kLanes; first += pass)
    for (uint32_t l = pass; l-- > 0;) order.push_back(static_cast<int>(first + l));
  Value* on = where.mask ? where.lanes : Constant::getAllOnesValue(wide(ir_.getInt1Ty()));
  // The last steps of a tree need few lanes, and a scatter costs the same for none of its lanes as for all. The first
  // lanes come last where one pass takes them all.
  const bool in_parts = where.mask && target_.masks;
  const std::vector<uint32_t> starts = !in_parts        ? std::vector<uint32_t>{0, kLanes}
                                       : pass == kLanes ? std::vector<uint32_t>{0, 16, 24, kLanes}
                                                        : std::vector<uint32_t>{0, 8, 16, kLanes};
  for (uint32_t k = 0; k < m.count; ++k) {
    Value* to = ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), base, uint64_t{k} * m.width);
    Value* stored = store_value(m, k);
    for (std::size_t p = 0; p + 1 < starts.size(); ++p) {
      const ArrayRef<int> lanes = ArrayRef(order).slice(starts[p], starts[p + 1] - starts[p]);
      const auto part = [&](Value* all) { return apart && !in_parts ? all : ir_.CreateShuffleVector(all, lanes); };
      BB* next = nullptr;
      if (in_parts) {
        uint32_t any = 0;
        for (const int l : lanes) any |= 1u << l;
        BB* some = block("some_lanes");
        next = block("next_lanes");
        ir_.CreateCondBr(ir_.CreateIsNull(ir_.CreateAnd(where.mask, ir_.getInt32(any))), next, some);
        ir_.SetInsertPoint(some);
      }
      ir_.CreateMaskedScatter(part(stored), ir_.CreateGEP(ir_.getInt8Ty(), to, part(offsets)), Align(m.width),
                              part(on));
      if (!next) continue;
      ir_.CreateBr(next);
      ir_.SetInsertPoint(next);
    }
  }
}

// ---- Global --------------------------------------------------------------------------------------------------------

Value* Generator::site_state(uint32_t memory, std::size_t offset) {
  return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), field(offsetof(Frame, sites), ir_.getPtrTy(), "sites"),
                                        sizeof(SiteState) * memory + offset);
}

Value* Generator::track(uint32_t memory, Value* warp) {
  Value* first = ir_.CreateConstInBoundsGEP1_64(
      ir_.getInt8Ty(), field(offsetof(Frame, tracks), ir_.getPtrTy(), "tracks"), sizeof(Track) * memory * warps());
  return ir_.CreateInBoundsGEP(ir_.getInt8Ty(), first,
                               ir_.CreateMul(ir_.CreateZExt(warp, ir_.getInt64Ty()), ir_.getInt64(sizeof(Track))));
}

// Bytes [low, high) have been touched. Ranges that follow one another are marked as one. `bytes`: how many, where that
// is known to be a multiple of 32. Goes to `before` where they have been touched before, not long ago (null: goes on).
// Returns the range; null `before`: nothing of use.
Value* Generator::touch(uint32_t memory, Value* low, Value* high, uint64_t bytes, BB* before) {
  BB *follows = block("follows"), *jumps = block("jumps"), *marked = block("marked"), *again = block("again");
  BB* some = block("some");
  MDNode* mostly_not = mostly(16);
  if (!before) before = marked;
  Value* all = ir_.CreateLoad(ir_.getInt32Ty(), site_state(memory, offsetof(SiteState, all)));
  ir_.CreateCondBr(ir_.CreateIsNull(all), some, before);
  ir_.SetInsertPoint(some);
  Value* own = ir_.CreateLoad(ir_.getInt32Ty(), site_state(memory, offsetof(SiteState, own)));
  Value* range = track(memory, ir_.CreateAnd(w_, own));
  const auto at = [&](std::size_t offset) { return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), range, offset); };
  Value* end = ir_.CreateLoad(ir_.getInt64Ty(), at(offsetof(Track, high)));
  ir_.CreateCondBr(ir_.CreateICmpEQ(low, end), follows, again);
  ir_.SetInsertPoint(follows);
  ir_.CreateStore(high, at(offsetof(Track, high)));
  ir_.CreateBr(marked);
  ir_.SetInsertPoint(again);
  Value* begin = ir_.CreateLoad(ir_.getInt64Ty(), at(offsetof(Track, low)));
  ir_.CreateCondBr(ir_.CreateAnd(ir_.CreateICmpUGE(low, begin), ir_.CreateICmpULE(high, end)), before, jumps,
                   mostly_not);
  ir_.SetInsertPoint(jumps);
  if (bytes) {
    // Whole sectors that the thread has touched before, as where tiles of a matrix are read again and again.
    Type* i64 = ir_.getInt64Ty();
    Value* from = ir_.CreateSub(low, ir_.CreateLoad(i64, site_state(memory, offsetof(SiteState, base))));
    BB *whole = block("whole"), *unknown = block("unknown");
    ir_.CreateCondBr(ir_.CreateIsNull(ir_.CreateAnd(from, ir_.getInt64(31))), whole, unknown, mostly_not);
    ir_.SetInsertPoint(whole);
    Value* mark =
        ir_.CreateAdd(ir_.CreateLoad(i64, site_state(memory, offsetof(SiteState, marks))), ir_.CreateLShr(from, 5));
    Value* line = ir_.CreateLShr(mark, 6);
    Value* here = ir_.CreateInBoundsGEP(
        ir_.getInt8Ty(), field(offsetof(Frame, touched), ir_.getPtrTy(), "touched"),
        ir_.CreateMul(ir_.CreateAnd(line, ir_.getInt64(TouchedLines::kLines - 1)), ir_.getInt64(sizeof(TouchedLine))));
    const auto of = [&](std::size_t offset) { return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), here, offset); };
    BB *same = block("same"), *known = block("known"), *fresh = block("fresh"), *fits = block("fits");
    ir_.CreateCondBr(ir_.CreateICmpEQ(ir_.CreateLoad(i64, of(offsetof(TouchedLine, line))), line), same, unknown,
                     mostly_not);
    ir_.SetInsertPoint(same);
    // Those of the next line, if there are any, look as if they had not been touched.
    Value* sectors = ir_.CreateLoad(i64, of(offsetof(TouchedLine, sectors)));
    Value* place = ir_.CreateAnd(mark, ir_.getInt64(63));
    Value* these = ir_.getInt64((uint64_t{1} << bytes / 32) - 1);
    Value* missing = ir_.CreateAnd(ir_.CreateNot(ir_.CreateLShr(sectors, place)), these);
    ir_.CreateCondBr(ir_.CreateIsNull(missing), known, fresh, mostly_not);
    ir_.SetInsertPoint(known);
    Value* patience = site_state(memory, offsetof(SiteState, patience));
    Value* left = ir_.CreateSub(ir_.CreateLoad(i64, patience), ir_.getInt64(1));
    ir_.CreateStore(left, patience);
    ir_.CreateCondBr(ir_.CreateIsNotNull(left), before, unknown, mostly_not);
    // New ones of a line that is known: as Runner::touch would keep them, unless it wants to see every jump.
    ir_.SetInsertPoint(fresh);
    Value* one_line = ir_.CreateICmpULE(place, ir_.getInt64(64 - bytes / 32));
    ir_.CreateCondBr(ir_.CreateAnd(one_line, ir_.CreateIsNotNull(own)), fits, unknown, mostly_not);
    ir_.SetInsertPoint(fits);
    ir_.CreateStore(ir_.CreateOr(sectors, ir_.CreateShl(these, place)), of(offsetof(TouchedLine, sectors)));
    Value* ended = site_state(memory, offsetof(SiteState, ended));
    Value* sum = ir_.CreateAdd(ir_.CreateLoad(i64, ended), ir_.CreateUnaryIntrinsic(Intrinsic::ctpop, missing));
    ir_.CreateStore(sum, ended);
    Value* enough = ir_.CreateLoad(i64, site_state(memory, offsetof(SiteState, enough)));
    ir_.CreateCondBr(ir_.CreateICmpULT(sum, enough), marked, unknown, mostly_not);
    ir_.SetInsertPoint(unknown);
  }
  call(offsetof(Frame, touch), ir_.getVoidTy(), {ir_.getInt32(memory), w_, low, high});
  ir_.CreateBr(marked);
  ir_.SetInsertPoint(marked);
  return range;
}

// What a warp moves whose lane 0 is there.
void Generator::prefetch(const Instruction& i, Value* from) {
  const uint64_t bytes = uint64_t{p_.memory[i.memory].bytes()} * kLanes;
  for (uint64_t line = 0; line < bytes; line += 64) {
    Value* at = ir_.CreateIntToPtr(ir_.CreateAdd(from, ir_.getInt64(line)), ir_.getPtrTy());
    ir_.CreateIntrinsic(Intrinsic::prefetch, {ir_.getPtrTy()},
                        {at, ir_.getInt32(i.kind == Kind::store), ir_.getInt32(3), ir_.getInt32(1)});
  }
}

// What the warp will want next: as far again from its last visit as this one is, in the next thread block as a rule;
// where warps follow one another, eight warps on (kAhead). The CPU looks ahead by itself only within a page. What has
// been touched before, not long ago, is taken to be in its caches.
// `range`: the warp's, if it is at hand.
void Generator::fetch_ahead(const Instruction& i, Value* base, Value* range) {
  constexpr uint32_t kAhead = 3;
  Type* i64 = ir_.getInt64Ty();
  Value* own = ir_.CreateLoad(ir_.getInt32Ty(), site_state(i.memory, offsetof(SiteState, own)));
  if (!range) range = track(i.memory, ir_.CreateAnd(w_, own));
  Value* last_at = ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), range, offsetof(Track, last));
  Value* step = ir_.CreateSub(base, ir_.CreateLoad(i64, last_at));
  Value* far = ir_.CreateZExt(ir_.CreateAnd(ir_.CreateNot(own), ir_.getInt32(kAhead)), i64);
  Value* ahead = ir_.CreateAdd(base, ir_.CreateShl(step, far));
  ir_.CreateStore(base, last_at);
  prefetch(i, ahead);
}

// `address`: of lane 0, or of all lanes; `whole`: whether it is so (null: known).
void Generator::global(uint32_t index, const Where& where, bool uniform, Value* address, Value* whole) {
  const Instruction& i = p_.code[index];
  const MemoryOp& m = p_.memory[i.memory];
  const uint64_t bytes = m.bytes();
  Type* i64 = ir_.getInt64Ty();
  Value* base = ir_.CreateAdd(ir_.CreateZExt(address, i64), ir_.getInt64(static_cast<uint64_t>(m.offset)));
  const auto state = [&](std::size_t offset) { return ir_.CreateLoad(i64, site_state(i.memory, offset)); };
  Value* start = state(offsetof(SiteState, base));
  Value *low = base, *high, *inside;
  if (uniform || !where.mask) {
    high = ir_.CreateAdd(base, ir_.getInt64(uniform ? bytes : bytes * kLanes));
    inside = ir_.CreateICmpULT(ir_.CreateSub(base, start), state(offsetof(SiteState, limit)));
  } else {
    Value* first = ir_.CreateZExt(ir_.CreateBinaryIntrinsic(Intrinsic::cttz, where.mask, ir_.getTrue()), i64);
    Value* last =
        ir_.CreateSub(ir_.getInt64(kLanes),
                      ir_.CreateZExt(ir_.CreateBinaryIntrinsic(Intrinsic::ctlz, where.mask, ir_.getTrue()), i64));
    low = ir_.CreateAdd(base, ir_.CreateMul(first, ir_.getInt64(bytes)));
    high = ir_.CreateAdd(base, ir_.CreateMul(last, ir_.getInt64(bytes)));
    inside = ir_.CreateAnd(ir_.CreateAnd(ir_.CreateICmpULT(low, high), ir_.CreateICmpUGE(low, start)),
                           ir_.CreateICmpULE(ir_.CreateSub(high, start), state(offsetof(SiteState, size))));
  }
  // A warp's lanes fill whole lines, as a rule from a line's beginning on: then its cost is known.
  constexpr uint64_t kSector = 32, kLine = 128;
  const bool lines = !uniform && !where.mask && m.site != kNone && (bytes * kLanes) % kLine == 0;
  if (bytes > 1 && !lines)
    inside = ir_.CreateAnd(inside, ir_.CreateIsNull(ir_.CreateAnd(base, ir_.getInt64(bytes - 1))));
  if (whole) inside = ir_.CreateAnd(inside, whole);
  BB* slow = split(inside, "slow", true);
  BB* done = block("accessed");
  AllocaInst* elements = uniform ? nullptr : whole_place(i, where);
  Value* range = nullptr;
  BB* fetched = uniform ? nullptr : block("fetched");
  if (lines) {
    const uint32_t all = static_cast<uint32_t>(bytes * kLanes);
    BB *between = block("between"), *counted = block("counted"), *here = block("here");
    ir_.CreateCondBr(ir_.CreateIsNull(ir_.CreateAnd(base, ir_.getInt64(kLine - 1))), counted, between);
    ir_.SetInsertPoint(between);
    ir_.CreateCondBr(ir_.CreateIsNull(ir_.CreateAnd(base, ir_.getInt64(bytes - 1))), here, slow);
    ir_.SetInsertPoint(here);
    Value* crosses = ir_.CreateIsNotNull(ir_.CreateAnd(base, ir_.getInt64(kSector - 1)));
    count(site_counter(m.site, kSectors), ir_.CreateZExt(crosses, i64));
    count(site_counter(m.site, kLines), 1);
    ir_.CreateBr(counted);
    ir_.SetInsertPoint(counted);
    std::vector<Target> cost{{word_site(m.site, kSectors), all / static_cast<uint32_t>(kSector)},
                             {word_site(m.site, kLines), all / static_cast<uint32_t>(kLine)},
                             {word_site(m.site, kBytes), all}};
    if (p_.sites[m.site].dynamic_requests) cost.push_back({word_site(m.site, kRequests), 1});
    count(counter(cost), 1);
    range = touch(i.memory, low, high, all, fetched);
  } else if (m.site != kNone) {
    if (p_.sites[m.site].dynamic_requests) count(site_counter(m.site, kRequests), 1);
    if (uniform) {
      count(counter({{word_site(m.site, kSectors), 1},
                     {word_site(m.site, kLines), 1},
                     {word_site(m.site, kBytes), static_cast<uint32_t>(bytes)}}),
            1);
      touch(i.memory, low, high, 0, nullptr);
    } else {
      BB* counted = block("counted");
      if (where.mask) {
        // A run of lanes; lanes with gaps between them are rare.
        Value* run = ir_.CreateLShr(where.mask, ir_.CreateBinaryIntrinsic(Intrinsic::cttz, where.mask, ir_.getTrue()));
        Value* unbroken = ir_.CreateIsNull(ir_.CreateAnd(run, ir_.CreateAdd(run, ir_.getInt32(1))));
        BB* gaps = split(unbroken, "gaps", true);
        BB* here = ir_.GetInsertBlock();
        ir_.SetInsertPoint(gaps);
        call(offsetof(Frame, gaps), ir_.getVoidTy(), {ir_.getInt32(i.memory), base, where.mask});
        ir_.CreateBr(counted);
        ir_.SetInsertPoint(here);
      }
      Value* last = ir_.CreateSub(high, ir_.getInt64(1));
      const auto units = [&](unsigned shift) {
        return ir_.CreateAdd(ir_.CreateSub(ir_.CreateLShr(last, shift), ir_.CreateLShr(low, shift)), ir_.getInt64(1));
      };
      count(site_counter(m.site, kSectors), units(5));
      count(site_counter(m.site, kLines), units(7));
      if (where.mask)
        count(site_counter(m.site, kBytes), ir_.CreateMul(count_lanes(where.mask), ir_.getInt64(bytes)));
      else
        count(counter({{word_site(m.site, kBytes), static_cast<uint32_t>(bytes * kLanes)}}), 1);
      touch(i.memory, low, high, where.mask ? 0 : bytes * kLanes, nullptr);
      ir_.CreateBr(counted);
      ir_.SetInsertPoint(counted);
    }
  }
  if (fetched) {
    fetch_ahead(i, base, range);
    ir_.CreateBr(fetched);
    ir_.SetInsertPoint(fetched);
  }
  Value* pointer = ir_.CreateIntToPtr(base, ir_.getPtrTy());
  if (uniform)
    move_uniform(i, pointer, where);
  else
    move_contiguous(i, pointer, static_cast<unsigned>(bytes), where, false, elements);
  ir_.CreateBr(done);
  ir_.SetInsertPoint(slow);
  step(index, where);
  if (elements) whole_from_registers(m, elements);
  ir_.CreateBr(done);
  ir_.SetInsertPoint(done);
  if (elements) registers_from_whole(m, elements, where);
}

// Addresses that no lane class describes: most often lane after lane all the same.
void Generator::global_general(uint32_t index, const Where& where) {
  const MemoryOp& m = p_.memory[p_.code[index].memory];
  if (int64_t step; step_of(m.address, &step)) {
    if (step != static_cast<int64_t>(m.bytes())) return this->step(index, where);
    const Stepped a = stepped(m.address);
    return global(index, where, false, a.base, a.whole);
  }
  Value* all = vector(m.address, Element::b64);
  Value *base, *apart;
  if (where.mask) {
    Value* first = ir_.CreateBinaryIntrinsic(Intrinsic::cttz, where.mask, ir_.getTrue());
    base = ir_.CreateSub(ir_.CreateExtractElement(all, first),
                         ir_.CreateMul(ir_.CreateZExt(first, ir_.getInt64Ty()), ir_.getInt64(m.bytes())));
    apart = ir_.CreateAnd(bits_of(ir_.CreateICmpNE(all, spread(base, m.bytes()))), where.mask);
  } else {
    base = ir_.CreateExtractElement(all, uint64_t{0});
    apart = bits_of(ir_.CreateICmpNE(all, spread(base, m.bytes())));
  }
  global(index, where, false, base, ir_.CreateIsNull(apart));
}

}  // namespace coalesce::native
