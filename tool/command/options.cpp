#include "tool/command/options.h"

#include "tool/command/option_kinds.h"
#include "tool/figures/error.h"
#include "tool/figures/metrics.h"

namespace coalesce::tool {
namespace {

[[noreturn]] void unknown_option(const CLI::App& command, const std::string& word, const std::string& more) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& known : option->get_lnames()) names.push_back("--" + known);
  }
  const auto near = nearest(word.substr(0, word.find('=')), names, 1);
  throw Error(
      Exit::usage, "unknown option '" + word + "'",
      near.empty() ? "coalesce " + command.get_name() + " --help lists them" + more : "did you mean " + near[0] + "?");
}

}  // namespace

void add_options(CLI::App& app, Options& options) {
  app.require_subcommand(0, 1);
  app.allow_extras();
  add_run(app, options.run);
  add_check(app, options.check);
  add_lab(app, options.lab);
  add_banks(app, options.banks);
  add_compare(app, options.compare);
  add_reduce(app, options.reduce);
  CLI::App* counters = app.add_subcommand("counters", "Explain every counter and metric");
  counters->add_flag("--markdown", options.markdown, "As the tables in docs/counters.md");
  counters->add_flag("--ncu", options.ncu, "Only the names of Nsight Compute that `coalesce compare` understands");
  counters->footer("Examples:\n  coalesce counters\n  coalesce counters --markdown\n  coalesce counters --ncu");
  CLI::App* completion = app.add_subcommand("completion", "Print a completion script for a shell");
  completion->add_option("shell", options.shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""))
      ->type_name("SHELL");
  completion->footer(
      "Examples:\n"
      "  source <(coalesce completion bash)\n"
      "  coalesce completion zsh > ~/.zfunc/_coalesce\n"
      "  coalesce completion fish > ~/.config/fish/completions/coalesce.fish");
  app.add_subcommand("man", "Print the manual page, in the language of man(1)")
      ->footer("Examples:\n  coalesce man | man -l -");
}

void take_program(const CLI::App& app, const std::string& name, std::vector<std::string>& program) {
  const CLI::App* command = app.get_subcommand(name);
  program = command->remaining();
  // CLI11 gives what stands behind a "--" to the command above.
  for (std::string& word : app.remaining()) program.push_back(std::move(word));
  if (program.empty()) return;
  std::string& first = program.front();
  if (first == "--") {
    program.erase(program.begin());
  } else if (first.starts_with('-')) {
    unknown_option(*command, first, "; the program's own options come after its name");
  }
}

void refuse_leftovers(const CLI::App& app, const CLI::App& command) {
  std::vector<std::string> words = command.remaining();
  for (std::string& word : app.remaining()) words.push_back(std::move(word));
  if (words.empty()) return;
  if (words[0].starts_with('-')) unknown_option(command, words[0], "");
  throw Error(Exit::usage, "coalesce " + command.get_name() + " has no use for '" + words[0] + "'",
              "coalesce " + command.get_name() + " --help");
}

const machine::Device& find_device(const std::string& key) {
  if (const machine::Device* device = machine::find_device(key)) return *device;
  std::string known;
  for (const machine::Device& device : machine::devices())
    known += (known.empty() ? "" : ", ") + std::string(device.key);
  throw Error(Exit::usage, "unknown device '" + key + "'", "known devices: " + known);
}

}  // namespace coalesce::tool
