// Flattening: a kernel's PTX and the functions it calls become one list of instructions over one set of registers.
// Calls are inlined; what is passed through .param variables becomes registers (or local memory where it overlaps).
//
// A Builder holds the program that is being made. Each opcode has a function that appends its instructions to it
// (opcodes.h). What is where:
//   kernel.cpp       the kernel as a whole: where its variables lie, its functions one after the other
//   builder.cpp      instructions and memory operations that are appended; values.cpp: registers and operands
//   calls.cpp        functions: inlined, or bodies of their own (instances.cpp); stack.cpp: alloca
//   opcodes.cpp      which function flattens which opcode
//   compute.cpp      instructions that compute: one row of the table, or several (compose.cpp, video.cpp)
//   control.cpp      branches and barriers; lanes.cpp: what the lanes of a warp do together; hints.cpp: fences, groups
//   memory.cpp       loads and stores; atomics.cpp, mbarrier.cpp, parameters.cpp, addresses.cpp, texture.cpp
//   async_copy.cpp   cp.async; bulk.cpp: bulk copies and tensors; cluster.cpp
//   matrix.cpp       products of matrices; fragment.cpp: wmma's loads and stores; group.cpp: wgmma
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "machine/program/flatten/calls.h"
#include "machine/program/program.h"

namespace coalesce::machine::flattening {

using Operand = ptx::Operand::Kind;

// "ld.global.v4.f32" -> opcode "ld", suffixes {"global", "v4", "f32"}.
struct Mnemonic {
  explicit Mnemonic(std::string_view text);
  bool has(std::string_view suffix) const;
  std::string_view opcode;
  std::vector<std::string_view> suffixes;
};

// The element a register of this PTX type has.
Element element_of(ptx::Type type);

// The feature of an instruction that is known but not executed ("textures"); empty: unknown.
std::string_view unsupported(std::string_view mnemonic);

// Variables that .param names stand for while a call is being inlined: pieces by (offset, size), each a register.
struct ParamStorage {
  std::string owner, name;  // function and variable, for the retry in memory
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> pieces = {};
  bool in_memory = false;
  uint32_t local_offset = 0;
};
using ParamNames = std::set<std::pair<std::string, std::string>>;  // owner, name

struct ParamConflict {  // thrown inside flatten(): this storage must live in memory; start again
  std::string owner, name;
};

// One function being flattened.
struct Frame {
  const ptx::Function* function = nullptr;
  std::vector<uint32_t> registers;         // the function's registers -> the program's
  std::map<std::string, uint32_t> params;  // .param name -> index of storage (device functions, call arguments)
  std::map<std::string, uint32_t> locals;  // .local variable -> local offset
  std::vector<uint32_t> starts;            // body index -> first instruction of it (one past the end too)
  std::vector<std::pair<uint32_t, uint32_t>> branches;                   // instruction, body index it goes to
  std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> table_branches;  // instruction, slot, body index
  std::vector<uint32_t> places;                                          // location index -> place
  std::vector<uint32_t> returns;                                         // instructions that leave the function
};

struct Builder {
  Builder(const ptx::Module& module, const ptx::Function& kernel, const SymbolTable& symbols, Decoded& out,
          const ParamNames& in_memory);
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  // --- Registers (values.cpp)
  uint32_t new_register(Element element);
  uint32_t builtin(Builtin which, Element element = Element::b32);
  uint32_t carry();
  // The program's register that stands for one of the function's.
  uint32_t mapped(int32_t reg) const { return frame->registers[static_cast<std::size_t>(reg)]; }
  Element element(uint32_t r) const { return out.registers[r].element; }

  // --- Operands (values.cpp)
  Value value(const ptx::Operand& o, Element wanted);
  // `v` as a value of element `wanted`: widened or narrowed by a helper instruction where the register is of another
  // size, as PTX lets registers be wider than the operation reads.
  Value fitted(Value v, Element wanted);
  // The register that an operation producing `produced` writes for destination `o`. Where the real register is wider, a
  // temporary is returned and the widening queued until finish_results().
  uint32_t result(const ptx::Operand& o, Element produced, bool is_signed);
  void finish_results();
  MemoryOp address(const ptx::Operand& o);
  int64_t symbol_value(const std::string& name, int64_t offset);
  uint32_t array_of(const std::string& name);
  bool is_kernel() const { return frame->function == &kernel; }

  // --- Instructions (builder.cpp)
  Instruction& emit(Kind kind);
  // A row of the table. One that does not count writes temporaries only, in all lanes.
  Instruction& emit_pure(std::string_view row, std::vector<uint32_t> results, std::vector<Value> sources, bool counts);
  // One that writes results of the program's own: under the instruction's guard, and `counts` says whether for it.
  void emit_final(std::string_view row, std::vector<uint32_t> results, std::vector<Value> sources, bool counts);
  Value compute(std::string_view row, std::vector<Value> sources);  // into a temporary of its own
  Instruction& emit_nothing(Nothing what = Nothing::nothing);
  void emit_service(std::string_view name, std::vector<Value> words, uint32_t to);
  // One load or store that is a part of the instruction, under `guard` (kNone: under the instruction's own).
  void emit_access(Kind kind, MemoryOp op, uint32_t guard, bool counts);
  uint32_t add_memory(MemoryOp op, Kind kind);  // with its site
  uint32_t add_uncounted(const MemoryOp& op);   // without
  uint32_t next() const { return static_cast<uint32_t>(out.code.size()); }
  uint32_t last() const { return next() - 1; }
  [[noreturn]] void fail(const std::string& message) const;
  void unknown(const std::string& why = {});
  void wrong_number();  // of operands

  const ptx::Module& module;
  const ptx::Function& kernel;
  const SymbolTable& symbols;
  Decoded& out;
  const ParamNames& in_memory;
  std::vector<uint32_t> parameter_offsets;  // the kernel's
  std::map<std::string, uint32_t> shared;   // variable -> offset
  std::vector<ParamStorage> storages;
  Calls calls{*this};
  uint32_t stack_pointer = kNone, stack_start = kNone;  // alloca's, where the program uses it; who sets it
  Frame* frame = nullptr;
  const ptx::Instruction* in = nullptr;  // being translated
  const Mnemonic* m = nullptr;
  const ptx::Instruction end{};  // what stands for the end of the text

 private:
  uint32_t place_of();

  std::map<std::pair<int, int>, uint32_t> builtins_;
  uint32_t carry_ = kNone;
  struct Pending {
    uint32_t from, to;
    bool is_signed;
  };
  std::vector<Pending> pending_;  // results to widen into their real registers
};

}  // namespace coalesce::machine::flattening
