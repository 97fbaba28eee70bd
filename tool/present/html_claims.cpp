#include <fmt/format.h>

#include <cmath>

#include "tool/present/html_parts.h"
#include "tool/present/html_text.h"
#include "tool/present/lab.h"

namespace coalesce::tool {
namespace {

HtmlCell verdict_cell(Verdict verdict, bool estimated) {
  switch (verdict) {
    case Verdict::holds:
      return {estimated ? "\u2713 holds (estimated)" : "\u2713 holds", 0, "good"};
    case Verdict::does_not_hold:
      return {estimated ? "\u2717 does not hold (estimated)" : "\u2717 does not hold", 0, "bad"};
    case Verdict::cannot_be_judged:
      return {"\u2013 cannot be judged here", 0, "open"};
  }
  return {};
}

// As the terminal rounds it; the tooltip shows every digit.
HtmlCell claim_cell(const std::optional<double>& value, const std::string& unit) {
  if (!value) return {};
  std::string text = figure_text(*value);
  if (*value != std::floor(*value)) text = fmt::format("<span title=\"{}\">{}</span>", figure(*value, 17), text);
  if (!unit.empty()) text += " <span class=\"unit\">" + escape(unit) + "</span>";
  return {text, 0, "fig"};
}

}  // namespace

std::string linked(const std::string& text, const std::string& link) {
  return link.empty() ? escape(text) : fmt::format("<a href=\"{}\">{}</a>", escape(link), escape(text));
}

std::string prose(const std::string& text) {
  std::string out;
  bool code = false;
  for (std::size_t i = 0; i < text.size();) {
    const auto quote = text.find('`', i);
    const bool closed = quote != std::string::npos && (code || text.find('`', quote + 1) != std::string::npos);
    out += escape(std::string_view(text).substr(i, closed ? quote - i : std::string::npos));
    if (!closed) break;
    out += code ? "</code>" : "<code>";
    code = !code;
    i = quote + 1;
  }
  return out;
}

std::string claims_html(const std::vector<ClaimRow>& claims, bool named, const std::string& label) {
  HtmlTable table({{.title = named ? "experiment" : "", .hint = "", .number = false},
                   {.title = "claim", .hint = "", .number = false},
                   {.title = "document", .hint = "and the device it speaks of", .number = false},
                   {.title = "it says", .hint = "the document's figure, from its device"},
                   {.title = "counted here", .hint = "by the machine; of times, measured by the GPU"},
                   {.title = "verdict", .hint = "", .number = false},
                   {.title = "remarks", .hint = "", .number = false}});
  for (const ClaimRow& row : claims) {
    const Claim& claim = *row.claim;
    std::string source = escape(claim.document);
    if (!claim.device.empty()) source += " <span class=\"dim\">" + escape(claim.device) + "</span>";
    std::string remarks = prose(claim.reason);
    if (!claim.note.empty()) remarks += (remarks.empty() ? "" : "<br>") + prose(claim.note);
    table.row({{named ? linked(row.experiment, row.link) : ""},
               {prose(claim.text), 0, "long"},
               {source},
               claim_cell(claim.figure, claim.unit),
               claim_cell(claim.value, claim.unit),
               verdict_cell(claim.verdict, claim.estimated),
               {remarks, 0, "long"}});
  }
  return scroll_html(label, table.html());
}

}  // namespace coalesce::tool
