// Decoding of operands, and of instructions that only compute.
#include <algorithm>
#include <bit>

#include "machine/plain/decoder.h"
#include "machine/plain/run.h"

namespace coalesce::machine::plain {

namespace {
using OK = ptx::Operand::Kind;
}

uint8_t register_bytes(Element e) {
  switch (e) {
    case Element::pred:
      return 0;
    case Element::b8:
    case Element::b16:
      return 2;
    case Element::b32:
      return 4;
    case Element::b128:
      return 16;
    default:
      return 8;
  }
}

// ---- Operands

Source Decoder::constant(uint64_t low, uint64_t high) {
  Source s{kLaunch, static_cast<uint32_t>(code_.constants.size() * 8), 8, false};
  code_.constants.push_back(low);
  code_.constants.push_back(high);
  return s;
}

Source Decoder::own_address(const Variable& v, bool is_param, int64_t offset) {
  Source s{kWarp, code_.cell_bytes, 8, false};
  code_.own_addresses.push_back({code_.cell_bytes, is_param, static_cast<int64_t>(v.at) + offset});
  code_.cell_bytes += kCellsBytes;
  return s;
}

Source Decoder::symbol(const std::string& name, int64_t offset) {
  const auto plus = [&](uint64_t address) { return constant(address + static_cast<uint64_t>(offset)); };
  if (const auto s = bodies_.shared.find(name); s != bodies_.shared.end()) return plus(s->second);
  if (const auto l = code_.locals.find(name); l != code_.locals.end()) return own_address(l->second, false, offset);
  if (const auto p = code_.params.find(name); p != code_.params.end()) return own_address(p->second, true, offset);
  if (code_.is_kernel)
    for (const auto& [parameter, at] : bodies_.parameters)
      if (parameter == name) return plus(at);
  if (const SymbolTable::Symbol s = bodies_.launch->symbols->symbol(name); s.found) return plus(s.address);
  if (const uint64_t f = bodies_.launch->symbols->function_address(name)) return plus(f);
  fail("unknown symbol '" + name + "'");
}

Source Decoder::source(const ptx::Operand& o, uint8_t bytes) {
  switch (o.kind) {
    case OK::reg: {
      if (o.reg < 0) throw WrongOperands{};
      const auto r = static_cast<std::size_t>(o.reg);
      const bool is_pred = f_.registers[r].type == ptx::Type::pred;
      if (is_pred != (bytes == 0)) throw WrongOperands{};
      return {kWarp, code_.register_at[r],
              is_pred ? uint8_t{0} : static_cast<uint8_t>(std::max(2u, ptx::size_of(f_.registers[r].type))), o.negated};
    }
    case OK::integer: {
      Source s = constant(bytes == 0 ? ((o.bits != 0) != o.negated ? 0xffffffff : 0) : o.bits);
      s.bytes = bytes;
      return s;
    }
    case OK::real: {
      uint64_t bits = o.bits;
      if (bytes == 4 && !o.is_f32) bits = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
      if (bytes == 8 && o.is_f32)
        bits = std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits))));
      return constant(bits);
    }
    case OK::special: {
      if (o.name == "WARP_SZ") return constant(kLanes);
      if (const int s = special_index(o.name); s >= 0) {
        if (s >= kClock && s <= kTimeHigh) op_->reads_clock = true;
        return {kBlock, static_cast<uint32_t>(s) * kCellsBytes, 8, false};
      }
      if (o.name == "%is_explicit_cluster") return constant(volume(bodies_.launch->cluster) > 1 ? 0xffffffff : 0);
      for (std::string_view zero : {"%envreg", "%pm", "%reserved_smem_offset"})
        if (o.name.starts_with(zero)) return constant(0);
      fail("unknown special register '" + o.name + "'");
    }
    case OK::symbol:
      return symbol(o.name, o.offset);
    default:
      throw WrongOperands{};
  }
}

Dest Decoder::dest(const ptx::Operand& o, bool is_signed) {
  Dest d;
  d.is_signed = is_signed;
  if (o.kind == OK::sink || (o.kind == OK::reg && o.reg < 0)) return d;
  if (o.kind != OK::reg) throw WrongOperands{};
  const auto r = static_cast<std::size_t>(o.reg);
  d.at = static_cast<int32_t>(code_.register_at[r]);
  d.reg = static_cast<uint32_t>(r);
  d.bytes = f_.registers[r].type == ptx::Type::pred
                ? uint8_t{0}
                : static_cast<uint8_t>(std::max(2u, ptx::size_of(f_.registers[r].type)));
  return d;
}

Dest Decoder::second(const ptx::Operand& o) {
  if (o.kind != OK::reg || o.reg2 < 0) return {};
  ptx::Operand other;
  other.kind = OK::reg;
  other.reg = o.reg2;
  return dest(other);
}

// ---- Instructions that compute

// Computes by the row of the mnemonic, a lane at a time.
void Decoder::compute() {
  if (operands() == 0) return unknown();
  if (has("cc") || words_->opcode == "addc" || words_->opcode == "subc" || words_->opcode == "madc")
    return add_with_carry();
  const bool pair = operand(0).kind == OK::reg && operand(0).reg2 >= 0;
  const PureOp* row = find_pure(pair ? in_->mnemonic + "|" : in_->mnemonic);
  const std::size_t given = operands() - 1;
  if (!row || row->sources != given) {
    if (!composed()) unknown();
    return;
  }
  const std::string_view type = words_->rest.empty() ? "" : words_->rest.back();
  const bool two_types = words_->opcode == "cvt" || words_->opcode == "set";
  const std::string_view made = two_types && words_->rest.size() > 1 ? words_->rest[words_->rest.size() - 2] : type;
  for (std::size_t k = 0; k < given; ++k) {
    if (row->source[k] == Element::b128) return unknown();
    op_->in.push_back(source(operand(k + 1), register_bytes(row->source[k])));
  }
  op_->out.push_back(dest(operand(0), made.starts_with("s")));
  if (row->results == 2) op_->out.push_back(second(operand(0)));
  for (std::size_t k = 0; k < op_->out.size(); ++k)
    if (row->result[k] == Element::b128 ||
        (op_->out[k].at >= 0 && (op_->out[k].bytes == 0) != (row->result[k] == Element::pred)))
      return unknown();
  op_->row = row;
  op_->run = run_row;
}

}  // namespace coalesce::machine::plain
