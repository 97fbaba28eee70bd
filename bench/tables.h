// What bench_machine prints: one list of columns for the terminal and for docs/results/speed.md.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace coalesce::bench {

// The terminal's table, line by line as the rows come.
void print_head();
void print_row(const nlohmann::json& row);

// `rows` as Markdown: rates, least and most, compiling and first launches.
std::string markdown(const nlohmann::json& rows);

// What the table does not say: the rest of the comparison, what was disturbed.
void print_notes(const nlohmann::json& rows, int repetitions);

}  // namespace coalesce::bench
