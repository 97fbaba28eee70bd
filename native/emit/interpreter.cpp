#include "native/emit/interpreter.h"

#include <cstddef>

#include "machine/execute/ops/ops.h"
#include "native/emit/registers.h"

namespace coalesce::native {

using namespace llvm;
using machine::Slot;

void call_interpreter(Emitter& e, uint32_t index, const Active& active) {
  IRBuilder<>& ir = e.ir;
  const Instruction& i = e.p.code[index];
  struct Result {
    uint32_t reg;
    Slot slot;
    bool scalar, collapse;
  };
  std::vector<Result> results;
  if (i.memory != kNone) {
    const MemoryOp& m = e.p.memory[i.memory];
    const machine::Access& a = *e.access_of.at(index);
    if (m.address.is_reg()) spill(e, m.address.reg, a.address, a.shape == machine::AddressShape::vector);
    for (std::size_t k = 0; k < m.values.size(); ++k) {
      if (!m.values[k].is_reg()) continue;
      const uint32_t r = m.values[k].reg;
      if (i.kind != machine::Kind::load)
        spill(e, r, a.values[k], true);
      else
        results.push_back({r, a.values[k], a.scalar_results, !a.scalar_results && e.is_scalar(r)});
    }
    if (m.result != kNone) results.push_back({m.result, a.result, false, false});
  } else {
    const machine::LaneOp& op = *e.lane_op_of.at(index);
    for (std::size_t k = 0; k < i.sources.size(); ++k)
      if (i.sources[k].is_reg()) spill(e, i.sources[k].reg, op.sources[k], true);
    for (std::size_t k = 0; k < 2; ++k)
      if (i.results[k] != kNone) results.push_back({i.results[k], op.results[k], op.scalar[k], false});
  }
  if (active.mask)
    for (const Result& r : results)
      if (!r.scalar && !r.collapse) spill(e, r.reg, r.slot, true);
  e.tables.interpreter_calls.push_back(index);
  e.check(e.call(offsetof(Frame, interpret), ir.getInt32Ty(),
                 {ir.getInt32(static_cast<uint32_t>(e.tables.interpreter_calls.size() - 1)), e.warp.index,
                  e.mask_of(active), ir.getInt32(active.block)}));
  for (const Result& r : results) {
    const Element element = e.p.registers[r.reg].element;
    if (r.collapse) {
      Value* lane = ir.CreateBinaryIntrinsic(Intrinsic::cttz, e.mask_of(active), ir.getTrue());
      set_register(e, r.reg, ir.CreateExtractElement(load_slot(e, r.slot, element, true), lane));
    } else {
      set_register(e, r.reg, load_slot(e, r.slot, element, !r.scalar));
    }
  }
}

void call_row(Emitter& e, uint32_t index, const Instruction& i, bool as_scalar, const std::vector<Value*>& sources,
              Value* out[2]) {
  IRBuilder<>& ir = e.ir;
  Value* scratch = e.field(offsetof(Frame, scratch), "scratch");
  const auto at = [&](uint32_t k) { return e.offset(scratch, 512 * k); };
  for (uint32_t k = 0; k < sources.size(); ++k) {
    Value* v = sources[k];
    if (i.pure->source[k] == Element::pred) v = as_scalar ? ir.CreateSExt(v, ir.getInt32Ty()) : e.bits_of(v);
    ir.CreateAlignedStore(v, at(k), Align(v->getType()->isVectorTy() ? 64 : 16));
  }
  e.tables.row_calls.push_back(index | (as_scalar ? 1u << 31 : 0));
  Value* steps = e.field(offsetof(Frame, rows), "pure");
  Value* step = e.offset(steps, sizeof(machine::Step) * (e.tables.row_calls.size() - 1));
  Value* handler = ir.CreateLoad(ir.getPtrTy(), step);
  Value* context = e.field(offsetof(Frame, context), "context");
  ir.CreateCall(FunctionType::get(ir.getVoidTy(), {ir.getPtrTy(), ir.getPtrTy()}, false), handler, {step, context});
  for (uint32_t k = 0; k < i.pure->results; ++k) {
    const Element element = i.pure->result[k];
    if (element == Element::pred) {
      Value* word = ir.CreateAlignedLoad(ir.getInt32Ty(), at(4 + k), Align(16));
      out[k] = as_scalar ? ir.CreateTrunc(word, ir.getInt1Ty()) : e.lanes_of(word);
    } else {
      Type* t = as_scalar ? e.type_of(element) : static_cast<Type*>(e.wide(e.type_of(element)));
      out[k] = ir.CreateAlignedLoad(t, at(4 + k), Align(as_scalar ? 16 : 64));
    }
  }
}

}  // namespace coalesce::native
