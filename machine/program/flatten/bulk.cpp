// Bulk copies, copies of tensors and asynchronous stores: done when they are issued. What a thread asks of the machine
// for these is a service (isa/service.h).
#include "machine/isa/service.h"
#include "machine/isa/tensor_map.h"
#include "machine/memory/memory.h"
#include "machine/program/flatten/opcodes.h"

namespace coalesce::machine::flattening {

namespace {

bool is_store_hint(std::string_view s) {
  return s.starts_with("L2::") || s == "weak" || s == "relaxed" || s == "cluster";
}

// The generic address of what stands in brackets.
Value generic_address(Builder& b, const ptx::Operand& o, bool shared) {
  const MemoryOp m = b.address(o);
  Value at = b.fitted(m.address, Element::b64);
  if (at.is_constant()) {
    const uint64_t whole = at.bits + static_cast<uint64_t>(m.offset);
    return Value::imm(shared ? (whole & 0xffffffff) + kSharedWindow : whole);
  }
  if (m.offset != 0) at = b.compute("add.u64", {at, Value::imm(static_cast<uint64_t>(m.offset))});
  if (!shared) return at;
  return b.compute("add.u64", {b.compute("and.b64", {at, Value::imm(0xffffffff)}), Value::imm(kSharedWindow)});
}

// A size or coordinate, of 32 bits.
Value number(Builder& b, const ptx::Operand& o) {
  const Value v = b.value(o, o.kind == Operand::reg ? Element::none : Element::b32);
  return v.is_constant() ? Value::imm(v.bits & 0xffffffff) : b.fitted(v, Element::b64);
}

// The copy that has just been written counts the sectors that it moves.
void count_sectors(Builder& b, BulkSite::Traffic traffic) {
  b.out.code.back().bulk = static_cast<uint32_t>(b.out.bulks.size());
  b.out.bulks.push_back({traffic, b.out.code.back().place});
}

// cp{.reduce}.async.bulk{.prefetch}.tensor.{1..5}d...: a load has [tile], [map, {coordinates}], [mbarrier]; a store the
// map first. Then offsets of pixels, blocks, a policy.
void tensor_copy(Builder& b) {
  const auto& ops = b.in->operands;
  TensorForm form;
  if (!form.from(b.m->suffixes) || ops.size() != form.operands()) return b.unknown();
  const bool load = form.action == TensorAction::load;
  const ptx::Operand& place = ops[load ? 1 : 0];
  if (place.kind != Operand::address || place.elements.size() != 1 || place.elements[0].kind != Operand::vector ||
      place.elements[0].elements.size() != form.rank)
    return b.unknown();
  std::vector<Value> words(13, Value::imm(0));
  if (form.action != TensorAction::prefetch) words[0] = generic_address(b, ops[load ? 0 : 1], true);
  ptx::Operand map = place;
  map.elements.clear();
  words[1] = generic_address(b, map, false);
  if (load) words[2] = generic_address(b, ops[2], true);
  std::size_t at = load ? 3 : form.action == TensorAction::store ? 2 : 1;
  for (std::size_t k = 0; k < form.rank; ++k) words[5 + k] = number(b, place.elements[0].elements[k]);
  if (form.offsets()) {
    if (ops[at].kind != Operand::vector || ops[at].elements.size() != form.rank - 2u) return b.unknown();
    for (std::size_t k = 0; k + 2 < form.rank; ++k) words[10 + k] = number(b, ops[at].elements[k]);
    ++at;
  }
  if (form.multicast) words[3] = number(b, ops[at]);
  words[4] = Value::imm(form.word());
  const bool reduces = form.op != BulkOp::copy;
  b.emit_service(reduces ? kTensorReduce : kTensorCopy, std::move(words), kNone);
  using Traffic = BulkSite::Traffic;
  if (form.action != TensorAction::prefetch)
    count_sectors(b, load ? Traffic::load : reduces ? Traffic::reduction : Traffic::store);
}

}  // namespace

// cp{.reduce}.async.bulk.TO.FROM.{mbarrier::complete_tx::bytes,bulk_group}{.multicast::cluster}{.cp_mask}{.OP.TYPE}
// [to], [from], bytes {, [mbarrier]} {, blocks} {, policy} {, mask of bytes}
void bulk_copy(Builder& b) {
  const auto& ops = b.in->operands;
  if (b.m->has("tensor")) return tensor_copy(b);
  if (b.m->has("commit_group") || b.m->has("wait_group"))
    return groups(b, Nothing::bulk_commit, b.m->has("read") ? Nothing::bulk_wait_read : Nothing::bulk_wait);
  if (b.m->has("prefetch")) return nothing(b);
  const bool reduces = !b.m->suffixes.empty() && b.m->suffixes[0] == "reduce";
  BulkForm form;
  std::vector<bool> spaces;  // whether it is shared
  bool objects = false, group = false, typed = false, policy = false;
  for (std::string_view s : b.m->suffixes) {
    if (s == "reduce" || s == "async" || s == "bulk" || s == "noftz") continue;
    if (s == "shared::cluster" || s == "shared::cta" || s == "global")
      spaces.push_back(s != "global");
    else if (s == "mbarrier::complete_tx::bytes")
      objects = true;
    else if (s == "bulk_group")
      group = true;
    else if (s == "multicast::cluster")
      form.multicast = true;
    else if (s == "cp_mask")
      form.masked = true;
    else if (s == "L2::cache_hint")
      policy = true;
    else if (reduces && form.op == BulkOp::copy && form.op_from(s))
      continue;
    else if (reduces && form.type_from(s))
      typed = true;
    else
      return b.unknown();
  }
  std::size_t at = objects ? 4 : 3;
  if (spaces.size() != 2 || objects == group || objects != spaces[0] || (group && !spaces[1]) ||
      reduces != (typed && form.op != BulkOp::copy) || !form.valid() || (form.multicast && (spaces[1] || reduces)) ||
      ops.size() != at + form.multicast + policy + form.masked)
    return b.unknown();
  std::vector<Value> words{generic_address(b, ops[0], spaces[0]), generic_address(b, ops[1], spaces[1]),
                           number(b, ops[2]), objects ? generic_address(b, ops[3], true) : Value::imm(0),
                           Value::imm(0)};
  if (form.multicast) words[4] = number(b, ops[at++]);
  if (policy) ++at;
  if (form.masked) words[4] = number(b, ops[at]);
  words.push_back(Value::imm(form.word()));
  b.emit_service(reduces ? kBulkReduce : kBulkCopy, std::move(words), kNone);
  using Traffic = BulkSite::Traffic;
  if (spaces[0] != spaces[1])
    count_sectors(b, spaces[0] ? Traffic::load : reduces ? Traffic::reduction : Traffic::store);
}

// tensormap.replace.tile.FIELD{.SPACE}.b1024.TYPE [map], {number,} value;
// tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.SCOPE.sync.aligned [to], [from], 128.
void tensor_map(Builder& b) {
  const auto& ops = b.in->operands;
  if (b.m->has("cp_fenceproxy")) {
    if (ops.size() != 3 || ops[2].kind != Operand::integer || ops[2].bits != 128 || !b.m->has("global") ||
        !b.m->has("shared::cta"))
      return b.unknown();
    return b.emit_service(kTensorPublish, {generic_address(b, ops[0], false), generic_address(b, ops[1], true)}, kNone);
  }
  TensorChange c;
  if (!c.from(b.m->suffixes) || ops.size() != 2u + c.ordinal) return b.unknown();
  const ptx::Operand& what = ops.back();
  if (c.ordinal && ops[1].kind != Operand::integer) return b.unknown();
  b.emit_service(kTensorChange,
                 {generic_address(b, ops[0], c.shared), Value::imm(static_cast<uint64_t>(c.field)),
                  Value::imm(c.ordinal ? ops[1].bits : 0),
                  b.fitted(b.value(what, c.wide ? Element::b64 : Element::b32), Element::b64)},
                 kNone);
}

// st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes{.v2,.v4}.TYPE [to], values, [mbarrier];
// red.async...OP.TYPE [to], value, [mbarrier].
void store_async(Builder& b) {
  const auto& ops = b.in->operands;
  const bool reduces = b.m->opcode == "red";
  BulkForm form;
  bool objects = false, typed = false;
  for (std::string_view s : b.m->suffixes) {
    if (s == "async" || s == "shared::cluster" || is_store_hint(s)) continue;
    if (s == "mbarrier::complete_tx::bytes")
      objects = true;
    else if (!reduces && (s == "v2" || s == "v4"))
      form.count = static_cast<uint8_t>(s[1] - '0');
    else if (reduces && form.op == BulkOp::copy && form.op_from(s))
      continue;
    else if (form.type_from(s))
      typed = true;
    else
      return b.unknown();
  }
  const bool vector = form.count > 1;
  if (ops.size() != 3 || !objects || !typed || form.width() < 4 || !form.valid() ||
      reduces == (form.op == BulkOp::copy) || (ops[1].kind == Operand::vector) != vector ||
      (vector && ops[1].elements.size() != form.count))
    return b.unknown();
  std::vector<Value> words{generic_address(b, ops[0], true), generic_address(b, ops[2], true), Value::imm(form.word())};
  for (uint8_t k = 0; k < form.count; ++k)
    words.push_back(
        b.fitted(b.value(vector ? ops[1].elements[k] : ops[1], element_of_bytes(form.width())), Element::b64));
  b.emit_service(kStoreAsync, std::move(words), kNone);
}

}  // namespace coalesce::machine::flattening
