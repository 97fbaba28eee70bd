#include "tool/command/execute.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "tool/command/elf.h"
#include "tool/command/redirect.h"
#include "tool/figures/error.h"
#include "tool/present/terminal.h"

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
    // Like a shell, looks for a name without a slash on PATH only.
    const bool here = name.find('/') == std::string::npos;
    throw Error(Exit::not_started, here ? "no program '" + name + "' on PATH" : "'" + name + "' may not be executed",
                here ? "for the one in this folder: ./" + name : "chmod +x " + name);
  }
  throw Error(Exit::not_started, "no such program: '" + name + "'");
}

// A signal's number and name; what may have sent the one that says least.
std::string said_of(int signal) {
  const char* from = signal == SIGKILL ? ": for want of memory, by another process or by its own strict seccomp" : "";
  return fmt::format("{} ({}{})", signal, strsignal(signal), from);
}

}  // namespace

std::string runnable(const std::string& program, const CompileOptions& options, const machine::Device& device,
                     const Layout& layout, std::unique_ptr<Cache>& cache) {
  if (!is_source(program)) return find_executable(program);
  cache = std::make_unique<Cache>();
  return compile(program, options, device, layout, *cache);
}

// Prints what the figures do not cover.
void print_warnings(const Execution& execution, bool colour) {
  const Record& record = execution.record;
  const auto warn = [&](const std::string& text) {
    std::cerr << styled("warning:", Style::bad, colour) << ' ' << text << '\n';
  };
  if (!record.damage.empty())
    warn("the record of this run is damaged, launches after it are missing: " + record.damage);
  for (const std::string& note : record.notes) warn(note);
  for (const std::string& why : execution.missing) warn(why + "; counted is what it had launched");
  if (execution.outcome.signal == SIGSYS)
    warn("a system call that the machine makes is forbidden to this program (seccomp): it cannot run here");
  else if (execution.outcome.filtered &&
           (execution.outcome.code != 0 || record.launches.empty() || !record.complete || !record.damage.empty()))
    warn("this program has a filter of system calls (seccomp): calls that the machine makes may fail in it");
  if (record.unused() && execution.outcome.signal)
    warn(fmt::format("the program was ended by signal {} before it called the machine's CUDA runtime",
                     said_of(execution.outcome.signal)));
  else if (record.unused() && execution.outcome.code == 0)
    warn("the program made no call to the machine's CUDA runtime");
  if (record.started && !record.complete && record.damage.empty()) {
    warn(execution.outcome.signal ? fmt::format("the program was ended by signal {}; counted is what finished before",
                                                said_of(execution.outcome.signal))
                                  : "the program ended without closing its record; counted is what finished before");
  }
}

RecordFile::RecordFile(const std::string& path) : path_(path), stays_(!path.empty()) {
  if (stays_) {
    const int kept = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (kept < 0) throw Error(Exit::environment, "cannot write " + path_ + ": " + std::strerror(errno));
    close(kept);
    return;
  }
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
  if (stays_) return;
  unlink(path_.c_str());
  unlink((path_ + record::kTruncated).c_str());
}

std::string prepended(const std::string& first, const char* variable, char separator) {
  const char* rest = std::getenv(variable);
  return rest && *rest ? first + separator + rest : first;
}

Execution execute(Command command, const MachineOptions& options, const Layout& layout, bool quiet) {
  require_runtime(layout);
  if (options.engine == machine::Engine::native) require_native(layout);
  const std::string& program = command.words.front();
  const Executable executable = inspect_file(program);
  require_runnable(executable, program);
  require_unprivileged(program);
  if (executable.static_runtime()) require_redirectable(program);

  const RecordFile file(options.record);
  auto& environment = command.environment;
  environment["LD_LIBRARY_PATH"] = prepended(layout.runtime.string(), "LD_LIBRARY_PATH", ':');
  // DT_RPATH is searched before LD_LIBRARY_PATH; what is loaded already is not searched at all.
  if (!executable.rpath.empty() && !executable.cudart().empty()) {
    environment["LD_PRELOAD"] = prepended((layout.runtime / executable.cudart()).string(), "LD_PRELOAD", ':');
  }
  redirect_to(environment, layout, layout.runtime, {});
  environment["COALESCE_DEVICE"] = std::string(find_device(options.device).key);
  environment["COALESCE_DEVICES"] = std::to_string(options.devices);
  environment["COALESCE_DEVICE_CHOSEN"] = options.device_chosen ? "1" : "0";
  // `check` has no such option: a variable of the user's reaches the machine, which takes one thread all the same.
  if (!options.check) environment["COALESCE_THREADS"] = std::to_string(options.threads);
  environment["COALESCE_MAX_INSTRUCTIONS"] = std::to_string(options.max_instructions);
  environment["COALESCE_ENGINE"] = machine::engine_name(options.engine);
  if (options.shadow) environment["COALESCE_SHADOW"] = "1";
  environment["COALESCE_CHECK"] = options.check ? "1" : "0";
  environment["COALESCE_TIME"] = options.time ? "1" : "0";
  environment["COALESCE_SCHEDULES"] = std::to_string(options.schedules);
  environment["COALESCE_MODEL"] = machine::name_of(machine::kModels, options.model);
  environment["COALESCE_PROGRESS"] = !quiet && isatty(STDERR_FILENO) == 1 ? "1" : "0";
  environment["COALESCE_COLOR"] = use_colour(options.colour, STDERR_FILENO) ? "1" : "0";
  environment["COALESCE_RECORD"] = file.path();
  environment["COALESCE_RECORD_SHARED"] = "1";

  Execution execution{.outcome = run_child(command), .record = read_record_file(file.path())};
  // A program linked with the runtime may decide not to use it; anything else was not run on the machine at all.
  const Record& record = execution.record;
  if (record.unused() && execution.outcome.code == 0 && executable.cudart().empty() && !executable.static_runtime()) {
    throw Error(Exit::not_started, "'" + program + "' did not use the CUDA runtime, so there is nothing to count",
                "coalesce run takes a CUDA program, or a .cu file");
  }
  if (execution.record.program.empty()) execution.record.program = program;
  if (!execution.record.started) {
    const machine::Device& device = find_device(options.device);
    execution.record.device = {std::string(device.key), std::string(device.name), {device.major, device.minor}};
  }
  return execution;
}

void gather(const Ranks& ranks, Execution& execution) {
  for (unsigned rank = 0; rank < ranks.size(); ++rank) {
    if (rank == ranks.rank()) continue;
    const Ranks::Part part = ranks.take("code", rank);
    if (!part.text) execution.missing.push_back(part.why);
    std::error_code ignored;
    const fs::path record = ranks.file("record", rank);
    if (fs::exists(record, ignored)) execution.record.append(read_record_file(record.string()));
  }
  execution.record.ranks = ranks.size();
  execution.record.complete &= execution.missing.empty();
}

int exit_code(const Execution& execution, bool allow_stopped) {
  if (execution.outcome.code != 0) return execution.outcome.code;
  if (execution.record.interrupted()) return static_cast<int>(Exit::interrupted);
  // Launches are missing: the rest must not pass for all.
  if (!execution.record.damage.empty() || !execution.missing.empty()) return static_cast<int>(Exit::environment);
  return execution.record.faulted() && !allow_stopped ? static_cast<int>(Exit::hazard) : 0;
}

}  // namespace coalesce::tool
