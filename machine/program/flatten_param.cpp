// Flattening of .param variables at constant addresses: a kernel's become builtin values, a function's registers.
#include "machine/program/flatten.h"

namespace coalesce::machine {

// ld.param with a constant address: of the kernel, a builtin value known at launch; of a function, a register.
void Flattener::param_load() {
  const ptx::Operand &what = in_->operands[0], &where = in_->operands[1];
  ptx::Type type = ptx::Type::none;
  for (std::string_view s : m_->suffixes)
    if (const ptx::Type t = ptx::type_from(s); t != ptx::Type::none && t != ptx::Type::other) type = t;
  const unsigned width = ptx::size_of(type);
  const bool is_signed = ptx::name_of(type).starts_with("s");
  const std::size_t count = what.kind == Operand::vector ? what.elements.size() : 1;
  const auto found = frame_->params.find(where.name);
  for (std::size_t k = 0; k < count; ++k) {
    const ptx::Operand& to = what.kind == Operand::vector ? what.elements[k] : what;
    const bool last = k + 1 == count;
    const int64_t offset = where.offset + static_cast<int64_t>(k * width);
    if (to.kind == Operand::sink) {
      if (last) nothing();
      continue;
    }
    if (to.kind != Operand::reg) return unknown();
    const uint32_t real = frame_->registers[static_cast<std::size_t>(to.reg)];
    const unsigned bytes = bytes_of(out_.registers[real].element);
    if (out_.registers[real].element == Element::pred || bytes < width) return unknown();
    uint32_t source;
    if (found == frame_->params.end()) {
      int64_t at = -1;
      for (std::size_t p = 0; p < kernel_.params.size(); ++p)
        if (kernel_.params[p].name == where.name) {
          if (offset < 0 || offset + width > static_cast<int64_t>(kernel_.params[p].size))
            fail("parameter read past its end");
          at = parameter_offsets_[p] + offset;
        }
      if (at < 0) fail("unknown parameter '" + where.name + "'");
      source = new_register(out_.registers[real].element);
      Register& r = out_.registers[source];
      r.builtin = Builtin::parameter;
      r.parameter_offset = static_cast<uint32_t>(at);
      r.parameter_size = static_cast<uint8_t>(width);
      r.parameter_signed = is_signed;
      emit_final("mov.b" + std::to_string(8 * bytes), {real}, {Value::of(source)}, last);
      continue;
    }
    ParamStorage& s = storages_[found->second];
    const auto piece = s.pieces.find({static_cast<uint32_t>(offset), width});
    if (piece == s.pieces.end()) {
      for (const auto& [key, reg] : s.pieces)
        if (offset < key.first + key.second && key.first < offset + width) throw ParamConflict{s.owner, s.name};
      source = s.pieces[{static_cast<uint32_t>(offset), width}] =
          new_register(element_of_bytes(width));  // never stored
    } else {
      source = piece->second;
    }
    if (width == 1) {  // 8-bit pieces are kept in 16-bit registers, low byte valid
      const uint32_t r = new_register(Element::b16);
      emit_pure(is_signed ? "cvt.s16.s8" : "cvt.u16.u8", {r}, {Value::of(source)}, false);
      source = r;
    }
    const unsigned have = bytes_of(out_.registers[source].element);
    const std::string h = std::to_string(8 * have), b = std::to_string(8 * bytes);
    emit_final(have == bytes ? "mov.b" + b
               : is_signed   ? "cvt.s" + b + ".s" + h
                             : "widen.b" + b + ".b" + h,
               {real}, {Value::of(source)}, last);
  }
}

void Flattener::param_store() {
  const ptx::Operand &where = in_->operands[0], &what = in_->operands[1];
  ptx::Type type = ptx::Type::none;
  for (std::string_view s : m_->suffixes)
    if (const ptx::Type t = ptx::type_from(s); t != ptx::Type::none && t != ptx::Type::other) type = t;
  const unsigned width = ptx::size_of(type);
  const std::size_t count = what.kind == Operand::vector ? what.elements.size() : 1;
  const uint32_t index = frame_->params.at(where.name);
  for (std::size_t k = 0; k < count; ++k) {
    const ptx::Operand& from = what.kind == Operand::vector ? what.elements[k] : what;
    const uint32_t offset = static_cast<uint32_t>(where.offset + static_cast<int64_t>(k * width));
    const Element element = element_of_bytes(width);
    const Value v = value(from, element);
    ParamStorage& s = storages_[index];
    for (const auto& [key, reg] : s.pieces)
      if (key != std::make_pair(offset, width) && offset < key.first + key.second && key.first < offset + width)
        throw ParamConflict{s.owner, s.name};
    auto piece = s.pieces.find({offset, width});
    if (piece == s.pieces.end()) piece = s.pieces.emplace(std::make_pair(offset, width), new_register(element)).first;
    emit_final("mov.b" + std::to_string(8 * bytes_of(element)), {piece->second}, {v}, k + 1 == count);
  }
}

}  // namespace coalesce::machine
