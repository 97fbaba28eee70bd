#include <fmt/format.h>

#include <algorithm>

#include "tool/figures/findings.h"
#include "tool/present/html_parts.h"
#include "tool/present/html_text.h"
#include "tool/present/terminal.h"

namespace coalesce::tool {
namespace {

using machine::kCounterRows;

std::string shape(const std::array<uint32_t, 3>& s) {
  std::string text = grouped(s[0]);
  if (s[1] > 1 || s[2] > 1) text += "\u00d7" + grouped(s[1]);
  if (s[2] > 1) text += "\u00d7" + grouped(s[2]);
  return text;
}

}  // namespace

std::string counters_html(const std::vector<Rung>& rungs, const std::string& label) {
  std::vector<HtmlColumn> columns = {{.title = "counter", .hint = "", .number = false}};
  for (const Rung& rung : rungs) columns.push_back({.title = rung.name, .hint = ""});
  HtmlTable table(columns);
  for (const auto& row : kCounterRows) {
    const bool any = std::any_of(rungs.begin(), rungs.end(), [&](const Rung& r) { return r.counters.*row.field != 0; });
    if (!any) continue;
    std::vector<HtmlCell> cells = {{fmt::format("<span title=\"{}\">{}</span>", escape(row.meaning), row.name)}};
    for (const Rung& rung : rungs) cells.push_back(count_cell(rung.counters.*row.field));
    table.row(std::move(cells));
  }
  for (const Derived& derived : kDerived) {
    std::vector<HtmlCell> cells = {
        {fmt::format("<span title=\"{}\">{}</span>", escape(derived.meaning), derived.name)}};
    bool any = false;
    for (const Rung& rung : rungs) {
      Launch launch;
      launch.counters = rung.counters;
      launch.grid = rung.grid;
      launch.block = rung.block;
      // A value per launch does not follow from a sum over several.
      const auto value = rung.launches == 1 ? derived.value(launch) : std::nullopt;
      any |= value && *value != 0;
      cells.push_back({value ? figure(*value, 4) + (derived.unit.empty() ? "" : " " + std::string(derived.unit)) : ""});
    }
    if (any) table.row(std::move(cells));
  }
  return scroll_html(label, table.html());
}

KernelTotal total_of(const Rung& rung) {
  KernelTotal total;
  total.launches = rung.launches;
  total.counters = rung.counters;
  total.lines = rung.lines;
  total.fault = rung.fault;
  return total;
}

std::string rung_html(const Rung& rung, const std::string& id, bool open, const std::filesystem::path& beside,
                      const Origin& origin, HtmlSources& sources, double most_waste) {
  std::string facts;
  if (rung.launches) {
    facts = fmt::format("{} {}, grid {}, block {}", grouped(rung.launches), rung.launches == 1 ? "launch" : "launches",
                        shape(rung.grid), shape(rung.block));
    if (rung.shared_bytes) facts += fmt::format(", {} bytes of dynamic shared memory", grouped(rung.shared_bytes));
  }
  std::string out =
      fmt::format("<details class=\"rung\" id=\"{}\"{}><summary><b>{}</b> <span class=\"facts\">{}</span></summary>\n",
                  id, open ? " open" : "", escape(rung.name), facts);
  if (!rung.fault.empty()) {
    out += fmt::format("<p class=\"bad\">Ended with {}; its counters are of what ran.</p>\n", escape(rung.fault));
  }
  if (!rung.changed.empty()) out += "<p>" + prose(rung.changed) + "</p>\n";
  if (!rung.expected.empty()) out += "<p><b>What that should do:</b> " + prose(rung.expected) + "</p>\n";
  if (rung.fault.empty() && rung.launches != 0) {
    const std::vector<RankedFinding> findings = ranked_findings({rung}, {id});
    out += findings.empty() ? "<p>Nothing to save.</p>\n" : cards_html(findings, beside, sources);
  }
  if (!rung.steps.empty())
    out += figure_html(id + "---steps", rung.name + ", step by step, over the launches taken apart for it", origin,
                       steps_html(rung));
  out += figure_html(id + "---source", rung.name + ", line by line", origin,
                     source_html(rung.lines, id, rung.name + " line by line", beside, sources, most_waste));
  return out + "</details>\n";
}

std::vector<RankedFinding> ranked_findings(const std::vector<Rung>& rungs, const std::vector<std::string>& ids) {
  std::vector<RankedFinding> ranked;
  for (std::size_t i = 0; i < rungs.size(); ++i) {
    const Anchors anchors = anchors_of(rungs[i].lines);
    for (Finding& finding : find_waste(total_of(rungs[i]))) {
      const bool placed = !ids[i].empty() && !place_of(finding.line).empty();
      const std::string link = placed ? "#" + line_id(ids[i], anchors, finding.line) : "";
      const RankedFinding one{rungs.size() > 1 ? rungs[i].name : "", link, std::move(finding)};
      const auto place = std::upper_bound(
          ranked.begin(), ranked.end(), one,
          [](const RankedFinding& a, const RankedFinding& b) { return a.finding.waste > b.finding.waste; });
      ranked.insert(place, one);
    }
  }
  return ranked;
}

double most_wasted_cycles(const std::vector<Rung>& rungs) {
  double most = 0;
  for (const Rung& rung : rungs) {
    for (const Line& line : rung.lines) most = std::max(most, wasted_cycles(line.counters));
  }
  return most;
}

}  // namespace coalesce::tool
