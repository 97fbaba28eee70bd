// `coalesce lab` for people: tables and text as wide as the terminal, or Markdown.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <sstream>

#include "tool/present/banks.h"
#include "tool/present/lab.h"
#include "tool/present/lab_gpu.h"
#include "tool/present/summary.h"
#include "tool/present/table.h"
#include "tool/present/terminal.h"

namespace coalesce::tool {
namespace {

Cell result_cell(Rung::Result result) {
  static const Cell kResults[] = {{}, {"ok", Style::good}, {"wrong", Style::bad}};
  return kResults[static_cast<int>(result)];
}

Table ladder_table(const std::vector<Rung>& ladder, bool wide) {
  std::vector<Column> columns = {{.title = "rung", .left = true, .cut = true}};
  for (Column& column : wide ? counter_columns() : moved_columns()) columns.push_back(std::move(column));
  columns.push_back({.title = "result"});
  Table table(columns);
  for (const Rung& rung : ladder) {
    std::vector<Cell> cells = {{rung.name}};
    for (Cell& cell : wide ? counter_cells(rung.counters, true) : moved_cells(rung.counters, true))
      cells.push_back(std::move(cell));
    cells.push_back(result_cell(rung.result));
    table.row(std::move(cells));
  }
  return table;
}

// For rungs that were run one by one to tell their copies apart.
Table copies_table(const std::vector<Rung>& ladder) {
  Table table({{.title = "rung", .left = true},
               {.group = "host to device", .title = "calls"},
               {.group = "host to device", .title = "bytes"},
               {.group = "device to host", .title = "calls"},
               {.group = "device to host", .title = "bytes"},
               {.group = "on the device", .title = "calls", .optional = true},
               {.group = "on the device", .title = "bytes", .optional = true},
               {.title = "launches"},
               {.title = "result"}});
  const auto number = [](uint64_t value) { return Cell{value ? grouped(value) : std::string(), Style::plain}; };
  for (const Rung& rung : ladder) {
    const Copies c = rung.copies.value_or(Copies{});
    table.row({{rung.name},
               number(c.h2d_calls),
               number(c.h2d_bytes),
               number(c.d2h_calls),
               number(c.d2h_bytes),
               number(c.d2d_calls),
               number(c.d2d_bytes),
               number(rung.launches),
               result_cell(rung.result)});
  }
  return table;
}

bool has_copies(const Experiment& e) {
  return std::any_of(e.rungs.begin(), e.rungs.end(), [](const Rung& r) { return r.copies.has_value(); });
}
bool has_steps(const Experiment& e) {
  return std::any_of(e.rungs.begin(), e.rungs.end(), [](const Rung& r) { return !r.steps.empty(); });
}

// A row for each step, and for each rung how its warps fared in it.
Table steps_table(const std::vector<Rung>& ladder) {
  std::vector<Column> columns = {{.title = "step"}};
  std::size_t most = 0;
  for (const Rung& rung : ladder) {
    if (rung.steps.empty()) continue;
    most = std::max(most, rung.steps.size());
    for (const char* title : {"warps", "divergent", "conflict"})
      columns.push_back({.group = rung.name, .title = title});
  }
  Table table(columns);
  for (std::size_t k = 0; k < most; ++k) {
    std::vector<Cell> cells = {{std::to_string(k + 1)}};
    for (const Rung& rung : ladder) {
      if (rung.steps.empty()) continue;
      if (k >= rung.steps.size()) {
        cells.insert(cells.end(), 3, Cell{});
        continue;
      }
      const Step& s = rung.steps[k];
      const bool whole = s.conflict_degree == std::floor(s.conflict_degree);
      cells.push_back({std::to_string(s.active_warps)});
      cells.push_back({std::to_string(s.divergent_warps), s.divergent_warps ? Style::bad : Style::plain});
      cells.push_back(s.conflict_degree > 1 ? Cell{fixed(s.conflict_degree, whole ? 0 : 1) + "-way", Style::bad}
                                            : Cell{"none", Style::plain});
    }
    table.row(std::move(cells));
  }
  return table;
}

const char* const kStepsLegend =
    "Steps of one block: warps at work, of these divergent, and passes of the banks a shared request takes";

// `text` broken between words, every line but the first indented; `used` columns of the first are taken.
void print_wrapped(std::ostream& out, std::size_t used, std::size_t indent, std::size_t width,
                   const std::string& text) {
  const std::vector<std::string> lines = wrapped(std::string(used, '.') + text, width, indent);
  out << lines[0].substr(used) << '\n';
  for (std::size_t i = 1; i < lines.size(); ++i) out << lines[i] << '\n';
}

std::string first_sentence(const std::string& text) {
  const auto end = text.find(". ");
  return end == std::string::npos ? text : text.substr(0, end + 1);
}

// A template is one rung's comment for several rungs: said once.
void print_changes(std::ostream& out, const std::vector<Rung>& ladder, const SummaryStyle& style) {
  std::string before;
  for (const Rung& rung : ladder) {
    if (rung.changed.empty() || rung.changed == before) continue;
    before = rung.changed;
    const std::string name = rung.name + ": ";
    out << styled(name, Style::bold, style.colour);
    print_wrapped(out, display_width(name), 2, style.width, first_sentence(rung.changed));
  }
}

uint32_t size_of(const Experiment& experiment, const std::string& option, uint32_t otherwise) {
  for (std::size_t i = 0; i + 1 < experiment.sizes.size(); i += 2) {
    if (experiment.sizes[i] == "--" + option) return static_cast<uint32_t>(std::stoul(experiment.sizes[i + 1]));
  }
  return otherwise;
}

void print_heading(std::ostream& out, const Experiment& e, const SummaryStyle& style) {
  std::string sizes;
  for (const std::string& word : e.sizes) sizes += ' ' + word;
  const std::string head = e.name + sizes;
  out << styled(head, Style::bold, style.colour);
  print_wrapped(out, display_width(head), 2, style.width,
                (e.gpu.empty() ? ", " : ", timed on an " + e.gpu + ", beside what is ") + as_device(e.device));
  if (!e.title.empty()) print_wrapped(out, 0, 0, style.width, e.title);
  out << '\n';
}

const char* mark(Verdict verdict) {
  static const char* const kMarks[] = {"✓", "✗", "?"};
  return kMarks[static_cast<int>(verdict)];
}
Style mark_style(Verdict verdict) {
  static const Style kStyles[] = {Style::good, Style::bad, Style::dim};
  return kStyles[static_cast<int>(verdict)];
}

}  // namespace

std::string figure_text(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) {
    return (value < 0 ? "-" : "") + grouped(static_cast<uint64_t>(std::abs(value)));
  }
  return fmt::format("{:.2f}", value);
}

std::string figures_text(const Claim& claim) {
  std::string text;
  const std::string unit = claim.unit.empty() ? "" : ' ' + claim.unit;
  if (claim.figure) text = "claimed " + figure_text(*claim.figure) + unit;
  if (claim.value)
    text += (text.empty() ? "" : ", ") +
            ((claim.measured    ? "measured "
              : claim.estimated ? "estimated "
                                : "counted ") +
             figure_text(*claim.value)) +
            (claim.figure ? "" : unit);
  return text;
}

void print_comparisons(std::ostream& out, const std::vector<Comparison>& comparisons, bool colour) {
  std::string before;
  for (const Comparison& c : comparisons) {
    const std::string head = c.rung + ' ' + c.verb;
    if (head != before) out << styled(c.rung, Style::bold, colour) << ' ' << c.verb << '\n';
    before = head;
    out << fmt::format("  {:>7.2f} times fewer {} than {}\n", c.times, c.noun, c.than);
  }
}

void print_claims(std::ostream& out, const std::vector<Claim>& claims, bool colour, std::size_t width) {
  for (const Claim& claim : claims) {
    const std::string verdict = std::string(mark(claim.verdict)) + ' ' + verdict_text(claim) + ": ";
    out << styled(verdict, mark_style(claim.verdict), colour);
    print_wrapped(out, display_width(verdict), 2, width,
                  claim.text + " (" + claim.document + (claim.device.empty() ? "" : ", " + claim.device) + ")");
    const std::string figures = figures_text(claim);
    if (!figures.empty()) out << "  " << figures << '\n';
    if (!claim.reason.empty()) {
      out << "  ";
      print_wrapped(out, 2, 2, width, claim.reason);
    }
    if (!claim.note.empty()) {
      out << "  ";
      print_wrapped(out, 2, 2, width, claim.note);
    }
  }
}

void print_experiment(std::ostream& out, const Experiment& e, const SummaryStyle& style) {
  const bool colour = style.colour;
  print_heading(out, e, style);
  if (e.rungs.empty()) {
    out << "No kernel was launched.\n";
    return;
  }
  if (has_copies(e)) {
    copies_table(e.rungs).print(out, colour, style.width);
  } else {
    const Table table = ladder_table(e.rungs, style.wide);
    table.print(out, colour, style.width);
    print_legend(out, table, style);
  }
  if (!e.gpu.empty()) print_measured(out, e, colour);
  if (const Table table = estimates_table(e); e.gpu.empty() && !table.empty()) {
    out << '\n';
    table.print(out, colour, style.width);
  }
  out << '\n';
  print_changes(out, e.rungs, style);
  if (has_steps(e)) {
    out << '\n';
    print_wrapped(out, 0, 0, style.width, kStepsLegend);
    steps_table(e.rungs).print(out, colour, style.width);
  }
  if (e.name == "banks") {
    out << '\n';
    print_banks(
        out,
        bank_picture({size_of(e, "stride", 2), size_of(e, "width", 4), size_of(e, "pad", 0), size_of(e, "lanes", 32)}),
        colour, style.width);
  }
  if (!e.comparisons.empty()) out << '\n';
  print_comparisons(out, e.comparisons, colour);
  if (!e.claims.empty()) out << '\n';
  print_claims(out, e.claims, colour, style.width);
}

void print_summary(std::ostream& out, const std::vector<Experiment>& experiments, bool colour) {
  Table table({{.title = "experiment", .left = true},
               {.title = "rungs"},
               {.group = "claims", .title = "hold"},
               {.group = "claims", .title = "do not"},
               {.group = "claims", .title = "not judged"},
               {.title = "results"}});
  for (const Experiment& e : experiments) {
    std::size_t verdicts[3] = {};
    for (const Claim& claim : e.claims) ++verdicts[static_cast<int>(claim.verdict)];
    table.row({{e.name},
               {std::to_string(e.rungs.size())},
               {std::to_string(verdicts[0])},
               {std::to_string(verdicts[1])},
               {std::to_string(verdicts[2])},
               e.exit_code ? Cell{fmt::format("ended with {}", e.exit_code), Style::bad} : Cell{"ok", Style::good}});
  }
  table.print(out, colour);
}

void print_experiment_markdown(std::ostream& out, const Experiment& e) {
  std::string sizes;
  for (const std::string& word : e.sizes) sizes += ' ' + word;
  out << "## " << e.name << "\n\n"
      << e.title << " (" << e.device.name << ", counted" << (e.gpu.empty() ? "" : "; " + e.gpu + ", measured") << ";"
      << " `coalesce lab " << e.name << sizes << "`)\n\n";
  if (e.rungs.empty()) return;
  (has_copies(e) ? copies_table(e.rungs) : ladder_table(e.rungs, true)).print_markdown(out);
  out << '\n';
  if (!e.gpu.empty()) print_measured_markdown(out, e);
  if (has_steps(e)) {
    out << kStepsLegend << ":\n\n";
    steps_table(e.rungs).print_markdown(out);
    out << '\n';
  }
  for (const Comparison& c : e.comparisons)
    out << fmt::format("- `{}` {} {:.2f} times fewer {} than `{}`\n", c.rung, c.verb, c.times, c.noun, c.than);
  if (!e.comparisons.empty()) out << '\n';
  if (e.claims.empty()) return;
  Table claims({{.title = "claim", .left = true},
                {.title = "document", .left = true},
                {.title = "claimed"},
                {.title = e.gpu.empty() ? "counted" : "counted or measured"},
                {.title = "verdict", .left = true}});
  for (const Claim& claim : e.claims) {
    const std::string unit = claim.unit.empty() ? "" : ' ' + claim.unit;
    claims.row({{claim.text},
                {claim.document},
                {claim.figure ? figure_text(*claim.figure) + unit : ""},
                {claim.value ? figure_text(*claim.value) : ""},
                {verdict_text(claim) + (claim.reason.empty() ? "" : ": " + claim.reason)}});
  }
  claims.print_markdown(out);
}

}  // namespace coalesce::tool
