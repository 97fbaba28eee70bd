// Clusters of blocks, bulk copies and asynchronous stores.
#include "machine/isa/service.h"
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

void Decoder::bulk_copy() {
  if (has("tensor")) return tensor_copy();
  if (has("commit_group") || has("wait_group") || has("prefetch")) return nothing();
  BulkForm form;
  std::vector<std::string_view> spaces;
  bool typed = false;
  const bool reduces = has("reduce"), objects = has("mbarrier::complete_tx::bytes"), group = has("bulk_group"),
             policy = has("L2::cache_hint");
  form.multicast = has("multicast::cluster");
  form.masked = has("cp_mask");
  for (std::string_view w : words_->rest) {
    bool known = w.starts_with("shared::") || w == "global";
    if (known) spaces.push_back(w);
    for (std::string_view k : {"reduce", "async", "bulk", "noftz", "mbarrier::complete_tx::bytes", "bulk_group",
                               "L2::cache_hint", "multicast::cluster", "cp_mask"})
      known = known || w == k;
    if (known) continue;
    if (!reduces) return unknown();
    if (form.op == BulkOp::copy && form.op_from(w)) continue;
    if (!form.type_from(w)) return unknown();
    typed = true;
  }
  if (spaces.size() != 2 || objects == group) return unknown();
  const bool to_shared = spaces[0] != "global", from_shared = spaces[1] != "global";
  std::size_t at = objects ? 4 : 3;
  if (objects != to_shared || (group && !from_shared) || reduces != (typed && form.op != BulkOp::copy) ||
      !form.valid() || (form.multicast && (from_shared || reduces)) ||
      operands() != at + form.multicast + policy + form.masked)
    return unknown();
  word(operand(0), to_shared);
  word(operand(1), from_shared);
  word(operand(2), false);
  if (objects)
    word(operand(3), true);
  else
    word(uint64_t{0});
  if (form.multicast)
    word(operand(at), false);
  else if (form.masked)
    word(operand(at + policy), false);
  else
    word(uint64_t{0});
  word(form.word());
  op_->text = reduces ? kBulkReduce : kBulkCopy;
  op_->run = run_words;
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
  op_->run = run_words;
}

void Decoder::store_async() {
  const bool reduces = words_->opcode == "red";
  BulkForm form;
  bool typed = false;
  for (std::string_view w : words_->rest) {
    bool known = false;
    for (std::string_view k :
         {"async", "shared::cluster", "mbarrier::complete_tx::bytes", "weak", "relaxed", "cluster"})
      known = known || w == k;
    if (known) continue;
    if (!reduces && (w == "v2" || w == "v4"))
      form.count = static_cast<uint8_t>(w[1] - '0');
    else if (!(reduces && form.op == BulkOp::copy && form.op_from(w)) && !form.type_from(w))
      return unknown();
    else
      typed = typed || form.op == BulkOp::copy || w.size() == 3;
  }
  const bool vector = form.count > 1;
  const ptx::Operand& what = operand(1);
  if (operands() != 3 || !has("mbarrier::complete_tx::bytes") || !typed || form.width() < 4 || !form.valid() ||
      reduces == (form.op == BulkOp::copy) || (what.kind == ptx::Operand::Kind::vector) != vector ||
      (vector && what.elements.size() != form.count))
    return unknown();
  word(operand(0), true);
  word(operand(2), true);
  word(form.word());
  for (uint8_t k = 0; k < form.count; ++k) {
    op_->in.push_back(source(vector ? what.elements[k] : what, static_cast<uint8_t>(form.width())));
    op_->in.push_back(constant(0));
    op_->in.push_back(constant(0));
  }
  op_->text = kStoreAsync;
  op_->run = run_words;
}

}  // namespace coalesce::machine::plain
