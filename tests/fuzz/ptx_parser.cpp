// The PTX parser on arbitrary bytes: it gives a module whose indices all hold, or throws machine::Error. Nothing else.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "machine/diagnostic.h"
#include "machine/ptx/parser.h"

namespace {

using namespace coalesce;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const ptx::Operand& operand, const ptx::Function& function) {
  const auto registers = static_cast<int32_t>(function.registers.size());
  require(operand.reg < registers && operand.reg2 < registers);
  if (operand.kind == ptx::Operand::Kind::label) {
    require(operand.target <= function.body.size());
  } else {
    require(operand.target == 0);
  }
  for (const ptx::Operand& element : operand.elements) check(element, function);
}

void check(const ptx::Variable& variable) {
  require(variable.initial.empty() || variable.initial.size() == variable.size);
  for (const ptx::Relocation& r : variable.relocations) require(r.at + r.size <= variable.size);
}

void check(const ptx::Function& function) {
  for (const ptx::Instruction& instruction : function.body) {
    require(!instruction.mnemonic.empty());
    require(instruction.guard < static_cast<int32_t>(function.registers.size()));
    require(instruction.location < static_cast<int32_t>(function.locations.size()));
    for (const ptx::Operand& operand : instruction.operands) check(operand, function);
  }
  for (size_t i = 0; i < function.locations.size(); i++)
    require(function.locations[i].inlined_at < static_cast<int32_t>(i));  // chains of call sites end
  for (const ptx::Function::Table& table : function.branch_tables)
    for (const uint32_t target : table.targets) require(target <= function.body.size());
  for (const ptx::Variable& variable : function.variables) check(variable);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const ptx::Module module = ptx::parse(std::string(reinterpret_cast<const char*>(data), size), "fuzz.ptx");
    for (const ptx::Variable& variable : module.variables) check(variable);
    for (const ptx::Function& function : module.functions) check(function);
  } catch (const machine::Error& error) {
    const machine::Diagnostic& d = error.diagnostic;
    require(!d.message.empty() && d.place.line > 0 && d.place.column > 0);
    require(!machine::render(d, true).empty());
  }
  return 0;
}
