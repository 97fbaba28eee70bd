// Flattening, the frame of it: functions, registers, values, and instructions that only compute.
// flatten_memory.cpp and flatten_control.cpp hold the other families; opcode_table() below says which is which.
#include "machine/program/flatten.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace coalesce::machine {

namespace {

constexpr uint32_t kMaxInstructions = 4'000'000;  // after inlining; a call tree past this is a mistake or an attack

// Opcodes that change nothing the machine models: prefetches, hints. They are counted as instructions.
constexpr std::string_view kNothing[] = {"prefetch", "prefetchu", "nanosleep",  "discard",       "applypriority",
                                         "brkpt",    "pmevent",   "setmaxnreg", "griddepcontrol"};

bool is_float_type(std::string_view word) {
  return word == "f32" || word == "f64" || word == "f16" || word == "bf16" || word == "f16x2" || word == "bf16x2";
}

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
    {"%aggr_smem_size", Builtin::total_smem_size},
    // Without clusters every block is one of its own.
    {"%clusterid.x", Builtin::ctaid_x},
    {"%clusterid.y", Builtin::ctaid_y},
    {"%clusterid.z", Builtin::ctaid_z},
    {"%nclusterid.x", Builtin::nctaid_x},
    {"%nclusterid.y", Builtin::nctaid_y},
    {"%nclusterid.z", Builtin::nctaid_z}};

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

Element element_of_bytes(unsigned bytes) {
  switch (bytes) {
    case 1:
    case 2:
      return Element::b16;
    case 4:
      return Element::b32;
    case 8:
      return Element::b64;
    case 16:
      return Element::b128;
    default:
      return Element::none;
  }
}

Element element_of(ptx::Type type) {
  return type == ptx::Type::pred ? Element::pred : element_of_bytes(ptx::size_of(type));
}

unsigned bytes_of(Element element) {
  constexpr unsigned bytes[] = {0, 4, 1, 2, 4, 8, 16};
  return bytes[static_cast<unsigned>(element)];
}

// One row per opcode that is not pure: which member translates it. Never destroyed, as a destructor may launch a
// kernel.
const std::map<std::string_view, void (Flattener::*)()>& opcode_table() {
  static const auto* table = [] {
    auto* made = new std::map<std::string_view, void (Flattener::*)()>{{"mov", &Flattener::move},
                                                                       {"atom", nullptr},
                                                                       {"red", nullptr},
                                                                       {"ld", nullptr},
                                                                       {"ldu", nullptr},
                                                                       {"st", nullptr},  // below: with arguments
                                                                       {"shfl", &Flattener::shuffle},
                                                                       {"vote", &Flattener::vote},
                                                                       {"activemask", &Flattener::vote},
                                                                       {"match", &Flattener::match},
                                                                       {"redux", &Flattener::reduce_lanes},
                                                                       {"elect", &Flattener::elect},
                                                                       {"bar", &Flattener::barrier},
                                                                       {"barrier", &Flattener::barrier},
                                                                       {"bra", &Flattener::branch},
                                                                       {"brx", &Flattener::branch_table},
                                                                       {"trap", &Flattener::trap},
                                                                       {"alloca", &Flattener::allocate_stack},
                                                                       {"stacksave", &Flattener::save_stack},
                                                                       {"stackrestore", &Flattener::restore_stack},
                                                                       {"call", &Flattener::call},
                                                                       {"cp", &Flattener::async_copy},
                                                                       {"cvta", &Flattener::address_conversion},
                                                                       {"tex", &Flattener::texture},
                                                                       {"tld4", &Flattener::texture},
                                                                       {"suld", &Flattener::surface},
                                                                       {"sust", &Flattener::surface},
                                                                       {"isspacep", &Flattener::is_space}};
    for (std::string_view name : {"membar", "fence"}) made->emplace(name, &Flattener::fence);
    for (std::string_view name : kNothing) made->emplace(name, &Flattener::nothing);
    return made;
  }();
  return *table;
}

Flattener::Flattener(const ptx::Module& module, const ptx::Function& kernel, const SymbolTable& symbols, Decoded& out,
                     const std::set<std::pair<std::string, std::string>>& in_memory)
    : module_(module), kernel_(kernel), symbols_(symbols), out_(out), in_memory_(in_memory) {}

void Flattener::fail(const std::string& message) const {
  Diagnostic d;
  d.message = message;
  d.kernel = kernel_.name;
  d.ptx_line = in_ ? in_->line : kernel_.line;
  throw Error(d);
}

uint32_t Flattener::new_register(Element element) {
  Register r;
  r.element = element;
  out_.registers.push_back(r);
  return static_cast<uint32_t>(out_.registers.size() - 1);
}

uint32_t Flattener::builtin(Builtin which, Element element) {
  const auto key = std::make_pair(static_cast<int>(which), static_cast<int>(element));
  const auto found = builtins_.find(key);
  if (found != builtins_.end()) return found->second;
  const uint32_t r = new_register(element);
  out_.registers[r].builtin = which;
  return builtins_[key] = r;
}

// PTX's condition code register: a predicate like any other, made when first used.
uint32_t Flattener::carry() {
  if (carry_ == kNone) carry_ = new_register(Element::pred);
  return carry_;
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

// `v` as a value of element `wanted`: PTX lets registers be wider than the operation reads.
Value Flattener::fitted(Value v, Element wanted) {
  if (!v.is_reg() || wanted == Element::none) return v;
  Element have = out_.registers[v.reg].element;
  if (wanted == Element::b8) wanted = Element::b16;
  if (have == wanted) return v;
  if (have == Element::pred || wanted == Element::pred) fail("operand of the wrong kind in '" + in_->mnemonic + "'");
  const auto bits = [](Element e) { return std::to_string(8 * bytes_of(e)); };
  const bool narrower = bytes_of(wanted) < bytes_of(have);
  const uint32_t r = new_register(wanted);
  emit_pure((narrower ? "narrow.b" : "widen.b") + bits(wanted) + ".b" + bits(have), {r}, {v}, false);
  return Value::of(r);
}

int64_t Flattener::symbol_value(const std::string& name, int64_t offset, bool generic) {
  if (const auto s = shared_.find(name); s != shared_.end())
    return s->second + offset + (generic ? static_cast<int64_t>(kSharedWindow) : 0);
  if (const auto l = frame_->locals.find(name); l != frame_->locals.end())
    return l->second + offset + (generic ? static_cast<int64_t>(kLocalWindow) : 0);
  for (std::size_t p = 0; p < kernel_.params.size() && frame_->function == &kernel_; ++p)
    if (kernel_.params[p].name == name) return parameter_offsets_[p] + offset;
  const SymbolTable::Symbol v = symbols_.symbol(name);
  if (v.found) return static_cast<int64_t>(v.address) + offset;
  if (const uint64_t f = symbols_.function_address(name)) return static_cast<int64_t>(f) + offset;
  fail("unknown symbol '" + name + "'");
}

Value Flattener::value(const ptx::Operand& o, Element wanted, bool wanted_float) {
  using OK = ptx::Operand::Kind;
  switch (o.kind) {
    case OK::reg: {
      Value v = Value::of(frame_->registers[static_cast<std::size_t>(o.reg)]);
      if (o.negated) {
        const uint32_t r = new_register(Element::pred);
        emit_pure("not.pred", {r}, {v}, false);
        return Value::of(r);
      }
      return fitted(v, wanted);
    }
    case OK::integer:
      if (wanted == Element::pred) return Value::imm((o.bits != 0) != o.negated ? ~uint64_t{0} : 0);
      if (wanted_float && wanted == Element::b64) return Value::imm(o.bits);
      return Value::imm(o.bits);
    case OK::real:
      if (wanted == Element::b32 && !o.is_f32)
        return Value::imm(std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(o.bits))));
      if (wanted == Element::b64 && o.is_f32)
        return Value::imm(
            std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(o.bits)))));
      return Value::imm(o.bits);
    case OK::special: {
      if (o.name == "WARP_SZ") return Value::imm(kLanes);
      for (const SpecialName& s : kSpecials)
        if (s.name == o.name) {
          const bool wide = s.builtin == Builtin::gridid;
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
      // %envreg*, %pm*, cluster coordinates of a launch without clusters ...: documented or harmless as 0.
      if (o.name.starts_with("%envreg") || o.name.starts_with("%pm") || o.name == "%is_explicit_cluster" ||
          o.name.starts_with("%cluster_cta") || o.name.starts_with("%reserved_smem_offset") ||
          o.name == "%current_graph_exec")
        return Value::imm(0);
      if (o.name.starts_with("%cluster_ncta")) return Value::imm(1);
      fail("unknown special register '" + o.name + "'");
    }
    case OK::symbol:
      if (instance_ && frame_->locals.contains(o.name)) {
        const uint32_t r = new_register(Element::b64);
        emit_pure("add.s64", {r},
                  {Value::of(instances_.at(instance_).frame_base),
                   Value::imm(static_cast<uint64_t>(symbol_value(o.name, o.offset, false)))},
                  false);
        return fitted(Value::of(r), wanted);
      }
      return Value::imm(static_cast<uint64_t>(symbol_value(o.name, o.offset, false)));
    default:
      fail("operand of a kind that '" + in_->mnemonic + "' does not take");
  }
}

// The register that an operation producing `produced` writes for destination `o`. Where the real register is wider, a
// temporary is returned and the widening queued until finish_results().
uint32_t Flattener::result(const ptx::Operand& o, Element produced, bool is_signed) {
  if (produced == Element::b8) produced = Element::b16;
  if (o.kind == ptx::Operand::Kind::sink || (o.kind == ptx::Operand::Kind::reg && o.reg < 0))  // _ and _|%p
    return new_register(produced);
  if (o.kind != ptx::Operand::Kind::reg) fail("destination of '" + in_->mnemonic + "' is no register");
  const uint32_t real = frame_->registers[static_cast<std::size_t>(o.reg)];
  if (out_.registers[real].element == produced) return real;
  if (out_.registers[real].element == Element::pred || produced == Element::pred)
    fail("destination of the wrong kind in '" + in_->mnemonic + "'");
  const uint32_t temporary = new_register(produced);
  pending_.push_back({temporary, real, is_signed});
  return temporary;
}

void Flattener::finish_results() {
  for (const Pending& p : pending_) {
    const unsigned from = bytes_of(out_.registers[p.from].element), to = bytes_of(out_.registers[p.to].element);
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

void Flattener::pure() {
  const auto& ops = in_->operands;
  const bool pair = !ops.empty() && ops[0].kind == ptx::Operand::Kind::reg && ops[0].reg2 >= 0;
  const PureOp* row = find_pure(pair ? in_->mnemonic + "|" : in_->mnemonic);
  const bool parts =
      std::any_of(ops.begin(), ops.end(), [](const auto& o) { return o.kind == ptx::Operand::Kind::part; });
  if ((!row || row->sources + 1u < ops.size() || parts) && composed()) return;
  if (parts) return unknown();
  if (!row) return unknown();
  const std::size_t given = ops.size() - 1;
  const bool carry_in = row->sources == given + 1;
  if (ops.empty() || (row->sources != given && !carry_in))
    return unknown("wrong number of operands for '" + in_->mnemonic + "'");
  std::string_view type, before;  // the last two suffixes, as the row has them
  for (std::string_view rest = row->mnemonic; rest.find('.') != rest.npos;) {
    rest.remove_prefix(rest.find('.') + 1);
    before = type;
    type = rest.substr(0, rest.find_first_of(".|"));
  }
  const std::string_view result_type = m_->opcode == "cvt" || m_->opcode == "set" ? before : type;
  std::vector<Value> sources;
  for (std::size_t k = 0; k < given; ++k) sources.push_back(value(ops[k + 1], row->source[k], is_float_type(type)));
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
  using OK = ptx::Operand::Kind;
  if (in_->operands.size() != 2) return unknown("wrong number of operands for 'mov'");
  const ptx::Operand &to = in_->operands[0], &from = in_->operands[1];
  const std::string_view type_name = m_->suffixes.empty() ? "b32" : m_->suffixes.back();
  const ptx::Type type = ptx::type_from(type_name);
  const Element element = element_of(type);
  const unsigned bytes = bytes_of(element);
  const auto part_name = [&](std::size_t n) {
    return ".b" + std::to_string(8 * bytes) + ".b" + std::to_string(8 * bytes / n) + "x" + std::to_string(n);
  };
  if (from.kind == OK::vector) {  // mov.b64 %rd, {%r1, %r2}
    const std::size_t n = from.elements.size();
    std::vector<Value> parts;
    for (const ptx::Operand& e : from.elements)
      parts.push_back(value(e, element_of_bytes(bytes / static_cast<unsigned>(n)), false));
    if (!find_pure("pack" + part_name(n))) return unknown();
    const uint32_t r = result(to, element, false);
    emit_pure("pack" + part_name(n), {r}, std::move(parts), true);
    return finish_results();
  }
  if (to.kind == OK::vector) {  // mov.b64 {%r1, %r2}, %rd: two at a time
    const std::size_t n = to.elements.size();
    const Value whole = value(from, element, false);
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
  const Value v = value(from, element, false);
  const uint32_t r = result(to, element, false);
  emit_pure(element == Element::pred ? "mov.pred" : "mov.b" + std::to_string(8 * bytes), {r}, {v}, true);
  finish_results();
}

void Flattener::nothing() { emit(Kind::nothing); }

// Execution is sequentially consistent within a block, so that fences have nothing to do; `check` wants to know of
// them.
void Flattener::fence() {
  Nothing what = Nothing::nothing;  // of a proxy: between ways to memory that are one here
  if (m_->has("cta")) what = Nothing::block_fence;
  if (m_->has("gl") || m_->has("gpu") || m_->has("sys") || m_->has("cluster")) what = Nothing::device_fence;
  if (!m_->suffixes.empty() && m_->suffixes[0].starts_with("proxy")) what = Nothing::nothing;
  emit(Kind::nothing).mode = static_cast<uint8_t>(what);
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
  if (op == "ret") return leave(false);
  if (op == "exit") return leave(true);
  const auto row = opcode_table().find(op);
  if (row != opcode_table().end() && row->second) return (this->*row->second)();
  pure();
}

}  // namespace coalesce::machine
