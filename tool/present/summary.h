// Prints the result of `coalesce run`: one row per kernel, a sentence for each finding, and on request the table of
// source lines.
#pragma once

#include <filesystem>
#include <iosfwd>

#include "tool/figures/figures.h"
#include "tool/figures/findings.h"
#include "tool/present/table.h"

namespace coalesce::tool {

struct SummaryStyle {
  bool colour = false;
  bool wide = false;  // requests, sectors and conflicts in full (counter_columns)
  std::size_t width = kTableWidth;
  std::filesystem::path beside = {};  // a folder where sources may lie; may be empty
};

// The columns of moved bytes and their excess: shared by `run` (one row per kernel), `lab` (one per rung) and
// `--lines`. `whole_kernel`: with the mean of active lanes.
std::vector<Column> moved_columns();
std::vector<Cell> moved_cells(const machine::Counters& counters, bool whole_kernel);
// The same with requests and sectors a request, as `--wide` prints them.
std::vector<Column> counter_columns();
std::vector<Cell> counter_cells(const machine::Counters& counters, bool whole_kernel);
// The meaning of a column, as the legend has it; empty: its title speaks for itself.
std::string meaning_of(const Column& column);
// Prints the meanings of the columns that the table shows.
void print_legend(std::ostream& out, const Table& table, const SummaryStyle& style);

// "as an NVIDIA H200 counts".
std::string as_device(const DeviceName& device);

void print_summary(std::ostream& out, const Record& record, const SummaryStyle& style);
// A kernel's findings, the worst first, a paragraph each.
void print_findings(std::ostream& out, const std::string& kernel, const std::vector<Finding>& findings,
                    const SummaryStyle& style);
// The same for a run on a GPU: times, and what the hardware counted.
void print_gpu_summary(std::ostream& out, const Record& record, bool colour);
// A table per kernel: what was counted at each line, and the line's text.
void print_lines(std::ostream& out, const Record& record, const SummaryStyle& style);

}  // namespace coalesce::tool
