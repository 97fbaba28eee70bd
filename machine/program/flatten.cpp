// Flattening, the frame of it: which member translates which opcode, instructions, and those that only compute.
// Registers and values: flatten_values.cpp. Families of opcodes: opcode_table() below.
#include "machine/program/flatten.h"

#include <algorithm>

namespace coalesce::machine {

namespace {

constexpr uint32_t kMaxInstructions = 4'000'000;  // after inlining; a call tree past this is a mistake or an attack

// Opcodes that change nothing the machine models, and how many operands they have: prefetches, hints. They are counted
// as instructions.
constexpr std::pair<std::string_view, uint8_t> kNothing[] = {{"prefetch", 1}, {"prefetchu", 1},     {"nanosleep", 1},
                                                             {"discard", 2},  {"applypriority", 2}, {"brkpt", 0},
                                                             {"pmevent", 1},  {"setmaxnreg", 1}};

}  // namespace

Mnemonic::Mnemonic(std::string_view text) {
  std::size_t at = text.find('.');
  opcode = text.substr(0, at);
  while (at != std::string_view::npos) {
    const std::size_t next = text.find('.', at + 1);
    suffixes.push_back(text.substr(at + 1, next == std::string_view::npos ? next : next - at - 1));
    at = next;
  }
}

bool Mnemonic::has(std::string_view suffix) const {
  for (std::string_view s : suffixes)
    if (s == suffix) return true;
  return false;
}

constexpr uint8_t kAny = 255;

// Which member translates an opcode that is not pure. `operands`: how many it has in all its forms; kAny: the member
// says.
struct OpcodeRow {
  void (Flattener::*member)();
  uint8_t operands = kAny;
};

// Never destroyed, as a destructor may launch a kernel.
const std::map<std::string_view, OpcodeRow>& opcode_table() {
  static const auto* table = [] {
    auto* made = new std::map<std::string_view, OpcodeRow>{{"mov", {&Flattener::move}},
                                                           {"ret", {&Flattener::leave_function, 0}},
                                                           {"exit", {&Flattener::leave_kernel, 0}},
                                                           {"shfl", {&Flattener::shuffle}},
                                                           {"vote", {&Flattener::vote}},
                                                           {"activemask", {&Flattener::vote, 1}},
                                                           {"match", {&Flattener::match}},
                                                           {"redux", {&Flattener::reduce_lanes}},
                                                           {"elect", {&Flattener::elect}},
                                                           {"mapa", {&Flattener::map_address}},
                                                           {"tensormap", {&Flattener::tensor_map}},
                                                           {"getctarank", {&Flattener::cluster_rank_of}},
                                                           {"bar", {&Flattener::barrier}},
                                                           {"barrier", {&Flattener::barrier}},
                                                           {"bra", {&Flattener::branch}},
                                                           {"brx", {&Flattener::branch_table}},
                                                           {"trap", {&Flattener::trap, 0}},
                                                           {"alloca", {&Flattener::allocate_stack}},
                                                           {"stacksave", {&Flattener::save_stack}},
                                                           {"stackrestore", {&Flattener::restore_stack}},
                                                           {"call", {&Flattener::call}},
                                                           {"cp", {&Flattener::async_copy}},
                                                           {"cvta", {&Flattener::address_conversion}},
                                                           {"tex", {&Flattener::texture}},
                                                           {"tld4", {&Flattener::texture}},
                                                           {"suld", {&Flattener::surface}},
                                                           {"sust", {&Flattener::surface}},
                                                           {"isspacep", {&Flattener::is_space}},
                                                           {"mbarrier", {&Flattener::mbarrier}},
                                                           {"mma", {&Flattener::warp_matrix}},
                                                           {"wmma", {&Flattener::warp_matrix}},
                                                           {"wgmma", {&Flattener::group_matrix}},
                                                           {"ldmatrix", {&Flattener::move_matrix}},
                                                           {"stmatrix", {&Flattener::move_matrix}},
                                                           {"movmatrix", {&Flattener::move_matrix}},
                                                           {"membar", {&Flattener::fence, 0}},
                                                           {"griddepcontrol", {&Flattener::grid_control, 0}},
                                                           {"fence", {&Flattener::fence}}};
    for (const auto& [name, operands] : kNothing) made->emplace(name, OpcodeRow{&Flattener::nothing, operands});
    return made;
  }();
  return *table;
}

Flattener::Flattener(const ptx::Module& module, const ptx::Function& kernel, const SymbolTable& symbols, Decoded& out,
                     const std::set<std::pair<std::string, std::string>>& in_memory)
    : module_(module), kernel_(kernel), symbols_(symbols), out_(out), in_memory_(in_memory) {
  for (const ptx::Function& f : module.functions)
    if (!f.is_declaration) defined_.emplace(f.name, &f);
}

void Flattener::fail(const std::string& message) const {
  Diagnostic d;
  d.message = message;
  d.kernel = kernel_.name;
  d.ptx_line = in_ ? in_->line : kernel_.line;
  throw Error(d);
}

uint32_t Flattener::place_of(const ptx::Instruction& in) {
  if (in.location >= 0) {
    uint32_t& place = frame_->places[static_cast<std::size_t>(in.location)];
    if (place != kNone) return place;
    const auto source_of = [&](const ptx::Location& l) {
      SourcePlace s{{}, l.line, l.column};
      for (const auto& [index, path] : module_.files)
        if (index == l.file) s.file = path;
      return s;
    };
    const auto& locations = frame_->function->locations;
    const ptx::Location* l = &locations[static_cast<std::size_t>(in.location)];
    if (l->line != 0) {
      Place p;
      p.source = source_of(*l);
      p.ptx_line = in.line;
      for (int hops = 0; l->inlined_at >= 0 && hops < 64; ++hops) {
        l = &locations[static_cast<std::size_t>(l->inlined_at)];
        p.inlined_at.push_back(source_of(*l));
      }
      out_.places.push_back(std::move(p));
      return place = static_cast<uint32_t>(out_.places.size() - 1);
    }
  }
  Place p;
  p.ptx_line = in.line;
  out_.places.push_back(std::move(p));
  return static_cast<uint32_t>(out_.places.size() - 1);
}

Instruction& Flattener::emit(Kind kind) {
  if (out_.code.size() >= kMaxInstructions)
    fail("kernel has more than 4 million instructions after inlining its calls");
  Instruction i;
  i.kind = kind;
  i.ptx_line = in_->line;
  i.keeps_loop = in_->keeps_loop;
  i.place = out_.code.empty() || out_.code.back().ptx_line != in_->line ? place_of(*in_) : out_.code.back().place;
  if (in_->guard >= 0 && kind != Kind::branch) {
    i.guard = frame_->registers[static_cast<std::size_t>(in_->guard)];
    i.guard_negated = in_->guard_negated;
  }
  out_.code.push_back(std::move(i));
  return out_.code.back();
}

Instruction& Flattener::emit_pure(std::string_view mnemonic, std::vector<uint32_t> results, std::vector<Value> sources,
                                  bool counts) {
  const PureOp* row = find_pure(mnemonic);
  if (!row) fail("internal: no row for " + std::string(mnemonic));
  Instruction& i = emit(Kind::pure);
  i.pure = row;
  i.counts = counts;
  for (std::size_t k = 0; k < results.size(); ++k) i.results[k] = results[k];
  i.sources = std::move(sources);
  if (!counts) i.guard = kNone;  // helpers write temporaries only: harmless for lanes that are off
  return i;
}

void Flattener::unknown(const std::string& why) {
  Instruction& i = emit(Kind::unknown);
  i.text =
      !why.empty() ? why
      : !unsupported(in_->mnemonic).empty()
          ? "not supported by this machine: " + std::string(unsupported(in_->mnemonic)) + " ('" + in_->mnemonic + "')"
          : "this machine does not know the instruction '" + in_->mnemonic + "'";
}

void Flattener::wrong_number() { unknown("wrong number of operands for '" + in_->mnemonic + "'"); }

void Flattener::pure() {
  const auto& ops = in_->operands;
  const bool pair = !ops.empty() && ops[0].kind == ptx::Operand::Kind::reg && ops[0].reg2 >= 0;
  const PureOp* row = find_pure(pair ? in_->mnemonic + "|" : in_->mnemonic);
  const bool parts =
      std::any_of(ops.begin(), ops.end(), [](const auto& o) { return o.kind == ptx::Operand::Kind::part; });
  if ((!row || row->sources + 1u < ops.size() || parts) && composed()) return;
  if (parts) return unknown();
  if (!row) return unknown();
  const bool carry_in = m_->opcode == "addc" || m_->opcode == "subc" || m_->opcode == "madc";
  if (ops.size() + carry_in != row->sources + 1u) return wrong_number();
  const std::size_t given = ops.size() - 1;
  std::string_view type, before;  // the last two suffixes, as the row has them
  for (std::string_view rest = row->mnemonic; rest.find('.') != rest.npos;) {
    rest.remove_prefix(rest.find('.') + 1);
    before = type;
    type = rest.substr(0, rest.find_first_of(".|"));
  }
  const std::string_view result_type = m_->opcode == "cvt" || m_->opcode == "set" ? before : type;
  std::vector<Value> sources;
  for (std::size_t k = 0; k < given; ++k) sources.push_back(value(ops[k + 1], row->source[k]));
  if (carry_in) sources.push_back(Value::of(carry()));
  std::vector<uint32_t> results{result(ops[0], row->result[0], result_type.starts_with("s"))};
  if (row->results == 2) {
    if (pair) {
      const uint32_t second = frame_->registers[static_cast<std::size_t>(ops[0].reg2)];
      results.push_back(second);
    } else {
      results.push_back(carry());
    }
  }
  Instruction& i = emit(Kind::pure);
  i.pure = row;
  for (std::size_t k = 0; k < results.size(); ++k) i.results[k] = results[k];
  i.sources = std::move(sources);
  finish_results();
}

void Flattener::move() {
  if (in_->operands.size() != 2) return wrong_number();
  const ptx::Operand &to = in_->operands[0], &from = in_->operands[1];
  const std::string_view type_name = m_->suffixes.empty() ? "b32" : m_->suffixes.back();
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
      parts.push_back(value(e, element_of_bytes(bytes / static_cast<unsigned>(n))));
    if (!find_pure("pack" + part_name(n))) return unknown();
    const uint32_t r = result(to, element, false);
    emit_pure("pack" + part_name(n), {r}, std::move(parts), true);
    return finish_results();
  }
  if (to.kind == Operand::vector) {  // mov.b64 {%r1, %r2}, %rd: two at a time
    const std::size_t n = to.elements.size();
    const Value whole = value(from, element);
    const Element part = element_of_bytes(bytes / static_cast<unsigned>(n));
    if (n == 2) {
      if (!find_pure("unpack" + part_name(2))) return unknown();
      const uint32_t a = result(to.elements[0], part, false), b = result(to.elements[1], part, false);
      emit_pure("unpack" + part_name(2), {a, b}, {whole}, true);
      return finish_results();
    }
    const std::string second = "unpack.b" + std::to_string(4 * bytes) + ".b" + std::to_string(2 * bytes) + "x2";
    if (n != 4 || !find_pure("unpack" + part_name(2)) || !find_pure(second)) return unknown();
    const Element half = element_of_bytes(bytes / 2);
    const uint32_t lo = new_register(half), hi = new_register(half);
    emit_pure("unpack" + part_name(2), {lo, hi}, {whole}, false);
    for (std::size_t h = 0; h < 2; ++h) {
      const uint32_t a = result(to.elements[2 * h], part, false);
      const uint32_t b = result(to.elements[2 * h + 1], part, false);
      emit_pure(second, {a, b}, {Value::of(h ? hi : lo)}, h == 1).guard = kNone;
    }
    return finish_results();
  }
  const Value v = value(from, element);
  const uint32_t r = result(to, element, false);
  emit_pure(element == Element::pred ? "mov.pred" : "mov.b" + std::to_string(8 * bytes), {r}, {v}, true);
  finish_results();
}

void Flattener::nothing() { emit_nothing(); }

// Launches run one after the other: a wait for those before has nothing to wait for; `check` looks at it.
void Flattener::grid_control() { emit_nothing(m_->has("wait") ? Nothing::grid_wait : Nothing::nothing); }

// Nothing is carried out, so nobody would count the lanes that a guard switches on: a move that nobody reads does.
Instruction& Flattener::emit_nothing(Nothing what) {
  const bool guarded = in_->guard >= 0;
  if (guarded) emit_pure("mov.b32", {new_register(Element::b32)}, {Value::imm(0)}, true);
  Instruction& i = emit(Kind::nothing);
  i.mode = static_cast<uint8_t>(what);
  i.counts = !guarded;
  return i;
}

// X.commit_group; X.wait_group N. The groups are of what is done when it is issued; `check` looks at them.
void Flattener::groups(Nothing commit, Nothing wait) {
  const auto& ops = in_->operands;
  if (ops.size() != m_->has("wait_group")) return wrong_number();
  Instruction& i = emit_nothing(m_->has("commit_group") ? commit : wait);
  if (!ops.empty() && ops[0].kind == ptx::Operand::Kind::integer) i.sources = {Value::imm(ops[0].bits)};
}

// Execution is sequentially consistent within a block, so fences do nothing; `check` looks at them.
void Flattener::fence() {
  const bool names_map = m_->has("acquire") && m_->suffixes.size() > 1 && m_->suffixes[1].starts_with("tensormap::");
  if (in_->operands.size() != (names_map ? 2u : 0u)) return wrong_number();
  Nothing what = Nothing::nothing;  // of a proxy: between ways to memory that are one here
  if (m_->has("cta")) what = Nothing::block_fence;
  if (m_->has("gl") || m_->has("gpu") || m_->has("sys") || m_->has("cluster")) what = Nothing::device_fence;
  if (!m_->suffixes.empty() && m_->suffixes[0].starts_with("proxy"))
    what = m_->suffixes.size() < 2 || m_->suffixes[1] != "async" ? Nothing::nothing
           : m_->suffixes.size() == 2                            ? Nothing::proxy_fence
           : m_->has("global")                                   ? Nothing::proxy_fence_global
                                                                 : Nothing::proxy_fence_shared;
  emit_nothing(what);
}

void Flattener::instruction(const ptx::Instruction& in) {
  in_ = &in;
  const Mnemonic m(in.mnemonic);
  m_ = &m;
  const std::string_view op = m.opcode;
  if (op == "ld" || op == "ldu") return load_store(false);
  if (op == "st") return load_store(true);
  if (op == "atom") return atomic(true);
  if (op == "red") return atomic(false);
  const auto row = opcode_table().find(op);
  if (row == opcode_table().end()) return pure();
  if (row->second.operands != kAny && in.operands.size() != row->second.operands) return wrong_number();
  (this->*row->second.member)();
}

}  // namespace coalesce::machine
