// Flattening of control flow, of what lanes do together, and of calls.
#include <algorithm>

#include "machine/program/flatten.h"

namespace coalesce::machine {

void Flattener::branch() {
  if (in_->operands.size() != 1 || in_->operands[0].kind != Operand::label) return unknown();
  Instruction& i = emit(Kind::branch);
  if (in_->guard >= 0) {
    i.guard = frame_->registers[static_cast<std::size_t>(in_->guard)];
    i.guard_negated = in_->guard_negated;
  }
  frame_->branches.emplace_back(static_cast<uint32_t>(out_.code.size() - 1), in_->operands[0].target);
}

void Flattener::branch_table() {
  if (in_->operands.size() != 2 || in_->guard >= 0) return unknown();
  const Value index = value(in_->operands[0], Element::b32);
  const std::string& name = in_->operands[1].name;
  for (const ptx::Function::Table& t : frame_->function->branch_tables)
    if (t.name == name && !t.targets.empty()) {
      Instruction& i = emit(Kind::branch_table);
      i.sources = {index};
      i.targets.resize(t.targets.size());
      for (std::size_t k = 0; k < t.targets.size(); ++k)
        frame_->table_branches.emplace_back(static_cast<uint32_t>(out_.code.size() - 1), static_cast<uint32_t>(k),
                                            t.targets[k]);
      return;
    }
  unknown("branch through an unknown table '" + name + "'");
}

// ret, exit: from the kernel, the thread ends; from an inlined function, `ret` goes on after the call. A guarded one is
// a branch to such an end.
void Flattener::leave(bool whole_thread) {
  if (stack_.size() == 1 && instance_ && !whole_thread) return leave_instance();
  if (stack_.size() == 1 || whole_thread) {
    if (in_->guard < 0) {
      emit(Kind::exit);
      return;
    }
    // @%p exit: branch over it with the guard turned round; the branch stands for the guarded instruction.
    Instruction& over = emit(Kind::branch);
    over.mode = 1;  // the program has no `bra` here: it is not counted as one
    over.guard = frame_->registers[static_cast<std::size_t>(in_->guard)];
    over.guard_negated = !in_->guard_negated;
    over.target = static_cast<uint32_t>(out_.code.size() + 1);
    Instruction& end = emit(Kind::exit);
    end.guard = kNone;
    end.counts = false;
    return;
  }
  Instruction& i = emit(Kind::branch);
  i.mode = 1;
  if (in_->guard >= 0) {
    i.guard = frame_->registers[static_cast<std::size_t>(in_->guard)];
    i.guard_negated = in_->guard_negated;
  }
  frame_->returns.push_back(static_cast<uint32_t>(out_.code.size() - 1));
}

void Flattener::trap() { emit(Kind::trap); }

void Flattener::shuffle() {
  const bool sync = m_->has("sync");
  const std::size_t need = sync ? 5 : 4;
  if (in_->operands.size() != need) return unknown();
  ShuffleMode mode{};
  if (m_->has("up"))
    mode = ShuffleMode::up;
  else if (m_->has("down"))
    mode = ShuffleMode::down;
  else if (m_->has("bfly"))
    mode = ShuffleMode::bfly;
  else if (m_->has("idx"))
    mode = ShuffleMode::idx;
  else
    return unknown();
  std::vector<Value> sources;
  for (std::size_t k = 1; k < need; ++k) sources.push_back(value(in_->operands[k], Element::b32));
  const uint32_t to = result(in_->operands[0], Element::b32, false);
  const uint32_t valid =
      in_->operands[0].reg2 >= 0 ? frame_->registers[static_cast<std::size_t>(in_->operands[0].reg2)] : kNone;
  Instruction& i = emit(Kind::shuffle);
  i.mode = static_cast<uint8_t>(mode);
  i.names_lanes = sync;
  i.results = {to, valid};
  i.sources = std::move(sources);
  finish_results();
}

void Flattener::vote() {
  if (m_->opcode == "activemask") {
    const uint32_t to = result(in_->operands[0], Element::b32, false);
    emit(Kind::active_mask).results[0] = to;
    return finish_results();
  }
  const bool sync = m_->has("sync");
  if (in_->operands.size() != (sync ? 3u : 2u)) return unknown();
  const bool ballot = m_->has("ballot");
  const VoteMode mode = ballot           ? VoteMode::ballot
                        : m_->has("all") ? VoteMode::all
                        : m_->has("any") ? VoteMode::any
                                         : VoteMode::uni;
  std::vector<Value> sources{value(in_->operands[1], Element::pred)};
  if (sync) sources.push_back(value(in_->operands[2], Element::b32));
  const uint32_t to = result(in_->operands[0], ballot ? Element::b32 : Element::pred, false);
  Instruction& i = emit(Kind::vote);
  i.mode = static_cast<uint8_t>(mode);
  i.names_lanes = sync;
  i.results[0] = to;
  i.sources = std::move(sources);
  finish_results();
}

void Flattener::match() {
  if (in_->operands.size() != 3 || !m_->has("sync")) return unknown();
  const Element element = m_->has("b64") ? Element::b64 : Element::b32;
  std::vector<Value> sources{value(in_->operands[1], element), value(in_->operands[2], Element::b32)};
  const uint32_t to = result(in_->operands[0], Element::b32, false);
  const uint32_t all =
      in_->operands[0].reg2 >= 0 ? frame_->registers[static_cast<std::size_t>(in_->operands[0].reg2)] : kNone;
  Instruction& i = emit(Kind::match);
  i.mode = static_cast<uint8_t>((m_->has("all") ? 1 : 0) | (element == Element::b64 ? 2 : 0));
  i.names_lanes = true;
  i.results = {to, all};
  i.sources = std::move(sources);
  finish_results();
}

void Flattener::reduce_lanes() {
  static constexpr std::pair<std::string_view, AtomicOp> names[] = {{"add", AtomicOp::add}, {"min", AtomicOp::min},
                                                                    {"max", AtomicOp::max}, {"and", AtomicOp::and_},
                                                                    {"or", AtomicOp::or_},  {"xor", AtomicOp::xor_}};
  if (in_->operands.size() != 3 || !m_->has("sync") || m_->has("f32")) return unknown();
  for (const auto& [name, op] : names)
    if (m_->has(name)) {
      std::vector<Value> sources{value(in_->operands[1], Element::b32), value(in_->operands[2], Element::b32)};
      const uint32_t to = result(in_->operands[0], Element::b32, false);
      Instruction& i = emit(Kind::reduce_lanes);
      i.mode = static_cast<uint8_t>(op);
      i.is_signed = m_->has("s32");
      i.names_lanes = true;
      i.results[0] = to;
      i.sources = std::move(sources);
      return finish_results();
    }
  unknown();
}

void Flattener::elect() {
  if (in_->operands.size() != 2) return unknown();
  std::vector<Value> sources{value(in_->operands[1], Element::b32)};
  const ptx::Operand& d = in_->operands[0];
  const uint32_t to = result(d, Element::b32, false);
  const uint32_t leader = d.reg2 >= 0 ? frame_->registers[static_cast<std::size_t>(d.reg2)] : kNone;
  Instruction& i = emit(Kind::elect);
  i.names_lanes = true;
  i.results = {to, leader};
  i.sources = std::move(sources);
}

void Flattener::barrier() {
  if (m_->has("warp")) {
    if (in_->operands.size() != 1) return unknown();
    std::vector<Value> sources{value(in_->operands[0], Element::b32)};
    Instruction& i = emit(Kind::warp_barrier);
    i.names_lanes = true;
    i.sources = std::move(sources);
    return;
  }
  if (m_->has("cluster")) return cluster_barrier();
  if (in_->guard >= 0) return unknown("a predicated barrier is not supported");
  std::size_t at = 0;
  BarrierMode mode = BarrierMode::sync;
  uint32_t to = kNone;
  if (m_->has("arrive")) mode = BarrierMode::arrive;
  if (m_->has("red")) {
    if (in_->operands.empty()) return wrong_number();
    mode = m_->has("popc") ? BarrierMode::popc : m_->has("and") ? BarrierMode::and_ : BarrierMode::or_;
    to = result(in_->operands[at++], mode == BarrierMode::popc ? Element::b32 : Element::pred, false);
  }
  // sources: barrier id, thread count (0: all), predicate
  const std::size_t left = in_->operands.size() - at;
  const bool red = to != kNone;
  if (left < (red || mode == BarrierMode::arrive ? 2u : 1u) || left > (red ? 3u : 2u)) return wrong_number();
  const Value id = value(in_->operands[at++], Element::b32);
  const Value threads = left == (red ? 3u : 2u) ? value(in_->operands[at++], Element::b32) : Value::imm(0);
  std::vector<Value> sources{id, threads};
  if (red) sources.push_back(value(in_->operands[at], Element::pred));
  if (!id.is_constant() || !threads.is_constant() || threads.bits != 0 || mode == BarrierMode::arrive)
    out_.needs_general_mode = true;
  Instruction& i = emit(Kind::barrier);
  i.mode = static_cast<uint8_t>(mode);
  i.together = m_->opcode == "bar" || m_->has("aligned");
  i.results[0] = to;
  i.sources = std::move(sources);
  finish_results();
}

}  // namespace coalesce::machine
