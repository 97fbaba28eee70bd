#include "machine/ptx/body.h"

#include <algorithm>
#include <utility>

namespace coalesce::ptx {
namespace {

constexpr size_t most_scopes = 256;
constexpr uint64_t most_registers = 1'000'000;          // of one function
constexpr uint64_t most_module_registers = 16'000'000;  // a short text must not claim all memory

std::string quoted(std::string_view name) { return "'" + std::string(name.substr(0, 80)) + "'"; }

}  // namespace

BodyParser::BodyParser(Reader& reader, Declarations& declarations, ModuleNames& module, Function& function)
    : in_(reader), declarations_(declarations), module_(module), function_(function) {}

void BodyParser::parse() {
  scopes_.open();
  for (auto* list : {&function_.returns, &function_.params}) {
    for (Variable& parameter : *list) {
      // Binding by the name as the text has it: the views in Scopes must outlive the variable's own string.
      const std::string& name = *parameter_names_.insert(parameter.name).first;
      if (parameter.space == Space::param) {
        scopes_.declare_variable(name, parameter.name);
        times_declared_[name]++;
      } else {
        scopes_.declare_register(name, static_cast<uint32_t>(function_.registers.size()));
        function_.registers.push_back({name, parameter.type});
      }
    }
  }
  open_scope();
  while (!levels_.empty()) statement();
  scopes_.close();
}

void BodyParser::open_scope() {
  if (levels_.size() >= most_scopes) in_.fail("braces are nested more than " + std::to_string(most_scopes) + " deep");
  in_.advance();
  scopes_.open();
  levels_.emplace_back();
}

void BodyParser::close_scope() {
  Level level = std::move(levels_.back());
  levels_.pop_back();
  for (const Pending& pending : level.pending) {
    if (const auto it = level.labels.find(pending.name); it != level.labels.end()) {
      resolve(pending, it->second);
    } else if (!levels_.empty()) {
      levels_.back().pending.push_back(pending);
    } else {
      fail_undefined(pending);
    }
  }
  scopes_.close();
  in_.advance();
}

void BodyParser::resolve(const Pending& pending, uint32_t target) {
  if (pending.element == -2) {
    function_.branch_tables[pending.instruction].targets[pending.operand] = target;
    return;
  }
  Operand* operand = &function_.body[pending.instruction].operands[pending.operand];
  if (pending.element >= 0) operand = &operand->elements[static_cast<size_t>(pending.element)];
  operand->kind = Operand::Kind::label;
  operand->target = target;
}

// A name that is no label of this function may be a symbol of the module; but nothing branches to those.
void BodyParser::fail_undefined(const Pending& pending) const {
  const bool table = pending.element == -2;
  const std::string_view mnemonic = table ? std::string_view() : function_.body[pending.instruction].mnemonic;
  if (table || mnemonic == "bra" || mnemonic == "bra.uni")
    in_.lexer.fail(pending.name.data(), "the label " + quoted(pending.name) + " is not defined in this function");
}

void BodyParser::statement() {
  if (in_.is('{')) return open_scope();
  if (in_.is('}')) return close_scope();
  if (in_.accept(';')) return;
  if (in_.is_directive()) return directive();
  const Token start = in_.token;
  if (in_.is_word()) {
    const std::string_view mnemonic = in_.lexer.mnemonic(in_.token);
    if (mnemonic.size() == start.text.size() && in_.lexer.next_is(':')) {
      in_.advance();
      in_.advance();
      return label(start.text);
    }
    in_.token.text = mnemonic;
    return instruction(start.line);
  }
  if (in_.is('@')) return instruction(start.line);
  in_.unexpected(in_.at_end() ? "'}' at the end of the function" : "an instruction, a label or a directive");
}

void BodyParser::directive() {
  const std::string_view word = in_.token.text;
  if (word == "reg") return declare_registers();
  if (word == "loc") return location();
  if (space_from(word) != Space::none) return declare_variables();
  if (word == "pragma") {
    in_.advance();
    if (in_.accept(';')) return;
    keeps_loop_ = keeps_loop_ || (in_.token.kind == Token::Kind::string && in_.token.text == "nounroll");
  }
  in_.skip_statement(true);  // other pragmas and what later versions bring
}

void BodyParser::declare_registers() {
  in_.advance();
  if (in_.is_directive("v2") || in_.is_directive("v4")) in_.fail("vector registers are not supported");
  const Type type = in_.is_directive() ? type_from(in_.token.text) : Type::none;
  if (type == Type::none) in_.unexpected("a register type such as '.b32'");
  in_.advance();
  do {
    const Token at = in_.token;
    const std::string_view name = in_.name("a register's name");
    const auto first = static_cast<uint32_t>(function_.registers.size());
    uint64_t count = 1;
    const bool range = in_.accept('<');
    if (range) {
      count = static_cast<uint64_t>(in_.integer("the number of registers"));
      in_.expect('>', "after the number of registers");
    }
    if (count > most_registers || first + count > most_registers || module_.registers + count > most_module_registers)
      in_.lexer.fail(at.text.data(), "too many registers: a function has at most " + std::to_string(most_registers) +
                                         ", a module " + std::to_string(most_module_registers));
    module_.registers += count;
    if (!(range ? scopes_.declare_range(name, first, static_cast<uint32_t>(count))
                : scopes_.declare_register(name, first)))
      in_.lexer.fail(at.text.data(), quoted(name) + " is declared twice in this scope");
    for (uint64_t i = 0; i < count; i++)
      function_.registers.push_back({range ? std::string(name) + std::to_string(i) : std::string(name), type});
  } while (in_.accept(','));
  in_.expect(';', "after the registers");
}

void BodyParser::bind_unique(std::string_view name, std::string& unique) {
  unique = name;
  const unsigned times = times_declared_[unique]++;
  // '@' occurs in no name of PTX, so the new name is unique.
  if (times > 0 || module_.symbols.contains(unique)) unique += "@" + std::to_string(times + 1);
  if (!scopes_.declare_variable(name, unique))
    in_.lexer.fail(name.data(), quoted(name) + " is declared twice in this scope");
}

void BodyParser::declare_variables() {
  std::vector<Variable> variables;
  const std::vector<std::string_view> names = declarations_.variables(false, variables);
  for (size_t i = 0; i < variables.size(); i++) {
    bind_unique(names[i], variables[i].name);
    function_.variables.push_back(std::move(variables[i]));
  }
}

void BodyParser::label(std::string_view name) {
  if (in_.is_directive("branchtargets")) return branch_table(name, true);
  if (in_.is_directive("calltargets")) return branch_table(name, false);
  if (in_.is_directive("callprototype")) return prototype(name);
  if (!levels_.back().labels.emplace(name, static_cast<uint32_t>(function_.body.size())).second)
    in_.lexer.fail(name.data(), "the label " + quoted(name) + " is defined twice in this scope");
}

// "targets: .branchtargets L1, L2;"
void BodyParser::branch_table(std::string_view name, bool branches) {
  Function::Table table;
  bind_unique(name, table.name);
  in_.advance();
  const auto index = static_cast<uint32_t>(function_.branch_tables.size());
  do {
    const std::string_view entry = in_.name(branches ? "a label" : "a function");
    if (branches) levels_.back().pending.push_back({entry, index, static_cast<uint32_t>(table.entries.size()), -2});
    table.entries.emplace_back(entry);
  } while (in_.accept(','));
  if (branches) table.targets.resize(table.entries.size());
  in_.expect(';', "after the targets");
  function_.branch_tables.push_back(std::move(table));
}

// "prototype: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b32 _) .noreturn;"
void BodyParser::prototype(std::string_view name) {
  Function::Prototype prototype;
  bind_unique(name, prototype.name);
  in_.advance();
  if (in_.is('(')) prototype.returns = declarations_.parameters();
  in_.name("'_'");
  if (in_.is('(')) prototype.params = declarations_.parameters();
  while (!in_.at_end() && !in_.is(';') && !in_.is('}')) in_.advance();
  in_.expect(';', "after the prototype");
  function_.prototypes.push_back(std::move(prototype));
}

// ".loc 1 12 5" or ".loc 2 134 3, function_name $L__info_string2+4, inlined_at 1 26 3"
void BodyParser::location() {
  in_.advance();
  Location location;
  location.file = in_.small_integer("a file's number");
  location.line = in_.small_integer("a line");
  location.column = in_.small_integer("a column");
  FunctionName function{};
  while (in_.accept(',')) {
    const std::string_view what = in_.name("'function_name' or 'inlined_at'");
    if (what == "function_name") {
      // A label in .debug_str, or that section itself.
      const bool section = in_.is_directive();
      function.label = section ? "." + std::string(in_.token.text) : std::string(in_.name("a label"));
      if (section) in_.advance();
      if (in_.is('+')) function.offset = static_cast<uint64_t>(in_.integer("an offset"));
    } else if (what == "inlined_at") {
      Location site;
      site.file = in_.small_integer("a file's number");
      site.line = in_.small_integer("a line");
      site.column = in_.small_integer("a column");
      // Compilers write the call site's own .loc first; when that was itself inlined, so is what it calls.
      const auto known = last_location_.find({site.file, site.line, site.column});
      location.inlined_at = known != last_location_.end() ? known->second : add_location(site);
    } else {
      in_.lexer.fail(what.data(), "expected 'function_name' or 'inlined_at', found " + quoted(what));
    }
  }
  location.function = function.label;
  if (function.offset != 0) location.function += "+" + std::to_string(function.offset);
  const size_t before = function_.locations.size();
  location_ = add_location(std::move(location));
  if (function_.locations.size() > before && !function.label.empty()) {
    function.location = static_cast<uint32_t>(location_);
    function_names.push_back(std::move(function));
  }
}

// The index of this location: that of an equal one when it was the last at its place.
int32_t BodyParser::add_location(Location location) {
  int32_t& last = last_location_.try_emplace({location.file, location.line, location.column}, -1).first->second;
  if (last >= 0) {
    const Location& known = function_.locations[static_cast<size_t>(last)];
    if (known.function == location.function && known.inlined_at == location.inlined_at) return last;
  }
  last = static_cast<int32_t>(function_.locations.size());
  function_.locations.push_back(std::move(location));
  return last;
}

void BodyParser::instruction(uint32_t line) {
  Instruction instruction;
  instruction.line = line;
  instruction.location = location_;
  instruction.keeps_loop = std::exchange(keeps_loop_, false);
  if (in_.accept('@')) {
    instruction.guard_negated = in_.accept('!');
    const Binding guard = in_.is_word() ? scopes_.find(in_.token.text) : Binding{};
    if (guard.kind != Binding::Kind::reg) in_.unexpected("a declared predicate register after '@'");
    instruction.guard = static_cast<int32_t>(guard.index);
    in_.advance();
    if (!in_.is_word()) in_.unexpected("an instruction after the guard");
    in_.token.text = in_.lexer.mnemonic(in_.token);
  }
  instruction.mnemonic = in_.token.text;
  in_.advance();
  while (in_.is_directive()) {  // a suffix set off by a space
    instruction.mnemonic += '.';
    instruction.mnemonic += in_.token.text;
    in_.advance();
  }
  operands_.clear();
  label_names_.clear();
  if (!in_.is(';')) {
    do operands_.push_back(operand(0));
    while (in_.accept(','));
  }
  in_.expect(';', "after the instruction");
  if (!label_names_.empty()) {
    const auto index = static_cast<uint32_t>(function_.body.size());
    const auto note = [&](Operand& operand, size_t at, int32_t element) {
      if (operand.kind != Operand::Kind::symbol || operand.target == 0) return;
      levels_.back().pending.push_back({label_names_[operand.target - 1], index, static_cast<uint32_t>(at), element});
      operand.target = 0;
    };
    for (size_t i = 0; i < operands_.size(); i++) {
      note(operands_[i], i, -1);
      for (size_t k = 0; k < operands_[i].elements.size(); k++)
        note(operands_[i].elements[k], i, static_cast<int32_t>(k));
    }
  }
  instruction.operands.assign(std::make_move_iterator(operands_.begin()), std::make_move_iterator(operands_.end()));
  function_.body.push_back(std::move(instruction));
}

}  // namespace coalesce::ptx
