// Clusters of blocks: special registers, mapa, getctarank and barrier.cluster.
#include <algorithm>

#include "machine/isa/service.h"
#include "machine/memory/memory.h"
#include "machine/program/flatten/opcodes.h"

namespace coalesce::machine::flattening {

namespace {

// As execute/cluster.h says: the rank of another block, plus 1, stands above the offset in its shared memory.
constexpr uint64_t kShift = 24, kOffset = (1u << kShift) - 1;

}  // namespace

// %clusterid.x, %nclusterid.x, %cluster_ctaid.x, %cluster_nctaid.x, %cluster_ctarank, %cluster_nctarank,
// %is_explicit_cluster: by arithmetic on the block's and the grid's coordinates.
Value cluster_register(Builder& b, std::string_view name) {
  const auto& size = b.out.shape.cluster;
  const std::array<Builtin, 3> block{Builtin::ctaid_x, Builtin::ctaid_y, Builtin::ctaid_z},
      grid{Builtin::nctaid_x, Builtin::nctaid_y, Builtin::nctaid_z};
  const std::size_t axis = std::min<std::size_t>(2, static_cast<std::size_t>(name.back() - 'x'));
  const auto of = [&](const std::array<Builtin, 3>& of_axis, std::size_t k) {
    return Value::of(b.builtin(of_axis[k]));
  };
  if (name.starts_with("%clusterid."))
    return size[axis] == 1 ? of(block, axis) : b.compute("div.u32", {of(block, axis), Value::imm(size[axis])});
  if (name.starts_with("%nclusterid."))
    return size[axis] == 1 ? of(grid, axis) : b.compute("div.u32", {of(grid, axis), Value::imm(size[axis])});
  if (name.starts_with("%cluster_nctaid.")) return Value::imm(size[axis]);
  if (name == "%cluster_nctarank") return Value::imm(uint64_t{size[0]} * size[1] * size[2]);
  if (name == "%is_explicit_cluster") return Value::imm(size[0] * size[1] * size[2] > 1 ? ~uint64_t{0} : 0);
  const auto within = [&](std::size_t k) {
    return size[k] == 1 ? Value::imm(0) : b.compute("rem.u32", {of(block, k), Value::imm(size[k])});
  };
  if (name.starts_with("%cluster_ctaid.")) return within(axis);
  if (name != "%cluster_ctarank") b.fail("unknown special register '" + std::string(name) + "'");
  Value rank = within(0);
  uint32_t below = size[0];
  for (std::size_t k = 1; k < 3; below *= size[k], ++k)
    if (size[k] > 1) rank = b.compute("add.u32", {rank, b.compute("mul.lo.u32", {within(k), Value::imm(below)})});
  return rank;
}

// mapa{.shared::cluster}.{u32,u64} d, a, rank: the address of the same byte in another block's shared memory.
void map_address(Builder& b) {
  const auto& ops = b.in->operands;
  if (ops.size() != 3 || !(b.m->has("u32") || b.m->has("u64"))) return b.unknown();
  const bool shared = b.m->has("shared::cluster");
  const Element element = b.m->has("u32") ? Element::b32 : Element::b64;
  const Value at = b.compute("and.b64", {b.value(ops[1], Element::b64), Value::imm(kOffset)});
  const Value rank = b.compute("and.b64", {b.value(ops[2], Element::b64), Value::imm(0xffffffff)});
  const Value own =
      b.compute("and.b64", {b.fitted(cluster_register(b, "%cluster_ctarank"), Element::b64), Value::imm(0xffffffff)});
  const Value high = b.compute("shl.b64", {b.compute("add.u64", {rank, Value::imm(1)}), Value::imm(kShift)});
  const Value other = b.compute("or.b64", {high, at});
  const Value is_own = b.compute("setp.eq.u64", {rank, own});
  Value address = b.compute("selp.b64", {at, other, is_own});
  if (!shared) address = b.compute("add.u64", {address, Value::imm(kSharedWindow)});
  const uint32_t to = b.result(ops[0], element, false);
  b.emit_pure(element == Element::b32 ? "mov.b32" : "mov.b64", {to}, {b.fitted(address, element)}, true);
  b.finish_results();
}

// getctarank{.shared::cluster}.{u32,u64} d, a: whose shared memory it is.
void cluster_rank_of(Builder& b) {
  const auto& ops = b.in->operands;
  if (ops.size() != 2 || !(b.m->has("u32") || b.m->has("u64"))) return b.unknown();
  const Value at = b.compute("and.b64", {b.value(ops[1], Element::b64), Value::imm(0xffffffff)});
  const Value own = b.fitted(cluster_register(b, "%cluster_ctarank"), Element::b64);
  const Value high = b.compute("shr.u64", {at, Value::imm(kShift)});
  const Value is_own = b.compute("setp.eq.u64", {high, Value::imm(0)});
  const Value other = b.compute("sub.u64", {high, Value::imm(1)});
  const Value rank = b.compute("selp.b64", {own, other, is_own});
  const uint32_t to = b.result(ops[0], Element::b32, false);
  b.emit_pure("mov.b32", {to}, {b.fitted(rank, Element::b32)}, true);
  b.finish_results();
}

// barrier.cluster.{arrive{.release,.relaxed},wait{.acquire}}{.aligned}. A wait asks until all threads have come.
void cluster_barrier(Builder& b) {
  if (!b.in->operands.empty()) return b.unknown();
  if (b.in->guard >= 0) return b.unknown("a predicated barrier is not supported");
  b.out.needs_general_mode = true;
  if (b.m->has("arrive"))
    return b.emit_service(b.m->has("relaxed") ? kClusterArriveRelaxed : kClusterArrive, {}, kNone);
  if (!b.m->has("wait")) return b.unknown();
  const auto again = b.next();
  const uint32_t passed = b.new_register(Element::b32), waits = b.new_register(Element::pred);
  b.emit_service(kClusterWait, {}, passed);
  b.emit_pure("setp.eq.u32", {waits}, {Value::of(passed), Value::imm(0)}, false);
  Instruction& loop = b.emit(Kind::branch);
  loop.mode = 1;
  loop.counts = false;
  loop.guard = waits;
  loop.guard_negated = false;
  loop.target = again;
}

}  // namespace coalesce::machine::flattening
