// Instructions made of several rows of the table: set in all its forms, setp of pairs with a boolean operation, lop3
// with one, minimum and maximum of three, createpolicy. One of the rows counts, as the instruction does.
#include <optional>

#include "machine/program/flatten/opcodes.h"

namespace coalesce::machine::flattening {

namespace {

bool is_boolean(std::string_view s) { return s == "and" || s == "or" || s == "xor"; }
bool is_pair(std::string_view type) { return type == "f16x2" || type == "bf16x2"; }

// The bits of 1 as a result of `set`.
std::optional<uint64_t> one_of(std::string_view type) {
  if (type == "f32") return 0x3f800000;
  if (type == "f16") return 0x3c00;
  if (type == "bf16") return 0x3f80;
  if (type == "f16x2") return 0x3c003c00;
  if (type == "bf16x2") return 0x3f803f80;
  if (type == "u32" || type == "s32") return 0xffffffff;
  if (type == "u16" || type == "s16") return 0xffff;
  return std::nullopt;
}

// The comparison of `set`, without its boolean operation, into predicates (two for pairs): what is left of the
// suffixes.
bool compare_parts(Builder& b, std::vector<std::string_view> suffixes, std::vector<uint32_t>* tests) {
  const bool pair = is_pair(suffixes.back());
  std::string name = "setp";
  for (std::string_view s : suffixes)
    if (!is_boolean(s)) name += "." + std::string(s);
  const PureOp* row = find_pure(pair ? name + "|" : name);
  if (!row || b.in->operands.size() < 3) return false;
  std::vector<Value> sources{b.value(b.in->operands[1], row->source[0]), b.value(b.in->operands[2], row->source[1])};
  tests->push_back(b.new_register(Element::pred));
  if (pair) tests->push_back(b.new_register(Element::pred));
  b.emit_pure(row->mnemonic, *tests, std::move(sources), false);
  return true;
}

// set.CmpOp[.BoolOp][.ftz].dtype.stype d, a, b[, c]
bool set(Builder& b) {
  std::vector<std::string_view> suffixes = types_last(b.m->suffixes);
  if (suffixes.size() < 3) return false;
  const std::string_view to = suffixes[suffixes.size() - 2];
  const std::optional<uint64_t> one = one_of(to);
  if (!one) return false;
  suffixes.erase(suffixes.end() - 2);
  std::string_view join;
  for (std::string_view s : suffixes)
    if (is_boolean(s)) join = s;
  if (b.in->operands.size() != (join.empty() ? 3u : 4u)) return false;
  std::vector<uint32_t> tests;
  if (!compare_parts(b, suffixes, &tests)) return false;
  if (!join.empty()) {
    const Value c = b.value(b.in->operands[3], Element::pred);
    for (uint32_t& t : tests) t = b.compute(std::string(join) + ".pred", {Value::of(t), c}).reg;
  }
  const Element element = to == "f16" || to == "bf16" || to == "u16" || to == "s16" ? Element::b16 : Element::b32;
  const uint32_t r = b.result(b.in->operands[0], element, to.starts_with("s"));
  if (tests.size() == 1) {
    b.emit_final(element == Element::b16 ? "selp.b16" : "selp.b32", {r},
                 {Value::imm(*one), Value::imm(0), Value::of(tests[0])}, true);
  } else {
    std::vector<Value> halves;
    for (uint32_t t : tests) {
      halves.push_back(Value::of(b.new_register(Element::b16)));
      b.emit_pure("selp.b16", {halves.back().reg}, {Value::imm(*one & 0xffff), Value::imm(0), Value::of(t)}, false);
    }
    b.emit_final("pack.b32.b16x2", {r}, std::move(halves), true);
  }
  b.finish_results();
  return true;
}

// setp of pairs with a boolean operation: p from the low halves, q from the high ones, each joined with c.
bool set_predicates(Builder& b) {
  const std::vector<std::string_view> suffixes = types_last(b.m->suffixes);
  std::string_view join;
  for (std::string_view s : suffixes)
    if (is_boolean(s)) join = s;
  if (suffixes.empty() || !is_pair(suffixes.back())) return false;
  if (b.in->operands.size() != (join.empty() ? 3u : 4u)) return false;
  const ptx::Operand& d = b.in->operands[0];
  std::vector<uint32_t> tests;
  if (d.kind != Operand::reg || !compare_parts(b, suffixes, &tests)) return false;
  const Value c = join.empty() ? Value::imm(0) : b.value(b.in->operands[3], Element::pred);
  const std::string name = join.empty() ? "mov.pred" : std::string(join) + ".pred";
  bool counts = true;
  for (std::size_t k = 0; k < 2; ++k) {
    const int32_t to = k == 0 ? d.reg : d.reg2;
    if (to < 0) continue;
    std::vector<Value> sources{Value::of(tests[k])};
    if (!join.empty()) sources.push_back(c);
    b.emit_final(name, {b.mapped(to)}, std::move(sources), counts);
    counts = false;
  }
  return true;
}

// lop3.BoolOp.b32 d|p, a, b, c, table, q: p = (d != 0) BoolOp q.
bool lop3(Builder& b) {
  const auto& ops = b.in->operands;
  if (b.m->suffixes.size() != 2 || !is_boolean(b.m->suffixes[0]) || ops.size() != 6 || ops[0].kind != Operand::reg ||
      ops[0].reg2 < 0)
    return false;
  std::vector<Value> sources;
  for (std::size_t k = 1; k < 5; ++k) sources.push_back(b.value(ops[k], Element::b32));
  const Value q = b.value(ops[5], Element::pred);
  const uint32_t d = b.new_register(Element::b32), test = b.new_register(Element::pred);
  b.emit_pure("lop3.b32", {d}, std::move(sources), false);
  b.emit_pure("setp.ne.u32", {test}, {Value::of(d), Value::imm(0)}, false);
  b.emit_final(std::string(b.m->suffixes[0]) + ".pred", {b.mapped(ops[0].reg2)}, {Value::of(test), q}, true);
  if (ops[0].reg >= 0) b.emit_final("mov.b32", {b.mapped(ops[0].reg)}, {Value::of(d)}, false);
  return true;
}

// min and max of three: the two-operand row twice (it is associative, NaN and zeros included).
bool extreme_of_three(Builder& b) {
  const PureOp* row = find_pure(b.in->mnemonic);
  if (!row || row->sources != 2 || b.m->suffixes.back() != "f32" || b.m->has("xorsign")) return false;
  std::vector<Value> v;
  for (std::size_t k = 1; k < 4; ++k) v.push_back(b.value(b.in->operands[k], row->source[0]));
  const uint32_t t = b.new_register(row->result[0]), r = b.result(b.in->operands[0], row->result[0], false);
  b.emit_pure(row->mnemonic, {t}, {v[0], v[1]}, false);
  b.emit_final(row->mnemonic, {r}, {Value::of(t), v[2]}, true);
  b.finish_results();
  return true;
}

}  // namespace

// For an instruction without a row for its mnemonic and number of operands.
bool compose(Builder& b) {
  const std::string_view op = b.m->opcode;
  if (op == "set") return set(b);
  if (op == "setp") return set_predicates(b);
  if (op == "lop3") return lop3(b);
  if ((op == "min" || op == "max") && b.in->operands.size() == 4) return extreme_of_three(b);
  if (op.starts_with('v') && video(b)) return true;
  if (op == "createpolicy") {  // a hint for caches: any value will do
    const std::size_t n = b.in->operands.size();
    if (b.m->has("range") ? n != 4 : b.m->has("cvt") ? n != 2 : n != 1 && n != 2) return b.wrong_number(), true;
    const uint32_t r = b.result(b.in->operands[0], Element::b64, false);
    b.emit_final("mov.b64", {r}, {Value::imm(0)}, true);
    b.finish_results();
    return true;
  }
  return false;
}

}  // namespace coalesce::machine::flattening
