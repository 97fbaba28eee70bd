// Flattening, from the whole kernel's side: where its variables lie, its functions one after the other, its parameters.
#include <algorithm>
#include <unordered_set>

#include "machine/program/flatten/opcodes.h"

namespace coalesce::machine {

namespace flattening {

namespace {

struct Reachable {
  std::unordered_set<std::string_view> names;
  std::unordered_set<const ptx::Function*> functions;
  bool takes_stack = false;  // alloca
};

Reachable reachable_from(const ptx::Function& kernel, const Calls& calls) {
  Reachable r;
  r.functions.insert(&kernel);
  std::vector<const ptx::Function*> todo{&kernel};
  const auto name_all = [&](const ptx::Operand& o, const auto& self) -> void {
    if (!o.name.empty() && r.names.insert(o.name).second)
      if (const ptx::Function* f = calls.defined(o.name); f && r.functions.insert(f).second) todo.push_back(f);
    for (const ptx::Operand& e : o.elements) self(e, self);
  };
  while (!todo.empty()) {
    const ptx::Function* f = todo.back();
    todo.pop_back();
    for (const ptx::Instruction& in : f->body) {
      r.takes_stack = r.takes_stack || in.mnemonic.starts_with("alloca");
      for (const ptx::Operand& o : in.operands) name_all(o, name_all);
    }
  }
  return r;
}

// Shared variables: the module's and those of every function, each once, however often it is inlined. Dynamic shared
// memory (extern, no size) begins after the last static one. Only what the kernel can reach counts.
void place_shared(Builder& b, const Reachable& reachable) {
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
    if (b.shared.contains(v.name)) return;
    offset = (offset + alignment - 1) / alignment * alignment;
    b.shared[v.name] = offset;
    b.out.shared.push_back({v.name, offset, v.size});
    offset += static_cast<uint32_t>(v.size);
  };
  // In ptxas's order: what stands in the kernel, then in the module, then in functions (tests/machine/execute:
  // SharedLayout). Counts depend on it where 16 or 32 bytes belong together.
  for (const ptx::Variable& v : b.kernel.variables) place(v);
  for (const ptx::Variable& v : b.module.variables)
    if (reachable.names.contains(v.name)) place(v);
  for (const ptx::Function& f : b.module.functions)
    if (reachable.functions.contains(&f) && f.name != b.kernel.name)
      for (const ptx::Variable& v : f.variables)
        if (reachable.names.contains(v.name)) place(v);
  b.out.static_shared_bytes = offset;
  offset = (offset + dynamic_alignment - 1) / dynamic_alignment * dynamic_alignment;
  for (const ptx::Variable* v : dynamic) {
    b.shared[v->name] = offset;
    b.out.shared.push_back({v->name, offset, 0});
  }
  if (!dynamic.empty()) b.out.static_shared_bytes = offset;
}

void flatten_kernel(Builder& b) {
  b.parameter_offsets = parameter_offsets(b.kernel, nullptr);
  const Reachable reachable = reachable_from(b.kernel, b.calls);
  place_shared(b, reachable);
  Frame frame;
  if (reachable.takes_stack) {
    b.in = &b.end;
    b.frame = &frame;
    start_stack(b);
    frame = {};
    b.frame = nullptr;
  }
  b.calls.flatten(b.kernel, frame);
  // Running off the end of the text ends the thread, as `ret` does.
  b.in = &b.end;
  b.frame = &frame;
  b.emit(Kind::exit).counts = false;
  b.frame = nullptr;
  b.calls.flatten_instances();
  finish_stack(b);
}

}  // namespace

}  // namespace flattening

void flatten(const ptx::Module& module, const ptx::Function& kernel, const SymbolTable& symbols, Decoded& out) {
  flattening::ParamNames in_memory;
  for (;;) {
    Decoded fresh;
    fresh.kernel = kernel.name;
    fresh.shape = out.shape;
    try {
      flattening::Builder b(module, kernel, symbols, fresh, in_memory);
      flattening::flatten_kernel(b);
    } catch (const flattening::ParamConflict&
                 conflict) {  // each retry moves one more variable to memory: bounded by their number
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
