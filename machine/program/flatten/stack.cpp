// alloca: each lane's stack grows upwards in a part of local memory of its own; `stack_pointer` is where it is free.
#include <algorithm>

#include "machine/program/flatten/opcodes.h"

namespace coalesce::machine::flattening {

namespace {

void give_address(Builder& b, const ptx::Operand& to, Value address) {
  const Element element = b.m->has("u32") ? Element::b32 : Element::b64;
  const Value whole = b.fitted(address, element);
  const uint32_t r = b.result(to, element, false);
  b.emit_pure(element == Element::b32 ? "mov.b32" : "mov.b64", {r}, {whole}, true);
  b.finish_results();
}

}  // namespace

void start_stack(Builder& b) {
  b.stack_pointer = b.new_register(Element::b64);
  b.emit_pure("mov.b64", {b.stack_pointer}, {Value::imm(0)}, false);  // set when it is known where local memory ends
  b.stack_start = b.last();
}

void finish_stack(Builder& b) {
  if (b.stack_pointer == kNone) return;
  b.out.local_bytes = (b.out.local_bytes + 15) / 16 * 16;
  b.out.code[b.stack_start].sources[0] = Value::imm(b.out.local_bytes);
  b.out.local_bytes += b.out.shape.stack_bytes;
}

void allocate_stack(Builder& b) {
  const auto& ops = b.in->operands;
  if (ops.size() < 2 || ops.size() > 3 || b.in->guard >= 0 || b.stack_pointer == kNone) return b.unknown();
  uint64_t alignment = 8;
  if (ops.size() == 3) {
    if (ops[2].kind != Operand::integer || ops[2].bits == 0 || (ops[2].bits & (ops[2].bits - 1))) return b.unknown();
    alignment = std::max(alignment, ops[2].bits);
  }
  const Value size = b.value(ops[1], Element::b64);
  const Value raised = b.compute("add.s64", {Value::of(b.stack_pointer), Value::imm(alignment - 1)});
  const Value at = b.compute("and.b64", {raised, Value::imm(~(alignment - 1))});
  b.emit_pure("add.s64", {b.stack_pointer}, {at, size}, false);
  give_address(b, ops[0], at);
}

void save_stack(Builder& b) {
  if (b.in->operands.size() != 1 || b.stack_pointer == kNone) return b.unknown();
  give_address(b, b.in->operands[0], Value::of(b.stack_pointer));
}

void restore_stack(Builder& b) {
  if (b.in->operands.size() != 1 || b.stack_pointer == kNone || b.in->guard >= 0) return b.unknown();
  const Value to = b.value(b.in->operands[0], Element::b64);
  b.emit_pure("mov.b64", {b.stack_pointer}, {to}, true);
}

}  // namespace coalesce::machine::flattening
