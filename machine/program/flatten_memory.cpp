// Flattening of everything that touches memory: loads, stores, atomics, address conversions.
// .param variables: flatten_param.cpp.
#include "machine/isa/atomic.h"
#include "machine/program/flatten.h"

namespace coalesce::machine {

namespace {

// Suffixes of ld/st/atom/red that choose caches, scopes and ordering. None changes a result here (execution is
// sequentially consistent within a block); some forbid merging, which `is_volatile` records.
bool is_hint(std::string_view s) {
  static constexpr std::string_view hints[] = {"ca",  "cg",    "cs",    "lu",   "cv",      "wb",
                                               "wt",  "nc",    "weak",  "cta",  "cluster", "gpu",
                                               "sys", "noftz", "entry", "func", "unified"};
  for (std::string_view h : hints)
    if (s == h) return true;
  return s.find("::") != std::string_view::npos && !s.starts_with("shared::");  // L1::no_allocate, L2::128B ...
}
bool order_from(std::string_view s, Order* order) {
  static constexpr std::pair<std::string_view, Order> names[] = {
      {"volatile", Order::volatile_}, {"relaxed", Order::relaxed}, {"acquire", Order::acquire},
      {"release", Order::release},    {"acq_rel", Order::acq_rel}, {"mmio", Order::relaxed}};
  for (const auto& [name, value] : names)
    if (name == s) {
      *order = value;
      return true;
    }
  return false;
}

Scope scope_of(const Mnemonic& m, const LaunchShape& shape) {
  const bool alone = shape.cluster[0] * shape.cluster[1] * shape.cluster[2] == 1;  // its cluster is the block
  return m.has("cta") || (alone && m.has("cluster")) ? Scope::block : Scope::device;
}

bool space_from(std::string_view s, AddressSpace* space) {
  if (s == "global")
    *space = AddressSpace::global;
  else if (s == "shared" || s == "shared::cta" || s == "shared::cluster")  // no clusters: a block is its own
    *space = AddressSpace::shared;
  else if (s == "local")
    *space = AddressSpace::local;
  else if (s == "const")
    *space = AddressSpace::constant;
  else if (s == "param" || s == "param::entry" || s == "param::func")
    *space = AddressSpace::param;
  else
    return false;
  return true;
}

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

}  // namespace

MemoryOp Flattener::address(const ptx::Operand& o) {
  MemoryOp op;
  if (o.kind != Operand::address && o.kind != Operand::symbol)
    fail("'" + in_->mnemonic + "' takes an address in brackets");
  op.offset = o.offset;
  if (o.reg >= 0) {
    op.address = Value::of(frame_->registers[static_cast<std::size_t>(o.reg)]);
  } else {
    op.address =
        instance_ && frame_->locals.contains(o.name) ? Value::of(instances_.at(instance_).frame_base) : Value::imm(0);
    if (!o.name.empty()) {
      op.offset = symbol_value(o.name, o.offset, false);
      op.array = array_of(o.name);
    }
  }
  return op;
}

// Appends the descriptor and its site (one per space where the space is known only at run time) to the program.
uint32_t Flattener::add_memory(MemoryOp op, Kind kind) {
  const bool counted = op.space != AddressSpace::param && op.space != AddressSpace::constant;
  if (counted) {
    op.site = static_cast<uint32_t>(out_.sites.size());
    Site site;
    site.instruction = static_cast<uint32_t>(out_.code.size());
    site.kind = kind;
    site.returns = op.returns;
    site.bytes = static_cast<uint8_t>(op.bytes());
    site.merged = op.silent;
    site.dynamic_requests = in_->guard >= 0 || op.space == AddressSpace::generic;
    if (op.space == AddressSpace::generic) {
      for (AddressSpace s : {AddressSpace::global, AddressSpace::shared, AddressSpace::local}) {
        site.space = s;
        out_.sites.push_back(site);
      }
    } else {
      site.space = op.space;
      out_.sites.push_back(site);
    }
  }
  out_.memory.push_back(op);
  return static_cast<uint32_t>(out_.memory.size() - 1);
}

void Flattener::load_store(bool is_store) {
  if (m_->has("async")) return store_async();
  MemoryOp op;
  ptx::Type type = ptx::Type::none;
  std::size_t count = 1;
  Order order = Order::weak;
  for (std::string_view s : m_->suffixes) {
    const ptx::Type t = ptx::type_from(s);
    if (t != ptx::Type::none && t != ptx::Type::other)
      type = t;
    else if (s == "v2" || s == "v4" || s == "v8")
      count = static_cast<std::size_t>(s[1] - '0');
    else if (!order_from(s, &order) && !space_from(s, &op.space) && !is_hint(s))
      return unknown();
  }
  const unsigned width = ptx::size_of(type);
  if (width == 0) return unknown();
  if (in_->operands.size() != 2u + m_->has("L2::cache_hint")) return wrong_number();
  const ptx::Operand& where = in_->operands[is_store ? 0 : 1];
  const ptx::Operand& what = in_->operands[is_store ? 1 : 0];
  const bool vector = what.kind == Operand::vector;  // Triton writes one register as a vector, too
  if (width * count > 32 || (vector ? what.elements.size() : 1) != count) return unknown();
  const AddressSpace space = op.space;
  const bool is_kernel = frame_->function == &kernel_;
  if (space == AddressSpace::param && where.reg < 0 && frame_->params.contains(where.name)) {
    const ParamStorage& s = storages_[frame_->params.at(where.name)];
    if (!s.in_memory) return is_store ? param_store() : param_load();
  } else if (space == AddressSpace::param && is_kernel && where.reg < 0 && !is_store) {
    return param_load();
  }
  if (is_store && space == AddressSpace::constant) return unknown();
  op = address(where);
  op.space = space;
  // Function parameters whose address is taken live in local memory, uncounted, as in registers on hardware.
  const bool uncounted =
      space == AddressSpace::param && (!is_kernel || (where.reg < 0 && frame_->params.contains(where.name)));
  if (uncounted) op.space = AddressSpace::local;
  if (is_store && op.space == AddressSpace::param) return unknown();  // a kernel's are read-only
  op.width = static_cast<uint8_t>(width);
  op.count = static_cast<uint8_t>(count);
  op.order = order;
  op.scope = scope_of(*m_, out_.shape);
  op.is_volatile = order != Order::weak;
  op.as_constant = !is_store && m_->has("nc");
  op.past_l1 = !is_store && (m_->has("cg") || m_->has("cv"));
  op.sign_extend = ptx::name_of(type).starts_with("s");
  for (std::size_t k = 0; k < count; ++k) {
    const ptx::Operand& v = vector ? what.elements[k] : what;
    const ptx::Type of =
        v.kind == Operand::reg ? frame_->function->registers[static_cast<std::size_t>(v.reg)].type : type;
    if (is_store && ptx::is_part_of_real(type, of))
      return unknown("'" + in_->mnemonic + "' cannot store a part of a register of real numbers");
    if (!ptx::is_of_one_kind(type, of))
      return unknown("'" + in_->mnemonic + "' does not take a register of type ." + std::string(ptx::name_of(of)));
    if (is_store) {
      // A store reads the low bytes of a register as wide or wider than the type.
      Value stored = v.kind == Operand::reg && !v.negated
                         ? Value::of(frame_->registers[static_cast<std::size_t>(v.reg)])
                         : value(v, element_of_bytes(width));
      op.value_bytes[k] =
          static_cast<uint8_t>(stored.is_reg() ? bytes_of(out_.registers[stored.reg].element) : std::max(2u, width));
      if (stored.is_reg() && (out_.registers[stored.reg].element == Element::pred || op.value_bytes[k] < width))
        return unknown();
      op.values[k] = stored;
    } else {
      uint32_t r;
      if (v.kind == Operand::sink)
        r = new_register(element_of_bytes(width));
      else if (v.kind == Operand::reg)
        r = frame_->registers[static_cast<std::size_t>(v.reg)];
      else
        return unknown();
      if (out_.registers[r].element == Element::pred || bytes_of(out_.registers[r].element) < width) return unknown();
      op.values[k] = Value::of(r);
      op.value_bytes[k] = static_cast<uint8_t>(bytes_of(out_.registers[r].element));
    }
  }
  uint32_t index;
  if (uncounted) {
    out_.memory.push_back(op);
    index = static_cast<uint32_t>(out_.memory.size() - 1);
  } else {
    index = add_memory(op, is_store ? Kind::store : Kind::load);
  }
  emit(is_store ? Kind::store : Kind::load).memory = index;
}

void Flattener::atomic(bool returns) {
  if (m_->has("async")) return store_async();
  MemoryOp op;
  std::string_view operation, type;
  Order order = Order::relaxed;
  for (std::string_view s : m_->suffixes) {
    if (operation.empty() && op_from(s, &op.op))
      operation = s;
    else if (s == "v2" || s == "v4" || s == "v8")
      op.count = static_cast<uint8_t>(s[1] - '0');
    else if (number_from(s, &op.number))
      type = s;
    else if (!order_from(s, &order) && !space_from(s, &op.space) && !is_hint(s))
      return unknown();
  }
  const std::size_t first = returns ? 1 : 0;
  const std::size_t operands = op.op == AtomicOp::cas ? 2 : 1;
  if (!isa::is_atomic_form(operation, type)) return unknown();
  if (in_->operands.size() != first + 1 + operands + m_->has("L2::cache_hint")) return wrong_number();
  if (op.space != AddressSpace::generic && op.space != AddressSpace::global && op.space != AddressSpace::shared)
    return unknown();
  const AtomicOp code = op.op;
  const Number number = op.number;
  const AddressSpace space = op.space;
  const bool is_float = number >= Number::f16;
  const unsigned width = ptx::size_of(ptx::type_from(type));
  const uint8_t count = op.count;
  op = address(in_->operands[first]);
  op.space = space;
  op.op = code;
  op.number = number;
  op.returns = returns;
  op.width = static_cast<uint8_t>(width);
  op.order = order;
  op.scope = scope_of(*m_, out_.shape);
  op.is_volatile = true;
  if (count > 1) {
    op.count = count;
    return vector_atomic(op, returns);
  }
  const Element element = element_of_bytes(width);
  for (std::size_t k = 0; k < operands; ++k) {
    if (in_->operands[first + 1 + k].kind == Operand::vector) return unknown();
    op.values[k] = value(in_->operands[first + 1 + k], element);
    op.value_bytes[k] = static_cast<uint8_t>(bytes_of(element));
  }
  if (returns) op.result = result(in_->operands[0], element, number == Number::signed_);
  // With the same result whatever the order of blocks: integer read-modify-writes whose old value is not read, but for
  // inc and dec, which wrap at each one's own bound.
  const bool sink = !returns || in_->operands[0].kind == Operand::sink;
  op.ordered = !sink || is_float || code == AtomicOp::exch || code == AtomicOp::cas || code == AtomicOp::inc ||
               code == AtomicOp::dec;
  const uint32_t index = add_memory(op, Kind::atomic);
  emit(Kind::atomic).memory = index;
  finish_results();
}

// Generic addresses are the global ones, and windows for the other spaces: conversion is an addition.
void Flattener::address_conversion() {
  AddressSpace space = AddressSpace::generic;
  bool to = false;
  for (std::string_view s : m_->suffixes)
    if (s == "to")
      to = true;
    else if (!space_from(s, &space) && s != "u64" && s != "u32")
      return unknown();
  if (in_->operands.size() != 2 || !m_->has("u64")) return unknown();
  uint64_t window = 0;
  if (space == AddressSpace::shared) window = kSharedWindow;
  if (space == AddressSpace::local) window = kLocalWindow;
  if (space == AddressSpace::param && frame_->function == &kernel_) window = kParamWindow;
  if (space == AddressSpace::param && frame_->function != &kernel_) window = kLocalWindow;
  const Value v = value(in_->operands[1], Element::b64);
  const uint32_t r = result(in_->operands[0], Element::b64, false);
  if (window == 0)
    emit_pure("mov.b64", {r}, {v}, true);
  else
    emit_pure(to ? "sub.s64" : "add.s64", {r}, {v, Value::imm(window)}, true);
  finish_results();
}

void Flattener::is_space() {
  AddressSpace space = AddressSpace::generic;
  if (m_->suffixes.size() != 1 || !space_from(m_->suffixes[0], &space) || in_->operands.size() != 2) return unknown();
  const Value v = value(in_->operands[1], Element::b64);
  const uint32_t r = result(in_->operands[0], Element::pred, false);
  const uint32_t window = new_register(Element::b64);
  emit_pure("shr.u64", {window}, {v, Value::imm(48)}, false);
  const auto id = [](uint64_t w) { return w >> 48; };
  const uint64_t wanted = space == AddressSpace::shared  ? id(kSharedWindow)
                          : space == AddressSpace::local ? id(kLocalWindow)
                          : space == AddressSpace::param ? id(kParamWindow)
                                                         : 0;
  if (space == AddressSpace::constant) {  // constant memory lies in global memory here: nothing is told apart
    emit_pure("mov.pred", {r}, {Value::imm(0)}, true);
  } else {
    emit_pure("setp.eq.u64", {r}, {Value::of(window), Value::imm(wanted)}, true);
  }
}

}  // namespace coalesce::machine
