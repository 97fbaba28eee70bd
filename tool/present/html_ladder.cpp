#include <fmt/format.h>

#include <cmath>

#include "tool/figures/findings.h"
#include "tool/present/html_parts.h"
#include "tool/present/html_text.h"
#include "tool/present/summary.h"
#include "tool/present/table.h"
#include "tool/present/terminal.h"

namespace coalesce::tool {
namespace {

HtmlCell bar_cell(uint64_t value, bool applies) {
  return applies ? HtmlCell{grouped(value), static_cast<double>(value)} : HtmlCell{};
}

HtmlCell result_cell(const Rung& rung) {
  if (!rung.fault.empty()) return text_cell("\u2717 " + rung.fault, "bad");
  switch (rung.result) {
    case Rung::Result::right:
      return {"\u2713 right", 0, "good"};
    case Rung::Result::wrong:
      return {"\u2717 wrong", 0, "bad"};
    case Rung::Result::unknown:
      return {};
  }
  return {};
}

}  // namespace

std::string steps_html(const Rung& rung) {
  HtmlTable table(
      {{.title = "step", .hint = "", .number = false},
       {.title = "active warps", .hint = "warps that wrote a sum in this step"},
       {.title = "divergent warps", .hint = "warps whose lanes parted at a branch of this step", .bar = "bc"},
       {.title = "waves/request", .hint = "wavefronts a shared request takes on average: 2 is a 2-way conflict"},
       {.title = "waves", .hint = "passes over the banks of shared memory", .bar = "bv"},
       {.title = "conflicts", .hint = "of these, passes due to bank conflicts", .bar = "bc"},
       {.title = "instr", .hint = "warp instructions (of PTX)"}});
  for (const Step& step : rung.steps) {
    const uint64_t requests = shared_requests(step.counters);
    const bool whole = step.conflict_degree == std::floor(step.conflict_degree);
    table.row({text_cell(step.name),
               count_cell(step.active_warps),
               bar_cell(step.divergent_warps, true),
               {step.conflict_degree > 0 ? fixed(step.conflict_degree, whole ? 0 : 1) : ""},
               bar_cell(shared_wavefronts(step.counters), requests != 0),
               bar_cell(bank_conflicts(step.counters), requests != 0),
               count_cell(step.counters.instructions)});
  }
  return scroll_html(rung.name + ", step by step", table.html());
}

std::string copies_html(const std::vector<Rung>& rungs) {
  HtmlTable table({{.title = "rung", .hint = "", .number = false},
                   {.title = "calls to device", .hint = ""},
                   {.title = "bytes to device", .hint = ""},
                   {.title = "calls to host", .hint = ""},
                   {.title = "bytes to host", .hint = ""},
                   {.title = "calls within", .hint = ""},
                   {.title = "bytes within", .hint = ""}});
  for (const Rung& rung : rungs) {
    if (!rung.copies) continue;
    const Copies& c = *rung.copies;
    table.row({text_cell(rung.name), count_cell(c.h2d_calls, true), count_cell(c.h2d_bytes, true),
               count_cell(c.d2h_calls, true), count_cell(c.d2h_bytes, true), count_cell(c.d2d_calls, true),
               count_cell(c.d2d_bytes, true)});
  }
  return table.empty() ? "" : scroll_html("copies", table.html());
}

std::string ladder_html(const std::vector<Rung>& rungs, const std::vector<std::string>& links, const std::string& label,
                        const std::string& each) {
  std::vector<HtmlColumn> columns = {{.title = each, .hint = "", .number = false}};
  for (const Column& column : moved_columns()) columns.push_back(html_column(column));
  columns.push_back({.title = "worst line", .hint = "where most is wasted", .number = false});
  columns.push_back({.title = "result", .hint = "what the program's own check said", .number = false});
  HtmlTable table(columns);
  for (std::size_t i = 0; i < rungs.size(); ++i) {
    const Rung& rung = rungs[i];
    std::vector<HtmlCell> cells = {{linked(rung.name, i < links.size() ? links[i] : "")}};
    for (const Cell& cell : moved_cells(rung.counters, rung.fault.empty())) cells.push_back(html_cell(cell));
    const std::vector<Finding> findings = find_waste(total_of(rung));
    cells.push_back(text_cell(findings.empty() ? "" : place_of(findings[0].line) + ' ' + findings[0].kind, "place"));
    cells.push_back(result_cell(rung));
    table.row(std::move(cells));
  }
  return scroll_html(label, table.html());
}

}  // namespace coalesce::tool
