// The options of `lab`, `banks` and `compare`.
#include "tool/command/option_kinds.h"

namespace coalesce::tool {

void add_lab(CLI::App& app, LabOptions& options) {
  CLI::App* lab = app.add_subcommand("lab", "Run an experiment and compare its rungs");
  add_machine_options(*lab, options.machine);
  lab->add_option("names", options.names, "Experiments; 'all'; 'list' or nothing lists them")->type_name("NAME");
  lab->add_option("--n", options.n, "Number of elements")->type_name("N")->check(whole_number(0));
  lab->add_option("--block", options.block, "Threads per block")->type_name("B")->check(whole_number(1));
  // An experiment declares and checks its further options itself.
  const std::pair<const char*, std::string*> sizes[] = {
      {"--stride", &options.stride}, {"--width", &options.width}, {"--pad", &options.pad}, {"--lanes", &options.lanes}};
  for (const auto& [name, value] : sizes) {
    lab->add_option(name, *value, "For banks, as in `coalesce banks`")->type_name("N")->check(whole_number(0));
  }
  lab->add_option("--on", options.on,
                  "Where to run: machine; gpu (times, the hardware's counters); both (counted beside measured); auto "
                  "(a GPU where there is one)")
      ->type_name("WHERE")
      ->check(CLI::IsMember({"machine", "gpu", "both", "auto"}).description(""));
  lab->add_flag("--time", options.machine.time, "Estimate times, and judge by them what documents claim of times");
  add_file(*lab, "--json", options.json,
           "Write rungs, steps and claims; '-' is standard output, in place of the tables");
  add_file(*lab, "--html", options.html, "Write a report, one file for a browser");
  lab->add_flag("--wide", options.wide, "Show requests, sectors a request, conflicts and divergence, too");
  CLI::Option* csv = lab->add_flag("--csv", options.csv, "Print CSV in place of tables");
  lab->add_flag("--markdown", options.markdown, "Print Markdown in place of tables")->excludes(csv);
  lab->footer(
      "Examples:\n"
      "  coalesce lab                       list the experiments\n"
      "  coalesce lab reduce                the reduction ladder, 2^24 elements\n"
      "  coalesce lab reduce --n 1000003 --block 256\n"
      "  coalesce lab banks --stride 8 --pad 1\n"
      "  coalesce lab all --html report.html");
}

void add_banks(CLI::App& app, BankOptions& options) {
  CLI::App* banks = app.add_subcommand("banks", "Draw which banks of shared memory a warp's lanes meet");
  const auto number = [&](const char* name, uint32_t& value, const char* description, uint32_t least, uint32_t most) {
    banks->add_option(name, value, description)
        ->type_name("N")
        ->capture_default_str()
        ->check(whole_number(least, most));
  };
  number("--stride", options.stride, "Elements from one lane's to the next", 0, 1024);
  banks->add_option("--width", options.width, "Bytes an element: 1, 2, 4, 8, 16")
      ->type_name("BYTES")
      ->capture_default_str()
      ->check(CLI::IsMember({1, 2, 4, 8, 16}).description(""));
  number("--pad", options.pad, "Elements left unused after every stride", 0, 64);
  number("--lanes", options.lanes, "Lanes that take part, from lane 0", 1, 32);
  banks->add_flag("--json", options.json, "Print JSON in place of the picture");
  add_colour(*banks, options.colour);
  banks->footer(
      "Examples:\n"
      "  coalesce banks --stride 32             the column of a tile that is 32 words wide\n"
      "  coalesce banks --stride 32 --pad 1     the same with an unused word in each row\n"
      "  coalesce banks --stride 2 --width 8 --json");
}

void add_compare(CLI::App& app, CompareOptions& options) {
  CLI::App* compare = app.add_subcommand("compare", "Lay two runs' counters side by side: ours, the GPU's, Nsight's");
  compare->add_option("counted", options.counted, "What `coalesce run --json` wrote")
      ->type_name("RUN.json")
      ->required();
  compare
      ->add_option("measured", options.measured,
                   "The same from elsewhere, or `ncu --csv` (with or without --page raw) of the same program")
      ->type_name("RUN.json|NCU.csv")
      ->required();
  compare->add_flag("--all", options.all, "Print what is equal too");
  compare->add_flag("--fail-on-increase", options.fail_on_increase,
                    "Of two runs of the machine: exit with 4 if a counter of the second is larger, else with 0");
  add_file(*compare, "--json", options.json, "Write every comparison; '-' is standard output, in place of the table");
  add_colour(*compare, options.colour);
  compare->footer(
      "Examples:\n"
      "  coalesce run --json counted.json -q ./app\n"
      "  ncu --csv --page raw --metrics $(coalesce counters --ncu) ./app > ncu.csv\n"
      "  coalesce compare counted.json ncu.csv\n"
      "  coalesce compare --fail-on-increase before.json after.json\n"
      "Exit code: 0 all equal, 1 something differs, 2 a file cannot be read as either, 4 see --fail-on-increase.");
}

}  // namespace coalesce::tool
