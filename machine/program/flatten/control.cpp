// Branches, traps and the barriers of a block.
#include "machine/program/flatten/opcodes.h"

namespace coalesce::machine::flattening {

void branch(Builder& b) {
  if (b.in->operands.size() != 1 || b.in->operands[0].kind != Operand::label) return b.unknown();
  Instruction& i = b.emit(Kind::branch);
  if (b.in->guard >= 0) {
    i.guard = b.mapped(b.in->guard);
    i.guard_negated = b.in->guard_negated;
  }
  b.frame->branches.emplace_back(b.last(), b.in->operands[0].target);
}

void branch_table(Builder& b) {
  if (b.in->operands.size() != 2 || b.in->guard >= 0) return b.unknown();
  const Value index = b.value(b.in->operands[0], Element::b32);
  const std::string& name = b.in->operands[1].name;
  for (const ptx::Function::Table& t : b.frame->function->branch_tables)
    if (t.name == name && !t.targets.empty()) {
      Instruction& i = b.emit(Kind::branch_table);
      i.sources = {index};
      i.targets.resize(t.targets.size());
      for (std::size_t k = 0; k < t.targets.size(); ++k)
        b.frame->table_branches.emplace_back(b.last(), static_cast<uint32_t>(k), t.targets[k]);
      return;
    }
  b.unknown("branch through an unknown table '" + name + "'");
}

void trap(Builder& b) { b.emit(Kind::trap); }

void barrier(Builder& b) {
  if (b.m->has("warp")) {
    if (b.in->operands.size() != 1) return b.unknown();
    std::vector<Value> sources{b.value(b.in->operands[0], Element::b32)};
    Instruction& i = b.emit(Kind::warp_barrier);
    i.names_lanes = true;
    i.sources = std::move(sources);
    return;
  }
  if (b.m->has("cluster")) return cluster_barrier(b);
  if (b.in->guard >= 0) return b.unknown("a predicated barrier is not supported");
  std::size_t at = 0;
  BarrierMode mode = BarrierMode::sync;
  uint32_t to = kNone;
  if (b.m->has("arrive")) mode = BarrierMode::arrive;
  if (b.m->has("red")) {
    if (b.in->operands.empty()) return b.wrong_number();
    mode = b.m->has("popc") ? BarrierMode::popc : b.m->has("and") ? BarrierMode::and_ : BarrierMode::or_;
    to = b.result(b.in->operands[at++], mode == BarrierMode::popc ? Element::b32 : Element::pred, false);
  }
  // sources: barrier id, thread count (0: all), predicate
  const std::size_t left = b.in->operands.size() - at;
  const bool red = to != kNone;
  if (left < (red || mode == BarrierMode::arrive ? 2u : 1u) || left > (red ? 3u : 2u)) return b.wrong_number();
  const Value id = b.value(b.in->operands[at++], Element::b32);
  const Value threads = left == (red ? 3u : 2u) ? b.value(b.in->operands[at++], Element::b32) : Value::imm(0);
  std::vector<Value> sources{id, threads};
  if (red) sources.push_back(b.value(b.in->operands[at], Element::pred));
  if (!id.is_constant() || !threads.is_constant() || threads.bits != 0 || mode == BarrierMode::arrive)
    b.out.needs_general_mode = true;
  Instruction& i = b.emit(Kind::barrier);
  i.mode = static_cast<uint8_t>(mode);
  i.together = b.m->opcode == "bar" || b.m->has("aligned");
  i.results[0] = to;
  i.sources = std::move(sources);
  b.finish_results();
}

}  // namespace coalesce::machine::flattening
