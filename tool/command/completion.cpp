#include "tool/command/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <vector>

#include "machine/device.h"
#include "machine/engine.h"
#include "machine/model.h"
#include "tool/figures/hazards.h"

namespace coalesce::tool {
namespace {

struct Flag {
  std::vector<std::string> names;  // with their dashes
  std::string description;
  bool takes_value = false;
  std::vector<std::string> values = {};  // empty: files
};

struct Subcommand {
  std::string name, description;
  std::vector<Flag> flags;
  std::vector<std::string> words;  // positional choices
  bool files = false;              // positional files
};

template <class T, std::size_t N>
std::vector<std::string> words_of(const machine::Names<T, N>& names) {
  std::vector<std::string> words;
  for (const auto& [name, value] : names) words.emplace_back(name);
  return words;
}

// The values of an option, if they are a short list. The options' own descriptions name them for people.
std::vector<std::string> values_of(const std::string& option) {
  std::vector<std::string> devices;
  for (const machine::Device& device : machine::devices()) devices.emplace_back(device.key);
  if (option == "device") return devices;
  if (option == "engine") return words_of(machine::kEngines);
  if (option == "model") return words_of(machine::kModels);
  if (option == "color") return {"auto", "always", "never"};
  if (option == "compiler") return {"auto", "nvcc", "clang"};
  if (option == "leaks") return {"note", "error", "off"};
  if (option == "disable") return hazard_kinds();
  if (option == "on") return {"machine", "gpu", "both", "auto"};
  if (option == "format") return {"text", "github", "gcc"};
  return {};
}

std::vector<Subcommand> describe(const CLI::App& app) {
  std::vector<Subcommand> result;
  for (const CLI::App* command : app.get_subcommands({})) {
    Subcommand sub{.name = command->get_name(), .description = command->get_description(), .flags = {}, .words = {}};
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_positional() && option->get_lnames().empty() && option->get_snames().empty()) continue;
      Flag flag{.names = {}, .description = option->get_description(), .takes_value = option->get_expected_max() > 0};
      for (const std::string& name : option->get_lnames()) flag.names.push_back("--" + name);
      for (const std::string& name : option->get_snames()) flag.names.push_back("-" + name);
      if (!option->get_lnames().empty()) flag.values = values_of(option->get_lnames()[0]);
      sub.flags.push_back(std::move(flag));
    }
    sub.files = sub.name == "run" || sub.name == "check" || sub.name == "compare" || sub.name == "reduce";
    if (sub.name == "completion") sub.words = {"bash", "zsh", "fish"};
    if (sub.name == "lab") sub.words = {"all", "list"};
    result.push_back(std::move(sub));
  }
  return result;
}

// Inside single quotes of a shell.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string bash(const std::vector<Subcommand>& commands) {
  std::string names, cases;
  for (const Subcommand& command : commands) {
    names += (names.empty() ? "" : " ") + command.name;
    std::string flags, values;
    for (const Flag& flag : command.flags) {
      flags += fmt::format("{} ", fmt::join(flag.names, " "));
      if (!flag.takes_value) continue;
      values +=
          fmt::format("        {}) COMPREPLY=($(compgen {} -- \"$word\")); return ;;\n", fmt::join(flag.names, "|"),
                      flag.values.empty() ? "-f" : fmt::format("-W '{}'", fmt::join(flag.values, " ")));
    }
    cases += fmt::format("    {})\n      case \"$before\" in\n{}      esac\n", command.name, values);
    if (command.files) {
      // The program's own arguments follow its name: files are the best guess.
      cases += fmt::format(
          "      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W '{}' -- \"$word\")); else COMPREPLY=($(compgen -c "
          "-f -- \"$word\")); fi ;;\n",
          flags);
    } else {
      cases +=
          fmt::format("      COMPREPLY=($(compgen -W '{}{}' -- \"$word\")) ;;\n", flags, fmt::join(command.words, " "));
    }
  }
  return fmt::format(
      "# Made by `coalesce completion bash`.\n"
      "_coalesce() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  COMPREPLY=()\n"
      "  if [[ $COMP_CWORD -eq 1 ]]; then COMPREPLY=($(compgen -W '{} --help --version' -- \"$word\")); return; fi\n"
      "  case ${{COMP_WORDS[1]}} in\n{}  esac\n}}\n"
      "complete -o filenames -F _coalesce coalesce\n",
      names, cases);
}

// _arguments reads colons and brackets as its own.
std::string zsh_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == ':' || c == '[' || c == ']') result += '\\';
    result += c;
  }
  return result;
}

std::string zsh(const std::vector<Subcommand>& commands) {
  std::string names, cases;
  for (const Subcommand& command : commands) {
    names += "    " + quoted(command.name + ":" + zsh_text(command.description)) + "\n";
    cases += fmt::format("    {})\n      _arguments", command.name);
    for (const Flag& flag : command.flags) {
      const std::string value = !flag.takes_value     ? ""
                                : flag.values.empty() ? ":value:_files"
                                                      : fmt::format(":value:({})", fmt::join(flag.values, " "));
      for (const std::string& name : flag.names) {
        cases += " \\\n        " + quoted(fmt::format("{}[{}]{}", name, zsh_text(flag.description), value));
      }
    }
    if (command.files) cases += " \\\n        '1:program:_files' '*::argument:_files'";
    if (!command.words.empty()) cases += fmt::format(" \\\n        '*:word:({})'", fmt::join(command.words, " "));
    cases += " ;;\n";
  }
  return fmt::format(
      "#compdef coalesce\n# Made by `coalesce completion zsh`.\n"
      "_coalesce() {{\n  local -a commands=(\n{}  )\n"
      "  if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
      "  local command=$words[2]\n  shift words; (( CURRENT-- ))\n"
      "  case $command in\n{}  esac\n}}\n"
      "if [[ $funcstack[1] == _coalesce ]]; then _coalesce \"$@\"; else compdef _coalesce coalesce; fi\n",
      names, cases);
}

std::string fish(const std::vector<Subcommand>& commands) {
  std::string text = "# Made by `coalesce completion fish`.\n";
  for (const Subcommand& command : commands) {
    text += fmt::format("complete -c coalesce -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                        quoted(command.description));
    const std::string seen = fmt::format("-n '__fish_seen_subcommand_from {}'", command.name);
    for (const Flag& flag : command.flags) {
      text += "complete -c coalesce " + seen;
      for (const std::string& name : flag.names) {
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (flag.takes_value)
        text += flag.values.empty() ? " -r -F" : fmt::format(" -x -a '{}'", fmt::join(flag.values, " "));
      text += " -d " + quoted(flag.description) + "\n";
    }
    if (!command.words.empty())
      text += fmt::format("complete -c coalesce {} -f -a '{}'\n", seen, fmt::join(command.words, " "));
  }
  return text;
}

}  // namespace

std::string completion_script(const CLI::App& app, const std::string& shell) {
  const std::vector<Subcommand> commands = describe(app);
  return shell == "zsh" ? zsh(commands) : shell == "fish" ? fish(commands) : bash(commands);
}

}  // namespace coalesce::tool
