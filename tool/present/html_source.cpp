#include "tool/present/html_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tool/figures/figures.h"
#include "tool/figures/findings.h"
#include "tool/present/html_table.h"
#include "tool/present/html_text.h"
#include "tool/present/summary.h"
#include "tool/present/table.h"
#include "tool/present/terminal.h"

namespace coalesce::tool {
namespace fs = std::filesystem;
namespace {

using machine::Counters;

constexpr uint32_t kAround = 2;  // lines shown before and after a counted one

// The terminal's columns, and two for which it has no room.
std::vector<HtmlColumn> line_columns() {
  std::vector<HtmlColumn> columns;
  for (const Column& column : moved_columns()) columns.push_back(html_column(column));
  columns.push_back({.title = "divergent", .hint = "branches whose lanes went both ways"});
  columns.push_back({.title = "instr", .hint = "warp instructions (of PTX)"});
  return columns;
}

std::vector<Cell> line_cells(const Counters& c) {
  std::vector<Cell> cells = moved_cells(c, false);
  for (const uint64_t value : {c.divergent_branches, c.instructions})
    cells.push_back(
        {value ? compact(value) : std::string(), Style::plain, value ? std::to_string(value) : std::string()});
  return cells;
}

// Shading by share of the largest; nothing below 1 %.
std::string shade(double value, double most) {
  const double share = most > 0 ? value / most : 0;
  return share >= 0.01 ? fmt::format(" style=\"--h:{:.2g}\"", share) : "";
}

class Listing {
 public:
  Listing(const Lines& lines, const std::string& id, double most_waste)
      : id_(id), anchors_(anchors_of(lines)), most_waste_(most_waste), used_(columns_.size()) {
    for (const Line& line : lines) {
      const std::vector<Cell> cells = line_cells(line.counters);
      for (std::size_t i = 0; i < cells.size(); ++i) used_[i] = used_[i] || !cells[i].text.empty();
    }
  }

  std::string head(const std::string& file) const {
    std::string out = "<table class=\"source\"><thead><tr><th scope=\"col\" class=\"n\">line</th>";
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!used_[i]) continue;
      const std::string hint = columns_[i].hint.empty() ? "" : " title=\"" + escape(columns_[i].hint) + "\"";
      out += fmt::format("<th scope=\"col\" class=\"n\"{}>{}</th>", hint, columns_[i].title);
    }
    return out + fmt::format("<th scope=\"col\" class=\"file\">{}</th></tr></thead><tbody>\n", escape(file));
  }

  // `counted`: null where nothing was counted at the line. `code`: markup.
  std::string row(uint32_t number, const Line* counted, const std::string& code) {
    const std::string id = counted ? line_id(id_, anchors_, *counted) : "";
    const bool linked = counted && given_.insert(id).second;
    std::string out =
        linked ? fmt::format("<tr id=\"{0}\"><th scope=\"row\" class=\"n\"><a href=\"#{0}\">{1}</a></th>", id, number)
               : fmt::format("<tr{}><th scope=\"row\" class=\"n\">{}</th>", counted ? "" : " class=\"q\"", number);
    const std::string heat = counted ? shade(wasted_cycles(counted->counters), most_waste_) : "";
    const std::vector<Cell> cells = counted ? line_cells(counted->counters) : std::vector<Cell>(columns_.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (!used_[i]) continue;
      if (cells[i].text.empty()) {
        out += "<td></td>";
        continue;
      }
      out += fmt::format("<td class=\"n{}\" data-k=\"{}\"{}{}>{}</td>", cells[i].style == Style::bad ? " waste" : "",
                         columns_[i].title, exact_attributes(cells[i].exact), cells[i].style == Style::bad ? heat : "",
                         cells[i].text);
    }
    return out + fmt::format("<td class=\"code\"{}>{}</td></tr>\n", heat, code);
  }

  std::string gap() const {
    return fmt::format("<tr class=\"gap\"><td colspan=\"{}\">\u22ef</td></tr>\n",
                       std::count(used_.begin(), used_.end(), true) + 2);
  }

 private:
  std::string id_;
  Anchors anchors_;
  double most_waste_;
  std::vector<HtmlColumn> columns_ = line_columns();
  std::vector<bool> used_;
  std::set<std::string> given_;
};

std::string file_rows(Listing& listing, const std::vector<const Line*>& lines, const std::vector<std::string>* code) {
  std::string out;
  uint32_t next = 0;  // the first line not shown yet; 0: none was
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const uint32_t line = lines[i]->line;
    if (!code || line == 0 || line > code->size()) {
      out += listing.row(line ? line : lines[i]->ptx_line, lines[i], "");
      continue;
    }
    uint32_t from = line > kAround ? line - kAround : 1;
    // A gap of one line is no shorter than the line.
    if (next && from > next + 1) out += listing.gap();
    if (next && from <= next + 1) from = next;
    for (uint32_t n = from; n < line; ++n) out += listing.row(n, nullptr, (*code)[n - 1]);
    out += listing.row(line, lines[i], (*code)[line - 1]);
    next = line + 1;
    const uint32_t stop = i + 1 < lines.size() ? std::max(lines[i + 1]->line, next) : UINT32_MAX;
    for (uint32_t n = 0; n < kAround && next < stop && next <= code->size(); ++n, ++next) {
      out += listing.row(next, nullptr, (*code)[next - 1]);
    }
  }
  return out;
}

std::string file_name(const std::string& file) { return file.substr(file.rfind('/') + 1); }

}  // namespace

Anchors anchors_of(const Lines& lines) {
  Anchors anchors;
  for (const Line& line : lines) anchors.try_emplace(line.file);
  Ids ids;
  for (auto& [file, anchor] : anchors) anchor = ids.make(file.empty() ? "ptx" : file_name(file));
  return anchors;
}

std::string line_id(const std::string& id, const Anchors& anchors, const Line& line) {
  const auto anchor = anchors.find(line.file);
  return fmt::format("{}---{}-{}", id, anchor == anchors.end() ? "x" : anchor->second,
                     line.file.empty() ? line.ptx_line : line.line);
}

std::string source_html(const Lines& lines, const std::string& id, const std::string& label, const fs::path& beside,
                        HtmlSources& sources, double most_waste) {
  if (lines.empty()) return "<p>No line touched memory or branched.</p>\n";
  Listing listing(lines, id, most_waste);
  std::map<std::string, std::vector<const Line*>> files;
  for (const Line& line : lines) files[line.file].push_back(&line);
  // Instructions that belong to no source line come last.
  std::string out, rest;
  for (auto& [file, counted] : files) {
    std::sort(counted.begin(), counted.end(), [](const Line* a, const Line* b) {
      return std::pair(a->line, a->ptx_line) < std::pair(b->line, b->ptx_line);
    });
    const std::vector<std::string>* code = sources.lines(file, beside);
    std::string name = file_name(file);
    if (file.empty()) {
      name =
          files.size() == 1 ? "PTX (build with -lineinfo to see source lines)" : "PTX that belongs to no source line";
    } else if (!code) {
      name += " (the file is not there)";
    }
    (file.empty() ? rest : out) +=
        scroll_html(label + ", " + name, listing.head(name) + file_rows(listing, counted, code) + "</tbody></table>");
  }
  return out + rest;
}

}  // namespace coalesce::tool
