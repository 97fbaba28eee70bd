#include "tool/present/html_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "tool/present/html_text.h"
#include "tool/present/summary.h"
#include "tool/present/table.h"
#include "tool/present/terminal.h"

namespace coalesce::tool {

HtmlCell text_cell(const std::string& text, const std::string& classes) { return {escape(text), 0, classes}; }

HtmlCell count_cell(uint64_t value, bool blank) {
  return {value || !blank ? grouped(value) : std::string(), static_cast<double>(value)};
}

HtmlCell html_cell(const Cell& cell) {
  return {escape(cell.text), 0, cell.style == Style::bad ? "bad" : "", cell.exact};
}

HtmlColumn html_column(const Column& column) {
  return {.title = column.group + (column.group.empty() ? "" : " ") + column.title,
          .hint = meaning_of(column),
          .number = !column.left};
}

std::string exact_attributes(const std::string& exact) {
  if (exact.empty()) return "";
  const bool whole = exact.find_first_not_of("0123456789") == std::string::npos;
  return fmt::format(" data-v=\"{}\" title=\"{}\"", exact, whole ? grouped(std::stoull(exact)) : exact);
}

std::string HtmlTable::html() const {
  std::vector<bool> used(columns_.size());
  std::vector<double> most(columns_.size());
  std::vector<std::size_t> longest(columns_.size());  // so that bars beside numbers begin below each other
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size() && i < columns_.size(); ++i) {
      used[i] = used[i] || !row[i].html.empty();
      most[i] = std::max(most[i], row[i].bar);
      longest[i] = std::max(longest[i], row[i].html.size());
    }
  }
  std::string out = rows_.size() > 1 ? "<table class=\"sort\"><thead><tr>" : "<table><thead><tr>";
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (!used[i]) continue;
    const HtmlColumn& column = columns_[i];
    out += fmt::format("<th scope=\"col\"{}{}>{}</th>", column.number ? " class=\"n\"" : "",
                       column.hint.empty() ? "" : " title=\"" + escape(column.hint) + "\"", escape(column.title));
  }
  out += "</tr></thead><tbody>\n";
  for (const auto& row : rows_) {
    out += "<tr>";
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!used[i]) continue;
      const HtmlCell cell = i < row.size() ? row[i] : HtmlCell{};
      std::string classes = columns_[i].number ? "n" : "";
      if (!cell.classes.empty()) classes += (classes.empty() ? "" : " ") + cell.classes;
      const char* tag = i == 0 ? "th" : "td";
      out += fmt::format("<{}{}{}{}>", tag, i == 0 ? " scope=\"row\"" : "",
                         classes.empty() ? "" : " class=\"" + classes + "\"", exact_attributes(cell.exact));
      if (!columns_[i].bar.empty() && !cell.html.empty()) {
        // Something there is is never drawn as nothing.
        const double share = most[i] > 0 ? cell.bar / most[i] * 100 : 0;
        out += fmt::format(
            R"(<svg class="bar {}" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect width="{:.4g}" height="8"/></svg>)",
            columns_[i].bar, share > 0 ? std::max(share, 0.5) : 0.0);
      }
      const bool beside = !columns_[i].bar.empty() && !cell.html.empty();
      out += beside ? fmt::format("<span style=\"min-width:{}ch\">{}</span></{}>", longest[i], cell.html, tag)
                    : cell.html + fmt::format("</{}>", tag);
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table>";
}

std::string figure_html(const std::string& id, const std::string& title, const Origin& origin,
                        const std::string& content) {
  return fmt::format(
      "<figure id=\"{}\"><figcaption><span class=\"t\">{}</span> <span class=\"how\"><b>{}</b> {}</span></figcaption>\n"
      "{}\n</figure>\n",
      escape(id), escape(title), escape(origin.how), escape(origin.where), content);
}

std::string scroll_html(const std::string& label, const std::string& content) {
  return fmt::format("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">{}</div>", escape(label),
                     content);
}

}  // namespace coalesce::tool
