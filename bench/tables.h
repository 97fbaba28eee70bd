// The terminal's tables of bench_machine. bench/speed.py writes docs/results/speed.md.
#pragma once

#include <nlohmann/json.hpp>

namespace coalesce::bench {

// The table of rates, line by line.
void print_head();
void print_row(const nlohmann::json& row);

// The legend, targets, first launches and disturbances.
void print_notes(const nlohmann::json& rows, int repetitions);

}  // namespace coalesce::bench
