#include "tool/command/check.h"

#include <unistd.h>

#include <iostream>
#include <memory>

#include "tool/command/ci_files.h"
#include "tool/command/execute.h"
#include "tool/figures/error.h"
#include "tool/figures/hazards.h"
#include "tool/present/export.h"
#include "tool/present/hazards.h"
#include "tool/present/terminal.h"

namespace coalesce::tool {

int check(const CheckOptions& options) {
  const machine::Device& device = find_device(options.machine.device);
  if (options.program.empty())
    throw Error(Exit::usage, "which program?", "coalesce check [OPTIONS] PROGRAM|FILE.cu [ARGUMENTS...]");
  const auto json = options.json.empty() ? nullptr : std::make_unique<Export>("--json", options.json);
  CiFiles ci(options.ci);
  if (options.json == "-" && ci.standard_output()) throw Error(Exit::usage, "two exports cannot share standard output");
  const Layout layout = find_layout();
  std::unique_ptr<Cache> cache;
  std::vector<std::string> words = options.program;
  CompileOptions compiling = options.machine.compile;
  compiling.announce = !options.quiet && isatty(STDERR_FILENO) == 1;
  words[0] = runnable(words[0], compiling, device, layout, cache);
  MachineOptions machine = options.machine;
  machine.check = true;
  machine.engine = machine::Engine::interpreter;
  machine.threads = 1;
  Execution execution = execute(words, machine, layout, options.quiet, options.json == "-" || ci.standard_output(),
                                false, options.program[0]);
  execution.record.program = options.program[0];
  const Hazards hazards = hazards_of(execution.record);
  int code = exit_code(execution);
  if (!hazards.found.empty() && !execution.record.interrupted()) code = static_cast<int>(Exit::hazard);
  // Without a launch nothing was looked at: no success.
  if (execution.record.launches.empty() && code == 0) code = static_cast<int>(Exit::environment);
  if (!options.quiet) {
    const bool colour = use_colour(options.machine.colour, STDERR_FILENO);
    print_hazards(std::cerr, hazards, execution.record, colour);
    print_warnings(execution, colour);
  }
  Exporting exporting;
  ci.write(exporting, execution.record, notices_of(hazards), {}, code);
  if (json) exporting.attempt([&] { json->write(hazards_json(hazards, execution.record, code).dump(1) + '\n'); });
  exporting.finish();
  return code;
}

}  // namespace coalesce::tool
