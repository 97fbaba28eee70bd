// A kernel and the functions it can reach, decoded: their variables, and which family each instruction belongs to.
#include <algorithm>
#include <set>

#include "machine/plain/decoder.h"
#include "machine/plain/run.h"
#include "machine/users_place.h"

namespace coalesce::machine::plain {

namespace {

using OK = ptx::Operand::Kind;

uint32_t aligned(uint32_t at, uint32_t alignment) { return (at + alignment - 1) / alignment * alignment; }
uint32_t alignment_of(const ptx::Variable& v) { return v.alignment ? v.alignment : std::max(1u, ptx::size_of(v.type)); }

void names_in(const ptx::Operand& o, std::set<std::string>& names) {
  if (!o.name.empty()) names.insert(o.name);
  for (const ptx::Operand& e : o.elements) names_in(e, names);
}

const ptx::Function* function_named(const ptx::Module& m, const std::string& name) {
  std::string wanted = name;
  for (const auto& [alias, target] : m.aliases)
    if (alias == name) wanted = target;
  for (const ptx::Function& f : m.functions)
    if (f.name == wanted && !f.is_declaration) return &f;
  return nullptr;
}

// The kernel and what it names, directly or through others.
std::vector<const ptx::Function*> reachable(const Launch& launch, std::set<std::string>& names) {
  std::vector<const ptx::Function*> found{launch.kernel};
  for (std::size_t k = 0; k < found.size(); ++k) {
    std::set<std::string> here;
    for (const ptx::Instruction& in : found[k]->body)
      for (const ptx::Operand& o : in.operands) names_in(o, here);
    names.insert(here.begin(), here.end());
    const auto add = [&](const ptx::Function* f) {
      if (f && std::find(found.begin(), found.end(), f) == found.end()) found.push_back(f);
    };
    for (const std::string& name : here) add(function_named(*launch.module, name));
    for (const ptx::Instruction& in : found[k]->body)
      if (in.mnemonic.starts_with("call"))
        for (const ptx::Operand& o : in.operands)
          if (o.kind == OK::reg)  // through a pointer: to any function whose address lies in a variable
            for (const ptx::Variable& v : launch.module->variables)
              for (const ptx::Relocation& r : v.relocations) add(function_named(*launch.module, r.symbol));
  }
  return found;
}

// Shared variables lie as ptxas lays them: the kernel's, the module's, those of functions in the order of the text;
// dynamic shared memory behind them.
void lay_out_shared(Bodies& b, const std::vector<const ptx::Function*>& functions, const std::set<std::string>& names) {
  uint32_t at = 0, dynamic_alignment = 16;
  std::vector<std::string> dynamic;
  const auto put = [&](const ptx::Variable& v, bool always) {
    if (v.space != ptx::Space::shared || b.shared.contains(v.name) || !(always || names.contains(v.name))) return;
    if (v.size == 0) {
      dynamic.push_back(v.name);
      dynamic_alignment = std::max(dynamic_alignment, alignment_of(v));
      return;
    }
    at = aligned(at, alignment_of(v));
    b.shared[v.name] = at;
    at += static_cast<uint32_t>(v.size);
  };
  for (const ptx::Variable& v : b.launch->kernel->variables) put(v, true);
  for (const ptx::Variable& v : b.launch->module->variables) put(v, false);
  for (const ptx::Function& f : b.launch->module->functions)
    if (std::find(functions.begin(), functions.end(), &f) != functions.end())
      for (const ptx::Variable& v : f.variables) put(v, false);
  if (!dynamic.empty()) at = aligned(at, dynamic_alignment);
  for (const std::string& name : dynamic) b.shared[name] = at;
  b.static_shared_bytes = at;
}

}  // namespace

Words::Words(std::string_view mnemonic) {
  opcode = mnemonic.substr(0, mnemonic.find('.'));
  for (std::size_t at = opcode.size(); at < mnemonic.size();) {
    const std::size_t next = std::min(mnemonic.find('.', at + 1), mnemonic.size());
    rest.push_back(mnemonic.substr(at + 1, next - at - 1));
    at = next;
  }
}
bool Words::has(std::string_view word) const { return std::find(rest.begin(), rest.end(), word) != rest.end(); }

Bodies decode(const Launch& launch) {
  Bodies b;
  b.launch = &launch;
  std::set<std::string> names;
  const std::vector<const ptx::Function*> functions = reachable(launch, names);
  lay_out_shared(b, functions, names);
  uint32_t at = 0;
  for (const ptx::Variable& p : launch.kernel->params) {
    at = aligned(at, alignment_of(p));
    b.parameters.emplace_back(p.name, at);
    at += static_cast<uint32_t>(p.size);
  }
  b.allocates = names.contains("malloc") || names.contains("__cudaCDP2Malloc");
  for (const ptx::Function* f : functions) {
    auto code = std::make_unique<Code>();
    code->function = f;
    code->is_kernel = f == launch.kernel;
    Decoder(b, *code).run();
    b.codes[f] = std::move(code);
  }
  for (auto& [f, code] : b.codes) find_meets(*code, b);
  return b;
}

// ---- A function

void Decoder::lay_out() {
  code_.cell_bytes = kScratchCells * kCellsBytes;
  for (const ptx::Register& r : f_.registers) {
    code_.register_at.push_back(code_.cell_bytes);
    code_.cell_bytes += ptx::size_of(r.type) == 16 ? 2 * kCellsBytes : kCellsBytes;
  }
  const auto put = [&](const ptx::Variable& v) {
    const bool is_local = v.space == ptx::Space::local;
    uint32_t& end = is_local ? code_.local_bytes : code_.param_bytes;
    end = aligned(end, is_local ? alignment_of(v) : 16);
    (is_local ? code_.locals : code_.params)[v.name] = {end, v.size};
    end += static_cast<uint32_t>(v.size);
  };
  for (const ptx::Variable& v : f_.variables)
    if (v.space == ptx::Space::local || v.space == ptx::Space::param) put(v);
  if (!code_.is_kernel) {
    for (const ptx::Variable& v : f_.params) put(v);
    for (const ptx::Variable& v : f_.returns) put(v);
  }
  code_.local_bytes = aligned(code_.local_bytes, 16);
  code_.param_bytes = aligned(code_.param_bytes, 16);
}

void Decoder::run() {
  lay_out();
  // Registers that are read: an atom whose old value no instruction reads is a red.
  read_.assign(f_.registers.size(), false);
  const auto reads = [&](const ptx::Operand& o, const auto& self) -> void {
    if (o.reg >= 0) read_[static_cast<std::size_t>(o.reg)] = true;
    for (const ptx::Operand& e : o.elements) self(e, self);
  };
  for (const ptx::Instruction& in : f_.body) {
    if (in.guard >= 0) read_[static_cast<std::size_t>(in.guard)] = true;
    const Words w(in.mnemonic);
    const bool first_is_read = w.opcode == "st" || w.opcode == "red" || w.opcode == "sust" || w.opcode == "bra" ||
                               w.opcode == "brx" || w.opcode == "call" || w.opcode == "cp" ||
                               w.opcode == "stackrestore" || (w.opcode == "bar" && !w.has("red")) ||
                               (w.opcode == "barrier" && !w.has("red"));
    for (std::size_t k = first_is_read ? 0 : 1; k < in.operands.size(); ++k) reads(in.operands[k], reads);
  }
  code_.ops.resize(f_.body.size());
  for (std::size_t k = 0; k < f_.body.size(); ++k) instruction(f_.body[k], code_.ops[k]);
}

bool Decoder::read_somewhere(int32_t reg) const { return reg >= 0 && read_[static_cast<std::size_t>(reg)]; }

uint32_t Decoder::line_of(const ptx::Instruction& in) {
  SourcePlace where;
  uint32_t first = in.line;
  if (in.location >= 0) {
    const auto place = [&](const ptx::Location& l) {
      SourcePlace p{{}, l.line, 0};
      for (const auto& [index, path] : bodies_.launch->module->files)
        if (index == l.file) p.file = path;
      return p;
    };
    const ptx::Location* l = &f_.locations[static_cast<std::size_t>(in.location)];
    if (l->line != 0) {
      where = place(*l);
      std::vector<SourcePlace> calls;
      for (; l->inlined_at >= 0 && calls.size() < 64; calls.push_back(place(*l)))
        l = &f_.locations[static_cast<std::size_t>(l->inlined_at)];
      where = SourcePlace(users_place(where, calls));
      for (const ptx::Instruction& other : f_.body)
        if (other.location == in.location) {
          first = other.line;
          break;
        }
    }
  }
  const auto [at, added] = bodies_.line_of.try_emplace({where.file, where.line, where.line ? 0 : in.line},
                                                       static_cast<uint32_t>(bodies_.line_places.size()));
  if (added) bodies_.line_places.push_back(where);
  op_->line_first = first;
  return at->second;
}

void Decoder::fail(const std::string& what) const {
  Diagnostic d;
  d.fault = Fault::illegal_instruction;
  d.message = what;
  d.ptx_line = in_ ? in_->line : 0;
  d.kernel = bodies_.launch->kernel->name;
  throw Error(d);
}

void Decoder::unknown(const std::string& why) {
  Op fresh;
  fresh.guard = op_->guard;
  fresh.guard_negated = op_->guard_negated;
  fresh.line = op_->line;
  fresh.line_first = op_->line_first;
  fresh.written = op_->written;
  *op_ = std::move(fresh);
  op_->run = run_unknown;
  op_->text = why.empty() ? "this machine does not know the instruction '" + in_->mnemonic + "'" : why;
}

const ptx::Operand& Decoder::operand(std::size_t k) const {
  if (k >= in_->operands.size()) throw WrongOperands{};
  return in_->operands[k];
}

void Decoder::instruction(const ptx::Instruction& in, Op& op) {
  in_ = &in;
  op_ = &op;
  const Words words(in.mnemonic);
  words_ = &words;
  op.written = &in;
  op.line = line_of(in);
  if (in.guard >= 0) {
    op.guard = static_cast<int32_t>(code_.register_at[static_cast<std::size_t>(in.guard)]);
    op.guard_negated = in.guard_negated;
  }
  try {
    const auto family = families().find(words.opcode);
    if (family != families().end())
      (this->*family->second)();
    else if (!words.opcode.starts_with('v') || !video())
      compute();
  } catch (const WrongOperands&) {
    unknown("wrong operands for '" + in.mnemonic + "'");
  }
}

const std::map<std::string_view, Decoder::Family>& Decoder::families() {
  static const auto* const table = new std::map<std::string_view, Family>{{"ld", &Decoder::load_store},
                                                                          {"ldu", &Decoder::load_store},
                                                                          {"st", &Decoder::load_store},
                                                                          {"atom", &Decoder::atomic},
                                                                          {"red", &Decoder::atomic},
                                                                          {"cp", &Decoder::copy},
                                                                          {"mov", &Decoder::move},
                                                                          {"cvta", &Decoder::address_conversion},
                                                                          {"isspacep", &Decoder::is_space},
                                                                          {"alloca", &Decoder::stack},
                                                                          {"stacksave", &Decoder::stack},
                                                                          {"stackrestore", &Decoder::stack},
                                                                          {"bra", &Decoder::branch},
                                                                          {"brx", &Decoder::table},
                                                                          {"ret", &Decoder::leave},
                                                                          {"exit", &Decoder::leave},
                                                                          {"call", &Decoder::call},
                                                                          {"bar", &Decoder::barrier},
                                                                          {"barrier", &Decoder::barrier},
                                                                          {"trap", &Decoder::trap},
                                                                          {"shfl", &Decoder::shuffle},
                                                                          {"vote", &Decoder::vote},
                                                                          {"activemask", &Decoder::vote},
                                                                          {"match", &Decoder::match},
                                                                          {"redux", &Decoder::redux},
                                                                          {"elect", &Decoder::elect},
                                                                          {"mapa", &Decoder::map_address},
                                                                          {"getctarank", &Decoder::cluster_rank_of},
                                                                          {"mbarrier", &Decoder::mbarrier},
                                                                          {"mma", &Decoder::matrix},
                                                                          {"wmma", &Decoder::matrix},
                                                                          {"wgmma", &Decoder::group_matrix},
                                                                          {"ldmatrix", &Decoder::matrix},
                                                                          {"stmatrix", &Decoder::matrix},
                                                                          {"movmatrix", &Decoder::matrix},
                                                                          {"tex", &Decoder::texture},
                                                                          {"tld4", &Decoder::texture},
                                                                          {"suld", &Decoder::surface},
                                                                          {"sust", &Decoder::surface},
                                                                          {"membar", &Decoder::nothing},
                                                                          {"fence", &Decoder::nothing},
                                                                          {"prefetch", &Decoder::nothing},
                                                                          {"prefetchu", &Decoder::nothing},
                                                                          {"nanosleep", &Decoder::nothing},
                                                                          {"discard", &Decoder::nothing},
                                                                          {"applypriority", &Decoder::nothing},
                                                                          {"brkpt", &Decoder::nothing},
                                                                          {"pmevent", &Decoder::nothing},
                                                                          {"setmaxnreg", &Decoder::nothing},
                                                                          {"griddepcontrol", &Decoder::nothing},
                                                                          {"tensormap", &Decoder::tensor_map}};
  return *table;
}

}  // namespace coalesce::machine::plain
