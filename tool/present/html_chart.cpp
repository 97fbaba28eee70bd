#include "tool/present/html_chart.h"

#include <fmt/format.h>

#include <algorithm>

#include "tool/figures/findings.h"
#include "tool/present/html_table.h"
#include "tool/present/html_text.h"

namespace coalesce::tool {
namespace {

std::string measured_text(uint64_t value, bool bytes) { return bytes ? bytes_text(value) : count_text(value); }

}  // namespace

std::string chart_html(const std::vector<const Rung*>& rungs, const ChartMeasure& measure) {
  uint64_t most = 1;
  bool wasted = false;
  for (const Rung* rung : rungs) {
    most = std::max(most, measure.all(*rung));
    wasted |= measure.wasted && measure.wasted(*rung) != 0;
  }
  std::string out = fmt::format(
      "<table class=\"bars\"><thead><tr><th scope=\"col\">rung</th><th scope=\"col\">{}</th><th scope=\"col\" "
      "class=\"n\">in all</th>{}</tr></thead><tbody>\n",
      wasted ? "<span class=\"useful\">useful</span> <span class=\"wasted\">wasted</span>" : "from 0",
      wasted ? "<th scope=\"col\" class=\"n\">wasted</th>" : "");
  for (const Rung* rung : rungs) {
    const uint64_t all = measure.all(*rung), waste = measure.wasted ? std::min(all, measure.wasted(*rung)) : 0;
    const double scale = 100 / static_cast<double>(most);
    const double useful = static_cast<double>(all - waste) * scale, rest = static_cast<double>(waste) * scale;
    out += fmt::format(
        "<tr><th scope=\"row\">{}</th><td class=\"bar\"><svg viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" "
        "aria-hidden=\"true\"><rect class=\"useful\" width=\"{:.4g}\" height=\"8\"/><rect class=\"wasted\" "
        "x=\"{:.4g}\" "
        "width=\"{:.4g}\" height=\"8\"/></svg></td><td class=\"n\"{}>{}</td>",
        escape(rung->name), useful, useful, rest, exact_attributes(std::to_string(all)),
        measured_text(all, measure.bytes));
    if (wasted)
      out += fmt::format("<td class=\"n\"{}>{}</td>", exact_attributes(std::to_string(waste)),
                         measured_text(waste, measure.bytes));
    out += "</tr>\n";
  }
  return out + "</tbody></table>";
}

}  // namespace coalesce::tool
