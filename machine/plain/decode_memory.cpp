// Decoding of what touches memory, of moves and of conversions between spaces.
#include <algorithm>

#include "machine/isa/atomic.h"
#include "machine/plain/decoder.h"
#include "machine/plain/run.h"

namespace coalesce::machine::plain {

namespace {

using OK = ptx::Operand::Kind;

// Suffixes that choose caches, scopes and orders change no result here.
bool is_hint(std::string_view w) {
  for (std::string_view h : {"ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "weak", "cta", "cluster", "gpu", "sys",
                             "noftz", "entry", "func", "unified"})
    if (w == h) return true;
  return w.find("::") != w.npos && !w.starts_with("shared::");
}
bool is_order(std::string_view w) {
  for (std::string_view o : {"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"})
    if (w == o) return true;
  return false;
}

template <class T, std::size_t N>
bool look_up(const std::pair<std::string_view, T> (&table)[N], std::string_view word, T* found) {
  for (const auto& [name, value] : table)
    if (name == word) return *found = value, true;
  return false;
}

bool arithmetic_from(std::string_view word, Arithmetic* a) {
  static constexpr std::pair<std::string_view, Arithmetic> names[] = {
      {"add", Arithmetic::add},   {"min", Arithmetic::min},  {"max", Arithmetic::max}, {"inc", Arithmetic::inc},
      {"dec", Arithmetic::dec},   {"and", Arithmetic::and_}, {"or", Arithmetic::or_},  {"xor", Arithmetic::xor_},
      {"exch", Arithmetic::exch}, {"cas", Arithmetic::cas}};
  return look_up(names, word, a);
}
bool number_from(std::string_view word, Number* n) {
  static constexpr std::pair<std::string_view, Number> names[] = {
      {"b16", Number::bits},        {"b32", Number::bits},        {"b64", Number::bits},
      {"b128", Number::bits},       {"u16", Number::is_unsigned}, {"u32", Number::is_unsigned},
      {"u64", Number::is_unsigned}, {"s16", Number::is_signed},   {"s32", Number::is_signed},
      {"s64", Number::is_signed},   {"f16", Number::f16},         {"f16x2", Number::f16x2},
      {"bf16", Number::bf16},       {"bf16x2", Number::bf16x2},   {"f32", Number::f32},
      {"f64", Number::f64}};
  return look_up(names, word, n);
}

bool is_count(std::string_view w) { return w == "v2" || w == "v4" || w == "v8"; }
bool is_real(Number n) { return n >= Number::f16; }

}  // namespace

bool space_from(std::string_view word, Space* space) {
  static constexpr std::pair<std::string_view, Space> names[] = {
      {"global", Space::global},      {"shared", Space::shared},
      {"shared::cta", Space::shared}, {"shared::cluster", Space::shared},
      {"local", Space::local},        {"const", Space::constant},
      {"param", Space::param},        {"param::entry", Space::param},
      {"param::func", Space::param}};
  return look_up(names, word, space);
}

Place Decoder::place(const ptx::Operand& o) {
  if (o.kind != OK::address && o.kind != OK::symbol) throw WrongOperands{};
  Place p;
  if (o.reg >= 0) {
    ptx::Operand base;
    base.kind = OK::reg;
    base.reg = o.reg;
    p.address = source(base, 8);
    p.offset = o.offset;
  } else if (!o.name.empty()) {
    p.address = symbol(o.name, o.offset);
  } else {
    p.address = constant(static_cast<uint64_t>(o.offset));
  }
  return p;
}

bool Decoder::is_own_param(const ptx::Operand& o) const { return o.reg < 0 && code_.params.contains(o.name); }

void Decoder::load_store() {
  if (has("async")) return store_async();
  const bool is_store = words_->opcode == "st";
  MemoryForm m;
  ptx::Type type = ptx::Type::none;
  for (std::string_view w : words_->rest) {
    const ptx::Type t = ptx::type_from(w);
    if (t != ptx::Type::none && t != ptx::Type::other)
      type = t;
    else if (is_count(w))
      m.count = static_cast<uint8_t>(w[1] - '0');
    else if (is_order(w))
      op_->polls = !is_store;
    else if (!space_from(w, &m.place.space) && !is_hint(w))
      return unknown();
  }
  m.width = static_cast<uint8_t>(ptx::size_of(type));
  m.sign_extend = ptx::name_of(type).starts_with("s");
  const ptx::Operand &where = operand(is_store ? 0 : 1), &what = operand(is_store ? 1 : 0);
  const bool vector = what.kind == OK::vector;  // Triton writes one register as a vector, too
  if (m.width == 0 || m.bytes() > 32 || (vector ? what.elements.size() : 1) != m.count) return unknown();
  const Space space = m.place.space;
  m.place = place(where);
  m.place.space = space;
  // Parameters of functions lie in the lanes' local memory and are not counted; the kernel's are read only.
  if (space == Space::param && (!code_.is_kernel || is_own_param(where))) {
    m.place.space = Space::local;
    m.place.counted = false;
  } else if (space == Space::param && is_store) {
    return unknown();
  }
  for (unsigned k = 0; k < m.count; ++k) {
    const ptx::Operand& o = vector ? what.elements[k] : what;
    const ptx::Type of = o.kind == OK::reg ? f_.registers[static_cast<std::size_t>(o.reg)].type : type;
    if (is_store && ptx::is_part_of_real(type, of))
      return unknown("'" + in_->mnemonic + "' cannot store a part of a register of real numbers");
    if (!ptx::is_of_one_kind(type, of))
      return unknown("'" + in_->mnemonic + "' does not take a register of type ." + std::string(ptx::name_of(of)));
    if (is_store) {
      op_->in.push_back(source(o, std::max<uint8_t>(2, m.width)));
      if (o.negated || (o.kind == OK::reg && op_->in.back().bytes < m.width)) return unknown();
    } else {
      op_->out.push_back(dest(o, m.sign_extend));
      const Dest& d = op_->out.back();
      if (d.at >= 0 && d.bytes < m.width) return unknown();
    }
  }
  op_->memory = m;
  op_->mode = static_cast<uint8_t>(is_store ? Access::store : Access::load);
  op_->run = run_load_store;
}

void Decoder::atomic() {
  if (has("async")) return store_async();
  const bool is_atom = words_->opcode == "atom";
  MemoryForm m;
  std::string_view what, type;
  for (std::string_view w : words_->rest) {
    if (what.empty() && arithmetic_from(w, &m.what))
      what = w;
    else if (is_count(w))
      m.count = static_cast<uint8_t>(w[1] - '0');
    else if (number_from(w, &m.number))
      type = w, m.width = static_cast<uint8_t>(ptx::size_of(ptx::type_from(w)));
    else if (!is_order(w) && !space_from(w, &m.place.space) && !is_hint(w))
      return unknown();
  }
  const Space space = m.place.space;
  const Arithmetic a = m.what;
  if (!isa::is_atomic_form(what, type) || (space != Space::generic && space != Space::global && space != Space::shared))
    return unknown();
  const bool real = is_real(m.number), exchanges = a == Arithmetic::exch || a == Arithmetic::cas;
  if (m.count > 1 && (!real || a == Arithmetic::cas)) return unknown();
  const std::size_t first = is_atom ? 1 : 0;
  m.place = place(operand(first));
  m.place.space = space;
  const auto each = [&](const ptx::Operand& o, auto take) {
    if ((o.kind == OK::vector ? o.elements.size() : 1) != m.count) throw WrongOperands{};
    for (unsigned k = 0; k < m.count; ++k) take(o.kind == OK::vector ? o.elements[k] : o);
  };
  for (std::size_t k = 0; k < (a == Arithmetic::cas ? 2u : 1u); ++k)
    each(operand(first + 1 + k),
         [&](const ptx::Operand& o) { op_->in.push_back(source(o, std::max<uint8_t>(2, m.width))); });
  if (is_atom) {
    const ptx::Operand& to = operand(0);
    const bool sink = to.kind == OK::sink;
    if (!sink) each(to, [&](const ptx::Operand& o) { op_->out.push_back(dest(o, m.number == Number::is_signed)); });
    // Nobody reads the old value: a red. A vector's is taken for read.
    m.returns = m.count > 1 ? !sink : exchanges || (to.kind == OK::reg && read_somewhere(to.reg));
    if (m.count == 1 && !sink && op_->out[0].at >= 0 && op_->out[0].bytes != m.width) m.returns = true;
    op_->polls = m.returns;
  }
  op_->memory = m;
  op_->run = run_atomic;
}

// cp.async.{ca,cg}.shared.global [to], [from], bytes {, source bytes | ignore} {, cache policy}: done at once.
void Decoder::copy() {
  if (has("bulk")) return bulk_copy();
  if (words_->rest.empty() || words_->rest[0] != "async") return unknown();
  if (has("mbarrier")) return mbarrier();
  if (has("commit_group") || has("wait_group") || has("wait_all")) return nothing();
  if (!has("global") || operands() < 3 || operand(2).kind != OK::integer) return unknown();
  CopyForm c;
  c.bytes = static_cast<uint32_t>(operand(2).bits);
  if (c.bytes != 4 && c.bytes != 8 && c.bytes != 16) return unknown();
  c.past_l1 = has("cg");
  c.to = place(operand(0));
  c.to.space = Space::shared;
  c.from = place(operand(1));
  c.from.space = Space::global;
  if (operands() > 3) {
    const ptx::Operand& o = operand(3);
    const bool is_reg = o.kind == OK::reg && o.reg >= 0;
    const ptx::Type t = is_reg ? f_.registers[static_cast<std::size_t>(o.reg)].type : ptx::Type::b32;
    if (t == ptx::Type::pred) {
      c.ignore = static_cast<int>(op_->in.size());
      op_->in.push_back(source(o, 0));
    } else if (ptx::size_of(t) == 4 && (is_reg || o.bits < c.bytes)) {
      c.size = static_cast<int>(op_->in.size());
      op_->in.push_back(source(o, 4));
    }
  }
  op_->copy = c;
  op_->run = run_copy;
}

void Decoder::move() {
  if (operands() != 2) return unknown();
  const ptx::Operand &to = operand(0), &from = operand(1);
  const std::string_view word = words_->rest.empty() ? "b32" : words_->rest.back();
  const ptx::Type type = ptx::type_from(word);
  if (type == ptx::Type::none || type == ptx::Type::other || words_->rest.size() > 1) return unknown();
  const uint8_t bytes = static_cast<uint8_t>(type == ptx::Type::pred ? 0 : std::max(2u, ptx::size_of(type)));
  op_->mode = bytes;
  const auto parts = [&](const ptx::Operand& o) {
    const std::size_t n = o.elements.size();
    if ((n != 2 && n != 4) || bytes / n < 2 || (n == 4 && bytes != 8)) throw WrongOperands{};
    return static_cast<uint8_t>(bytes / n);
  };
  if (from.kind == OK::vector) {
    const uint8_t part = parts(from);
    for (const ptx::Operand& e : from.elements) op_->in.push_back(source(e, part));
    op_->out.push_back(dest(to));
    op_->run = run_pack;
    return;
  }
  op_->in.push_back(source(from, bytes));
  if (to.kind == OK::vector) {
    parts(to);
    for (const ptx::Operand& e : to.elements) op_->out.push_back(dest(e));
    op_->run = run_unpack;
    return;
  }
  op_->out.push_back(dest(to));
  if (op_->out[0].at >= 0 && (op_->out[0].bytes == 0) != (bytes == 0)) return unknown();
  op_->run = run_move;
}

// Generic addresses are the global ones, and a window for each of the other spaces.
void Decoder::address_conversion() {
  Space space = Space::generic;
  for (std::string_view w : words_->rest)
    if (w != "to" && w != "u64" && !space_from(w, &space)) return unknown();
  if (operands() != 2 || !has("u64")) return unknown();
  uint64_t window = space == Space::shared  ? kSharedWindow
                    : space == Space::local ? kLocalWindow
                    : space == Space::param ? (code_.is_kernel ? kParamWindow : kLocalWindow)
                                            : 0;
  if (has("to")) window = 0 - window;
  op_->in.push_back(source(operand(1), 8));
  op_->in.push_back(constant(window));
  op_->out.push_back(dest(operand(0)));
  op_->run = run_conversion;
}

void Decoder::is_space() {
  Space space = Space::generic;
  if (words_->rest.size() != 1 || !space_from(words_->rest[0], &space) || operands() != 2) return unknown();
  op_->mode = static_cast<uint8_t>(space);
  op_->in.push_back(source(operand(1), 8));
  op_->out.push_back(dest(operand(0)));
  op_->run = run_is_space;
}

// alloca d, size {, alignment}; stacksave d; stackrestore a.
void Decoder::stack() {
  const bool saves = words_->opcode == "stacksave", restores = words_->opcode == "stackrestore";
  op_->mode = saves ? 1 : restores ? 2 : 0;
  if (!saves && in_->guard >= 0) return unknown();
  if (operands() < 1 || operands() > (saves || restores ? 1u : 3u)) return unknown();
  if (restores) {
    op_->in.push_back(source(operand(0), 8));
  } else {
    if (!saves) {
      uint64_t alignment = 8;
      if (operands() == 3) {
        alignment = std::max<uint64_t>(alignment, operand(2).bits);
        if (operand(2).kind != OK::integer || (alignment & (alignment - 1))) return unknown();
      }
      op_->in.push_back(source(operand(1), 8));
      op_->in.push_back(constant(alignment));
    }
    op_->out.push_back(dest(operand(0)));
  }
  op_->run = run_stack;
}

}  // namespace coalesce::machine::plain
