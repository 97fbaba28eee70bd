// Instructions made of several rows of the table: set in all its forms, setp of pairs with a boolean operation, lop3
// with one, minimum and maximum of three, createpolicy; cp.async; atomics on vectors. One of the rows counts, as the
// instruction does.
#include <optional>

#include "machine/program/flatten.h"

namespace coalesce::machine {

namespace {

bool is_boolean(std::string_view s) { return s == "and" || s == "or" || s == "xor"; }
bool is_pair(std::string_view type) { return type == "f16x2" || type == "bf16x2"; }
uint32_t index_of(int32_t reg) { return static_cast<uint32_t>(reg); }

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

}  // namespace

// A row that writes results of the program's own: under the instruction's guard, and `counts` says whether for it.
void Flattener::emit_final(std::string_view mnemonic, std::vector<uint32_t> results, std::vector<Value> sources,
                           bool counts) {
  emit_pure(mnemonic, std::move(results), std::move(sources), true).counts = counts;
}

// Composes an instruction without a row for its mnemonic and number of operands. False: it is not one of these.
bool Flattener::composed() {
  const std::string_view op = m_->opcode;
  if (op == "set") return composed_set();
  if (op == "setp") return composed_setp();
  if (op == "lop3") return composed_lop3();
  if ((op == "min" || op == "max") && in_->operands.size() == 4) return extreme_of_three();
  if (op.starts_with('v') && composed_video()) return true;
  if (op == "createpolicy") {  // a hint for caches: any value will do
    const std::size_t n = in_->operands.size();
    if (m_->has("range") ? n != 4 : m_->has("cvt") ? n != 2 : n != 1 && n != 2) return wrong_number(), true;
    const uint32_t r = result(in_->operands[0], Element::b64, false);
    emit_final("mov.b64", {r}, {Value::imm(0)}, true);
    finish_results();
    return true;
  }
  return false;
}

// The comparison of `set`, without its boolean operation, into predicates (two for pairs): what is left of the
// suffixes.
bool Flattener::compare_parts(std::vector<std::string_view> suffixes, std::vector<uint32_t>* tests) {
  const bool pair = is_pair(suffixes.back());
  std::string name = "setp";
  for (std::string_view s : suffixes)
    if (!is_boolean(s)) name += "." + std::string(s);
  const PureOp* row = find_pure(pair ? name + "|" : name);
  if (!row || in_->operands.size() < 3) return false;
  std::vector<Value> sources{value(in_->operands[1], row->source[0]), value(in_->operands[2], row->source[1])};
  tests->push_back(new_register(Element::pred));
  if (pair) tests->push_back(new_register(Element::pred));
  emit_pure(row->mnemonic, *tests, std::move(sources), false);
  return true;
}

// set.CmpOp[.BoolOp][.ftz].dtype.stype d, a, b[, c]
bool Flattener::composed_set() {
  std::vector<std::string_view> suffixes = types_last(m_->suffixes);
  if (suffixes.size() < 3) return false;
  const std::string_view to = suffixes[suffixes.size() - 2];
  const std::optional<uint64_t> one = one_of(to);
  if (!one) return false;
  suffixes.erase(suffixes.end() - 2);
  std::string_view join;
  for (std::string_view s : suffixes)
    if (is_boolean(s)) join = s;
  if (in_->operands.size() != (join.empty() ? 3u : 4u)) return false;
  std::vector<uint32_t> tests;
  if (!compare_parts(suffixes, &tests)) return false;
  if (!join.empty()) {
    const Value c = value(in_->operands[3], Element::pred);
    for (uint32_t& t : tests) {
      const uint32_t joined = new_register(Element::pred);
      emit_pure(std::string(join) + ".pred", {joined}, {Value::of(t), c}, false);
      t = joined;
    }
  }
  const Element element = to == "f16" || to == "bf16" || to == "u16" || to == "s16" ? Element::b16 : Element::b32;
  const uint32_t r = result(in_->operands[0], element, to.starts_with("s"));
  if (tests.size() == 1) {
    emit_final(element == Element::b16 ? "selp.b16" : "selp.b32", {r},
               {Value::imm(*one), Value::imm(0), Value::of(tests[0])}, true);
  } else {
    std::vector<Value> halves;
    for (uint32_t t : tests) {
      halves.push_back(Value::of(new_register(Element::b16)));
      emit_pure("selp.b16", {halves.back().reg}, {Value::imm(*one & 0xffff), Value::imm(0), Value::of(t)}, false);
    }
    emit_final("pack.b32.b16x2", {r}, std::move(halves), true);
  }
  finish_results();
  return true;
}

// setp of pairs with a boolean operation: p from the low halves, q from the high ones, each joined with c.
bool Flattener::composed_setp() {
  const std::vector<std::string_view> suffixes = types_last(m_->suffixes);
  std::string_view join;
  for (std::string_view s : suffixes)
    if (is_boolean(s)) join = s;
  if (suffixes.empty() || !is_pair(suffixes.back())) return false;
  if (in_->operands.size() != (join.empty() ? 3u : 4u)) return false;
  const ptx::Operand& d = in_->operands[0];
  std::vector<uint32_t> tests;
  if (d.kind != Operand::reg || !compare_parts(suffixes, &tests)) return false;
  const Value c = join.empty() ? Value::imm(0) : value(in_->operands[3], Element::pred);
  const std::string name = join.empty() ? "mov.pred" : std::string(join) + ".pred";
  bool counts = true;
  for (std::size_t k = 0; k < 2; ++k) {
    const int32_t to = k == 0 ? d.reg : d.reg2;
    if (to < 0) continue;
    std::vector<Value> sources{Value::of(tests[k])};
    if (!join.empty()) sources.push_back(c);
    emit_final(name, {frame_->registers[index_of(to)]}, std::move(sources), counts);
    counts = false;
  }
  return true;
}

// lop3.BoolOp.b32 d|p, a, b, c, table, q: p = (d != 0) BoolOp q.
bool Flattener::composed_lop3() {
  const auto& ops = in_->operands;
  if (m_->suffixes.size() != 2 || !is_boolean(m_->suffixes[0]) || ops.size() != 6 || ops[0].kind != Operand::reg ||
      ops[0].reg2 < 0)
    return false;
  std::vector<Value> sources;
  for (std::size_t k = 1; k < 5; ++k) sources.push_back(value(ops[k], Element::b32));
  const Value q = value(ops[5], Element::pred);
  const uint32_t d = new_register(Element::b32), test = new_register(Element::pred);
  emit_pure("lop3.b32", {d}, std::move(sources), false);
  emit_pure("setp.ne.u32", {test}, {Value::of(d), Value::imm(0)}, false);
  emit_final(std::string(m_->suffixes[0]) + ".pred", {frame_->registers[index_of(ops[0].reg2)]}, {Value::of(test), q},
             true);
  if (ops[0].reg >= 0) emit_final("mov.b32", {frame_->registers[index_of(ops[0].reg)]}, {Value::of(d)}, false);
  return true;
}

// min and max of three: the two-operand row twice (it is associative, NaN and zeros included).
bool Flattener::extreme_of_three() {
  const PureOp* row = find_pure(in_->mnemonic);
  if (!row || row->sources != 2 || m_->suffixes.back() != "f32" || m_->has("xorsign")) return false;
  std::vector<Value> v;
  for (std::size_t k = 1; k < 4; ++k) v.push_back(value(in_->operands[k], row->source[0]));
  const uint32_t t = new_register(row->result[0]), r = result(in_->operands[0], row->result[0], false);
  emit_pure(row->mnemonic, {t}, {v[0], v[1]}, false);
  emit_final(row->mnemonic, {r}, {Value::of(t), v[2]}, true);
  finish_results();
  return true;
}

// One load or store of cp.async, under `guard` (kNone: under the instruction's own).
void Flattener::async_access(Kind kind, MemoryOp op, uint32_t guard, bool counts) {
  const uint32_t index = add_memory(op, kind);
  Instruction& i = emit(kind);
  i.memory = index;
  i.counts = counts;
  if (guard == kNone) return;
  i.guard = guard;
  i.guard_negated = false;
  // Requests are no longer the executions of the block:
  for (uint32_t s = out_.memory[index].site; s < out_.sites.size(); ++s) out_.sites[s].dynamic_requests = true;
}

// cp.async.{ca,cg}.shared.global [to], [from], bytes {, source bytes | ignore} {, cache policy}
//
// Done at once, when it is issued: a legal outcome, since the program may not look before it has waited. Counted as
// a global load of the bytes and a shared store of them, whose costs copies.h mends. Fewer source bytes than bytes: the
// rest is zeros, and only those bytes are read (one by one, each a request).
void Flattener::async_copy() {
  const auto& ops = in_->operands;
  if (m_->has("mbarrier") && m_->has("arrive") && !m_->has("bulk")) return copies_arrive();
  if (m_->has("bulk")) return bulk_copy();
  if (m_->has("commit_group") || m_->has("wait_group") || m_->has("wait_all"))
    return groups(Nothing::copies_commit, m_->has("wait_group") ? Nothing::copies_wait : Nothing::copies_wait_all);
  const std::size_t most = 4u + m_->has("L2::cache_hint");
  if (ops.size() < most - 1 || ops.size() > most) return wrong_number();
  if (!m_->has("global") || ops[2].kind != Operand::integer) return unknown();
  const uint32_t bytes = static_cast<uint32_t>(ops[2].bits);
  if (bytes != 4 && bytes != 8 && bytes != 16) return unknown();
  // The operand after the size: a number or 32-bit register is the source size, a predicate says whether to ignore the
  // source, a 64-bit register is a cache policy.
  uint32_t whole = kNone;  // predicate: all of the source is read; kNone: always
  std::optional<Value> size;
  if (ops.size() > 3) {
    const ptx::Operand& o = ops[3];
    const Element e = o.kind == Operand::reg && o.reg >= 0 ? out_.registers[frame_->registers[index_of(o.reg)]].element
                                                           : Element::b32;
    if (e == Element::pred) {
      whole = new_register(Element::pred);
      emit_pure("not.pred", {whole}, {value(o, Element::pred)}, false);
    } else if (e == Element::b32 && (o.kind == Operand::reg || o.bits < bytes)) {
      size = value(o, Element::b32);
      whole = new_register(Element::pred);
      emit_pure("setp.ge.u32", {whole}, {*size, Value::imm(bytes)}, false);
    }
  }
  // The instruction's own guard joins every condition.
  uint32_t own = kNone;
  if (in_->guard >= 0) {
    own = new_register(Element::pred);
    emit_pure(in_->guard_negated ? "not.pred" : "mov.pred", {own}, {Value::of(frame_->registers[index_of(in_->guard)])},
              false);
  }
  const auto with_own = [&](uint32_t condition) {
    if (own == kNone) return condition;
    const uint32_t r = new_register(Element::pred);
    emit_pure("and.pred", {r}, {Value::of(own), Value::of(condition)}, false);
    return r;
  };
  const uint32_t width = std::min(bytes, 8u), count = bytes / width;
  const std::string word = ".b" + std::to_string(8 * width);
  MemoryOp load = address(ops[1]);
  load.space = AddressSpace::global;
  load.is_copy = true;
  load.past_l1 = m_->has("cg");
  load.width = static_cast<uint8_t>(width);
  load.count = static_cast<uint8_t>(count);
  for (uint32_t k = 0; k < count; ++k) {
    load.values[k] = Value::of(new_register(element_of_bytes(width)));
    load.value_bytes[k] = static_cast<uint8_t>(width);
    if (whole != kNone) emit_pure("mov" + word, {load.values[k].reg}, {Value::imm(0)}, false);
  }
  // One of the two rows counts, as the instruction: the one under its own guard.
  async_access(Kind::load, load, whole == kNone ? kNone : with_own(whole), whole == kNone);
  const uint32_t load_index = static_cast<uint32_t>(out_.memory.size() - 1);
  if (size) {
    // The bytes there are of a source shorter than the whole, one at a time.
    const uint32_t part = new_register(Element::pred);
    emit_pure("not.pred", {part}, {Value::of(whole)}, false);
    for (uint32_t b = 0; b + 1 < bytes; ++b) {
      const uint32_t there = new_register(Element::pred), both = new_register(Element::pred);
      emit_pure("setp.gt.u32", {there}, {*size, Value::imm(b)}, false);
      emit_pure("and.pred", {both}, {Value::of(there), Value::of(part)}, false);
      MemoryOp one = address(ops[1]);
      one.space = AddressSpace::global;
      one.offset += b;
      one.width = 1;
      const uint32_t low = new_register(Element::b16), wide = new_register(element_of_bytes(width));
      one.values[0] = Value::of(low);
      one.value_bytes[0] = 2;
      emit_pure("mov.b16", {low}, {Value::imm(0)}, false);
      async_access(Kind::load, one, with_own(both), false);
      const uint32_t shifted = new_register(element_of_bytes(width)), word_register = load.values[b / width].reg;
      emit_pure("widen" + word + ".b16", {wide}, {Value::of(low)}, false);
      emit_pure("shl" + word, {shifted}, {Value::of(wide), Value::imm(8 * (b % width))}, false);
      emit_pure("or" + word, {word_register}, {Value::of(word_register), Value::of(shifted)}, false);
    }
  }
  MemoryOp store = address(ops[0]);
  store.space = AddressSpace::shared;
  store.width = load.width;
  store.count = load.count;
  store.values = load.values;
  store.value_bytes = load.value_bytes;
  store.is_copy = true;
  store.past_l1 = load.past_l1;
  store.other_side = whole == kNone ? load_index : kNone;
  async_access(Kind::store, store, kNone, whole != kNone);
}

// atom and red of vectors (global memory, add min max of floats): their elements one after the other, each atomic by
// itself, as PTX has it. The first counts for all: a vector lies in one sector, and what the H200 counts of one (1
// request, and per sector the largest number of lanes on one word) is what it counts of its first elements
// (docs/results/agreement.md).
void Flattener::vector_atomic(const MemoryOp& form, bool returns) {
  const std::size_t first = returns ? 1 : 0;
  const ptx::Operand& what = in_->operands[first + 1];
  const std::size_t count = form.count;
  const bool sink = !returns || in_->operands[0].kind == Operand::sink;
  if (form.op == AtomicOp::cas || form.number < Number::f16 || what.kind != Operand::vector ||
      what.elements.size() != count ||
      (!sink && (in_->operands[0].kind != Operand::vector || in_->operands[0].elements.size() != count)))
    return unknown();
  const Element element = element_of_bytes(form.width);
  std::vector<Value> operands;
  std::vector<uint32_t> old;
  for (const ptx::Operand& o : what.elements) operands.push_back(value(o, element));
  for (std::size_t k = 0; k < count; ++k) {
    MemoryOp op = form;
    op.count = 1;
    op.offset += static_cast<int64_t>(k * form.width);
    op.values[0] = operands[k];
    op.value_bytes[0] = form.width;
    op.returns = !sink;
    op.ordered = true;
    if (!sink) old.push_back(op.result = new_register(element));  // an operand may be a result's register
    uint32_t index;
    if (k == 0) {
      index = add_memory(op, Kind::atomic);
    } else {
      out_.memory.push_back(op);
      index = static_cast<uint32_t>(out_.memory.size() - 1);
    }
    Instruction& i = emit(Kind::atomic);
    i.memory = index;
    i.counts = k == 0;
  }
  for (std::size_t k = 0; k < old.size(); ++k) {
    const uint32_t r = result(in_->operands[0].elements[k], element, false);
    emit_final("mov.b" + std::to_string(8 * form.width), {r}, {Value::of(old[k])}, false);
  }
  finish_results();
}

}  // namespace coalesce::machine
