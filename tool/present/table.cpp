#include "tool/present/table.h"

#include <algorithm>
#include <ostream>
#include <stdexcept>

namespace coalesce::tool {
namespace {

std::string padding(std::size_t columns) { return std::string(columns, ' '); }

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|' || c == '<') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

}  // namespace

void Table::row(std::vector<Cell> cells) {
  if (cells.size() != columns_.size()) throw std::logic_error("a row with another number of cells than columns");
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::shown() const {
  std::vector<std::size_t> columns;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const bool filled = std::any_of(rows_.begin(), rows_.end(), [&](const auto& row) { return !row[c].text.empty(); });
    if (filled || !columns_[c].optional) columns.push_back(c);
  }
  return columns;
}

// Columns of one group stand one space apart, groups two.
std::size_t Table::gap(const std::vector<std::size_t>& columns, std::size_t i) const {
  if (i == 0) return 0;
  const std::string& group = columns_[columns[i]].group;
  return !group.empty() && group == columns_[columns[i - 1]].group ? 1 : 2;
}

Table::Shape Table::shape(std::vector<std::size_t> columns) const {
  Shape result{std::move(columns), {}, 0};
  for (const std::size_t c : result.columns) {
    std::size_t widest = std::max<std::size_t>(1, display_width(columns_[c].title));
    for (const auto& row : rows_) widest = std::max(widest, display_width(row[c].text));
    result.widths.push_back(widest);
  }
  // A group's heading needs room over its columns.
  for (std::size_t i = 0; i < result.columns.size();) {
    const std::string& group = columns_[result.columns[i]].group;
    std::size_t end = i + 1, span = result.widths[i];
    while (end < result.columns.size() && gap(result.columns, end) == 1) span += 1 + result.widths[end], ++end;
    if (const std::size_t need = display_width(group); need > span) result.widths[end - 1] += need - span;
    i = end;
  }
  for (std::size_t i = 1; i < result.columns.size(); ++i) result.total += gap(result.columns, i) + result.widths[i];
  return result;
}

void Table::print(std::ostream& out, bool colour, std::size_t width) const {
  if (columns_.empty()) return;
  Shape shape = this->shape(shown());
  // The row's name can move to a line of its own; its heading cannot.
  const std::size_t heading_width = display_width(columns_[0].title);
  while (shape.total + heading_width > width) {
    std::vector<std::size_t> fewer = shape.columns;
    const auto spare = std::max_element(fewer.begin(), fewer.end(), [&](std::size_t a, std::size_t b) {
      return columns_[a].spare < columns_[b].spare;
    });
    if (columns_[*spare].spare == 0) break;
    fewer.erase(spare);
    shape = this->shape(fewer);
  }
  const std::vector<std::size_t>& columns = shape.columns;
  std::vector<std::size_t>& widths = shape.widths;
  const std::size_t room = width > shape.total ? width - shape.total : 1;
  if (widths[0] > room) {
    // Names that fit decide the first column; the others get their own line.
    std::size_t widest = display_width(columns_[columns[0]].title);
    for (const auto& row : rows_) {
      if (const std::size_t size = display_width(row[columns[0]].text); size <= room) widest = std::max(widest, size);
    }
    widths[0] = widest;
  }

  bool grouped_header = false;
  std::string heading;
  for (std::size_t i = 0; i < columns.size();) {
    const std::string& group = columns_[columns[i]].group;
    heading += padding(gap(columns, i));
    std::size_t end = i + 1, span = widths[i];
    while (end < columns.size() && gap(columns, end) == 1) span += 1 + widths[end], ++end;
    grouped_header |= !group.empty();
    const std::size_t slack = span - std::min(span, display_width(group));
    heading += columns_[columns[i]].left ? group + padding(slack) : padding(slack) + group;
    i = end;
  }
  if (grouped_header) out << styled(trimmed(heading), Style::dim, colour) << '\n';

  const auto aligned = [&](std::size_t i, const std::string& text) {
    const std::string space = padding(widths[i] - std::min(widths[i], display_width(text)));
    return columns_[columns[i]].left ? text + space : space + text;
  };
  std::string titles;
  for (std::size_t i = 0; i < columns.size(); ++i)
    titles += padding(gap(columns, i)) + aligned(i, columns_[columns[i]].title);
  out << styled(trimmed(titles), Style::bold, colour) << '\n';

  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const Cell& cell = row[columns[i]];
      std::string text = cell.text.empty() ? "-" : cell.text;
      if (i == 0 && display_width(text) > widths[0]) {
        out << styled(fit(text, width), cell.style, colour) << '\n';
        text.clear();
      }
      line += padding(gap(columns, i));
      const std::string field = aligned(i, text);
      // Colour the text, not the spaces around it, so that trailing ones can go.
      const auto start = field.find_first_not_of(' ');
      if (start == std::string::npos) {
        line += field;
        continue;
      }
      const auto end = field.find_last_not_of(' ') + 1;
      line += field.substr(0, start) + styled(field.substr(start, end - start), cell.style, colour) + field.substr(end);
    }
    out << trimmed(line) << '\n';
  }
}

void Table::print_markdown(std::ostream& out) const {
  const std::vector<std::size_t> columns = shown();
  std::string titles = "|", rule = "|";
  for (const std::size_t c : columns) {
    const Column& column = columns_[c];
    titles += ' ' + escaped(column.group.empty() ? column.title : column.group + ' ' + column.title) + " |";
    rule += column.left ? "---|" : "---:|";
  }
  out << titles << '\n' << rule << '\n';
  for (const auto& row : rows_) {
    out << '|';
    for (const std::size_t c : columns) out << ' ' << escaped(row[c].text.empty() ? "-" : row[c].text) << " |";
    out << '\n';
  }
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string csv_record(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) {
    if (!line.empty() || &field != &fields.front()) line += ',';
    line += csv_field(field);
  }
  return line + '\n';
}

}  // namespace coalesce::tool
