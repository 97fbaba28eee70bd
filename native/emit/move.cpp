#include "native/emit/move.h"

#include <llvm/Analysis/VectorUtils.h>

#include "native/analyse/shared_access.h"
#include "native/emit/interleaved.h"
#include "native/emit/registers.h"

namespace coalesce::native {

using namespace llvm;
using machine::Kind;
using machine::kLanes;

void load_result(Emitter& e, const MemoryOp& m, std::size_t k, Value* element, const Active& active) {
  IRBuilder<>& ir = e.ir;
  const uint32_t r = m.values[k].reg;
  Type* type = element->getType()->getWithNewBitWidth(8u * m.value_bytes[k]);
  element = m.sign_extend ? ir.CreateSExtOrTrunc(element, type) : ir.CreateZExtOrTrunc(element, type);
  // Lanes that are off keep their values unless nothing can read them.
  Active to = active;
  to.keeps = active.guarded || e.facts.lanes_exchange[active.block] || !e.p.registers[r].block_local;
  if (element->getType()->isVectorTy()) {
    write(e, r, element, to);
  } else if (e.is_scalar(r)) {
    set_register(e, r, element);
  } else {
    write(e, r, e.spread(element, 0), to);
  }
}

Value* store_value(Emitter& e, const MemoryOp& m, std::size_t k) {
  IRBuilder<>& ir = e.ir;
  const machine::Value& v = m.values[k];
  Value* all = vector_of(e, v, v.is_reg() ? e.p.registers[v.reg].element : machine::Element::b64);
  return ir.CreateZExtOrTrunc(all, e.wide(ir.getIntNTy(8u * m.width)));
}

void move_contiguous(Emitter& e, const Instruction& i, Value* pointer, unsigned alignment, const Active& active,
                     bool pad, AllocaInst* place) {
  IRBuilder<>& ir = e.ir;
  const MemoryOp& m = e.p.memory[i.memory];
  VectorType* all = interleaved_type(e, m);
  Value* on = nullptr;
  if (active.mask) {
    SmallVector<int, 128> each;
    for (uint32_t k = 0; k < kLanes * m.count; ++k) each.push_back(static_cast<int>(k / m.count));
    on = m.count == 1 ? active.lanes : ir.CreateShuffleVector(active.lanes, each);
  }
  if (i.kind == Kind::load) {
    Value* data;
    if (on && !pad) {
      data = ir.CreateMaskedLoad(all, pointer, Align(alignment), on, Constant::getNullValue(all));
    } else {
      LoadInst* load = ir.CreateAlignedLoad(all, pointer, Align(alignment));
      load->setVolatile(m.is_volatile);
      data = load;
      if (pad && m.address.is_reg() && in_bounds(e.p, m)) e.known_shared[{m.address.reg, m.offset}] = data;
    }
    if (place) {
      ir.CreateStore(data, place);
      return;
    }
    for (uint32_t k = 0; k < m.count; ++k)
      if (m.values[k].is_reg()) load_result(e, m, k, m.count == 1 ? data : deinterleave(e, data, k, m.count), active);
    return;
  }
  Value* data = !on && m.count > 1 ? interleaved_source(e, m) : nullptr;
  if (!data) {
    std::vector<Value*> parts;
    for (uint32_t k = 0; k < m.count; ++k) parts.push_back(store_value(e, m, k));
    data = interleave(e, parts);
  }
  if (!on) {
    ir.CreateAlignedStore(data, pointer, Align(alignment))->setVolatile(m.is_volatile);
  } else if (pad) {
    const auto seen = m.address.is_reg() ? e.known_shared.find({m.address.reg, m.offset}) : e.known_shared.end();
    Value* old = seen != e.known_shared.end() && seen->second->getType() == all
                     ? seen->second
                     : ir.CreateAlignedLoad(all, pointer, Align(alignment));
    ir.CreateAlignedStore(ir.CreateSelect(on, data, old), pointer, Align(alignment));
  } else {
    ir.CreateMaskedStore(data, pointer, Align(alignment), on);
  }
}

namespace {

// The lane whose value stays, among lanes that store to one address: the first of the last pass that has any
// (lanes_of_a_pass).
Value* surviving_lane(Emitter& e, const MemoryOp& m, const Active& active) {
  IRBuilder<>& ir = e.ir;
  const uint32_t pass = machine::lanes_of_a_pass(m);
  if (!active.mask) return ir.getInt32(kLanes - pass);
  Value* last = ir.CreateXor(ir.CreateBinaryIntrinsic(Intrinsic::ctlz, active.mask, ir.getTrue()), ir.getInt32(31));
  Value* begin = ir.CreateAnd(last, ir.getInt32(~(pass - 1)));
  Value* lanes = ir.CreateAnd(active.mask, ir.CreateShl(ir.getInt32(~0u), begin));
  return ir.CreateBinaryIntrinsic(Intrinsic::cttz, lanes, ir.getTrue());
}

// Without scatter instructions: lane after lane. LLVM would make the same of a scatter, but put its lanes in order
// first.
void store_lanes(Emitter& e, const MemoryOp& m, Value* base, Value* offsets, Value* stored, ArrayRef<int> order,
                 const Active& active) {
  IRBuilder<>& ir = e.ir;
  for (const int l : order) {
    BasicBlock* next = nullptr;
    if (active.mask) {
      BasicBlock* on = e.block("lane");
      next = e.block("next_lane");
      ir.CreateCondBr(ir.CreateIsNull(ir.CreateAnd(active.mask, ir.getInt32(1u << l))), next, on);
      ir.SetInsertPoint(on);
    }
    const auto lane = static_cast<uint64_t>(l);
    Value* at = ir.CreateGEP(ir.getInt8Ty(), base, ir.CreateExtractElement(offsets, lane));
    ir.CreateAlignedStore(ir.CreateExtractElement(stored, lane), at, Align(m.width));
    if (!next) continue;
    ir.CreateBr(next);
    ir.SetInsertPoint(next);
  }
}

}  // namespace

void move_uniform(Emitter& e, const Instruction& i, Value* pointer, const Active& active) {
  IRBuilder<>& ir = e.ir;
  const MemoryOp& m = e.p.memory[i.memory];
  Type* element = ir.getIntNTy(8u * m.width);
  for (uint32_t k = 0; k < m.count; ++k) {
    Value* at = e.offset(pointer, uint64_t{k} * m.width);
    if (i.kind == Kind::load) {
      LoadInst* load = ir.CreateAlignedLoad(element, at, Align(m.width));
      load->setVolatile(m.is_volatile);
      if (m.values[k].is_reg()) load_result(e, m, k, load, active);
      continue;
    }
    const machine::Value& v = m.values[k];
    Value* one;
    if (!v.is_reg() || (e.is_scalar(v.reg) && e.p.registers[v.reg].lanes <= LaneClass::warp_uniform)) {
      one = ir.CreateZExtOrTrunc(scalar_of(e, v, v.is_reg() ? e.p.registers[v.reg].element : Element::b64), element);
    } else {
      one = ir.CreateExtractElement(store_value(e, m, k), surviving_lane(e, m, active));
    }
    ir.CreateAlignedStore(one, at, Align(m.width))->setVolatile(m.is_volatile);
  }
}

void load_scattered(Emitter& e, const Instruction& i, Value* base, Value* offsets, const Active& active, bool pad) {
  IRBuilder<>& ir = e.ir;
  const MemoryOp& m = e.p.memory[i.memory];
  Type* element = ir.getIntNTy(8u * m.width);
  Value* on = active.mask ? active.lanes : Constant::getAllOnesValue(e.wide(ir.getInt1Ty()));
  // Without gather instructions, a branch for each lane that may be off takes longer than reading it.
  if (pad && !e.target.masks) on = Constant::getAllOnesValue(e.wide(ir.getInt1Ty()));
  // The last steps of a tree need few lanes, and a gather costs the same for none of its lanes as for all.
  const bool in_parts = active.mask && e.target.masks;
  const std::vector<uint32_t> starts =
      in_parts ? std::vector<uint32_t>{0, 8, 16, kLanes} : std::vector<uint32_t>{0, kLanes};
  for (uint32_t k = 0; k < m.count; ++k) {
    if (!m.values[k].is_reg()) continue;
    Value* from = e.offset(base, uint64_t{k} * m.width);
    Value* loaded = Constant::getNullValue(e.wide(element));
    BasicBlock* moved = in_parts ? e.block("moved") : nullptr;
    std::vector<std::pair<Value*, BasicBlock*>> ends;  // what has been loaded, where no more lanes are on
    for (std::size_t p = 0; p + 1 < starts.size(); ++p) {
      const uint32_t first = starts[p], n = starts[p + 1] - first;
      const auto some_of = [&](Value* all) {
        return n == kLanes ? all : ir.CreateShuffleVector(all, createSequentialMask(first, n, 0));
      };
      if (p > 0) {
        BasicBlock* more = e.block("more_lanes");
        ends.push_back({loaded, ir.GetInsertBlock()});
        ir.CreateCondBr(ir.CreateIsNull(ir.CreateLShr(active.mask, first)), moved, more);
        ir.SetInsertPoint(more);
      }
      Value* at = ir.CreateGEP(ir.getInt8Ty(), from, some_of(offsets));
      VectorType* type = FixedVectorType::get(element, n);
      Value* some = ir.CreateMaskedGather(type, at, Align(m.width), some_of(on), Constant::getNullValue(type));
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
      loaded = ir.CreateShuffleVector(loaded, ir.CreateShuffleVector(some, widened), blended);
    }
    if (moved) {
      ends.push_back({loaded, ir.GetInsertBlock()});
      ir.CreateBr(moved);
      ir.SetInsertPoint(moved);
      PHINode* either = ir.CreatePHI(loaded->getType(), static_cast<unsigned>(ends.size()));
      for (const auto& [value, end] : ends) either->addIncoming(value, end);
      loaded = either;
    }
    load_result(e, m, k, loaded, active);
  }
}

// A scatter stores its elements in order, so where lanes may meet it has them in the order in which a later one
// overwrites an earlier one.
void store_scattered(Emitter& e, const Instruction& i, Value* base, Value* offsets, const Active& active, bool apart) {
  IRBuilder<>& ir = e.ir;
  const MemoryOp& m = e.p.memory[i.memory];
  const uint32_t pass = apart ? 1 : machine::lanes_of_a_pass(m);
  SmallVector<int, kLanes> order;
  for (uint32_t first = 0; first < kLanes; first += pass)
    for (uint32_t l = pass; l-- > 0;) order.push_back(static_cast<int>(first + l));
  Value* on = active.mask ? active.lanes : Constant::getAllOnesValue(e.wide(ir.getInt1Ty()));
  // The last steps of a tree need few lanes, and a scatter costs the same for none of its lanes as for all.
  const bool in_parts = apart && active.mask;
  const std::vector<uint32_t> starts =
      in_parts ? std::vector<uint32_t>{0, 8, 16, kLanes} : std::vector<uint32_t>{0, kLanes};
  for (uint32_t k = 0; k < m.count; ++k) {
    Value* to = e.offset(base, uint64_t{k} * m.width);
    Value* stored = store_value(e, m, k);
    if (!e.target.masks) {
      store_lanes(e, m, to, offsets, stored, order, active);
      continue;
    }
    BasicBlock* done = in_parts ? e.block("stored") : nullptr;
    for (std::size_t p = 0; p + 1 < starts.size(); ++p) {
      const ArrayRef<int> lanes = ArrayRef(order).slice(starts[p], starts[p + 1] - starts[p]);
      const auto some_of = [&](Value* all) { return apart && !in_parts ? all : ir.CreateShuffleVector(all, lanes); };
      if (p > 0) {
        BasicBlock* more = e.block("more_lanes");
        ir.CreateCondBr(ir.CreateIsNull(ir.CreateLShr(active.mask, starts[p])), done, more);
        ir.SetInsertPoint(more);
      }
      ir.CreateMaskedScatter(some_of(stored), ir.CreateGEP(ir.getInt8Ty(), to, some_of(offsets)), Align(m.width),
                             some_of(on));
    }
    if (!done) continue;
    ir.CreateBr(done);
    ir.SetInsertPoint(done);
  }
}

}  // namespace coalesce::native
