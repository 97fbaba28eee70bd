#include "tool/experiment.h"

#include <algorithm>
#include <chrono>
#include <sstream>

#include "tool/claims.h"
#include "tool/error.h"
#include "tool/experiment_gpu.h"
#include "tool/experiment_source.h"
#include "tool/run.h"

namespace coalesce::tool {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kSteps = "_steps";  // ends the name of a kernel that stops after so many steps

bool has_word(const std::string& line, const std::string& word) {
  const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (auto at = line.find(word); at != std::string::npos; at = line.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !letter(line[at - 1])) && (end == line.size() || !letter(line[end]))) return true;
  }
  return false;
}

// What the experiment printed about a rung: lines that begin with its name and a space.
Rung::Result result_of(const std::string& rung, const std::string& output) {
  std::istringstream in(output);
  auto result = Rung::Result::unknown;
  for (std::string line; std::getline(in, line);) {
    const auto start = line.find_first_not_of(' ');
    if (start == std::string::npos || line.compare(start, rung.size(), rung) != 0) continue;
    const std::size_t end = start + rung.size();
    if (end < line.size() && line[end] != ' ') continue;
    if (has_word(line, "wrong")) return Rung::Result::wrong;
    if (line.ends_with("ok")) result = Rung::Result::right;
  }
  return result;
}

// What the launch with k steps counted beyond the one with k - 1.
Step difference(const machine::Counters& more, const machine::Counters& fewer, std::size_t number) {
  Step step;
  step.name = std::to_string(number);
  for (const auto& row : machine::kCounterRows) {
    step.counters.*row.field = above(more.*row.field, fewer.*row.field);
  }
  step.active_warps = step.counters.shared_store_requests;
  step.divergent_warps = step.counters.divergent_branches;
  step.conflict_degree = ratio(shared_wavefronts(step.counters), shared_requests(step.counters)).value_or(0);
  return step;
}

std::vector<Step> steps_of(const Record& record, std::size_t kernel) {
  std::vector<Step> steps;
  const machine::Counters* before = nullptr;
  for (const Launch& launch : record.launches) {
    if (launch.kernel != kernel) continue;
    if (before) steps.push_back(difference(launch.counters, *before, steps.size() + 1));
    before = &launch.counters;
  }
  return steps;
}

Copies copies_of(const Record& record) {
  Copies copies;
  const auto get = [&](const char* path, uint64_t& calls, uint64_t& bytes) {
    if (!record.copies.is_object()) return;
    const auto found = record.copies.find(path);
    if (found == record.copies.end() || !found->is_object()) return;
    calls = found->value("calls", uint64_t{0});
    bytes = found->value("bytes", uint64_t{0});
  };
  get("h2d", copies.h2d_calls, copies.h2d_bytes);
  get("d2h", copies.d2h_calls, copies.d2h_bytes);
  get("d2d", copies.d2d_calls, copies.d2d_bytes);
  return copies;
}

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
  const Execution execution = execute(all, options.machine, layout, false, false, true);
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
  // One rung of its own: all its kernels are this rung, if it has any.
  Rung whole;
  whole.name = rung;
  whole.result = result_of(rung, execution.outcome.output);
  whole.copies = copies_of(record);
  for (Rung& part : rungs(record, "")) {
    if (whole.launches == 0) {
      whole.grid = part.grid, whole.block = part.block, whole.shared_bytes = part.shared_bytes;
    }
    whole.counters += part.counters;
    whole.launches += part.launches;
    if (!part.fault.empty()) whole.fault = part.fault, whole.result = Rung::Result::wrong;
    whole.lines.insert(whole.lines.end(), part.lines.begin(), part.lines.end());
  }
  experiment.rungs.push_back(std::move(whole));
}

}  // namespace

std::vector<Rung> rungs(const Record& record, const std::string& output) {
  std::vector<Rung> ladder;
  const std::vector<KernelTotal> kernels = totals(record);
  std::vector<std::pair<std::string, std::size_t>> stepped;  // rung, kernel
  for (const KernelTotal& kernel : kernels) {
    const std::string& name = record.kernels[kernel.kernel].short_name;
    // Template arguments tell rungs apart only where one template is several rungs.
    const std::string base = without_template_arguments(name);
    if (base.ends_with(kSteps)) {
      stepped.emplace_back(base.substr(0, base.size() - kSteps.size()), kernel.kernel);
      continue;
    }
    const auto same = std::count_if(kernels.begin(), kernels.end(), [&](const KernelTotal& other) {
      return without_template_arguments(record.kernels[other.kernel].short_name) == base;
    });
    Rung rung;
    rung.name = same == 1 ? base : name;
    rung.counters = kernel.counters;
    rung.launches = kernel.launches;
    rung.fault = kernel.fault.empty() && kernel.interrupted ? "interrupted" : kernel.fault;
    rung.lines = kernel.lines;
    const auto first = std::find_if(record.launches.begin(), record.launches.end(),
                                    [&](const Launch& launch) { return launch.kernel == kernel.kernel; });
    rung.grid = first->grid, rung.block = first->block, rung.shared_bytes = first->dynamic_shared_bytes;
    rung.result = kernel.ended() ? result_of(rung.name, output) : Rung::Result::wrong;
    ladder.push_back(std::move(rung));
  }
  for (const auto& [name, kernel] : stepped) {
    const auto rung = std::find_if(ladder.begin(), ladder.end(), [&](const Rung& r) { return r.name == name; });
    if (rung != ladder.end()) rung->steps = steps_of(record, kernel);
  }
  return ladder;
}

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
    found.push_back(std::move(experiment));
  }
  std::sort(found.begin(), found.end(), [](const Experiment& a, const Experiment& b) { return a.name < b.name; });
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
