// The command `coalesce`: subcommands, errors and exit codes; the work is in run.cpp, lab.cpp and the files they use.
#include "tool/command/command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "tool/command/banks.h"
#include "tool/command/check.h"
#include "tool/command/compare.h"
#include "tool/command/completion.h"
#include "tool/command/execute.h"
#include "tool/command/lab.h"
#include "tool/command/manual.h"
#include "tool/command/options.h"
#include "tool/command/reduce.h"
#include "tool/command/run.h"
#include "tool/figures/error.h"
#include "tool/figures/launches.h"
#include "tool/figures/metrics.h"
#include "tool/present/metrics.h"

namespace coalesce::tool {
namespace {

int dispatch(const CLI::App& app, Options& options) {
  if (app.got_subcommand("run")) {
    if (options.run.metrics != "list") take_program(app, "run", options.run.program);
    return run(options.run);
  }
  if (app.got_subcommand("check")) {
    take_program(app, "check", options.check.program);
    return check(options.check);
  }
  for (const CLI::App* command : app.get_subcommands()) refuse_leftovers(app, *command);
  if (app.got_subcommand("lab")) return lab(options.lab);
  if (app.got_subcommand("banks")) return banks(options.banks);
  if (app.got_subcommand("compare")) return compare(options.compare);
  if (app.got_subcommand("reduce")) return reduce(options.reduce);
  if (app.get_subcommands().empty()) {
    const std::vector<std::string> words = app.remaining();
    if (words.empty()) throw Error(Exit::usage, "which command?", "coalesce --help lists them");
    std::error_code ignored;
    if (is_source(words[0]) || std::filesystem::exists(words[0], ignored))
      throw Error(Exit::usage, "unknown command '" + words[0] + "'", "to run it: coalesce run " + words[0]);
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
    const auto near = nearest(words[0], names, 1);
    throw Error(Exit::usage, "unknown command '" + words[0] + "'",
                near.empty() ? "coalesce --help lists them" : "did you mean " + near[0] + "?");
  }
  if (app.got_subcommand("completion")) {
    std::cout << completion_script(app, options.shell);
    return 0;
  }
  if (app.got_subcommand("man")) {
    std::cout << manual_page(app);
    return 0;
  }
  if (options.ncu) {
    std::cout << ncu_metrics() << '\n';
  } else if (options.markdown) {
    print_counters_markdown(std::cout);
  } else {
    list_metrics(std::cout, use_colour(Colour::automatic, STDOUT_FILENO));
  }
  return 0;
}

// Throws if printed text does not arrive (a full disk, a closed descriptor), so that the command does not end with
// success.
void flush_standard_output() {
  errno = 0;
  std::cout.flush();
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::cout && std::ferror(stdout) == 0) return;
  throw Error(Exit::environment,
              "cannot write to standard output" + (errno == 0 ? "" : std::string(": ") + std::strerror(errno)));
}

// CLI11 writes "--json: 1 required FILE missing", "--on: steam not in {gpu,machine}", "measured is required".
std::string plain_message(const CLI::ParseError& error, const CLI::App* command) {
  std::string text = error.what();
  if (const auto missing = text.find(" required "); missing != std::string::npos && text.ends_with(" missing")) {
    const std::string what = text.substr(missing + 10, text.size() - missing - 18);
    return text.substr(0, text.find(':')) + " needs a value: " + what;
  }
  if (const auto set = text.find(" not in {"); set != std::string::npos && text.ends_with("}")) {
    const auto colon = text.find(": ");
    const std::string option = text.substr(0, colon), word = text.substr(colon + 2, set - colon - 2);
    std::string known = text.substr(set + 9, text.size() - set - 10);
    for (std::size_t at = 0; (at = known.find(',', at)) != std::string::npos; at += 2) known.replace(at, 1, ", ");
    return option + ": takes one of " + known + ", not '" + word + "'";
  }
  if (text.ends_with(" is required")) {
    const std::string name = text.substr(0, text.size() - 12);
    const CLI::Option* option = command ? command->get_option_no_throw(name) : nullptr;
    return "missing: " + (option ? option->get_type_name() : name);
  }
  return text;
}

}  // namespace

int command(int argc, const char* const* argv, const std::string& version) {
  CLI::App app("Run CUDA programs without a GPU and count every byte they move.", "coalesce");
  app.set_version_flag("--version", "coalesce " + version);
  Options options;
  add_options(app, options);
  const bool colour = use_colour(Colour::automatic, STDERR_FILENO);
  try {
    int code = 0;
    try {
      app.parse(argc, argv);
      code = dispatch(app, options);
    } catch (const CLI::Success& answer) {  // --help, --version
      code = app.exit(answer);
    }
    flush_standard_output();
    return code;
  } catch (const CLI::ParseError& error) {
    // The help that explains the option is the subcommand's.
    std::string help = "coalesce";
    for (const CLI::App* command : app.get_subcommands()) help += ' ' + command->get_name();
    const auto commands = app.get_subcommands();
    print_error(plain_message(error, commands.empty() ? nullptr : commands[0]), help + " --help", colour);
    return static_cast<int>(Exit::usage);
  } catch (const Error& error) {
    print_error(error.what(), error.hint, colour);
    return static_cast<int>(error.code);
  } catch (const std::exception& error) {
    print_error(error.what(), "", colour);
    return static_cast<int>(Exit::environment);
  }
}

}  // namespace coalesce::tool
