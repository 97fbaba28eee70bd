// What `coalesce run` prints when the program is done: one row per kernel, advice, and on request the table of source
// lines.
#pragma once

#include <iosfwd>

#include "tool/figures/figures.h"
#include "tool/present/table.h"

namespace coalesce::tool {

// The columns that show a kernel's counters, shared by `run` (one row per kernel), `lab` (one per rung) and `--lines`.
std::vector<Column> counter_columns();
std::vector<Cell> counter_cells(const machine::Counters& counters, bool whole_kernel);

// Two lines that say what the columns mean.
void print_legend(std::ostream& out, bool colour);

void print_summary(std::ostream& out, const Record& record, bool colour);
// The same for a run on a GPU: times, and what the hardware counted.
void print_gpu_summary(std::ostream& out, const Record& record, bool colour);
void print_lines(std::ostream& out, const Record& record, bool colour);

}  // namespace coalesce::tool
