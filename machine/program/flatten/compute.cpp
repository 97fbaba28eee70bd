// Instructions that compute: one row of the table each, or moves between registers and their parts.
#include <algorithm>

#include "machine/program/flatten/opcodes.h"

namespace coalesce::machine::flattening {

void compute(Builder& b) {
  const auto& ops = b.in->operands;
  const bool pair = !ops.empty() && ops[0].kind == Operand::reg && ops[0].reg2 >= 0;
  const PureOp* row = find_pure(pair ? b.in->mnemonic + "|" : b.in->mnemonic);
  const bool parts = std::any_of(ops.begin(), ops.end(), [](const auto& o) { return o.kind == Operand::part; });
  if ((!row || row->sources + 1u < ops.size() || parts) && compose(b)) return;
  if (parts || !row) return b.unknown();
  const bool carry_in = b.m->opcode == "addc" || b.m->opcode == "subc" || b.m->opcode == "madc";
  if (ops.size() + carry_in != row->sources + 1u) return b.wrong_number();
  const std::size_t given = ops.size() - 1;
  std::string_view type, before;  // the last two suffixes, as the row has them
  for (std::string_view rest = row->mnemonic; rest.find('.') != rest.npos;) {
    rest.remove_prefix(rest.find('.') + 1);
    before = type;
    type = rest.substr(0, rest.find_first_of(".|"));
  }
  const std::string_view result_type = b.m->opcode == "cvt" || b.m->opcode == "set" ? before : type;
  std::vector<Value> sources;
  for (std::size_t k = 0; k < given; ++k) sources.push_back(b.value(ops[k + 1], row->source[k]));
  if (carry_in) sources.push_back(Value::of(b.carry()));
  std::vector<uint32_t> results{b.result(ops[0], row->result[0], result_type.starts_with("s"))};
  if (row->results == 2) results.push_back(pair ? b.mapped(ops[0].reg2) : b.carry());
  Instruction& i = b.emit(Kind::pure);
  i.pure = row;
  for (std::size_t k = 0; k < results.size(); ++k) i.results[k] = results[k];
  i.sources = std::move(sources);
  b.finish_results();
}

void move(Builder& b) {
  if (b.in->operands.size() != 2) return b.wrong_number();
  const ptx::Operand &to = b.in->operands[0], &from = b.in->operands[1];
  const std::string_view type_name = b.m->suffixes.empty() ? "b32" : b.m->suffixes.back();
  const ptx::Type type = ptx::type_from(type_name);
  const Element element = element_of(type);
  const unsigned bytes = bytes_of(element);
  const auto part_name = [&](std::size_t n) {
    return ".b" + std::to_string(8 * bytes) + ".b" + std::to_string(8 * bytes / n) + "x" + std::to_string(n);
  };
  if (from.kind == Operand::vector) {  // mov.b64 %rd, {%r1, %r2}
    const std::size_t n = from.elements.size();
    std::vector<Value> parts;
    for (const ptx::Operand& e : from.elements)
      parts.push_back(b.value(e, element_of_bytes(bytes / static_cast<unsigned>(n))));
    if (!find_pure("pack" + part_name(n))) return b.unknown();
    const uint32_t r = b.result(to, element, false);
    b.emit_pure("pack" + part_name(n), {r}, std::move(parts), true);
    return b.finish_results();
  }
  if (to.kind == Operand::vector) {  // mov.b64 {%r1, %r2}, %rd: two at a time
    const std::size_t n = to.elements.size();
    const Value whole = b.value(from, element);
    const Element part = element_of_bytes(bytes / static_cast<unsigned>(n));
    if (n == 2) {
      if (!find_pure("unpack" + part_name(2))) return b.unknown();
      const uint32_t low = b.result(to.elements[0], part, false), high = b.result(to.elements[1], part, false);
      b.emit_pure("unpack" + part_name(2), {low, high}, {whole}, true);
      return b.finish_results();
    }
    const std::string second = "unpack.b" + std::to_string(4 * bytes) + ".b" + std::to_string(2 * bytes) + "x2";
    if (n != 4 || !find_pure("unpack" + part_name(2)) || !find_pure(second)) return b.unknown();
    const Element half = element_of_bytes(bytes / 2);
    const uint32_t halves[] = {b.new_register(half), b.new_register(half)};
    b.emit_pure("unpack" + part_name(2), {halves[0], halves[1]}, {whole}, false);
    for (std::size_t h = 0; h < 2; ++h) {
      const uint32_t low = b.result(to.elements[2 * h], part, false);
      const uint32_t high = b.result(to.elements[2 * h + 1], part, false);
      b.emit_pure(second, {low, high}, {Value::of(halves[h])}, h == 1).guard = kNone;
    }
    return b.finish_results();
  }
  const Value v = b.value(from, element);
  const uint32_t r = b.result(to, element, false);
  b.emit_pure(element == Element::pred ? "mov.pred" : "mov.b" + std::to_string(8 * bytes), {r}, {v}, true);
  b.finish_results();
}

}  // namespace coalesce::machine::flattening
