#include "tool/command/experiment_run.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <tuple>

#include "tool/figures/claims.h"
#include "tool/figures/error.h"
#include "tool/figures/experiment_source.h"

namespace coalesce::tool {
namespace fs = std::filesystem;
namespace {

ClaimFile claims_of(const Experiment& experiment) {
  const fs::path path = experiment.source.parent_path() / "claims.toml";
  const auto text = read_file(path);
  if (text) return parse_claims(*text, path.string());
  ClaimFile none;  // an experiment that is being written
  none.options = {"n", "block"};
  return none;
}

// The words that set the sizes, of those options that this experiment has.
std::vector<std::string> size_words(const Experiment& experiment, const ClaimFile& claims, const LabOptions& options) {
  const std::pair<const char*, const std::string&> given[] = {{"n", options.n},           {"block", options.block},
                                                              {"stride", options.stride}, {"width", options.width},
                                                              {"pad", options.pad},       {"lanes", options.lanes}};
  const bool all = std::find(options.names.begin(), options.names.end(), "all") != options.names.end();
  std::vector<std::string> words;
  for (const auto& [name, value] : given) {
    if (value.empty()) continue;
    if (std::find(claims.options.begin(), claims.options.end(), name) != claims.options.end()) {
      words.insert(words.end(), {std::string("--") + name, value});
    } else if (!all) {
      std::string known;
      for (const std::string& option : claims.options) known += (known.empty() ? "--" : ", --") + option;
      throw Error(Exit::usage, experiment.name + " takes no --" + name,
                  known.empty() ? "it has no options" : "it takes " + known);
    }
  }
  return words;
}

// One run of the program; what it found is added to the experiment.
void run_once(Experiment& experiment, const std::vector<std::string>& words, const std::string& rung,
              const LabOptions& options, const Layout& layout) {
  std::vector<std::string> all = words;
  if (!rung.empty()) all.insert(all.end(), {"--rung", rung});
  const Execution execution = execute({.words = all, .output_to_pipe = true}, options.machine, layout, false);
  const Record& record = execution.record;
  experiment.device = record.device;
  experiment.output += execution.outcome.output;
  experiment.interrupted |= execution.outcome.interrupted;
  const int code = exit_code(execution);
  experiment.exit_code = experiment.exit_code ? experiment.exit_code : code;
  if (rung.empty()) {
    experiment.rungs = rungs(record, execution.outcome.output);
    return;
  }
  experiment.rungs.push_back(whole_rung(record, rung, execution.outcome.output));
}

}  // namespace

std::vector<Experiment> find_experiments(const fs::path& lab) {
  if (lab.empty()) throw Error(Exit::environment, "the experiments are missing from this installation");
  std::vector<Experiment> found;
  std::error_code error;
  for (fs::directory_iterator it(lab, error), end; !error && it != end; it.increment(error)) {
    Experiment experiment;
    experiment.name = it->path().filename().string();
    experiment.source = it->path() / (experiment.name + ".cu");
    const auto text = read_file(experiment.source);
    if (!text) continue;
    experiment.title = title_of(*text);
    const ClaimFile claims = claims_of(experiment);
    experiment.order = claims.order ? claims.order : INT_MAX;
    experiment.chart = claims.chart;
    found.push_back(std::move(experiment));
  }
  std::sort(found.begin(), found.end(), [](const Experiment& a, const Experiment& b) {
    return std::tie(a.order, a.name) < std::tie(b.order, b.name);
  });
  return found;
}

void run_experiment(Experiment& experiment, const LabOptions& options, const Target& target, const Layout& layout,
                    Cache& cache) {
  const ClaimFile claims = claims_of(experiment);
  experiment.sizes = size_words(experiment, claims, options);
  const auto started = std::chrono::steady_clock::now();
  CompileOptions compiling = options.machine.compile;
  if (target.gpu) {  // one program for both, with machine code of the PTX that the machine runs
    compiling.compiler = Compiler::nvcc;
    compiling.native = target.gpu->major * 10 + target.gpu->minor;
  }
  compiling.registers = options.machine.time;
  std::vector<std::string> words = {
      compile(experiment.source, compiling, find_device(options.machine.device), layout, cache).string()};
  words.insert(words.end(), experiment.sizes.begin(), experiment.sizes.end());
  if (claims.separate) {
    for (const std::string& rung : claims.rungs) {
      run_once(experiment, words, rung, options, layout);
      if (experiment.interrupted) break;
    }
  } else {
    run_once(experiment, words, "", options, layout);
  }
  experiment.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();

  if (target.gpu && !experiment.interrupted) {
    experiment.gpu = target.gpu->name;
    experiment.limits = target.limits;
    experiment.every_counter = options.on == "both";
    run_on_gpu(experiment, claims, words, layout);
  }
  const std::string source = read_file(experiment.source).value_or("");
  for (Rung& rung : experiment.rungs) {
    const Comment comment = comment_of(source, without_template_arguments(rung.name));
    rung.changed = comment.changed;
    rung.expected = comment.expected;
    if (rung.result == Rung::Result::wrong && experiment.exit_code == 0)
      experiment.exit_code = static_cast<int>(Exit::failed);
  }
  std::vector<Rung> compared;
  for (const Rung& rung : experiment.rungs) {
    const auto& names = claims.compare;
    if (!names || std::find(names->begin(), names->end(), rung.name) != names->end()) compared.push_back(rung);
  }
  experiment.comparisons = compare(compared);
  for (const ClaimRule& row : claims.rows)
    experiment.claims.push_back(judge(row, experiment.rungs, experiment.sizes.empty()));
}

}  // namespace coalesce::tool
