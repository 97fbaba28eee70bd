#include "tool/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "tool/error.h"
#include "tool/metrics.h"

namespace coalesce::tool {
namespace {

// An option that takes one of a few words.
template <typename T>
CLI::Option* add_choice(CLI::App& command, const std::string& name, T& value, const std::string& description,
                        const std::vector<std::pair<std::string, T>>& choices) {
  return command.add_option_function<std::string>(
      name,
      [&value, name, choices](const std::string& word) {
        std::string known;
        for (const auto& [text, choice] : choices) {
          if (text == word) {
            value = choice;
            return;
          }
          known += (known.empty() ? "" : ", ") + text;
        }
        throw CLI::ValidationError(name, "takes one of " + known + ", not '" + word + "'");
      },
      description);
}

// A whole number from `least` to `most`. What CLI11 says of one it cannot convert is hard to read.
CLI::Validator whole_number(uint64_t least, uint64_t most = UINT64_MAX) {
  const auto check = [least, most](const std::string& word) {
    uint64_t value = 0;
    const char* const end = word.data() + word.size();
    const auto [stopped, error] = std::from_chars(word.data(), end, value);
    if (error == std::errc() && stopped == end && value >= least && value <= most) return std::string();
    return most == UINT64_MAX ? fmt::format("takes a whole number from {} on, not '{}'", least, word)
                              : fmt::format("takes a whole number from {} to {}, not '{}'", least, most, word);
  };
  return {check, "", "whole number"};
}

// The name of a file to write. An empty one, mostly a shell's variable that is not set, would write nothing and say
// nothing.
CLI::Option* add_file(CLI::App& command, const std::string& name, std::string& value, const std::string& description) {
  const auto check = [](const std::string& word) {
    return std::string(word.empty() ? "needs the name of a file" : "");
  };
  return command.add_option(name, value, description)->type_name("FILE")->check({check, "", "file name"});
}

// How a program comes to run on the machine at all.
void add_program_options(CLI::App& command, MachineOptions& options) {
  command.add_option("--device", options.device, "The GPU the machine stands for")
      ->envname("COALESCE_DEVICE")
      ->type_name("NAME");
  command
      .add_option("--max-instructions", options.max_instructions,
                  "Stop a launch after so many warp instructions, or soon after")
      ->envname("COALESCE_MAX_INSTRUCTIONS")
      ->type_name("N")
      ->check(whole_number(0));
  add_choice<Colour>(command, "--color", options.colour, "When to colour: auto, always, never",
                     {{"auto", Colour::automatic}, {"always", Colour::always}, {"never", Colour::never}})
      ->type_name("WHEN");
  add_choice<Compiler>(command, "--compiler", options.compile.compiler, "What compiles a .cu file: auto, nvcc, clang",
                       {{"auto", Compiler::automatic}, {"nvcc", Compiler::nvcc}, {"clang", Compiler::clang}})
      ->type_name("NAME");
  command.add_option("-X", options.compile.flags, "Give the compiler this flag too; may be repeated")
      ->type_name("FLAG")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

// And how the machine executes it.
void add_machine_options(CLI::App& command, MachineOptions& options) {
  command.add_option("--threads", options.threads, "Threads of this computer to use; 0 is all cores")
      ->envname("COALESCE_THREADS")
      ->type_name("N")
      ->check(whole_number(0, machine::kMostThreads));
  add_choice<machine::Engine>(command, "--engine", options.engine,
                              "What executes kernels: auto, interpreter, native (the CPU's own code)",
                              {machine::kEngines.begin(), machine::kEngines.end()})
      ->envname("COALESCE_ENGINE")
      ->type_name("NAME");
  add_choice<machine::Model>(command, "--model", options.model,
                             "Whose memory requests are counted: ptx, or ptxas (what it merges at -O3)",
                             {machine::kModels.begin(), machine::kModels.end()})
      ->envname("COALESCE_MODEL")
      ->type_name("NAME");
  add_program_options(command, options);
}

// The program is not an option of ours, so CLI11 would not show it.
class ProgramFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string) const override {
    return "Usage: coalesce " + app->get_name() + " [OPTIONS] PROGRAM|FILE.cu [ARGUMENTS...]\n";
  }
};

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
  run->add_flag("--csv", options.csv,
                "Print CSV in place of tables: one record per launch, or what --metrics or --lines ask for");
  run->add_flag("--lines", options.lines, "Count per source line, also in the JSON");
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
  run->add_flag("-q,--quiet", options.quiet, "Print nothing but what the program prints; exports are still written");
  run->footer(
      "Examples:\n"
      "  coalesce run reduce.cu 1000000              compile and run, one row per kernel\n"
      "  coalesce run --lines ./app --size 10        where in the source the waste is\n"
      "  coalesce run --metrics gld_transactions,gld_efficiency ./app\n"
      "  coalesce run --json counters.json -q ./app  for scripts and CI\n"
      "Exit code: the program's; 2 wrong usage, 3 something is missing here, 4 a launch was stopped though the "
      "program\n"
      "ended well, 130 interrupted.");
}

void add_check(CLI::App& app, CheckOptions& options) {
  CLI::App* check = app.add_subcommand("check", "Run a CUDA program and look for races and uninitialised reads");
  check->prefix_command();
  check->formatter(std::make_shared<ProgramFormatter>());
  add_program_options(*check, options.machine);
  add_file(*check, "--json", options.json,
           "Write what was found; '-' is standard output (the program's then goes to standard error)");
  check->add_flag("-q,--quiet", options.quiet, "Print nothing but what the program prints");
  check->footer(
      "Examples:\n"
      "  coalesce check reduce.cu 100000             each hazard with both source lines and threads\n"
      "  coalesce check --json hazards.json -q ./app  for scripts and CI\n"
      "Found are races in shared and global memory, reads of memory that nothing has written, uses of what a cp.async "
      "is\n"
      "still copying, accesses out of bounds, misaligned or after free, divergent barriers; docs/check.md has the "
      "rules.\n"
      "Exit code: 4 when there is a hazard; else the program's; 2 wrong usage, 3 something is missing here, 130\n"
      "interrupted.");
}

void add_lab(CLI::App& app, LabOptions& options) {
  CLI::App* lab = app.add_subcommand("lab", "Run an experiment and compare its rungs");
  add_machine_options(*lab, options.machine);
  lab->add_option("names", options.names, "Experiments; 'all'; 'list' or nothing lists them")->type_name("NAME");
  lab->add_option("--n", options.n, "Number of elements")->type_name("N")->check(whole_number(0));
  lab->add_option("--block", options.block, "Threads per block")->type_name("B")->check(whole_number(1));
  // What an experiment takes beyond these it says itself, and checks itself.
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
  add_file(*lab, "--json", options.json,
           "Write rungs, steps and claims; '-' is standard output, in place of the tables");
  add_file(*lab, "--html", options.html, "Write a report, one file for a browser");
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
  add_choice<Colour>(*banks, "--color", options.colour, "When to colour: auto, always, never",
                     {{"auto", Colour::automatic}, {"always", Colour::always}, {"never", Colour::never}})
      ->type_name("WHEN");
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
  add_file(*compare, "--json", options.json, "Write every comparison; '-' is standard output, in place of the table");
  add_choice<Colour>(*compare, "--color", options.colour, "When to colour: auto, always, never",
                     {{"auto", Colour::automatic}, {"always", Colour::always}, {"never", Colour::never}})
      ->type_name("WHEN");
  compare->footer(
      "Examples:\n"
      "  coalesce run --json counted.json -q ./app\n"
      "  ncu --csv --page raw --metrics $(coalesce counters --ncu) ./app > ncu.csv\n"
      "  coalesce compare counted.json ncu.csv\n"
      "Exit code: 0 all equal, 1 something differs, 2 a file cannot be read as either.");
}

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
