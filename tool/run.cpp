#include "tool/run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <sstream>

#include "tool/compare.h"
#include "tool/elf.h"
#include "tool/error.h"
#include "tool/export.h"
#include "tool/gpu.h"
#include "tool/metrics.h"
#include "tool/report.h"
#include "tool/summary.h"

namespace coalesce::tool {
namespace fs = std::filesystem;

bool is_source(const std::string& path) { return path.ends_with(".cu"); }

namespace {

fs::path find_executable(const std::string& name) {
  const fs::path found = find_program(name);
  if (!found.empty()) return found;
  std::error_code ignored;
  if (fs::exists(name, ignored)) {
    // There, but perhaps no program at all: that is the more helpful thing to say.
    require_runnable(inspect_file(name), name);
    // As a shell: without a slash a name is looked for on PATH only.
    const bool here = name.find('/') == std::string::npos;
    throw Error(Exit::failed, here ? "no program '" + name + "' on PATH" : "'" + name + "' may not be executed",
                here ? "for the one in this folder: ./" + name : "chmod +x " + name);
  }
  throw Error(Exit::failed, "no such program: '" + name + "'");
}

}  // namespace

std::string runnable(const std::string& program, const CompileOptions& options, const machine::Device& device,
                     const Layout& layout, std::unique_ptr<Cache>& cache) {
  if (!is_source(program)) return find_executable(program);
  cache = std::make_unique<Cache>();
  return compile(program, options, device, layout, *cache);
}

namespace {

void print_report(std::ostream& out, const Record& record, const RunOptions& options,
                  const std::vector<Metric>& metrics, bool colour) {
  if (!metrics.empty()) {
    options.csv ? print_metrics_csv(out, record, metrics) : print_metrics(out, record, metrics);
  } else if (options.csv) {
    options.lines ? write_lines_csv(out, record) : write_csv(out, record);
  } else if (record.on_gpu) {
    print_gpu_summary(out, record, colour);
  } else {
    print_summary(out, record, colour);
  }
  if (options.lines && !options.csv) print_lines(out, record, colour);
}

}  // namespace

// What the figures do not cover, said beside them.
void print_warnings(const Execution& execution, bool colour) {
  const Record& record = execution.record;
  const auto warn = [&](const std::string& text) {
    std::cerr << styled("warning:", Style::bad, colour) << ' ' << text << '\n';
  };
  if (!record.damage.empty())
    warn("the record of this run is damaged, launches after it are missing: " + record.damage);
  for (const std::string& note : record.notes) warn(note);
  if (record.unused() && execution.outcome.signal)
    warn(fmt::format("the program was ended by signal {} ({}) before it called the machine's CUDA runtime",
                     execution.outcome.signal, strsignal(execution.outcome.signal)));
  else if (record.unused() && execution.outcome.code == 0)
    warn("the program made no call to the machine's CUDA runtime");
  if (record.started && !record.complete && record.damage.empty()) {
    warn(execution.outcome.signal
             ? fmt::format("the program was ended by signal {} ({}); counted is what finished before",
                           execution.outcome.signal, strsignal(execution.outcome.signal))
             : "the program ended without closing its record; counted is what finished before");
  }
}

namespace {

// A report is to show times; without one they are read only where they are asked for.
int repetitions(const RunOptions& options) {
  constexpr int kForReport = 10;
  return options.repeat == 0 && !options.html.empty() ? kForReport : options.repeat;
}

void write_html(Export& html, Record& record, const RunOptions& options, const Record* measured) {
  record.program = options.program[0];
  std::ostringstream page;
  write_report(page, record, is_source(options.program[0]) ? options.program[0] : std::string(), measured);
  html.write(page.str());
}

// The program twice: on the machine, then on the GPU; what each counted, launch by launch.
int run_on_both(const std::vector<std::string>& words, const RunOptions& options, const Layout& layout, Export* json,
                Export* html) {
  const bool divert = options.json == "-" || options.output == "-" || options.html == "-";
  Execution counted = execute(words, options.machine, layout, options.quiet, divert, false);
  // What the program prints is the same: once.
  Execution measured = execute_on_gpu(words, {.repeat = repetitions(options), .counters = true}, layout, divert, true);
  for (Record* record : {&counted.record, &measured.record}) {
    if (!options.filter.empty()) filter(*record, options.filter);
  }
  const Comparing comparing = compare_launches(launches_of(counted.record), launches_of(measured.record));
  const bool colour = use_colour(options.machine.colour, STDERR_FILENO);
  if (!options.quiet) {
    print_comparing(std::cerr, comparing, true, colour);
    print_warnings(counted, colour);
    print_warnings(measured, colour);
  }
  Exporting exporting;
  if (json) exporting.attempt([&] { json->write(comparing_json(comparing)); });
  if (html) exporting.attempt([&] { write_html(*html, counted.record, options, &measured.record); });
  exporting.finish();
  const int code = exit_code(counted);
  return code ? code : exit_code(measured);
}

}  // namespace

RecordFile::RecordFile() {
  std::error_code error;
  const fs::path folder = fs::temp_directory_path(error);
  path_ = (error ? fs::path("/tmp") : folder) / "coalesce-record-XXXXXX";
  const int file = mkostemp(path_.data(), O_CLOEXEC);
  if (file < 0)
    throw Error(Exit::environment, "cannot write " + path_ + ": " + std::strerror(errno),
                "set TMPDIR to a folder that can be written");
  close(file);
}

RecordFile::~RecordFile() {
  unlink(path_.c_str());
  unlink((path_ + record::kTruncated).c_str());
}

std::string prepended(const std::string& first, const char* variable, char separator) {
  const char* rest = std::getenv(variable);
  return rest && *rest ? first + separator + rest : first;
}

void print_error(const std::string& message, const std::string& hint, bool colour) {
  std::cerr << styled("error:", Style::bad, colour) << ' ' << message << '\n';
  if (!hint.empty()) std::cerr << styled("hint:", Style::bold, colour) << ' ' << hint << '\n';
}

Execution execute(const std::vector<std::string>& words, const MachineOptions& options, const Layout& layout,
                  bool quiet, bool output_to_stderr, bool output_to_pipe) {
  require_runtime(layout);
  if (options.engine == machine::Engine::native) require_native(layout);
  const Executable executable = inspect_file(words.front());
  require_runnable(executable, words.front());

  const RecordFile file;
  Command command{
      .words = words, .environment = {}, .output_to_stderr = output_to_stderr, .output_to_pipe = output_to_pipe};
  auto& environment = command.environment;
  environment["LD_LIBRARY_PATH"] = prepended(layout.runtime.string(), "LD_LIBRARY_PATH", ':');
  // DT_RPATH is searched before LD_LIBRARY_PATH; what is loaded already is not searched at all.
  if (!executable.rpath.empty() && !executable.cudart().empty()) {
    environment["LD_PRELOAD"] = prepended((layout.runtime / executable.cudart()).string(), "LD_PRELOAD", ':');
  }
  environment["COALESCE_DEVICE"] = std::string(find_device(options.device).key);
  environment["COALESCE_THREADS"] = std::to_string(options.threads);
  environment["COALESCE_MAX_INSTRUCTIONS"] = std::to_string(options.max_instructions);
  environment["COALESCE_ENGINE"] = machine::engine_name(options.engine);
  environment["COALESCE_CHECK"] = options.check ? "1" : "0";
  environment["COALESCE_MODEL"] = machine::name_of(machine::kModels, options.model);
  environment["COALESCE_PROGRESS"] = !quiet && isatty(STDERR_FILENO) == 1 ? "1" : "0";
  environment["COALESCE_COLOR"] = use_colour(options.colour, STDERR_FILENO) ? "1" : "0";
  environment["COALESCE_RECORD"] = file.path();

  Execution execution{.outcome = run_child(command), .record = read_record_file(file.path())};
  // A program linked with the runtime may decide not to use it; anything else was not run on the machine at all.
  const Record& record = execution.record;
  if (record.unused() && execution.outcome.code == 0 && executable.cudart().empty()) {
    throw Error(Exit::failed, "'" + words.front() + "' did not use the CUDA runtime, so there is nothing to count",
                "coalesce run takes a program built with nvcc -cudart shared, or a .cu file");
  }
  if (execution.record.program.empty()) execution.record.program = words.front();
  if (!execution.record.started) {
    const machine::Device& device = find_device(options.device);
    execution.record.device = {std::string(device.key), std::string(device.name), {device.major, device.minor}};
  }
  return execution;
}

int exit_code(const Execution& execution) {
  if (execution.outcome.code != 0) return execution.outcome.code;
  if (execution.record.interrupted()) return static_cast<int>(Exit::interrupted);
  // Launches are missing: nobody is to take what is left for all.
  if (!execution.record.damage.empty()) return static_cast<int>(Exit::environment);
  return execution.record.faulted() ? static_cast<int>(Exit::hazard) : 0;
}

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
  const bool counts_only = !metrics.empty() || options.lines;
  if (options.on == "gpu" && counts_only) {
    throw Error(Exit::usage, "--metrics and --lines need what only the machine counts",
                "--on machine, or --json, --csv and --html with --on gpu");
  }
  if (options.program.empty())
    throw Error(Exit::usage, "which program?", "coalesce run [OPTIONS] PROGRAM|FILE.cu [ARGUMENTS...]");
  if (options.json == "-" && options.output == "-")
    throw Error(Exit::usage, "--json - and --output - cannot share standard output");
  const auto json = options.json.empty() ? nullptr : std::make_unique<Export>("--json", options.json);
  if (options.html == "-" && (options.json == "-" || options.output == "-"))
    throw Error(Exit::usage, "--html - cannot share standard output with another export");
  const auto output = options.output.empty() ? nullptr : std::make_unique<Export>("--output", options.output);
  const auto html = options.html.empty() ? nullptr : std::make_unique<Export>("--html", options.html);

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
  if (gpu) {
    compiling.compiler = Compiler::nvcc;
    compiling.native = gpu->major * 10 + gpu->minor;
  }
  words[0] = runnable(words[0], compiling, device, layout, cache);
  // Standard output that carries an export must carry nothing else.
  const bool divert = options.json == "-" || options.output == "-" || options.html == "-";
  if (on == "both") return run_on_both(words, options, layout, json.get(), html.get());
  Execution execution =
      on == "gpu" ? execute_on_gpu(words, {.repeat = repetitions(options), .counters = true}, layout, divert, false)
                  : execute(words, options.machine, layout, options.quiet, divert, false);
  execution.record.program = options.program[0];
  const int code = exit_code(execution);
  if (!options.filter.empty()) filter(execution.record, options.filter);

  // The table first: an export for which there is no room must not take it along.
  Exporting exporting;
  if (!options.quiet || output) {
    std::ostringstream text;
    print_report(text, execution.record, options, metrics,
                 output ? use_colour(options.machine.colour, output->standard_output() ? STDOUT_FILENO : -1) : colour);
    if (output) {
      exporting.attempt([&] { output->write(text.str()); });
    } else {
      std::cerr << text.str();
    }
  }
  if (!options.quiet) print_warnings(execution, colour);
  if (json) {
    exporting.attempt([&] {
      std::ostringstream text;
      write_json(text, execution.record, code, options.lines);
      json->write(text.str());
    });
  }
  if (html) exporting.attempt([&] { write_html(*html, execution.record, options, nullptr); });
  exporting.finish();
  return code;
}

}  // namespace coalesce::tool
