// Flattening, from the whole kernel's side: where its variables lie, its functions one after the other, its parameters.
#include <algorithm>
#include <unordered_set>

#include "machine/program/flatten.h"

namespace coalesce::machine {

void Flattener::declare_variables(const ptx::Function& f, Frame& frame) {
  for (const ptx::Variable& v : f.variables) {
    const unsigned alignment = v.alignment ? v.alignment : std::max(1u, ptx::size_of(v.type));
    if (v.space == ptx::Space::local) {
      out_.local_bytes = (out_.local_bytes + alignment - 1) / alignment * alignment;
      frame.locals[v.name] = out_.local_bytes;
      out_.local_bytes += static_cast<uint32_t>(v.size);
    } else if (v.space == ptx::Space::param) {
      ParamStorage s;
      s.owner = f.name;
      s.name = v.name;
      if (in_memory_.contains({s.owner, s.name})) {
        s.in_memory = true;
        out_.local_bytes = (out_.local_bytes + 15) / 16 * 16;
        s.local_offset = out_.local_bytes;
        out_.local_bytes += static_cast<uint32_t>(v.size);
        frame.locals[v.name] = s.local_offset;
      }
      storages_.push_back(std::move(s));
      frame.params[v.name] = static_cast<uint32_t>(storages_.size() - 1);
    }
  }
}

void Flattener::function(const ptx::Function& f, Frame& frame) {
  Frame* const caller = frame_;
  frame_ = &frame;
  stack_.push_back(&f);
  frame.function = &f;
  frame.places.assign(f.locations.size(), kNone);
  for (const ptx::Register& r : f.registers) frame.registers.push_back(new_register(element_of(r.type)));
  declare_variables(f, frame);
  for (const ptx::Instruction& in : f.body) {
    frame.starts.push_back(static_cast<uint32_t>(out_.code.size()));
    instruction(in);
  }
  frame.starts.push_back(static_cast<uint32_t>(out_.code.size()));
  for (const auto& [instruction, body] : frame.branches) out_.code[instruction].target = frame.starts.at(body);
  for (const auto& [instruction, slot, body] : frame.table_branches)
    out_.code[instruction].targets[slot] = frame.starts.at(body);
  stack_.pop_back();
  frame_ = caller;
}

void Flattener::run() {
  uint32_t total = 0;
  parameter_offsets_ = parameter_offsets(kernel_, &total);
  // Shared variables: the module's and those of every function, each once, however often it is inlined. Dynamic shared
  // memory (extern, no size) begins after the last static one.
  std::vector<const ptx::Variable*> dynamic;
  uint32_t offset = 0, dynamic_alignment = 16;
  const auto place = [&](const ptx::Variable& v) {
    if (v.space != ptx::Space::shared) return;
    const unsigned alignment = v.alignment ? v.alignment : std::max(1u, ptx::size_of(v.type));
    if (v.size == 0) {
      dynamic.push_back(&v);
      dynamic_alignment = std::max(dynamic_alignment, alignment);
      return;
    }
    if (shared_.contains(v.name)) return;
    offset = (offset + alignment - 1) / alignment * alignment;
    shared_[v.name] = offset;
    out_.shared.push_back({v.name, offset, v.size});
    offset += static_cast<uint32_t>(v.size);
  };
  // Only what this kernel can reach counts against its shared memory.
  bool takes_stack = false;
  std::unordered_set<std::string_view> named;
  std::unordered_set<const ptx::Function*> reached{&kernel_};
  std::vector<const ptx::Function*> todo{&kernel_};
  const auto name_all = [&](const ptx::Operand& o, const auto& self) -> void {
    if (!o.name.empty() && named.insert(o.name).second)
      if (const auto f = defined_.find(o.name); f != defined_.end() && reached.insert(f->second).second)
        todo.push_back(f->second);
    for (const ptx::Operand& e : o.elements) self(e, self);
  };
  while (!todo.empty()) {
    const ptx::Function* f = todo.back();
    todo.pop_back();
    for (const ptx::Instruction& in : f->body) takes_stack = takes_stack || in.mnemonic.starts_with("alloca");
    for (const ptx::Instruction& in : f->body)
      for (const ptx::Operand& o : in.operands) name_all(o, name_all);
  }
  // In ptxas's order: what stands in the kernel, then in the module, then in functions (tests/machine/execute:
  // SharedLayout). Counts depend on it where 16 or 32 bytes belong together.
  for (const ptx::Variable& v : kernel_.variables) place(v);
  for (const ptx::Variable& v : module_.variables)
    if (named.contains(v.name)) place(v);
  for (const ptx::Function& f : module_.functions)
    if (reached.contains(&f) && f.name != kernel_.name)
      for (const ptx::Variable& v : f.variables)
        if (named.contains(v.name)) place(v);
  out_.static_shared_bytes = offset;
  offset = (offset + dynamic_alignment - 1) / dynamic_alignment * dynamic_alignment;
  for (const ptx::Variable* v : dynamic) {
    shared_[v->name] = offset;
    out_.shared.push_back({v->name, offset, 0});
  }
  if (!dynamic.empty()) out_.static_shared_bytes = offset;

  Frame frame;
  if (takes_stack) {
    in_ = &end_;
    frame_ = &frame;
    start_stack();
    frame = {};
    frame_ = nullptr;
  }
  function(kernel_, frame);
  // Running off the end of the text ends the thread, as `ret` does.
  in_ = &end_;
  frame_ = &frame;
  emit(Kind::exit).counts = false;
  frame_ = nullptr;
  emit_instances();
  finish_stack();
}

void flatten(const ptx::Module& module, const ptx::Function& kernel, const SymbolTable& symbols, Decoded& out) {
  std::set<std::pair<std::string, std::string>> in_memory;
  for (;;) {
    Decoded fresh;
    fresh.kernel = kernel.name;
    fresh.shape = out.shape;
    try {
      Flattener(module, kernel, symbols, fresh, in_memory).run();
    } catch (const ParamConflict& conflict) {  // each retry moves one more variable to memory: bounded by their number
      if (!in_memory.insert({conflict.owner, conflict.name}).second) throw;
      continue;
    }
    out = std::move(fresh);
    return;
  }
}

std::vector<uint32_t> parameter_offsets(const ptx::Function& kernel, uint32_t* total) {
  std::vector<uint32_t> offsets;
  uint32_t at = 0;
  for (const ptx::Variable& p : kernel.params) {
    const unsigned alignment = std::max({1u, p.alignment, p.alignment ? 0u : ptx::size_of(p.type)});
    at = (at + alignment - 1) / alignment * alignment;
    offsets.push_back(at);
    at += static_cast<uint32_t>(p.size);
  }
  if (total) *total = at;
  return offsets;
}

}  // namespace coalesce::machine
