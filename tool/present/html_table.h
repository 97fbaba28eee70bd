// Tables and figures of the report. A figure says what it shows, whether its numbers were counted or timed, and where.
#pragma once

#include <string>
#include <vector>

namespace coalesce::tool {

struct HtmlColumn {
  std::string title;   // text
  std::string hint;    // text; what the column means; may be empty
  bool number = true;  // right-aligned
  std::string bar =
      {};  // CSS class of the bar beside each number; empty: none. Bars are scaled to the column's largest
};

struct HtmlCell {
  std::string html;  // markup: escape() what is text
  double bar = 0;    // what the bar shows, at least 0
  std::string classes = {};
  std::string exact = {};  // the number that the markup rounds; empty: none
};

HtmlCell text_cell(const std::string& text, const std::string& classes = "");
// A count; nothing where it is 0 and `blank` says so.
HtmlCell count_cell(uint64_t value, bool blank = false);

struct Cell;
struct Column;
// A cell and a column as the terminal prints them (table.h), with the exact number.
HtmlCell html_cell(const Cell& cell);
HtmlColumn html_column(const Column& column);
// The attributes of a cell with that exact number.
std::string exact_attributes(const std::string& exact);

class HtmlTable {
 public:
  explicit HtmlTable(std::vector<HtmlColumn> columns) : columns_(std::move(columns)) {}
  // The first cell heads the row. Cells may be fewer than columns.
  void row(std::vector<HtmlCell> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  // Columns in which no row has anything are left out. A table of several rows can be sorted by its headings.
  std::string html() const;

 private:
  std::vector<HtmlColumn> columns_;
  std::vector<std::vector<HtmlCell>> rows_;
};

// The origin of numbers: "counted" or "timed" and by what.
struct Origin {
  std::string how, where;  // text
};

// <figure> around `content` (markup). `id` names the figure's data when they are copied.
std::string figure_html(const std::string& id, const std::string& title, const Origin& origin,
                        const std::string& content);
// Around what may be wider than the page, so that it scrolls by itself, also by keyboard.
std::string scroll_html(const std::string& label, const std::string& content);

}  // namespace coalesce::tool
