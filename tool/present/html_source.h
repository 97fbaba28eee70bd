// A kernel's source with what was counted at each line.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "tool/figures/record.h"
#include "tool/present/html_code.h"

namespace coalesce::tool {

// A table per file of the lines that `lines` counted at, with a few lines around them: line number, the columns of the
// terminal's `--lines`, code. Code, and numbers that are waste, are shaded by the line's wasted_cycles(), a share of
// `most_waste`. Without line information: one row per PTX line. `id`: what the ids of the lines begin with.
std::string source_html(const Lines& lines, const std::string& id, const std::string& label,
                        const std::filesystem::path& beside, HtmlSources& sources, double most_waste);

// The ids of lines that source_html() gives: line 19 of a file is at line_id(id, anchors, line).
using Anchors = std::map<std::string, std::string>;  // file -> what stands for it in an id
Anchors anchors_of(const Lines& lines);
std::string line_id(const std::string& id, const Anchors& anchors, const Line& line);

}  // namespace coalesce::tool
