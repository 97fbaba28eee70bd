// The parts of a page of the report, and the text and links in their cells.
#pragma once

#include <string>
#include <vector>

#include "tool/figures/experiment.h"
#include "tool/present/html_finding.h"
#include "tool/present/html_page.h"

namespace coalesce::tool {

// `text` as a link; an empty link leads nowhere.
std::string linked(const std::string& text, const std::string& link);
// Comments in the sources mark code with backquotes.
std::string prose(const std::string& text);

// Every counter that any rung has, rungs side by side.
std::string counters_html(const std::vector<Rung>& rungs, const std::string& label);
std::string steps_html(const Rung& rung);
// Empty where no rung's copies were counted apart.
std::string copies_html(const std::vector<Rung>& rungs);

KernelTotal total_of(const Rung& rung);
// One rung: what changed, its findings, its steps, its source with the counts of each line.
std::string rung_html(const Rung& rung, const std::string& id, bool open, const std::filesystem::path& beside,
                      const Origin& origin, HtmlSources& sources, double most_waste);
// The findings of all rungs, the worst first. `ids`: of each rung in the report; empty: it is not there.
std::vector<RankedFinding> ranked_findings(const std::vector<Rung>& rungs, const std::vector<std::string>& ids);

}  // namespace coalesce::tool
