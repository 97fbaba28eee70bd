// Registers and operands: an instruction reads values of the element that it computes with, and writes a register.
#include <bit>

#include "machine/program/flatten/opcodes.h"

namespace coalesce::machine::flattening {

namespace {

struct SpecialName {
  std::string_view name;
  Builtin builtin;
};
constexpr SpecialName kSpecials[] = {
    {"%tid.x", Builtin::tid_x},
    {"%tid.y", Builtin::tid_y},
    {"%tid.z", Builtin::tid_z},
    {"%ntid.x", Builtin::ntid_x},
    {"%ntid.y", Builtin::ntid_y},
    {"%ntid.z", Builtin::ntid_z},
    {"%ctaid.x", Builtin::ctaid_x},
    {"%ctaid.y", Builtin::ctaid_y},
    {"%ctaid.z", Builtin::ctaid_z},
    {"%nctaid.x", Builtin::nctaid_x},
    {"%nctaid.y", Builtin::nctaid_y},
    {"%nctaid.z", Builtin::nctaid_z},
    {"%laneid", Builtin::laneid},
    {"%warpid", Builtin::warpid},
    {"%nwarpid", Builtin::nwarpid},
    {"%smid", Builtin::smid},
    {"%nsmid", Builtin::nsmid},
    {"%gridid", Builtin::gridid},
    {"%lanemask_eq", Builtin::lanemask_eq},
    {"%lanemask_le", Builtin::lanemask_le},
    {"%lanemask_lt", Builtin::lanemask_lt},
    {"%lanemask_ge", Builtin::lanemask_ge},
    {"%lanemask_gt", Builtin::lanemask_gt},
    {"%dynamic_smem_size", Builtin::dynamic_smem_size},
    {"%total_smem_size", Builtin::total_smem_size},
    // High and low half of the address of a cooperative launch's workspace, which grid synchronisation uses; else 0.
    {"%envreg1", Builtin::envreg1},
    {"%envreg2", Builtin::envreg2},
    {"%current_graph_exec", Builtin::current_graph_exec},
    {"%aggr_smem_size", Builtin::total_smem_size}};

}  // namespace

Element element_of(ptx::Type type) {
  return type == ptx::Type::pred ? Element::pred : element_of_bytes(ptx::size_of(type));
}

uint32_t Builder::new_register(Element element) {
  Register r;
  r.element = element;
  out.registers.push_back(r);
  return static_cast<uint32_t>(out.registers.size() - 1);
}

uint32_t Builder::builtin(Builtin which, Element element) {
  const auto key = std::make_pair(static_cast<int>(which), static_cast<int>(element));
  const auto found = builtins_.find(key);
  if (found != builtins_.end()) return found->second;
  const uint32_t r = new_register(element);
  out.registers[r].builtin = which;
  return builtins_[key] = r;
}

// PTX's condition code register: a predicate like any other, made when first used.
uint32_t Builder::carry() {
  if (carry_ == kNone) carry_ = new_register(Element::pred);
  return carry_;
}

Value Builder::fitted(Value v, Element wanted) {
  if (!v.is_reg() || wanted == Element::none) return v;
  Element have = element(v.reg);
  if (wanted == Element::b8) wanted = Element::b16;
  if (have == wanted) return v;
  if (have == Element::pred || wanted == Element::pred) fail("operand of the wrong kind in '" + in->mnemonic + "'");
  const auto bits = [](Element e) { return std::to_string(8 * bytes_of(e)); };
  const bool narrower = bytes_of(wanted) < bytes_of(have);
  return compute((narrower ? "narrow.b" : "widen.b") + bits(wanted) + ".b" + bits(have), {v});
}

// Index into Decoded::arrays of a variable of shared memory, or of the kernel's or an inlined function's local memory.
uint32_t Builder::array_of(const std::string& name) {
  ArrayVariable a;
  if (const auto s = shared.find(name); s != shared.end()) {
    a.offset = s->second;
    for (const SharedVariable& v : out.shared)
      if (v.name == name) a.size = v.size;
  } else if (const auto l = frame->locals.find(name); l != frame->locals.end() && !calls.in_instance()) {
    a.space = AddressSpace::local;
    a.offset = l->second;
    for (const ptx::Variable& v : frame->function->variables)
      if (v.name == name && v.space == ptx::Space::local) a.size = v.size;
    if (a.size == 0) return kNone;
  } else {
    return kNone;
  }
  a.name = name;
  for (uint32_t k = 0; k < out.arrays.size(); ++k)
    if (out.arrays[k].space == a.space && out.arrays[k].offset == a.offset && out.arrays[k].name == name) return k;
  out.arrays.push_back(std::move(a));
  return static_cast<uint32_t>(out.arrays.size() - 1);
}

int64_t Builder::symbol_value(const std::string& name, int64_t offset) {
  if (const auto s = shared.find(name); s != shared.end()) return s->second + offset;
  if (const auto l = frame->locals.find(name); l != frame->locals.end()) return l->second + offset;
  for (std::size_t p = 0; p < kernel.params.size() && is_kernel(); ++p)
    if (kernel.params[p].name == name) return parameter_offsets[p] + offset;
  const SymbolTable::Symbol v = symbols.symbol(name);
  if (v.found) return static_cast<int64_t>(v.address) + offset;
  if (const uint64_t f = symbols.function_address(name)) return static_cast<int64_t>(f) + offset;
  fail("unknown symbol '" + name + "'");
}

Value Builder::value(const ptx::Operand& o, Element wanted) {
  switch (o.kind) {
    case Operand::reg: {
      const Value v = Value::of(mapped(o.reg));
      if (o.negated) return compute("not.pred", {v});
      return fitted(v, wanted);
    }
    case Operand::integer:
      if (wanted == Element::pred) return Value::imm((o.bits != 0) != o.negated ? ~uint64_t{0} : 0);
      return Value::imm(o.bits);
    case Operand::real:
      if (wanted == Element::b32 && !o.is_f32)
        return Value::imm(std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(o.bits))));
      if (wanted == Element::b64 && o.is_f32)
        return Value::imm(
            std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(o.bits)))));
      return Value::imm(o.bits);
    case Operand::special: {
      if (o.name == "WARP_SZ") return Value::imm(kLanes);
      for (const SpecialName& s : kSpecials)
        if (s.name == o.name) {
          const bool wide = s.builtin == Builtin::gridid || s.builtin == Builtin::current_graph_exec;
          return fitted(Value::of(builtin(s.builtin, wide ? Element::b64 : Element::b32)), wanted);
        }
      if (o.name.starts_with("%clock") || o.name.starts_with("%globaltimer")) {
        const Element e = o.name == "%clock64" || o.name == "%globaltimer" ? Element::b64 : Element::b32;
        const uint32_t r = new_register(e);
        Instruction& i = emit(Kind::clock);
        i.mode = o.name == "%globaltimer_hi"          ? 3
                 : o.name.starts_with("%globaltimer") ? 1
                 : o.name == "%clock_hi"              ? 2
                                                      : 0;
        i.counts = false;
        i.results[0] = r;
        return fitted(Value::of(r), wanted);
      }
      // %envreg*, %pm* ...: documented or harmless as 0.
      if (o.name.starts_with("%envreg") || o.name.starts_with("%pm") || o.name.starts_with("%reserved_smem_offset"))
        return Value::imm(0);
      if (o.name.find("cluster") != std::string::npos) return fitted(cluster_register(*this, o.name), wanted);
      fail("unknown special register '" + o.name + "'");
    }
    case Operand::symbol:
      if (calls.in_instance() && frame->locals.contains(o.name)) {
        const Value offset = Value::imm(static_cast<uint64_t>(symbol_value(o.name, o.offset)));
        return fitted(compute("add.s64", {Value::of(calls.frame_base()), offset}), wanted);
      }
      {
        Value v = Value::imm(static_cast<uint64_t>(symbol_value(o.name, o.offset)));
        v.array = array_of(o.name);
        return v;
      }
    default:
      fail("operand of a kind that '" + in->mnemonic + "' does not take");
  }
}

uint32_t Builder::result(const ptx::Operand& o, Element produced, bool is_signed) {
  if (produced == Element::b8) produced = Element::b16;
  if (o.kind == ptx::Operand::Kind::sink || (o.kind == ptx::Operand::Kind::reg && o.reg < 0))  // _ and _|%p
    return new_register(produced);
  if (o.kind != ptx::Operand::Kind::reg) fail("destination of '" + in->mnemonic + "' is no register");
  const uint32_t real = mapped(o.reg);
  if (element(real) == produced) return real;
  if (element(real) == Element::pred || produced == Element::pred)
    fail("destination of the wrong kind in '" + in->mnemonic + "'");
  const uint32_t temporary = new_register(produced);
  pending_.push_back({temporary, real, is_signed});
  return temporary;
}

void Builder::finish_results() {
  for (const Pending& p : pending_) {
    const unsigned from = bytes_of(element(p.from)), to = bytes_of(element(p.to));
    const std::string f = std::to_string(8 * from), t = std::to_string(8 * to);
    const std::string name = to < from     ? "narrow.b" + t + ".b" + f
                             : p.is_signed ? "cvt.s" + t + ".s" + f
                                           : "widen.b" + t + ".b" + f;
    const PureOp* row = find_pure(name);
    if (!row) fail("internal: no row for " + name);
    Instruction& i = emit(Kind::pure);  // keeps the guard: it writes the real register
    i.pure = row;
    i.counts = false;
    i.results[0] = p.to;
    i.sources = {Value::of(p.from)};
  }
  pending_.clear();
}

MemoryOp Builder::address(const ptx::Operand& o) {
  MemoryOp op;
  if (o.kind != Operand::address && o.kind != Operand::symbol)
    fail("'" + in->mnemonic + "' takes an address in brackets");
  op.offset = o.offset;
  if (o.reg >= 0) {
    op.address = Value::of(mapped(o.reg));
  } else {
    op.address = calls.in_instance() && frame->locals.contains(o.name) ? Value::of(calls.frame_base()) : Value::imm(0);
    if (!o.name.empty()) {
      op.offset = symbol_value(o.name, o.offset);
      op.array = array_of(o.name);
    }
  }
  return op;
}

}  // namespace coalesce::machine::flattening
