// atom and red.
#include "machine/isa/atomic.h"
#include "machine/program/flatten/opcodes.h"
#include "machine/program/flatten/suffixes.h"

namespace coalesce::machine::flattening {

namespace {

bool op_from(std::string_view s, AtomicOp* op) {
  static constexpr std::pair<std::string_view, AtomicOp> names[] = {
      {"add", AtomicOp::add},   {"min", AtomicOp::min},  {"max", AtomicOp::max}, {"inc", AtomicOp::inc},
      {"dec", AtomicOp::dec},   {"and", AtomicOp::and_}, {"or", AtomicOp::or_},  {"xor", AtomicOp::xor_},
      {"exch", AtomicOp::exch}, {"cas", AtomicOp::cas}};
  for (const auto& [name, value] : names)
    if (name == s) {
      *op = value;
      return true;
    }
  return false;
}

bool number_from(std::string_view s, Number* number) {
  switch (ptx::type_from(s)) {
    case ptx::Type::b16:
    case ptx::Type::b32:
    case ptx::Type::b64:
    case ptx::Type::b128:
      *number = Number::bits;
      return true;
    case ptx::Type::u32:
    case ptx::Type::u64:
      *number = Number::unsigned_;
      return true;
    case ptx::Type::s32:
    case ptx::Type::s64:
      *number = Number::signed_;
      return true;
    case ptx::Type::f16:
      *number = Number::f16;
      return true;
    case ptx::Type::f16x2:
      *number = Number::f16x2;
      return true;
    case ptx::Type::bf16:
      *number = Number::bf16;
      return true;
    case ptx::Type::bf16x2:
      *number = Number::bf16x2;
      return true;
    case ptx::Type::f32:
      *number = Number::f32;
      return true;
    case ptx::Type::f64:
      *number = Number::f64;
      return true;
    default:
      return false;
  }
}

// atom and red of vectors (global memory, add min max of floats): their elements one after the other, each atomic by
// itself, as PTX has it. The first counts for all: a vector lies in one sector, and what the H200 counts of one (1
// request, and per sector the largest number of lanes on one word) is what it counts of its first elements
// (docs/results/agreement.md).
void vector_atomic(Builder& b, const MemoryOp& form, bool returns) {
  const std::size_t first = returns ? 1 : 0;
  const ptx::Operand& what = b.in->operands[first + 1];
  const std::size_t count = form.count;
  const bool sink = !returns || b.in->operands[0].kind == Operand::sink;
  if (form.op == AtomicOp::cas || form.number < Number::f16 || what.kind != Operand::vector ||
      what.elements.size() != count ||
      (!sink && (b.in->operands[0].kind != Operand::vector || b.in->operands[0].elements.size() != count)))
    return b.unknown();
  const Element element = element_of_bytes(form.width);
  std::vector<Value> operands;
  std::vector<uint32_t> old;
  for (const ptx::Operand& o : what.elements) operands.push_back(b.value(o, element));
  for (std::size_t k = 0; k < count; ++k) {
    MemoryOp op = form;
    op.count = 1;
    op.offset += static_cast<int64_t>(k * form.width);
    op.values[0] = operands[k];
    op.value_bytes[0] = form.width;
    op.returns = !sink;
    op.ordered = true;
    if (!sink) old.push_back(op.result = b.new_register(element));  // an operand may be a result's register
    const uint32_t index = k == 0 ? b.add_memory(op, Kind::atomic) : b.add_uncounted(op);
    Instruction& i = b.emit(Kind::atomic);
    i.memory = index;
    i.counts = k == 0;
  }
  for (std::size_t k = 0; k < old.size(); ++k) {
    const uint32_t r = b.result(b.in->operands[0].elements[k], element, false);
    b.emit_final("mov.b" + std::to_string(8 * form.width), {r}, {Value::of(old[k])}, false);
  }
  b.finish_results();
}

void read_modify_write(Builder& b, bool returns) {
  if (b.m->has("async")) return store_async(b);
  MemoryOp op;
  std::string_view operation, type;
  Order order = Order::relaxed;
  for (std::string_view s : b.m->suffixes) {
    if (operation.empty() && op_from(s, &op.op))
      operation = s;
    else if (s == "v2" || s == "v4" || s == "v8")
      op.count = static_cast<uint8_t>(s[1] - '0');
    else if (number_from(s, &op.number))
      type = s;
    else if (!order_from(s, &order) && !space_from(s, &op.space) && !is_access_hint(s))
      return b.unknown();
  }
  const std::size_t first = returns ? 1 : 0;
  const std::size_t operands = op.op == AtomicOp::cas ? 2 : 1;
  if (!isa::is_atomic_form(operation, type)) return b.unknown();
  if (b.in->operands.size() != first + 1 + operands + b.m->has("L2::cache_hint")) return b.wrong_number();
  if (op.space != AddressSpace::generic && op.space != AddressSpace::global && op.space != AddressSpace::shared)
    return b.unknown();
  const AtomicOp kind = op.op;
  const Number number = op.number;
  const AddressSpace space = op.space;
  const bool is_float = number >= Number::f16;
  const unsigned width = ptx::size_of(ptx::type_from(type));
  const uint8_t count = op.count;
  op = b.address(b.in->operands[first]);
  op.space = space;
  op.op = kind;
  op.number = number;
  op.returns = returns;
  op.width = static_cast<uint8_t>(width);
  op.order = order;
  op.scope = scope_of(b);
  op.is_volatile = true;
  if (count > 1) {
    op.count = count;
    return vector_atomic(b, op, returns);
  }
  const Element element = element_of_bytes(width);
  for (std::size_t k = 0; k < operands; ++k) {
    if (b.in->operands[first + 1 + k].kind == Operand::vector) return b.unknown();
    op.values[k] = b.value(b.in->operands[first + 1 + k], element);
    op.value_bytes[k] = static_cast<uint8_t>(bytes_of(element));
  }
  if (returns) op.result = b.result(b.in->operands[0], element, number == Number::signed_);
  // With the same result whatever the order of blocks: integer read-modify-writes whose old value is not read, but for
  // inc and dec, which wrap at each one's own bound.
  const bool sink = !returns || b.in->operands[0].kind == Operand::sink;
  op.ordered = !sink || is_float || kind == AtomicOp::exch || kind == AtomicOp::cas || kind == AtomicOp::inc ||
               kind == AtomicOp::dec;
  const uint32_t index = b.add_memory(op, Kind::atomic);
  b.emit(Kind::atomic).memory = index;
  b.finish_results();
}

}  // namespace

void atomic(Builder& b) { read_modify_write(b, true); }
void reduction(Builder& b) { read_modify_write(b, false); }

}  // namespace coalesce::machine::flattening
