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

Table::Shape Table::fitting(std::size_t width) const {
  Shape shape = this->shape(shown());
  // A name can be cut, or move to a line of its own; its heading cannot. Text at the end can be cut.
  constexpr std::size_t kCutName = 16, kCutText = 12;
  const auto needed = [&](const Shape& s) {
    std::size_t need = s.total;
    const std::size_t last = s.columns.size() - 1;
    if (last != 0 && columns_[s.columns[last]].cut) need -= s.widths[last] - std::min(s.widths[last], kCutText);
    return need + (columns_[0].cut ? std::min(s.widths[0], kCutName) : display_width(columns_[0].title));
  };
  while (needed(shape) > width) {
    std::vector<std::size_t> fewer = shape.columns;
    const auto spare = std::max_element(fewer.begin(), fewer.end(), [&](std::size_t a, std::size_t b) {
      return columns_[a].spare < columns_[b].spare;
    });
    if (columns_[*spare].spare == 0) break;
    fewer.erase(spare);
    shape = this->shape(fewer);
  }
  // The text at the end gets what is left.
  const std::size_t last = shape.columns.size() - 1;
  if (last != 0 && columns_[shape.columns[last]].cut) {
    const std::size_t others = shape.total - shape.widths[last] + shape.widths[0];
    const std::size_t room = std::max(width > others ? width - others : 0, kCutText);
    if (shape.widths[last] > room) shape.total -= shape.widths[last] - room, shape.widths[last] = room;
  }
  const std::size_t room = width > shape.total ? width - shape.total : 1;
  if (shape.widths[0] > room) {
    if (columns_[0].cut) {
      shape.widths[0] = std::max(room, kCutName);
    } else {
      // Names that fit decide the first column; the others get their own line.
      std::size_t widest = display_width(columns_[0].title);
      for (const auto& row : rows_) {
        if (const std::size_t size = display_width(row[0].text); size <= room) widest = std::max(widest, size);
      }
      shape.widths[0] = widest;
    }
  }
  return shape;
}

std::vector<std::string> Table::titles(std::size_t width) const {
  std::vector<std::string> titles;
  for (const std::size_t c : fitting(width).columns) titles.push_back(columns_[c].group + ' ' + columns_[c].title);
  return titles;
}

void Table::print(std::ostream& out, bool colour, std::size_t width) const {
  if (columns_.empty()) return;
  const Shape shape = fitting(width);
  const std::vector<std::size_t>& columns = shape.columns;
  const std::vector<std::size_t>& widths = shape.widths;

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
      const Column& column = columns_[columns[i]];
      std::string text = !cell.text.empty() ? cell.text : column.left && column.optional ? "" : "-";
      if (column.cut) text = fit(text, widths[i]);
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
