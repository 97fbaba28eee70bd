// Loads and stores.
#include "machine/program/flatten/opcodes.h"
#include "machine/program/flatten/suffixes.h"

namespace coalesce::machine::flattening {

namespace {

void load_store(Builder& b, bool is_store) {
  if (b.m->has("async")) return store_async(b);
  MemoryOp op;
  ptx::Type type = ptx::Type::none;
  std::size_t count = 1;
  Order order = Order::weak;
  for (std::string_view s : b.m->suffixes) {
    const ptx::Type t = ptx::type_from(s);
    if (t != ptx::Type::none && t != ptx::Type::other)
      type = t;
    else if (s == "v2" || s == "v4" || s == "v8")
      count = static_cast<std::size_t>(s[1] - '0');
    else if (!order_from(s, &order) && !space_from(s, &op.space) && !is_access_hint(s))
      return b.unknown();
  }
  const unsigned width = ptx::size_of(type);
  if (width == 0) return b.unknown();
  if (b.in->operands.size() != 2u + b.m->has("L2::cache_hint")) return b.wrong_number();
  const ptx::Operand& where = b.in->operands[is_store ? 0 : 1];
  const ptx::Operand& what = b.in->operands[is_store ? 1 : 0];
  const bool vector = what.kind == Operand::vector;  // Triton writes one register as a vector, too
  if (width * count > 32 || (vector ? what.elements.size() : 1) != count) return b.unknown();
  const AddressSpace space = op.space;
  if (space == AddressSpace::param && where.reg < 0 && b.frame->params.contains(where.name)) {
    const ParamStorage& s = b.storages[b.frame->params.at(where.name)];
    if (!s.in_memory) return is_store ? parameter_store(b) : parameter_load(b);
  } else if (space == AddressSpace::param && b.is_kernel() && where.reg < 0 && !is_store) {
    return parameter_load(b);
  }
  if (is_store && space == AddressSpace::constant) return b.unknown();
  op = b.address(where);
  op.space = space;
  // Function parameters whose address is taken live in local memory, uncounted, as in registers on hardware.
  const bool uncounted =
      space == AddressSpace::param && (!b.is_kernel() || (where.reg < 0 && b.frame->params.contains(where.name)));
  if (uncounted) op.space = AddressSpace::local;
  if (is_store && op.space == AddressSpace::param) return b.unknown();  // a kernel's are read-only
  op.width = static_cast<uint8_t>(width);
  op.count = static_cast<uint8_t>(count);
  op.order = order;
  op.scope = scope_of(b);
  op.is_volatile = order != Order::weak;
  op.as_constant = !is_store && b.m->has("nc");
  op.past_l1 = !is_store && (b.m->has("cg") || b.m->has("cv"));
  op.sign_extend = ptx::name_of(type).starts_with("s");
  for (std::size_t k = 0; k < count; ++k) {
    const ptx::Operand& v = vector ? what.elements[k] : what;
    const ptx::Type of =
        v.kind == Operand::reg ? b.frame->function->registers[static_cast<std::size_t>(v.reg)].type : type;
    if (is_store && ptx::is_part_of_real(type, of))
      return b.unknown("'" + b.in->mnemonic + "' cannot store a part of a register of real numbers");
    if (!ptx::is_of_one_kind(type, of))
      return b.unknown("'" + b.in->mnemonic + "' does not take a register of type ." + std::string(ptx::name_of(of)));
    if (is_store) {
      // A store reads the low bytes of a register as wide or wider than the type.
      Value stored =
          v.kind == Operand::reg && !v.negated ? Value::of(b.mapped(v.reg)) : b.value(v, element_of_bytes(width));
      op.value_bytes[k] = static_cast<uint8_t>(stored.is_reg() ? bytes_of(b.element(stored.reg)) : std::max(2u, width));
      if (stored.is_reg() && (b.element(stored.reg) == Element::pred || op.value_bytes[k] < width)) return b.unknown();
      op.values[k] = stored;
    } else {
      uint32_t r;
      if (v.kind == Operand::sink)
        r = b.new_register(element_of_bytes(width));
      else if (v.kind == Operand::reg)
        r = b.mapped(v.reg);
      else
        return b.unknown();
      if (b.element(r) == Element::pred || bytes_of(b.element(r)) < width) return b.unknown();
      op.values[k] = Value::of(r);
      op.value_bytes[k] = static_cast<uint8_t>(bytes_of(b.element(r)));
    }
  }
  const Kind kind = is_store ? Kind::store : Kind::load;
  const uint32_t index = uncounted ? b.add_uncounted(op) : b.add_memory(op, kind);
  b.emit(kind).memory = index;
}

}  // namespace

void load(Builder& b) { load_store(b, false); }
void store(Builder& b) { load_store(b, true); }

}  // namespace coalesce::machine::flattening
