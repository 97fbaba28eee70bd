// cp.async: a load from global memory and a store to shared memory.
#include <algorithm>
#include <optional>

#include "machine/program/flatten/opcodes.h"

namespace coalesce::machine::flattening {

// cp.async.{ca,cg}.shared.global [to], [from], bytes {, source bytes | ignore} {, cache policy}
//
// Done at once, when it is issued: a legal outcome, since the program may not look before it has waited. Counted as
// a global load of the bytes and a shared store of them, whose costs copies.h mends. Fewer source bytes than bytes: the
// rest is zeros, and only those bytes are read (one by one, each a request).
void async_copy(Builder& b) {
  const auto& ops = b.in->operands;
  if (b.m->has("mbarrier") && b.m->has("arrive") && !b.m->has("bulk")) return copies_arrive(b);
  if (b.m->has("bulk")) return bulk_copy(b);
  if (b.m->has("commit_group") || b.m->has("wait_group") || b.m->has("wait_all"))
    return groups(b, Nothing::copies_commit, b.m->has("wait_group") ? Nothing::copies_wait : Nothing::copies_wait_all);
  const std::size_t most = 4u + b.m->has("L2::cache_hint");
  if (ops.size() < most - 1 || ops.size() > most) return b.wrong_number();
  if (!b.m->has("global") || ops[2].kind != Operand::integer) return b.unknown();
  const uint32_t bytes = static_cast<uint32_t>(ops[2].bits);
  if (bytes != 4 && bytes != 8 && bytes != 16) return b.unknown();
  // The operand after the size: a number or 32-bit register is the source size, a predicate says whether to ignore the
  // source, a 64-bit register is a cache policy.
  uint32_t whole = kNone;  // predicate: all of the source is read; kNone: always
  std::optional<Value> size;
  if (ops.size() > 3) {
    const ptx::Operand& o = ops[3];
    const Element e = o.kind == Operand::reg && o.reg >= 0 ? b.element(b.mapped(o.reg)) : Element::b32;
    if (e == Element::pred) {
      whole = b.new_register(Element::pred);
      b.emit_pure("not.pred", {whole}, {b.value(o, Element::pred)}, false);
    } else if (e == Element::b32 && (o.kind == Operand::reg || o.bits < bytes)) {
      size = b.value(o, Element::b32);
      whole = b.compute("setp.ge.u32", {*size, Value::imm(bytes)}).reg;
    }
  }
  // The instruction's own guard joins every condition.
  uint32_t own = kNone;
  if (b.in->guard >= 0)
    own = b.compute(b.in->guard_negated ? "not.pred" : "mov.pred", {Value::of(b.mapped(b.in->guard))}).reg;
  const auto with_own = [&](uint32_t condition) {
    if (own == kNone) return condition;
    return b.compute("and.pred", {Value::of(own), Value::of(condition)}).reg;
  };
  const uint32_t width = std::min(bytes, 8u), count = bytes / width;
  const std::string word = ".b" + std::to_string(8 * width);
  MemoryOp load = b.address(ops[1]);
  load.space = AddressSpace::global;
  load.is_copy = true;
  load.past_l1 = b.m->has("cg");
  load.width = static_cast<uint8_t>(width);
  load.count = static_cast<uint8_t>(count);
  for (uint32_t k = 0; k < count; ++k) {
    load.values[k] = Value::of(b.new_register(element_of_bytes(width)));
    load.value_bytes[k] = static_cast<uint8_t>(width);
    if (whole != kNone) b.emit_pure("mov" + word, {load.values[k].reg}, {Value::imm(0)}, false);
  }
  // One of the two rows counts, as the instruction: the one under its own guard.
  b.emit_access(Kind::load, load, whole == kNone ? kNone : with_own(whole), whole == kNone);
  const uint32_t load_index = static_cast<uint32_t>(b.out.memory.size() - 1);
  if (size) {
    // The bytes there are of a source shorter than the whole, one at a time.
    const Value part = b.compute("not.pred", {Value::of(whole)});
    for (uint32_t k = 0; k + 1 < bytes; ++k) {
      const uint32_t there = b.new_register(Element::pred), both = b.new_register(Element::pred);
      b.emit_pure("setp.gt.u32", {there}, {*size, Value::imm(k)}, false);
      b.emit_pure("and.pred", {both}, {Value::of(there), part}, false);
      MemoryOp one = b.address(ops[1]);
      one.space = AddressSpace::global;
      one.offset += k;
      one.width = 1;
      const uint32_t low = b.new_register(Element::b16), wide = b.new_register(element_of_bytes(width));
      one.values[0] = Value::of(low);
      one.value_bytes[0] = 2;
      b.emit_pure("mov.b16", {low}, {Value::imm(0)}, false);
      b.emit_access(Kind::load, one, with_own(both), false);
      const uint32_t shifted = b.new_register(element_of_bytes(width)), word_register = load.values[k / width].reg;
      b.emit_pure("widen" + word + ".b16", {wide}, {Value::of(low)}, false);
      b.emit_pure("shl" + word, {shifted}, {Value::of(wide), Value::imm(8 * (k % width))}, false);
      b.emit_pure("or" + word, {word_register}, {Value::of(word_register), Value::of(shifted)}, false);
    }
  }
  MemoryOp store = b.address(ops[0]);
  store.space = AddressSpace::shared;
  store.width = load.width;
  store.count = load.count;
  store.values = load.values;
  store.value_bytes = load.value_bytes;
  store.is_copy = true;
  store.past_l1 = load.past_l1;
  store.other_side = whole == kNone ? load_index : kNone;
  b.emit_access(Kind::store, store, kNone, whole != kNone);
}

}  // namespace coalesce::machine::flattening
