#include "tool/present/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

namespace coalesce::tool {
namespace {

// Whole numbers in full, others with all digits that tell them apart.
std::string exact(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) return fmt::format("{:.0f}", value);
  return fmt::format("{:.6g}", value);
}

}  // namespace

std::string violation_text(const Judgement& j) {
  if (!j.problem.empty()) return j.requirement.text + ": " + j.problem;
  return fmt::format("{} is violated: {} {} {}", j.requirement.text, exact(j.left), j.requirement.symbol,
                     exact(j.right)) +
         " is false";
}

void print_budget(std::ostream& out, const std::vector<Judgement>& judgements, const SummaryStyle& style) {
  Table table({{.title = "kernel", .left = true},
               {.title = "requirement", .left = true},
               {.title = "counted"},
               {.title = "limit"}});
  const auto violated = std::count_if(judgements.begin(), judgements.end(), [](const auto& j) { return !j.holds; });
  for (const Judgement& j : judgements) {
    if (j.holds || !j.problem.empty()) continue;
    table.row({{j.kernel}, {j.requirement.text}, {exact(j.left), Style::bad}, {exact(j.right)}});
  }
  out << '\n';
  if (!table.empty()) table.print(out, style.colour, style.width);
  for (const Judgement& j : judgements) {
    if (j.problem.empty()) continue;
    const std::string& name = j.kernel.empty() ? j.requirement.target : j.kernel;
    out << styled(name + ':', Style::bold, style.colour) << ' ' << violation_text(j) << '\n';
  }
  if (violated == 0)
    out << styled("budget kept:", Style::good, style.colour) << ' ' << plural(judgements.size(), "requirement") << '\n';
  else
    out << styled("budget exceeded:", Style::bad, style.colour)
        << fmt::format(" {} of {}\n", violated, plural(judgements.size(), "requirement"));
}

}  // namespace coalesce::tool
