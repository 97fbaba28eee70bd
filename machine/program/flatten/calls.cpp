// Functions: their bodies, and what calls them.
#include <algorithm>

#include "machine/isa/service.h"
#include "machine/program/flatten/opcodes.h"

namespace coalesce::machine::flattening {

namespace {

constexpr std::size_t kMaxInlineDepth = 64;

bool same_shape(const std::vector<ptx::Variable>& a, const std::vector<ptx::Variable>& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) { return x.size == y.size; });
}

// The device runtime by which kernels launch kernels.
bool is_device_runtime(std::string_view name) {
  return name.starts_with("__cudaCDP2") || name.starts_with("cudaLaunchDevice") ||
         name.starts_with("cudaGetParameterBuffer");
}

}  // namespace

Calls::Calls(Builder& b) : b_(b) {
  for (const ptx::Function& f : b.module.functions)
    if (!f.is_declaration) defined_.emplace(f.name, &f);
}

const ptx::Function* Calls::defined(std::string_view name) const {
  const auto found = defined_.find(name);
  return found == defined_.end() ? nullptr : found->second;
}

uint32_t Calls::new_storage(const ptx::Function& owner, const ptx::Variable& v) {
  b_.storages.push_back({owner.name, v.name});
  return static_cast<uint32_t>(b_.storages.size() - 1);
}

void Calls::declare_variables(const ptx::Function& f, Frame& frame) {
  for (const ptx::Variable& v : f.variables) {
    const unsigned alignment = v.alignment ? v.alignment : std::max(1u, ptx::size_of(v.type));
    if (v.space == ptx::Space::local) {
      b_.out.local_bytes = (b_.out.local_bytes + alignment - 1) / alignment * alignment;
      frame.locals[v.name] = b_.out.local_bytes;
      b_.out.local_bytes += static_cast<uint32_t>(v.size);
    } else if (v.space == ptx::Space::param) {
      const uint32_t index = frame.params[v.name] = new_storage(f, v);
      ParamStorage& s = b_.storages[index];
      if (b_.in_memory.contains({s.owner, s.name})) {
        s.in_memory = true;
        b_.out.local_bytes = (b_.out.local_bytes + 15) / 16 * 16;
        s.local_offset = b_.out.local_bytes;
        b_.out.local_bytes += static_cast<uint32_t>(v.size);
        frame.locals[v.name] = s.local_offset;
      }
    }
  }
}

void Calls::flatten(const ptx::Function& f, Frame& frame) {
  Frame* const caller = b_.frame;
  b_.frame = &frame;
  inlined_.push_back(&f);
  frame.function = &f;
  frame.places.assign(f.locations.size(), kNone);
  for (const ptx::Register& r : f.registers) frame.registers.push_back(b_.new_register(element_of(r.type)));
  declare_variables(f, frame);
  for (const ptx::Instruction& in : f.body) {
    frame.starts.push_back(b_.next());
    flatten_instruction(b_, in);
  }
  frame.starts.push_back(b_.next());
  for (const auto& [instruction, body] : frame.branches) b_.out.code[instruction].target = frame.starts.at(body);
  for (const auto& [instruction, slot, body] : frame.table_branches)
    b_.out.code[instruction].targets[slot] = frame.starts.at(body);
  inlined_.pop_back();
  b_.frame = caller;
}

// call (results), callee, (arguments)
void Calls::call() {
  const auto& ops = b_.in->operands;
  std::size_t at = 0;
  const ptx::Operand *results = nullptr, *arguments = nullptr;
  if (at < ops.size() && ops[at].kind == Operand::list) results = &ops[at++];
  if (at >= ops.size()) return b_.unknown();
  const ptx::Operand& callee = ops[at++];
  if (at < ops.size() && ops[at].kind == Operand::list) arguments = &ops[at++];
  if (b_.in->guard >= 0) return b_.unknown("a predicated call is not supported");
  Arguments a;
  const auto collect = [&](const ptx::Operand* list, std::vector<uint32_t>& to, std::vector<std::string>& names) {
    if (!list) return;
    for (const ptx::Operand& o : list->elements) {
      const auto found = b_.frame->params.find(o.name);
      if (found == b_.frame->params.end())
        b_.fail("call with an argument that is no .param variable: '" + o.name + "'");
      to.push_back(found->second);
      names.push_back(o.name);
    }
  };
  std::vector<std::string> unused;
  collect(results, a.results, a.result_names);
  collect(arguments, a.arguments, unused);
  if (callee.kind == Operand::reg) return call_pointer(callee, at < ops.size() ? ops[at].name : std::string(), a);
  if (callee.kind != Operand::symbol) return b_.unknown();
  if (call_builtin(callee.name, a) || call_service(callee.name, a)) return;
  const std::string* name = &callee.name;
  for (const auto& [alias, target] : b_.module.aliases)
    if (alias == *name) name = &target;
  if (const ptx::Function* f = defined(*name); f && !f->is_entry) {
    b_.emit(Kind::nothing);  // the call itself
    return call_function(*f, a);
  }
  b_.unknown(is_device_runtime(callee.name) ? "the device's runtime has no '" + callee.name + "' here"
                                            : "call of '" + callee.name + "', which the program does not define");
}

// The few functions that the machine provides itself.
bool Calls::call_builtin(const std::string& callee, const Arguments& a) {
  static constexpr std::pair<std::string_view, Callee> builtins[] = {{"vprintf", Callee::printf},
                                                                     {"malloc", Callee::malloc},
                                                                     {"free", Callee::free},
                                                                     {"__assertfail", Callee::assertion}};
  for (const auto& [name, which] : builtins)
    if (callee == name) {
      std::vector<Value> sources;
      for (uint32_t s : a.arguments) {
        if (b_.storages[s].pieces.empty()) b_.fail("call of " + callee + " with an argument never stored");
        sources.push_back(Value::of(b_.storages[s].pieces.begin()->second));
      }
      uint32_t r = kNone;
      if (!a.results.empty()) {
        const unsigned bytes = which == Callee::malloc ? 8 : 4;
        ParamStorage& s = b_.storages[a.results[0]];
        auto piece = s.pieces.find({0, bytes});
        if (piece == s.pieces.end())
          piece = s.pieces.emplace(std::make_pair(0u, bytes), b_.new_register(element_of_bytes(bytes))).first;
        r = piece->second;
      }
      Instruction& i = b_.emit(Kind::call);
      i.mode = static_cast<uint8_t>(which);
      i.text = callee;
      i.results[0] = r;
      i.sources = std::move(sources);
      return true;
    }
  return false;
}

// A function of the device's runtime: the words of its arguments become 64-bit registers.
bool Calls::call_service(const std::string& callee, const Arguments& a) {
  const Service* const service = find_service(callee);
  if (!service || a.arguments.size() != service->arguments.size()) return false;
  std::vector<Value> sources;
  for (std::size_t k = 0; k < a.arguments.size(); ++k) {
    const char kind = service->arguments[k];
    const uint32_t width = kind == '8' ? 8 : 4;
    for (uint32_t at = 0; at < (kind == 'd' ? 12u : 4u); at += 4) {
      const Value word = b_.fitted(Value::of(piece_of(a.arguments[k], at, width)), Element::b64);
      sources.push_back(word);
      if (kind != 'd') break;
    }
  }
  uint32_t r = kNone;
  if (!a.results.empty() && service->result != '0') r = piece_of(a.results[0], 0, service->result == '8' ? 8 : 4);
  Instruction& i = b_.emit(Kind::call);
  i.mode = static_cast<uint8_t>(Callee::service);
  i.text = callee;
  i.results[0] = r;
  i.sources = std::move(sources);
  return true;
}

void Calls::call_function(const ptx::Function& f, const Arguments& a) {
  if (f.params.size() != a.arguments.size() || f.returns.size() != a.results.size())
    b_.fail("call of '" + f.name + "' with the wrong number of arguments");
  const bool recursive = std::find(inlined_.begin(), inlined_.end(), &f) != inlined_.end() || instances_.contains(&f);
  if (recursive || inlined_.size() >= kMaxInlineDepth)
    call_instance(f, a);
  else
    call_inline(f, a);
}

void Calls::call_inline(const ptx::Function& callee, const Arguments& a) {
  const ptx::Instruction* const call = b_.in;
  const Mnemonic* const mnemonic = b_.m;
  Frame inner;
  const auto bind = [&](const ptx::Variable& v, uint32_t storage) {
    inner.params[v.name] = storage;
    if (b_.in_memory.contains({callee.name, v.name}) && !b_.storages[storage].in_memory)
      throw ParamConflict{b_.storages[storage].owner, b_.storages[storage].name};
    if (b_.storages[storage].in_memory) inner.locals[v.name] = b_.storages[storage].local_offset;
  };
  for (std::size_t k = 0; k < a.arguments.size(); ++k) bind(callee.params[k], a.arguments[k]);
  for (std::size_t k = 0; k < a.results.size(); ++k) bind(callee.returns[k], a.results[k]);
  // A parameter whose address is taken must live in memory.
  for (const ptx::Instruction& in : callee.body)
    if (in.mnemonic.starts_with("mov"))
      for (const ptx::Operand& o : in.operands)
        if (o.kind == Operand::symbol)
          if (const auto p = inner.params.find(o.name); p != inner.params.end() && !b_.storages[p->second].in_memory)
            throw ParamConflict{b_.storages[p->second].owner, b_.storages[p->second].name};
  flatten(callee, inner);
  b_.in = call;
  b_.m = mnemonic;
  const uint32_t after = b_.next();
  for (uint32_t r : inner.returns) b_.out.code[r].target = after;
}

// The names whose address the module takes, in code or in a variable's first value.
const std::unordered_set<std::string_view>& Calls::taken() {
  if (taken_) return *taken_;
  taken_.emplace();
  for (const ptx::Variable& v : b_.module.variables)
    for (const ptx::Relocation& r : v.relocations) taken_->insert(r.symbol);
  for (const ptx::Function& f : b_.module.functions)
    for (const ptx::Instruction& in : f.body)
      if (in.mnemonic.starts_with("mov"))
        for (const ptx::Operand& o : in.operands)
          if (o.kind == Operand::symbol) taken_->insert(o.name);
  return *taken_;
}

// A call through a function pointer: the functions it may mean are those whose address the program takes.
void Calls::call_pointer(const ptx::Operand& callee, const std::string& prototype, const Arguments& a) {
  const ptx::Function::Prototype* shape = nullptr;
  for (const ptx::Function::Prototype& p : b_.frame->function->prototypes)
    if (p.name == prototype) shape = &p;
  if (!shape) return b_.unknown("call through a pointer without a prototype");
  const Value address = b_.value(callee, Element::b64);
  b_.emit(Kind::nothing);  // the call itself
  std::vector<uint32_t> to_end;
  const ptx::Instruction* const call = b_.in;
  const Mnemonic* const mnemonic = b_.m;
  const auto jump = [&](uint32_t guard, bool negated) {
    Instruction& i = b_.emit(Kind::branch);
    i.mode = 1;
    i.counts = false;
    i.guard = guard;
    i.guard_negated = negated;
    return b_.last();
  };
  for (const ptx::Function& f : b_.module.functions) {
    if (f.is_declaration || f.is_entry || !taken().contains(f.name) || !same_shape(f.params, shape->params) ||
        !same_shape(f.returns, shape->returns))
      continue;
    const Value is_it = b_.compute("setp.eq.u64", {address, Value::imm(b_.symbols.function_address(f.name))});
    const uint32_t skip = jump(is_it.reg, true);
    // Results of an instance are copied to where the other candidates leave theirs.
    call_function(f, a);
    b_.in = call;
    b_.m = mnemonic;
    for (std::size_t k = 0; k < a.results.size(); ++k) {
      const uint32_t left = b_.frame->params[a.result_names[k]];
      if (left == a.results[k]) continue;
      for (const auto& [piece, from] : std::map(b_.storages[left].pieces))
        b_.emit_pure("mov.b" + std::to_string(8 * bytes_of(b_.element(from))),
                     {piece_of(a.results[k], piece.first, piece.second)}, {Value::of(from)}, false);
      b_.frame->params[a.result_names[k]] = a.results[k];
    }
    to_end.push_back(jump(kNone, false));
    b_.out.code[skip].target = b_.next();
  }
  b_.unknown("call through a pointer to no function of the program");
  b_.out.code.back().counts = false;
  b_.out.code.back().mode = 1;
  for (uint32_t j : to_end) b_.out.code[j].target = b_.next();
}

// ret, exit: from the kernel, the thread ends; from an inlined function, `ret` goes on after the call. A guarded one is
// a branch to such an end.
void Calls::leave(bool whole_thread) {
  if (inlined_.size() == 1 && instance_ && !whole_thread) return leave_instance();
  if (inlined_.size() == 1 || whole_thread) {
    if (b_.in->guard < 0) {
      b_.emit(Kind::exit);
      return;
    }
    // @%p exit: branch over it with the guard turned round; the branch stands for the guarded instruction.
    Instruction& over = b_.emit(Kind::branch);
    over.mode = 1;  // the program has no `bra` here: it is not counted as one
    over.guard = b_.mapped(b_.in->guard);
    over.guard_negated = !b_.in->guard_negated;
    over.target = b_.next() + 1;
    Instruction& end = b_.emit(Kind::exit);
    end.guard = kNone;
    end.counts = false;
    return;
  }
  Instruction& i = b_.emit(Kind::branch);
  i.mode = 1;
  if (b_.in->guard >= 0) {
    i.guard = b_.mapped(b_.in->guard);
    i.guard_negated = b_.in->guard_negated;
  }
  b_.frame->returns.push_back(b_.last());
}

}  // namespace coalesce::machine::flattening
