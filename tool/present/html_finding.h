// A finding as a card: where, the source line, a small picture, the cause, the remedy.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tool/figures/findings.h"
#include "tool/present/html_code.h"

namespace coalesce::tool {

// A finding of the kernel or rung `kernel`, and where its source line stands in the report ("#…"; may be empty).
struct RankedFinding {
  std::string kernel, link;
  Finding finding;
};

// An average request of the finding, as SVG: sectors moved and the share of them asked for, banks met, lanes at work.
std::string finding_picture(const Finding& finding);

// The findings in their order; those after the sixth are folded.
std::string cards_html(const std::vector<RankedFinding>& findings, const std::filesystem::path& beside,
                       HtmlSources& sources);

}  // namespace coalesce::tool
