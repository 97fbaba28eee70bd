// Accesses of two and four elements a lane. In memory a lane's elements lie side by side, in registers each has a
// vector of its own: 24 permutations with AVX-512 for four words of 32 lanes, one after the other. What only goes from
// memory through arithmetic to memory, as in `out[i] = a[i] + b[i]` of float4, need not be taken apart: the operation
// on whole vectors, as memory has them, is the same for all four. So beside each register it is kept what it is a part
// of; the registers themselves are then read nowhere but on slow paths, where LLVM moves their making.
#include <algorithm>

#include "native/emit/generator.h"

namespace coalesce::native {

using namespace llvm;
using machine::Kind;
using machine::kLanes;

VectorType* Generator::whole_type(const MemoryOp& m) const {
  return FixedVectorType::get(Type::getIntNTy(context_, 8u * m.width), kLanes * m.count);
}

// Where a load by all lanes of the warp leaves its elements as memory has them; null: each goes to its register as it
// is.
AllocaInst* Generator::whole_place(const Instruction& i, const Where& where) {
  const MemoryOp& m = p_.memory[i.memory];
  if (i.kind != Kind::load || m.count == 1 || where.mask) return nullptr;
  for (std::size_t k = 0; k < m.count; ++k)
    if (m.values[k].is_reg() && (is_scalar(m.values[k].reg) || m.value_bytes[k] != m.width ||
                                 type_of(p_.registers[m.values[k].reg].element) != whole_type(m)->getElementType()))
      return nullptr;
  IRBuilder<> at(entry_, entry_->begin());
  return at.CreateAlloca(whole_type(m), nullptr, "whole");
}

// Element k of every lane.
Value* Generator::part(Value* whole, std::size_t k, std::size_t of) {
  SmallVector<int, 32> mine;
  for (uint32_t l = 0; l < kLanes; ++l) mine.push_back(static_cast<int>(l * of + k));
  return ir_.CreateShuffleVector(whole, mine);
}

// parts[k] has element k of every lane. A power of two of them.
Value* Generator::join(std::vector<Value*> parts) {
  // Interleaved, two at a time: (v0, v1), (v2, v3), then those.
  while (parts.size() > 1) {
    // parts[k] and parts[k + half] hold elements k, k + half of every run: the order comes right in the end.
    const std::size_t half = parts.size() / 2;
    std::vector<Value*> joined;
    for (std::size_t k = 0; k < half; ++k) {
      const unsigned n = cast<FixedVectorType>(parts[k]->getType())->getNumElements();
      SmallVector<int, 128> order;
      for (unsigned l = 0; l < n; ++l) order.push_back(static_cast<int>(l)), order.push_back(static_cast<int>(n + l));
      joined.push_back(ir_.CreateShuffleVector(parts[k], parts[k + half], order));
    }
    parts = joined;
  }
  return parts[0];
}

// The interpreter's handler has loaded the registers: so that both ways leave the same.
void Generator::whole_from_registers(const MemoryOp& m, AllocaInst* place) {
  std::vector<Value*> parts;
  for (std::size_t k = 0; k < m.count; ++k)
    parts.push_back(m.values[k].is_reg() ? store_value(m, k)
                                         : Constant::getNullValue(wide(ir_.getIntNTy(8u * m.width))));
  ir_.CreateStore(join(parts), place);
}

void Generator::registers_from_whole(const MemoryOp& m, AllocaInst* place, const Where& where) {
  Value* whole = ir_.CreateLoad(whole_type(m), place);
  for (std::size_t k = 0; k < m.count; ++k) {
    if (!m.values[k].is_reg()) continue;
    load_result(m, k, part(whole, k, m.count), where);
    parts_[m.values[k].reg] = {whole, static_cast<uint32_t>(k), m.count};
  }
}

// What the result is a part of, where the operands are such parts, or the same for all lanes. The instruction's other
// parts ask for the same.
std::optional<Generator::Part> Generator::part_of_result(const Instruction& i, const Where& where, bool raw) {
  if (parts_.empty() || where.mask || i.pure->results != 1 || i.pure->result[0] == Element::pred ||
      i.results[0] == kNone)
    return std::nullopt;
  const std::string_view name = i.pure->mnemonic;
  if (name.starts_with("div.") || name.starts_with("rem.")) return std::nullopt;  // of 32 lanes
  Part result{nullptr, 0, 0};
  for (const machine::Value& v : i.sources) {
    if (!v.is_reg() || (is_scalar(v.reg) && p_.registers[v.reg].stride == 0)) continue;
    const auto found = parts_.find(v.reg);
    if (found == parts_.end()) return std::nullopt;
    const Part& p = found->second;
    if (result.of && (result.k != p.k || result.of != p.of)) return std::nullopt;
    result = {nullptr, p.k, p.of};
  }
  if (!result.of) return std::nullopt;
  Operation made{i.pure, {}, nullptr};
  for (const machine::Value& v : i.sources) {
    if (!v.is_reg())
      made.sources.push_back({kNone, ConstantInt::get(context_, APInt(64, v.bits))});
    else if (is_scalar(v.reg))
      made.sources.push_back({v.reg, nullptr});
    else
      made.sources.push_back({kNone, parts_[v.reg].whole});
  }
  for (const Operation& o : operations_)
    if (o.op == made.op && o.sources == made.sources) return Part{o.whole, result.k, result.of};
  std::vector<Value*> sources;
  for (std::size_t k = 0; k < i.sources.size(); ++k) {
    const machine::Value& v = i.sources[k];
    if (!v.is_reg() || is_scalar(v.reg)) {
      sources.push_back(ir_.CreateVectorSplat(kLanes * result.of, scalar(v, i.pure->source[k], raw)));
    } else {
      Value* whole = parts_[v.reg].whole;
      sources.push_back(!raw && lazy_[v.reg] ? canonical(whole) : whole);
    }
  }
  Value* out[2] = {nullptr, nullptr};
  if (!compute(i, false, sources, out)) return std::nullopt;
  made.whole = makes_nan(*i.pure) && !lazy_[i.results[0]] ? canonical(out[0]) : out[0];
  operations_.push_back(made);
  return Part{made.whole, result.k, result.of};
}

// What a store's values are the parts of, in their order; null: of nothing.
Value* Generator::whole_of(const MemoryOp& m) {
  Value* whole = nullptr;
  for (std::size_t k = 0; k < m.count; ++k) {
    const auto found = m.values[k].is_reg() ? parts_.find(m.values[k].reg) : parts_.end();
    if (found == parts_.end() || found->second.k != k || found->second.of != m.count) return nullptr;
    if (k > 0 && found->second.whole != whole) return nullptr;
    whole = found->second.whole;
    // NaNs are made canonical in all parts or in none.
    if (lazy_[m.values[k].reg] != lazy_[m.values[0].reg]) return nullptr;
  }
  if (whole->getType() != whole_type(m)) return nullptr;
  return lazy_[m.values[0].reg] ? canonical(whole) : whole;
}

void Generator::set(uint32_t r, Value* v) {
  ir_.CreateStore(v, variable(r));
  parts_.erase(r);
  std::erase_if(operations_, [&](const Operation& o) {
    return std::ranges::any_of(o.sources, [&](const auto& s) { return s.first == r; });
  });
}

void Generator::forget_parts() {
  parts_.clear();
  operations_.clear();
}

}  // namespace coalesce::native
