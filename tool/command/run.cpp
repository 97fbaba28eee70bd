#include "tool/command/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>

#include "tool/command/ci_files.h"
#include "tool/command/execute.h"
#include "tool/command/gpu.h"
#include "tool/command/ranks.h"
#include "tool/figures/budget.h"
#include "tool/figures/error.h"
#include "tool/present/budget.h"
#include "tool/present/compare.h"
#include "tool/present/export.h"
#include "tool/present/metrics.h"
#include "tool/present/report.h"
#include "tool/present/summary.h"
#include "tool/present/times.h"

namespace coalesce::tool {
namespace {

constexpr std::size_t kWideTable = 100;  // the columns of --wide need as much

void print_report(std::ostream& out, const Record& record, const RunOptions& options,
                  const std::vector<Metric>& metrics, const SummaryStyle& style) {
  if (!metrics.empty()) {
    options.csv ? print_metrics_csv(out, record, metrics) : print_metrics(out, record, metrics);
  } else if (options.csv) {
    options.lines ? write_lines_csv(out, record) : write_csv(out, record);
  } else if (record.on_gpu) {
    print_gpu_summary(out, record, style.colour);
  } else {
    print_summary(out, record, style);
  }
  if (metrics.empty() && !options.csv) print_times(out, record, style);
  if (options.lines && !options.csv) print_lines(out, record, style);
}

// A report is to show times; without one they are read only where they are asked for.
int repetitions(const RunOptions& options) {
  constexpr int kForReport = 10;
  const bool timed = !options.html.empty() || options.machine.time;
  return options.repeat == 0 && timed ? kForReport : options.repeat;
}

void write_html(Export& html, Record& record, const RunOptions& options, const Record* measured) {
  record.program = options.program[0];
  std::ostringstream page;
  write_report(page, record, is_source(options.program[0]) ? options.program[0] : std::string(), measured);
  html.write(page.str());
}

std::vector<Requirement> requirements_of(const RunOptions& options) {
  std::vector<Requirement> all;
  if (!options.budget.empty()) {
    errno = 0;
    const auto text = read_file(options.budget);
    if (!text)
      throw Error(Exit::usage,
                  "cannot read '" + options.budget + "'" + (errno ? std::string(": ") + std::strerror(errno) : ""));
    all = parse_budget(*text, options.budget);
  }
  for (const std::string& text : options.require) {
    for (Requirement& r : parse_requirements(text, "--require")) all.push_back(std::move(r));
  }
  return all;
}

// Where results go besides standard error; null: nowhere.
struct Exports {
  Export *json = nullptr, *html = nullptr, *output = nullptr;
};

// Where the tables go: the file's end is no terminal.
int descriptor_of(const Export* output) {
  return !output ? STDERR_FILENO : output->standard_output() ? STDOUT_FILENO : -1;
}
void put_tables(Exporting& exporting, Export* output, const std::string& text) {
  if (output)
    exporting.attempt([&] { output->write(text); });
  else
    std::cerr << text;
}

// The program twice: on the machine, then on the GPU; what each counted, launch by launch.
int run_on_both(const std::vector<std::string>& words, const RunOptions& options, const MachineOptions& machine,
                const Layout& layout, const Exports& exports) {
  const bool divert = options.json == "-" || options.output == "-" || options.html == "-";
  Command command{.words = words, .called = options.program[0], .output_to_stderr = divert};
  Execution counted = execute(command, machine, layout, options.quiet);
  command.output_to_pipe = true;  // the program prints the same: show it once
  Execution measured = execute_on_gpu(command, {.repeat = repetitions(options), .counters = true}, layout);
  for (Record* record : {&counted.record, &measured.record}) {
    if (!options.filter.empty()) filter(*record, options.filter);
  }
  const Comparing comparing = compare_launches(launches_of(counted.record), launches_of(measured.record));
  Exporting exporting;
  if (!options.quiet || exports.output) {
    std::ostringstream text;
    const bool colour = use_colour(machine.colour, descriptor_of(exports.output));
    if (options.csv) {
      write_csv(text, counted.record, &measured.record);
    } else {
      print_comparing(text, comparing, true, colour);
      print_times(text, counted.record, {.colour = colour}, &measured.record);
    }
    put_tables(exporting, exports.output, text.str());
  }
  if (!options.quiet) {
    const bool colour = use_colour(machine.colour, STDERR_FILENO);
    print_warnings(counted, colour);
    print_warnings(measured, colour);
  }
  if (exports.json)
    exporting.attempt([&] { exports.json->write(both_json(comparing, counted.record, measured.record)); });
  if (exports.html) exporting.attempt([&] { write_html(*exports.html, counted.record, options, &measured.record); });
  exporting.finish();
  const int code = exit_code(counted, options.allow_stopped);
  return code ? code : exit_code(measured, options.allow_stopped);
}

// One rank of a job runs its part and hands its record over; only the leader's command goes on.
int run_rank(const std::vector<std::string>& words, const RunOptions& options, const Ranks& ranks, const Layout& layout,
             bool divert) {
  MachineOptions machine = options.machine;
  machine.record = ranks.file("record").string();
  const Execution execution =
      execute({.words = words, .called = options.program[0], .output_to_stderr = divert}, machine, layout, true);
  const int code = exit_code(execution, options.allow_stopped);
  ranks.give("code", std::to_string(code));
  return code;
}

}  // namespace

int run(const RunOptions& options) {
  const bool colour = use_colour(options.machine.colour, STDERR_FILENO);
  if (options.metrics == "list") {
    list_metrics(std::cout, use_colour(options.machine.colour, STDOUT_FILENO));
    return 0;
  }
  // Everything that can be wrong with the command line is found before the program runs.
  const machine::Device& device = find_device(options.machine.device);
  const std::vector<Metric> metrics = options.metrics.empty() ? std::vector<Metric>() : parse_metrics(options.metrics);
  Record nothing;
  if (!options.filter.empty()) filter(nothing, options.filter);
  const std::vector<Requirement> requirements = requirements_of(options);
  const bool for_ci = !requirements.empty() || !options.write_budget.empty() || !options.ci.sarif.empty() ||
                      !options.ci.junit.empty() || options.ci.lines != LineFormat::none;
  const bool counts_only = !metrics.empty() || options.lines || for_ci;
  if ((options.on == "gpu" || options.on == "both") && counts_only) {
    throw Error(Exit::usage, "--metrics, --lines, budgets and what CI reads need what only the machine counts",
                "--on machine, or --json, --csv and --html with --on " + options.on);
  }
  if (options.program.empty())
    throw Error(Exit::usage, "which program?", "coalesce run [OPTIONS] PROGRAM|FILE.cu [ARGUMENTS...]");
  if (options.json == "-" && options.output == "-")
    throw Error(Exit::usage, "--json - and --output - cannot share standard output");
  if ((options.ci.sarif == "-" || options.ci.junit == "-") &&
      (options.json == "-" || options.output == "-" || options.html == "-"))
    throw Error(Exit::usage, "two exports cannot share standard output");
  // The leader alone writes where there are several ranks.
  const std::unique_ptr<Ranks> ranks = options.on == "machine" ? Ranks::find() : nullptr;
  if (ranks && !ranks->leads()) {
    const Layout layout = find_layout();
    std::vector<std::string> words = options.program;
    std::unique_ptr<Cache> cache;
    words[0] = runnable(words[0], options.machine.compile, device, layout, cache);
    const bool divert = options.json == "-" || options.output == "-" || options.html == "-" ||
                        options.ci.sarif == "-" || options.ci.junit == "-";
    return run_rank(words, options, *ranks, layout, divert);
  }
  const auto json = options.json.empty() ? nullptr : std::make_unique<Export>("--json", options.json);
  if (json) json->begin_empty(unfinished_run_json(options.program[0]));
  if (options.html == "-" && (options.json == "-" || options.output == "-"))
    throw Error(Exit::usage, "--html - cannot share standard output with another export");
  const auto output = options.output.empty() ? nullptr : std::make_unique<Export>("--output", options.output);
  const auto html = options.html.empty() ? nullptr : std::make_unique<Export>("--html", options.html);

  CiFiles ci(options.ci);
  const auto write_budget =
      options.write_budget.empty() ? nullptr : std::make_unique<Export>("--write-budget", options.write_budget);

  std::optional<Gpu> gpu;
  std::string on = options.on, why;
  if (on == "auto") {
    gpu = counts_only ? std::nullopt : find_gpu(why);
    if (gpu && is_source(options.program[0]) && find_program("nvcc").empty()) gpu.reset();  // nothing builds it
    on = gpu ? "gpu" : "machine";
  } else if (on != "machine") {
    gpu = require_gpu();
  }
  const Layout layout = find_layout();
  std::vector<std::string> words = options.program;
  std::unique_ptr<Cache> cache;
  CompileOptions compiling = options.machine.compile;
  compiling.announce = !options.quiet && isatty(STDERR_FILENO) == 1;
  if (gpu) {
    compiling.compiler = Compiler::nvcc;
    compiling.native = gpu->major * 10 + gpu->minor;
  }
  compiling.registers = options.machine.time;
  words[0] = runnable(words[0], compiling, device, layout, cache);
  // Standard output that carries an export must carry nothing else.
  const bool divert = options.json == "-" || options.output == "-" || options.html == "-" || ci.standard_output();
  MachineOptions machine = options.machine;
  if (on == "both") {
    if (gpu && !machine.device_chosen) machine.device = device_like(*gpu, machine.device);
    return run_on_both(words, options, machine, layout, {json.get(), html.get(), output.get()});
  }
  if (ranks) machine.record = ranks->file("record").string();
  const Command command{.words = words, .called = options.program[0], .output_to_stderr = divert};
  Execution execution = on == "gpu"
                            ? execute_on_gpu(command, {.repeat = repetitions(options), .counters = true}, layout)
                            : execute(command, machine, layout, options.quiet);
  std::optional<Terminations> terminations;
  if (ranks) {
    terminations.emplace();
    gather(*ranks, execution);
  }
  execution.record.program = options.program[0];
  int code = exit_code(execution, options.allow_stopped);
  if (!options.filter.empty()) filter(execution.record, options.filter);

  const std::vector<Judgement> judgements = judge_budget(requirements, execution.record);
  const bool kept = std::all_of(judgements.begin(), judgements.end(), [](const Judgement& j) { return j.holds; });
  if (code == 0 && !kept) code = static_cast<int>(Exit::hazard);

  // The table first: an export for which there is no room must not take it along.
  Exporting exporting;
  if (!options.quiet || output) {
    std::ostringstream text;
    const int descriptor = descriptor_of(output.get());
    const SummaryStyle style{
        .colour = use_colour(options.machine.colour, descriptor),
        .wide = options.wide,
        .width = options.wide ? std::max(terminal_width(descriptor), kWideTable) : terminal_width(descriptor),
        .beside = std::filesystem::path(options.program[0]).parent_path()};
    print_report(text, execution.record, options, metrics, style);
    if (!judgements.empty()) print_budget(text, judgements, style);
    put_tables(exporting, output.get(), text.str());
  }
  // The cause of a failure is printed in any case.
  if (options.quiet && !output && !kept)
    print_budget(std::cerr, judgements, {.colour = colour, .width = terminal_width(STDERR_FILENO)});
  if (!options.quiet) print_warnings(execution, colour);
  if (json) {
    exporting.attempt([&] {
      std::ostringstream text;
      write_json(text, execution.record, code, options.lines);
      json->write(text.str());
    });
  }
  if (html) exporting.attempt([&] { write_html(*html, execution.record, options, nullptr); });
  ci.write(exporting, execution.record, notices_of(execution.record, judgements), judgements, code);
  if (write_budget) exporting.attempt([&] { write_budget->write(budget_of(execution.record)); });
  exporting.finish();
  return code;
}

}  // namespace coalesce::tool
