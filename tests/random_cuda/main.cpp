// random_cuda: makes random CUDA programs, runs them on the machine, and reduces those that fail.
//   random_cuda --seeds 1,200 [--compilations clang-O0,nvcc-O3] [--engines interpreter,native] [--jobs 2]
//               [--per-source 20] [--kept FOLDER] [--time SECONDS] [--need-coverage] [--command COMMAND]
//   random_cuda --seeds 1,20 --print            the source alone
// Each source is compiled in one of the ways, in turn, or with --all-ways in each; what it prints is run by all
// engines. COMMAND takes the arguments of `coalesce` in its place: judge.sh's reduces what fails on a GPU. Exit code: 0
// all is right, 1 some program fails, 2 wrong usage.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "tests/random_cuda/reduce.h"
#include "tests/random_cuda/trial.h"

namespace coalesce::random_cuda {
namespace {

struct Options {
  uint32_t first = 1, count = 20, per_source = 20;
  std::vector<const Compilation*> compilations;
  std::vector<std::string> engines = {"interpreter", "native"};
  unsigned jobs = 2;
  double seconds = 1e9;
  std::string kept;
  bool print = false, need_coverage = false, all_ways = false;
  Paths paths;
};

struct Totals {
  std::mutex mutex;
  unsigned programs = 0, runs = 0, failures = 0;
  std::map<std::string, unsigned> features;
};

std::vector<std::string> words(const std::string& list) {
  std::vector<std::string> result;
  std::istringstream in(list);
  for (std::string word; std::getline(in, word, ',');) result.push_back(word);
  return result;
}

// How one program fails, if it does: "differs", "failed", or how the process ended.
std::string how(const Outcome& outcome, uint32_t seed) {
  for (const Failure& f : outcome.failures)
    if (f.seed == seed) return f.launch ? "failed" : "differs";
  return outcome.kind == Outcome::Kind::other ? "other" : "";
}

void keep_reduced(const Options& o, const Program& program, const Compilation& way, const std::string& engine,
                  const std::string& message, const std::string& kind, unsigned worker) {
  const std::string name = "reduce" + std::to_string(worker);
  const auto still_fails = [&](const std::vector<Cuts>& variants) {
    std::vector<bool> result(variants.size());
    const std::string all = source_of_variants(program, variants);
    const Outcome together = run(o.paths, name, all, way, engine);
    for (uint32_t v = 0; v < variants.size(); ++v) {
      if (together.complete() || variants.size() == 1)
        result[v] = how(together, v) == kind;
      else if (together.kind == Outcome::Kind::no_program)  // one of them is none: each by itself
        result[v] = how(run(o.paths, name, source_of_variants(program, {variants[v]}), way, engine), 0) == kind;
      else
        result[v] = how(run(o.paths, name, all, way, engine, v), v) == kind;
    }
    return result;
  };
  const Cuts cuts = reduced(program, still_fails);
  std::filesystem::create_directories(o.kept);
  const std::string file = o.kept + "/seed" + std::to_string(program.seed) + "-" + way.name + "-" + engine + ".cu";
  std::ofstream(file) << "// " << message << "\n" << source({program}, cuts);
  printf("  reduced: %s\n", file.c_str());
  fflush(stdout);
}

// One source by one compiler and all engines.
void run_source(const Options& o, const std::vector<Program>& programs, const Compilation& way, unsigned worker,
                Totals& totals) {
  const std::string text = source(programs), name = "source" + std::to_string(worker);
  std::set<uint32_t> known;  // those that have failed by an earlier engine: reduced once
  for (const std::string& engine : o.engines) {
    std::vector<Outcome> outcomes = {run(o.paths, name, text, way, engine)};
    const bool complete = outcomes[0].complete(), compiled = outcomes[0].kind != Outcome::Kind::no_program;
    if (compiled && !complete) {
      outcomes.clear();
      for (const Program& p : programs) outcomes.push_back(run(o.paths, name, text, way, engine, p.seed));
    }
    std::vector<std::pair<const Program*, std::pair<std::string, std::string>>> failing;  // how, message
    for (size_t i = 0; i < programs.size(); ++i) {
      const Outcome& outcome = outcomes[outcomes.size() == 1 ? 0 : i];
      const std::string kind = compiled ? how(outcome, programs[i].seed) : "no program";
      std::string message = outcome.message;
      for (const Failure& f : outcome.failures)
        if (f.seed == programs[i].seed) message = f.message;
      if (!kind.empty()) failing.push_back({&programs[i], {kind, message}});
      if (!compiled) break;
    }
    {
      const std::lock_guard lock(totals.mutex);
      totals.runs += static_cast<unsigned>(programs.size()), totals.failures += static_cast<unsigned>(failing.size());
      for (const auto& [p, what] : failing)
        printf("%s %s seed %u: %s\n", way.name, engine.c_str(), p->seed, what.second.c_str());
      fflush(stdout);
    }
    if (o.kept.empty()) continue;
    for (const auto& [p, what] : failing)
      if (compiled && known.insert(p->seed).second) keep_reduced(o, *p, way, engine, what.second, what.first, worker);
  }
}

void work(const Options& o, unsigned worker, std::atomic<uint32_t>& next, Totals& totals) {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    const uint32_t batch = next++;
    const uint32_t from = batch * o.per_source;
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    if (from >= o.count || spent.count() > o.seconds) return;
    std::vector<Program> programs;
    for (uint32_t i = from; i < std::min(o.count, from + o.per_source); ++i) programs.push_back(generate(o.first + i));
    {
      const std::lock_guard lock(totals.mutex);
      totals.programs += static_cast<unsigned>(programs.size());
      for (const Program& p : programs)
        for (const auto& [feature, times] : p.features) totals.features[feature] += times;
    }
    if (o.all_ways) {
      for (const Compilation* way : o.compilations) run_source(o, programs, *way, worker, totals);
    } else {
      run_source(o, programs, *o.compilations[batch % o.compilations.size()], worker, totals);
    }
  }
}

bool on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (std::filesystem::exists(folder + "/" + program)) return true;
  return false;
}

int usage(const char* what) {
  fprintf(stderr, "error: %s\nhint: the options are at the top of tests/random_cuda/main.cpp\n", what);
  return 2;
}

int run_all(const Options& o) {
  std::filesystem::create_directories(o.paths.scratch);
  Totals totals;
  std::atomic<uint32_t> next = 0;
  std::vector<std::thread> workers;
  for (unsigned w = 0; w < o.jobs; ++w) workers.emplace_back([&, w] { work(o, w, next, totals); });
  for (std::thread& w : workers) w.join();
  unsigned missing = 0;
  for (const std::string& feature : all_features()) {
    if (totals.features.contains(feature)) continue;
    ++missing;
    printf("no program has: %s\n", feature.c_str());
  }
  printf("%u programs, %u runs, %u failures; %zu features, %u of them in no program\n", totals.programs, totals.runs,
         totals.failures, all_features().size(), missing);
  return totals.failures || (o.need_coverage && missing) ? 1 : 0;
}

int main_with(int argc, char** argv) {
  Options o;
  o.paths = {COALESCE_BINARY_DIR "/bin/coalesce", COALESCE_SOURCE_DIR "/tests/random_cuda/include",
             COALESCE_BINARY_DIR "/tests/random_cuda"};
  std::string ways;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--print") {
      o.print = true;
      continue;
    }
    if (option == "--need-coverage") {
      o.need_coverage = true;
      continue;
    }
    if (option == "--all-ways") {
      o.all_ways = true;
      continue;
    }
    if (++i == argc) return usage(("no value for " + option).c_str());
    const std::string value = argv[i];
    if (option == "--seeds" && value.find(',') != std::string::npos) {
      o.first = static_cast<uint32_t>(std::stoul(value)),
      o.count = static_cast<uint32_t>(std::stoul(value.substr(value.find(',') + 1)));
    } else if (option == "--compilations") {
      ways = value;
    } else if (option == "--engines") {
      o.engines = words(value);
    } else if (option == "--jobs") {
      o.jobs = static_cast<unsigned>(std::stoul(value));
    } else if (option == "--per-source") {
      o.per_source = std::max(1u, static_cast<uint32_t>(std::stoul(value)));
    } else if (option == "--kept") {
      o.kept = value;
    } else if (option == "--time") {
      o.seconds = std::stod(value);
    } else if (option == "--command") {
      o.paths.command = value;
    } else if (option == "--include") {
      o.paths.include = value;
    } else if (option == "--scratch") {
      o.paths.scratch = value;
    } else {
      return usage(("unknown option " + option).c_str());
    }
  }
  for (const Compilation& c : compilations()) {
    const std::vector<std::string> wanted = words(ways);
    if (c.compiler == std::string("nvcc") && !on_path("nvcc")) continue;
    if (ways.empty() || std::find(wanted.begin(), wanted.end(), c.name) != wanted.end()) o.compilations.push_back(&c);
  }
  if (o.compilations.empty()) return usage(("no compiler here for " + ways).c_str());
  if (!o.print) return run_all(o);
  std::vector<Program> programs;
  for (uint32_t i = 0; i < o.count; ++i) programs.push_back(generate(o.first + i));
  fputs(source(programs).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace coalesce::random_cuda

int main(int argc, char** argv) { return coalesce::random_cuda::main_with(argc, argv); }
