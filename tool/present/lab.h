// `coalesce lab`: what an experiment found, as text, Markdown, CSV and JSON.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "tool/figures/experiment.h"
#include "tool/present/summary.h"

namespace coalesce::tool {

// One experiment: the ladder, what changed from rung to rung, steps, comparisons, claims.
void print_experiment(std::ostream& out, const Experiment& experiment, const SummaryStyle& style);
void print_comparisons(std::ostream& out, const std::vector<Comparison>& comparisons, bool colour);
void print_claims(std::ostream& out, const std::vector<Claim>& claims, bool colour, std::size_t width);
// Prints the number of each experiment's claims that hold, do not hold, and cannot be judged.
void print_summary(std::ostream& out, const std::vector<Experiment>& experiments, bool colour);

void print_experiment_markdown(std::ostream& out, const Experiment& experiment);

// One record per rung, every counter a column; the first line names them.
void write_lab_csv(std::ostream& out, const std::vector<Experiment>& experiments);
// {"schema":"coalesce.lab/1","experiments":[{"name","title","device","sizes","exit_code","rungs":[…],"comparisons":[…],
//  "claims":[…]}…]}: all that struct Experiment holds but the program's output and the counts per line.
std::string lab_json(const std::vector<Experiment>& experiments);

// "15", "1,048,576", "7.94": a figure for people. Whole numbers in full.
std::string figure_text(double value);
// "claimed 15 times, counted 8", or less where there is less to say; empty: neither.
std::string figures_text(const Claim& claim);

}  // namespace coalesce::tool
