// The HTML report: one file that asks for nothing from anywhere, opens from disk and can be read without scripts. What
// its scripts add (report/src) was bundled when the project was built and lies in the executable.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "tool/figures/experiment.h"

namespace coalesce::tool {

// `coalesce lab … --html`: an overview and a page per experiment.
void write_report(std::ostream& out, const std::vector<Experiment>& experiments);

// `coalesce run … --html`: an overview and a page per kernel; pages only for the kReportPages kernels that moved most,
// and the overview says so. `source`: the .cu given on the command line, else empty.
inline constexpr std::size_t kReportPages = 60;
// `measured`: the same program's record from a GPU, or null; a record that is a GPU's own needs none.
void write_report(std::ostream& out, const Record& record, const std::filesystem::path& source,
                  const Record* measured = nullptr);

}  // namespace coalesce::tool
