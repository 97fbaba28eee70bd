// A loaded module: its text parsed, its variables placed in the machine's memory, its kernels decoded on first use.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "machine/api/machine.h"
#include "machine/execute/code.h"
#include "machine/program/program.h"
#include "machine/ptx/module.h"

namespace coalesce::machine {

class LoadedProgram final : public Program, public SymbolTable {
 public:
  // Throws Error if a variable cannot be allocated.
  LoadedProgram(Memory& memory, const Device& device, ptx::Module module, const Places& places,
                uint32_t most_registers);
  ~LoadedProgram() override;

  // --- Program
  const KernelInfo* kernel(std::string_view name) const override;
  const VariableInfo* variable(std::string_view name) const override;
  std::vector<std::string> kernels() const override;
  std::vector<std::string> variables() const override;
  void know_machine_code(MachineCodes of_kernels) override;

  // --- SymbolTable
  using SymbolTable::Symbol;
  Symbol symbol(const std::string& name) const override;
  uint64_t function_address(const std::string& name) const override;

  // The kernel of that function_address(); empty: there is none.
  std::string kernel_at(uint64_t address) const;

  // The kernel's code for launches of this shape, decoded and lowered at its first use. Throws Error.
  const Code& code(std::string_view name, const LaunchShape& shape, Model model, bool checked);

  const ptx::Module& module() const { return module_; }
  const ptx::Function* find(std::string_view name) const;  // a kernel; null: there is none
  // The line of PTX, without its indentation, for diagnostics.
  std::string line_text(uint32_t line) const;

 private:
  void place(const ptx::Variable& v, const Places& places);
  void initialise(const ptx::Variable& v);
  const MachineCode* machine_code(std::string_view name) const;  // null: not known

  Memory& memory_;
  const Device& device_;
  ptx::Module module_;
  uint32_t most_registers_;  // of a thread; 0: as many as it needs
  MachineCodes machine_code_;
  std::vector<std::size_t> lines_;  // where each line of the text begins
  std::map<std::string, VariableInfo> variables_;
  std::set<std::string> shared_;  // variables that are another program's
  mutable std::map<std::string, KernelInfo> infos_;
  std::map<std::string, std::map<LaunchShape, std::shared_ptr<const Code>>> codes_;
};

}  // namespace coalesce::machine
