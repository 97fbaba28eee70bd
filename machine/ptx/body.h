// A function's body: instructions, labels, and the declarations between them.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "machine/ptx/declaration.h"
#include "machine/ptx/module.h"
#include "machine/ptx/reader.h"
#include "machine/ptx/scope.h"

namespace coalesce::ptx {

// The module's names that bodies need, and the totals over all bodies.
struct ModuleNames {
  std::unordered_set<std::string> symbols;  // variables and functions of module scope seen so far
  uint64_t registers = 0;                   // in all functions so far
};

// A .loc directive's function_name: an offset into .debug_str, which comes after the code.
struct FunctionName {
  uint32_t location;  // index into Function::locations
  std::string label;
  uint64_t offset;
};

class BodyParser {
 public:
  BodyParser(Reader& reader, Declarations& declarations, ModuleNames& module, Function& function);

  // Parses from the '{' (the current token) past the '}' that closes it.
  void parse();
  std::vector<FunctionName> function_names;

 private:
  struct Pending {  // a name that may be a label further down
    std::string_view name;
    uint32_t instruction;  // or the branch table
    uint32_t operand;      // or the entry
    int32_t element;       // in a list or vector; -1 none; -2: `instruction` is a branch table
  };
  struct Level {
    std::unordered_map<std::string_view, uint32_t> labels;
    std::vector<Pending> pending;
  };

  void statement();
  void open_scope();
  void close_scope();
  void directive();
  void declare_registers();
  void declare_variables();
  // Binds `name` in this scope; `unique` becomes what it is called in the whole function.
  void bind_unique(std::string_view name, std::string& unique);
  void location();
  int32_t add_location(Location location);
  void label(std::string_view name);
  void branch_table(std::string_view name, bool branches);
  void prototype(std::string_view name);
  void instruction(uint32_t line);
  Operand operand(unsigned depth);
  Operand address(unsigned depth);
  Operand sequence(Operand::Kind kind, char close, unsigned depth);
  Operand word(bool may_be_label);
  int32_t register_here(std::string_view what);
  void resolve(const Pending& pending, uint32_t target);
  void fail_undefined(const Pending& pending) const;

  Reader& in_;
  Declarations& declarations_;
  ModuleNames& module_;
  Function& function_;
  std::unordered_set<std::string> parameter_names_;
  Scopes scopes_;
  std::vector<Level> levels_;
  std::vector<Operand> operands_;              // of the instruction being read
  std::vector<std::string_view> label_names_;  // names in it that may be labels, in reading order
  std::unordered_map<std::string, uint32_t> times_declared_;
  std::map<std::array<uint32_t, 3>, int32_t> last_location_;  // by file, line, column
  int32_t location_ = -1;
  bool keeps_loop_ = false;  // of the next instruction
};

}  // namespace coalesce::ptx
