// A kernel's source with what was counted at each line.
#pragma once

#include <filesystem>
#include <string>

#include "tool/figures/record.h"
#include "tool/figures/sources.h"

namespace coalesce::tool {

// A table per file of the lines that `lines` counted at, with a few lines around them: line number, counters, code.
// Code, and numbers that are waste, are shaded by the line's wasted_cycles(), a share of `most_waste`. Without line
// information: one row per PTX line.
std::string source_html(const Lines& lines, const std::string& label, const std::filesystem::path& beside,
                        Sources& sources, double most_waste);

}  // namespace coalesce::tool
