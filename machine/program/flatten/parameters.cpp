// Flattening of .param variables at constant addresses: a kernel's become builtin values, a function's registers.
#include "machine/program/flatten/opcodes.h"

namespace coalesce::machine::flattening {

namespace {

ptx::Type type_of(const Mnemonic& m) {
  ptx::Type type = ptx::Type::none;
  for (std::string_view s : m.suffixes)
    if (const ptx::Type t = ptx::type_from(s); t != ptx::Type::none && t != ptx::Type::other) type = t;
  return type;
}

}  // namespace

// ld.param with a constant address: of the kernel, a builtin value known at launch; of a function, a register.
void parameter_load(Builder& b) {
  const ptx::Operand &what = b.in->operands[0], &where = b.in->operands[1];
  const ptx::Type type = type_of(*b.m);
  const unsigned width = ptx::size_of(type);
  const bool is_signed = ptx::name_of(type).starts_with("s");
  const std::size_t count = what.kind == Operand::vector ? what.elements.size() : 1;
  const auto found = b.frame->params.find(where.name);
  for (std::size_t k = 0; k < count; ++k) {
    const ptx::Operand& to = what.kind == Operand::vector ? what.elements[k] : what;
    const bool last = k + 1 == count;
    const int64_t offset = where.offset + static_cast<int64_t>(k * width);
    if (to.kind == Operand::sink) {
      if (last) nothing(b);
      continue;
    }
    if (to.kind != Operand::reg) return b.unknown();
    const uint32_t real = b.mapped(to.reg);
    const unsigned bytes = bytes_of(b.element(real));
    if (b.element(real) == Element::pred || bytes < width) return b.unknown();
    uint32_t source;
    if (found == b.frame->params.end()) {
      int64_t at = -1;
      for (std::size_t p = 0; p < b.kernel.params.size(); ++p)
        if (b.kernel.params[p].name == where.name) {
          if (offset < 0 || offset + width > static_cast<int64_t>(b.kernel.params[p].size))
            b.fail("parameter read past its end");
          at = b.parameter_offsets[p] + offset;
        }
      if (at < 0) b.fail("unknown parameter '" + where.name + "'");
      source = b.new_register(b.element(real));
      Register& r = b.out.registers[source];
      r.builtin = Builtin::parameter;
      r.parameter_offset = static_cast<uint32_t>(at);
      r.parameter_size = static_cast<uint8_t>(width);
      r.parameter_signed = is_signed;
      b.emit_final("mov.b" + std::to_string(8 * bytes), {real}, {Value::of(source)}, last);
      continue;
    }
    ParamStorage& s = b.storages[found->second];
    const auto piece = s.pieces.find({static_cast<uint32_t>(offset), width});
    if (piece == s.pieces.end()) {
      for (const auto& [key, reg] : s.pieces)
        if (offset < key.first + key.second && key.first < offset + width) throw ParamConflict{s.owner, s.name};
      source = s.pieces[{static_cast<uint32_t>(offset), width}] =
          b.new_register(element_of_bytes(width));  // never stored
    } else {
      source = piece->second;
    }
    if (width == 1) {  // 8-bit pieces are kept in 16-bit registers, low byte valid
      const uint32_t r = b.new_register(Element::b16);
      b.emit_pure(is_signed ? "cvt.s16.s8" : "cvt.u16.u8", {r}, {Value::of(source)}, false);
      source = r;
    }
    const unsigned have = bytes_of(b.element(source));
    const std::string from = std::to_string(8 * have), into = std::to_string(8 * bytes);
    b.emit_final(have == bytes ? "mov.b" + into
                 : is_signed   ? "cvt.s" + into + ".s" + from
                               : "widen.b" + into + ".b" + from,
                 {real}, {Value::of(source)}, last);
  }
}

void parameter_store(Builder& b) {
  const ptx::Operand &where = b.in->operands[0], &what = b.in->operands[1];
  const ptx::Type type = type_of(*b.m);
  const unsigned width = ptx::size_of(type);
  const std::size_t count = what.kind == Operand::vector ? what.elements.size() : 1;
  const uint32_t index = b.frame->params.at(where.name);
  for (std::size_t k = 0; k < count; ++k) {
    const ptx::Operand& from = what.kind == Operand::vector ? what.elements[k] : what;
    const uint32_t offset = static_cast<uint32_t>(where.offset + static_cast<int64_t>(k * width));
    const Element element = element_of_bytes(width);
    const Value v = b.value(from, element);
    ParamStorage& s = b.storages[index];
    for (const auto& [key, reg] : s.pieces)
      if (key != std::make_pair(offset, width) && offset < key.first + key.second && key.first < offset + width)
        throw ParamConflict{s.owner, s.name};
    auto piece = s.pieces.find({offset, width});
    if (piece == s.pieces.end()) piece = s.pieces.emplace(std::make_pair(offset, width), b.new_register(element)).first;
    b.emit_final("mov.b" + std::to_string(8 * bytes_of(element)), {piece->second}, {v}, k + 1 == count);
  }
}

}  // namespace coalesce::machine::flattening
