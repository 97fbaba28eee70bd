#include "native/emit/interleaved.h"

#include <algorithm>

#include "native/emit/arithmetic.h"
#include "native/emit/move.h"
#include "native/emit/registers.h"

namespace coalesce::native {

using namespace llvm;
using machine::Kind;
using machine::kLanes;

VectorType* interleaved_type(Emitter& e, const MemoryOp& m) {
  return FixedVectorType::get(Type::getIntNTy(e.context, 8u * m.width), kLanes * m.count);
}

AllocaInst* interleaved_place(Emitter& e, const Instruction& i, const Active& active) {
  const MemoryOp& m = e.p.memory[i.memory];
  if (i.kind != Kind::load || m.count == 1 || active.mask) return nullptr;
  for (std::size_t k = 0; k < m.count; ++k)
    if (m.values[k].is_reg() &&
        (e.is_scalar(m.values[k].reg) || m.value_bytes[k] != m.width ||
         e.type_of(e.p.registers[m.values[k].reg].element) != interleaved_type(e, m)->getElementType()))
      return nullptr;
  return e.local(interleaved_type(e, m), "interleaved");
}

Value* deinterleave(Emitter& e, Value* all, std::size_t k, std::size_t of) {
  IRBuilder<>& ir = e.ir;
  SmallVector<int, 32> mine;
  for (uint32_t l = 0; l < kLanes; ++l) mine.push_back(static_cast<int>(l * of + k));
  return ir.CreateShuffleVector(all, mine);
}

Value* interleave(Emitter& e, std::vector<Value*> parts) {
  IRBuilder<>& ir = e.ir;
  // Interleaved, two at a time: (v0, v1), (v2, v3), then those.
  while (parts.size() > 1) {
    // parts[k] and parts[k + half] hold elements k, k + half of every run: the order comes right in the end.
    const std::size_t half = parts.size() / 2;
    std::vector<Value*> joined;
    for (std::size_t k = 0; k < half; ++k) {
      const unsigned n = cast<FixedVectorType>(parts[k]->getType())->getNumElements();
      SmallVector<int, 128> order;
      for (unsigned l = 0; l < n; ++l) order.push_back(static_cast<int>(l)), order.push_back(static_cast<int>(n + l));
      joined.push_back(ir.CreateShuffleVector(parts[k], parts[k + half], order));
    }
    parts = joined;
  }
  return parts[0];
}

void interleaved_from_registers(Emitter& e, const MemoryOp& m, AllocaInst* place) {
  IRBuilder<>& ir = e.ir;
  std::vector<Value*> parts;
  for (std::size_t k = 0; k < m.count; ++k)
    parts.push_back(m.values[k].is_reg() ? store_value(e, m, k)
                                         : Constant::getNullValue(e.wide(ir.getIntNTy(8u * m.width))));
  ir.CreateStore(interleave(e, parts), place);
}

void registers_from_interleaved(Emitter& e, const MemoryOp& m, AllocaInst* place, const Active& active) {
  IRBuilder<>& ir = e.ir;
  Value* all = ir.CreateLoad(interleaved_type(e, m), place);
  for (std::size_t k = 0; k < m.count; ++k) {
    if (!m.values[k].is_reg()) continue;
    load_result(e, m, k, deinterleave(e, all, k, m.count), active);
    e.interleaved.parts[m.values[k].reg] = {all, static_cast<uint32_t>(k), m.count};
  }
}

std::optional<Interleaved::Part> part_of_result(Emitter& e, const Instruction& i, const Active& active, bool raw) {
  IRBuilder<>& ir = e.ir;
  if (e.interleaved.parts.empty() || active.mask || i.pure->results != 1 || i.pure->result[0] == Element::pred ||
      i.results[0] == kNone)
    return std::nullopt;
  const machine::isa::Opcode opcode = i.pure->operation.opcode;
  if (opcode == machine::isa::Opcode::div || opcode == machine::isa::Opcode::rem) return std::nullopt;  // of 32 lanes
  Interleaved::Part result{nullptr, 0, 0};
  for (const machine::Value& v : i.sources) {
    if (!v.is_reg() || (e.is_scalar(v.reg) && e.p.registers[v.reg].stride == 0)) continue;
    const auto found = e.interleaved.parts.find(v.reg);
    if (found == e.interleaved.parts.end()) return std::nullopt;
    const Interleaved::Part& p = found->second;
    if (result.of && (result.k != p.k || result.of != p.of)) return std::nullopt;
    result = {nullptr, p.k, p.of};
  }
  if (!result.of) return std::nullopt;
  Interleaved::Operation made{i.pure, {}, nullptr};
  for (const machine::Value& v : i.sources) {
    if (!v.is_reg())
      made.sources.push_back({kNone, ConstantInt::get(e.context, APInt(64, v.bits))});
    else if (e.is_scalar(v.reg))
      made.sources.push_back({v.reg, nullptr});
    else
      made.sources.push_back({kNone, e.interleaved.parts[v.reg].all});
  }
  for (const Interleaved::Operation& o : e.interleaved.operations)
    if (o.op == made.op && o.sources == made.sources) return Interleaved::Part{o.all, result.k, result.of};
  std::vector<Value*> sources;
  for (std::size_t k = 0; k < i.sources.size(); ++k) {
    const machine::Value& v = i.sources[k];
    if (!v.is_reg() || e.is_scalar(v.reg)) {
      sources.push_back(ir.CreateVectorSplat(kLanes * result.of, scalar_of(e, v, i.pure->source[k], raw)));
    } else {
      Value* all = e.interleaved.parts[v.reg].all;
      sources.push_back(!raw && e.facts.any_nan[v.reg] ? canonical(e, all) : all);
    }
  }
  Value* out[2] = {nullptr, nullptr};
  if (!compute(e, i, sources, out)) return std::nullopt;
  made.all = i.pure->facts.makes_nan && !e.facts.any_nan[i.results[0]] ? canonical(e, out[0]) : out[0];
  e.interleaved.operations.push_back(made);
  return Interleaved::Part{made.all, result.k, result.of};
}

Value* interleaved_source(Emitter& e, const MemoryOp& m) {
  Value* all = nullptr;
  for (std::size_t k = 0; k < m.count; ++k) {
    const auto found = m.values[k].is_reg() ? e.interleaved.parts.find(m.values[k].reg) : e.interleaved.parts.end();
    if (found == e.interleaved.parts.end() || found->second.k != k || found->second.of != m.count) return nullptr;
    if (k > 0 && found->second.all != all) return nullptr;
    all = found->second.all;
    // NaNs are made canonical in all parts or in none.
    if (e.facts.any_nan[m.values[k].reg] != e.facts.any_nan[m.values[0].reg]) return nullptr;
  }
  if (all->getType() != interleaved_type(e, m)) return nullptr;
  return e.facts.any_nan[m.values[0].reg] ? canonical(e, all) : all;
}

}  // namespace coalesce::native
