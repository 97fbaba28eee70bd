// Calls. Most are inlined. A function that is recursive, or too deep to inline, is an instance: its body stands once in
// the program, with registers of its own; a call saves what the caller still needs (lower_instruction.cpp finds it by
// liveness), goes there, and comes back at a join of the lanes that called together. A call through a pointer asks for
// each function whose address the program takes whether it is meant, and calls that one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "machine/program/program.h"

namespace coalesce::machine::flattening {

struct Builder;
struct Frame;

class Calls {
 public:
  explicit Calls(Builder& b);
  void flatten(const ptx::Function& f, Frame& frame);  // the function's body
  void flatten_instances();  // bodies of all instances, after the kernel's; then what could not be known before
  void call();
  void leave(bool whole_thread);  // ret, exit

  bool in_instance() const { return instance_ != nullptr; }
  uint32_t frame_base() const;                                // of an instance: register, where its local memory begins
  const ptx::Function* defined(std::string_view name) const;  // by the module; null: it is not

 private:
  struct Arguments {
    std::vector<uint32_t> results, arguments;  // storages
    std::vector<std::string> result_names;     // the caller's names of the results
  };
  struct Instance {
    std::vector<uint32_t> params, returns;  // storages
    uint32_t frame_base = kNone;            // register: where its local memory begins
    uint32_t entry = 0, frame_bytes = 0;
  };
  void declare_variables(const ptx::Function& f, Frame& frame);
  bool call_builtin(const std::string& callee, const Arguments& a);
  bool call_service(const std::string& callee, const Arguments& a);
  void call_function(const ptx::Function& f, const Arguments& a);
  void call_inline(const ptx::Function& f, const Arguments& a);
  void call_instance(const ptx::Function& f, const Arguments& a);
  void call_pointer(const ptx::Operand& callee, const std::string& prototype, const Arguments& a);
  void leave_instance();
  uint32_t new_storage(const ptx::Function& owner, const ptx::Variable& v);
  uint32_t piece_of(uint32_t storage, uint32_t offset, uint32_t width);
  const std::unordered_set<std::string_view>& taken();

  Builder& b_;
  std::unordered_map<std::string_view, const ptx::Function*> defined_;  // by name
  std::optional<std::unordered_set<std::string_view>> taken_;           // see taken()
  std::vector<const ptx::Function*> inlined_;                           // the functions around the instruction
  std::map<const ptx::Function*, Instance> instances_;
  std::vector<const ptx::Function*> todo_;
  const ptx::Function* instance_ = nullptr;  // being flattened; null: the kernel
  std::vector<std::pair<uint32_t, const ptx::Function*>> frame_fixups_, call_fixups_, return_fixups_;
};

}  // namespace coalesce::machine::flattening
