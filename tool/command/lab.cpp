#include "tool/command/lab.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <sstream>

#include "tool/command/execute.h"
#include "tool/command/experiment_run.h"
#include "tool/command/gpu.h"
#include "tool/figures/error.h"
#include "tool/figures/metrics.h"
#include "tool/present/export.h"
#include "tool/present/lab.h"
#include "tool/present/report.h"
#include "tool/present/table.h"

namespace coalesce::tool {
namespace {

std::vector<Experiment> chosen(const std::vector<Experiment>& known, const std::vector<std::string>& names) {
  std::vector<Experiment> result;
  for (const std::string& name : names) {
    if (name == "all") return known;
    const auto found = std::find_if(known.begin(), known.end(), [&](const Experiment& e) { return e.name == name; });
    if (found == known.end()) {
      std::vector<std::string> candidates;
      for (const Experiment& e : known) candidates.push_back(e.name);
      const auto near = nearest(name, candidates, 1);
      throw Error(Exit::usage, "no experiment called '" + name + "'",
                  near.empty() ? "coalesce lab lists them" : "did you mean " + near[0] + "?");
    }
    result.push_back(*found);
  }
  return result;
}

// Names, and beside them the titles, broken between words to stay within the table's width.
void print_list(std::ostream& out, const std::vector<Experiment>& experiments, bool colour) {
  std::size_t names = 0;
  for (const Experiment& e : experiments) names = std::max(names, display_width(e.name) + 2);
  for (const Experiment& e : experiments) {
    out << styled(e.name, Style::bold, colour) << std::string(names - display_width(e.name), ' ');
    std::istringstream words(e.title);
    std::size_t used = names;
    for (std::string word; words >> word; used += display_width(word) + 1) {
      if (used > names && used + display_width(word) > kTableWidth) {
        out << '\n' << std::string(names, ' ');
        used = names;
      }
      out << (used > names ? " " : "") << word;
    }
    out << '\n';
  }
}

// Shows an experiment's results at once, because the next one may take long.
void show(const Experiment& experiment, bool first, const LabOptions& options, bool colour) {
  if (options.markdown) {
    if (!first) std::cout << '\n';
    print_experiment_markdown(std::cout, experiment);
  } else if (!options.csv) {
    if (!first) std::cout << '\n';
    print_experiment(std::cout, experiment,
                     {.colour = colour, .wide = options.wide, .width = terminal_width(STDOUT_FILENO), .beside = {}});
  }
  std::cout.flush();
}

// The GPU, if one is wanted and there is one that programs can be built for.
Target target_of(const LabOptions& options, const Layout& layout, Cache& cache, bool colour) {
  Target target;
  if (options.on == "machine") return target;
  std::string why;
  target.gpu = find_gpu(why);
  if (target.gpu && find_program("nvcc").empty()) {
    why = "there is no nvcc on PATH to build programs for the " + target.gpu->name;
    target.gpu.reset();
  }
  if (!target.gpu) {
    if (options.on != "auto")
      throw Error(Exit::environment, "cannot run on a GPU: " + why, "--on machine counts without one");
    return target;
  }
  std::cerr << styled("measuring what the " + target.gpu->name + " can do at best", Style::dim, colour) << '\n';
  target.limits = measure_limits(*target.gpu, layout, cache);
  return target;
}

}  // namespace

int lab(const LabOptions& given) {
  LabOptions options = given;
  const Layout layout = find_layout();
  const std::vector<Experiment> known = find_experiments(layout.lab);
  const bool colour = use_colour(options.machine.colour, STDOUT_FILENO);
  const bool error_colour = use_colour(options.machine.colour, STDERR_FILENO);
  if (options.names.empty() || (options.names.size() == 1 && options.names[0] == "list")) {
    print_list(std::cout, known, colour);
    return 0;
  }
  if (options.json == "-" && options.html == "-")
    throw Error(Exit::usage, "--json - and --html - cannot share standard output");
  std::vector<Experiment> experiments = chosen(known, options.names);
  const auto json = options.json.empty() ? nullptr : std::make_unique<Export>("--json", options.json);
  const auto html = options.html.empty() ? nullptr : std::make_unique<Export>("--html", options.html);
  const bool tables = options.json != "-" && options.html != "-";
  const bool several = experiments.size() > 1;

  Cache cache;
  const Target target = target_of(options, layout, cache, error_colour);
  if (options.on == "both" && target.gpu && !options.machine.device_chosen)
    options.machine.device = device_like(*target.gpu, options.machine.device);
  int code = 0;
  std::vector<std::string> said;
  for (std::size_t i = 0; i < experiments.size(); ++i) {
    Experiment& e = experiments[i];
    // A line of its own: the machine may have warnings to print meanwhile.
    if (several)
      std::cerr << styled(fmt::format("[{}/{}] {}", i + 1, experiments.size(), e.name), Style::dim, error_colour)
                << '\n';
    run_experiment(e, options, target, layout, cache);
    for (const std::string& note : e.notes) {  // the same for most experiments: once
      if (std::find(said.begin(), said.end(), note) != said.end()) continue;
      said.push_back(note);
      std::cerr << styled("note:", Style::bold, error_colour) << ' ' << note << '\n';
    }
    if (tables) show(e, i == 0, options, colour);
    if (e.exit_code) {
      // The program's output says which result is wrong.
      std::cerr << e.output;
      print_error(fmt::format("{} ended with {}", e.name, e.exit_code), "", error_colour);
      code = code ? code : e.exit_code;
    }
    if (e.interrupted) {
      experiments.resize(i + 1);
      break;
    }
  }
  if (tables && options.csv) write_lab_csv(std::cout, experiments);
  if (tables && several && !options.csv && !options.markdown) {
    std::cout << '\n';
    print_summary(std::cout, experiments, colour);
  }
  if (json) json->write(lab_json(experiments));
  if (html) {
    std::ostringstream page;
    write_report(page, experiments);
    html->write(page.str());
  }
  return code;
}

}  // namespace coalesce::tool
