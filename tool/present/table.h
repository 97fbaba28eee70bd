// A table for a terminal, for a CSV file, or for Markdown: the same cells three ways.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "tool/present/terminal.h"

namespace coalesce::tool {

inline constexpr std::size_t kTableWidth = 80;  // where there is no terminal to ask

struct Column {
  std::string group = {};  // a heading over neighbouring columns with the same group; empty: none
  std::string title = {};
  bool left = false;      // text is set left, numbers right
  bool optional = false;  // left out when no row has anything in it
  int spare = 0;          // not 0: left out of a table that is too wide, highest first
  bool cut = false;       // text is cut to the width that is left, rather than put on a line of its own
};

struct Cell {
  std::string text;  // empty: nothing to say here, printed as a dash
  Style style = Style::plain;
  std::string exact = {};  // the number that the text rounds, for a report's reader; empty: the text is all of it
};

// The first column is the row's name; one that is too long for the width stands on a line of its own, or is cut.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // Adds a row; it has a cell for each column.
  void row(std::vector<Cell> cells);
  bool empty() const { return rows_.empty(); }

  void print(std::ostream& out, bool colour, std::size_t width = kTableWidth) const;
  // "group title" of the columns that print() shows.
  std::vector<std::string> titles(std::size_t width = kTableWidth) const;
  void print_markdown(std::ostream& out) const;

 private:
  struct Shape {
    std::vector<std::size_t> columns;  // those shown
    std::vector<std::size_t> widths;   // of each
    std::size_t total = 0;             // of all but the first, with the gaps
  };
  std::vector<std::size_t> shown() const;
  Shape shape(std::vector<std::size_t> columns) const;
  Shape fitting(std::size_t width) const;  // without the columns that are too much
  std::size_t gap(const std::vector<std::size_t>& columns, std::size_t i) const;
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// One field of a CSV record (RFC 4180): quoted where it must be.
std::string csv_field(const std::string& text);
// The fields with commas between them and a newline.
std::string csv_record(const std::vector<std::string>& fields);

}  // namespace coalesce::tool
