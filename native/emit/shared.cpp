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

void emit_shared(Emitter& e, uint32_t index, const Active& active, int64_t stride) {
  IRBuilder<>& ir = e.ir;
  const Instruction& i = e.p.code[index];
  const MemoryOp& m = e.p.memory[i.memory];
  const int64_t bytes = m.bytes();
  const bool store = i.kind == Kind::store;
  const int64_t span = stride * (kLanes - 1);
  // Costs have a closed form where a lane's distance is whole banks.
  const int64_t unit = std::max<int64_t>(bytes, 4);
  const bool contiguous = stride == bytes;
  if ((stride % bytes) != 0 || span > (1 << 24) || span < -(1 << 24) || (stride % unit != 0 && !contiguous))
    return call_interpreter(e, index, active);
  Type* i64 = ir.getInt64Ty();
  const Element element = m.address.is_reg() ? e.p.registers[m.address.reg].element : Element::b64;
  Value* base = ir.CreateAdd(ir.CreateTrunc(ir.CreateZExt(scalar_of(e, m.address, element), i64), ir.getInt32Ty()),
                             ir.getInt32(static_cast<uint32_t>(m.offset)));
  BasicBlock *slow = nullptr, *done = nullptr;
  const bool proven = in_bounds(e.p, m);
  if (!proven) {
    // All lanes first, those that are off as well: one comparison. Lanes' addresses are modulo 2^32.
    const auto lane = [&](Value* l) {
      return ir.CreateAdd(base, ir.CreateMul(l, ir.getInt32(static_cast<uint32_t>(stride))));
    };
    Value* lowest = stride >= 0 ? base : lane(ir.getInt32(kLanes - 1));
    slow = e.split(ir.CreateICmpULT(in_units(e, lowest, bytes), shared_limit(e, std::abs(span), bytes)), "edge", true);
    done = e.block("accessed");
    if (active.mask) {
      BasicBlock* good = e.block("good");
      ir.CreateBr(good);
      ir.SetInsertPoint(slow);
      Value* first = ir.CreateBinaryIntrinsic(Intrinsic::cttz, active.mask, ir.getTrue());
      Value* last = ir.CreateXor(ir.CreateBinaryIntrinsic(Intrinsic::ctlz, active.mask, ir.getTrue()), ir.getInt32(31));
      // Without a wrap between them: a base before 0 whose first lanes are off is good.
      Value *low = lane(stride >= 0 ? first : last), *high = lane(stride >= 0 ? last : first);
      Value* inside = ir.CreateAnd(ir.CreateICmpULT(in_units(e, low, bytes), shared_limit(e, 0, bytes)),
                                   ir.CreateICmpULT(in_units(e, high, bytes), shared_limit(e, 0, bytes)));
      slow = e.split(ir.CreateAnd(inside, ir.CreateICmpULE(low, high)), "slow", true);
      ir.CreateBr(good);
      ir.SetInsertPoint(good);
    }
  }
  if (e.p.sites[m.site].dynamic_requests) e.counters.add_site(m.site, SiteWord::requests, 1);
  if (bytes > 4 || (!contiguous && stride != 0)) {
    const uint32_t step_bytes = static_cast<uint32_t>(stride), width = static_cast<uint32_t>(bytes);
    if (!active.mask) {
      const machine::SharedCost c = store ? machine::shared_store_cost_affine(0, step_bytes, ~0u, width)
                                          : machine::shared_load_cost_affine(0, step_bytes, ~0u, width);
      if (bytes > 4)
        e.counters.add({{e.counters.layout().site(m.site, SiteWord::wavefronts), c.wavefronts},
                        {e.counters.layout().site(m.site, SiteWord::ideal), c.ideal}},
                       1);
      else if (c.wavefronts > 1)
        e.counters.add({{e.counters.layout().site(m.site, SiteWord::wavefronts), c.wavefronts - 1}}, 1);
    } else {
      Value* c = e.call(offsetof(Frame, affine_cost), i64,
                        {base, ir.getInt32(step_bytes), active.mask, ir.getInt32(width | (store ? 256 : 0))});
      Value* wavefronts = ir.CreateAnd(c, ir.getInt64(0xffffffffu));
      if (bytes > 4) {
        e.counters.add_site(m.site, SiteWord::wavefronts, wavefronts);
        e.counters.add_site(m.site, SiteWord::ideal, ir.CreateLShr(c, 32));
      } else {
        e.counters.add_site(m.site, SiteWord::wavefronts, ir.CreateSub(wavefronts, ir.getInt64(1)));
      }
    }
  }
  Value* memory = e.field(offsetof(Frame, shared), "shared");
  AllocaInst* elements = contiguous ? interleaved_place(e, i, active) : nullptr;
  if (stride == 0 || contiguous) {
    Value* pointer;
    if (proven) {  // nothing wraps: the offset is part of the addressing
      pointer = ir.CreateGEP(ir.getInt8Ty(), memory, ir.CreateZExt(scalar_of(e, m.address, element), i64));
      pointer = ir.CreateConstGEP1_64(ir.getInt8Ty(), pointer, static_cast<uint64_t>(m.offset));
    } else {
      // Lane 0, if it is off, may lie before the beginning.
      pointer = ir.CreateGEP(ir.getInt8Ty(), memory, ir.CreateSExt(base, i64));
    }
    if (stride == 0)
      move_uniform(e, i, pointer, active);
    else
      move_contiguous(e, i, pointer, static_cast<unsigned>(bytes), active, m.count == 1 && bytes <= 4, elements);
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
