#include "native/emit/shared.h"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "machine/observe/traffic.h"
#include "native/analyse/shared_access.h"
#include "native/emit/interleaved.h"
#include "native/emit/interpreter.h"
#include "native/emit/move.h"
#include "native/emit/registers.h"
#include "native/emit/tiles.h"

namespace coalesce::native {

using namespace llvm;
using machine::Kind;
using machine::kLanes;

Value* in_units(Emitter& e, Value* address, int64_t bytes) {
  IRBuilder<>& ir = e.ir;
  Value* places =
      ConstantInt::get(address->getType(), static_cast<uint64_t>(std::countr_zero(static_cast<uint64_t>(bytes))));
  return ir.CreateIntrinsic(Intrinsic::fshr, {address->getType()}, {address, address, places});
}

Value* shared_limit(Emitter& e, int64_t span, int64_t bytes) {
  IRBuilder<>& ir = e.ir;
  Value*& known = e.shared_limits[{span, bytes}];
  if (known) return known;
  Value* size = e.field(offsetof(Frame, shared_bytes), ir.getInt64Ty(), "shared_bytes");
  IRBuilderBase::InsertPointGuard guard(ir);
  ir.SetInsertPoint(e.at.constants->getTerminator());
  Value* room = ir.CreateBinaryIntrinsic(Intrinsic::usub_sat, size, ir.getInt64(static_cast<uint64_t>(span)));
  return known = ir.CreateTrunc(ir.CreateUDiv(room, ir.getInt64(static_cast<uint64_t>(bytes))), ir.getInt32Ty());
}

namespace {

// Checks that all lanes from `base` on, `stride` bytes apart, lie in shared memory. Goes on where they do; returns the
// block for the rest.
BasicBlock* check_bounds(Emitter& e, Value* base, int64_t stride, int64_t bytes) {
  IRBuilder<>& ir = e.ir;
  const int64_t span = stride * (kLanes - 1);
  // Lanes' addresses are modulo 2^32.
  const auto lane = [&](Value* l) {
    return ir.CreateAdd(base, ir.CreateMul(l, ir.getInt32(static_cast<uint32_t>(stride))));
  };
  // First all lanes, with those that are off: one comparison.
  Value* lowest = stride >= 0 ? base : lane(ir.getInt32(kLanes - 1));
  Value* unit = in_units(e, lowest, bytes);
  return e.split(ir.CreateICmpULT(unit, shared_limit(e, std::abs(span), bytes)), "edge", true);
}

// The same for the lanes of the mask alone, from `edge` on. Both ways meet where it goes on.
BasicBlock* check_masked_bounds(Emitter& e, Value* base, int64_t stride, int64_t bytes, Value* mask, BasicBlock* edge) {
  IRBuilder<>& ir = e.ir;
  const auto lane = [&](Value* l) {
    return ir.CreateAdd(base, ir.CreateMul(l, ir.getInt32(static_cast<uint32_t>(stride))));
  };
  BasicBlock* good = e.block("good");
  ir.CreateBr(good);
  ir.SetInsertPoint(edge);
  Value* first = ir.CreateBinaryIntrinsic(Intrinsic::cttz, mask, ir.getTrue());
  Value* last = ir.CreateXor(ir.CreateBinaryIntrinsic(Intrinsic::ctlz, mask, ir.getTrue()), ir.getInt32(31));
  // Without a wrap between them: a base before 0 whose first lanes are off is good.
  Value *low = lane(stride >= 0 ? first : last), *high = lane(stride >= 0 ? last : first);
  Value* begins = in_units(e, low, bytes);
  begins = ir.CreateICmpULT(begins, shared_limit(e, 0, bytes));
  Value* ends = in_units(e, high, bytes);
  Value* inside = ir.CreateAnd(begins, ir.CreateICmpULT(ends, shared_limit(e, 0, bytes)));
  BasicBlock* slow = e.split(ir.CreateAnd(inside, ir.CreateICmpULE(low, high)), "slow", true);
  ir.CreateBr(good);
  ir.SetInsertPoint(good);
  return slow;
}

// The cost of the access beyond one wavefront for each request.
void count_cost(Emitter& e, const MemoryOp& m, Value* base, int64_t stride, bool store, const Active& active) {
  IRBuilder<>& ir = e.ir;
  const machine::TallyLayout& layout = e.counters.layout();
  const uint32_t step = static_cast<uint32_t>(stride), width = m.bytes();
  if (!active.mask) {
    const machine::SharedCost c = store ? machine::shared_store_cost_affine(0, step, ~0u, width)
                                        : machine::shared_load_cost_affine(0, step, ~0u, width);
    if (width > 4)
      e.counters.add(
          {{layout.site(m.site, SiteWord::wavefronts), c.wavefronts}, {layout.site(m.site, SiteWord::ideal), c.ideal}},
          1);
    else if (c.wavefronts > 1)
      e.counters.add({{layout.site(m.site, SiteWord::wavefronts), c.wavefronts - 1}}, 1);
    return;
  }
  Value* c = e.call(offsetof(Frame, affine_cost), ir.getInt64Ty(),
                    {base, ir.getInt32(step), active.mask, ir.getInt32(width | (store ? 256 : 0))});
  Value* wavefronts = ir.CreateAnd(c, ir.getInt64(0xffffffffu));
  if (width > 4) {
    e.counters.add_site(m.site, SiteWord::wavefronts, wavefronts);
    e.counters.add_site(m.site, SiteWord::ideal, ir.CreateLShr(c, 32));
  } else {
    e.counters.add_site(m.site, SiteWord::wavefronts, ir.CreateSub(wavefronts, ir.getInt64(1)));
  }
}

// Lanes at one address, or side by side. `proven`: no address wraps, so the offset is part of the addressing.
void move_together(Emitter& e, const Instruction& i, Value* base, bool uniform, bool proven, const Active& active,
                   AllocaInst* elements) {
  IRBuilder<>& ir = e.ir;
  const MemoryOp& m = e.p.memory[i.memory];
  Value *memory = e.field(offsetof(Frame, shared), "shared"), *pointer;
  if (proven) {
    const Element element = m.address.is_reg() ? e.p.registers[m.address.reg].element : Element::b64;
    pointer = ir.CreateGEP(ir.getInt8Ty(), memory, ir.CreateZExt(scalar_of(e, m.address, element), ir.getInt64Ty()));
    pointer = ir.CreateConstGEP1_64(ir.getInt8Ty(), pointer, static_cast<uint64_t>(m.offset));
  } else {
    // Lane 0, if it is off, may lie before the beginning.
    pointer = ir.CreateGEP(ir.getInt8Ty(), memory, ir.CreateSExt(base, ir.getInt64Ty()));
  }
  if (uniform)
    move_uniform(e, i, pointer, active);
  else
    move_contiguous(e, i, pointer, m.bytes(), active, m.count == 1 && m.bytes() <= 4, elements);
}

}  // namespace

void emit_shared(Emitter& e, uint32_t index, const Active& active, int64_t stride) {
  IRBuilder<>& ir = e.ir;
  const Instruction& i = e.p.code[index];
  const MemoryOp& m = e.p.memory[i.memory];
  const int64_t bytes = m.bytes();
  const bool store = i.kind == Kind::store;
  const int64_t span = stride * (kLanes - 1);
  // The cost has a closed form where lanes are a multiple of a bank apart.
  const int64_t unit = std::max<int64_t>(bytes, 4);
  const bool contiguous = stride == bytes;
  if ((stride % bytes) != 0 || span > (1 << 24) || span < -(1 << 24) || (stride % unit != 0 && !contiguous))
    return call_interpreter(e, index, active);
  const Element element = m.address.is_reg() ? e.p.registers[m.address.reg].element : Element::b64;
  Value* address = ir.CreateTrunc(ir.CreateZExt(scalar_of(e, m.address, element), ir.getInt64Ty()), ir.getInt32Ty());
  Value* base = ir.CreateAdd(address, ir.getInt32(static_cast<uint32_t>(m.offset)));
  BasicBlock *slow = nullptr, *done = nullptr;
  const bool proven = in_bounds(e.p, m);
  if (!proven) {
    slow = check_bounds(e, base, stride, bytes);
    done = e.block("accessed");
    if (active.mask) slow = check_masked_bounds(e, base, stride, bytes, active.mask, slow);
  }
  if (e.p.sites[m.site].dynamic_requests) e.counters.add_site(m.site, SiteWord::requests, 1);
  if (bytes > 4 || (!contiguous && stride != 0)) count_cost(e, m, base, stride, store, active);
  Value* memory = e.field(offsetof(Frame, shared), "shared");
  AllocaInst* elements = contiguous ? interleaved_place(e, i, active) : nullptr;
  if (stride == 0 || contiguous) {
    move_together(e, i, base, stride == 0, proven, active, elements);
  } else if (!load_column(e, i, base, active)) {
    if (store)
      store_scattered(e, i, memory, e.spread(base, stride), active, true);
    else
      load_scattered(e, i, memory, e.spread(base, stride), active, false);
  }
  if (slow) {
    ir.CreateBr(done);
    ir.SetInsertPoint(slow);
    call_interpreter(e, index, active);
    if (elements) interleaved_from_registers(e, m, elements);
    ir.CreateBr(done);
    ir.SetInsertPoint(done);
  }
  if (elements) registers_from_interleaved(e, m, elements, active);
}

}  // namespace coalesce::native
