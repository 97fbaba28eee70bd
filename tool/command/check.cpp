#include "tool/command/check.h"

#include <unistd.h>

#include <iostream>
#include <memory>

#include "tool/command/backtrace.h"
#include "tool/command/ci_files.h"
#include "tool/command/execute.h"
#include "tool/figures/error.h"
#include "tool/figures/hazards.h"
#include "tool/present/export.h"
#include "tool/present/hazards.h"
#include "tool/present/terminal.h"

namespace coalesce::tool {
namespace {

std::string text_of(const nlohmann::ordered_json& json) {
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

HazardRules rules_of(const CheckOptions& options, const Layout& layout) {
  HazardRules rules;
  if (!options.suppress.empty()) rules.suppressions = read_suppressions(options.suppress);
  const std::vector<std::string> disabled = parse_kinds(options.disable, "--disable");
  for (const std::string& kind : hazard_kinds())
    if (names_kind(disabled, kind)) rules.disabled.insert(kind);
  if (options.leaks == "off") rules.disabled.insert("leak");
  rules.leaks_count = options.leaks == "error";
  rules.foreign = {layout.headers.string()};
  return rules;
}

// 4: there is a hazard. 3: something was not looked at, so that nobody may take it for clean. Else the program's.
int code_of(const Execution& execution, const Hazards& hazards) {
  const Record& record = execution.record;
  if (record.interrupted()) return exit_code(execution);
  if (!hazards.found.empty()) return static_cast<int>(Exit::hazard);
  if (!hazards.not_checked.empty()) return static_cast<int>(Exit::environment);
  if (execution.outcome.code != 0) return execution.outcome.code;
  if (record.launches.empty() || !record.damage.empty()) return static_cast<int>(Exit::environment);
  return 0;
}

}  // namespace

int check(const CheckOptions& options) {
  const machine::Device& device = find_device(options.machine.device);
  if (options.program.empty())
    throw Error(Exit::usage, "which program?", "coalesce check [OPTIONS] PROGRAM|FILE.cu [ARGUMENTS...]");
  const Layout layout = find_layout();
  const HazardRules rules = rules_of(options, layout);
  const auto json = options.json.empty() ? nullptr : std::make_unique<Export>("--json", options.json);
  CiFiles ci(options.ci);
  if (options.json == "-" && ci.standard_output()) throw Error(Exit::usage, "two exports cannot share standard output");
  std::unique_ptr<Cache> cache;
  std::vector<std::string> words = options.program;
  CompileOptions compiling = options.machine.compile;
  compiling.announce = !options.quiet && isatty(STDERR_FILENO) == 1;
  compiling.host_lines = true;
  if (json) json->begin(text_of(unfinished_json(options.program[0])));
  words[0] = runnable(words[0], compiling, device, layout, cache);
  MachineOptions machine = options.machine;
  machine.check = true;
  machine.engine = machine::Engine::interpreter;
  Execution execution = execute(
      {.words = words, .called = options.program[0], .output_to_stderr = options.json == "-" || ci.standard_output()},
      machine, layout, options.quiet);
  execution.record.program = options.program[0];
  std::vector<machine::Diagnostic> diagnostics = diagnostics_of(execution.record);
  name_calls(diagnostics, rules.foreign);
  const Hazards hazards = hazards_of(std::move(diagnostics), rules);
  const int code = code_of(execution, hazards);
  if (!options.quiet) {
    const bool colour = use_colour(options.machine.colour, STDERR_FILENO);
    print_hazards(std::cerr, hazards, execution.record, colour);
    print_warnings(execution, colour);
  }
  Exporting exporting;
  ci.write(exporting, execution.record, notices_of(hazards), {}, code);
  if (json) exporting.attempt([&] { json->write(text_of(hazards_json(hazards, execution.record, code))); });
  exporting.finish();
  return code;
}

}  // namespace coalesce::tool
