// The options of the commands that run a program.
#include "tool/command/option_kinds.h"

namespace coalesce::tool {
namespace {

// The program is not an option of ours, so CLI11 would not show it.
class ProgramFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string) const override {
    return "Usage: coalesce " + app->get_name() + " [OPTIONS] PROGRAM|FILE.cu [ARGUMENTS...]\n";
  }
};

}  // namespace

void add_run(CLI::App& app, RunOptions& options) {
  CLI::App* run = app.add_subcommand("run", "Run a CUDA program on the machine and count what it moves");
  // Everything from the program's name on belongs to the program.
  run->prefix_command();
  run->formatter(std::make_shared<ProgramFormatter>());
  add_machine_options(*run, options.machine);
  run->add_option("--metrics", options.metrics,
                  "Print these metrics in nvprof's layout (nvprof's and Nsight's names); 'list' shows all")
      ->type_name("A,B,...");
  add_file(*run, "--json", options.json,
           "Write every launch's counters; '-' is standard output (the program's then goes to standard error)");
  add_file(*run, "--html", options.html, "Write a report with counters and source lines, one file for a browser");
  run->add_option("--budget", options.budget, "Exit with 4 unless every requirement of this file holds")
      ->type_name("FILE");
  run->add_option(
         "--require", options.require,
         "A requirement: 'KERNEL: store_excess == 1; global_load_sectors <= 1.01 * compulsory'; may be repeated")
      ->type_name("EXPR")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_file(*run, "--write-budget", options.write_budget, "Write a budget that this run just keeps");
  add_ci_options(*run, options.ci);
  run->add_flag("--csv", options.csv,
                "Print CSV in place of tables: one record per launch, or what --metrics or --lines ask for");
  run->add_flag("--lines", options.lines, "Count per source line, also in the JSON");
  run->add_flag("--time", options.machine.time,
                "Estimate how long each launch takes on the device, and what bounds it (docs/time.md)");
  run->add_flag("--wide", options.wide, "Show requests, sectors a request, conflicts and divergence, too");
  run->add_flag("--allow-stopped", options.allow_stopped,
                "Pass on the program's exit code even when the machine stopped a kernel (a failed assert, a trap)");
  run->add_option("--filter", options.filter, "Only kernels whose name matches (POSIX extended regular expression)")
      ->type_name("REGEX");
  run->add_option(
         "--on", options.on,
         "Where to run: machine; gpu (times and the hardware's counters); both (one beside the other); auto (a "
         "GPU where there is one)")
      ->type_name("WHERE")
      ->check(CLI::IsMember({"machine", "gpu", "both", "auto"}).description(""));
  run->add_option("--repeat", options.repeat, "On a GPU, time each launch so often with a cold and with a warm cache")
      ->type_name("N")
      ->check(whole_number(0, 1000));
  add_file(*run, "-o,--output", options.output,
           "Write the tables there in place of standard error; '-' is standard output");
  run->add_flag("-q,--quiet", options.quiet,
                "Print nothing but what the program prints and what exceeds a budget; exports are still written");
  run->footer(
      "Examples:\n"
      "  coalesce run reduce.cu 1000000              compile and run, one row per kernel\n"
      "  coalesce run --lines ./app --size 10        where in the source the waste is\n"
      "  coalesce run --metrics gld_transactions,gld_efficiency ./app\n"
      "  mpirun -np 4 coalesce run ./app             one table for all ranks\n"
      "  coalesce run --json counters.json -q ./app  for scripts and CI\n"
      "Exit code: the program's; 2 wrong usage, 3 something is missing here, 4 a budget is exceeded, or a launch was\n"
      "stopped though the program ended well, 125 the program did not start, 130 interrupted.");
}

void add_check(CLI::App& app, CheckOptions& options) {
  CLI::App* check =
      app.add_subcommand("check", "Run a CUDA program and look for races, memory errors and misuse of the API");
  check->prefix_command();
  check->formatter(std::make_shared<ProgramFormatter>());
  add_program_options(*check, options.machine);
  add_file(*check, "--json", options.json,
           "Write what was found; '-' is standard output (the program's then goes to standard error)");
  check
      ->add_option("--suppress", options.suppress,
                   "Leave out what this file allows: KIND[,KIND] [kernel=REGEX] [at=FILE[:LINE]] on each line")
      ->type_name("FILE");
  check->add_option("--disable", options.disable, "Do not look at these kinds; race is all races")
      ->type_name("KIND,...");
  check->add_option("--leaks", options.leaks, "Device memory that is not freed: note, error (exit code 4), off")
      ->type_name("HOW")
      ->check(CLI::IsMember({"note", "error", "off"}).description(""));
  check
      ->add_option(
          "--schedules", options.machine.schedules,
          "Run each launch in N orders of its blocks and warps: as numbered, reversed, overtaken at atomics, shuffled "
          "(default: 2 or 3 for short launches of kernels that wait for or count on other threads, else 1)")
      ->type_name("N")
      ->check(whole_number(1, 1000));
  add_ci_options(*check, options.ci);
  check->add_flag("-q,--quiet", options.quiet, "Print nothing but what the program prints");
  check->footer(
      "Examples:\n"
      "  coalesce check reduce.cu 100000             each hazard with both source lines and threads\n"
      "  coalesce check --json hazards.json -q ./app  for scripts and CI\n"
      "  coalesce check --disable race_host,leak ./app\n"
      "  coalesce check --schedules 10 ./app          what happens only if blocks run in another order\n"
      "Found are races in kernels, between streams and with the host, reads of what nothing has written, accesses,\n"
      "copies and frees of wrong memory, barriers that not all reach, launches that fail unnoticed; docs/check.md has\n"
      "all kinds and the rules. `// coalesce: allow KIND` on a line allows it there.\n"
      "Exit code: 4 when there is a hazard; else the program's; 2 wrong usage, 3 something is missing here or\n"
      "was not checked, 125 the program did not start, 130 interrupted.");
}

}  // namespace coalesce::tool
