// Clusters of blocks: special registers, mapa, getctarank and barrier.cluster; bulk copies and asynchronous stores,
// which are done when they are issued. What a thread asks of the machine for these is a service (isa/service.h).
#include <algorithm>

#include "machine/isa/service.h"
#include "machine/isa/tensor_map.h"
#include "machine/memory/memory.h"
#include "machine/program/flatten.h"

namespace coalesce::machine {

namespace {

// As execute/cluster.h says: the rank of another block, plus 1, stands above the offset in its shared memory.
constexpr uint64_t kShift = 24, kOffset = (1u << kShift) - 1;

bool is_hint(std::string_view s) { return s.starts_with("L2::") || s == "weak" || s == "relaxed" || s == "cluster"; }

}  // namespace

Value Flattener::pure64(std::string_view row, std::vector<Value> sources) {
  const uint32_t r = new_register(row.ends_with("32") ? Element::b32 : Element::b64);
  emit_pure(row, {r}, std::move(sources), false);
  return Value::of(r);
}

// %clusterid.x, %nclusterid.x, %cluster_ctaid.x, %cluster_nctaid.x, %cluster_ctarank, %cluster_nctarank,
// %is_explicit_cluster: by arithmetic on the block's and the grid's coordinates.
Value Flattener::cluster_register(std::string_view name) {
  const auto& size = out_.shape.cluster;
  const std::array<Builtin, 3> block{Builtin::ctaid_x, Builtin::ctaid_y, Builtin::ctaid_z},
      grid{Builtin::nctaid_x, Builtin::nctaid_y, Builtin::nctaid_z};
  const std::size_t axis = std::min<std::size_t>(2, static_cast<std::size_t>(name.back() - 'x'));
  const auto of = [&](const std::array<Builtin, 3>& b, std::size_t k) { return Value::of(builtin(b[k])); };
  if (name.starts_with("%clusterid."))
    return size[axis] == 1 ? of(block, axis) : pure64("div.u32", {of(block, axis), Value::imm(size[axis])});
  if (name.starts_with("%nclusterid."))
    return size[axis] == 1 ? of(grid, axis) : pure64("div.u32", {of(grid, axis), Value::imm(size[axis])});
  if (name.starts_with("%cluster_nctaid.")) return Value::imm(size[axis]);
  if (name == "%cluster_nctarank") return Value::imm(uint64_t{size[0]} * size[1] * size[2]);
  if (name == "%is_explicit_cluster") return Value::imm(size[0] * size[1] * size[2] > 1 ? ~uint64_t{0} : 0);
  const auto within = [&](std::size_t k) {
    return size[k] == 1 ? Value::imm(0) : pure64("rem.u32", {of(block, k), Value::imm(size[k])});
  };
  if (name.starts_with("%cluster_ctaid.")) return within(axis);
  if (name != "%cluster_ctarank") fail("unknown special register '" + std::string(name) + "'");
  Value rank = within(0);
  uint32_t below = size[0];
  for (std::size_t k = 1; k < 3; below *= size[k], ++k)
    if (size[k] > 1) rank = pure64("add.u32", {rank, pure64("mul.lo.u32", {within(k), Value::imm(below)})});
  return rank;
}

// mapa{.shared::cluster}.{u32,u64} d, a, rank: the address of the same byte in another block's shared memory.
void Flattener::map_address() {
  const auto& ops = in_->operands;
  if (ops.size() != 3 || !(m_->has("u32") || m_->has("u64"))) return unknown();
  const bool shared = m_->has("shared::cluster");
  const Element element = m_->has("u32") ? Element::b32 : Element::b64;
  const Value at = pure64("and.b64", {value(ops[1], Element::b64), Value::imm(kOffset)});
  const Value rank = pure64("and.b64", {value(ops[2], Element::b64), Value::imm(0xffffffff)});
  const Value own =
      pure64("and.b64", {fitted(cluster_register("%cluster_ctarank"), Element::b64), Value::imm(0xffffffff)});
  const Value high = pure64("shl.b64", {pure64("add.u64", {rank, Value::imm(1)}), Value::imm(kShift)});
  const Value other = pure64("or.b64", {high, at});
  const uint32_t is_own = new_register(Element::pred);
  emit_pure("setp.eq.u64", {is_own}, {rank, own}, false);
  Value address = pure64("selp.b64", {at, other, Value::of(is_own)});
  if (!shared) address = pure64("add.u64", {address, Value::imm(kSharedWindow)});
  const uint32_t to = result(ops[0], element, false);
  emit_pure(element == Element::b32 ? "mov.b32" : "mov.b64", {to}, {fitted(address, element)}, true);
  finish_results();
}

// getctarank{.shared::cluster}.{u32,u64} d, a: whose shared memory it is.
void Flattener::cluster_rank_of() {
  const auto& ops = in_->operands;
  if (ops.size() != 2 || !(m_->has("u32") || m_->has("u64"))) return unknown();
  const Value at = pure64("and.b64", {value(ops[1], Element::b64), Value::imm(0xffffffff)});
  const Value own = fitted(cluster_register("%cluster_ctarank"), Element::b64);
  const Value high = pure64("shr.u64", {at, Value::imm(kShift)});
  const uint32_t is_own = new_register(Element::pred);
  emit_pure("setp.eq.u64", {is_own}, {high, Value::imm(0)}, false);
  const Value other = pure64("sub.u64", {high, Value::imm(1)});
  const Value rank = pure64("selp.b64", {own, other, Value::of(is_own)});
  const uint32_t to = result(ops[0], Element::b32, false);
  emit_pure("mov.b32", {to}, {fitted(rank, Element::b32)}, true);
  finish_results();
}

void Flattener::service(std::string_view name, std::vector<Value> words, uint32_t to) {
  for (Value& v : words)
    if (v.is_constant()) v = pure64("mov.b64", {v});
  Instruction& i = emit(Kind::call);
  i.mode = static_cast<uint8_t>(Callee::service);
  i.text = name;
  i.results[0] = to;
  i.sources = std::move(words);
}

// The copy that has just been written counts the sectors that it moves.
void Flattener::counts_sectors(BulkSite::Traffic traffic) {
  out_.code.back().bulk = static_cast<uint32_t>(out_.bulks.size());
  out_.bulks.push_back({traffic, out_.code.back().place});
}

// barrier.cluster.{arrive{.release,.relaxed},wait{.acquire}}{.aligned}. A wait asks until all threads have come.
void Flattener::cluster_barrier() {
  if (!in_->operands.empty()) return unknown();
  if (in_->guard >= 0) return unknown("a predicated barrier is not supported");
  out_.needs_general_mode = true;
  if (m_->has("arrive")) return service(m_->has("relaxed") ? kClusterArriveRelaxed : kClusterArrive, {}, kNone);
  if (!m_->has("wait")) return unknown();
  const auto again = static_cast<uint32_t>(out_.code.size());
  const uint32_t passed = new_register(Element::b32), waits = new_register(Element::pred);
  service(kClusterWait, {}, passed);
  emit_pure("setp.eq.u32", {waits}, {Value::of(passed), Value::imm(0)}, false);
  Instruction& loop = emit(Kind::branch);
  loop.mode = 1;
  loop.counts = false;
  loop.guard = waits;
  loop.guard_negated = false;
  loop.target = again;
}

// The generic address of what stands in brackets.
Value Flattener::generic_address(const ptx::Operand& o, bool shared) {
  const MemoryOp m = address(o);
  Value at = fitted(m.address, Element::b64);
  if (at.is_constant()) {
    const uint64_t whole = at.bits + static_cast<uint64_t>(m.offset);
    return Value::imm(shared ? (whole & 0xffffffff) + kSharedWindow : whole);
  }
  if (m.offset != 0) at = pure64("add.u64", {at, Value::imm(static_cast<uint64_t>(m.offset))});
  if (!shared) return at;
  return pure64("add.u64", {pure64("and.b64", {at, Value::imm(0xffffffff)}), Value::imm(kSharedWindow)});
}

// cp{.reduce}.async.bulk.TO.FROM.{mbarrier::complete_tx::bytes,bulk_group}{.multicast::cluster}{.cp_mask}{.OP.TYPE}
// [to], [from], bytes {, [mbarrier]} {, blocks} {, policy} {, mask of bytes}
void Flattener::bulk_copy() {
  const auto& ops = in_->operands;
  if (m_->has("tensor")) return tensor_copy();
  if (m_->has("commit_group") || m_->has("wait_group"))
    return groups(Nothing::bulk_commit, m_->has("read") ? Nothing::bulk_wait_read : Nothing::bulk_wait);
  if (m_->has("prefetch")) return nothing();
  const bool reduces = !m_->suffixes.empty() && m_->suffixes[0] == "reduce";
  BulkForm form;
  std::vector<bool> spaces;  // whether it is shared
  bool objects = false, group = false, typed = false, policy = false;
  for (std::string_view s : m_->suffixes) {
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
      return unknown();
  }
  std::size_t at = objects ? 4 : 3;
  if (spaces.size() != 2 || objects == group || objects != spaces[0] || (group && !spaces[1]) ||
      reduces != (typed && form.op != BulkOp::copy) || !form.valid() || (form.multicast && (spaces[1] || reduces)) ||
      ops.size() != at + form.multicast + policy + form.masked)
    return unknown();
  const auto number = [&](const ptx::Operand& o) {
    const Value v = value(o, o.kind == Operand::reg ? Element::none : Element::b32);
    return v.is_constant() ? Value::imm(v.bits & 0xffffffff) : fitted(v, Element::b64);
  };
  std::vector<Value> words{generic_address(ops[0], spaces[0]), generic_address(ops[1], spaces[1]), number(ops[2]),
                           objects ? generic_address(ops[3], true) : Value::imm(0), Value::imm(0)};
  if (form.multicast) words[4] = number(ops[at++]);
  if (policy) ++at;
  if (form.masked) words[4] = number(ops[at]);
  words.push_back(Value::imm(form.word()));
  service(reduces ? kBulkReduce : kBulkCopy, std::move(words), kNone);
  using Traffic = BulkSite::Traffic;
  if (spaces[0] != spaces[1]) counts_sectors(spaces[0] ? Traffic::load : reduces ? Traffic::reduction : Traffic::store);
}

// cp{.reduce}.async.bulk{.prefetch}.tensor.{1..5}d...: a load has [tile], [map, {coordinates}], [mbarrier]; a store the
// map first. Then offsets of pixels, blocks, a policy.
void Flattener::tensor_copy() {
  const auto& ops = in_->operands;
  TensorForm form;
  if (!form.from(m_->suffixes) || ops.size() != form.operands()) return unknown();
  const bool load = form.action == TensorAction::load;
  const ptx::Operand& place = ops[load ? 1 : 0];
  if (place.kind != Operand::address || place.elements.size() != 1 || place.elements[0].kind != Operand::vector ||
      place.elements[0].elements.size() != form.rank)
    return unknown();
  const auto number = [&](const ptx::Operand& o) {
    const Value v = value(o, o.kind == Operand::reg ? Element::none : Element::b32);
    return v.is_constant() ? Value::imm(v.bits & 0xffffffff) : fitted(v, Element::b64);
  };
  std::vector<Value> words(13, Value::imm(0));
  if (form.action != TensorAction::prefetch) words[0] = generic_address(ops[load ? 0 : 1], true);
  ptx::Operand map = place;
  map.elements.clear();
  words[1] = generic_address(map, false);
  if (load) words[2] = generic_address(ops[2], true);
  std::size_t at = load ? 3 : form.action == TensorAction::store ? 2 : 1;
  for (std::size_t k = 0; k < form.rank; ++k) words[5 + k] = number(place.elements[0].elements[k]);
  if (form.offsets()) {
    if (ops[at].kind != Operand::vector || ops[at].elements.size() != form.rank - 2u) return unknown();
    for (std::size_t k = 0; k + 2 < form.rank; ++k) words[10 + k] = number(ops[at].elements[k]);
    ++at;
  }
  if (form.multicast) words[3] = number(ops[at]);
  words[4] = Value::imm(form.word());
  const bool reduces = form.op != BulkOp::copy;
  service(reduces ? kTensorReduce : kTensorCopy, std::move(words), kNone);
  using Traffic = BulkSite::Traffic;
  if (form.action != TensorAction::prefetch)
    counts_sectors(load ? Traffic::load : reduces ? Traffic::reduction : Traffic::store);
}

// tensormap.replace.tile.FIELD{.SPACE}.b1024.TYPE [map], {number,} value;
// tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.SCOPE.sync.aligned [to], [from], 128.
void Flattener::tensor_map() {
  const auto& ops = in_->operands;
  if (m_->has("cp_fenceproxy")) {
    if (ops.size() != 3 || ops[2].kind != Operand::integer || ops[2].bits != 128 || !m_->has("global") ||
        !m_->has("shared::cta"))
      return unknown();
    return service(kTensorPublish, {generic_address(ops[0], false), generic_address(ops[1], true)}, kNone);
  }
  TensorChange c;
  if (!c.from(m_->suffixes) || ops.size() != 2u + c.ordinal) return unknown();
  const ptx::Operand& what = ops.back();
  if (c.ordinal && ops[1].kind != Operand::integer) return unknown();
  service(kTensorChange,
          {generic_address(ops[0], c.shared), Value::imm(static_cast<uint64_t>(c.field)),
           Value::imm(c.ordinal ? ops[1].bits : 0),
           fitted(value(what, c.wide ? Element::b64 : Element::b32), Element::b64)},
          kNone);
}

// st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes{.v2,.v4}.TYPE [to], values, [mbarrier];
// red.async...OP.TYPE [to], value, [mbarrier].
void Flattener::store_async() {
  const auto& ops = in_->operands;
  const bool reduces = m_->opcode == "red";
  BulkForm form;
  bool objects = false, typed = false;
  for (std::string_view s : m_->suffixes) {
    if (s == "async" || s == "shared::cluster" || is_hint(s)) continue;
    if (s == "mbarrier::complete_tx::bytes")
      objects = true;
    else if (!reduces && (s == "v2" || s == "v4"))
      form.count = static_cast<uint8_t>(s[1] - '0');
    else if (reduces && form.op == BulkOp::copy && form.op_from(s))
      continue;
    else if (form.type_from(s))
      typed = true;
    else
      return unknown();
  }
  const bool vector = form.count > 1;
  if (ops.size() != 3 || !objects || !typed || form.width() < 4 || !form.valid() ||
      reduces == (form.op == BulkOp::copy) || (ops[1].kind == Operand::vector) != vector ||
      (vector && ops[1].elements.size() != form.count))
    return unknown();
  std::vector<Value> words{generic_address(ops[0], true), generic_address(ops[2], true), Value::imm(form.word())};
  for (uint8_t k = 0; k < form.count; ++k)
    words.push_back(fitted(value(vector ? ops[1].elements[k] : ops[1], element_of_bytes(form.width())), Element::b64));
  service(kStoreAsync, std::move(words), kNone);
}

}  // namespace coalesce::machine
