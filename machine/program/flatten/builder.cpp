// Instructions, memory operations and their places, appended to the program; what is wrong with the text.
#include "machine/program/flatten/builder.h"

#include "machine/isa/service.h"

namespace coalesce::machine::flattening {

namespace {

constexpr uint32_t kMaxInstructions = 4'000'000;  // after inlining; a call tree past this is a mistake or an attack

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

Builder::Builder(const ptx::Module& of_module, const ptx::Function& of_kernel, const SymbolTable& of_symbols,
                 Decoded& to, const ParamNames& names_in_memory)
    : module(of_module), kernel(of_kernel), symbols(of_symbols), out(to), in_memory(names_in_memory) {}

void Builder::fail(const std::string& message) const {
  Diagnostic d;
  d.message = message;
  d.kernel = kernel.name;
  d.ptx_line = in ? in->line : kernel.line;
  throw Error(d);
}

uint32_t Builder::place_of() {
  if (in->location >= 0) {
    uint32_t& place = frame->places[static_cast<std::size_t>(in->location)];
    if (place != kNone) return place;
    const auto source_of = [&](const ptx::Location& l) {
      SourcePlace s{{}, l.line, l.column};
      for (const auto& [index, path] : module.files)
        if (index == l.file) s.file = path;
      return s;
    };
    const auto& locations = frame->function->locations;
    const ptx::Location* l = &locations[static_cast<std::size_t>(in->location)];
    if (l->line != 0) {
      Place p;
      p.source = source_of(*l);
      p.ptx_line = in->line;
      for (int hops = 0; l->inlined_at >= 0 && hops < 64; ++hops) {
        l = &locations[static_cast<std::size_t>(l->inlined_at)];
        p.inlined_at.push_back(source_of(*l));
      }
      out.places.push_back(std::move(p));
      return place = static_cast<uint32_t>(out.places.size() - 1);
    }
  }
  Place p;
  p.ptx_line = in->line;
  out.places.push_back(std::move(p));
  return static_cast<uint32_t>(out.places.size() - 1);
}

Instruction& Builder::emit(Kind kind) {
  if (out.code.size() >= kMaxInstructions) fail("kernel has more than 4 million instructions after inlining its calls");
  Instruction i;
  i.kind = kind;
  i.ptx_line = in->line;
  i.keeps_loop = in->keeps_loop;
  i.place = out.code.empty() || out.code.back().ptx_line != in->line ? place_of() : out.code.back().place;
  if (in->guard >= 0 && kind != Kind::branch) {
    i.guard = mapped(in->guard);
    i.guard_negated = in->guard_negated;
  }
  out.code.push_back(std::move(i));
  return out.code.back();
}

Instruction& Builder::emit_pure(std::string_view mnemonic, std::vector<uint32_t> results, std::vector<Value> sources,
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

void Builder::unknown(const std::string& why) {
  Instruction& i = emit(Kind::unknown);
  i.text =
      !why.empty() ? why
      : !unsupported(in->mnemonic).empty()
          ? "not supported by this machine: " + std::string(unsupported(in->mnemonic)) + " ('" + in->mnemonic + "')"
          : "this machine does not know the instruction '" + in->mnemonic + "'";
}

void Builder::wrong_number() { unknown("wrong number of operands for '" + in->mnemonic + "'"); }

void Builder::emit_final(std::string_view row, std::vector<uint32_t> results, std::vector<Value> sources, bool counts) {
  emit_pure(row, std::move(results), std::move(sources), true).counts = counts;
}

Value Builder::compute(std::string_view row, std::vector<Value> sources) {
  const PureOp* found = find_pure(row);
  if (!found) fail("internal: no row for " + std::string(row));
  const uint32_t r = new_register(found->result[0]);
  emit_pure(row, {r}, std::move(sources), false);
  return Value::of(r);
}

// Nothing is carried out, so nobody would count the lanes that a guard switches on: a move that nobody reads does.
Instruction& Builder::emit_nothing(Nothing what) {
  const bool guarded = in->guard >= 0;
  if (guarded) emit_pure("mov.b32", {new_register(Element::b32)}, {Value::imm(0)}, true);
  Instruction& i = emit(Kind::nothing);
  i.mode = static_cast<uint8_t>(what);
  i.counts = !guarded;
  return i;
}

// A service of the machine (isa/service.h): its words are 64-bit registers.
void Builder::emit_service(std::string_view name, std::vector<Value> words, uint32_t to) {
  for (Value& v : words)
    if (v.is_constant()) v = compute("mov.b64", {v});
  Instruction& i = emit(Kind::call);
  i.mode = static_cast<uint8_t>(Callee::service);
  i.text = name;
  i.results[0] = to;
  i.sources = std::move(words);
}

// Appends the descriptor and its site (one per space where the space is known only at run time) to the program.
uint32_t Builder::add_memory(MemoryOp op, Kind kind) {
  const bool counted = op.space != AddressSpace::param && op.space != AddressSpace::constant;
  if (counted) {
    op.site = static_cast<uint32_t>(out.sites.size());
    Site site;
    site.instruction = next();
    site.kind = kind;
    site.returns = op.returns;
    site.bytes = static_cast<uint8_t>(op.bytes());
    site.merged = op.silent;
    site.dynamic_requests = in->guard >= 0 || op.space == AddressSpace::generic;
    if (op.space == AddressSpace::generic) {
      for (AddressSpace s : {AddressSpace::global, AddressSpace::shared, AddressSpace::local}) {
        site.space = s;
        out.sites.push_back(site);
      }
    } else {
      site.space = op.space;
      out.sites.push_back(site);
    }
  }
  return add_uncounted(op);
}

uint32_t Builder::add_uncounted(const MemoryOp& op) {
  out.memory.push_back(op);
  return static_cast<uint32_t>(out.memory.size() - 1);
}

void Builder::emit_access(Kind kind, MemoryOp op, uint32_t guard, bool counts) {
  const uint32_t index = add_memory(op, kind);
  Instruction& i = emit(kind);
  i.memory = index;
  i.counts = counts;
  if (guard == kNone) return;
  i.guard = guard;
  i.guard_negated = false;
  // Requests are no longer the executions of the block:
  for (uint32_t s = out.memory[index].site; s < out.sites.size(); ++s) out.sites[s].dynamic_requests = true;
}

}  // namespace coalesce::machine::flattening
