// Collective instructions of a warp's lanes: shuffles, votes, matches, reductions, elections.
#include "machine/program/flatten/opcodes.h"

namespace coalesce::machine::flattening {

void shuffle(Builder& b) {
  const bool sync = b.m->has("sync");
  const std::size_t need = sync ? 5 : 4;
  if (b.in->operands.size() != need) return b.unknown();
  ShuffleMode mode{};
  if (b.m->has("up"))
    mode = ShuffleMode::up;
  else if (b.m->has("down"))
    mode = ShuffleMode::down;
  else if (b.m->has("bfly"))
    mode = ShuffleMode::bfly;
  else if (b.m->has("idx"))
    mode = ShuffleMode::idx;
  else
    return b.unknown();
  std::vector<Value> sources;
  for (std::size_t k = 1; k < need; ++k) sources.push_back(b.value(b.in->operands[k], Element::b32));
  const uint32_t to = b.result(b.in->operands[0], Element::b32, false);
  const uint32_t valid = b.in->operands[0].reg2 >= 0 ? b.mapped(b.in->operands[0].reg2) : kNone;
  Instruction& i = b.emit(Kind::shuffle);
  i.mode = static_cast<uint8_t>(mode);
  i.names_lanes = sync;
  i.results = {to, valid};
  i.sources = std::move(sources);
  b.finish_results();
}

void vote(Builder& b) {
  if (b.m->opcode == "activemask") {
    const uint32_t to = b.result(b.in->operands[0], Element::b32, false);
    b.emit(Kind::active_mask).results[0] = to;
    return b.finish_results();
  }
  const bool sync = b.m->has("sync");
  if (b.in->operands.size() != (sync ? 3u : 2u)) return b.unknown();
  const bool ballot = b.m->has("ballot");
  const VoteMode mode = ballot            ? VoteMode::ballot
                        : b.m->has("all") ? VoteMode::all
                        : b.m->has("any") ? VoteMode::any
                                          : VoteMode::uni;
  std::vector<Value> sources{b.value(b.in->operands[1], Element::pred)};
  if (sync) sources.push_back(b.value(b.in->operands[2], Element::b32));
  const uint32_t to = b.result(b.in->operands[0], ballot ? Element::b32 : Element::pred, false);
  Instruction& i = b.emit(Kind::vote);
  i.mode = static_cast<uint8_t>(mode);
  i.names_lanes = sync;
  i.results[0] = to;
  i.sources = std::move(sources);
  b.finish_results();
}

void match(Builder& b) {
  if (b.in->operands.size() != 3 || !b.m->has("sync")) return b.unknown();
  const Element element = b.m->has("b64") ? Element::b64 : Element::b32;
  std::vector<Value> sources{b.value(b.in->operands[1], element), b.value(b.in->operands[2], Element::b32)};
  const uint32_t to = b.result(b.in->operands[0], Element::b32, false);
  const uint32_t all = b.in->operands[0].reg2 >= 0 ? b.mapped(b.in->operands[0].reg2) : kNone;
  Instruction& i = b.emit(Kind::match);
  i.mode = static_cast<uint8_t>((b.m->has("all") ? 1 : 0) | (element == Element::b64 ? 2 : 0));
  i.names_lanes = true;
  i.results = {to, all};
  i.sources = std::move(sources);
  b.finish_results();
}

void reduce_lanes(Builder& b) {
  static constexpr std::pair<std::string_view, AtomicOp> names[] = {{"add", AtomicOp::add}, {"min", AtomicOp::min},
                                                                    {"max", AtomicOp::max}, {"and", AtomicOp::and_},
                                                                    {"or", AtomicOp::or_},  {"xor", AtomicOp::xor_}};
  if (b.in->operands.size() != 3 || !b.m->has("sync") || b.m->has("f32")) return b.unknown();
  for (const auto& [name, op] : names)
    if (b.m->has(name)) {
      std::vector<Value> sources{b.value(b.in->operands[1], Element::b32), b.value(b.in->operands[2], Element::b32)};
      const uint32_t to = b.result(b.in->operands[0], Element::b32, false);
      Instruction& i = b.emit(Kind::reduce_lanes);
      i.mode = static_cast<uint8_t>(op);
      i.is_signed = b.m->has("s32");
      i.names_lanes = true;
      i.results[0] = to;
      i.sources = std::move(sources);
      return b.finish_results();
    }
  b.unknown();
}

void elect(Builder& b) {
  if (b.in->operands.size() != 2) return b.unknown();
  std::vector<Value> sources{b.value(b.in->operands[1], Element::b32)};
  const ptx::Operand& d = b.in->operands[0];
  const uint32_t to = b.result(d, Element::b32, false);
  const uint32_t leader = d.reg2 >= 0 ? b.mapped(d.reg2) : kNone;
  Instruction& i = b.emit(Kind::elect);
  i.names_lanes = true;
  i.results = {to, leader};
  i.sources = std::move(sources);
}

}  // namespace coalesce::machine::flattening
