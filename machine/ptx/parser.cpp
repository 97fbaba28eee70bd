#include "machine/ptx/parser.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "machine/ptx/body.h"
#include "machine/ptx/declaration.h"
#include "machine/ptx/reader.h"

namespace coalesce::ptx {
namespace {

// Statements of module scope.
class ModuleParser {
 public:
  ModuleParser(Module& module, const std::string& name)
      : module_(module), in_(module.text, name), declarations_(in_, module.address_size) {}

  void parse() {
    if (in_.at_end()) in_.fail("there is no PTX in this text");
    while (!in_.at_end()) statement();
    resolve_function_names();
  }

 private:
  void statement();
  void version();
  void target();
  void file();
  void section();
  void debug_strings();
  void alias();
  void declaration();
  void function(bool is_entry, Linkage linkage, uint32_t line);
  void performance_directives(Function& function);
  void dimensions(uint32_t (&out)[3]);
  void resolve_function_names();

  Module& module_;
  Reader in_;
  Declarations declarations_;
  ModuleNames names_;
  std::vector<std::pair<size_t, std::vector<FunctionName>>> function_names_;  // by function
  std::string debug_strings_;
  std::unordered_map<std::string, size_t> debug_labels_;  // where in debug_strings_ they stand
};

void ModuleParser::statement() {
  if (in_.accept(';')) return;
  if (!in_.is_directive()) {
    // Labels around functions (debug information refers to them).
    if (in_.is_word() && in_.lexer.next_is(':')) {
      in_.advance();
      return in_.advance();
    }
    in_.unexpected("a directive such as '.version' or '.entry'");
  }
  const std::string_view word = in_.token.text;
  if (word == "version") return version();
  if (word == "target") return target();
  if (word == "file") return file();
  if (word == "section") return section();
  if (word == "alias") return alias();
  if (word == "address_size") {
    in_.advance();
    const Token at = in_.token;
    module_.address_size = in_.small_integer("an address size");
    if (module_.address_size != 32 && module_.address_size != 64)
      in_.lexer.fail(at.text.data(), "the address size must be 32 or 64");
    return;
  }
  if (word == "loc") {
    in_.advance();
    while (in_.token.kind == Token::Kind::number) in_.advance();
    return;
  }
  if (word == "visible" || word == "extern" || word == "weak" || word == "common" || word == "entry" ||
      word == "func" || space_from(word) != Space::none)
    return declaration();
  in_.skip_statement(false);
}

void ModuleParser::version() {
  in_.advance();
  // "9.0" is two integers here, not a real: 7.10 is later than 7.9.
  const std::string_view text = in_.token.text;
  const size_t point = text.find('.');
  Number major, minor;
  if (in_.token.kind != Token::Kind::number || point == std::string_view::npos || text.size() > 8 ||
      !decode_number(text.substr(0, point), major) || !decode_number(text.substr(point + 1), minor) || major.is_real ||
      minor.is_real)
    in_.unexpected("a version such as 8.5");
  module_.version_major = static_cast<unsigned>(major.bits);
  module_.version_minor = static_cast<unsigned>(minor.bits);
  in_.advance();
}

// The architectures of PTX ISA 9.0, each also as compute_; with `a` or `f` from 90 and 100 on. A driver refuses others.
bool is_architecture(std::string_view name) {
  if (!name.starts_with("sm_") && !name.starts_with("compute_")) return false;
  name.remove_prefix(name.find('_') + 1);
  const bool specific = name.ends_with('a'), family = name.ends_with('f');
  if (specific || family) name.remove_suffix(1);
  static constexpr std::string_view kOld[] = {"10", "11", "12", "13", "20", "21", "30", "32", "35", "37", "50", "52",
                                              "53", "60", "61", "62", "70", "72", "75", "80", "86", "87", "88", "89"};
  static constexpr std::string_view kNew[] = {"100", "101", "103", "110", "120", "121"};
  if (std::ranges::count(kNew, name) != 0) return true;
  return !family && (name == "90" || (!specific && std::ranges::count(kOld, name) != 0));
}

void ModuleParser::target() {
  in_.advance();
  const Token at = in_.token;
  module_.target = in_.name("a target such as sm_90");
  if (!is_architecture(module_.target))
    in_.lexer.fail(at.text.data(), "no architecture is called '" + module_.target + "'; PTX has sm_10 to sm_121");
  while (in_.accept(',')) in_.name("a target option");
}

// .file 1 "path", 1689012345, 4711   or   .file 1 "folder" "name"
void ModuleParser::file() {
  in_.advance();
  const uint32_t index = in_.small_integer("a file's number");
  std::string path = in_.string("a file's path in quotes");
  if (in_.token.kind == Token::Kind::string) path += "/" + in_.string("a file's name");
  while (in_.accept(',')) in_.integer("a time or a size");
  module_.files.emplace_back(index, std::move(path));
}

void ModuleParser::section() {
  in_.advance();
  const bool strings = in_.is_directive("debug_str");
  if (!in_.is_directive() && !in_.is_word()) in_.unexpected("a section's name");
  in_.advance();
  if (!in_.is('{')) in_.unexpected("'{' after the section's name");
  if (strings) return debug_strings();
  in_.lexer.skip_block(in_.token);
  in_.advance();
}

// .section .debug_str { $L__info_string0: .b8 95 ... }: where inlined functions' names are. Whatever else stands there
// is passed over.
void ModuleParser::debug_strings() {
  debug_labels_[".debug_str"] = debug_strings_.size();
  in_.advance();
  while (!in_.is('}')) {
    if (in_.at_end()) in_.unexpected("'}' at the end of the section");
    if (in_.is('{')) {
      in_.lexer.skip_block(in_.token);
    } else if (in_.is_word() && in_.lexer.next_is(':')) {
      debug_labels_[std::string(in_.token.text)] = debug_strings_.size();
    } else if (Number byte;
               in_.token.kind == Token::Kind::number && decode_number(in_.token.text, byte) && byte.bits < 256) {
      debug_strings_ += static_cast<char>(byte.bits);
    }
    in_.advance();
  }
  in_.advance();
}

void ModuleParser::resolve_function_names() {
  for (const auto& [function, names] : function_names_) {
    for (const FunctionName& name : names) {
      const auto label = debug_labels_.find(name.label);
      if (label == debug_labels_.end() || name.offset >= debug_strings_.size() - label->second) continue;
      const char* text = debug_strings_.c_str() + label->second + name.offset;
      module_.functions[function].locations[name.location].function = text;
    }
  }
}

// .alias name, target;
void ModuleParser::alias() {
  in_.advance();
  std::string name(in_.name("an alias"));
  in_.expect(',', "after the alias");
  module_.aliases.emplace_back(std::move(name), std::string(in_.name("a function")));
  in_.expect(';', "after the alias");
}

void ModuleParser::declaration() {
  bool is_extern = false;
  Linkage linkage = Linkage::local;
  while (in_.is_directive("visible") || in_.is_directive("extern") || in_.is_directive("weak") ||
         in_.is_directive("common")) {
    is_extern |= in_.is_directive("extern");
    linkage = in_.is_directive("weak") || in_.is_directive("common") ? Linkage::weak : Linkage::visible;
    in_.advance();
  }
  const uint32_t line = in_.token.line;
  if (in_.accept_directive("entry")) return function(true, linkage, line);
  if (in_.accept_directive("func")) return function(false, linkage, line);
  if (!in_.is_directive()) in_.unexpected("'.entry', '.func' or a state space such as '.global'");
  const size_t first = module_.variables.size();
  declarations_.variables(is_extern, module_.variables);
  for (size_t i = first; i < module_.variables.size(); i++) {
    module_.variables[i].linkage = linkage;
    names_.symbols.insert(module_.variables[i].name);
  }
}

void ModuleParser::function(bool is_entry, Linkage linkage, uint32_t line) {
  Function function;
  function.linkage = linkage;
  function.is_entry = is_entry;
  function.line = line;
  while (in_.is_directive("attribute") || in_.is_directive("noreturn")) {
    in_.advance();
    if (!in_.is('(')) continue;
    for (unsigned depth = 0; !in_.at_end() && !in_.is(';');) {
      depth += in_.is('(');
      depth -= in_.is(')');
      in_.advance();
      if (depth == 0) break;
    }
  }
  if (in_.is('(')) function.returns = declarations_.parameters();
  function.name = in_.name(is_entry ? "a kernel's name" : "a function's name");
  names_.symbols.insert(function.name);
  if (in_.is('(')) function.params = declarations_.parameters();
  performance_directives(function);
  if (in_.is(';')) {
    in_.advance();
    function.is_declaration = true;
  } else if (in_.is('{')) {
    BodyParser body(in_, declarations_, names_, function);
    body.parse();
    if (!body.function_names.empty())
      function_names_.emplace_back(module_.functions.size(), std::move(body.function_names));
  } else {
    in_.unexpected("'{' or ';' after the head of '" + function.name.substr(0, 80) + "'");
  }
  module_.functions.push_back(std::move(function));
}

// .maxntid 128, 1, 1 .minnctapersm 4 .pragma "nounroll"; ...: up to '{' or ';'
void ModuleParser::performance_directives(Function& function) {
  while (in_.is_directive()) {
    if (in_.accept_directive("maxntid")) {
      dimensions(function.max_threads);
    } else if (in_.accept_directive("reqntid")) {
      dimensions(function.required_threads);
    } else if (in_.accept_directive("maxnreg")) {
      function.most_registers = in_.small_integer("a number of registers");
    } else if (in_.accept_directive("reqnctapercluster")) {
      dimensions(function.cluster);
    } else if (in_.accept_directive("pragma")) {
      do in_.string("a pragma in quotes");
      while (in_.accept(','));
      in_.expect(';', "after the pragma");
    } else {
      in_.advance();
      while (!in_.at_end() && !in_.is_directive() && !in_.is('{') && !in_.is(';') && !in_.is('}')) in_.advance();
    }
  }
}

// One to three numbers; those not given are 1.
void ModuleParser::dimensions(uint32_t (&out)[3]) {
  out[1] = out[2] = 1;
  out[0] = in_.small_integer("a number of threads");
  for (unsigned i = 1; i < 3 && in_.accept(','); i++) out[i] = in_.small_integer("a number of threads");
}

}  // namespace

Module parse(std::string text, const std::string& name) {
  Module module;
  module.text = std::move(text);
  ModuleParser(module, name).parse();
  return module;
}

}  // namespace coalesce::ptx
