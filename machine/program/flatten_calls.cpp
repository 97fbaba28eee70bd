// Calls, and memory taken from the stack (alloca). Most calls are inlined. A function that is recursive, or too deep to
// inline, is an instance: its body stands once in the program, with registers of its own; a call saves what the caller
// still needs (lower_instruction.cpp finds it by liveness), goes there, and comes back at a join of the lanes that
// called together. A call through a pointer asks for each function whose address the program takes whether it is meant,
// and calls that one.
#include <algorithm>

#include "machine/isa/service.h"
#include "machine/program/flatten.h"

namespace coalesce::machine {

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

// call (results), callee, (arguments)
void Flattener::call() {
  const auto& ops = in_->operands;
  std::size_t at = 0;
  const ptx::Operand *results = nullptr, *arguments = nullptr;
  if (at < ops.size() && ops[at].kind == Operand::list) results = &ops[at++];
  if (at >= ops.size()) return unknown();
  const ptx::Operand& callee = ops[at++];
  if (at < ops.size() && ops[at].kind == Operand::list) arguments = &ops[at++];
  if (in_->guard >= 0) return unknown("a predicated call is not supported");
  Arguments a;
  const auto collect = [&](const ptx::Operand* list, std::vector<uint32_t>& to, std::vector<std::string>& names) {
    if (!list) return;
    for (const ptx::Operand& o : list->elements) {
      const auto found = frame_->params.find(o.name);
      if (found == frame_->params.end()) fail("call with an argument that is no .param variable: '" + o.name + "'");
      to.push_back(found->second);
      names.push_back(o.name);
    }
  };
  std::vector<std::string> unused;
  collect(results, a.results, a.result_names);
  collect(arguments, a.arguments, unused);
  if (callee.kind == Operand::reg) return call_pointer(callee, at < ops.size() ? ops[at].name : std::string(), a);
  if (callee.kind != Operand::symbol) return unknown();
  if (call_builtin(callee.name, a) || call_service(callee.name, a)) return;
  const std::string* name = &callee.name;
  for (const auto& [alias, target] : module_.aliases)
    if (alias == *name) name = &target;
  if (const auto f = defined_.find(*name); f != defined_.end() && !f->second->is_entry) {
    emit(Kind::nothing);  // the call itself
    return call_function(*f->second, a);
  }
  unknown(is_device_runtime(callee.name) ? "the device's runtime has no '" + callee.name + "' here"
                                         : "call of '" + callee.name + "', which the program does not define");
}

// The few functions that the machine provides itself.
bool Flattener::call_builtin(const std::string& callee, const Arguments& a) {
  static constexpr std::pair<std::string_view, Callee> builtins[] = {{"vprintf", Callee::printf},
                                                                     {"malloc", Callee::malloc},
                                                                     {"free", Callee::free},
                                                                     {"__assertfail", Callee::assertion}};
  for (const auto& [name, which] : builtins)
    if (callee == name) {
      std::vector<Value> sources;
      for (uint32_t s : a.arguments) {
        if (storages_[s].pieces.empty()) fail("call of " + callee + " with an argument never stored");
        sources.push_back(Value::of(storages_[s].pieces.begin()->second));
      }
      uint32_t r = kNone;
      if (!a.results.empty()) {
        const unsigned bytes = which == Callee::malloc ? 8 : 4;
        ParamStorage& s = storages_[a.results[0]];
        auto piece = s.pieces.find({0, bytes});
        if (piece == s.pieces.end())
          piece = s.pieces.emplace(std::make_pair(0u, bytes), new_register(element_of_bytes(bytes))).first;
        r = piece->second;
      }
      Instruction& i = emit(Kind::call);
      i.mode = static_cast<uint8_t>(which);
      i.text = callee;
      i.results[0] = r;
      i.sources = std::move(sources);
      return true;
    }
  return false;
}

// A function of the device's runtime: the words of its arguments become 64-bit registers.
bool Flattener::call_service(const std::string& callee, const Arguments& a) {
  const Service* const service = find_service(callee);
  if (!service || a.arguments.size() != service->arguments.size()) return false;
  std::vector<Value> sources;
  for (std::size_t k = 0; k < a.arguments.size(); ++k) {
    const char kind = service->arguments[k];
    const uint32_t width = kind == '8' ? 8 : 4;
    for (uint32_t at = 0; at < (kind == 'd' ? 12u : 4u); at += 4) {
      const Value word = fitted(Value::of(piece_of(a.arguments[k], at, width)), Element::b64);
      sources.push_back(word);
      if (kind != 'd') break;
    }
  }
  uint32_t r = kNone;
  if (!a.results.empty() && service->result != '0') r = piece_of(a.results[0], 0, service->result == '8' ? 8 : 4);
  Instruction& i = emit(Kind::call);
  i.mode = static_cast<uint8_t>(Callee::service);
  i.text = callee;
  i.results[0] = r;
  i.sources = std::move(sources);
  return true;
}

void Flattener::call_function(const ptx::Function& f, const Arguments& a) {
  if (f.params.size() != a.arguments.size() || f.returns.size() != a.results.size())
    fail("call of '" + f.name + "' with the wrong number of arguments");
  const bool recursive = std::find(stack_.begin(), stack_.end(), &f) != stack_.end() || instances_.contains(&f);
  if (recursive || stack_.size() >= kMaxInlineDepth)
    call_instance(f, a);
  else
    inline_call(f, a);
}

void Flattener::inline_call(const ptx::Function& callee, const Arguments& a) {
  const ptx::Instruction* const call = in_;
  const Mnemonic* const mnemonic = m_;
  Frame inner;
  const auto bind = [&](const ptx::Variable& v, uint32_t storage) {
    inner.params[v.name] = storage;
    if (in_memory_.contains({callee.name, v.name}) && !storages_[storage].in_memory)
      throw ParamConflict{storages_[storage].owner, storages_[storage].name};
    if (storages_[storage].in_memory) inner.locals[v.name] = storages_[storage].local_offset;
  };
  for (std::size_t k = 0; k < a.arguments.size(); ++k) bind(callee.params[k], a.arguments[k]);
  for (std::size_t k = 0; k < a.results.size(); ++k) bind(callee.returns[k], a.results[k]);
  // A parameter whose address is taken must live in memory.
  for (const ptx::Instruction& in : callee.body)
    if (in.mnemonic.starts_with("mov"))
      for (const ptx::Operand& o : in.operands)
        if (o.kind == Operand::symbol)
          if (const auto p = inner.params.find(o.name); p != inner.params.end() && !storages_[p->second].in_memory)
            throw ParamConflict{storages_[p->second].owner, storages_[p->second].name};
  function(callee, inner);
  in_ = call;
  m_ = mnemonic;
  const uint32_t after = static_cast<uint32_t>(out_.code.size());
  for (uint32_t r : inner.returns) out_.code[r].target = after;
}

// Arguments are copied into the instance's parameters; its results are read where it leaves them.
void Flattener::call_instance(const ptx::Function& f, const Arguments& a) {
  auto [found, added] = instances_.try_emplace(&f);
  Instance& to = found->second;
  if (added) {
    const auto make = [&](const ptx::Variable& v) {
      ParamStorage s;
      s.owner = f.name;
      s.name = v.name;
      storages_.push_back(std::move(s));
      return static_cast<uint32_t>(storages_.size() - 1);
    };
    for (const ptx::Variable& v : f.params) to.params.push_back(make(v));
    for (const ptx::Variable& v : f.returns) to.returns.push_back(make(v));
    to.frame_base = new_register(Element::b64);
    todo_.push_back(&f);
  }
  Instruction& save = emit(Kind::call);
  save.mode = static_cast<uint8_t>(Callee::function);
  save.counts = false;
  save.text = f.name;
  std::vector<Value> uses;
  for (std::size_t k = 0; k < a.arguments.size(); ++k) {
    if (storages_[a.arguments[k]].in_memory)
      return unknown("a recursive function with a parameter in memory is not supported");
    for (const auto& [piece, from] : std::map(storages_[a.arguments[k]].pieces)) {
      const uint32_t target = piece_of(to.params[k], piece.first, piece.second);
      emit_pure("mov.b" + std::to_string(8 * bytes_of(out_.registers[from].element)), {target}, {Value::of(from)},
                false);
      uses.push_back(Value::of(target));
    }
  }
  // The callee's local memory begins where the caller's ends; how large that is, is known when all is flattened.
  frame_fixups_.emplace_back(static_cast<uint32_t>(out_.code.size()), instance_);
  emit_pure("add.s64", {to.frame_base},
            {instance_ ? Value::of(instances_.at(instance_).frame_base) : Value::imm(0), Value::imm(0)}, false);
  uses.push_back(Value::of(to.frame_base));
  Instruction& go = emit(Kind::function_call);
  go.counts = false;
  go.sources = std::move(uses);
  call_fixups_.emplace_back(static_cast<uint32_t>(out_.code.size() - 1), &f);
  out_.has_calls = true;
  for (std::size_t k = 0; k < a.results.size(); ++k) frame_->params[a.result_names[k]] = to.returns[k];
}

uint32_t Flattener::piece_of(uint32_t storage, uint32_t offset, uint32_t width) {
  ParamStorage& s = storages_[storage];
  const auto piece = s.pieces.find({offset, width});
  if (piece != s.pieces.end()) return piece->second;
  for (const auto& [key, reg] : s.pieces)
    if (offset < key.first + key.second && key.first < offset + width)
      fail("parameter '" + s.name + "' of a recursive function is accessed in different sizes");
  return s.pieces[{offset, width}] = new_register(element_of_bytes(width));
}

void Flattener::leave_instance() {
  const ptx::Instruction& in = *in_;
  if (in.guard >= 0) {  // branch over it with the guard turned round
    Instruction& over = emit(Kind::branch);
    over.mode = 1;
    over.guard = frame_->registers[static_cast<std::size_t>(in.guard)];
    over.guard_negated = !in.guard_negated;
    over.target = static_cast<uint32_t>(out_.code.size() + 1);
  }
  Instruction& i = emit(Kind::function_return);
  i.guard = kNone;
  i.counts = in.guard < 0;
  return_fixups_.emplace_back(static_cast<uint32_t>(out_.code.size() - 1), instance_);
}

// The bodies of all instances, after the kernel's; then what could not be known before.
void Flattener::emit_instances() {
  const uint32_t kernel_local = out_.local_bytes;
  while (!todo_.empty()) {
    const ptx::Function* f = todo_.back();
    todo_.pop_back();
    Instance& instance = instances_.at(f);
    instance_ = f;
    instance.entry = static_cast<uint32_t>(out_.code.size());
    const uint32_t outer = out_.local_bytes;
    out_.local_bytes = 0;  // counts this instance's frame: local addresses in it are relative to frame_base
    Frame frame;
    for (std::size_t k = 0; k < f->params.size(); ++k) frame.params[f->params[k].name] = instance.params[k];
    for (std::size_t k = 0; k < f->returns.size(); ++k) frame.params[f->returns[k].name] = instance.returns[k];
    function(*f, frame);
    stack_ = {f};
    in_ = &end_;
    frame_ = &frame;
    leave_instance();
    out_.code.back().counts = false;
    frame_ = nullptr;
    stack_.clear();
    instances_.at(f).frame_bytes = (out_.local_bytes + 15) / 16 * 16;
    out_.local_bytes = outer;
  }
  instance_ = nullptr;
  for (const auto& [instruction, caller] : frame_fixups_)
    out_.code[instruction].sources[1] =
        Value::imm(caller ? instances_.at(caller).frame_bytes : (kernel_local + 15) / 16 * 16);
  for (const auto& [instruction, f] : call_fixups_) {
    out_.code[instruction].target = instances_.at(f).entry;
    for (uint32_t s : instances_.at(f).returns)
      for (const auto& [piece, reg] : storages_[s].pieces)
        out_.code[instruction].targets.push_back(reg);  // written by the callee
  }
  for (const auto& [instruction, f] : return_fixups_)
    for (uint32_t s : instances_.at(f).returns)
      for (const auto& [piece, reg] : storages_[s].pieces) out_.code[instruction].sources.push_back(Value::of(reg));
  if (!instances_.empty()) out_.local_bytes += out_.shape.stack_bytes;
}

// The names whose address the module takes, in code or in a variable's first value.
const std::unordered_set<std::string_view>& Flattener::taken() {
  if (taken_) return *taken_;
  taken_.emplace();
  for (const ptx::Variable& v : module_.variables)
    for (const ptx::Relocation& r : v.relocations) taken_->insert(r.symbol);
  for (const ptx::Function& f : module_.functions)
    for (const ptx::Instruction& in : f.body)
      if (in.mnemonic.starts_with("mov"))
        for (const ptx::Operand& o : in.operands)
          if (o.kind == Operand::symbol) taken_->insert(o.name);
  return *taken_;
}

// A call through a function pointer: the functions it may mean are those whose address the program takes.
void Flattener::call_pointer(const ptx::Operand& callee, const std::string& prototype, const Arguments& a) {
  const ptx::Function::Prototype* shape = nullptr;
  for (const ptx::Function::Prototype& p : frame_->function->prototypes)
    if (p.name == prototype) shape = &p;
  if (!shape) return unknown("call through a pointer without a prototype");
  const Value address = value(callee, Element::b64);
  emit(Kind::nothing);  // the call itself
  std::vector<uint32_t> to_end;
  const ptx::Instruction* const call = in_;
  const Mnemonic* const mnemonic = m_;
  const auto jump = [&](uint32_t guard, bool negated) {
    Instruction& i = emit(Kind::branch);
    i.mode = 1;
    i.counts = false;
    i.guard = guard;
    i.guard_negated = negated;
    return static_cast<uint32_t>(out_.code.size() - 1);
  };
  for (const ptx::Function& f : module_.functions) {
    if (f.is_declaration || f.is_entry || !taken().contains(f.name) || !same_shape(f.params, shape->params) ||
        !same_shape(f.returns, shape->returns))
      continue;
    const uint32_t is_it = new_register(Element::pred);
    emit_pure("setp.eq.u64", {is_it}, {address, Value::imm(symbols_.function_address(f.name))}, false);
    const uint32_t skip = jump(is_it, true);
    // Results of an instance are copied to where the other candidates leave theirs.
    call_function(f, a);
    in_ = call;
    m_ = mnemonic;
    for (std::size_t k = 0; k < a.results.size(); ++k) {
      const uint32_t left = frame_->params[a.result_names[k]];
      if (left == a.results[k]) continue;
      for (const auto& [piece, from] : std::map(storages_[left].pieces))
        emit_pure("mov.b" + std::to_string(8 * bytes_of(out_.registers[from].element)),
                  {piece_of(a.results[k], piece.first, piece.second)}, {Value::of(from)}, false);
      frame_->params[a.result_names[k]] = a.results[k];
    }
    to_end.push_back(jump(kNone, false));
    out_.code[skip].target = static_cast<uint32_t>(out_.code.size());
  }
  unknown("call through a pointer to no function of the program");
  out_.code.back().counts = false;
  out_.code.back().mode = 1;
  for (uint32_t j : to_end) out_.code[j].target = static_cast<uint32_t>(out_.code.size());
}

// alloca: each lane's stack grows upwards in a part of local memory of its own; `stack_pointer_` is where it is free.
void Flattener::start_stack() {
  stack_pointer_ = new_register(Element::b64);
  emit_pure("mov.b64", {stack_pointer_}, {Value::imm(0)}, false);  // set when it is known where local memory ends
  stack_start_ = static_cast<uint32_t>(out_.code.size() - 1);
}

void Flattener::finish_stack() {
  if (stack_pointer_ == kNone) return;
  out_.local_bytes = (out_.local_bytes + 15) / 16 * 16;
  out_.code[stack_start_].sources[0] = Value::imm(out_.local_bytes);
  out_.local_bytes += out_.shape.stack_bytes;
}

void Flattener::allocate_stack() {
  const auto& ops = in_->operands;
  if (ops.size() < 2 || ops.size() > 3 || in_->guard >= 0 || stack_pointer_ == kNone) return unknown();
  uint64_t alignment = 8;
  if (ops.size() == 3) {
    if (ops[2].kind != Operand::integer || ops[2].bits == 0 || (ops[2].bits & (ops[2].bits - 1))) return unknown();
    alignment = std::max(alignment, ops[2].bits);
  }
  const Value size = value(ops[1], Element::b64);
  const uint32_t raised = new_register(Element::b64), at = new_register(Element::b64);
  emit_pure("add.s64", {raised}, {Value::of(stack_pointer_), Value::imm(alignment - 1)}, false);
  emit_pure("and.b64", {at}, {Value::of(raised), Value::imm(~(alignment - 1))}, false);
  emit_pure("add.s64", {stack_pointer_}, {Value::of(at), size}, false);
  const Element element = m_->has("u32") ? Element::b32 : Element::b64;
  const Value whole = fitted(Value::of(at), element);
  const uint32_t to = result(ops[0], element, false);
  emit_pure(element == Element::b32 ? "mov.b32" : "mov.b64", {to}, {whole}, true);
  finish_results();
}

void Flattener::save_stack() {
  if (in_->operands.size() != 1 || stack_pointer_ == kNone) return unknown();
  const Element element = m_->has("u32") ? Element::b32 : Element::b64;
  const Value whole = fitted(Value::of(stack_pointer_), element);
  const uint32_t to = result(in_->operands[0], element, false);
  emit_pure(element == Element::b32 ? "mov.b32" : "mov.b64", {to}, {whole}, true);
  finish_results();
}

void Flattener::restore_stack() {
  if (in_->operands.size() != 1 || stack_pointer_ == kNone || in_->guard >= 0) return unknown();
  const Value to = value(in_->operands[0], Element::b64);
  emit_pure("mov.b64", {stack_pointer_}, {to}, true);
}

}  // namespace coalesce::machine
