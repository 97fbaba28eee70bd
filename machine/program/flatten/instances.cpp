// Functions with a body of their own.
#include "machine/program/flatten/opcodes.h"

namespace coalesce::machine::flattening {

uint32_t Calls::frame_base() const { return instances_.at(instance_).frame_base; }

// Arguments are copied into the instance's parameters; its results are read where it leaves them.
void Calls::call_instance(const ptx::Function& f, const Arguments& a) {
  auto [found, added] = instances_.try_emplace(&f);
  Instance& to = found->second;
  if (added) {
    for (const ptx::Variable& v : f.params) to.params.push_back(new_storage(f, v));
    for (const ptx::Variable& v : f.returns) to.returns.push_back(new_storage(f, v));
    to.frame_base = b_.new_register(Element::b64);
    todo_.push_back(&f);
  }
  Instruction& save = b_.emit(Kind::call);
  save.mode = static_cast<uint8_t>(Callee::function);
  save.counts = false;
  save.text = f.name;
  std::vector<Value> uses;
  for (std::size_t k = 0; k < a.arguments.size(); ++k) {
    if (b_.storages[a.arguments[k]].in_memory)
      return b_.unknown("a recursive function with a parameter in memory is not supported");
    for (const auto& [piece, from] : std::map(b_.storages[a.arguments[k]].pieces)) {
      const uint32_t target = piece_of(to.params[k], piece.first, piece.second);
      b_.emit_pure("mov.b" + std::to_string(8 * bytes_of(b_.element(from))), {target}, {Value::of(from)}, false);
      uses.push_back(Value::of(target));
    }
  }
  // The callee's local memory begins where the caller's ends; how large that is, is known when all is flattened.
  frame_fixups_.emplace_back(b_.next(), instance_);
  b_.emit_pure("add.s64", {to.frame_base}, {instance_ ? Value::of(frame_base()) : Value::imm(0), Value::imm(0)}, false);
  uses.push_back(Value::of(to.frame_base));
  Instruction& go = b_.emit(Kind::function_call);
  go.counts = false;
  go.sources = std::move(uses);
  call_fixups_.emplace_back(b_.last(), &f);
  b_.out.has_calls = true;
  for (std::size_t k = 0; k < a.results.size(); ++k) b_.frame->params[a.result_names[k]] = to.returns[k];
}

uint32_t Calls::piece_of(uint32_t storage, uint32_t offset, uint32_t width) {
  ParamStorage& s = b_.storages[storage];
  const auto piece = s.pieces.find({offset, width});
  if (piece != s.pieces.end()) return piece->second;
  for (const auto& [key, reg] : s.pieces)
    if (offset < key.first + key.second && key.first < offset + width)
      b_.fail("parameter '" + s.name + "' of a recursive function is accessed in different sizes");
  return s.pieces[{offset, width}] = b_.new_register(element_of_bytes(width));
}

void Calls::leave_instance() {
  const ptx::Instruction& in = *b_.in;
  if (in.guard >= 0) {  // branch over it with the guard turned round
    Instruction& over = b_.emit(Kind::branch);
    over.mode = 1;
    over.guard = b_.mapped(in.guard);
    over.guard_negated = !in.guard_negated;
    over.target = b_.next() + 1;
  }
  Instruction& i = b_.emit(Kind::function_return);
  i.guard = kNone;
  i.counts = in.guard < 0;
  return_fixups_.emplace_back(b_.last(), instance_);
}

void Calls::flatten_instances() {
  const uint32_t kernel_local = b_.out.local_bytes;
  while (!todo_.empty()) {
    const ptx::Function* f = todo_.back();
    todo_.pop_back();
    Instance& instance = instances_.at(f);
    instance_ = f;
    instance.entry = b_.next();
    const uint32_t outer = b_.out.local_bytes;
    b_.out.local_bytes = 0;  // counts this instance's frame: local addresses in it are relative to frame_base
    Frame frame;
    for (std::size_t k = 0; k < f->params.size(); ++k) frame.params[f->params[k].name] = instance.params[k];
    for (std::size_t k = 0; k < f->returns.size(); ++k) frame.params[f->returns[k].name] = instance.returns[k];
    flatten(*f, frame);
    inlined_ = {f};
    b_.in = &b_.end;
    b_.frame = &frame;
    leave_instance();
    b_.out.code.back().counts = false;
    b_.frame = nullptr;
    inlined_.clear();
    instances_.at(f).frame_bytes = (b_.out.local_bytes + 15) / 16 * 16;
    b_.out.local_bytes = outer;
  }
  instance_ = nullptr;
  for (const auto& [instruction, caller] : frame_fixups_)
    b_.out.code[instruction].sources[1] =
        Value::imm(caller ? instances_.at(caller).frame_bytes : (kernel_local + 15) / 16 * 16);
  for (const auto& [instruction, f] : call_fixups_) {
    b_.out.code[instruction].target = instances_.at(f).entry;
    for (uint32_t s : instances_.at(f).returns)
      for (const auto& [piece, reg] : b_.storages[s].pieces)
        b_.out.code[instruction].targets.push_back(reg);  // written by the callee
  }
  for (const auto& [instruction, f] : return_fixups_)
    for (uint32_t s : instances_.at(f).returns)
      for (const auto& [piece, reg] : b_.storages[s].pieces) b_.out.code[instruction].sources.push_back(Value::of(reg));
  if (!instances_.empty()) b_.out.local_bytes += b_.out.shape.stack_bytes;
}

}  // namespace coalesce::machine::flattening
