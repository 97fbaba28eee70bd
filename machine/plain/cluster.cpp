// Clusters of blocks and copies of tensors.
#include "machine/isa/service.h"
#include "machine/isa/tensor_map.h"
#include "machine/plain/decoder.h"
#include "machine/plain/run.h"

namespace coalesce::machine::plain {

void run_map_address(Warp& w, Frame& f, const Op& op, uint32_t on) {
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (!(on >> l & 1)) continue;
    const auto offset = static_cast<uint32_t>(value(w, op.in[0], l)) & kClusterOffset;
    const auto rank = static_cast<uint32_t>(value(w, op.in[1], l));
    const uint64_t at = cluster_address(w.block->rank, rank, offset);
    put(f, op.out[0], l, op.mode ? at : kSharedWindow + at, op.mode ? 4 : 8);
  }
}

void run_rank_of(Warp& w, Frame& f, const Op& op, uint32_t on) {
  for (uint32_t l = 0; l < kLanes; ++l)
    if (on >> l & 1) put(f, op.out[0], l, rank_of(w.block->rank, static_cast<uint32_t>(value(w, op.in[0], l))), 4);
}

void Decoder::map_address() {
  if (operands() != 3 || !(has("u32") || has("u64"))) return unknown();
  op_->mode = has("shared::cluster");
  op_->in = {source(operand(1), 8), source(operand(2), 4)};
  op_->out = {dest(operand(0))};
  op_->run = run_map_address;
}

void Decoder::cluster_rank_of() {
  if (operands() != 2 || !(has("u32") || has("u64"))) return unknown();
  op_->in = {source(operand(1), 8)};
  op_->out = {dest(operand(0))};
  op_->run = run_rank_of;
}

void Decoder::cluster_barrier() {
  if (operands() != 0) return unknown();
  if (in_->guard >= 0) return unknown("a predicated barrier is not supported");
  if (has("arrive")) {
    op_->text = kClusterArrive;
    op_->run = run_words;
  } else if (has("wait")) {
    op_->flow = Flow::cluster_wait;
    op_->run = run_nothing;
  } else {
    unknown();
  }
}

// A word of a service: what stands in brackets, or a number.
void Decoder::word(const ptx::Operand& o, bool shared) {
  if (o.kind == ptx::Operand::Kind::address || (o.kind == ptx::Operand::Kind::symbol && shared)) {
    const Place p = place(o);
    op_->in.push_back(p.address);
    op_->in.push_back(constant(static_cast<uint64_t>(p.offset)));
  } else {
    op_->in.push_back(source(o, 4));
    op_->in.push_back(constant(0));
  }
  op_->in.push_back(constant(shared));
}

void Decoder::word(uint64_t v) {
  for (const uint64_t k : {v, uint64_t{0}, uint64_t{0}}) op_->in.push_back(constant(k));
}

void Decoder::tensor_copy() {
  TensorForm form;
  if (!form.from(words_->rest) || operands() != form.operands()) return unknown();
  const bool load = form.action == TensorAction::load, store = form.action == TensorAction::store;
  const ptx::Operand& place = operand(load ? 1 : 0);
  using K = ptx::Operand::Kind;
  if (place.kind != K::address || place.elements.size() != 1 || place.elements[0].kind != K::vector ||
      place.elements[0].elements.size() != form.rank)
    return unknown();
  std::size_t at = load ? 3 : store ? 2 : 1;
  const std::size_t offsets = at;
  if (form.offsets() && (operand(at).kind != K::vector || operand(at).elements.size() != form.rank - 2u))
    return unknown();
  at += form.offsets();
  if (load || store)
    word(operand(load ? 0 : 1), true);
  else
    word(uint64_t{0});
  word(place, false);
  if (load)
    word(operand(2), true);
  else
    word(uint64_t{0});
  if (form.multicast)
    word(operand(at), false);
  else
    word(uint64_t{0});
  word(form.word());
  for (std::size_t k = 0; k < 5; ++k)
    if (k < form.rank)
      word(place.elements[0].elements[k], false);
    else
      word(uint64_t{0});
  for (std::size_t k = 0; k < 3; ++k)
    if (form.offsets() && k + 2 < form.rank)
      word(operand(offsets).elements[k], false);
    else
      word(uint64_t{0});
  op_->text = form.op == BulkOp::copy ? kTensorCopy : kTensorReduce;
  const bool reduces = form.op != BulkOp::copy;
  op_->mode = static_cast<uint8_t>(load ? Traffic::load : reduces ? Traffic::reduction : Traffic::store);
  op_->run = run_words;
}

void Decoder::tensor_map() {
  if (has("cp_fenceproxy")) {
    if (operands() != 3 || operand(2).kind != ptx::Operand::Kind::integer || operand(2).bits != 128 || !has("global") ||
        !has("shared::cta"))
      return unknown();
    word(operand(0), false);
    word(operand(1), true);
    op_->text = kTensorPublish;
    op_->run = run_words;
    return;
  }
  TensorChange c;
  if (!c.from(words_->rest) || operands() != 2u + c.ordinal) return unknown();
  if (c.ordinal && operand(1).kind != ptx::Operand::Kind::integer) return unknown();
  word(operand(0), c.shared);
  word(static_cast<uint64_t>(c.field));
  word(c.ordinal ? operand(1).bits : uint64_t{0});
  op_->in.push_back(source(operand(operands() - 1), c.wide ? 8 : 4));
  op_->in.push_back(constant(0));
  op_->in.push_back(constant(0));
  op_->text = kTensorChange;
  op_->run = run_words;
}

}  // namespace coalesce::machine::plain
