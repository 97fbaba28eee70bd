#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "tool/command/experiment_run.h"

namespace coalesce::tool {
namespace {

constexpr int kRepetitions = 10;  // of each launch, for cold and for warm caches
constexpr int kRuns = 5;          // of a rung that runs by itself

// "in_shared   23.0 cycles a step  ok" -> 23; 0: nothing of the kind in the rung's line.
double cycles_of(const std::string& rung, const std::string& output) {
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);) {
    if (line.compare(0, rung.size() + 1, rung + ' ') != 0) continue;
    const auto at = line.find(" cycles a step");
    if (at == std::string::npos) continue;
    const auto start = line.find_last_of(' ', at - 1);
    if (start != std::string::npos) return std::strtod(line.c_str() + start + 1, nullptr);
  }
  return 0;
}

double copy_seconds(const Record& record, const char* path) {
  if (!record.copies.is_object() || !record.copies.contains(path)) return 0;
  return record.copies[path].value("seconds", 0.0);
}

void take(Experiment& experiment, const Execution& execution) {
  experiment.interrupted |= execution.outcome.interrupted;
  for (const std::string& note : execution.record.notes) {
    if (std::find(experiment.notes.begin(), experiment.notes.end(), note) == experiment.notes.end())
      experiment.notes.push_back(note);
  }
  if (const int code = exit_code(execution); code && !experiment.exit_code) {
    experiment.exit_code = code;
    experiment.output += execution.outcome.output;
  }
}

// Rungs that are a matter of copies: as they are, several times.
void run_separately(Experiment& experiment, const std::vector<std::string>& words, const Layout& layout) {
  for (Rung& rung : experiment.rungs) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--rung", rung.name});
    std::vector<double> span, h2d, d2h;
    for (int i = 0; i < kRuns && !experiment.interrupted; ++i) {
      const Execution execution = execute_on_gpu({.words = all, .output_to_pipe = true}, {.plain = true}, layout);
      take(experiment, execution);
      span.push_back(execution.record.span);
      h2d.push_back(copy_seconds(execution.record, "h2d"));
      d2h.push_back(copy_seconds(execution.record, "d2h"));
    }
    Hardware hardware;
    hardware.span = median(span), hardware.h2d_seconds = median(h2d), hardware.d2h_seconds = median(d2h);
    rung.hardware = hardware;
  }
}

}  // namespace

void run_on_gpu(Experiment& experiment, const ClaimFile& claims, const std::vector<std::string>& words,
                const Layout& layout) {
  if (claims.separate) return run_separately(experiment, words, layout);
  std::vector<std::string> timed = words;
  if (std::find(claims.options.begin(), claims.options.end(), "cycles") != claims.options.end())
    timed.insert(timed.end(), {"--cycles", "1"});
  const Execution times = execute_on_gpu({.words = timed, .output_to_pipe = true}, {.repeat = kRepetitions}, layout);
  take(experiment, times);
  if (experiment.interrupted) return;
  const Execution counters = execute_on_gpu({.words = words, .output_to_pipe = true}, {.counters = true}, layout);
  take(experiment, counters);
  for (Rung& rung : experiment.rungs) {
    Hardware hardware = hardware_of(times.record, rung.name);
    const Hardware counted = hardware_of(counters.record, rung.name);
    hardware.counters = counted.counters;
    hardware.known = counted.known;
    hardware.cycles = cycles_of(rung.name, times.outcome.output);
    rung.hardware = std::move(hardware);
  }
}

}  // namespace coalesce::tool
