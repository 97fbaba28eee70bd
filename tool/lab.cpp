#include "tool/lab.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>

#include "tool/error.h"
#include "tool/export.h"
#include "tool/metrics.h"
#include "tool/run.h"
#include "tool/summary.h"

namespace coalesce::tool {
namespace fs = std::filesystem;
namespace {

struct Experiment {
  std::string name, title;
  fs::path source;
};

// Of the comment that a source begins with.
std::string first_sentence(std::istream& in) {
  std::string text;
  for (std::string line; std::getline(in, line) && line.starts_with("//");) {
    const auto start = line.find_first_not_of("/ ");
    if (start == std::string::npos) break;
    text += (text.empty() ? "" : " ") + line.substr(start);
    if (const auto end = text.find(". "); end != std::string::npos) return text.substr(0, end);
  }
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::vector<Experiment> find_experiments(const Layout& layout) {
  if (layout.lab.empty()) throw Error(Exit::environment, "the experiments are missing from this installation");
  std::vector<Experiment> found;
  std::error_code error;
  for (fs::directory_iterator it(layout.lab, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const fs::path source = it->path() / (name + ".cu");
    std::ifstream in(source);
    if (!in) continue;
    found.push_back({name, first_sentence(in), source});
  }
  std::sort(found.begin(), found.end(), [](const Experiment& a, const Experiment& b) { return a.name < b.name; });
  return found;
}

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

bool has_word(const std::string& line, const std::string& word) {
  const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (auto at = line.find(word); at != std::string::npos; at = line.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !letter(line[at - 1])) && (end == line.size() || !letter(line[end]))) return true;
  }
  return false;
}

// What the experiment printed about a rung.
Rung::Result result_of(const std::string& rung, const std::string& output) {
  std::istringstream in(output);
  auto result = Rung::Result::unknown;
  for (std::string line; std::getline(in, line);) {
    const auto start = line.find_first_not_of(' ');
    if (start == std::string::npos || line.compare(start, rung.size(), rung) != 0 || !has_word(line, rung)) continue;
    if (has_word(line, "wrong")) return Rung::Result::wrong;
    if (line.ends_with("ok")) result = Rung::Result::right;
  }
  return result;
}

Table ladder_table(const std::vector<Rung>& ladder) {
  std::vector<Column> columns = {{.title = "rung", .left = true}};
  for (Column& column : counter_columns()) columns.push_back(std::move(column));
  columns.push_back({.title = "result"});
  Table table(columns);
  for (const Rung& rung : ladder) {
    std::vector<Cell> cells = {{rung.name}};
    for (Cell& cell : counter_cells(rung.counters, true)) cells.push_back(std::move(cell));
    static const Cell kResults[] = {{}, {"ok", Style::good}, {"wrong", Style::bad}};
    cells.push_back(kResults[static_cast<int>(rung.result)]);
    table.row(std::move(cells));
  }
  return table;
}

void print_experiment(std::ostream& out, const Experiment& experiment, const Execution& execution,
                      const std::vector<Rung>& ladder, const LabOptions& options, bool colour) {
  if (options.csv) {
    write_csv(out, execution.record);
  } else if (options.markdown) {
    out << "## " << experiment.name << "\n\n"
        << experiment.title << " (" << execution.record.device.name << ", counted)\n\n";
    if (!ladder.empty()) ladder_table(ladder).print_markdown(out);
    out << '\n';
  } else {
    out << styled(experiment.name, Style::bold, colour) << " on " << execution.record.device.name
        << " (counted, not timed)";
    out << (experiment.title.empty() ? "" : "\n" + experiment.title) << "\n\n";
    if (ladder.empty()) {
      out << "No kernel was launched.\n";
      return;
    }
    ladder_table(ladder).print(out, colour);
    print_legend(out, colour);
    print_comparison(out, ladder, colour);
  }
}

}  // namespace

std::vector<Rung> rungs(const Record& record, const std::string& output) {
  std::vector<Rung> ladder;
  const std::vector<KernelTotal> kernels = totals(record);
  for (const KernelTotal& kernel : kernels) {
    const std::string& name = record.kernels[kernel.kernel].short_name;
    // Template arguments tell rungs apart only where one template is several rungs.
    const std::string base = without_template_arguments(name);
    const auto same = std::count_if(kernels.begin(), kernels.end(), [&](const KernelTotal& other) {
      return without_template_arguments(record.kernels[other.kernel].short_name) == base;
    });
    ladder.push_back({same == 1 ? base : name, kernel.counters, Rung::Result::unknown});
    ladder.back().result = kernel.fault.empty() ? result_of(ladder.back().name, output) : Rung::Result::wrong;
  }
  return ladder;
}

void print_comparison(std::ostream& out, const std::vector<Rung>& ladder, bool colour) {
  struct Quantity {
    const char* verb;
    const char* noun;
    uint64_t (*value)(const machine::Counters&);
  };
  static const Quantity kQuantities[] = {
      {"moves", "sectors", [](const machine::Counters& c) { return moved_bytes(c) / 32; }},
      {"takes", "shared wavefronts", shared_wavefronts},
      {"executes", "warp instructions (of PTX)", [](const machine::Counters& c) { return c.instructions; }},
  };
  for (const Quantity& quantity : kQuantities) {
    // A rung that has none of it (no shared memory at all) is no competitor.
    const Rung* best = nullptr;
    for (const Rung& rung : ladder) {
      const uint64_t value = quantity.value(rung.counters);
      if (value && (!best || value < quantity.value(best->counters))) best = &rung;
    }
    if (!best) continue;
    std::string lines;
    for (const Rung& rung : ladder) {
      const auto times = ratio(quantity.value(rung.counters), quantity.value(best->counters));
      if (*times >= 1.005)
        lines += fmt::format("  {:>7.2f} times fewer {} than {}\n", *times, quantity.noun, rung.name);
    }
    if (!lines.empty()) out << '\n' << styled(best->name, Style::bold, colour) << ' ' << quantity.verb << '\n' << lines;
  }
}

int lab(const LabOptions& options) {
  const Layout layout = find_layout();
  const std::vector<Experiment> known = find_experiments(layout);
  const bool colour = use_colour(options.machine.colour, STDOUT_FILENO);
  if (options.names.empty() || (options.names.size() == 1 && options.names[0] == "list")) {
    print_list(std::cout, known, colour);
    return 0;
  }
  const std::vector<Experiment> wanted = chosen(known, options.names);
  const machine::Device& device = find_device(options.machine.device);
  const auto json = options.json.empty() ? nullptr : std::make_unique<Export>("--json", options.json);

  Cache cache;
  std::vector<std::string> documents;
  int code = 0;
  for (const Experiment& experiment : wanted) {
    std::vector<std::string> words = {
        compile(experiment.source, options.machine.compile, device, layout, cache).string()};
    if (!options.n.empty()) words.insert(words.end(), {"--n", options.n});
    if (!options.block.empty()) words.insert(words.end(), {"--block", options.block});
    Execution execution = execute(words, options.machine, layout, false, false, true);
    execution.record.program = experiment.name;
    const std::vector<Rung> ladder = rungs(execution.record, execution.outcome.output);
    int this_code = exit_code(execution);
    if (std::any_of(ladder.begin(), ladder.end(), [](const Rung& r) { return r.result == Rung::Result::wrong; })) {
      this_code = this_code ? this_code : static_cast<int>(Exit::failed);
    }
    if (json) {
      std::ostringstream text;
      write_json(text, execution.record, this_code, false);
      documents.push_back("{\"name\":" + nlohmann::json(experiment.name).dump() + ",\"run\":" + text.str() + "}\n");
    }
    if (!json || !json->standard_output()) {
      if (&experiment != &wanted.front() && !options.csv) std::cout << '\n';
      print_experiment(std::cout, experiment, execution, ladder, options, colour);
      std::cout.flush();
    }
    if (this_code) {
      // What it printed says which result is wrong.
      std::cerr << execution.outcome.output;
      print_error(fmt::format("{} ended with {}", experiment.name, this_code), "",
                  use_colour(options.machine.colour, STDERR_FILENO));
    }
    code = code ? code : this_code;
    if (execution.outcome.interrupted) break;
  }
  if (json) {
    std::string text = "{\"schema\":\"coalesce.lab/1\",\"experiments\":[\n";
    for (std::size_t i = 0; i < documents.size(); ++i) text += (i ? "," : "") + documents[i];
    json->write(text + "]}\n");
  }
  return code;
}

}  // namespace coalesce::tool
